"""Parse the Operator's progress lines with one table of their fields (wire.md#log-lines)."""

from __future__ import annotations

import json
from typing import NamedTuple

from clawperator.engine.contracts.operator_identity import BRANDS

OPERATOR_PREFIXES = (
    *(f"[{brand}-".encode() for brand in BRANDS),
    b"[TaskScope]",
    b"[TaskUiScope]",
    b"[UiActionEngine]",
    b"[UiTreeManager]",
    b"[TaskRunnerManager]",
    b"[Operator-",
    *(f"{brand}Result ".encode() for brand in BRANDS),
)


class _Line(NamedTuple):
    kind: str
    fields: tuple[tuple[str, str], ...] = ()
    """Names in the order of the line, each with the text before its value."""


def _keys(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, f" {name}=") for name in names)


_COMMAND = _keys("commandId", "taskId")
_LINES: dict[str, _Line] = {
    "[{brand}-Command] queued ": _Line("queued", _COMMAND + _keys("waiting_for_active_command")),
    "[{brand}-Command] start ": _Line("start", _COMMAND + _keys("source", "timeoutMs", "actionCount")),
    "[{brand}-Command] stage-start ": _Line("stage-start", _COMMAND + _keys("id", "label")),
    "[{brand}-Command] stage-retry ": _Line("stage-retry", _COMMAND + _keys("id", "attempt", "delayMs")),
    "[{brand}-Command] stage-success ": _Line("stage-success", _COMMAND + _keys("id", "data")),
    "[{brand}-Command] stage-failure ": _Line("stage-failure", _COMMAND + _keys("id", "reason")),
    "[{brand}-Command] stage-log ": _Line("stage-log", _COMMAND + _keys("message")),
    "[{brand}-Command] success ": _Line("success", _COMMAND + _keys("stepCount")),
    "[{brand}-Command] failure ": _Line("failure", _COMMAND + _keys("reason")),
    "[UiActionEngine] step_start ": _Line("step-start", _keys("id", "type")),
    "[UiActionEngine] step_success ": _Line("step-success", _keys("id", "type", "data")),  # from 0.10 success, not data
    "[TaskRunnerManager] Task execution started": _Line("task-start"),
    "[TaskRunnerManager] Task completed successfully": _Line(
        "task-success", (("durationMs", " in "), ("value", "ms with value: "))
    ),
    "[TaskRunnerManager] Task failed": _Line("task-failure", (("durationMs", " after "), ("reason", "ms: "))),
    "[TaskScope] Executing UI operations": _Line("ui-start"),
    "[TaskScope] UI operations completed": _Line("ui-end"),
    "[TaskScope] Logging UI tree": _Line("snapshot-start"),
    "[Operator-UxInspector] Root node is null": _Line("no-window"),
    "[Operator-UxInspector] Accessibility service is not available": _Line("no-window"),
    "[Operator-Receiver] Accessibility service is not available commandId=": _Line("service-unavailable", _COMMAND),
    "[Operator-Receiver] Ignoring unsupported action=": _Line("action-ignored", _keys("action")),
    "[Operator-Receiver] Agent command completed successfully ": _Line("answered", _COMMAND),
    "[Operator-Receiver] Agent command failed ": _Line("answered-failure", (*_COMMAND, ("reason", ": "))),
    "{brand}Result ": _Line("envelope-failure", _keys("commandId")),
}
_EVENTS = frozenset(f"[{brand}-Event]" for brand in BRANDS)
_BY_FIRST_WORD: dict[str, list[tuple[str, _Line]]] = {}
for _pattern, _line in _LINES.items():
    for _start in {_pattern.format(brand=_brand): None for _brand in BRANDS}:
        _BY_FIRST_WORD.setdefault(_start.partition(" ")[0], []).append((_start, _line))


def read_progress(message: str) -> tuple[str, dict[str, str]] | None:
    """Kind and fields of a line of the catalogue; None for any other, such as the service's own event lines."""
    first_word, _, rest = message.partition(" ")
    if first_word in _EVENTS:
        return "event", _event_fields(rest)
    for start, line in _BY_FIRST_WORD.get(first_word, ()):
        if message.startswith(start):
            fields = _fields(message, line.fields)
            if line.kind == "step-success" and "data" not in fields:
                fields["type"], _, fields["success"] = fields.get("type", "").partition(" success=")
            return line.kind, fields
    return None


def _fields(message: str, expected: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Values may contain blanks and ``=``: each ends at the next field of its line, the last at the end of the line.

    Only ``data`` may contain line feeds; after a reason they begin the stack trace.
    """
    fields: dict[str, str] = {}
    name, rest = "", message
    for following, mark in expected:
        value, found, after = rest.partition(mark)
        if not found:
            continue
        if name:
            fields[name] = value
        name, rest = following, after
    if name:
        fields[name] = rest if name == "data" else rest.partition("\n")[0]
    return fields


def _event_fields(text: str) -> dict[str, str]:
    """The members of a JSON object; no version of the Operator emits this line."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict):
        return {}
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in event.items()}
