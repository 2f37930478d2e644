"""An ASGI application from its start to its end: listen, say where, serve, and let what runs come to its result."""

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

from clawperator.app.serve.accept_limits import BACKLOG, Acceptor, Table
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
"""After the last result, connections have so long to take it."""

Tell = Callable[[str], object]


class Listening:
    """What is said when the server can be called."""

    def __init__(self, host: str, port: int, warnings: tuple[str, ...]) -> None:
        self.host = host
        self.port = port
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}"
        self.warnings = warnings


Ready = Callable[[Listening], object]


class Host:
    """Where and for whom to serve. ``tokens`` are what the gate has to ask for; ``None`` for nothing.

    Raises ``EngineError``: ADDRESS_UNAVAILABLE where it cannot listen, TOKEN_FILE_INVALID, USAGE, and those of ``guard`` for a
    token file that is missing. ``close`` it in the end.
    """

    def __init__(self, options: ServeOptions, guard: Guard) -> None:
        self.options = options
        self._listening = _listen(options)  # before a token file is made for it
        try:
            self.tokens, self._warnings = _safety(options, guard)
        except BaseException:
            self.close()
            raise
        self.connections = Table()

    def close(self) -> None:
        self._listening.close()

    async def serve(
        self,
        app: App,
        work: Drain,
        *,
        leaving: Callable[[], object],
        left: Callable[[], object] = lambda: None,
        ready: Ready,
        tell: Tell,
    ) -> None:
        """Serve ``app`` until SIGINT, SIGTERM or SIGHUP; then call ``leaving``, wait for ``work``, and call ``left``.

        Either may end streams that clients hold open: before the last results, or after them.

        A second signal gives up what still runs. ``ready`` hears where, ``tell`` gets the lines for people.
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
                log_level=logging.ERROR,  # warnings are about what clients send: anybody could fill the log with them
                h11_max_incomplete_event_size=2
                * HEAD_BYTES,  # ours comes first, and is the same for both implementations
            ),
            self.connections,
            tell,
        )
        stop = asyncio.Event()

        def heard() -> None:
            if stop.is_set():
                tell("Leaving without waiting")
                server.force_exit = True
                server.forced.set()
            stop.set()

        with signal_handlers(heard):
            serving = asyncio.create_task(server.serve([self._listening]), name="http server")
            await server.up.wait()
            host, port = self._listening.getsockname()[:2]
            ready(Listening(host, port, tuple(self._warnings)))
            stopped = asyncio.create_task(stop.wait(), name="signals")
            await asyncio.wait((stopped, serving), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            work.stopping = True
            server.accept_no_more()
            leaving()
            await _come_to_an_end(work, server, self.options.grace, tell)
            left()
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    """Signals are ours: its own way forgets what runs."""

    def __init__(self, config: uvicorn.Config, connections: Table, tell: Tell) -> None:
        super().__init__(config)
        self._connections = connections
        self._tell = tell
        self.up = asyncio.Event()
        self.forced = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept by ourselves (see there); there is no lifespan."""
        make = partial(BoundedProtocol, self.config, self.server_state, self._connections)
        busy = raw_answer(EngineError(ErrorCode.SERVER_BUSY, "The server has reached its connection limit"))
        self.servers = [
            cast("asyncio.Server", Acceptor(listener, make, self._connections, tell=self._tell, busy=busy))
            for listener in sockets or ()
        ]
        self.started = True
        self.up.set()

    def accept_no_more(self) -> None:
        for server in getattr(self, "servers", ()):
            server.close()


async def _come_to_an_end(work: Drain, server: _Server, grace: float | None, tell: Tell) -> None:
    """Wait for what runs."""
    if not work.count or server.force_exit:
        return
    tell(f"Waiting for {work.count} execution(s) to finish. Press Ctrl-C again to exit now")
    waiting = asyncio.create_task(work.idle(), name="executions in flight")
    forced = asyncio.create_task(server.forced.wait(), name="second signal")
    await asyncio.wait((waiting, forced), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
    for task in (waiting, forced):
        task.cancel()


def _listen(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # The protocol has to be named: asyncio sends small answers at once only over sockets that say TCP, which accepted ones inherit.
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


def _safety(options: ServeOptions, guard: Guard) -> tuple[Tokens | None, list[str]]:
    """The tokens to ask for, and what has to be said aloud."""
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
    # The file of our own needs no capability; one that the caller names does.
    tokens, made = open_tokens(path, guard if options.token_file else None)
    warnings = [f"Requests need the token in {path}{' (newly created)' if made else ''}: Authorization: Bearer <token>"]
    if exposed:
        warnings.append("WARNING: the connection is not encrypted. Use a TLS proxy or an SSH tunnel.")
    return tokens, warnings


def token_path() -> str:
    """Where the server's token is kept when nobody names a file."""
    return os.path.join(home_folder(os.environ), "server-token")
