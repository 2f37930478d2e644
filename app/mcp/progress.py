"""What a client is told while its call runs: the engine's events about one command, as steps of a whole."""

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

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Tells the client: how far, of how much, in words."""

_LONGEST = 200
_PAUSE_SECONDS = 0.1
"""Between two lines of a script that are told: nobody reads faster."""


class Progress:
    """How far one call is. Every value is larger than the one before, as the protocol wants it.

    ``done`` is what the executions before this one came to, ``total`` what all of them will, where that is known.
    """

    def __init__(self, report: Report) -> None:
        self.done = 0.0
        self.total: float | None = None
        self._report = report
        self._last = -1.0

    async def tell(self, at: float, upto: float, message: str) -> None:
        """``at`` has been reached; news that come again on the way to ``upto`` go half of what is left."""
        value = at if at > self._last else (self._last + upto) / 2
        if not self._last < value <= upto:
            return
        self._last = value
        await self._report(value, self.total, shown(message, _LONGEST))


class _News(NamedTuple):
    at: float
    upto: float
    words: str


class Following:
    """The engine's events about the one command of ``payload``, told as progress while the block runs.

    ``dispatched`` and ``end`` (the engine's result) are known as soon as the engine says them, even to somebody who is
    being cancelled. ``on_tree`` gets every whole dump: serial, XML, command id.
    """

    def __init__(
        self,
        bus: EventBus,
        payload: Mapping[str, Any],
        progress: Progress,
        on_tree: Callable[[str, str, str], object],
    ) -> None:
        self.command_id = str(payload.get("commandId", ""))
        self.device_id = ""
        self.dispatched = False
        self.end: Mapping[str, Any] | None = None
        actions = payload.get("actions")
        self._steps = _places(actions) if isinstance(actions, list) else {}
        self._count = len(self._steps)
        self._bus = bus
        self._progress = progress
        self._on_tree = on_tree
        self._at = 0
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._progress.total is None:
            self._progress.total = float(self._count)
        self._subscription = self._bus.subscribe()
        self._task = asyncio.create_task(self._tell(self._subscription), name=f"progress of {self.command_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._subscription is not None
        assert self._task is not None
        if isinstance(error, asyncio.CancelledError):
            self._task.cancel()  # nothing more may be said about a call that its client gave up
            self.hear()
            self._subscription.close()
            return
        self._subscription.close()
        await self._task
        self._progress.done += self._count

    def hear(self) -> None:
        """Take in what has been said and not been told yet."""
        assert self._subscription is not None
        for event in self._subscription.taken():
            self._note(event)

    async def _tell(self, subscription: Subscription) -> None:
        async for event in subscription:
            for news in self._note(event):
                with contextlib.suppress(Exception):  # a client that is gone cannot be told
                    done = self._progress.done
                    await self._progress.tell(done + news.at, done + news.upto, news.words)

    def _note(self, event: EngineEvent) -> list[_News]:
        if getattr(event, "command_id", None) != self.command_id:
            return []
        if self.device_id and event.device_id not in (None, self.device_id):
            return []
        match event:
            case ExecutionStarted(device_id=device) if device:
                self.device_id = device
            case ExecutionDispatched():
                self.dispatched = True
                return [_News(0, 0.5, f"sent to {self.device_id}")]
            case CommandProgress():
                return self._step(event)
            case SnapshotSeen(device_id=device, complete=True) if device:
                self._on_tree(device, event.xml, event.command_id)
            case ExecutionFinished():
                self.end, self.dispatched = event.result, event.dispatched
                self.device_id = event.device_id or self.device_id
        return []

    def _step(self, event: CommandProgress) -> list[_News]:
        match event.kind:
            case "step-start" if (place := self._steps.get(event.fields.get("id", ""))) is not None:
                self._at = place[0]
                return [_News(self._at + 0.5, self._at + 1, self._words())]
            case "step-success" if (place := self._steps.get(event.fields.get("id", ""))) is not None:
                self._at = place[0]
                return [_News(self._at + 1, self._at + 1, f"{self._words()}: done")]
            case "stage-retry":
                return [_News(self._at + 0.5, self._at + 1, f"{self._words()}: trying again")]
        return []

    def _words(self) -> str:
        name, kind = next(
            ((name, kind) for name, (index, kind) in self._steps.items() if index == self._at), ("?", "?")
        )
        return f"{self._at + 1} of {self._count}: {kind} ({name})"


def _places(actions: list[Any]) -> dict[str, tuple[int, str]]:
    """Position and type of each step by its id; of ids that a refusal will complain about, what can be said."""
    found: dict[str, tuple[int, str]] = {}
    for index, action in enumerate(actions):
        if isinstance(action, Mapping):
            found.setdefault(str(action.get("id", "")), (index, str(action.get("type", ""))))
    return found


class LatestLine:
    """Tells the newest line of something that talks, not each of a thousand."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._count, self._text = 0, ""
        self._news = asyncio.Event()

    def take(self, text: str) -> None:
        self._count, self._text = self._count + 1, text
        self._news.set()

    @contextlib.asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """Tell for as long as the block runs."""
        task = asyncio.create_task(self._tell(), name="lines")
        try:
            yield
        finally:
            task.cancel()

    async def _tell(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self._progress.tell(self._count, self._count, self._text)
            await asyncio.sleep(_PAUSE_SECONDS)
