"""The state of the console without a screen: devices, trees, stream, doctor, notices.

Screens draw from it and keep nothing of it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Flag, auto
from itertools import islice
from typing import TYPE_CHECKING, Any

from clawperator.app.console.messages import (
    DevicesUpdate,
    DoctorUpdate,
    LocksUpdate,
    NoticeUpdate,
    SnapshotUpdate,
    StreamUpdate,
    Update,
    ValueUpdate,
    WorkUpdate,
)
from clawperator.engine.adb.parse import parse_wm_density
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.contracts.limits import DOCTOR_SOURCE, FOLLOW_SOURCE
from clawperator.engine.doctor.verdict import Verdict
from clawperator.engine.errors import ErrorCode
from clawperator.engine.events.types import LogBatch
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.models.doctor_report import DoctorReport, mark_of
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.execution import tree_key, tree_owner
from clawperator.widgets.models.execution_queries import acted_since
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.setup import SetupState
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.picture_view import Picture
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.follow.follower import FollowState

LINES_KEPT = 100_000
TREES_KEPT = 50
FILES_KEPT = 1_000
RECENT_TREES = 5
"""Number of earlier trees of the same app that show how stable a matcher is."""
NOTICES_KEPT = 200
RESULT_SECONDS = 5.0
"""So long a warning does not hide the result before it."""
BUSY_SECONDS = 2.0
"""After which a refusal by a busy device is over if no lock is known: the execution ended between two polls."""
NEWS_SECONDS = 60.0
"""So long a notice that is no problem is shown; problems stay until the next notice."""
FINDINGS_KEPT = 50
_RATE_SECONDS = 5.0
_QUIET_SOURCES = (FOLLOW_SOURCE, DOCTOR_SOURCE)
"""Who locks a device to read it only."""
_PROBLEMS = (Status.WARN, Status.FAILED)
_UNTIL_IT_ANSWERS = {
    ErrorCode.RESULT_ENVELOPE_TIMEOUT.value,
    ErrorCode.DEVICE_SHELL_UNAVAILABLE.value,
    ErrorCode.ADB_SERVER_FAILED.value,
    ErrorCode.NO_DEVICES.value,
    ErrorCode.DEVICE_NOT_FOUND.value,
    ErrorCode.DEVICE_UNAUTHORIZED.value,
    ErrorCode.DEVICE_OFFLINE.value,
    ErrorCode.DEVICE_BOOTING.value,
    ErrorCode.RECEIVER_NOT_INSTALLED.value,
    ErrorCode.RECEIVER_VARIANT_MISMATCH.value,
    ErrorCode.SERVICE_UNAVAILABLE.value,
    ErrorCode.BROADCAST_FAILED.value,
    ErrorCode.LOGCAT_UNAVAILABLE.value,
    ErrorCode.UI_NOT_IDLE.value,
    ErrorCode.UI_TREE_UNAVAILABLE.value,
    ErrorCode.SNAPSHOT_EXTRACTION_FAILED.value,
}
"""Codes of problems that are over once there is a tree, or the checks pass."""


class Facet(Flag):
    """A part of the state; screens redraw the panes of the parts that changed."""

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
    OTHERS = auto()
    """The tree of a device that is not the selected one."""
    EVERYTHING = 2 * OTHERS - 1  # type: ignore[operator]  # a number, once it is assigned
    """All parts, of which ``OTHERS`` is the last."""


_VALUES = {
    "follow": Facet.FOLLOW,
    "machines": Facet.EMULATORS,
    "picture": Facet.PICTURE,
    "setup": Facet.SETUP,
    "silent": Facet.DEVICES,
    "skills": Facet.SKILLS,
}


class TreeHistory:
    """The last trees of one device, and which of them is shown. ``back`` counts from the newest one: 0 is live.

    Saved dumps are all kept; the first one is shown until the user moves on.
    """

    def __init__(self, limit: int = TREES_KEPT) -> None:
        self._kept: deque[TreeSnapshot] = deque(maxlen=limit)
        self.back = 0
        self.stays_at_first = True
        """Whether the first saved dump stays shown while the others are read."""

    def add(self, snapshot: TreeSnapshot) -> int:
        """Add a tree, or update the newest one; return the number of discarded nodes.

        A shown older tree stays shown.
        """
        if self.put(snapshot):
            return 0
        gone = len(self._kept[0].nodes) if len(self._kept) == self._kept.maxlen else 0
        self._kept.append(snapshot)
        if self.back or (snapshot.source == "file" and len(self._kept) > 1 and self.stays_at_first):
            self.back = min(self.back + 1, len(self._kept) - 1)
        return gone

    def put(self, snapshot: TreeSnapshot) -> bool:
        """Replace the tree with the same number (seen again, packed or unpacked); return whether there is one."""
        for place in range(len(self._kept) - 1, -1, -1):
            if self._kept[place].serial == snapshot.serial:
                self._kept[place] = snapshot
                return True
        return False

    def far(self) -> list[TreeSnapshot]:
        """Return unpacked trees that are not needed soon."""
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
        """Iterate, newest first."""
        return reversed(self._kept)

    def nearest(self, at: float) -> TreeSnapshot:
        """Return the readable tree that was read closest to ``at``, before or after it; the newest one for no time."""
        readable = (tree for tree in self if tree.readable)
        return min(readable, key=lambda tree: abs(tree.at - at), default=TreeSnapshot.EMPTY)

    def recent(self) -> list[UiTree]:
        """Return the other trees of the shown app, newest first."""
        shown = self.shown
        others = (item.tree for item in self if item.tree is not None and item.serial != shown.serial)
        same = (tree for tree in others if shown.tree is not None and tree.package == shown.tree.package)
        return list(islice(same, RECENT_TREES))

    def turn_to(self, key: str, run_of: Callable[[TreeSnapshot], str]) -> bool:
        """Show the tree with this key, else the newest one of its run; return whether there is one."""
        runs = [(back, run_of(item), item.step_id) for back, item in enumerate(self) if item.readable]
        places = [back for back, run, step_id in runs if tree_key(run, step_id) == key]
        places += [back for back, run, _ in runs if run == tree_owner(key)]
        self.back = places[0] if places else self.back
        return bool(places)

    def step(self, towards_older: int) -> bool:
        """Show an older (1) or newer (-1) one; return whether there is one."""
        back = self.back + towards_older
        if not 0 <= back < len(self._kept):
            return False
        self.back = back
        return True


class Session:
    """``wanted_device`` comes from the settings; empty: the only usable one. ``offline``: saved dumps, no device.
    ``remote``: the server that has the devices.
    """

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
        backend: str = "operator",
    ) -> None:
        self.clock = clock
        self.demo = demo
        self.offline = offline
        self.read_only = read_only
        self.remote = remote
        self.backend = backend
        self.devices: tuple[DeviceEntry, ...] = ()
        self.devices_known = False
        self.left: dict[str, tuple[DeviceEntry, float]] = {}
        """By serial: devices that adb listed before, and when they disappeared."""
        self.adb_problem = ""
        self.returned: dict[str, float] = {}
        """By serial: when a device that was away, or another one with its serial, was connected."""
        self.device_id = ""
        self.gone_since = 0.0
        self.adb_restarted = False
        """Whether the selected device has not been listed since the adb server ended."""
        self.tree_problem = ""
        """Why the last snapshot of the selected device failed."""
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
        """By serial, empty without a device: the last finished report."""
        self.notices: deque[Notice] = deque(maxlen=NOTICES_KEPT)
        self.last_notice: Notice | None = None
        """What the notice line shows: not what is over, as a busy device that is free now."""
        self.work = ""
        self.work_since = 0.0
        self.follow: FollowState | None = None
        self.picture: Picture | None = None
        self.wanted_device = wanted_device
        self.silent: frozenset[str] = frozenset()
        """Devices that do not respond, though adb lists them as connected."""
        self._trees: dict[str, TreeHistory] = {}
        self._arrivals: deque[tuple[float, int]] = deque()

    def absorb(self, update: Update) -> Facet:  # one per kind
        """Take one update; return what changed."""
        match update:
            case DevicesUpdate():
                return self._take_devices(update)
            case SnapshotUpdate(snapshot):
                self.nodes_dropped += self.trees_of(snapshot.device_id).add(snapshot)
                if snapshot.device_id != self.device_id:
                    return Facet.OTHERS
                return Facet.TREE | self._answered(snapshot.at)
            case StreamUpdate():
                return self._take_stream(update)
            case DoctorUpdate():
                return self._take_report(update)
            case LocksUpdate(locks):
                self.locks = locks
                return Facet.LOCKS | self._take_locks()
            case WorkUpdate(text, since, problem):
                over = self._end_waiting(busy=bool(text), since=self.work_since)
                self.work, self.work_since, self.tree_problem = text, since, problem
                return Facet.WORK | over
            case ValueUpdate(name, value):
                setattr(self, name, value)
                return _VALUES[name]
            case NoticeUpdate(notice):
                self._note(notice if notice.at else notice._replace(at=self.clock.now()))
                return Facet.NOTICE
        raise TypeError(type(update).__name__)

    # -- updates

    def _take_devices(self, news: DevicesUpdate) -> Facet:
        restarted = self.adb_restarted or bool(self.adb_problem)
        self.adb_problem = news.problem
        if not news.problem:
            listed = {entry.serial for entry in news.devices}
            here = {(entry.serial, entry.transport_id) for entry in self.usable}
            self.returned |= {
                entry.serial: self.clock.now()
                for entry in news.devices
                if self.devices_known and entry.usable and (entry.serial, entry.transport_id) not in here
            }
            self.left |= {entry.serial: (entry, self.clock.now()) for entry in self.devices}
            self.left = dict([item for item in self.left.items() if item[0] not in listed][-FINDINGS_KEPT:])
            self.devices, self.devices_known = news.devices, True
            self.log.present([entry.serial for entry in self.usable], self.clock.now())
        device = self.device
        if self.device_id and (device is None or not device.usable or news.problem):
            self.gone_since = self.gone_since or self.clock.now()
        else:
            self.gone_since = 0.0
        self.adb_restarted = restarted and not news.problem and bool(self.gone_since)
        return Facet.DEVICES

    def _take_locks(self) -> Facet:
        self.log.held(str(lock.get("commandId", "")) for lock in self.locks.values())
        others = () if self.remote else [lock for lock in self.locks.values() if lock.get("pid") != os.getpid()]
        opened = Facet.STREAM if self.log.locked(others, self.clock.now()) else Facet.NOTHING
        return opened | self._end_waiting(busy=bool(self.lock), code=ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT)

    def leave_device(self) -> None:
        """Show saved dumps from now on, the newest one first."""
        self.device_id, self.offline = "", True
        trees = self.trees
        trees.stays_at_first, trees.back = False, 0

    def _take_stream(self, news: StreamUpdate) -> Facet:
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
        """End what has timed out; called once a second."""
        now, last = self.clock.now(), self.last_notice
        changed = Facet.STREAM if self.log.expire(now) else Facet.NOTHING
        if last is not None and last.status not in _PROBLEMS and now - last.at >= NEWS_SECONDS:
            self.last_notice = None
            return changed | Facet.NOTICE
        busy = bool(self.lock) or last is None or now - last.at < BUSY_SECONDS
        return changed | self._end_waiting(busy=busy, code=ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT)

    def _take_report(self, news: DoctorUpdate) -> Facet:
        self.report, self.fixes, self.doctor_watches = news.report, news.fixes, news.watching
        if news.report.ended and not news.report.running:
            self.findings[news.report.device_id] = news.report
            if len(self.findings) > FINDINGS_KEPT:
                del self.findings[next(iter(self.findings))]
        ready = not news.report.running and self.verdict is not None and self.verdict.ready
        return Facet.DOCTOR | (self._answered(news.report.ended) if ready else Facet.NOTHING)

    # -- questions

    @property
    def device(self) -> DeviceEntry | None:
        """The selected device as adb lists it; ``None`` when it is absent or none is selected."""
        return next((entry for entry in self.devices if entry.serial == self.device_id), None)

    @property
    def usable(self) -> tuple[DeviceEntry, ...]:
        return tuple(entry for entry in self.devices if entry.usable)

    def choice(self) -> str:
        """Return the wanted device, else the only usable phone; empty when the user must choose."""
        if self.wanted_device:
            return next((entry.serial for entry in self.usable if entry.is_named(self.wanted_device)), "")
        phones = [entry.serial for entry in self.usable if entry.preferred]
        return phones[0] if len(phones) == 1 else ""

    @property
    def doctor_busy(self) -> bool:
        """Whether checks or a fix run."""
        return self.report.running or any(not fix.over for fix in self.fixes)

    @property
    def report_is_old(self) -> bool:
        """Whether the last checks were about another device, or this one has disconnected, reconnected or changed since."""
        return not self.report.running and bool(self.report.checks) and self._is_old(self.report)

    def _is_old(self, report: DoctorReport) -> bool:
        if report.backend != self.backend or (report.device_id and report.device_id != self.device_id):
            return True
        return bool(report.device) and report.device != mark_of(self.device)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the last finished checks of the selected device; ``None`` without one, or when it is old.

        A device in use has none: the checks are repeated once it is free.
        """
        report = self.findings.get(self.device_id)
        if report is None or report.stopped or report.problem or report.in_use or self._is_old(report):
            return None
        return report.verdict()

    def outdated(self, snapshot: TreeSnapshot) -> str:
        """Return why ``snapshot`` no longer shows the screen, as far as known: ``a click ran since``; else empty."""
        if not self.device_id or not snapshot.readable:
            return ""
        if snapshot.serial != self.trees.newest.serial:
            return "there is a newer tree"
        if snapshot.at < self.returned.get(self.device_id, 0.0):
            return "the device was disconnected since"
        acted = acted_since(self.log, snapshot)
        lock = self.lock
        if not acted and lock and lock.get("pid") != os.getpid() and lock.get("source") not in _QUIET_SOURCES:
            return "another process uses the device"
        return acted

    def turn_to(self, key: str) -> bool:
        """Show the tree of the selected device with this ``tree_key``; return whether there is one."""
        return self.trees.turn_to(key, self._run_of)

    def _run_of(self, snapshot: TreeSnapshot) -> str:
        run = self.log.run_at(snapshot.device_id, snapshot.command_id, snapshot.at)
        return snapshot.command_id if run is None else run.key

    def trees_of(self, device_id: str) -> TreeHistory:
        return self._trees.setdefault(device_id, TreeHistory() if device_id else TreeHistory(FILES_KEPT))

    @property
    def trees(self) -> TreeHistory:
        """The trees of the selected device; without one, the saved dumps."""
        return self.trees_of(self.device_id)

    def far(self) -> list[tuple[TreeHistory, TreeSnapshot]]:
        """Return trees that may be packed, with their owners."""
        return [(trees, item) for trees in self._trees.values() for item in trees.far()]

    @property
    def nodes_kept(self) -> int:
        """The number of nodes in all trees of all devices."""
        return sum(len(item.nodes) for trees in self._trees.values() for item in trees)

    @property
    def lock(self) -> Mapping[str, Any]:
        """The lock of the selected device; empty when it is free."""
        return self.locks.get(self.device_id, {})

    @property
    def density(self) -> int:
        """Dots per inch of the selected device, from the doctor; 0 while unknown."""
        for check in self.report.checks:
            words = (check.get("evidence") or {}).get("wmDensity")
            if words and self.report.device_id == self.device_id:
                return parse_wm_density(str(words))
        return 0

    @property
    def lines_per_second(self) -> float:
        now = self.clock.now()
        while self._arrivals and self._arrivals[0][0] < now - _RATE_SECONDS:
            self._arrivals.popleft()
        return sum(count for _, count in self._arrivals) / _RATE_SECONDS

    @property
    def last_problem(self) -> Notice | None:
        """The newest notice that has a code."""
        return next((notice for notice in reversed(self.notices) if notice.code), None)

    def say(self, status: Status, text: str, code: str = "") -> Notice:
        """Add a notice."""
        notice = Notice(status, text, code, self.clock.now())
        self._note(notice)
        return notice

    def _note(self, notice: Notice) -> None:
        """Add a notice. A warning soon after a result is shown behind it: it does not hide the result."""
        self.notices.append(notice)
        last = self.last_notice
        if notice.status is Status.WARN and last and last.result and notice.at - last.at < RESULT_SECONDS:
            notice = last._replace(text=f"{last.text} · {notice.text}")
        self.last_notice = notice

    def _answered(self, at: float) -> Facet:
        """Stop showing a problem that ended before the device answered ``at`` this time; how an action ended stays."""
        last = self.last_notice
        if last is None or last.result or last.at > at or last.code not in _UNTIL_IT_ANSWERS:
            return Facet.NOTHING
        self.last_notice = None
        return Facet.NOTICE

    def _end_waiting(self, *, busy: bool, code: str = "", since: float = 0.0) -> Facet:
        """Stop showing a notice about something to wait for that is over: one with ``code``, shown after ``since``."""
        last = self.last_notice
        if busy or last is None or last.status is not Status.WAITING or last.code != code or last.at < since:
            return Facet.NOTHING
        self.last_notice = None
        return Facet.NOTICE
