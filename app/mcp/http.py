"""MCP over streamable HTTP: the application for one path, and its server."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import math
from collections.abc import AsyncIterator, MutableMapping
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response

from clawperator.app.mcp.messages import refusal
from clawperator.app.mcp.server import create_server
from clawperator.app.mcp.service import McpService
from clawperator.app.serve.answers import failure
from clawperator.app.serve.gate import MAX_BODY_BYTES, Gate, Receive, Send
from clawperator.app.serve.hosting import Host, LogLine, OnReady
from clawperator.app.serve.refusals import CALLER, Refusals
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.drain import Drain

if TYPE_CHECKING:
    from clawperator.app.fleet.client import Fleet
    from clawperator.app.serve.options import ServeOptions
    from clawperator.engine.facade import Engine

PATH = "/mcp"
_MAX_SESSIONS = 100

Scope = MutableMapping[str, Any]


class _Sessions(StreamableHTTPSessionManager):
    """Above the limit, the session that is idle for the longest time makes room: clients leave theirs open."""

    def _admit_session(self, requestor: Any) -> Any:
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            idle = [
                (each.idle_scope.deadline, name, each.idle_scope)
                for name, each in self._server_instances.items()
                if each.idle_scope is not None and math.isfinite(each.idle_scope.deadline)
            ]
            if idle:
                _, name, scope = min(idle, key=lambda each: each[0])
                del self._server_instances[name]
                scope.cancel()
        return super()._admit_session(requestor)


class McpApp:
    """The ASGI application for ``PATH``, to be mounted behind a ``Gate`` and used within ``running``.

    ``requests`` counts the requests that the server waits for before it stops.
    """

    def __init__(self, service: McpService) -> None:
        self.requests = Drain()
        self._manager = _Sessions(
            create_server(service),
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate checks it
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=_MAX_SESSIONS,
        )
        self._end = asyncio.Event()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[McpApp]:
        ready = asyncio.Event()

        async def run() -> None:
            async with self._manager.run():
                ready.set()
                await self._end.wait()

        task = asyncio.create_task(run(), name="mcp sessions")
        try:
            await ready.wait()
            yield self
        finally:
            self.close()
            await task

    def close(self) -> None:
        """End the sessions and the streams that clients hold open."""
        self._end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"].rstrip("/") != PATH:
            await _refuse(scope, receive, send)
            return
        scope["clawperator.route"] = PATH
        kind = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip().lower()
        if scope["method"] == "POST" and kind != b"application/json":  # the SDK answers in plain text
            hint = "Send it with the header Content-Type: application/json."
            raise EngineError(ErrorCode.INVALID_BODY, "The body is not JSON", hint=hint)
        if scope["method"] == "POST":
            body = (await Request(scope, receive).body()).removeprefix(codecs.BOM_UTF8)
            if (refused := refusal(body)) is not None:
                answer = refused.model_dump_json(by_alias=True, exclude_unset=True)
                await Response(answer, 400, media_type="application/json")(scope, receive, send)
                return
            receive = _with_body(body, receive)
        caller: Caller = scope.get(CALLER, ANONYMOUS)
        # The session manager binds a session to this user, and so to the token that started it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name or "anybody", scopes=[]))
        with contextlib.nullcontext() if scope["method"] == "GET" else self.requests.one():
            await self._manager.handle_request(scope, receive, send)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return ``receive`` as it was before ``body`` was read."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return first.pop() if first else await receive()

    return again


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    error = EngineError(ErrorCode.NOT_FOUND, f"There is no route {scope['path']}", hint=f"MCP is served at {PATH}.")
    await failure(error)(scope, receive, send)


async def serve(
    engine: Engine, options: ServeOptions, *, ready: OnReady, log_line: LogLine, fleet: Fleet | None = None
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second signal abandons running calls.

    Raises ``EngineError`` before anything is served: ADDRESS_UNAVAILABLE, TOKEN_FILE_INVALID, USAGE.
    """
    host = Host(options, engine.guard)
    try:
        app = McpApp(McpService(engine, screenshots_dir=options.screenshots_dir, log_line=log_line, fleet=fleet))

        refusals = Refusals(engine)

        def on_request(method: str, route: str, status: int, seconds: float) -> None:
            if options.verbose:
                log_line(f"{method} {route} {status} {seconds * 1000:.1f} ms")

        gate = Gate(
            app,
            options,
            host.tokens,
            on_request=on_request,
            on_refusal=refusals.add,
            on_fault=log_line,
        )
        async with app.running():
            await host.serve(gate, app.requests, on_stopped=app.close, ready=ready, log_line=log_line)
        refusals.close()
    finally:
        host.close()
