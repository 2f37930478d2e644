"""``--output pretty`` of ``skills compile-artifact``: the actions of each execution, and what is checked afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import FAINT, GOOD, plain_table, safe_text, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType


def compiled_artifact(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    recipe = data.get("recipe")
    executions = data.get("executions") or [data["execution"]]
    if recipe:
        named = f"  {recipe['id']} {recipe['version']}, {recipe['type']}"
        yield Text.assemble(("compiled", GOOD), visible(named))
        yield safe_text(f"  needs: {', '.join(data['capabilities'])}", FAINT)
    else:
        yield Text.assemble(("compiled", GOOD), f"  {visible(executions[0]['source'])}")
    confirms = {confirm["actionId"]: confirm for confirm in data.get("confirms", ())}
    for execution in executions:
        actions = execution["actions"]
        yield safe_text(
            f"\n{execution['commandId']}: {len(actions)} actions within {execution['timeoutMs']} ms", lines=True
        )
        yield _actions(actions, confirms, data.get("optional", ()))
    for choice in data.get("choices", ()):
        yield safe_text(f"{choice['stepId']} takes the one node on screen with {_json(choice['selector'])}", FAINT)
    if data.get("outputs"):
        yield Text("")
        yield _outputs(data["outputs"])
    yield from warnings(data)


def _actions(
    actions: Sequence[Mapping[str, Any]], confirms: Mapping[str, Mapping[str, Any]], optional: Sequence[str]
) -> RenderableType:
    table = plain_table("action", "type", "parameters", "")
    for action in actions:
        params = action.get("params", {})
        remark = "optional" if action["id"] in optional else ""
        if expect := confirms.get(action["id"], {}).get("expect"):
            remark = f"expects {' '.join(f'{how} {_json(text)}' for how, text in expect.items())}"
        table.add_row(
            safe_text(action["id"]),
            safe_text(action["type"]),
            safe_text(_json(params) if params else ""),
            safe_text(remark, FAINT),
        )
    return table


def _outputs(outputs: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = plain_table("output", "type", "redaction", "from")
    for output in outputs:
        source = f"{output['from']['step']}.{output['from']['key']}"
        table.add_row(*map(safe_text, (output["name"], output["type"], output["redaction"], source)))
    return table


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
