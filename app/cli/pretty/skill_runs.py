"""``--output pretty`` of what makes and runs skills: ``skills run``, ``skills compile-artifact``, ``record``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.pretty.executions import draw_long_texts, draw_then, skill_result, table_data
from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import (
    Columns,
    Data,
    Drawing,
    as_json,
    cut,
    line,
    plain_table,
    records,
    safe_text,
    warnings,
)
from clawperator.app.cli.pretty.trees import without_dumps

_LONGEST = 400


def skill_run(data: Data) -> Drawing:
    """Draw the verdict, below the script's output, and the results that were recognised in that output."""
    spent = f"exit {data['exitCode']} after {data['durationMs'] / 1000:.1f} s"
    yield line(("ok", GOOD), f"  {data['skillId']}  ", (spent, FAINT))
    if reported := data.get("skillResult"):
        yield from skill_result(reported)
    if frames := [frame for frame in data.get("frames", ()) if frame["kind"] != "done"]:
        kind = {"result": lambda frame: (frame["kind"], UNSURE if frame["kind"] == "malformed" else "")}
        yield records(frames, {**kind, "line": "line", "content": _content})
    if then := data.get("then"):
        yield from draw_then(then)


def _content(frame: Data) -> str:
    values = {key: without_dumps(value) for key, value in frame.items() if key not in ("kind", "line")}
    shown = next(iter(values.values())) if len(values) == 1 else values
    return cut(shown if isinstance(shown, str) else as_json(shown), _LONGEST)


def play_report(data: Data) -> Drawing:
    """Draw the verdict, a table of the steps of every execution, then outputs, skipped steps and errors."""
    named = data.get("skillId") or data.get("recipe", {}).get("id") or "compiled artifact"
    yield line(
        ("failed", BAD) if data["errors"] else ("success", GOOD),
        f"  {named} {data.get('artifact', '')} on {data['deviceId']}  ",
        (f"{len(data['executions'])} of {data['planned']} executions in {data['durationMs'] / 1000:.1f} s", FAINT),
    )
    table = plain_table(("command", "step", "action", "result", "data"), _steps(data))
    if table.row_count:
        yield table
    for execution in data["executions"]:
        yield from draw_long_texts(execution["envelope"]["stepResults"])
    for choice in data.get("choices", ()):
        if choice["matcher"] is not None:
            yield safe_text(f"step {choice['stepId']} used the node with {as_json(choice['matcher'])}", FAINT)
    for name, value in data.get("outputs", {}).items():
        yield line("output  ", (name, GOOD), f" = {value}")
    for entry in data.get("variance", ()):
        found = entry["found"].get("errorCode") or entry["found"].get("error")
        yield safe_text(f"optional step {entry['stepId']} was skipped: {found}", UNSURE)
    for error in data["errors"]:
        yield safe_text(f"{error.get('code', 'error')}: {error['message']}", BAD)
        details = error.get("details", {})
        if "expected" in details:
            compared = {key: details[key] for key in ("expected", "actual") if key in details}
            yield safe_text(f"  {as_json(compared)}", BAD)
    if then := data.get("then"):
        yield from draw_then(then)


def _steps(data: Data) -> Iterator[tuple[object, ...]]:
    for execution in data["executions"]:
        envelope = execution["envelope"]
        results = {step["id"]: table_data(step) for step in envelope["stepResults"]}
        for step in execution["outcome"]["steps"]:
            style = {"done": GOOD, "failed": BAD}.get(step["status"], FAINT)
            values = "  ".join(f"{key}: {value}" for key, value in results.get(step["id"], {}).items())
            status = step["status"].replace("_", " ")
            yield envelope["commandId"], step["id"], step["type"], (status, style), cut(values, _LONGEST)


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


def recording_pulled(data: Data) -> Drawing:
    yield safe_text(f"{data['sessionId']}: {data['bytes']} bytes in {data['localPath']}", GOOD)
    yield safe_text(f"Next: clawperator record draft --input {shlex.quote(data['localPath'])}", FAINT)


def recording_parsed(data: Data) -> Drawing:
    yield safe_text(f"{data['stepCount']} steps in {data['outputFile']}", GOOD)
    yield from _warnings(data)


def recording_drafted(data: Data) -> Drawing:
    yield safe_text(f"{data['recipeId']}: {data['stepCount']} steps in {data['outputFile']}", GOOD)
    for each in data["inputs"]:
        yield safe_text(f"  input {each['name']}: {each['why']}")
    yield from _warnings(data)
    yield safe_text("Review the draft, then run: clawperator skills lint --file <file>", FAINT)


def replayed(data: Data) -> Drawing:
    columns: Columns = {
        "": "number",
        "step": "id",
        "action": lambda step: (step["what"], FAINT),
        "result": lambda step: (step["status"], GOOD if step["status"] == "done" else UNSURE),
        "duration": lambda step: f"{step['durationMs']} ms",
    }
    yield records(data["steps"], columns)
    for omission in data.get("omitted", ()):
        yield safe_text(f"  omitted event {omission['seq']}: {omission['reason']}", UNSURE)


def _warnings(data: Data) -> Drawing:
    for warning in data.get("warnings", ()):
        yield safe_text(f"  {warning}", UNSURE)
