"""Keeping the tree of one device fresh without being in anybody's way.

While the screen changes, the next look begins when the last tree has been painted; while it stays the same, looks become
rare. A look is a snapshot of the smallest kind: it holds the device in a way that executions wait for instead of being
turned away (``engine/executions/device_lock.py``), and it never waits for them: a device that is taken is left alone, and a tree
that anybody's execution leaves in the log is as good as one of our own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.limits import FOLLOW_SOURCE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus, Subscription
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import settling
from clawperator.engine.executions.backend import Backend, Outcome
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks, LockStatus
from clawperator.engine.executions.trace import Trace

LOOK_SECONDS = 1.8
"""What a look may take in all: an execution that waits for it is patient for 2 s (``held.YIELD_SECONDS``)."""
_DEVICE_BUDGET_MS = 1_500
"""Less than that: a slow device then gives up and says so, and nothing has to settle."""

RESTS = (0.0, 1.0, 2.0, 5.0)
"""Seconds before the next look after a new tree, and after the first, second, third … equal one; of failures likewise."""
FOREIGN_REST = 1.0
"""Seconds without a look of our own after somebody else's tree: more of them may be on their way."""
BUSY_REST = 0.25
"""Seconds between two looks at a lock that somebody has: nothing tells when another process lets go of it."""
PAINT_LIMIT = RESTS[-1]
"""Whoever does not say that a tree is painted gets the next one no sooner than this."""

_ABOUT_THE_DEVICE = (
    ErrorCode.DEVICE_NOT_FOUND,
    ErrorCode.DEVICE_OFFLINE,
    ErrorCode.DEVICE_UNAUTHORIZED,
    ErrorCode.DEVICE_SHELL_UNAVAILABLE,
    ErrorCode.LOGCAT_UNAVAILABLE,
    ErrorCode.NO_DEVICES,
)
"""What a look says when the device may have gone; the device list tells whether it has."""

Phase = Literal["reading", "resting", "busy", "away", "failing"]


@dataclass(frozen=True, slots=True)
class FollowState:
    """What following does now.

    ``reading``: trees change, look follows look. ``resting``: they do not; ``wait`` seconds between the looks. ``busy``: the
    device is taken, by ``command_id`` where that is known. ``away``: adb does not list it as usable. ``failing``: the last
    look ended with ``error``; the next begins ``wait`` seconds later.
    """

    phase: Phase
    command_id: str = ""
    wait: float = 0.0
    error: EngineError | None = None


class Follow:
    """``run`` it as one task; it ends only by cancellation. Made by ``Engine.follow``.

    ``look`` reads one tree, or raises ``EngineError``; ``lock`` tells who has the device; ``wait_for_device`` returns when
    adb lists it, having called its argument if it had to wait, and whether it had.
    """

    def __init__(
        self,
        bus: EventBus,
        device_id: str,
        *,
        look: Callable[[Command], Coroutine[Any, Any, str]],
        lock: Callable[[], LockStatus],
        wait_for_device: Callable[[Callable[[], object]], Awaitable[bool]],
        tell: Callable[[FollowState], object],
    ) -> None:
        self.device_id = device_id
        self.state = FollowState("reading")
        self._bus = bus
        self._look = look
        self._lock = lock
        self._wait_for_device = wait_for_device
        self._tell = tell
        self._commands: deque[str] = deque(maxlen=16)
        self._looking: str | None = None
        self._newest = ""
        self._changed = False
        self._equal = 0
        self._failed = 0
        self._due = self._foreign_until = self._paint_by = 0.0
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Follow for ever. Cancelled in the middle of a look, it ends with that look (``LOOK_SECONDS`` at most)."""
        with self._bus.subscribe() as subscription:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(subscription), name=f"trees of {self.device_id}")
                while True:
                    await self._turn()

    def painted(self) -> None:
        """The newest tree is on the screen, or will never be: the next one may come."""
        # Whoever paints in the very turn of the loop that brought the tree may be quicker than we are with noting it.
        asyncio.get_running_loop().call_soon(self._may_go_on)

    def _may_go_on(self) -> None:
        self._paint_by = 0.0
        self._news.set()

    def owns(self, command_id: str) -> bool:
        """Whether a recent look of ours had that id."""
        return command_id in self._commands

    # -- one look after the other

    async def _turn(self) -> None:
        try:
            await self._until_due()
            await self._until_free()
            if self._wait() <= 0:  # somebody's tree may have come by while they had the device
                await self._look_once()
        except EngineError as error:
            await self._take_error(error)

    def _wait(self) -> float:
        """Seconds until the next look is due; nothing to wait for where it is not positive."""
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
            if not self.owns(holder):  # what our own look left settling is no execution that we wait for
                self._say(FollowState("busy", command_id=holder))
            await asyncio.sleep(BUSY_REST)
        if self.state.phase == "busy":
            self._say(FollowState("reading"))

    async def _look_once(self) -> None:
        command = _command()
        self._commands.append(command.command_id)
        self._looking, self._changed = command.command_id, False
        try:
            xml = await _to_its_end(self._look(command))
        except BaseException:
            self._looking = None  # should its tree come by after all, it is as good as anybody's
            raise
        self._failed = 0
        self._take_own(xml)

    # -- what comes of it

    async def _listen(self, subscription: Subscription) -> None:
        async for event in subscription:
            if isinstance(event, SnapshotSeen) and event.device_id == self.device_id and event.complete:
                if event.command_id == self._looking:
                    self._note(event.xml)  # before its look has ended: it may be painted before that, too
                else:
                    self._take_foreign(event.xml)

    def _note(self, xml: str) -> None:
        """A tree that is not the newest one again wants to be painted, and the next look soon."""
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
        """Somebody else's tree: fresh for nothing. It neither ends a failure nor tells that the device is free."""
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
            self._tell(state)


