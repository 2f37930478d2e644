"""``--output pretty`` of executions, plans and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, as_json, cut, line, records, safe_text, warnings
from clawperator.app.cli.pretty.trees import blind_line, draw_dump, draw_view, is_dump, without_dumps

_LONG_VALUE = 160
_IN_VIEWS = ("actual_format", "foreground_package", "window_count")
"""Data of a snapshot that the head of its view has, or that are about the dump."""
_STATUS_STYLES = {"succeeded": GOOD, "done": GOOD, "partial": UNSURE, "failed": BAD}
_DRAWN = ("code", "message", "hint", "retryable", "outcome", "skillResult")


def error(data: Data) -> Drawing:
    yield line((data["code"], BAD), "  ", safe_text(data["message"], lines=True))
    if data.get("hint"):
        yield safe_text(f"  {data['hint']}", UNSURE)
    if steps := data.get("outcome", {}).get("steps"):
        yield _steps(steps, ())
    if reported := data.get("skillResult"):
        yield from skill_result(reported)
    for key, given in data.items():
        value = without_dumps(given)
        if key not in _DRAWN and value not in ({}, [], ""):
            yield safe_text(f"  {key}: {value if isinstance(value, str) else as_json(value)}", FAINT)


def skill_result(reported: Data) -> Drawing:
    """Draw the result that a skill reported itself, and its checkpoints."""
    from clawperator.engine.skills.skill_result import result_rows

    for point in reported["checkpoints"]:
        style = {"ok": GOOD, "failed": BAD}.get(point["status"], FAINT)
        yield line((f"{point['status']:<8}", style), f"{point['id']}  ", (str(point.get("note") or ""), FAINT))
    for name, reported_value in result_rows(reported):
        value = without_dumps(reported_value)
        yield line((f"{name:<8}", FAINT), cut(value if isinstance(value, str) else as_json(value), _LONG_VALUE))


def execution(data: Data) -> Drawing:
    """Draw the verdict, a table of the steps, and long texts (UI trees) below it."""
    envelope, outcome = data["envelope"], data["outcome"]
    yield line(
        (outcome["status"], _STATUS_STYLES.get(outcome["status"], BAD)),
        f"  {envelope.get('commandId', '')} on {data['deviceId']}",
        (f"  {data['executionId']}", FAINT),
    )
    if failure := outcome.get("error"):
        yield safe_text(f"  {failure['code']}  {failure['message']}", BAD)
        yield safe_text(f"  {failure['hint']}", UNSURE)
        if failure["code"] in ("NODE_AMBIGUOUS", "CONTAINER_AMBIGUOUS"):
            yield from map(_candidate, failure.get("details", {}).get("candidates", ()))
    for short, full in data.get("resolvedIds", {}).items():
        yield safe_text(f"  id {short}: {full}", FAINT)
    results = envelope.get("stepResults") or []
    if outcome["steps"]:
        yield _steps(outcome["steps"], results)
    yield from map(_choice, data.get("selection", {}).get("steps", ()))
    for name, value in data.get("result", {}).items():
        yield safe_text(f"  {name}: {value if isinstance(value, str) else as_json(value)}")
    yield from draw_long_texts(results)
    if then := data.get("then"):
        yield from draw_then(then)


def draw_long_texts(results: Sequence[Data]) -> Drawing:
    """Draw what steps returned that a table does not hold: views, trees as their compact view, and long texts."""
    for step in results:
        data = step.get("data", {})
        text, view = data.get("text"), data.get("view")
        if view or is_dump(text):
            yield safe_text(f"\n{step.get('id', '')}", FAINT, lines=True)
            yield from draw_view(view) if view else draw_dump(text)
        elif isinstance(text, str) and _is_long(text):
            yield safe_text(f"\n{step.get('id', '')}: {len(text.encode(errors='replace'))} bytes", FAINT, lines=True)
            yield safe_text(text, lines=True)
        if not view:
            yield from blind_line(data)


def _choice(row: Data) -> Text:
    """Return what the host chose for one step, and the arguments that it sent for it."""
    sent = {name: value for name, value in row.items() if name not in ("id", "by")}
    return safe_text(f"  {row['id']}: chosen by {row['by']} {as_json(sent) if sent else ''}".rstrip(), FAINT)


def _candidate(node: Data) -> Text:
    """One of several nodes: its selector if that is known, else its words."""
    if "selector" in node:
        inside = f" in {as_json(node['container'])}" if "container" in node else ""
        return safe_text(f"  {as_json(node['selector'])}{inside}")
    name = node.get("text") or node.get("contentDesc") or node.get("resourceId") or node.get("role", "")
    return safe_text(f"  {name} {node.get('bounds', '')}")


def device_row(data: Data) -> Drawing:
    """Draw the end of an operation on one of many devices as one line, and the reason of a failure below it."""
    failure: Data = data.get("error") or data.get("outcome", {}).get("error") or next(iter(data.get("errors", ())), {})
    yield line(
        (f"{data['status'].replace('_', ' '):<10}", _STATUS_STYLES.get(data["status"], UNSURE)),
        f"{data.get('alias') or data['deviceId']}  ",
        (f"{data['durationMs']} ms", FAINT),
    )
    if failure:
        yield safe_text(f"  {failure.get('code', 'error')}  {failure['message']}", FAINT)


def fan_out_summary(data: Data) -> Drawing:
    counts = dict(data["summary"])
    spent, devices = counts.pop("durationMs"), counts.pop("devices")
    not_ready, interrupted = counts.pop("notReady", {}), counts.pop("interrupted", False)
    named = {"notRun": "not run"}
    parts = ", ".join(f"{count} {named.get(status, status)}" for status, count in counts.items() if count)
    yield line(
        ("interrupted: " if interrupted else "", BAD),
        (f"{devices} devices", GOOD if data["ok"] else BAD),
        f": {parts} in {spent / 1000:.1f} s",
    )
    for serial, state in not_ready.items():
        yield safe_text(f"  {serial} is not ready: {state}", UNSURE)


def draw_then(then: Data) -> Drawing:
    """The screen after the plan."""
    yield Text("")
    if "settled" in then:
        changed = {True: "changed", False: "unchanged", None: "changes unknown"}[then["changed"]]
        settled = "settled after" if then["settled"] else "not settled after"
        yield safe_text(f"screen {changed}, {settled} {then['settledMs']} ms, tree {then['tree']}", "bold")
    if "view" in then:
        yield from draw_view(then)
    else:
        yield from blind_line(then)
    if failure := then.get("error"):
        yield safe_text(f"no screen: {failure['code']}  {failure['message']}", BAD)


def _steps(steps: Sequence[Data], results: Sequence[Data]) -> Table:
    """The steps of an outcome, with the data of their results in the envelope."""
    data = {result.get("id"): table_data(result) for result in results}
    columns: Columns = {
        "step": "id",
        "action": "type",
        "result": _result,
        "duration": lambda step: ("" if step["durationMs"] is None else f"{step['durationMs']} ms", FAINT),
        "data": lambda step: _short_data(
            {**_as_known(step, data.get(step["id"], {})), **_target(step.get("target", {}))}
        ),
    }
    return records(steps, columns)


def _as_known(step: Data, data: Mapping[str, object]) -> Mapping[str, object]:
    """Without the device's refusal where the host did the step: it is in the envelope."""
    refused = step["status"] == "done" and not {"error", "errorCode"}.isdisjoint(data)
    return {name: value for name, value in data.items() if not (refused and name in ("error", "errorCode", "message"))}


