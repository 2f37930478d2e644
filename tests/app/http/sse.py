"""A real client of the event stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
from httpx_sse import aconnect_sse

from tests.support import patience


class Event(NamedTuple):
    id: str
    name: str
    data: Any


class Reader:
    """Events in the order in which they came; ``comments`` are not told by the library."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events

    async def next(self, *names: str) -> Event:
        """The next event, or the next of these names."""
        async with asyncio.timeout(patience(20)):
            async for event in self._events:
                if not names or event.name in names:
                    return event
        raise AssertionError(f"the stream ended before {names or 'anything'}")


@asynccontextmanager
async def stream(client: httpx.AsyncClient, *, last: str = "", **params: Any) -> AsyncIterator[Reader]:
    headers = {"Last-Event-ID": last} if last else {}
    async with aconnect_sse(client, "GET", "/events", params=params, headers=headers, timeout=None) as source:
        assert source.response.status_code == 200, await source.response.aread()

        async def events() -> AsyncIterator[Event]:
            async for sse in source.aiter_sse():
                yield Event(sse.id, sse.event, json.loads(sse.data))

        yield Reader(events())
