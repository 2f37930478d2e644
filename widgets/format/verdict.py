"""How an execution stands, in sentences: what is the case, what is known, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from clawperator.engine.errors import ErrorCode
from clawperator.widgets.models.execution import ExecutionState, StepState, brief
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
"""What it looks like from here when a device goes away in the middle of a run."""


_SAID = frozenset({ErrorCode.RESULT_ENVELOPE_TIMEOUT, ErrorCode.RESULT_ENVELOPE_MALFORMED, ErrorCode.INTERRUPTED})
"""Codes whose meaning is what ``_happened`` says already."""


class Sentence(NamedTuple):
    """``foreign`` is text from the device or an error, which is quoted as it is; ``hint`` marks what to do."""

    text: str
    role: str = "text"
    foreign: str = ""
    hint: bool = False


def sentences(execution: ExecutionState, now: float) -> Iterator[Sentence]:
    """The whole story, the most important first."""
    if (first := _happened(execution)).text:
        yield first
    if execution.over:
        if execution.envelope is None and not execution.problem and was_sent(execution) is not False:
            yield Sentence(_known(execution))
        meaning = code_sentences(execution.code)
        yield from (sentence for sentence in meaning if sentence.hint or execution.code not in _SAID)
    yield from _afterwards(execution)
    if not execution.over:
        yield from _going_on(execution, now)


def code_sentences(code: str) -> Iterator[Sentence]:
    """What an error code means and what to do about it; nothing without a code."""
    known = ErrorCode.known(code)
    if known is not None:
        yield Sentence(f"{known.meaning[:1].upper()}{known.meaning[1:]}.")
        if known.hint:
            yield Sentence(known.hint, "accent", hint=True)
    elif code:
        yield Sentence("The device's own code, which this version does not know; its data says more.", "muted")


# -- what is the case


def _happened(execution: ExecutionState) -> Sentence:
    status = execution.status
    if status is Status.OK:
        return Sentence(_all_went_well(execution), "ok")
    if status is Status.WARN:
        return Sentence(_partly(execution), "warn")
    if status is Status.FAILED:
        return _failed(execution)
    if status is Status.SKIPPED:
        return Sentence("It was refused before anything was sent.", "warn", execution.message)
    if status is Status.UNKNOWN:
        why = f": {execution.message}" if execution.message else ""
        return Sentence(f"How it ended is not known{why}.", "warn")
    return Sentence("")


def _all_went_well(execution: ExecutionState) -> str:
    count = len(execution.steps)
    closed = sum(1 for step in execution.steps if step.note)
    if any(step.status is not Status.OK for step in execution.steps):
        return "The plan ran to its end."
    words = "The only step went well." if count == 1 else f"All {count} steps went well." if count else ""
    return f"{words} {_count(closed, 'app')} closed by the host." if closed else words


def _partly(execution: ExecutionState) -> str:
    failed = failed_steps(execution)
    where = ", ".join(f"{number} ({step.type or step.id})" for number, step in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return f"The plan ran to its end; {_count(len(failed), 'step')} failed: {where}{more}."


def _failed(execution: ExecutionState) -> Sentence:
    code, message = execution.code, brief(execution.message)
    if execution.problem:
        return Sentence("The result came, but could not be read:", "fail", f"{execution.problem}.")
    if execution.envelope is not None:
        return Sentence(_broke_off(execution), "fail", message)
    took = duration(execution.elapsed(execution.ended))
    if code == ErrorCode.RESULT_ENVELOPE_TIMEOUT:
        return Sentence(f"No result within {took}.", "fail")
    if code == ErrorCode.INTERRUPTED:
        return Sentence(f"Somebody stopped waiting after {took}.", "fail")
    if was_sent(execution) is False:
        return Sentence("It was refused before anything was sent.", "fail", message)
    if code in _LOST:
        where = execution.device_id or "the device"
        return Sentence(f"The connection to {where} broke before the result came.", "fail", message)
    return Sentence("It ended without a result.", "fail", message)


def _broke_off(execution: ExecutionState) -> str:
    failed = failed_steps(execution)
    if not failed:
        return "The plan broke off; which step it was is not known."
    number, step = failed[-1]
    return f"The plan broke off at step {number} ({step.type or step.id})."


# -- what is known


def _known(execution: ExecutionState) -> str:
    """For a run without a result: did it go out, and what was seen last."""
    words = f"Sent: {'yes' if was_sent(execution) else 'not known'}. "
    sign = last_sign(execution)
    if sign is None:
        return f"{words}No sign of life from the device."
    before = duration(execution.ended - sign.at)  # of nothing where nobody saw the end
    when = f", {before} before the end" if before else ""
    more = "" if execution.status is Status.UNKNOWN else " The device may still act."
    return f"{words}Last sign: {_sign_words(execution, sign.kind, sign.at)}{when}.{more}"


def _sign_words(execution: ExecutionState, kind: str, at: float) -> str:
    here = step_at(execution, at)
    if here is None:
        return kind
    number, step = here
    if kind == "stage-retry" and step.retry:
        return f"retry {step.retry} of step {number}"
    return f"{kind.replace('-', ' ')} of step {number} ({step.type or step.id})"


def _afterwards(execution: ExecutionState) -> Iterator[Sentence]:
    """What else has to be known to read it right."""
    if execution.foreign:
        yield Sentence("Nobody on this machine sent it, and its start was not seen.", "warn")
    if any(line.kind == "gap" for line in execution.lines):
        yield Sentence("The log broke off during this run: steps and retries may be missing here.", "warn")
    for warning in execution.warnings:
        yield Sentence("Warning:", "warn", str(warning.get("message") or warning.get("code") or ""))
    if execution.late:
        late_by = when_answered(execution) - when_given_up(execution)
        when = "" if math.isnan(late_by) else f", {duration(late_by)} after this host had stopped waiting"
        yield Sentence(f"The result came late{when}. It is shown here.", "warn")
    if execution.duplicates:
        times = "Another envelope" if execution.duplicates == 1 else f"{execution.duplicates} more envelopes"
        yield Sentence(f"{times} of this command came; the first one counts.", "warn")


def _going_on(execution: ExecutionState, now: float) -> Iterator[Sentence]:
    """What it is doing, and how long ago that was heard of."""
    if execution.status is Status.WAITING:
        yield Sentence("The device has it, and works on the command before it.", "muted")
        return
    step = execution.running_step
    if step is not None:
        yield Sentence(_running_words(execution, step), "run")
    elif was_sent(execution):
        yield Sentence(
            "The device has it; no step has begun." if not execution.steps else "Between two steps.", "muted"
        )
    else:
        yield Sentence("It is on its way to the device.", "muted")
    sign = last_sign(execution)
    if sign is not None and now - sign.at >= 2:
        yield Sentence(f"Last sign of life {duration(now - sign.at)} ago.", "muted")


def _running_words(execution: ExecutionState, step: StepState) -> str:
    number = execution.steps.index(step) + 1
    total = f" of {execution.action_count}" if execution.action_count else ""
    retry = f", retry {step.retry}" if step.retry else ""
    return f"Step {number}{total} runs: {step.type or step.id}{retry}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
