"""Between engine and screen: engine events become batched messages, wishes of the user become engine calls.

The bridge knows no widget; it posts ``News`` through one callable. Events are taken from a bounded queue and told at most
once per tick, so a device that logs a thousand lines a second costs the screen ten messages, not a thousand. Trees are
parsed and compared in a worker thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.app.console.devices.emulator_controller import HasEmulators
from clawperator.app.console.devices.setup_controller import HasOperator
from clawperator.app.console.doctor.controller import CanCheck, Doctoring, DoctorState, as_mapping
from clawperator.app.console.inspect.follow_controller import Followed, Following
from clawperator.app.console.inspect.pictures import take
from clawperator.app.console.messages import (
    DevicesNews,
    DoctorNews,
    FollowNews,
    LocksNews,
    News,
    NoticeNews,
    PictureNews,
    SnapshotNews,
    StreamNews,
    WorkNews,
)
from clawperator.app.console.run.outcome import settling
from clawperator.app.console.session import seen_again
from clawperator.engine.adb.parse import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus, Subscription
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
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.hierarchy.align import align
from clawperator.engine.hierarchy.postings import postings_anywhere, postings_of
from clawperator.engine.hierarchy.tree import UiTree, parse
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.find import words_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.app.console.history.reader import Reader

TICK_SECONDS = 0.1
FOCUSED_TICK_SECONDS = 0.033
LOCK_LOOK_SECONDS = 1.0
FIRST_LOOK_SECONDS = 2.0
"""A tree that takes longer may never come: then the checks begin beside it, and may find out why."""
_TREES_WAITING = 8
_OWN_COMMANDS = 500


class ConsoleEngine(CanCheck, HasEmulators, HasOperator, Protocol):
    """The part of the engine that the console uses."""

    events: EventBus

    @property
    def history(self) -> Reader | None: ...
    async def devices(self) -> tuple[DeviceEntry, ...]: ...
    async def snapshot(self, *, device_id: str | None = None) -> Any: ...
    async def picture(self, *, device_id: str | None = None) -> bytes: ...
    async def execute(self, payload: object, *, device_id: str | None = None) -> Any: ...
    async def force_stop(self, package: str, *, device_id: str | None = None) -> None: ...
    def follow(self, device_id: str, tell: Callable[[FollowState], object]) -> Followed: ...
    def locks(self) -> Sequence[Any]: ...
    async def watch_devices(self) -> None: ...
    async def watch_log(self, device_id: str) -> None: ...
    async def record_seen(self) -> None: ...


class Bridge:
    """Run ``run`` as one task; it ends only by cancellation. All other methods may be called while it runs."""

    def __init__(
        self, engine: ConsoleEngine, post: Callable[[News], object], clock: WallClock, *, tick: float = TICK_SECONDS
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self.tick = tick
        self.device_id = ""
        self.searching = False
        """Whether words are being looked for in the trees: each new one is made ready for that before it is shown."""
        self._group: asyncio.TaskGroup | None = None
        self._tail: asyncio.Task[None] | None = None
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self.doctoring = Doctoring(
            engine, self._spawn_bare, self._doctor_told, lambda notice: post(NoticeNews(notice)), clock
        )
        self._following = Following(engine, self._spawn, lambda device, state: post(FollowNews(device, state)))
        self._devices: tuple[DeviceEntry, ...] = ()
        self._own: deque[str] = deque(maxlen=_OWN_COMMANDS)
        self._dumps: deque[SnapshotSeen] = deque()
        self._dump_ready = asyncio.Event()
        self._look_at_locks = asyncio.Event()
        self._newest: dict[str, TreeSnapshot] = {}
        self._before: dict[str, TreeSnapshot] = {}
        self._broken: set[str | None] = set()
        self._serial = self._complemented = 0
        self._lost = 0

    async def run(self, files: Sequence[str] = ()) -> None:
        """Watch everything, for ever; first of all read ``files``."""
        with self._engine.events.subscribe() as subscription, self._engine.events.subscribe() as urgent:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._watch_urgent(urgent), name="urgent")
                group.create_task(self._guarded(self._engine.watch_devices()), name="devices")
                group.create_task(self._engine.record_seen(), name="history")
                group.create_task(self._watch_locks(), name="locks")
                group.create_task(self._read_dumps(), name="trees")
                if files:
                    self.open_files(files)
                try:
                    while events := await subscription.batch():
                        # What arrives meanwhile is told with it, and what is urgent has been painted before.
                        await asyncio.sleep(self.tick)
                        events += subscription.taken()
                        self._tell(events, dropped=subscription.dropped - self._lost)
                        self._lost = subscription.dropped
                finally:
                    self._group = None  # no wish is taken any more

    # -- wishes

    def use_device(self, serial: str) -> None:
        """Follow the log of ``serial`` instead of the present device's."""
        if serial == self.device_id:
            return
        self.device_id = serial
        self.doctoring.use_device(serial)
        if self._tail is not None:
            self._tail.cancel()
        if serial and self._group is not None:
            self._tail = self._group.create_task(self._guarded(self._engine.watch_log(serial)), name=f"log of {serial}")
        if serial and self._following.device_id:
            self._following.start(serial)

    def take_snapshot(self) -> bool:
        """Ask the device for its tree; false when one is on its way already. The tree comes back as an event like any other."""
        return self.start("snapshot", self._snapshot(self.device_id))

    def take_picture(self) -> bool:
        """Ask the device for a picture of its screen; false when one is on its way already."""
        return self.start("picture", self._picture(self.device_id))

    def toggle_follow(self) -> None:
        """Keep the tree of the present device fresh, or no longer."""
        if self._group is None:
            return
        if self._following.device_id:
            self._following.stop()
        else:
            self._following.start(self.device_id)

    def painted(self, serial: int) -> None:
        """Tree number ``serial`` has been dealt with by the screen: the next one may come, and there is time for the rest."""
        self._following.painted(serial)
        newest = self._newest.get(self.device_id, TreeSnapshot.EMPTY)
        if newest.serial == serial != self._complemented:
            self._complemented = serial
            self.start(f"tree {serial}", self._complement(newest))

    def run_doctor(self) -> bool:
        """Run the checks; false when they run already, or a fix does."""
        return self._group is not None and self.doctoring.run()

    def first_look(self) -> None:
        """What the console does by itself for a newly chosen device: its tree, then the checks, one after the other."""
        self.start(f"first look at {self.device_id}", self._first_look(self.device_id))

    def open_files(self, paths: Sequence[str]) -> bool:
        """Read saved dumps, in their order; each becomes a tree without a device, or says why it is none."""
        return self.start("files", self._open_files(paths))

    def start(self, name: str, job: Awaitable[None]) -> bool:
        """Run ``job``, unless one of that name runs; whether it was started."""
        running = self._jobs.get(name)
        if self._group is None or (running is not None and not running.done()):
            if asyncio.iscoroutine(job):
                job.close()
            return False
        self._jobs[name] = self._group.create_task(self._guarded(job), name=name)
        return True

    def _spawn(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._group is not None
        return self._group.create_task(self._guarded(job))

    def _spawn_bare(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """For what deals with the engine's failures itself."""
        assert self._group is not None
        return self._group.create_task(job)

    def _doctor_told(self, state: DoctorState) -> None:
        self._post(DoctorNews(state.report, fixes=state.fixes, watching=state.watching))

    async def _guarded(self, job: Awaitable[None]) -> None:
        """A failure of the engine is news; anything else is a bug and ends the console with its traceback."""
        try:
            await job
        except EngineError as exc:
            self._post(NoticeNews(_notice_of(exc)))

    # -- jobs

    async def _first_look(self, device_id: str) -> None:
        holder = (await self._locks()).get(device_id)
        if holder is not None:
            words = (
                f"{device_id} is busy: {holder.get('commandId') or 'an execution'}. r reads the screen when it is free."
            )
            self._post(NoticeNews(Notice(Status.WAITING, words)))
            return
        looking = self._spawn(self._snapshot(device_id))
        await asyncio.wait({looking}, timeout=FIRST_LOOK_SECONDS)
        if device_id != self.device_id:
            return
        self.run_doctor()
        if looking.done():
            return
        await self.doctoring.rest()
        if self.doctoring.hopeless(device_id) and looking.cancel():
            words = f"{device_id} cannot send its tree yet. 6 shows why, and F there what can be done"
            self._post(NoticeNews(Notice(Status.WARN, words)))

    async def _snapshot(self, device_id: str) -> None:
        self._post(WorkNews("Reading the screen…", self._clock.now()))
        try:
            await self._engine.snapshot(device_id=device_id or None)
        finally:
            self._post(WorkNews(""))

    async def _picture(self, device_id: str) -> None:
        self._post(PictureNews(await take(self._engine, device_id, self._clock)))

    async def _open_files(self, paths: Sequence[str]) -> None:
        from clawperator.engine.follow.saved_dumps import read_dump

        try:
            for path in paths:
                name = os.path.basename(path) or path
                self._post(WorkNews(f"Reading {sentence(name)}…", self._clock.now()))
                dump = await asyncio.to_thread(read_dump, path)
                tree, problem = dump.tree, ""
                if tree is not None:
                    problem = tree.recovered
                elif dump.problem is not None:
                    problem = f"{dump.problem.message} ({dump.problem.code.value})"
                self._serial += 1
                self._post(
                    SnapshotNews(
                        TreeSnapshot(
                            serial=self._serial,
                            source="file",
                            name=name,
                            at=self._clock.now(),
                            xml=dump.xml,
                            tree=tree,
                            complete=tree is None or tree.complete,
                            problem=problem,
                        )
                    )
                )
        finally:
            self._post(WorkNews(""))

    async def _watch_locks(self) -> None:
        """Locks live in files of other processes: looked at once a second, and at once when we start or finish one."""
        known: Mapping[str, Mapping[str, Any]] = {}
        while True:
            self._look_at_locks.clear()
            locks = await self._locks()
            if locks != known:
                known = locks
                self._post(LocksNews(locks))
                if self.device_id not in locks:
                    self.doctoring.device_free()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOCK_LOOK_SECONDS):
                    await self._look_at_locks.wait()

    async def _locks(self) -> dict[str, Mapping[str, Any]]:
        """Who has which device; whoever yields it to everybody else does not count."""
        held = map(as_mapping, await asyncio.to_thread(self._engine.locks))
        return {str(lock["deviceId"]): lock for lock in held if not lock.get("yields")}

    # -- events

    def _tell(self, events: Sequence[EngineEvent], *, dropped: int) -> None:
        """One batch of events as a few messages, in their order."""
        stream: list[EngineEvent] = []
        for event in events:
            match event:
                case DevicesChanged() | AdbServerLost():
                    pass  # told already
                case LogBatch():
                    stream.append(event)
                case CheckFinished():
                    pass  # our own run reports its checks itself; another front end's run is not ours to show
                case _:
                    stream.append(event)
                    self._notice(event)
        if stream or dropped:
            self._post(StreamNews(stream, dropped))

    def _notice(self, event: EngineEvent) -> None:
        """What is told of an event beside its row in the stream."""
        if isinstance(event, LogAttached):
            if event.device_id in self._broken:
                self._broken.discard(event.device_id)
                self._post(
                    NoticeNews(Notice(Status.OK, f"The log of {event.device_id} is followed again", at=event.at))
                )
        elif isinstance(event, HistoryTrouble):
            self._post(NoticeNews(Notice(Status.WARN, event.reason, ErrorCode.HISTORY_UNAVAILABLE.value, event.at)))
        elif isinstance(event, LogGap) and event.device_id not in self._broken:
            self._broken.add(event.device_id)
            self._post(
                NoticeNews(Notice(Status.WARN, f"The log broke off and is being reopened: {event.reason}", at=event.at))
            )

    async def _watch_urgent(self, subscription: Subscription) -> None:
        """What must not wait for a tick: devices, trees, and who holds the device."""
        async for event in subscription:
            match event:
                case DevicesChanged():
                    self._devices = event.devices
                    self._post(DevicesNews(event.devices))
                    self.doctoring.devices_changed(event.devices)
                case AdbServerLost():
                    self._post(DevicesNews(self._devices, event.reason))
                case ExecutionStarted():
                    self._own.append(event.command_id)
                    self._look_at_locks.set()
                case ExecutionFinished():
                    self._look_at_locks.set()
                case SnapshotSeen():
                    if len(self._dumps) >= _TREES_WAITING:
                        self._dumps.popleft()
                    self._dumps.append(event)
                    self._dump_ready.set()

    async def _read_dumps(self) -> None:
        """Dumps in their order, one at a time, off the event loop."""
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
            snapshot = seen_again(
                newest, at=event.at, source=source, command_id=event.command_id, step_id=event.step_id
            )
        else:
            tree, problem = await asyncio.to_thread(read_tree, event.xml, searching=self.searching)
            if tree is None:
                words = f"A tree could not be read: {problem}"
                self._post(NoticeNews(Notice(Status.FAILED, words, ErrorCode.HIERARCHY_MALFORMED.value)))
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
        self._newest[device_id] = snapshot
        self._post(SnapshotNews(snapshot))

    async def _complement(self, snapshot: TreeSnapshot) -> None:
        """What can wait until the tree is on screen: how it differs from the one before, and what panes will ask of it."""
        tree, before = snapshot.tree, self._before.get(snapshot.device_id, TreeSnapshot.EMPTY)
        if tree is None:
            return
        if not snapshot.coming or before.tree is None:
            await asyncio.to_thread(warm, tree)
        else:
            changes = await asyncio.to_thread(align, before.tree, tree)
            await asyncio.to_thread(warm, tree)  # panes that ask a lot of a tree wait for its changes
            newest = self._newest[snapshot.device_id]
            if newest.serial == snapshot.serial:
                snapshot = newest  # it may have been seen again meanwhile
            snapshot = replace(snapshot, changes=changes, since=before.serial, coming=False)
            if newest.serial == snapshot.serial:
                self._newest[snapshot.device_id] = snapshot
            self._post(SnapshotNews(snapshot))

    def _source(self, command_id: str) -> str:
        if self._following.owns(command_id):
            return "follow"
        return "r" if command_id in self._own else "stream"


def read_tree(xml: str, *, searching: bool = False) -> tuple[UiTree | None, str]:
    """Parse a dump: the tree, and what is wrong with the dump. Runs in a worker thread. ``searching``: words will be looked
    for in it as soon as it is shown.
    """
    try:
        tree = parse(xml, recover=True)
    except EngineError as exc:
        return None, exc.message
    _ = tree.on_screen, searching and words_of(tree)
    return tree, tree.recovered


def warm(tree: UiTree) -> None:
    """Work out what finding and matching ask of every node: no key should have to wait for it."""
    _ = words_of(tree), tree.roles
    postings_of(tree).prepare()
    postings_anywhere(tree).prepare()


def _notice_of(error: EngineError) -> Notice:
    if error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
        return Notice(Status.WAITING, _conflict_words(error.details), error.code.value)
    hint = f" {error.hint}" if error.hint else ""
    return Notice(Status.FAILED, f"{error.message}.{hint}".replace("..", "."), error.code.value)


def _conflict_words(details: Mapping[str, Any]) -> str:
    """Who has the device, in the words of the lock. The engine's hint is left out: it names flags of other faces."""
    if "retryAfterMs" in details:
        return f"{settling(details)}."
    holder = details.get("inFlightCommandId") or "another execution"
    source = f" from {details['source']}" if details.get("source") else ""
    return f"Device busy: {holder}{source}. Nothing was sent."
