"""``--output pretty`` of ``skills compile-artifact``: the actions of each execution, and what is checked afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.pretty.styles import FAINT, GOOD
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, as_json, line, records, safe_text, warnings


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
        source = {"from": lambda each: f"{each['from']['step']}.{each['from']['key']}"}
        yield records(outputs, {"output": "name", "type": "type", "redaction": "redaction", **source})
    yield from warnings(data)


def _actions(actions: Sequence[Data], confirms: Mapping[str, Data], optional: Sequence[str]) -> Table:
    def remark(action: Data) -> str:
        if expect := confirms.get(action["id"], {}).get("expect"):
            return f"expects {' '.join(f'{how} {as_json(text)}' for how, text in expect.items())}"
        return "optional" if action["id"] in optional else ""

    columns: Columns = {
        "action": "id",
        "type": "type",
        "parameters": lambda action: as_json(action["params"]) if action.get("params") else "",
        "": lambda action: (remark(action), FAINT),
    }
    return records(actions, columns)
