"""The HTTP server: a service and its application on a host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.routing import Route

from clawperator.app.http.app import create_app
from clawperator.app.http.routes import ROUTERS
from clawperator.app.http.service import HttpService
from clawperator.app.serve.hosting import Host, Listening, LogLine, OnReady
from clawperator.app.serve.options import ServeOptions

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine

__all__ = ["Listening", "run", "serve"]


async def serve(engine: Engine, options: ServeOptions, *, ready: OnReady, log_line: LogLine) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; a second signal abandons running executions.

    Raises ``EngineError`` before anything is served: ADDRESS_UNAVAILABLE, TOKEN_FILE_INVALID, USAGE.
    """
    host = Host(options, engine.guard)
    try:
        service = HttpService(engine, options, log_line)
        service.metrics.count(
            "connections_refused", "Connections closed because there were too many", lambda: host.connections.refused
        )

        def on_fault(traceback: str) -> None:
            service.log.write("error", "serve.http.error", traceback.rstrip().rpartition("\n")[2])
            log_line(traceback)

        def on_ready(listening: Listening) -> None:
            ready(listening)
            for router in ROUTERS if options.verbose else ():
                for route in router.routes:
                    if isinstance(route, Route):
                        log_line(f"{' '.join(route.methods or ())} {route.path}")

        app = create_app(service, host.tokens, on_fault=on_fault)
        async with service.running():
            await host.serve(
                app,
                service.work,
                on_stop=lambda: service.hub.close("the server stops"),
                ready=on_ready,
                log_line=log_line,
            )
    finally:
        host.close()


def run(engine_of: Callable[[], Engine], options: ServeOptions, *, ready: OnReady, log_line: LogLine) -> None:
    """Run ``serve`` in a new event loop."""

    async def main() -> None:
        async with engine_of() as engine:
            await serve(engine, options, ready=ready, log_line=log_line)

    asyncio.run(main())
