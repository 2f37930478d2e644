"""One server over HTTP: requests with bounded answers; every failure is an ``EngineError``.

Nothing is repeated: the caller decides about that.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

import httpx
from httpx_sse import EventSource, ServerSentEvent, SSEError
from pydantic import BaseModel, ValidationError

from clawperator.app.client.wire import ErrorBody, ErrorResponse, read
from clawperator.engine.errors import EngineError, ErrorCode, not_readable
from clawperator.engine.files.regular import open_regular

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
SILENCE_SECONDS = 40.0
"""An event stream has a heartbeat every 15 s: after this time without one the connection is dead."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_EVENT_BYTES = 32 * 1024 * 1024
_MAX_TOKEN_FILE = 64 * 1024
_SKEW_SECONDS = 2.0
"""Smaller differences of clocks are ignored: a server reports its time in whole seconds."""
_NUMBERS = ("since", "timeoutMs", "pid", "limit", "actual")
"""Details used in arithmetic."""
_BESIDE = ("broadcastDispatchStatus", "executionId", "deviceId")
_POLICY = (ErrorCode.CAPABILITY_DENIED, ErrorCode.PACKAGE_DENIED, ErrorCode.ACTION_DENIED, ErrorCode.READ_ONLY)

_LARGEST = 10**15
_HOST = re.compile(rb"[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,100}\.?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")

Answer = TypeVar("Answer", bound=BaseModel)
Params = Mapping[str, Any]


class Names(NamedTuple):
    """How errors name what the caller passed."""

    url: str
    token_file: str
    tokens: str
    """Each way to pass a token."""


ARGUMENTS = Names("url", "token_file", "token or token_file")
"""Those of ``RemoteEngine``."""


def read_url(text: str, names: Names = ARGUMENTS) -> httpx.URL:
    """Parse the address of a server; ``http://`` is optional. Raises ``EngineError`` (USAGE)."""
    given = text.strip()
    try:
        url = httpx.URL(given if "://" in given else f"http://{given}")
    except (httpx.InvalidURL, TypeError, ValueError) as exc:
        raise _no_address(text, names) from exc
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host) or url.query or url.fragment:
        raise _no_address(text, names)
    if url.userinfo:
        words = f"{names.url}: an address must not contain a password"
        raise EngineError(ErrorCode.USAGE, words, hint=f"Pass the token of the server: {names.tokens}.")
    return url


def _no_address(text: str, names: Names) -> EngineError:
    words = f"{names.url}: invalid server address: {text[:200]!r}"
    return EngineError(ErrorCode.USAGE, words, hint="Use a form like http://127.0.0.1:3000.")


def read_token(path: str, names: Names = ARGUMENTS) -> str:
    """Return the first token of a file: one per line, the first word of it.

    Raises ``EngineError`` (FILE_NOT_READABLE, TOKEN_FILE_INVALID).
    """
    try:
        with open_regular(path) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(_MAX_TOKEN_FILE)
    except OSError as exc:
        raise not_readable(path, exc, what=names.token_file) from exc
    if os.name == "posix" and mode & 0o077:
        words = f"{names.token_file} {path} can be read by others"
        raise EngineError(ErrorCode.TOKEN_FILE_INVALID, words, hint=f"Run: chmod 600 {path}")
    for line in data.decode("utf-8", "replace").splitlines():
        token = line.split(maxsplit=1)[0] if line.strip() else "#"
        if not token.startswith("#"):
            if token.isascii() and token.isprintable():
                return token
            break
    raise EngineError(ErrorCode.TOKEN_FILE_INVALID, f"{names.token_file} {path} contains no token")


