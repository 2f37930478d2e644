"""Run an ASGI application: listen, report the address, serve, and wait for running executions before the exit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

import uvicorn

from clawperator.app.serve.accept_limits import BACKLOG, Acceptor, ConnectionTable
from clawperator.app.serve.connections import HEAD_BYTES, BoundedProtocol, raw_answer
from clawperator.app.serve.options import ServeOptions, is_loopback
from clawperator.app.serve.tokens import Tokens, open_tokens
from clawperator.app.signals import signal_handlers
from clawperator.engine.config.settings import home_folder
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.drain import Drain

if TYPE_CHECKING:
    from clawperator.app.serve.gate import App
    from clawperator.engine.guard import Guard

_CLOSE_SECONDS = 2
"""Time for connections to read the last result."""

LogLine = Callable[[str], object]


class Listening:
    """The address of a server that accepts requests, and warnings about its exposure."""

    def __init__(self, host: str, port: int, warnings: tuple[str, ...]) -> None:
        self.host = host
        self.port = port
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}"
        self.warnings = warnings


OnReady = Callable[[Listening], object]


class Host:
    """A listening socket and the accepted tokens; ``tokens`` is ``None`` without authentication. To be closed.

    Raises ``EngineError``: ADDRESS_UNAVAILABLE, TOKEN_FILE_INVALID, USAGE, and those of ``guard`` for a missing token file.
    """

    def __init__(self, options: ServeOptions, guard: Guard) -> None:
        self.options = options
        self._listening = _listen(options)  # first: no token file is created if this fails
        try:
            self.tokens, self._warnings = _authentication(options, guard)
        except BaseException:
            self.close()
            raise
        self.connections = ConnectionTable()

    def close(self) -> None:
        self._listening.close()

    async def serve(
        self,
        app: App,
        work: Drain,
        *,
        on_stop: Callable[[], object] = lambda: None,
        on_stopped: Callable[[], object] = lambda: None,
        ready: OnReady,
        log_line: LogLine,
    ) -> None:
        """Serve ``app`` until SIGINT, SIGTERM or SIGHUP; then call ``on_stop``, wait for ``work``, and call ``on_stopped``.

        Either may end streams that clients hold open. A second signal ends the wait. ``ready`` gets the address,
        ``log_line`` diagnostics.
        """
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=_CLOSE_SECONDS,
                log_level=logging.ERROR,  # a client could fill the log with warnings
                h11_max_incomplete_event_size=2 * HEAD_BYTES,  # BoundedProtocol refuses smaller heads already
            ),
            self.connections,
            log_line,
        )
        stop = asyncio.Event()

        def on_stop_signal() -> None:
            if stop.is_set():
                log_line("Exiting without waiting")
                server.force_exit = True
                server.forced.set()
            stop.set()

        with signal_handlers(on_stop_signal):
            serving = asyncio.create_task(server.serve([self._listening]), name="http server")
            await server.up.wait()
            host, port = self._listening.getsockname()[:2]
            ready(Listening(host, port, tuple(self._warnings)))
            stopped = asyncio.create_task(stop.wait(), name="signals")
            await asyncio.wait((stopped, serving), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            work.stopping = True
            server.stop_accepting()
            on_stop()
            await _drain(work, server, self.options.grace, log_line)
            on_stopped()
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    """uvicorn's server with its own signals and accept loop replaced."""

    def __init__(self, config: uvicorn.Config, connections: ConnectionTable, log_line: LogLine) -> None:
        super().__init__(config)
        self._connections = connections
        self._log_line = log_line
        self.up = asyncio.Event()
        self.forced = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start acceptors (``accept_limits``); there is no lifespan."""
        make = partial(BoundedProtocol, self.config, self.server_state, self._connections)
        busy = raw_answer(EngineError(ErrorCode.SERVER_BUSY, "The server has reached its connection limit"))
        self.servers = [
            cast("asyncio.Server", Acceptor(listener, make, self._connections, log_line=self._log_line, busy=busy))
            for listener in sockets or ()
        ]
        self.started = True
        self.up.set()

    def stop_accepting(self) -> None:
        for server in getattr(self, "servers", ()):
            server.close()


async def _drain(work: Drain, server: _Server, grace: float | None, log_line: LogLine) -> None:
    """Wait for running executions, at most ``grace`` seconds or until the second signal."""
    if not work.count or server.force_exit:
        return
    log_line(f"Waiting for {work.count} execution(s) to finish. Press Ctrl-C again to exit now")
    waiting = asyncio.create_task(work.idle(), name="executions in flight")
    forced = asyncio.create_task(server.forced.wait(), name="second signal")
    await asyncio.wait((waiting, forced), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
    for task in (waiting, forced):
        task.cancel()


def _listen(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Name the protocol: asyncio sets TCP_NODELAY only on sockets with it, and accepted ones inherit it.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as exc:
        listener.close()
        reason = getattr(exc, "strerror", None) or exc
        raise EngineError(
            ErrorCode.ADDRESS_UNAVAILABLE,
            f"Cannot listen on {options.host}:{options.port}: {reason}",
            hint="Choose another --port (auto takes a free one) or --host.",
        ) from exc
    return listener


def _authentication(options: ServeOptions, guard: Guard) -> tuple[Tokens | None, list[str]]:
    """Return the accepted tokens (``None`` without authentication) and the warnings to print."""
    exposed = not is_loopback(options.host)
    if options.no_auth:
        if options.token_file:
            raise EngineError(ErrorCode.USAGE, "--no-auth and --token-file cannot be combined")
        if not exposed:
            return None, []
        words = (
            f"WARNING: no authentication. Anyone who can reach {options.host} can control the devices of this computer."
        )
        return None, [words]
    if not exposed and not options.token_file:
        return None, []
    path = os.path.expanduser(options.token_file) or token_path()
    # The default file needs no capability; a file that the user names does.
    tokens, made = open_tokens(path, guard if options.token_file else None)
    warnings = [f"Requests need the token in {path}{' (newly created)' if made else ''}: Authorization: Bearer <token>"]
    if exposed:
        warnings.append("WARNING: the connection is not encrypted. Use a TLS proxy or an SSH tunnel.")
    return tokens, warnings


def token_path() -> str:
    """Return the path of the default token file."""
    return os.path.join(home_folder(os.environ), "server-token")
