"""``--output pretty`` of ``skills compile-artifact``: the actions of each execution, and what is checked afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.pretty.toolbox import (
    FAINT,
    GOOD,
    Data,
    Drawing,
    as_json,
    line,
    plain_table,
    safe_text,
    warnings,
)


def compiled_artifact(data: Data) -> Drawing:
    recipe = data.get("recipe")
    executions = data.get("executions") or [data["execution"]]
    if recipe:
        yield line(("compiled", GOOD), f"  {recipe['id']} {recipe['version']}, {recipe['type']}")
        yield safe_text(f"  needs: {', '.join(data['capabilities'])}", FAINT)
    else:
        yield line(("compiled", GOOD), f"  {executions[0]['source']}")
    confirms = {confirm["actionId"]: confirm for confirm in data.get("confirms", ())}
    for execution in executions:
        actions = execution["actions"]
        yield safe_text(
            f"\n{execution['commandId']}: {len(actions)} actions within {execution['timeoutMs']} ms", lines=True
        )
        yield _actions(actions, confirms, data.get("optional", ()))
    for choice in data.get("choices", ()):
        yield safe_text(f"{choice['stepId']} uses the one node on screen with {as_json(choice['selector'])}", FAINT)
    if outputs := data.get("outputs"):
        yield Text("")
        yield plain_table(
            ("output", "type", "redaction", "from"),
            (
                (each["name"], each["type"], each["redaction"], f"{each['from']['step']}.{each['from']['key']}")
                for each in outputs
            ),
        )
    yield from warnings(data)


def _actions(actions: Sequence[Data], confirms: Mapping[str, Data], optional: Sequence[str]) -> Table:
    def remark(action: Data) -> str:
        if expect := confirms.get(action["id"], {}).get("expect"):
            return f"expects {' '.join(f'{how} {as_json(text)}' for how, text in expect.items())}"
        return "optional" if action["id"] in optional else ""

    return plain_table(
        ("action", "type", "parameters", ""),
        (
            (each["id"], each["type"], as_json(params) if (params := each.get("params")) else "", (remark(each), FAINT))
            for each in actions
        ),
    )
