"""What the bridge and the controllers report to the app: a few small messages with frozen values.

Those that state the present are replaceable: while the screen is busy, the newest one is enough. Those that carry a stream are
not, and come at most once per tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from textual.message import Message

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.events.types import EngineEvent
from clawperator.widgets.models.doctor_report import DoctorReport
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.notice_line import Notice


class Update(Message, bubble=False):
    """Base of everything that is posted to the app."""


class StateUpdate(Update, bubble=False):
    """States the present: a newer one of the same kind replaces one that is not handled yet."""

    def can_replace(self, message: Message) -> bool:
        return type(message) is type(self)


@dataclass(eq=False)
class DevicesUpdate(StateUpdate, bubble=False):
    """The adb server's device list; ``problem`` says why presence is unknown, and is empty when it is known."""

    devices: tuple[DeviceEntry, ...]
    problem: str = ""


@dataclass(eq=False)
class ValueUpdate(StateUpdate, bubble=False):
    """A value that ``Session`` has under ``name`` and only shows."""

    name: Literal["follow", "machines", "picture", "setup", "silent", "skills"]
    value: Any

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ValueUpdate) and message.name == self.name


@dataclass(eq=False)
class SnapshotUpdate(Update, bubble=False):
    """A tree was read, or the newest one was seen again (then only its ``at`` and ``source`` differ)."""

    snapshot: TreeSnapshot


@dataclass(eq=False)
class StreamUpdate(Update, bubble=False):
    """One tick of the stream: events in order, log lines (``LogBatch``) among them, and how many the host had to drop."""

    events: Sequence[EngineEvent]
    dropped: int = 0


@dataclass(eq=False)
class DoctorUpdate(StateUpdate, bubble=False):
    """The doctor's report so far, the fixes of this session, and whether checks run by themselves when devices change."""

    report: DoctorReport
    fixes: Sequence[FixRun] = ()
    watching: bool = False


@dataclass(eq=False)
class LocksUpdate(StateUpdate, bubble=False):
    """The device locks as mappings, by serial; free devices are absent."""

    locks: Mapping[str, Mapping[str, Any]]


@dataclass(eq=False)
class WorkUpdate(StateUpdate, bubble=False):
    """What the console waits for, and since when; an empty text means nothing. ``problem``: why a snapshot failed."""

    text: str
    since: float = 0.0
    problem: str = ""


@dataclass(eq=False)
class NoticeUpdate(Update, bubble=False):
    """A notice."""

    notice: Notice
