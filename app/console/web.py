"""The console in a browser of this computer: one process per page, driven by textual-serve, on the loopback interface
only.

Every client can act on devices. So the address contains a secret that other users of this computer do not know, and
requests from foreign pages are refused: by a Host that is not ours (DNS rebinding) or an Origin that is not ours.

Importing this needs the extra ``web``.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from io import TextIOBase
from typing import Any

import aiohttp_jinja2
import jinja2
from aiohttp import WSCloseCode, web
from aiohttp.http_exceptions import HttpProcessingError
from textual_serve.app_service import AppService
from textual_serve.server import Server

from clawperator.app.serve.accept_limits import Acceptor, ConnectionTable
from clawperator.app.signals import signal_handlers
from clawperator.engine.errors import EngineError, ErrorCode

HOST = "127.0.0.1"
MAX_PAGES = 8
"""Each is a whole console."""
_MOST_CONNECTIONS = 128
_IDLE_SECONDS = 10.0
"""How long a connection may be open without a complete request."""
LEAVE_SECONDS = 5.0
"""How long a console may take to exit before it is killed."""
_CELLS = (10, 500)
"""Range of the width and height of a page's terminal."""
_USUAL = {"width": 80, "height": 24}
_MESSAGE_BYTES = 1024 * 1024
"""Limit of one message of a page, such as pasted text."""
_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONUTF8": "1"}
"""The page's terminal type, whatever terminal started the server."""
_FOCUS = """<script>
  new MutationObserver((_, observer) => {
    if (document.body.classList.contains("-loaded")) {
      observer.disconnect();
      document.querySelector(".xterm-helper-textarea").focus();
    }
  }).observe(document.body, { attributeFilter: ["class"] });
</script>
"""
"""Focuses the terminal as soon as its socket is open; textual-serve's page waits for a click."""


def serve(command: Sequence[str], port: int, log: Callable[[str], object]) -> None:
    """Serve the Textual program ``command`` to browsers until SIGINT, SIGTERM or SIGHUP; ``port`` 0 takes a free one.

    ``log`` gets the address, and the output of failed consoles. Raises ``EngineError`` (ADDRESS_UNAVAILABLE) for a
    port in use.
    """
    logging.getLogger("textual-serve").addHandler(logging.NullHandler())
    logging.getLogger("aiohttp.server").addFilter(_is_ours)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as exc:
        message = f"Port {port} of {HOST} cannot be used: {exc.strerror}"
        raise EngineError(ErrorCode.ADDRESS_UNAVAILABLE, message) from exc
    with listener, redirect_stdout(_LineWriter(log)):  # textual-serve prints its programs' output
        asyncio.run(_serve(Pages(command, listener.getsockname()[1]), listener, log))


async def _serve(pages: Pages, listener: socket.socket, log: Callable[[str], object]) -> None:
    ended = asyncio.Event()
    runner = web.AppRunner(pages.app(), access_log=None, shutdown_timeout=2 * LEAVE_SECONDS)
    with signal_handlers(ended.set):
        await runner.setup()
        acceptor = Acceptor(listener, partial(pages.connection, runner), pages.connections, log_line=log)
        try:
            log(f"The console is at {pages.address} (for you alone; Ctrl-C ends it)")
            await ended.wait()
        finally:
            acceptor.close()
            await pages.leave()
            await runner.cleanup()
            await acceptor.wait_closed()


