"""What every request passes before anything of it is looked at: host, origin, token, rate, size. Plain ASGI.

Any page can make a browser call any address. So a request with an ``Origin`` is refused unless that origin was allowed, and so
is one that the browser itself marks as another site's, such as that of an ``<img>``, which has no ``Origin``. A ``Host`` that is
neither this computer nor the address that is listened on is a rebound name. Off loopback a token is needed besides.
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
from clawperator.app.serve.guesses import Guesses
from clawperator.app.serve.refusals import CALLER
from clawperator.app.serve.tokens import Tokens
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Report = Callable[[str], object]
"""Gets the traceback of a fault of ours."""
Heard = Callable[[str, str, int, float], object]
"""Hears of every request when it is over: method, route path, status, seconds."""
Refused = Callable[[Scope, EngineError], object]
"""Hears of every request that the gate itself refuses."""

MAX_BODY_BYTES = 102_400
BODY_SECONDS = 30.0
"""From the end of the head to the end of the body."""
MAX_HEADERS = 100
_OPEN = frozenset({"/healthz", "/health"})
"""What needs no token: whether somebody is there."""
_READ_OF_PAGES = b"authorization, content-type, if-none-match, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name"
_ONCE = frozenset({b"host", b"origin", b"sec-fetch-site"})
_OTHER_SITES = frozenset({b"cross-site", b"same-site"})
_SAY_WHO_ASKS = ("origin", "sec-fetch-site", "authorization")
"""What a browser sends by itself, or a page cannot make it send to another site without asking first."""
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to
_KNOWN = 1_000


class Gate:
    """``host`` is the address that is listened on. ``rate`` is requests per second and caller; 0 for no limit."""

    def __init__(
        self,
        app: App,
        *,
        host: str,
        tokens: Tokens | None = None,
        allow_origins: Iterable[str] = (),
        allow_hosts: Iterable[str] = (),
        rate: float = 0.0,
        heard: Heard | None = None,
        refused: Refused | None = None,
        report: Report = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = frozenset(origin.rstrip("/").lower() for origin in allow_origins)
        self._names = frozenset({"localhost", host.lower(), *(name.lower() for name in allow_hosts)})
        self._any_address = host in _WILDCARDS
        self._good_hosts: set[bytes] = set()
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._guesses = Guesses(clock)
        self._heard = heard
        self._refused = refused
        self._report = report
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, send)
        else:  # a web socket: there are none here
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = self._clock(), 0
        origin = ""

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if origin:
                    message = {**message, "headers": [*message.get("headers", ()), *_shared_with(origin)]}
            await send(message)

        scope["path"] = scope["path"].removesuffix("/") or "/"  # with and without a trailing slash: the same route
        body = Body(receive, lambda: bool(status))
        try:
            origin = await self._admit(scope)
            if origin and scope["method"] == "OPTIONS":
                await _preflight(noted)
                return
            body.check(scope)
            await self._app(scope, body.receive, noted)
        except EngineError as error:
            if self._refused is not None:
                self._refused(scope, error)
            if not status:
                await refuse(noted, error)
        except Exception as error:  # noqa: BLE001 -- the last border: one fault of ours is one 500, not the end of the server
            self._report("".join(traceback.format_exception(error)))
            if not status:
                await refuse(noted, EngineError(ErrorCode.INTERNAL_SERVER_ERROR, "An unexpected error occurred"))
        finally:
            if self._heard is not None:
                self._heard(scope["method"], route_of(scope), status, self._clock() - began)

    async def _admit(self, scope: Scope) -> str:
        """The origin that this is shared with, empty for no browser's request. Raises ``EngineError``."""
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
        if not self._is_us(host):
            hint = "Use the server's address, or start it with --allow-host <name>."
            raise _refused("The Host header is not allowed", hint, host=host.decode("latin-1")[:255])
        shared_with = origin.decode("latin-1")
        if shared_with and shared_with.rstrip("/").lower() not in self._origins:
            hint = "Start the server with --allow-origin <origin> to allow requests from web pages."
            raise _refused("Requests of web pages are refused", hint, origin=shared_with[:255])
        if site in _OTHER_SITES and not shared_with:
            hint = "Use CORS mode from a page of an allowed origin, with fetch() or the crossorigin attribute."
            raise _refused("Requests of web pages are refused", hint, site=site.decode())
        caller = ANONYMOUS
        preflight = shared_with and scope["method"] == "OPTIONS"  # browsers send no token with it
        if self._tokens is not None and scope["path"] not in _OPEN and not preflight:
            caller = await self._known(scope, self._tokens, authorization.decode("latin-1"))
        client = scope.get("client")
        scope[CALLER] = caller = caller._replace(peer=client[0] if client else "")
        self._pace(caller)
        return shared_with

    async def _known(self, scope: Scope, tokens: Tokens, authorization: str) -> Caller:
        """Return the owner of the token. Raises ``EngineError`` (UNAUTHORIZED, RATE_LIMITED), late for an address that guesses."""
        caller = tokens.caller(authorization)
        if caller is not None:
            return caller
        if authorization:
            client = scope.get("client")
            seconds, too_fast = self._guesses.count(address_key(client[0] if client else ""))
            await asyncio.sleep(seconds)
            if too_fast:
                raise EngineError(ErrorCode.RATE_LIMITED, "Too many wrong tokens from this address")
        raise EngineError(ErrorCode.UNAUTHORIZED, "The request carries no valid token")

    def _is_us(self, host: bytes) -> bool:
        if host in self._good_hosts:
            return True
        good = self._names_us(host.decode("latin-1"))
        if good and len(self._good_hosts) < _KNOWN:  # what strangers send is not kept
            self._good_hosts.add(host)
        return good

    def _names_us(self, host: str) -> bool:
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

    def _pace(self, caller: Caller) -> None:
        """Count one request of ``caller``. Raises ``EngineError`` (RATE_LIMITED)."""
        if not self._rate:
            return
        key = caller.name or caller.peer
        now = self._clock()
        most = max(2 * self._rate, 1.0)  # below 1, no request would ever pass
        left, at = self._buckets.pop(key, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if len(self._buckets) >= _KNOWN:
            self._buckets.popitem(last=False)
        self._buckets[key] = (max(left - 1, 0.0), now)
        if left < 1:
            raise EngineError(ErrorCode.RATE_LIMITED, f"More than {self._rate:g} requests per second")


class Body:
    """A request's body, counted and timed while it is read. ``answered`` says whether it is too late for a refusal."""

    def __init__(self, receive: Receive, answered: Callable[[], bool]) -> None:
        self._receive = receive
        self._answered = answered
        self._read = 0
        self._due = asyncio.get_running_loop().time() + BODY_SECONDS
        self._complete = False

    def check(self, scope: Scope) -> None:
        """Refuse what says itself that it is too long, before any of it is read."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value[:20]) > MAX_BODY_BYTES:
                raise too_large()

    async def receive(self) -> Message:
        """The next part. Raises ``EngineError``: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, INVALID_REQUEST for a client that leaves."""
        if self._complete:  # what is awaited now is the end of the connection
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


async def not_of_a_page(request: Request) -> None:
    """Refuse what an old browser may have sent for a page: no ``Origin``, and no ``Sec-Fetch-Site`` that could say so.

    A dependency of the routes that touch a device on GET. Raises ORIGIN_NOT_ALLOWED.
    """
    headers = request.headers
    if "mozilla/" in headers.get("user-agent", "").lower() and not any(name in headers for name in _SAY_WHO_ASKS):
        hint = "Use a client that is not a browser, or a browser that sends Sec-Fetch-Site."
        raise _refused("The browser does not identify the requesting page", hint)


def _refused(message: str, hint: str, **details: str) -> EngineError:
    return EngineError(ErrorCode.ORIGIN_NOT_ALLOWED, message, hint=hint, details=details)


def too_large() -> EngineError:
    return EngineError(ErrorCode.PAYLOAD_TOO_LARGE, "Payload exceeds 100kb limit", details={"limit": MAX_BODY_BYTES})


def route_of(scope: Scope) -> str:
    """The path as its route is written, which has no names of devices in it; ``-`` for a path of no route."""
    route = scope.get("route")
    return getattr(route, "path", "") or scope.get("clawperator.route", "-")


async def refuse(send: Send, error: EngineError) -> None:
    response = answers.failure(error, {"WWW-Authenticate": "Bearer"} if error.code is ErrorCode.UNAUTHORIZED else None)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


def _shared_with(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"mcp-session-id, etag"),
        (b"vary", b"Origin"),
    ]


async def _preflight(send: Send) -> None:
    headers = [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", _READ_OF_PAGES),
        (b"access-control-max-age", b"600"),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
