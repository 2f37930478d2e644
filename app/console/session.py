"""Everything the console knows, in one place without a screen: devices, trees, the stream, the doctor, notices.

Screens draw from it and keep nothing of it. ``absorb`` takes the bridge's news and says what changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Flag, auto
from itertools import islice
from typing import Any

from clawperator.app.console.messages import (
    DevicesNews,
    DoctorNews,
    EmulatorsNews,
    FollowNews,
    LocksNews,
    News,
    NoticeNews,
    PictureNews,
    SetupNews,
    SkillsNews,
    SnapshotNews,
    StreamNews,
    WorkNews,
)
from clawperator.engine.adb.parse import DeviceEntry, parse_wm_density
from clawperator.engine.events.types import LogBatch
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.models.doctor_report import DoctorReport, mark_of
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.execution import tree_key, tree_owner
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.setup import SetupState
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.picture import Picture
from clawperator.widgets.text.times import WallClock

LINES_KEPT = 100_000
TREES_KEPT = 50
FILES_KEPT = 1_000
RECENT_TREES = 5
"""So many earlier trees of the same app tell how steady a matcher is."""
NOTICES_KEPT = 200
FINDINGS_KEPT = 50
_RATE_SECONDS = 5.0


class Facet(Flag):
    """A part of what is known; screens redraw the panes of the parts that changed."""

    NOTHING = 0
    DEVICES = auto()
    TREE = auto()
    STREAM = auto()
    DOCTOR = auto()
    LOCKS = auto()
    NOTICE = auto()
    WORK = auto()
    FOLLOW = auto()
    PICTURE = auto()
    DRAFT = auto()
    EMULATORS = auto()
    SETUP = auto()
    SKILLS = auto()
    EVERYTHING = (
        DEVICES | TREE | STREAM | DOCTOR | LOCKS | NOTICE | WORK | FOLLOW | PICTURE | DRAFT | EMULATORS | SETUP | SKILLS
    )


class Trees:
    """The last trees of one device and which of them is shown. ``back`` counts from the newest one: 0 is live.

    Saved dumps are all kept, and the first one is shown until somebody steps on.
    """

    def __init__(self, limit: int = TREES_KEPT) -> None:
        self._kept: deque[TreeSnapshot] = deque(maxlen=limit)
        self.back = 0
        self.stays_at_first = True
        """Of saved dumps: those that were named together are looked at from the first one on."""

    def add(self, snapshot: TreeSnapshot) -> int:
        """Take a new tree, or the newest one again with a new time; how many nodes had to go for it.

        Whoever looks at an older one keeps looking at it.
        """
        if self.put(snapshot):
            return 0
        gone = len(self._kept[0].nodes) if len(self._kept) == self._kept.maxlen else 0
        self._kept.append(snapshot)
        if self.back or (snapshot.source == "file" and len(self._kept) > 1 and self.stays_at_first):
            self.back = min(self.back + 1, len(self._kept) - 1)
        return gone

    def put(self, snapshot: TreeSnapshot) -> bool:
        """In the place of what has the same number: seen again, packed or unpacked. Whether there is such a place."""
        for place in range(len(self._kept) - 1, -1, -1):
            if self._kept[place].serial == snapshot.serial:
                self._kept[place] = snapshot
                return True
        return False

    def far(self) -> list[TreeSnapshot]:
        """Those that nobody looks at soon, and that are not packed yet."""
        here = len(self._kept) - 1 - self.back
        near = range(here - 1, here + 2)
        old = list(enumerate(self._kept))[: -RECENT_TREES - 1]
        return [item for place, item in old if item.tree is not None and item.xml and place not in near]

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def shown(self) -> TreeSnapshot:
        return self._kept[-1 - self.back] if self._kept else TreeSnapshot.EMPTY

    @property
    def newest(self) -> TreeSnapshot:
        return self._kept[-1] if self._kept else TreeSnapshot.EMPTY

    def __iter__(self) -> Iterator[TreeSnapshot]:
        """Newest first."""
        return reversed(self._kept)

    def recent(self) -> list[UiTree]:
        """The trees of the app that is shown, other than the one shown, newest first."""
        shown = self.shown
        others = (item.tree for item in self if item.tree is not None and item.serial != shown.serial)
        same = (tree for tree in others if shown.tree is not None and tree.package == shown.tree.package)
        return list(islice(same, RECENT_TREES))

    def turn_to(self, key: str) -> bool:
        """Look at the tree with this key, else at the newest one of its command; whether there is one."""
        kept = [(back, item) for back, item in enumerate(self) if item.readable]
        places = [back for back, item in kept if tree_key(item.command_id, item.step_id) == key]
        places += [back for back, item in kept if item.command_id == tree_owner(key)]
        self.back = places[0] if places else self.back
        return bool(places)

    def step(self, towards_older: int) -> bool:
        """Look at an older (1) or newer (-1) one; whether there is one."""
        back = self.back + towards_older
        if not 0 <= back < len(self._kept):
            return False
        self.back = back
        return True


class Session:
    """See the module. ``wanted_device`` is what the settings ask for; empty: the only usable one. ``offline``: saved dumps, no device. ``remote``: the server that has the devices."""

    def __init__(
        self,
        clock: WallClock,
        *,
        wanted_device: str = "",
        demo: bool = False,
        offline: bool = False,
        read_only: bool = False,
        remote: str = "",
        lines_kept: int = LINES_KEPT,
    ) -> None:
        self.clock = clock
        self.demo = demo
        self.offline = offline
        self.read_only = read_only
        self.remote = remote
        self.devices: tuple[DeviceEntry, ...] = ()
        self.devices_known = False
        self.adb_problem = ""
        self.device_id = ""
        self.gone_since = 0.0
        self.locks: Mapping[str, Mapping[str, Any]] = {}
        self.log = ExecutionLog()
        self.lines = LineRing(lines_kept)
        self.dropped = 0
        self.nodes_dropped = 0
        self.report = DoctorReport.EMPTY
        self.fixes: Sequence[FixRun] = ()
        self.doctor_watches = False
        self.machines = EmulatorsState.EMPTY
        self.setup = SetupState.EMPTY
        self.skills = SkillsState.EMPTY
        self.findings: dict[str, DoctorReport] = {}
        """By serial: what the doctor found last there."""
        self.notices: deque[Notice] = deque(maxlen=NOTICES_KEPT)
        self.work = ""
        self.work_since = 0.0
        self.follow: FollowState | None = None
        self.picture: Picture | None = None
        self.wanted_device = wanted_device
        self._trees: dict[str, Trees] = {}
        self._arrivals: deque[tuple[float, int]] = deque()
        self._takes: dict[type[News], Callable[[Any], Facet]] = {
            DevicesNews: self._take_devices,
            SnapshotNews: self._take_snapshot,
            StreamNews: self._take_stream,
            DoctorNews: self._take_report,
            LocksNews: self._take_locks,
            WorkNews: self._take_work,
            FollowNews: self._take_follow,
            PictureNews: self._take_picture,
            EmulatorsNews: self._take_machines,
            SetupNews: self._take_setup,
            SkillsNews: self._take_skills,
            NoticeNews: self._take_notice,
        }

    def absorb(self, news: News) -> Facet:
        """Take one piece of news; what changed by it."""
        return self._takes[type(news)](news)

    # -- news

    def _take_devices(self, news: DevicesNews) -> Facet:
        self.adb_problem = news.problem
        if not news.problem:
            self.devices, self.devices_known = news.devices, True
            self.log.present([entry.serial for entry in self.usable], self.clock.now())
        device = self.device
        if self.device_id and (device is None or not device.usable or news.problem):
            self.gone_since = self.gone_since or self.clock.now()
        else:
            self.gone_since = 0.0
        return Facet.DEVICES

    def leave_device(self) -> None:
        """From here on saved dumps are looked at, the newest one at first."""
        self.device_id, self.offline = "", True
        trees = self.trees
        trees.stays_at_first, trees.back = False, 0

    def _take_snapshot(self, news: SnapshotNews) -> Facet:
        self.nodes_dropped += self.trees_of(news.snapshot.device_id).add(news.snapshot)
        return Facet.TREE if news.snapshot.device_id == self.device_id else Facet.NOTHING

    def _take_stream(self, news: StreamNews) -> Facet:
        now = self.clock.now()
        self.log.line = self.lines.end
        self.log.apply(news.events)
        self.log.expire(now)
        if news.dropped:
            self.dropped += news.dropped
            self.log.drop(news.dropped, now, self.device_id)
        before = self.lines.end
        for event in news.events:
            if isinstance(event, LogBatch):
                self.dropped += event.dropped
                self._take_lines(event)
        if self.lines.end > before:
            self._arrivals.append((now, self.lines.end - before))
        return Facet.STREAM

    def _take_lines(self, batch: LogBatch) -> None:
        device_id = batch.device_id or ""
        begin = self.lines.end
        for number in self.lines.extend(batch.entries, device_id):
            self.log.place(device_id, number, batch.entries[number - begin].payload)

    def pass_time(self) -> Facet:
        """A second has passed: what nobody can wait for any longer ends."""
        return Facet.STREAM if self.log.expire(self.clock.now()) else Facet.NOTHING

    def _take_report(self, news: DoctorNews) -> Facet:
        self.report, self.fixes, self.doctor_watches = news.report, news.fixes, news.watching
        if news.report.ended and news.report.device_id and not news.report.running:
            self.findings[news.report.device_id] = news.report
            if len(self.findings) > FINDINGS_KEPT:
                del self.findings[next(iter(self.findings))]
        return Facet.DOCTOR

    def _take_locks(self, news: LocksNews) -> Facet:
        self.locks = news.locks
        self.log.held(str(lock.get("commandId", "")) for lock in news.locks.values())
        return Facet.LOCKS

    def _take_work(self, news: WorkNews) -> Facet:
        self.work, self.work_since = news.text, news.since
        return Facet.WORK

    def _take_follow(self, news: FollowNews) -> Facet:
        self.follow = news.state
        return Facet.FOLLOW

    def _take_picture(self, news: PictureNews) -> Facet:
        self.picture = news.picture
        return Facet.PICTURE

    def _take_machines(self, news: EmulatorsNews) -> Facet:
        self.machines = news.machines
        return Facet.EMULATORS

    def _take_setup(self, news: SetupNews) -> Facet:
        self.setup = news.setup
        return Facet.SETUP

    def _take_skills(self, news: SkillsNews) -> Facet:
        self.skills = news.shelf
        return Facet.SKILLS

    def _take_notice(self, news: NoticeNews) -> Facet:
        notice = news.notice if news.notice.at else news.notice._replace(at=self.clock.now())
        self.notices.append(notice)
        return Facet.NOTICE

    # -- questions

    @property
    def device(self) -> DeviceEntry | None:
        """The chosen device as adb lists it now; ``None`` when it is not there or none is chosen."""
        return next((entry for entry in self.devices if entry.serial == self.device_id), None)

    @property
    def usable(self) -> tuple[DeviceEntry, ...]:
        return tuple(entry for entry in self.devices if entry.usable)

    def choice(self) -> str:
        """The device to take without asking: the wanted one, else the only usable one; empty when a person must choose."""
        serials = [entry.serial for entry in self.usable]
        if self.wanted_device:
            return self.wanted_device if self.wanted_device in serials else ""
        return serials[0] if len(serials) == 1 else ""

    @property
    def doctor_busy(self) -> bool:
        """Whether checks run, or a fix does."""
        return self.report.running or any(not fix.over for fix in self.fixes)

    @property
    def report_is_old(self) -> bool:
        """Whether the last checks were about another device, or this one has come back or changed its state since."""
        report = self.report
        if report.running or not report.checks:
            return False
        if report.device_id and report.device_id != self.device_id:
            return True
        device = self.device
        return bool(report.device and device is not None and report.device != mark_of(device))

    def trees_of(self, device_id: str) -> Trees:
        return self._trees.setdefault(device_id, Trees() if device_id else Trees(FILES_KEPT))

    @property
    def trees(self) -> Trees:
        """Those of the chosen device; without one, the saved dumps."""
        return self.trees_of(self.device_id)

    def far(self) -> list[tuple[Trees, TreeSnapshot]]:
        """Trees that may be packed, with what keeps them."""
        return [(trees, item) for trees in self._trees.values() for item in trees.far()]

    @property
    def nodes_kept(self) -> int:
        """In all trees of all devices."""
        return sum(len(item.nodes) for trees in self._trees.values() for item in trees)

    @property
    def lock(self) -> Mapping[str, Any]:
        """Who holds the chosen device; empty when nobody does."""
        return self.locks.get(self.device_id, {})

    @property
    def density(self) -> int:
        """Dots per inch of the chosen device, as the doctor found it; 0 while unknown."""
        for check in self.report.checks:
            words = (check.get("evidence") or {}).get("wmDensity")
            if words and self.report.device_id == self.device_id:
                return parse_wm_density(str(words))
        return 0

    @property
    def lines_per_second(self) -> float:
        """Log lines per second over the last few seconds."""
        now = self.clock.now()
        while self._arrivals and self._arrivals[0][0] < now - _RATE_SECONDS:
            self._arrivals.popleft()
        return sum(count for _, count in self._arrivals) / _RATE_SECONDS

    @property
    def last_notice(self) -> Notice | None:
        return self.notices[-1] if self.notices else None

    @property
    def last_problem(self) -> Notice | None:
        """The newest notice that has a code."""
        return next((notice for notice in reversed(self.notices) if notice.code), None)

    def say(self, status: Status, text: str, code: str = "") -> Notice:
        """A notice of the console's own, for the strip and the list behind ``!``."""
        notice = Notice(status, text, code, self.clock.now())
        self.notices.append(notice)
        return notice


def seen_again(snapshot: TreeSnapshot, *, at: float, source: str, command_id: str, step_id: str) -> TreeSnapshot:
    """The same tree, younger: its bytes came by again."""
    return replace(snapshot, at=at, source=source, command_id=command_id, step_id=step_id)
