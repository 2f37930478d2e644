"""Load a finished run into the draft, to run it again or to change it first, or add its steps: from stream and history."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft_model import Draft
from clawperator.app.console.navigation import DraftPlace
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.engine.filters.grammar import Filter, Term
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.console_engine import HistoryEngine
    from clawperator.engine.history.records import RunRecord
    from clawperator.widgets.models.execution import ExecutionState


class SentPayload(NamedTuple):
    """What was sent, and where to. ``unknown`` says why there is no payload."""

    command_id: str
    device_id: str
    payload: Mapping[str, Any] | None
    unknown: str = ""


ToDraft = Callable[[ExecutionConsole, SentPayload], None]


def of_record(record: RunRecord) -> SentPayload:
    """Return what a recorded run sent."""
    summary = record.summary
    unknown = (
        "another program sent it, and the log does not contain it"
        if summary.origin == "seen"
        else "the input was not a payload, or too large to store"
    )
    return SentPayload(summary.command_id, summary.device_id, record.payload, unknown)


async def recorded_run(history: HistoryEngine, command_id: str, at: float) -> RunRecord:
    """Return the run of a command that began ``at``, as near as known: a commandId can be used again.

    Raises ``EngineError``.
    """
    newest = await history.find(command_id)
    if math.isnan(at):
        return newest
    where = Filter(command_id, (Term(False, "cmd", command_id.casefold(), text=command_id),))
    same = [run for run in await history.runs(where, limit=_SAME_READ) if run.command_id == command_id]
    nearest = min(same, key=lambda run: abs(run.started_at - at), default=newest.summary)
    return newest if nearest.number == newest.summary.number else await history.find(nearest.number)


_SAME_READ = 50
"""How many runs that may have the command are looked at."""


async def of_execution(console: ExecutionConsole, execution: ExecutionState) -> SentPayload:
    """Return what a run of the stream sent; the history may have a payload of another program."""
    payload, history = execution.payload, console.engine.history
    if payload is None and history is not None:
        try:
            payload = (await recorded_run(history, execution.command_id, execution.started)).payload
        except EngineError:
            payload = None
    unknown = "another program sent it, and the log does not contain it"
    return SentPayload(execution.command_id, execution.device_id, payload, unknown)


def to_draft(console: ExecutionConsole, sent: SentPayload, *, run: bool) -> None:
    """Make the payload the draft, under a new command id; ``run`` also asks whether to send it."""
    if sent.payload is None:
        _say_unknown(console, sent)
        return
    console.drafts.load(sent.payload, name=f"run {sentence(sent.command_id)}", run_of=sent.command_id)
    console.go_to(DraftPlace(run=run))
    device = console.session.device_id
    if sent.device_id and sent.device_id != device:
        words = f"It ran on {sentence(sent.device_id)}; the console uses {device or 'none'}"
        console.say(Status.WARN, words)


def add_to_draft(console: ExecutionConsole, sent: SentPayload) -> None:
    """Append the steps of the payload to the draft."""
    if sent.payload is None:
        _say_unknown(console, sent)
        return
    added = Draft()
    try:
        added.open(dict(sent.payload))
        count = console.drafts.append(*added.steps)
    except ValueError as exc:
        console.say(Status.WARN, f"The steps of {sentence(sent.command_id)} were not added: {exc}")
    else:
        words = f"{len(added)} step{'s' * (len(added) != 1)} of {sentence(sent.command_id)} added"
        console.say(Status.OK, f"{words}, {count} in the draft. Press 3 to open it")


def _say_unknown(console: ExecutionConsole, sent: SentPayload) -> None:
    console.say(Status.WARN, f"The payload of {sentence(sent.command_id)} is not known: {sent.unknown}")


def command_line(sent: SentPayload) -> str:
    """Return the equivalent command line; empty for an invalid payload."""
    try:
        from clawperator.engine.executions.validate import validate

        payload = validate(sent.payload).payload
    except EngineError:
        return ""
    return snippets.execution_line(payload, sent.device_id)
