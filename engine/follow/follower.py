"""Follow mode: keeps the tree of one device up to date without delaying executions.

While the screen changes, the next snapshot begins when the last tree has been painted; while it does not, snapshots become rare. A
follow snapshot yields the device lock: executions wait for it instead of being refused (``executions/device_lock.py``), and it is
not taken while the device is locked. A tree that any execution leaves in the log replaces a follow snapshot.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus, Subscription
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.executions.attempt import settling
from clawperator.engine.executions.backend import Backend
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import HeldDevice, LockStatus
from clawperator.engine.executions.internal_snapshot import snapshot_command, tree_of
from clawperator.engine.executions.trace import Trace

BUDGET_MS = 1_500
"""Time limit of a follow snapshot on the device; executions wait longer for it (``device_lock.YIELD_SPARE_SECONDS``)."""
STOCK_BUDGET_MS = 12_000
"""The same by ``uiautomator``, which gives a busy screen up after 10 s (android-facts 7a)."""
SPARE_SECONDS = 0.3
"""Longer than on the device: a slow one then reports a timeout, and does not have to settle."""
_SLOW_SECONDS = 0.6
"""After a snapshot that took longer, follow mode rests as long as it took: its device is blocked half of the time at most."""

RESTS = (0.0, 1.0, 2.0, 5.0)
"""Seconds before the next snapshot: after a new tree, and after the first, second, third … equal one or failure."""
FOREIGN_REST = 1.0
"""Seconds without a follow snapshot after the tree of an execution: more may follow."""
BUSY_REST = 0.25
"""Seconds between two checks of a lock that is held: another process's release sends no event."""
PAINT_LIMIT = RESTS[-1]
"""Seconds before the next snapshot without a call of ``painted``."""

_ABOUT_THE_DEVICE = (
    ErrorCode.DEVICE_NOT_FOUND,
    ErrorCode.DEVICE_OFFLINE,
    ErrorCode.DEVICE_BOOTING,
    ErrorCode.DEVICE_UNAUTHORIZED,
    ErrorCode.DEVICE_SHELL_UNAVAILABLE,
    ErrorCode.LOGCAT_UNAVAILABLE,
    ErrorCode.NO_DEVICES,
)
"""Errors after which the device list shows whether the device is gone."""

Hold = Callable[[AdbDevice, Command], AbstractAsyncContextManager[HeldDevice]]

Phase = Literal["reading", "resting", "busy", "away", "failing"]


@dataclass(frozen=True, slots=True)
class FollowState:
    """The state of follow mode.

    ``reading``: trees change. ``resting``: they do not; ``wait`` seconds between snapshots. ``busy``: the device is locked, by
    ``command_id`` if known. ``away``: adb does not list it as usable. ``failing``: the last snapshot failed with ``error``; the
    next begins after ``wait`` seconds.
    """

    phase: Phase
    command_id: str = ""
    wait: float = 0.0
    error: EngineError | None = None


