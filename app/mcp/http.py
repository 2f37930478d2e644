"""MCP over streamable HTTP: an application for one path, and a server of its own around it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from clawperator.app.mcp.server import create_server
from clawperator.app.mcp.service import McpService
from clawperator.app.serve.answers import failure
from clawperator.app.serve.gate import MAX_BODY_BYTES, Gate, Receive, Send
from clawperator.app.serve.hosting import Host, Ready, Tell
from clawperator.app.serve.refusals import CALLER, Refusals
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.drain import Drain

if TYPE_CHECKING:
    from clawperator.app.serve.options import ServeOptions
    from clawperator.engine.facade import Engine

PATH = "/mcp"
_MAX_SESSIONS = 100

Scope = MutableMapping[str, Any]


class McpApp:
    """The application for ``PATH``, to be mounted behind a gate. Use within ``running``.

    ``requests`` are those that have not been answered yet, and the work to wait for before it is left.
    """

    def __init__(self, service: McpService) -> None:
        self.requests = Drain()
        self._manager = StreamableHTTPSessionManager(
            create_server(service),
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate's part
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
        caller: Caller = scope.get(CALLER, ANONYMOUS)
        # A session belongs to the token that began it; the manager asks for it in its own words.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name or "anybody", scopes=[]))
        with contextlib.nullcontext() if scope["method"] == "GET" else self.requests.one():
            await self._manager.handle_request(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    error = EngineError(ErrorCode.NOT_FOUND, f"There is no route {scope['path']}", hint=f"MCP is served at {PATH}.")
    await failure(error)(scope, receive, send)


async def serve(engine: Engine, options: ServeOptions, *, ready: Ready, tell: Tell) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second one gives up what still runs.

    Raises ``EngineError``: ADDRESS_UNAVAILABLE where it cannot listen, TOKEN_FILE_INVALID, USAGE; before anything is served.
    """
    host = Host(options, engine.guard)
    try:
        app = McpApp(McpService(engine, pictures=options.screenshots_dir, tell=tell))

        refusals = Refusals(engine)

        def heard(method: str, route: str, status: int, seconds: float) -> None:
            if options.verbose:
                tell(f"{method} {route} {status} {seconds * 1000:.1f} ms")

        gate = Gate(
            app,
            host=options.host,
            tokens=host.tokens,
            allow_origins=options.allow_origins,
            allow_hosts=options.allow_hosts,
            rate=options.rate,
            heard=heard,
            refused=refusals.add,
            report=tell,
        )
        async with app.running():
            await host.serve(gate, app.requests, leaving=lambda: None, left=app.close, ready=ready, tell=tell)
        refusals.close()
    finally:
        host.close()
