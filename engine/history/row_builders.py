"""The rows of an execution of this process, made from its ``Attempt``. Runs in the history's thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.caller import Caller
from clawperator.engine.contracts.limits import MAX_PAYLOAD_BYTES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.outcome import ExecutionOutcome, outcome_of
from clawperator.engine.history.compression import to_json
from clawperator.engine.history.records import (
    AuditEvent,
    AuditRecord,
    LineRecord,
    RunRecord,
    RunStatus,
    RunSummary,
    TreeRecord,
    step_records,
)
from clawperator.engine.history.write_ahead import bounded, row_of

if TYPE_CHECKING:
    from clawperator.engine.events.typed_text import TypedText
    from clawperator.engine.executions.attempt import Attempt
    from clawperator.engine.executions.trace import Trace

_REFUSALS = frozenset(
    {
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
        ErrorCode.PAYLOAD_TOO_LARGE,
        ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT,
        ErrorCode.CAPABILITY_DENIED,
        ErrorCode.PACKAGE_DENIED,
        ErrorCode.ACTION_DENIED,
        ErrorCode.READ_ONLY,
        ErrorCode.REF_UNKNOWN,
        ErrorCode.REF_STALE,
        ErrorCode.REF_AMBIGUOUS,
    }
)
"""Codes of refusals, if nothing was dispatched: a device can refuse a payload, too."""


_MOST_ACTIONS = 1_000
"""Limit for a refused payload, which can hold anything."""


DIED = (
    "Its end was not recorded: the program that ran it was killed, or could not write. What became of it is not known."
)


class Denial(NamedTuple):
    """A refusal by the policy: the profile's name, and a ``subject`` such as ``package com.example``."""

    profile: str = ""
    subject: str = ""


class Ending(NamedTuple):
    """The end of an execution: ``result`` is the engine result of execution.md#result."""

    face: str
    result: Mapping[str, Any]
    at: float
    duration_ms: float


def begun(attempt: Attempt, face: str) -> tuple[RunRecord, AuditRecord]:
    """Return the rows of a run that has just been dispatched."""
    row, payload = RunSummary(**row_of(attempt, face)), _payload(attempt)
    planned = outcome_of(planned_steps(payload)).steps
    audit = _audit(row, "execute", attempt.trace.dispatched_at, payload, attempt.caller)
    return RunRecord(row, payload=payload, steps=step_records(planned)), audit


_CONCLUDED = ("status", "code", "ended_at", "duration_ms", "outcome")


def conclusion(attempt: Attempt, ending: Ending) -> Mapping[str, Any] | None:
    """Return for ``write_ahead.conclude`` how a run ended; ``None`` for one without a command id."""
    _, run = ended(attempt, ending)
    if run is None:
        return None
    return {name: getattr(run.summary, name) for name in _CONCLUDED} | {"message": run.message}


def died(note: Mapping[str, Any]) -> tuple[RunRecord, AuditRecord]:
    """Return the rows of a run that ``write_ahead`` noted and whose end was not recorded.

    Raises ``ValueError``, ``TypeError`` or ``KeyError`` for an invalid note.
    """
    if not all(isinstance(value, str | int | float) for value in note["row"].values()):
        raise TypeError
    outcome = unknown_outcome((bounded(step), bounded(kind)) for step, kind in note["steps"])
    row = RunSummary(**note["row"], status="interrupted", code=ErrorCode.INTERRUPTED, outcome=outcome.to_dict())
    message = DIED
    if isinstance(ending := note.get("ended"), Mapping):
        message = bounded(ending["message"])
        row = row._replace(**{name: ending[name] for name in _CONCLUDED})
    audit = _audit(row, "execute", float(note["at"]), note["payload"], Caller(*map(bounded, note["caller"])))
    run = RunRecord(row, message, note["payload"], steps=step_records(outcome.steps))
    return run, audit._replace(action_types=tuple(dict.fromkeys(step.type for step in outcome.steps if step.type)))


