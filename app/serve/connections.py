"""HTTP connections with limits on the size of the head and on the time to send and to read.

uvicorn limits only the time between requests; its limit of the head (``h11_max_incomplete_event_size``) does not apply to
httptools and answers 400 in plain text. These limits use what both implementations share. ``Gate`` limits the body.
"""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from uvicorn.config import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from clawperator.app.serve.accept_limits import ConnectionTable
from clawperator.app.serve.answers import failure
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Implementation
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
else:
    Implementation = AutoHTTPProtocol

HEAD_BYTES = 32 * 1024
HEAD_SECONDS = 10.0
"""From the first byte of a request, or the start of the connection, to the end of its head."""
STALL_SECONDS = 60.0
"""How long a client may read nothing while data is pending."""
CLIENT_LEFT = "clawperator.client_left"
"""Key of a request's scope: the client sends no more."""
_DRAIN_BYTES = 1024 * 1024
_DRAIN_SECONDS = 5.0
_FAREWELL_SECONDS = 1.0
"""How long an unwanted body is read: a reset connection would lose the answer."""
_BUFFER = memoryview(bytearray(64 * 1024))
_HEAD_BUFFER = _BUFFER[:1024]
"""Small, because httptools parses all pipelined requests of a buffer at once."""


class BoundedProtocol(Implementation, asyncio.BufferedProtocol):
    """uvicorn's protocol, with httptools where that is installed and h11 elsewhere; a ``BufferedProtocol`` chooses how much it reads."""

    def __init__(self, config: Config, state: ServerState, table: ConnectionTable) -> None:
        super().__init__(config, state, {})
        self._table = table
        self._read = 0
        """Bytes since the end of the last head."""
        self._due = math.inf
        """Deadline of the data that is expected from the client."""
        self._stalled = math.inf
        """Deadline for the client to read pending data."""
        self._refusal: EngineError | None = None
        """The error of the next request while one is being answered."""
        self._refused = False

        self._active: RequestResponseCycle | None = None
        """The request that is being answered; with httptools only, where ``cycle`` is the last one that has been read."""

    # -- Connection

    @property
    def incomplete(self) -> bool:
        return self._request is None or self._request.more_body

    @property
    def idle(self) -> bool:
        return self._request is not None and self._request.response_complete

    def abort(self) -> None:
        self.transport.abort()

    def expire(self, now: float) -> None:
        if self.transport.is_closing():
            self._stalled = min(self._stalled, now + STALL_SECONDS)
        if self._stalled <= now or (self._refused and self._due <= now):
            self.transport.abort()
        elif self._due <= now:
            if self._read and not self._draining:
                self._refuse(
                    EngineError(ErrorCode.REQUEST_TIMEOUT, f"The head took more than {HEAD_SECONDS:g} seconds")
                )
            else:
                self.transport.close()

    # -- asyncio

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's form
        super().connection_made(transport)
        self._due = self.loop.time() + HEAD_SECONDS
        self._table.enter(self, self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._table.leave(self)
        self._note_end()
        if self._active is not None and not self._active.response_complete:
            _disconnect(self._active)

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's form  # as asyncio has it
        """Return whether the connection stays open: a client may end its side before it reads the answer."""
        request = self._request
        self._note_end()
        if request is None or request.more_body or request.response_started:
            return False
        request.keep_alive = False
        return True

    def _note_end(self) -> None:
        """Mark the requests of a client that sends no more: one that closed only its sending side looks the same as one that left."""
        for request in (self._active, self._request):
            if request is not None:
                cast("dict[str, object]", request.scope)[CLIENT_LEFT] = True

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 -- asyncio's form
        return _BUFFER if self._request is not None and self._request.more_body else _HEAD_BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        if not self._read and self.idle and not self._draining:
            self._due = self.loop.time() + HEAD_SECONDS
        self._read += nbytes
        if not self._refused:
            before = self.cycle
            self.data_received(bytes(_BUFFER[:nbytes]))
            if self.cycle is not before:
                self._read, self._due = 0, math.inf
        self._bound()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.time() + STALL_SECONDS

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled = math.inf

    # -- uvicorn

    def on_response_complete(self) -> None:
        self._read, self._due = 0, math.inf
        answered = self.cycle
        super().on_response_complete()
        if self._refusal is not None:
            self._refuse(self._refusal)
        elif self.cycle is answered and self._draining:
            self._due = self.loop.time() + _DRAIN_SECONDS

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Note the active request. h11 has no such method: it reads the next request only after the answer."""
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP, after the current answer."""
        error = EngineError(ErrorCode.INVALID_REQUEST, msg)
        if self.incomplete or self.idle:
            self._refuse(error)
        else:
            self._refusal = error
            self.flow.pause_reading()

    # -- limits

    @property
    def _request(self) -> RequestResponseCycle | None:
        """The last request whose head has been read."""
        return self.cycle

    @property
    def _draining(self) -> bool:
        """Whether the request was answered before its body was complete."""
        return self.idle and self.cycle.more_body

    def _bound(self) -> None:
        if self._refused or self._draining:
            if self._read > _DRAIN_BYTES:
                self.transport.abort()
        elif self._read > HEAD_BYTES and (self._request is None or self.idle):
            details = {"limit": HEAD_BYTES}
            self._refuse(
                EngineError(ErrorCode.HEADERS_TOO_LARGE, f"The head is longer than {HEAD_BYTES} bytes", details=details)
            )

    def _refuse(self, error: EngineError) -> None:
        """Answer without the application, then read for a moment: a reset connection would lose the answer."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        self._unset_keepalive_if_required()
        if self._request is not None and not self._request.response_complete:
            if self._request.response_started:
                self.transport.abort()
                return
            _disconnect(self._request)  # end the request for the application
        self.transport.write(raw_answer(error, self.server_state.default_headers))
        self.transport.write_eof()
        self._read, self._due = 0, self.loop.time() + _FAREWELL_SECONDS
        self.flow.resume_reading()


def _disconnect(request: RequestResponseCycle) -> None:
    """Signal a disconnect to the application."""
    request.disconnected = True
    request.message_event.set()


def raw_answer(error: EngineError, headers: list[tuple[bytes, bytes]] = []) -> bytes:  # noqa: B006 -- never changed
    """Return an error response as bytes, for connections without an application; it closes the connection."""
    response = failure(error, {"Connection": "close"})
    lines = [b"HTTP/1.1 %d %b" % (response.status_code, HTTPStatus(response.status_code).phrase.encode())]
    lines += [b"%b: %b" % header for header in (*headers, *response.raw_headers)]
    return b"\r\n".join([*lines, b"", cast("bytes", response.body)])
