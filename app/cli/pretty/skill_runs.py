"""``--output pretty`` of ``skills run``: the results of a script, or the executions of an artifact."""

from __future__ import annotations

from collections.abc import Iterator

from clawperator.app.cli.pretty.executions import draw_long_texts, draw_then, skill_result, table_data
from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Data, Drawing, as_json, cut, line, plain_table, records, safe_text
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