class Follow:
    """Follow mode for one device, made by ``Engine.follow``. Run ``run`` as a task.

    ``look`` reads one tree or raises ``EngineError``; ``lock`` returns the state of the device lock; ``wait_for_device``
    returns when adb lists the device: true if it had to wait, after calling its argument.
    """

    def __init__(
        self,
        bus: EventBus,
        device_id: str,
        *,
        look: Callable[[Command], Coroutine[Any, Any, str]],
        lock: Callable[[], LockStatus],
        wait_for_device: Callable[[Callable[[], object]], Awaitable[bool]],
        on_state: Callable[[FollowState], object],
        budget_ms: Callable[[], int] = lambda: BUDGET_MS,
    ) -> None:
        self.device_id = device_id
        self._budget_ms = budget_ms
        self.state = FollowState("reading")
        self._bus = bus
        self._look = look
        self._lock = lock
        self._wait_for_device = wait_for_device
        self._on_state = on_state
        self._commands: deque[str] = deque(maxlen=16)
        self._current: str | None = None
        self._newest = ""
        self._changed = False
        self._equal = 0
        self._failed = 0
        self._due = self._foreign_until = self._paint_by = 0.0
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled; a snapshot that has begun is completed within its time limit, at most ``PAINT_LIMIT``."""
        with self._bus.subscribe() as subscription:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(subscription), name=f"trees of {self.device_id}")
                while True:
                    await self._turn()

    def painted(self) -> None:
        """Note that the newest tree was painted, or will not be: the next snapshot may begin."""
        # The painter may call this before ``_listen`` has noted the tree.
        asyncio.get_running_loop().call_soon(self._may_go_on)

    def _may_go_on(self) -> None:
        self._paint_by = 0.0
        self._news.set()

    def owns(self, command_id: str) -> bool:
        """Return whether a recent follow snapshot had that id."""
        return command_id in self._commands

    # -- snapshots

    async def _turn(self) -> None:
        try:
            await self._until_due()
            await self._until_free()
            if self._wait() <= 0:  # an execution may have left a tree meanwhile
                await self._take_snapshot()
        except EngineError as error:
            await self._take_error(error)

    def _wait(self) -> float:
        """Return the seconds until the next snapshot is due."""
        return max(self._due, self._foreign_until, self._paint_by) - asyncio.get_running_loop().time()

    async def _until_due(self) -> None:
        while (wait := self._wait()) > 0:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()

    async def _until_free(self) -> None:
        while (status := self._lock()).state != "free":
            holder = status.holder.command_id if status.holder else ""
            if not self.owns(holder):  # our own snapshot may have left the device settling
                self._say(FollowState("busy", command_id=holder))
            await asyncio.sleep(BUSY_REST)
        if self.state.phase == "busy":
            self._say(FollowState("reading"))

    async def _take_snapshot(self) -> None:
        command = snapshot_command(self._budget_ms())
        self._commands.append(command.command_id)
        self._current, self._changed = command.command_id, False
        began = asyncio.get_running_loop().time()
        try:
            xml = await _to_its_end(self._look(command))
        except BaseException:
            self._current = None  # its tree may still arrive
            raise
        self._failed = 0
        self._take_own(xml)
        now = asyncio.get_running_loop().time()
        if now - began > _SLOW_SECONDS:
            self._due = max(self._due, 2 * now - began)

    # -- results

    async def _listen(self, subscription: Subscription) -> None:
        async for event in subscription:
            if isinstance(event, SnapshotSeen) and event.device_id == self.device_id and event.complete:
                if event.command_id == self._current:
                    self._note(event.xml)  # before its snapshot has ended
                else:
                    self._take_foreign(event.xml)

    def _note(self, xml: str) -> None:
        """Note a new tree: it will be painted, and the next snapshot follows soon."""
        if xml != self._newest:
            now = asyncio.get_running_loop().time()
            self._newest, self._changed, self._equal = xml, True, 0
            self._due, self._paint_by = now, now + PAINT_LIMIT

    def _take_own(self, xml: str) -> None:
        self._note(xml)
        if self._changed:
            self._say(FollowState("reading"))
        else:
            self._equal += 1
            self._rest(rest_after(self._equal))

    def _take_foreign(self, xml: str) -> None:
        """Note the tree of an execution. It neither ends a failure nor shows that the device is free."""
        self._note(xml)
        self._foreign_until = asyncio.get_running_loop().time() + FOREIGN_REST
        if self.state.phase in ("reading", "resting"):
            self._rest(max(FOREIGN_REST, rest_after(self._equal)))
        self._news.set()

    def _rest(self, wait: float) -> None:
        self._due = asyncio.get_running_loop().time() + wait
        self._say(FollowState("resting", wait=wait))

    async def _take_error(self, error: EngineError) -> None:
        if error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
            holder = error.details.get("inFlightCommandId") or error.details.get("settlingAfter", "")
            self._say(FollowState("busy", command_id=str(holder)))
            await asyncio.sleep(BUSY_REST)
            return
        gone = FollowState("away", error=error)
        if error.code in _ABOUT_THE_DEVICE and await self._wait_for_device(lambda: self._say(gone)):
            self._failed = self._equal = 0
            self._due = 0.0
            self._say(FollowState("reading"))
            return
        self._failed += 1
        wait = rest_after(self._failed)
        self._due = asyncio.get_running_loop().time() + wait
        self._say(FollowState("failing", wait=wait, error=error))

    def _say(self, state: FollowState) -> None:
        if state != self.state:
            self.state = state
            self._on_state(state)


def rest_after(times: int) -> float:
    """Return the seconds to wait after ``times`` snapshots in a row without a new tree."""
    return RESTS[min(times, len(RESTS) - 1)]


async def _to_its_end(look: Coroutine[Any, Any, str]) -> str:
    """Complete a snapshot that has begun, also when cancelled.

    Otherwise its outcome would be unknown, and the device would settle for two seconds.
    """
    task = asyncio.create_task(look, name="follow snapshot")
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=PAINT_LIMIT)
        raise
    finally:
        task.cancel()


async def look(device: AdbDevice, backend: Backend, hold: Hold, command: Command) -> str:
    """Return the XML of one tree, read under the device lock that ``hold`` takes, which yields to executions.

    Raises ``EngineError``: EXECUTION_CONFLICT_IN_FLIGHT at once if the device is locked.
    """
    trace, seconds = Trace(), command.timeout_ms / 1000 + SPARE_SECONDS
    await backend.check(device)
    try:
        async with hold(device, command) as held:
            with settling(held, trace):
                async with asyncio.timeout(seconds):
                    outcome = await backend.run(device, command, trace)
    except TimeoutError:
        words = f"No tree within {round(seconds * 1000)}ms"
        raise EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, words) from None
    return tree_of(outcome)