def _result(step: Data) -> tuple[str, str]:
    code = f" {step['code']}" if step.get("code") else ""
    return f"{step['status'].replace('_', ' ')}{code}", _STATUS_STYLES.get(step["status"], FAINT)


def _target(target: Data) -> dict[str, str]:
    """The node that a step acted on, if the step's own data do not name it."""
    if "bounds" not in target:
        return {}
    name = target.get("resourceId") or target.get("text", "")
    matched = f", {target['matched']} matched" if "matched" in target else ""
    return {"node": f"{name} {target['bounds']}{matched}"}


def _short_data(data: Mapping[str, object]) -> Text:
    lines = [f"{key}: {_short(key, str(value))}" for key, value in data.items()]
    return safe_text("\n".join(map(visible, lines)), lines=True)


def table_data(result: Data) -> dict[str, object]:
    """Return the data of a step that stand in a table: without those that ``draw_long_texts`` draws below it."""
    data = result.get("data", {})
    drawn = ("view", "blind", *(_IN_VIEWS if "view" in data or is_dump(data.get("text")) else ()))
    return {key: value for key, value in data.items() if key not in drawn and not is_dump(value)}


def _short(key: str, text: str) -> str:
    if not _is_long(text):
        return text
    return "(below)" if key == "text" else f"({len(text)} characters)"


def _is_long(text: str) -> bool:
    return len(text) > _LONG_VALUE or "\n" in text


def validated(data: Data) -> Drawing:
    for payload in data.get("executions") or [data["execution"]]:
        yield line(("valid", GOOD), f"  {payload['commandId']}, {len(payload['actions'])} actions")
        yield _actions(payload["actions"])
    yield from warnings(data)


def plan(data: Data) -> Drawing:
    for steps in data.get("plans") or [data["plan"]]:
        yield line(("dry run", GOOD), f"  {steps['commandId']} within {steps['timeoutMs']} ms")
        yield _actions(steps["actions"])
    yield from warnings(data)


def _actions(actions: Sequence[Data]) -> Table:
    parameters = {"parameters": lambda action: as_json(action.get("params", {}))}
    return records(actions, {"step": "id", "action": "type", **parameters})
