"""The messages of the Operator that ``OperatorLog`` makes of log entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.logcat.entry import LogEntry


class DeathSignal(NamedTuple):
    """The process ``pid`` has ended, or is about to; ``entry`` is the log line."""

    pid: int
    entry: LogEntry

    @property
    def text(self) -> str:
        """The first line of the entry."""
        return self.entry.message.partition("\n")[0]


class EnvelopeSignal(NamedTuple):
    """A terminal envelope of any command; a command may have two (wire.md#identifiers).

    ``problem`` is empty for a valid one; otherwise it is the reason and ``envelope`` is None. ``command_id`` is also read from
    damaged text where it is complete; for text that is not JSON it is that of the command running in the process, else
    empty. ``raw`` is the JSON text received, ``parts`` the number of log records, ``entry`` the first of them. ``transport``
    is what arrived of an incomplete chunked result: ``receivedChunks``, ``expectedChunks``, ``receivedBytes``, ``expectedBytes``.
    """

    envelope: Envelope | None
    command_id: str
    raw: str
    problem: str
    parts: int
    entry: LogEntry
    transport: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class CapturedHierarchy:
    """``xml`` of a dump; ``complete`` is false where its end never came. ``step_id`` is empty where no step was open.

    ``cut_lines`` counts lines that lost text because a log record holds 4,068 bytes (wire.md#log-lines). ``screen`` is the number of
    the screen that it shows (``ProgressSignal.screen``), -1 where the screen changed while it was read. ``size`` is set where the
    dump is beyond the limit, and its text dropped: so many bytes were counted.
    """

    step_id: str
    xml: str
    complete: bool
    cut_lines: int = 0
    screen: int = field(default=-1, compare=False)
    size: int = 0


class HierarchySignal(NamedTuple):
    """A complete or broken dump; ``entry`` is its marker line."""

    captured: CapturedHierarchy
    command_id: str
    entry: LogEntry


@dataclass(frozen=True, slots=True)
class ProgressSignal:
    """One of the Operator's live lines.

    ``kind``: queued, start, stage-start, stage-retry, stage-success, stage-failure, stage-log, success, failure (of a command);
    step-start, step-success; task-start, task-success, task-failure; ui-start, ui-end, snapshot-start; no-window (nothing to
    dump: screen off, secure window, transition); service-unavailable (a failed envelope follows); action-ignored (the broadcast
    had another action: nothing follows); answered, answered-failure (after the envelope); envelope-failure (none will come);
    event. ``fields`` are the line's ``key=value`` pairs as text. ``command_id`` is the line's own, else that of the command
    which runs in the process, else empty. ``text`` is the message, with its stack trace where one record holds both. ``screen``
    counts changes of the screen: two moments of one stream with the same number saw the same screen.
    """

    kind: str
    command_id: str
    fields: Mapping[str, str]
    text: str
    entry: LogEntry
    screen: int = field(default=0, compare=False)


class RefusalSignal(NamedTuple):
    """No envelope will come for the broadcast before ``entry``; the lines carry no command id.

    ``reason`` is the first line of the exception, else the message itself. ``unsupported``: the installed app does not know
    one of the actions.
    """

    reason: str
    unsupported: bool
    entry: LogEntry


Signal = DeathSignal | EnvelopeSignal | HierarchySignal | ProgressSignal | RefusalSignal