def unknown_outcome(planned: Iterable[tuple[str, str]]) -> ExecutionOutcome:
    """Return the outcome of a run whose process died: each step may have been done."""
    return outcome_of(planned, error=EngineError(ErrorCode.INTERRUPTED, DIED))


def ended(attempt: Attempt, ending: Ending) -> tuple[list[AuditRecord], RunRecord | None]:
    """Return the missing rows of the audit, and the run; ``None`` for one without a command id."""
    status, code, message = _outcome(attempt, ending.result)
    row = RunSummary(**row_of(attempt, ending.face), status=status, code=code)
    row = row._replace(ended_at=ending.at, duration_ms=ending.duration_ms)
    payload, trace = _payload(attempt), attempt.trace
    event: AuditEvent = "refused" if status == "refused" else "result"
    last = _audit(row, event, ending.at, payload, attempt.caller)
    denied = _denial(ending.result)
    last = last._replace(code=code, duration_ms=ending.duration_ms, profile=denied.profile, denied=denied.subject)
    if event == "refused":
        last = last._replace(rule=rule_of(code, _details(ending.result.get("error") or {})))
    audit = [last]
    if event == "result" and not trace.was_dispatched:
        audit.insert(0, _audit(row, "execute", attempt.at, payload, attempt.caller))
    if not row.command_id:
        return audit, None
    outcome = attempt.outcome
    if outcome is not None:
        row = row._replace(outcome=attempt.typed.value(outcome.to_dict()))
    steps = step_records((outcome or outcome_of(planned_steps(payload))).steps)
    envelope, warnings = ending.result.get("envelope"), tuple(attempt.warnings)
    raw = tuple(attempt.typed.raw(text) for text in trace.raw)
    run = RunRecord(row, message, payload, envelope, raw, steps, warnings=attempt.typed.value(warnings))
    return audit, _complete(run, trace, attempt.typed)


def _payload(attempt: Attempt) -> Mapping[str, Any] | None:
    """Return the normalised payload, or the given one if it was invalid, without typed text."""
    payload = attempt.shown_payload
    return payload if isinstance(payload, Mapping) else None


def _outcome(attempt: Attempt, result: Mapping[str, Any]) -> tuple[RunStatus, str, str]:
    """Return status, code and message of the end."""
    error = result.get("error")
    if not isinstance(error, Mapping):
        envelope = result["envelope"]
        if envelope["status"] == "success":
            return "success", "", ""
        return "failed", _text(envelope.get("errorCode")), _text(envelope.get("error"))
    code, message = _text(error.get("code")), _text(error.get("message"))
    if code == ErrorCode.INTERRUPTED:
        return "interrupted", code, message
    by_rule = code in _REFUSALS or "policy" in _details(error)  # also for a policy that cannot be read
    refused = by_rule and not attempt.trace.was_dispatched
    return "refused" if refused else "failed", code, message


def _text(value: object) -> str:
    return str(value) if isinstance(value, str) else ""


def _complete(run: RunRecord, trace: Trace, typed: TypedText) -> RunRecord:
    """Return ``run`` with its derived values, without typed text."""
    lines = tuple(_lines(run.summary, trace, typed))
    trees, envelope = _trees(run, trace, typed)
    valid = run.summary.timeout_ms > 0
    return run._replace(
        summary=run.summary._replace(failed_steps=sum(step.status == "failed" for step in run.steps)),
        payload=run.payload if valid or _is_small(run.payload) else None,
        envelope=envelope,
        lines=lines,
        trees=trees,
        phases={name: round(spent, 3) for name, spent in trace.phases.items()},
    )


