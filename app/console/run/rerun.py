"""From a run that is over to the draft, to run it again or to change it first: the same for live runs and past ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.console.run.screen import RunScreen
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.engine.executions.validate import validate
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.engine.history.records import RunRecord
    from clawperator.widgets.models.execution import ExecutionState


class Sent(NamedTuple):
    """What was sent, and where to. ``unknown`` says why there is no payload where there is none."""

    command_id: str
    device_id: str
    payload: Mapping[str, Any] | None
    unknown: str = ""


def of_record(record: RunRecord) -> Sent:
    """A run of the history."""
    summary = record.summary
    unknown = (
        "another program sent it, and the log does not hold it"
        if summary.origin == "seen"
        else "what was given was no payload, or too large to keep"
    )
    return Sent(summary.command_id, summary.device_id, record.payload, unknown)


async def of_execution(console: ConsoleApp, execution: ExecutionState) -> Sent:
    """A run of the stream; what another program of this user sent stands in the history."""
    payload, history = execution.payload, console.engine.history
    if payload is None and history is not None:
        try:
            payload = (await history.find(execution.command_id)).payload
        except EngineError:
            payload = None
    unknown = "another program sent it, and the log does not hold it"
    return Sent(execution.command_id, execution.device_id, payload, unknown)


def to_draft(console: ConsoleApp, sent: Sent, *, run: bool) -> None:
    """Make the payload the draft, under a new command id; ``run``: go on to the question whether to send it."""
    name = sentence(sent.command_id)
    if sent.payload is None:
        console.say(Status.WARN, f"The payload of {name} is not known: {sent.unknown}")
        return
    console.drafts.load(sent.payload, name=f"run {name}", run_of=sent.command_id)
    console.action_mode("run")
    device = console.session.device_id
    if sent.device_id and sent.device_id != device:
        words = f"It ran on {sentence(sent.device_id)}; the device of the console is {device or 'none'}"
        console.say(Status.WARN, words)
    screen = console.mode_screen
    if run and isinstance(screen, RunScreen):
        screen.call_after_refresh(screen.action_run_draft)


def command_line(sent: Sent) -> str:
    """The command line that does the same; empty for a payload that none can be made of."""
    try:
        payload = validate(sent.payload).payload
    except EngineError:
        return ""
    return snippets.execution_line(payload, sent.device_id)