class Pages(Server):
    """The pages of one command, at an address that begins with a secret."""

    def __init__(self, command: Sequence[str], port: int) -> None:
        super().__init__("clawperator", host=HOST, port=port)
        self._argv = command
        self._secret = secrets.token_urlsafe(24)
        self._open: dict[web.WebSocketResponse, Console] = {}
        self.connections = ConnectionTable(_MOST_CONNECTIONS)
        self._asking: set[object] = set()
        """The connections with a request in progress."""

    @property
    def address(self) -> str:
        return f"{self.public_url}/{self._secret}/"

    def app(self) -> web.Application:
        """Return the routes: everything below the secret, except downloads, which have a secret each."""
        inner = web.Application()
        aiohttp_jinja2.setup(inner, loader=jinja2.FileSystemLoader(self.templates_path))
        inner.router.add_get("/", self.handle_index, name="index")
        inner.router.add_get("/ws", self.handle_websocket, name="websocket")
        inner.router.add_static("/static", self.statics_path, name="static")
        outer = web.Application(middlewares=[self._guard])
        outer.router.add_get("/download/{key}", self.handle_download)
        outer.on_response_prepare.append(self._harden)
        outer.add_subapp(f"/{self._secret}/", inner)
        return outer

    def connection(self, runner: web.AppRunner) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection."""
        assert runner.server is not None
        protocol = runner.server()
        self.connections.enter(_Browser(protocol, self._asking, self.connections), HOST)
        return protocol

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        ours = self.public_url
        if f"http://{request.host}" != ours or request.headers.get("Origin", ours) != ours:
            raise web.HTTPForbidden(text="Open the address that the console printed.")
        self._asking.add(request.protocol)
        try:
            return await handler(request)
        finally:
            self._asking.discard(request.protocol)

    async def _harden(self, request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG002 -- aiohttp's form
        """Forbid framing, referrers, and requests to other hosts."""
        sockets = self.public_url.replace("http:", "ws:")
        response.headers.update(
            {
                "Cache-Control": "no-store",
                "Content-Security-Policy": f"default-src 'self' 'unsafe-inline' data:; connect-src 'self' {sockets}; "
                "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
            }
        )

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Return textual-serve's page with ``_FOCUS`` at its end."""
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        assert page.text is not None
        page.text = page.text.replace("</body>", f"{_FOCUS}</body>")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run a console of its own for as long as the page is open."""
        if len(self._open) >= MAX_PAGES:
            raise web.HTTPServiceUnavailable(text=f"{MAX_PAGES} pages are open already.")
        page = web.WebSocketResponse(heartbeat=15, max_msg_size=_MESSAGE_BYTES)
        console = Console(
            self._argv,
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=page.close,
            download_manager=self.download_manager,
        )
        await page.prepare(request)
        self._open[page] = console
        try:
            await console.start(*(_cells(request.query.get(side, ""), usual) for side, usual in _USUAL.items()))
            console.when_over(page.close)
            with suppress(ConnectionError, ValueError, TypeError, LookupError, AssertionError):  # malformed messages
                await self._process_messages(page, console)
        finally:
            await console.stop()
            del self._open[page]
            await page.close()
        return page

    async def leave(self) -> None:
        """Close every page, which ends its console."""
        await asyncio.gather(*(page.close(code=WSCloseCode.GOING_AWAY) for page in list(self._open)))


class _Browser:
    """One connection for the table of connections: bounds the time of a request; aiohttp bounds its size."""

    incomplete = False

    def __init__(self, protocol: web.RequestHandler, asking: set[object], table: ConnectionTable) -> None:
        self._protocol = protocol
        self._asking = asking
        self._table = table
        self._idle_since = asyncio.get_running_loop().time()

    @property
    def idle(self) -> bool:
        return self._protocol not in self._asking

    def abort(self) -> None:
        self._protocol.force_close()

    def expire(self, now: float) -> None:
        if not self.idle:
            self._idle_since = now
        elif now - self._idle_since > (1.0 if self._protocol.transport is None else _IDLE_SECONDS):
            self._table.leave(self)
            self.abort()


class Console(AppService):
    """One process, without a shell; it is killed if it does not exit."""

    def __init__(self, command: Sequence[str], **ways: Any) -> None:
        super().__init__("", **ways)
        self._argv = command
        self._waiting: asyncio.Task[None] | None = None

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = {**self._build_environment(width, height), **_TERMINAL}
        environment.pop("COLORFGBG", None)
        process = await asyncio.create_subprocess_exec(
            *self._argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        self._process, self._stdin = process, process.stdin
        return process

    def when_over(self, close: Callable[[], Awaitable[object]]) -> None:
        """Close the page when the process has ended, also after a crash."""

        async def wait() -> None:
            if self._task is not None:
                await asyncio.wait([self._task])
            await close()

        self._waiting = asyncio.create_task(wait(), name="page")

    async def stop(self) -> None:
        """Ask it to exit; kill it after a time limit."""
        process = self._process
        if process is None:
            return
        if self._waiting is not None:
            self._waiting.cancel()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await super().stop()
                    await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            self.stdin.close()


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether an error is one of this program, not of what a client sent: those would fill the log."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


class _LineWriter(TextIOBase):
    """A stdout that passes every line on."""

    def __init__(self, log: Callable[[str], object]) -> None:
        self._on_progress = log

    def write(self, text: str) -> int:
        for line in text.splitlines():
            self._on_progress(line)
        return len(text)


def _cells(text: str, usual: int) -> int:
    """Return a page's size in cells, within limits."""
    return min(max(int(text), _CELLS[0]), _CELLS[1]) if text.isascii() and text.isdigit() and len(text) < 9 else usual
