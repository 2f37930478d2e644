"""The HTTP server: a service, its application, and a host for both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from clawperator.app.http.app import create_app
from clawperator.app.http.service import HttpService
from clawperator.app.serve.hosting import Host, Listening, Ready, Tell
from clawperator.app.serve.options import ServeOptions

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine

__all__ = ["Listening", "run", "serve"]


async def serve(engine: Engine, options: ServeOptions, *, ready: Ready, tell: Tell) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second one gives up what still runs.

    Raises ``EngineError``: ADDRESS_UNAVAILABLE where it cannot listen, TOKEN_FILE_INVALID, USAGE; before anything is served.
    """
    host = Host(options, engine.guard)
    try:
        service = HttpService(engine, options, tell)
        service.metrics.count(
            "connections_refused", "Connections closed because there were too many", lambda: host.connections.refused
        )

        def report(fault: str) -> None:
            service.log.write("error", "serve.http.error", fault.rstrip().rpartition("\n")[2])
            tell(fault)

        app = create_app(service, host.tokens, report=report)
        async with service.running():
            await host.serve(
                app, service.work, leaving=lambda: service.hub.close("the server stops"), ready=ready, tell=tell
            )
    finally:
        host.close()


def run(engine_of: Callable[[], Engine], options: ServeOptions, *, ready: Ready, tell: Tell) -> None:
    """``serve`` in a loop of its own."""

    async def main() -> None:
        async with engine_of() as engine:
            await serve(engine, options, ready=ready, tell=tell)

    asyncio.run(main())
