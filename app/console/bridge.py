"""Connects the engine and the screens: batches engine events into messages, and turns requests of the user into engine
calls.

The bridge knows no widget; it posts ``Update`` through one callable. It takes events from a bounded queue and posts at
most once per tick: a device that logs a thousand lines a second costs the screen ten messages. Trees are parsed and
compared in a worker thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clawperator.app.console.console_engine import ConsoleEngine, as_mapping
from clawperator.app.console.device_probe import DeviceProbe
from clawperator.app.console.doctor.controller import DoctorController, DoctorState
from clawperator.app.console.execution.outcome import busy, require_tree
from clawperator.app.console.inspect.follow_controller import FollowController
from clawperator.app.console.inspect.mirror import Mirror
from clawperator.app.console.inspect.pictures import take
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
from clawperator.app.console.trees import read_tree, warm
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import Subscription
from clawperator.engine.events.types import (
    AdbServerLost,
    CheckFinished,
    DevicesChanged,
    EngineEvent,
    ExecutionFinished,
    ExecutionStarted,
    HistoryTrouble,
    LogAttached,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.hierarchy.align import align
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

TICK_SECONDS = 0.1
FOCUSED_TICK_SECONDS = 0.033
LOCK_LOOK_SECONDS = 1.0
FIRST_LOOK_SECONDS = 2.0
"""After this time without a tree, the checks start too: they may find the reason."""
_TREES_WAITING = 8
"""Trees that wait to be parsed; beyond it, those of a device that has a newer one waiting are left out."""
_OWN_COMMANDS = 500


class Bridge:
    """Run ``run`` as one task; it ends only by cancellation. All other methods may be called while it runs.

    ``probing``: ask the selected device by itself where it does not respond or is not ready.
    """

    def __init__(
        self,
        engine: ConsoleEngine,
        post: Callable[[Update], object],
        clock: WallClock,
        *,
        tick: float = TICK_SECONDS,
        probing: bool = False,
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self.tick = tick
        self.device_id = ""
        self.searching = False
        """Whether the text search is open: new trees are prepared for it before they are shown."""
        self.begun = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._tail: asyncio.Task[None] | None = None
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self.doctor = DoctorController(engine, self._spawn_bare, self._doctor_changed, self._say, clock)
        self._following = FollowController(engine, self._spawn, lambda _, state: post(ValueUpdate("follow", state)))
        self._held: Mapping[str, Mapping[str, Any]] = {}
        self.mirror = Mirror(
            engine,
            clock,
            self._spawn,
            lambda picture: post(ValueUpdate("picture", picture)),
            lambda serial: serial in self._held,
        )
        self._devices: tuple[DeviceEntry, ...] = ()
        self._probing = probing
        self._probe = DeviceProbe(
            engine, self.doctor, lambda serials: post(ValueUpdate("silent", serials)), self._is_usable, self.first_look
        )
        self._own: deque[str] = deque(maxlen=_OWN_COMMANDS)
        self._dumps: deque[SnapshotSeen] = deque()
        self._dump_ready = asyncio.Event()
        self._look_at_locks = asyncio.Event()
        self._newest: dict[str, TreeSnapshot] = {}
        self._before: dict[str, TreeSnapshot] = {}
        self._broken: set[str | None] = set()
        self._serial = self._complemented = 0
        self._lost = 0
        self._blocked = False
        """Whether the last checks found that the Operator cannot answer."""
        self._tree_due = False
        """Whether the screen is to be read as soon as the device is free."""

    async def run(self, files: Sequence[str] = ()) -> None:
        """Observe devices, trees, locks and the stream until cancelled; read ``files`` first."""
        with self._engine.events.subscribe() as subscription, self._engine.events.subscribe() as urgent:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self.begun.set()
                group.create_task(self._watch_urgent(urgent), name="urgent")
                group.create_task(self._guarded(self._engine.watch_devices()), name="devices")
                group.create_task(self._engine.record_seen(), name="history")
                group.create_task(self._watch_locks(), name="locks")
                if self._probing:
                    group.create_task(self._probe.run(), name="probe")
                group.create_task(self._read_dumps(), name="trees")
                if files:
                    self.open_files(files)
                try:
                    while events := await subscription.batch():
                        # Collect what arrives meanwhile, and let urgent updates paint first.
                        await asyncio.sleep(self.tick)
                        events += subscription.taken()
                        self._post_events(events, dropped=subscription.dropped - self._lost)
                        self._lost = subscription.dropped
                finally:
                    self._group = None  # no more requests

    # -- requests

    def use_device(self, serial: str) -> None:
        """Follow the log of ``serial`` instead of the current device's."""
        if serial == self.device_id:
            return
        self.device_id = self._probe.device_id = serial
        self.doctor.use_device(serial)
        if self._tail is not None:
            self._tail.cancel()
        if serial and self._group is not None:
            self._tail = self._group.create_task(self._guarded(self._engine.watch_log(serial)), name=f"log of {serial}")
        if serial and self._following.device_id:
            self._following.start(serial)

    def take_snapshot(self) -> bool:
        """Request a tree; return false while one is being taken. The tree arrives as an event."""
        return self.start("snapshot", self._snapshot(self.device_id))

    def take_picture(self) -> bool:
        """Request a screenshot; return false while one is being taken."""
        if self.mirror.device_id:
            self.mirror.look_now()
            return True
        return self.start("picture", self._picture(self.device_id))

    def toggle_follow(self) -> None:
        """Switch follow mode on or off for the current device."""
        if self._group is None:
            return
        if self._following.device_id:
            self._following.stop()
        else:
            self._following.start(self.device_id)

    def painted(self, serial: int) -> None:
        """Note that tree ``serial`` is on screen: follow mode may take the next one, and the diff can be computed."""
        self._following.painted(serial)
        newest = self._newest.get(self.device_id, TreeSnapshot.EMPTY)
        if newest.serial == serial != self._complemented:
            self._complemented = serial
            self.start(f"tree {serial}", self._complement(newest))

    def run_doctor(self) -> bool:
        """Run the checks; return false while they run or a fix does."""
        return self._group is not None and self.doctor.run()

    def first_look(self) -> bool:
        """Take the tree of a newly selected device, then run the checks; return false while this is done already."""
        return self.start(f"first look at {self.device_id}", self._first_look(self.device_id))

    def open_files(self, paths: Sequence[str]) -> bool:
        """Read saved dumps in order; each becomes a tree, or says why it is none."""
        return self.start("files", self._open_files(paths))

    def start(self, name: str, job: Awaitable[None]) -> bool:
        """Run ``job`` unless one of that name runs; return whether it was started."""
        running = self._jobs.get(name)
        if self._group is None or (running is not None and not running.done()):
            if asyncio.iscoroutine(job):
                job.close()
            return False
        self._jobs[name] = task = self._group.create_task(self._guarded(job), name=name)
        task.add_done_callback(lambda _: self._jobs.pop(name) if self._jobs.get(name) is task else None)
        return True

    def _spawn(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._group is not None
        return self._group.create_task(self._guarded(job))

    def _spawn_bare(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a job that handles ``EngineError`` itself."""
        assert self._group is not None
        return self._group.create_task(job)

    def _doctor_changed(self, state: DoctorState) -> None:
        self._post(DoctorUpdate(state.report, fixes=state.fixes, watching=state.watching))
        if not state.report.running:
            blocked = self.doctor.cannot_answer(self.device_id)
            if self._blocked and not blocked and state.report.device_id == self.device_id:
                self.start("snapshot", self._snapshot(self.device_id, later=True))
            self._blocked = blocked

    async def _guarded(self, job: Awaitable[None]) -> None:
        """Report an ``EngineError`` as a notice; any other exception is a bug and ends the console."""
        try:
            await job
        except EngineError as exc:
            self._say_error(exc)

    def _say(self, notice: Notice) -> None:
        self._post(NoticeUpdate(notice))

    def _say_error(self, error: EngineError) -> None:
        self._say(_notice_of(error, self._clock.now()))

    # -- jobs

    async def _first_look(self, device_id: str) -> None:
        if device_id in await self._locks():
            self._tree_due = True
            return
        looking = self._spawn(self._snapshot(device_id, checks=False, later=True))
        await asyncio.wait({looking}, timeout=FIRST_LOOK_SECONDS)
        if device_id != self.device_id:
            return
        self.doctor.rerun()
        if looking.done():
            return
        await self.doctor.rest()
        if self.doctor.cannot_answer(device_id):
            looking.cancel()

    async def _snapshot(self, device_id: str, *, checks: bool = True, later: bool = False) -> None:
        """Take a snapshot; run the ``checks`` again where its result contradicts their verdict.

        ``later``: while the device is busy, wait until it is free; the first tree of a device always does.
        """
        self._post(WorkUpdate("Reading the screen…", self._clock.now()))
        problem, silent = "", None
        try:
            result = await self._engine.snapshot(device_id=device_id or None)
            require_tree(result.envelope)
            silent = False
        except EngineError as exc:
            problem = _notice_of(exc, self._clock.now()).text
            in_use = exc.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
            silent = None if in_use else True
            if in_use and (later or device_id not in self._newest):
                self._tree_due, problem = True, ""
            if in_use and later:
                return
            raise
        finally:
            self._post(WorkUpdate("", problem=problem))
            if checks and silent not in (None, self.doctor.cannot_answer(device_id)) and device_id == self.device_id:
                self.doctor.rerun()

    async def _picture(self, device_id: str) -> None:
        self._post(ValueUpdate("picture", await take(self._engine, device_id, self._clock)))

    async def _open_files(self, paths: Sequence[str]) -> None:
        from clawperator.engine.follow.saved_dumps import read_dump

        try:
            for path in paths:
                name = os.path.basename(path) or path
                self._post(WorkUpdate(f"Reading {sentence(name)}…", self._clock.now()))
                dump = await asyncio.to_thread(read_dump, path)
                tree, problem = dump.tree, ""
                if tree is not None:
                    problem = tree.recovered
                elif dump.problem is not None:
                    problem = f"{dump.problem.message} ({dump.problem.code.value})"
                self._serial += 1
                snapshot = TreeSnapshot(
                    serial=self._serial,
                    source="file",
                    name=name,
                    at=self._clock.now(),
                    xml=dump.xml,
                    tree=tree,
                    complete=tree is None or tree.complete,
                    problem=problem,
                )
                self._post(SnapshotUpdate(snapshot))
        finally:
            self._post(WorkUpdate(""))

    async def _watch_locks(self) -> None:
        """Poll the locks, files of all processes, once a second and when an execution starts or ends."""
        while True:
            self._look_at_locks.clear()
            locks = await self._locks()
            if locks != self._held:
                self._held = locks
                self.mirror.look_now()
                self._post(LocksUpdate(locks))
            if self.device_id not in locks:  # since when is unknown: a short execution ends between two polls
                self.doctor.device_free()
                if self._tree_due:
                    self._tree_due = not self.first_look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOCK_LOOK_SECONDS):
                    await self._look_at_locks.wait()

    async def _locks(self) -> dict[str, Mapping[str, Any]]:
        """Return the held locks by serial, without those that yield to every execution."""
        held = map(as_mapping, await asyncio.to_thread(self._engine.locks))
        return {str(lock["deviceId"]): lock for lock in held if not lock.get("yields")}

    # -- events

    def _post_events(self, events: Sequence[EngineEvent], *, dropped: int) -> None:
        """Post one batch of events as few messages, in order."""
        stream: list[EngineEvent] = []
        for event in events:
            self._probe.heed(event)
            match event:
                case DevicesChanged() | AdbServerLost():
                    pass  # handled as urgent
                case LogBatch():
                    stream.append(event)
                case CheckFinished():
                    pass  # own runs report their checks; other clients' runs are not shown
                case _:
                    stream.append(event)
                    self._notice(event)
        if stream or dropped:
            self._post(StreamUpdate(stream, dropped))

    def _notice(self, event: EngineEvent) -> None:
        """Post the notice of an event, beside its row in the stream."""
        if isinstance(event, LogAttached):
            if event.device_id in self._broken:
                self._broken.discard(event.device_id)
                self._say(Notice(Status.OK, f"The log of {event.device_id} is connected again", at=event.at))
        elif isinstance(event, HistoryTrouble):
            self._say(Notice(Status.WARN, event.reason, ErrorCode.HISTORY_UNAVAILABLE.value, event.at))
        elif isinstance(event, LogGap) and event.device_id not in self._broken:
            self._broken.add(event.device_id)
            if not self._is_usable(event.device_id):
                return  # the device is away, which is reported
            words = f"The log stream was interrupted and is being reopened: {event.reason}"
            self._say(Notice(Status.WARN, words, at=event.at))

    def _is_usable(self, serial: str | None) -> bool:
        return any(entry.usable for entry in self._devices if entry.serial == serial)

    async def _watch_urgent(self, subscription: Subscription) -> None:
        """Handle what must not wait for a tick: devices, trees, and locks."""
        async for event in subscription:
            match event:
                case DevicesChanged():
                    self._devices = event.devices
                    self._post(DevicesUpdate(event.devices))
                    self.doctor.devices_changed(event.devices)
                case AdbServerLost():
                    self._post(DevicesUpdate(self._devices, event.reason))
                case ExecutionStarted():
                    self._own.append(event.command_id)
                    self._look_at_locks.set()
                case ExecutionFinished():
                    self._look_at_locks.set()
                case SnapshotSeen():
                    self._dumps.append(event)
                    self._dump_ready.set()
                    if len(self._dumps) > _TREES_WAITING:
                        self._leave_out_a_dump()

    def _leave_out_a_dump(self) -> None:
        newest = {dump.device_id: dump.seq for dump in self._dumps}
        for index, dump in enumerate(self._dumps):
            if dump.seq != newest[dump.device_id]:
                del self._dumps[index]
                return

    async def _read_dumps(self) -> None:
        """Parse dumps in order, one at a time, in a worker thread."""
        while True:
            await self._dump_ready.wait()
            self._dump_ready.clear()
            while self._dumps:
                await self._read_dump(self._dumps.popleft())

    async def _read_dump(self, event: SnapshotSeen) -> None:
        device_id = event.device_id or ""
        source = self._source(event.command_id)
        newest = self._newest.get(device_id, TreeSnapshot.EMPTY)
        if newest and newest.xml == event.xml:
            snapshot = replace(newest, at=event.at, source=source, command_id=event.command_id, step_id=event.step_id)
        else:
            tree, problem = await asyncio.to_thread(read_tree, event.xml, searching=self.searching)
            if tree is None:
                words = f"A tree could not be read: {problem}"
                self._say(Notice(Status.FAILED, words, ErrorCode.HIERARCHY_MALFORMED.value))
                return
            self._serial += 1
            snapshot = TreeSnapshot(
                serial=self._serial,
                device_id=device_id,
                source=source,
                command_id=event.command_id,
                step_id=event.step_id,
                at=event.at,
                xml=event.xml,
                tree=tree,
                complete=event.complete and tree.complete,
                problem=problem,
                coming=bool(newest),
            )
            self._before[device_id] = newest
            self.mirror.look_now()
        self._newest[device_id] = snapshot
        self._post(SnapshotUpdate(snapshot))

    async def _complement(self, snapshot: TreeSnapshot) -> None:
        """Compute what can wait until the tree is shown: its differences, and what the panes ask of it."""
        tree, before = snapshot.tree, self._before.get(snapshot.device_id, TreeSnapshot.EMPTY)
        if tree is None:
            return
        if not snapshot.coming or before.tree is None:
            await asyncio.to_thread(warm, tree)
        else:
            changes = await asyncio.to_thread(align, before.tree, tree)
            await asyncio.to_thread(warm, tree)  # expensive panes wait for the changes
            newest = self._newest[snapshot.device_id]
            if newest.serial == snapshot.serial:
                snapshot = newest  # it may have been seen again meanwhile
            snapshot = replace(snapshot, changes=changes, since=before.serial, coming=False)
            if newest.serial == snapshot.serial:
                self._newest[snapshot.device_id] = snapshot
            self._post(SnapshotUpdate(snapshot))

    def _source(self, command_id: str) -> str:
        if self._following.owns(command_id):
            return "follow"
        return "r" if command_id in self._own else "stream"


def _notice_of(error: EngineError, now: float) -> Notice:
    if error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
        return Notice(Status.WAITING, f"{busy(error.details, now)}.", error.code.value)
    hint = f" {error.hint}" if error.hint else ""
    return Notice(Status.FAILED, f"{error.message}.{hint}".replace("..", "."), error.code.value)
