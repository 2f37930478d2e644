"""ASGI middleware that checks host, origin, token, rate and size of every request.

Any web page can make a browser call any address. A request with an ``Origin`` is refused unless the origin is allowed, and so
is one that the browser marks as cross-site without an ``Origin``, such as that of an ``<img>``. A ``Host`` that is neither
loopback nor the listening address is refused against DNS rebinding. Off loopback a token is required as well.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import ip_address
from typing import Any

from starlette.requests import Request

from clawperator.app.serve import answers
from clawperator.app.serve.accept_limits import address_key
from clawperator.app.serve.options import ServeOptions
from clawperator.app.serve.refusals import CALLER
from clawperator.app.serve.token_throttle import TokenThrottle
from clawperator.app.serve.tokens import Tokens
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OnFault = Callable[[str], object]
"""Receives the traceback of an unexpected exception."""
OnRequest = Callable[[str, str, int, float], object]
"""Receives every finished request: method, route path, status, seconds."""
OnRefusal = Callable[[Scope, EngineError], object]
"""Receives every request that the gate refuses."""

MAX_BODY_BYTES = 102_400
BODY_SECONDS = 30.0
"""From the end of the head to the end of the body."""
MAX_HEADERS = 100
_PUBLIC_PATHS = frozenset({"/healthz", "/health", "/ping"})
"""Paths that need no token."""
_CORS_HEADERS = b"authorization, content-type, if-none-match, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name"
_ONCE = frozenset({b"host", b"origin", b"sec-fetch-site"})
_OTHER_SITES = frozenset({b"cross-site", b"same-site"})
_ORIGIN_EVIDENCE = ("origin", "sec-fetch-site", "authorization")
"""Headers that a browser sets itself, or that need a preflight request."""
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to
_MAX_REMEMBERED = 1_000


class Gate:
    """The checks around an application by the ``options`` of its server; ``tokens`` is ``None`` without authentication."""

    def __init__(
        self,
        app: App,
        options: ServeOptions,
        tokens: Tokens | None = None,
        *,
        on_request: OnRequest | None = None,
        on_refusal: OnRefusal | None = None,
        on_fault: OnFault = lambda _: None,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = frozenset(origin.rstrip("/").lower() for origin in options.allow_origins)
        self._names = frozenset({"localhost", options.host.lower(), *(name.lower() for name in options.allow_hosts)})
        self._any_address = options.host in _WILDCARDS
        self._good_hosts: set[bytes] = set()
        self._rate = options.rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._throttle = TokenThrottle(time.monotonic)
        self._on_request = on_request
        self._on_refusal = on_refusal
        self._on_fault = on_fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)
        else:  # WebSockets are not supported
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.monotonic(), 0
        origin = ""

        async def send_with_cors(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*_private(message.get("headers", ())), *(_shared_with(origin) if origin else ())]
                message = {**message, "headers": headers}
            await send(message)

        scope["path"] = scope["path"].removesuffix("/") or "/"  # with and without a trailing slash: the same route
        body = Body(receive, lambda: bool(status))
        try:
            origin, authorization = self._origin(scope)
            await self._authenticate(scope, origin, authorization)
            if origin and scope["method"] == "OPTIONS":
                await _preflight(send_with_cors)
                return
            body.check(scope)
            await self._app(scope, body.receive, send_with_cors)
        except EngineError as error:
            if self._on_refusal is not None:
                self._on_refusal(scope, error)
            if not status:
                await refuse(send_with_cors, error)
        except Exception as error:  # noqa: BLE001 -- an unexpected exception fails one request only
            self._on_fault("".join(traceback.format_exception(error)))
            if not status:
                await refuse(
                    send_with_cors, EngineError(ErrorCode.INTERNAL_SERVER_ERROR, "An unexpected error occurred")
                )
        finally:
            if self._on_request is not None:
                self._on_request(scope["method"], route_of(scope), status, time.monotonic() - began)

    def _origin(self, scope: Scope) -> tuple[str, str]:
        """Return the allowed origin of a browser's request, else "", and the ``Authorization``. Raises ``EngineError``."""
        host = origin = site = authorization = b""
        seen: set[bytes] = set()
        if len(scope["headers"]) > MAX_HEADERS:
            details = {"limit": MAX_HEADERS}
            raise EngineError(ErrorCode.HEADERS_TOO_LARGE, f"More than {MAX_HEADERS} headers", details=details)
        for name, value in scope["headers"]:
            if name in _ONCE and name in seen:
                raise _refused(f"The request has more than one {name.decode().title()} header", "Send the header once.")
            seen.add(name)
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value.lower()
            elif name == b"authorization":
                authorization = value
        if not self._is_own_host(host):
            hint = "Use the server's address, or start it with --allow-host <name>."
            raise _refused("The Host header is not allowed", hint, host=host.decode("latin-1")[:255])
        shared_with = origin.decode("latin-1")
        if shared_with and shared_with.rstrip("/").lower() not in self._origins:
            hint = "Start the server with --allow-origin <origin> to allow requests from web pages."
            raise _refused("Requests of web pages are refused", hint, origin=shared_with[:255])
        if site in _OTHER_SITES and not shared_with:
            hint = "Use CORS mode from a page of an allowed origin, with fetch() or the crossorigin attribute."
            raise _refused("Requests of web pages are refused", hint, site=site.decode())
        return shared_with, authorization.decode("latin-1")

    async def _authenticate(self, scope: Scope, origin: str, authorization: str) -> None:
        """Find the caller and count the request. Raises ``EngineError`` (UNAUTHORIZED, RATE_LIMITED)."""
        caller = ANONYMOUS
        preflight = origin and scope["method"] == "OPTIONS"  # browsers send no token with it
        if self._tokens is not None and scope["path"] not in _PUBLIC_PATHS and not preflight:
            caller = await self._known(scope, self._tokens, authorization)
        client = scope.get("client")
        scope[CALLER] = caller = caller._replace(peer=client[0] if client else "")
        self._limit_rate(caller)

    async def _known(self, scope: Scope, tokens: Tokens, authorization: str) -> Caller:
        """Return the owner of the token. Raises ``EngineError`` (UNAUTHORIZED, RATE_LIMITED), delayed for repeated wrong tokens."""
        caller = tokens.caller(authorization)
        if caller is not None:
            return caller
        if authorization:
            client = scope.get("client")
            seconds, too_fast = self._throttle.count(address_key(client[0] if client else ""))
            await asyncio.sleep(seconds)
            if too_fast:
                raise EngineError(ErrorCode.RATE_LIMITED, "Too many wrong tokens from this address")
        raise EngineError(ErrorCode.UNAUTHORIZED, "The request carries no valid token")

    def _is_own_host(self, host: bytes) -> bool:
        if host in self._good_hosts:
            return True
        good = self._is_own_name(host.decode("latin-1"))
        if good and len(self._good_hosts) < _MAX_REMEMBERED:  # refused names are not remembered
            self._good_hosts.add(host)
        return good

    def _is_own_name(self, host: str) -> bool:
        name = host.lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if name in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address  # a name can be rebound, an address cannot

    def _limit_rate(self, caller: Caller) -> None:
        """Count one request of ``caller``. Raises ``EngineError`` (RATE_LIMITED)."""
        if not self._rate:
            return
        key = caller.name or caller.peer
        now = time.monotonic()
        most = max(2 * self._rate, 1.0)  # below 1, no request would ever pass
        left, at = self._buckets.pop(key, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if len(self._buckets) >= _MAX_REMEMBERED:
            self._buckets.popitem(last=False)
        self._buckets[key] = (max(left - 1, 0.0), now)
        if left < 1:
            raise EngineError(ErrorCode.RATE_LIMITED, f"More than {self._rate:g} requests per second")


class Body:
    """A request body with limits on size and time. ``answered`` returns whether the response has started."""

    def __init__(self, receive: Receive, answered: Callable[[], bool]) -> None:
        self._receive = receive
        self._answered = answered
        self._read = 0
        self._due = asyncio.get_running_loop().time() + BODY_SECONDS
        self._complete = False

    def check(self, scope: Scope) -> None:
        """Refuse a too large ``Content-Length`` before the body is read."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value[:20]) > MAX_BODY_BYTES:
                raise too_large()

    async def receive(self) -> Message:
        """Return the next part. Raises ``EngineError``: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, INVALID_REQUEST after a disconnect."""
        if self._complete:  # the application awaits the disconnect
            return await self._receive()
        try:
            return await self._part()
        except EngineError:
            if self._answered():
                return {"type": "http.disconnect"}
            raise

    async def _part(self) -> Message:
        try:
            async with asyncio.timeout_at(self._due):
                message = await self._receive()
        except TimeoutError:
            words = f"The body took more than {BODY_SECONDS:g} seconds"
            raise EngineError(ErrorCode.REQUEST_TIMEOUT, words) from None
        if message["type"] == "http.disconnect":
            raise EngineError(ErrorCode.INVALID_REQUEST, "The client disconnected before sending the whole request")
        self._read += len(message.get("body", b""))
        if self._read > MAX_BODY_BYTES:
            raise too_large()
        self._complete = not message.get("more_body", False)
        return message


async def refuse_web_page(request: Request) -> None:
    """Refuse a request of an old browser, which sends neither ``Origin`` nor ``Sec-Fetch-Site``: a page may have caused it.

    A dependency of the routes that touch a device on GET. Raises ORIGIN_NOT_ALLOWED.
    """
    headers = request.headers
    if "mozilla/" in headers.get("user-agent", "").lower() and not any(name in headers for name in _ORIGIN_EVIDENCE):
        hint = "Use a client that is not a browser, or a browser that sends Sec-Fetch-Site."
        raise _refused("The browser does not identify the requesting page", hint)


def _refused(message: str, hint: str, **details: str) -> EngineError:
    return EngineError(ErrorCode.ORIGIN_NOT_ALLOWED, message, hint=hint, details=details)


def too_large() -> EngineError:
    return EngineError(ErrorCode.PAYLOAD_TOO_LARGE, "Payload exceeds 100kb limit", details={"limit": MAX_BODY_BYTES})


def route_of(scope: Scope) -> str:
    """Return the path template of the route, without device names; ``-`` without a route."""
    route = scope.get("route")
    return getattr(route, "path", "") or scope.get("clawperator.route", "-")


async def refuse(send: Send, error: EngineError) -> None:
    response = answers.failure(error, {"WWW-Authenticate": "Bearer"} if error.code is ErrorCode.UNAUTHORIZED else None)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


def _private(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return ``headers`` with those of an answer that may show a screen: no cache keeps it, no browser guesses its type."""
    caching = {name.lower(): value for name, value in headers}.get(b"cache-control", b"")
    value = caching if b"no-store" in caching else b", ".join(filter(None, (b"no-store", caching)))
    kept = [header for header in headers if header[0].lower() not in (b"cache-control", b"x-content-type-options")]
    return [*kept, (b"cache-control", value), (b"x-content-type-options", b"nosniff")]


def _shared_with(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"mcp-session-id, etag, retry-after, www-authenticate"),
        (b"vary", b"Origin"),
    ]


async def _preflight(send: Send) -> None:
    headers = [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", _CORS_HEADERS),
        (b"access-control-max-age", b"600"),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
