"""The state of an execution in sentences: what happened, what is known, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from clawperator.engine.errors import ErrorCode
from clawperator.engine.logcat.stages import brief
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.execution_queries import (
    failed_steps,
    last_sign,
    step_at,
    was_sent,
    when_answered,
    when_given_up,
)
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import duration

_LOST = frozenset(
    {
        ErrorCode.LOGCAT_UNAVAILABLE,
        ErrorCode.DEVICE_OFFLINE,
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        ErrorCode.BROADCAST_FAILED,
    }
)
"""Codes of a device that disconnects during a run."""


_EXPLAINED = frozenset({ErrorCode.RESULT_ENVELOPE_TIMEOUT, ErrorCode.RESULT_ENVELOPE_MALFORMED, ErrorCode.INTERRUPTED})
"""Codes whose meaning ``_happened`` already states."""


class Sentence(NamedTuple):
    """``foreign`` is quoted device or error text; ``hint`` marks what to do."""

    text: str
    role: str = "text"
    foreign: str = ""
    hint: bool = False


def sentences(execution: ExecutionState, now: float) -> Iterator[Sentence]:
    """Yield all sentences, the most important first."""
    if (first := _happened(execution)).text:
        yield first
    if execution.over:
        if execution.envelope is None and not execution.problem and was_sent(execution) is not False:
            yield Sentence(_known(execution))
        meaning = _what_was_lost() if execution.lost else code_sentences(execution.code)
        yield from (sentence for sentence in meaning if sentence.hint or execution.code not in _EXPLAINED)
    yield from _afterwards(execution)
    if not execution.over:
        yield from _going_on(execution, now)


def _what_was_lost() -> Iterator[Sentence]:
    from clawperator.engine.executions.outcome import RESULT_LOST_HINT

    yield Sentence(RESULT_LOST_HINT, "accent", hint=True)


def code_sentences(code: str) -> Iterator[Sentence]:
    """Yield meaning and hint of an error code."""
    known = ErrorCode.known(code)
    if known is not None:
        yield Sentence(f"{known.meaning[:1].upper()}{known.meaning[1:]}.")
        if known.hint:
            yield Sentence(known.hint, "accent", hint=True)
    elif code:
        yield Sentence("Unknown device error code. See the data of the step.", "muted")


# -- what happened


def _happened(execution: ExecutionState) -> Sentence:
    status = execution.status
    if status is Status.OK:
        return Sentence(_all_went_well(execution), "ok")
    if status is Status.WARN:
        return Sentence(_partly(execution), "warn")
    if status is Status.FAILED:
        return _failed(execution)
    if status is Status.SKIPPED:
        return Sentence("Refused before anything was sent.", "warn", execution.message)
    if status is Status.UNKNOWN:
        why = f": {execution.message}" if execution.message else ""
        return Sentence(f"The outcome is unknown{why}.", "warn")
    return Sentence("")


def _all_went_well(execution: ExecutionState) -> str:
    count = len(execution.steps)
    closed = sum(1 for step in execution.steps if step.note)
    if any(step.status is not Status.OK for step in execution.steps):
        return "The plan completed."
    words = "The step succeeded." if count == 1 else f"All {count} steps succeeded." if count else ""
    return f"{words} {_count(closed, 'app')} closed by the host." if closed else words


def _partly(execution: ExecutionState) -> str:
    failed = failed_steps(execution)
    where = ", ".join(f"{number} ({step.type or step.id})" for number, step in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return f"The plan completed; {_count(len(failed), 'step')} failed: {where}{more}."


def _failed(execution: ExecutionState) -> Sentence:
    code, message = execution.code, brief(execution.message)
    if execution.lost:
        return Sentence("The plan has run, but its result is lost:", "fail", f"{execution.problem or message}.")
    if execution.problem:
        return Sentence("The result arrived but could not be parsed:", "fail", f"{execution.problem}.")
    if execution.envelope is not None:
        return Sentence(_broke_off(execution), "fail", message)
    took = duration(execution.elapsed(execution.ended))
    if code == ErrorCode.RESULT_ENVELOPE_TIMEOUT:
        return Sentence(f"No result within {took}.", "fail")
    if code == ErrorCode.INTERRUPTED:
        return Sentence(f"Waiting was stopped after {took}.", "fail")
    if was_sent(execution) is False:
        return Sentence("Refused before anything was sent.", "fail", message)
    if code in _LOST:
        where = execution.device_id or "the device"
        return Sentence(f"The connection to {where} was lost before the result arrived.", "fail", message)
    return Sentence("It ended without a result.", "fail", message)


def _broke_off(execution: ExecutionState) -> str:
    failed = failed_steps(execution)
    if not failed:
        return "The plan failed; the failing step is unknown."
    number, step = failed[-1]
    return f"The plan failed at step {number} ({step.type or step.id})."


# -- what is known


def _known(execution: ExecutionState) -> str:
    """Return what is known of a run without a result: whether it was sent, and the last log line."""
    words = f"Sent: {'yes' if was_sent(execution) else 'unknown'}. "
    sign = last_sign(execution)
    if sign is None:
        return f"{words}No response from the device."
    before = duration(execution.ended - sign.at)  # empty where the end was not seen
    when = f", {before} before the end" if before else ""
    more = "" if execution.status is Status.UNKNOWN else " The device may still act."
    return f"{words}Last response: {_sign_words(execution, sign.kind, sign.at)}{when}.{more}"


def _sign_words(execution: ExecutionState, kind: str, at: float) -> str:
    here = step_at(execution, at)
    if here is None:
        return kind
    number, step = here
    if kind == "stage-retry" and step.retry:
        return f"retry {step.retry} of step {number}"
    return f"{kind.replace('-', ' ')} of step {number} ({step.type or step.id})"


def _afterwards(execution: ExecutionState) -> Iterator[Sentence]:
    """Yield facts that change how the result is read."""
    if execution.foreign:
        yield Sentence("Not sent from this machine; its start was not seen.", "warn")
    if any(line.kind == "gap" for line in execution.lines):
        yield Sentence("The log was interrupted during this run: steps and retries may be missing.", "warn")
    for warning in execution.warnings:
        yield Sentence("Warning:", "warn", str(warning.get("message") or warning.get("code") or ""))
    if execution.late:
        late_by = when_answered(execution) - when_given_up(execution)
        when = "" if math.isnan(late_by) else f", {duration(late_by)} after this host stopped waiting"
        yield Sentence(f"The result arrived late{when}.", "warn")
    if execution.duplicates:
        times = "Another envelope" if execution.duplicates == 1 else f"{execution.duplicates} more envelopes"
        yield Sentence(f"{times} of this command arrived; the first one counts.", "warn")


def _going_on(execution: ExecutionState, now: float) -> Iterator[Sentence]:
    """Yield what it is doing, and the age of the last response."""
    if execution.status is Status.WAITING:
        yield Sentence("Queued on the device behind the previous command.", "muted")
        return
    step = execution.running_step
    if step is not None:
        yield Sentence(_running_words(execution, step), "run")
    elif was_sent(execution):
        yield Sentence(
            "Received by the device; no step has started." if not execution.steps else "Between two steps.", "muted"
        )
    else:
        yield Sentence("Being sent to the device.", "muted")
    sign = last_sign(execution)
    if sign is not None and now - sign.at >= 2:
        yield Sentence(f"Last response {duration(now - sign.at)} ago.", "muted")


def _running_words(execution: ExecutionState, step: StepState) -> str:
    number = execution.steps.index(step) + 1
    total = f" of {execution.action_count}" if execution.action_count else ""
    retry = f", retry {step.retry}" if step.retry else ""
    return f"Running step {number}{total}: {step.type or step.id}{retry}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