def rest_after(times: int) -> float:
    """Seconds to wait after so many looks in a row that brought nothing new."""
    return RESTS[min(times, len(RESTS) - 1)]


def _command() -> Command:
    return Command.internal(
        build.single("follow", "snapshot_ui", action_id="snap", source=FOLLOW_SOURCE, timeout_ms=_DEVICE_BUDGET_MS)
    )


async def _to_its_end(look: Coroutine[Any, Any, str]) -> str:
    """A look that has begun is brought to its end, even when we are cancelled meanwhile.

    Broken off, its outcome would be unknown, and the device would settle for two seconds in which everybody has to wait.
    """
    task = asyncio.create_task(look, name="follow: look")
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
    finally:
        task.cancel()


async def look(device: AdbDevice, backend: Backend, locks: DeviceLocks, command: Command) -> str:
    """The XML of one tree, read while nobody else has the device; executions wait for the moment that it takes.

    Raises ``EngineError``, EXECUTION_CONFLICT_IN_FLIGHT at once where the device is taken.
    """
    trace = Trace()
    await backend.check(device)
    try:
        async with locks.hold(device.serial, command, yields=True) as held:
            with settling(held, trace):
                async with asyncio.timeout(LOOK_SECONDS):
                    outcome = await backend.run(device, command, trace)
    except TimeoutError:
        words = f"No tree within {round(LOOK_SECONDS * 1000)}ms"
        raise EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, words) from None
    return tree_of(outcome)


def tree_of(outcome: Outcome) -> str:
    """The XML that a look brought back. Raises ``EngineError`` with the device's own code where it brought none."""
    envelope = outcome.envelope
    step = envelope.step_results[-1] if envelope.step_results else None
    if envelope.status != "success":
        raise _refusal(envelope)
    if step is not None and not step.success:
        code = _known(step.data.get("error", "")) or ErrorCode.UI_TREE_UNAVAILABLE
        raise EngineError(code, step.data.get("message") or f"The device gave no tree: {code.value}")
    captured = next((tree.xml for tree in reversed(outcome.hierarchies) if tree.complete), "")
    if text := captured or (step.data.get("text", "") if step is not None else ""):
        return text
    raise EngineError(ErrorCode.SNAPSHOT_EXTRACTION_FAILED, "No complete tree could be read from the device's log")


def _refusal(envelope: Envelope) -> EngineError:
    words = envelope.error or "The device gave no reason"
    code = _known(envelope.error_code or "") or derived_code(words) or ErrorCode.UNKNOWN_RUNTIME_ERROR
    return EngineError(code, words)


def _known(code: str) -> ErrorCode | None:
    return ErrorCode.__members__.get(code)
