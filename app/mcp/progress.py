"""Progress notifications of a call: the engine's events about one command, as steps of a total."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from clawperator.engine.contracts.issues import shown
from clawperator.engine.events.types import (
    CommandProgress,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    SnapshotSeen,
)

if TYPE_CHECKING:
    from clawperator.engine.events.bus import EventBus, Subscription
    from clawperator.engine.events.types import EngineEvent
    from clawperator.engine.follow.trees import LastTrees

ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Send a notification: progress, total, message."""

_MAX_MESSAGE = 200
_PAUSE_SECONDS = 0.1
"""Between two reported lines of a script."""


class Progress:
    """The progress of one call. Every value is larger than the one before, as the protocol requires.

    ``done`` is the number of steps of earlier executions; ``total`` is that of all executions, if known.
    """

    def __init__(self, report: ReportProgress) -> None:
        self.done = 0.0
        self.total: float | None = None
        self._report = report
        self._last = -1.0

    async def report(self, at: float, upto: float, message: str) -> None:
        """Report that ``at`` is reached. A repeated report on the way to ``upto`` advances by half of the rest."""
        value = at if at > self._last else (self._last + upto) / 2
        if not self._last < value <= upto:
            return
        self._last = value
        await self._report(value, self.total, shown(message, _MAX_MESSAGE))


class _Step(NamedTuple):
    at: float
    upto: float
    message: str


class ExecutionProgress:
    """Reports the engine's events about the command of ``payload`` as progress while the block runs.

    ``dispatched`` and ``end`` (the engine's result) are set as soon as the events arrive, also during a cancellation.
    ``trees`` gets every complete dump.
    """

    def __init__(
        self,
        bus: EventBus,
        payload: Mapping[str, Any],
        progress: Progress,
        trees: LastTrees,
    ) -> None:
        self.command_id = str(payload.get("commandId", ""))
        self.device_id = ""
        self.dispatched = False
        self.end: Mapping[str, Any] | None = None
        actions = payload.get("actions")
        self._steps = _step_positions(actions) if isinstance(actions, list) else {}
        self._count = len(self._steps)
        self._bus = bus
        self._progress = progress
        self._trees = trees
        self._at = 0
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._progress.total is None:
            self._progress.total = float(self._count)
        self._subscription = self._bus.subscribe()
        self._task = asyncio.create_task(self._report(self._subscription), name=f"progress of {self.command_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._subscription is not None
        assert self._task is not None
        if isinstance(error, asyncio.CancelledError):
            self._task.cancel()  # the protocol forbids notifications about a cancelled call
            self.read_events()
            self._subscription.close()
            return
        self._subscription.close()
        await self._task
        self._progress.done += self._count

    def read_events(self) -> None:
        """Process the queued events without reporting them."""
        assert self._subscription is not None
        for event in self._subscription.taken():
            self._note(event)

    async def _report(self, subscription: Subscription) -> None:
        async for event in subscription:
            for step in self._note(event):
                with contextlib.suppress(Exception):  # the client may have disconnected
                    done = self._progress.done
                    await self._progress.report(done + step.at, done + step.upto, step.message)

    def _note(self, event: EngineEvent) -> list[_Step]:
        if getattr(event, "command_id", None) != self.command_id:
            return []
        if self.device_id and event.device_id not in (None, self.device_id):
            return []
        match event:
            case ExecutionStarted(device_id=device) if device:
                self.device_id = device
            case ExecutionDispatched():
                self.dispatched = True
                return [_Step(0, 0.5, f"sent to {self.device_id}")]
            case CommandProgress():
                return self._step(event)
            case SnapshotSeen(device_id=device, complete=True) if device:
                self._trees.note(device, event.xml, command_id=event.command_id)
            case ExecutionFinished():
                self.end, self.dispatched = event.result, event.dispatched
                self.device_id = event.device_id or self.device_id
                self._trees.executed(event)
        return []

    def _step(self, event: CommandProgress) -> list[_Step]:
        match event.kind:
            case "step-start" if (place := self._steps.get(event.fields.get("id", ""))) is not None:
                self._at = place[0]
                return [_Step(self._at + 0.5, self._at + 1, self._describe())]
            case "step-success" if (place := self._steps.get(event.fields.get("id", ""))) is not None:
                self._at = place[0]
                return [_Step(self._at + 1, self._at + 1, f"{self._describe()}: done")]
            case "stage-retry":
                return [_Step(self._at + 0.5, self._at + 1, f"{self._describe()}: retrying")]
        return []

    def _describe(self) -> str:
        name, kind = next(
            ((name, kind) for name, (index, kind) in self._steps.items() if index == self._at), ("?", "?")
        )
        return f"{self._at + 1} of {self._count}: {kind} ({name})"


def _step_positions(actions: list[Any]) -> dict[str, tuple[int, str]]:
    """Return position and type of each step by its id. The payload is not validated yet."""
    found: dict[str, tuple[int, str]] = {}
    for index, action in enumerate(actions):
        if isinstance(action, Mapping):
            found.setdefault(str(action.get("id", "")), (index, str(action.get("type", ""))))
    return found


class LatestLine:
    """Reports the newest line of a script's output at a bounded rate."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._count, self._text = 0, ""
        self._arrived = asyncio.Event()

    def take(self, text: str) -> None:
        self._count, self._text = self._count + 1, text
        self._arrived.set()

    @contextlib.asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Report lines while the block runs."""
        task = asyncio.create_task(self._report(), name="lines")
        try:
            yield
        finally:
            task.cancel()

    async def _report(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self._progress.report(self._count, self._count, self._text)
            await asyncio.sleep(_PAUSE_SECONDS)
