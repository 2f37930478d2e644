"""What the bridge tells the console: few, small, documented messages.

Each carries frozen values. Those that only state the present are replaceable: when the screen was busy, the newest one is
enough. Those that carry a stream are not, and come at most once per tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.message import Message

from clawperator.engine.adb.parse import DeviceEntry
from clawperator.engine.events.types import EngineEvent
from clawperator.engine.follow.follower import FollowState
from clawperator.widgets.models.doctor_report import DoctorReport
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.setup import SetupState
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.picture import Picture


class News(Message, bubble=False):
    """Base of everything the bridge posts to the app."""


class StateNews(News, bubble=False):
    """News that states the present: a newer one of the same kind replaces one that was not handled yet."""

    def can_replace(self, message: Message) -> bool:
        return type(message) is type(self)


class DevicesNews(StateNews, bubble=False):
    """The adb server's device list; ``problem`` says why presence is unknown, and is empty when it is known."""

    def __init__(self, devices: tuple[DeviceEntry, ...], problem: str = "") -> None:
        super().__init__()
        self.devices = devices
        self.problem = problem


class SnapshotNews(News, bubble=False):
    """A tree was read, or the one shown was seen again (then only its ``at`` and ``source`` differ)."""

    def __init__(self, snapshot: TreeSnapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class StreamNews(News, bubble=False):
    """One tick of the stream: events in order, log lines (``LogBatch``) among them, and how many the host had to drop."""

    def __init__(self, events: Sequence[EngineEvent], dropped: int = 0) -> None:
        super().__init__()
        self.events = events
        self.dropped = dropped


class DoctorNews(StateNews, bubble=False):
    """The doctor's report so far, the fixes of this session, and whether checks run by themselves when devices change."""

    def __init__(self, report: DoctorReport, *, fixes: Sequence[FixRun] = (), watching: bool = False) -> None:
        super().__init__()
        self.report = report
        self.fixes = fixes
        self.watching = watching


class LocksNews(StateNews, bubble=False):
    """Who holds which device, by serial: the lock status of the engine as a mapping; free devices are absent."""

    def __init__(self, locks: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self.locks = locks


class WorkNews(StateNews, bubble=False):
    """What the console itself waits for, and since when; an empty text means nothing."""

    def __init__(self, text: str, since: float = 0.0) -> None:
        super().__init__()
        self.text = text
        self.since = since


class FollowNews(StateNews, bubble=False):
    """How following ``device_id`` goes; ``None``: it has been switched off."""

    def __init__(self, device_id: str, state: FollowState | None) -> None:
        super().__init__()
        self.device_id = device_id
        self.state = state


class PictureNews(StateNews, bubble=False):
    """A picture of the screen was taken, or could not be: then it says why."""

    def __init__(self, picture: Picture) -> None:
        super().__init__()
        self.picture = picture


class EmulatorsNews(StateNews, bubble=False):
    """The virtual devices, what runs of them, and the work on one of them."""

    def __init__(self, machines: EmulatorsState) -> None:
        super().__init__()
        self.machines = machines


class SetupNews(StateNews, bubble=False):
    """The Operator app's setup on one device: what is installed, what could be, how it goes."""

    def __init__(self, setup: SetupState) -> None:
        super().__init__()
        self.setup = setup


class SkillsNews(StateNews, bubble=False):
    """The skills of the registry, the one that is looked at, and the one that runs."""

    def __init__(self, shelf: SkillsState) -> None:
        super().__init__()
        self.shelf = shelf


class NoticeNews(News, bubble=False):
    """Something worth a line in the strip."""

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice
