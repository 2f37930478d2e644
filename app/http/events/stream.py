"""The response of ``GET /events``: one write for all pending events, a comment as keep-alive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from starlette.responses import Response

from clawperator.app.http.events.hub import Client, Hub

KEEP_ALIVE_SECONDS = 15.0
_KEEP_ALIVE = b": keep-alive\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]

Message = MutableMapping[str, Any]


class EventStream(Response):
    """A response that writes the events of ``client`` until either side ends it, within the context ``beside``."""

    def __init__(
        self,
        hub: Hub,
        client: Client,
        *,
        beside: AbstractContextManager[object] | None = None,
        keep_alive: float = KEEP_ALIVE_SECONDS,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(media_type="text/event-stream")
        self._hub = hub
        self._client = client
        self._beside = beside or nullcontext()
        self._keep_alive = keep_alive
        self._ended = ended

    async def __call__(
        self,
        scope: object,  # noqa: ARG002 -- the signature of ASGI
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        client = self._client
        writing = asyncio.create_task(self._write(send), name="event stream")
        reading = asyncio.create_task(_gone(receive), name="end of an event stream")
        try:
            with self._beside:
                await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(client)
            for task in (writing, reading):
                task.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await writing
            with suppress(asyncio.CancelledError, OSError):
                await reading
            self._ended()

    async def _write(self, send: Callable[[Message], Awaitable[None]]) -> None:
        client = self._client
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        while True:
            data = _KEEP_ALIVE
            with suppress(TimeoutError):
                async with asyncio.timeout(self._keep_alive):
                    data = await client.chunk()
            if not data:
                break
            ended = client.closed
            client.writing = asyncio.current_task()
            await send({"type": "http.response.body", "body": data, "more_body": True})
            client.writing = None
            if ended:
                break
        await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Callable[[], Awaitable[Message]]) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