def _trees(run: RunRecord, trace: Trace, typed: TypedText) -> tuple[tuple[TreeRecord, ...], Mapping[str, Any] | None]:
    snapshots = any(kind == "snapshot_ui" for _, kind in planned_steps(run.payload))
    if not trace.trees and not snapshots:
        return (), run.envelope
    from clawperator.engine.history.trees import keep_trees

    seen = [(at, replace(tree, xml=typed.text(tree.xml))) for at, tree in trace.trees] if typed else trace.trees
    return keep_trees(seen, run.envelope, run.summary.ended_at)


def _lines(row: RunSummary, trace: Trace, typed: TypedText) -> Iterator[LineRecord]:
    """Yield the host's lines and those of the device."""
    actions = f"{row.action_count} {'action' if row.action_count == 1 else 'actions'}"
    yield LineRecord(row.started_at, "sent", f"sent by {row.face}, {actions}")
    if trace.was_dispatched:
        yield LineRecord(trace.dispatched_at, "dispatched", "from here on the device may act")
    for at, signal in trace.lines:
        fields, text = typed.line(signal.kind, signal.fields, signal.text)
        yield LineRecord(at, signal.kind, text, fields)
    if trace.lines_left_out:
        yield LineRecord(row.ended_at, "omitted", f"{trace.lines_left_out} more lines were not recorded")
    kind = "result" if row.status in ("success", "failed") and trace.raw else "gave up"
    yield LineRecord(row.ended_at, kind, row.code or row.status)


def planned_steps(payload: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return id and type of each action; the payload can be invalid."""
    actions = (payload or {}).get("actions")
    known = [action for action in actions if isinstance(action, Mapping)] if isinstance(actions, list) else []
    return [(bounded(action.get("id")), bounded(action.get("type"))) for action in known[:_MOST_ACTIONS]]


def _is_small(payload: Mapping[str, Any] | None) -> bool:
    """Return whether a refused payload is small enough to be recorded."""
    try:
        return len(to_json(payload)) <= 4 * MAX_PAYLOAD_BYTES
    except (ValueError, TypeError, RecursionError):
        return False


def _details(error: Mapping[str, Any]) -> Mapping[str, Any]:
    details = error.get("details")
    return details if isinstance(details, Mapping) else {}


def _denial(result: Mapping[str, Any]) -> Denial:
    error = result.get("error")
    return denial(_details(error)) if isinstance(error, Mapping) else Denial()


def denial(details: Mapping[str, Any]) -> Denial:
    """Return the refusal in ``details``; an empty one if no policy refused."""
    if not isinstance(details.get("profile"), str):
        return Denial()
    found = (f"{kind} {details[kind]}" for kind in ("capability", "package", "action") if kind in details)
    return Denial(bounded(details["profile"]), bounded(next(found, "")))


def rule_of(code: str, details: Mapping[str, Any]) -> str:
    """Return the rule behind a refusal: ``capability click``, ``read_only``, ``token``, ``origin`` …"""
    rule = next((name for name in ("host", "origin", "site", "header") if name in details), "")
    return _RULES.get(code) or denial(details).subject or rule or ("policy" if "policy" in details else "")


_RULES: Mapping[str, str] = {
    ErrorCode.READ_ONLY: "read_only",
    ErrorCode.UNAUTHORIZED: "token",
    ErrorCode.RATE_LIMITED: "rate",
    ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT: "lock",
    ErrorCode.EXECUTION_VALIDATION_FAILED: "contract",
    ErrorCode.EXECUTION_ACTION_UNSUPPORTED: "contract",
    ErrorCode.PAYLOAD_TOO_LARGE: "contract",
}
"""Codes with exactly one rule."""


def _audit(
    row: RunSummary, event: AuditEvent, at: float, payload: Mapping[str, Any] | None, caller: Caller
) -> AuditRecord:
    types = tuple(dict.fromkeys(kind for _, kind in planned_steps(payload) if kind))
    return AuditRecord(
        at,
        event,
        row.execution_id,
        row.command_id,
        row.task_id,
        row.device_id,
        row.mode,
        row.source,
        row.face,
        types,
        caller=bounded(caller.name),
        peer=bounded(caller.peer),
    )