class Client:
    """Use as ``async with``. ``host`` is the server's name on screen."""

    def __init__(self, url: httpx.URL, token: str = "", names: Names = ARGUMENTS) -> None:
        self._names = names
        self.url = str(url).rstrip("/")
        name = f"[{url.host}]" if ":" in url.host else url.host
        self.host = f"{name}:{url.port}" if url.port else name
        self.skew = 0.0
        """Seconds to add to a time of the server to get local time."""
        headers = {"Accept-Encoding": "identity"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._has_token = bool(token)
        self._http = httpx.AsyncClient(
            base_url=f"{self.url}/",
            headers=headers,
            transport=_Bounded(httpx.AsyncHTTPTransport(verify=url.scheme == "https")),
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        )

    async def close(self) -> None:
        await self._http.aclose()

    # -- asking

    async def get(
        self, kind: type[Answer], path: str, params: Params | None = None, *, seconds: float = ANSWER_SECONDS
    ) -> Answer:
        return self._read(kind, await self._ask("GET", path, params=params, seconds=seconds))

    async def get_bytes(self, path: str, kind: str) -> bytes:
        """Return a body of the content type ``kind``."""
        response = await self._ask("GET", path)
        if response.headers.get("content-type", "").partition(";")[0].strip() != kind:
            raise self._unreadable("unexpected content type")
        return response.content

    async def post(
        self, kind: type[Answer], path: str, body: Mapping[str, Any], *, seconds: float = ANSWER_SECONDS
    ) -> Answer:
        return self._read(kind, await self._ask("POST", path, body=body, seconds=seconds))

    async def delete(self, path: str, *, seconds: float = ANSWER_SECONDS) -> None:
        await self._ask("DELETE", path, seconds=seconds)

    @asynccontextmanager
    async def events(self, params: Params, last_id: str = "") -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
        """Open the event stream, from after ``last_id``. Raises ``EngineError``, also from the iterator."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, read=SILENCE_SECONDS)
        try:
            async with self._http.stream("GET", "events", params=params, headers=headers, timeout=timeout) as response:
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                self._check(response)
                yield EventSource(response).aiter_sse()
        except SSEError as exc:
            raise self._unreadable("not an event stream") from exc
        except httpx.RequestError as exc:
            raise self.lost(exc) from exc

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Mapping[str, Any] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> httpx.Response:
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        try:
            response = await self._http.request(method, path.lstrip("/"), params=params, json=body, timeout=timeout)
        except httpx.RequestError as exc:
            raise self.lost(exc) from exc
        self._check(response)
        return response

    # -- responses

    def _check(self, response: httpx.Response) -> None:
        """Raise ``EngineError`` for an unsuccessful response."""
        if response.status_code == httpx.codes.OK:
            self._note_time(response)
            return
        try:
            trouble = read(ErrorResponse, response.content).error
        except ValidationError:
            raise EngineError(
                ErrorCode.BACKEND_UNAVAILABLE,
                f"{self.url} is not a Clawperator server (HTTP {response.status_code})",
                hint=f"Check the address: {self._names.url}.",
                extra={"broadcastDispatchStatus": "unknown"},
            ) from None
        raise self._worded(error_of(trouble))

    def _read(self, kind: type[Answer], response: httpx.Response) -> Answer:
        try:
            return read(kind, response.content)
        except ValidationError as exc:
            place = ".".join(map(str, exc.errors(include_url=False, include_input=False)[0]["loc"]))
            raise self._unreadable(f"invalid at {place or 'its beginning'}") from None

    def _unreadable(self, how: str) -> EngineError:
        return EngineError(
            ErrorCode.BACKEND_UNAVAILABLE,
            f"The server at {self.url} sent an invalid response: {how}",
            hint="Use the same version on both computers.",
            extra={"broadcastDispatchStatus": "unknown"},
        )

    def lost(self, cause: Exception | None = None) -> EngineError:
        """Return the error of a server that does not respond. What was requested may have been done."""
        never_reached = isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        return EngineError(
            ErrorCode.BACKEND_UNAVAILABLE,
            f"The server at {self.url} does not respond",
            hint="Start it there: clawperator serve.",
            details={"reason": str(cause) or type(cause).__name__} if cause is not None else None,
            extra={"broadcastDispatchStatus": "not_sent" if never_reached else "unknown"},
        )

    def _worded(self, error: EngineError) -> EngineError:
        """Give a refusal a hint for this side of the connection."""
        if error.code is ErrorCode.UNAUTHORIZED:
            if self._has_token:
                error.message = f"The server at {self.url} does not accept the token"
                error.hint = f"The server names the file of its tokens when it starts: pass {self._names.tokens}."
            else:
                error.message = f"The server at {self.url} requires a token"
                error.hint = f"Pass {self._names.tokens}; the server names its file when it starts."
        elif error.code is ErrorCode.ORIGIN_NOT_ALLOWED:
            error.message = f"The server does not accept the host name {self.host}"
            error.hint = "Connect to its address, or start it with --allow-host <name>."
        elif error.code in _POLICY:
            error.hint = "The server's policy or the token's profile denies this."
        return error

    def _note_time(self, response: httpx.Response) -> None:
        try:
            served_at = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
        except (TypeError, ValueError, OverflowError, OSError):
            return
        skew = time.time() - served_at
        self.skew = skew if abs(skew) > _SKEW_SECONDS else 0.0


def error_of(trouble: ErrorBody) -> EngineError:
    """Convert a server's error object; an unknown code is kept in the message."""
    code = ErrorCode.known(trouble.code)
    message = trouble.message if code is not None else f"{trouble.message} ({trouble.code})"
    details = {key: value for key, value in trouble.details.items() if key not in _NUMBERS or _is_number(value)}
    more = trouble.model_extra or {}
    return EngineError(
        code or ErrorCode.UNKNOWN,
        message,
        hint=trouble.hint or "",
        details=details,
        extra={key: more[key][:200] for key in _BESIDE if isinstance(more.get(key), str)},
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


# -- bounds


class _Bounded(httpx.AsyncBaseTransport):
    """Limits answers to ``MAX_ANSWER_BYTES`` and events of a stream to ``MAX_EVENT_BYTES``."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)
        if response.headers.get("content-encoding", "identity") != "identity":
            await stream.aclose()
            words = "The answer is compressed, which was not asked for"
            raise httpx.RemoteProtocolError(words)
        streaming = response.headers.get("content-type", "").startswith("text/event-stream")
        limited = _Events(stream) if streaming else _Body(stream)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=limited, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx.AsyncByteStream):
    LIMIT = MAX_ANSWER_BYTES

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream
        self._count = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._count = self._counted(chunk)
            if self._count > self.LIMIT:
                words = f"More than {self.LIMIT:,} bytes"
                raise httpx.ReadError(words)
            yield chunk

    def _counted(self, chunk: bytes) -> int:
        return self._count + len(chunk)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Events(_Body):
    """Counts from the last empty line."""

    LIMIT = MAX_EVENT_BYTES

    def _counted(self, chunk: bytes) -> int:
        end = chunk.find(b"\n\n")
        if end < 0:
            return self._count + len(chunk)
        first = self._count + end
        return first if first > self.LIMIT else len(chunk) - chunk.rfind(b"\n\n")
