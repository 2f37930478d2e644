"""The event bus: publishing never waits.

Each subscriber has its own bounded queue, so a slow reader loses its own events (counted in ``dropped``). Publishers create events
only while there are subscribers: a process that runs one command does not load ``events/types.py``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from clawperator.engine.events.typed_text import TypedTexts
    from clawperator.engine.events.types import EngineEvent


MAX_BYTES = 8 * 1024 * 1024
"""Limit of the queue of one reader, besides the newest event."""
_ENTRY_COST = 250
"""Bytes that a log line takes besides its text."""


def _size(event: EngineEvent) -> int:
    """Return the approximate size in bytes of the texts of ``event``."""
    texts = (getattr(event, name, "") for name in ("xml", "raw", "text"))
    fields, entries = getattr(event, "fields", {}), getattr(event, "entries", ())
    return sum(map(len, (*texts, *fields.values()))) + sum(len(entry.payload) + _ENTRY_COST for entry in entries)


_MAY_SHOW_TYPED_TEXT = ("LogBatch", "CommandProgress", "EnvelopeSeen", "ExecutionStarted", "ExecutionFinished")
"""Events for which ``typed_text.py`` is loaded."""


class Subscription:
    """The queue of one reader, bounded in events and bytes. Iterate it.

    ``dropped`` counts the events, and each log line in them, that were lost because the reader was slow.
    """

    def __init__(self, maxsize: int, close: Callable[[Subscription], None]) -> None:
        self.dropped = 0
        self._events: deque[EngineEvent] = deque()
        self._bytes = 0
        self._maxsize = maxsize
        self._ready = asyncio.Event()
        self._close = close
        self._closed = False

    def offer(self, event: EngineEvent) -> None:
        self._bytes += _size(event)
        self._events.append(event)
        while len(self._events) > self._maxsize or (self._bytes > MAX_BYTES and len(self._events) > 1):
            lost = self._events.popleft()
            self._bytes -= _size(lost)
            self.dropped += max(1, len(getattr(lost, "entries", ())))
        self._ready.set()

    async def batch(self) -> list[EngineEvent]:
        """Wait for events and take all of them; empty only after ``close``."""
        while not self._events and not self._closed:
            await self._ready.wait()
        return self.taken()

    def taken(self) -> list[EngineEvent]:
        """Take all waiting events, without waiting."""
        events = list(self._events)
        self._events.clear()
        self._bytes = 0
        self._ready.clear()
        return events

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._ready.set()
            self._close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[EngineEvent]:
        while events := await self.batch():
            for event in events:
                yield event


class EventBus:
    """Publishes to every subscription without waiting. ``typed`` takes typed text out of every event."""

    def __init__(self) -> None:
        self._seq = 0
        self._subscriptions: list[Subscription] = []

    @property
    def watched(self) -> bool:
        """Whether there are subscribers: publishers skip events otherwise."""
        return bool(self._subscriptions)

    @cached_property
    def typed(self) -> TypedTexts:
        """The typed texts of recent commands."""
        from clawperator.engine.events.typed_text import TypedTexts

        return TypedTexts()

    def subscribe(self, maxsize: int = 10_000) -> Subscription:
        subscription = Subscription(maxsize, self._subscriptions.remove)
        self._subscriptions.append(subscription)
        return subscription

    def publish(self, event: EngineEvent) -> EngineEvent:
        self._seq += 1
        if type(event).__name__ in _MAY_SHOW_TYPED_TEXT:
            event = self.typed.without(event)
        event = replace(event, seq=self._seq)
        for subscription in tuple(self._subscriptions):
            subscription.offer(event)
        return event
