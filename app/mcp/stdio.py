"""MCP over stdin and stdout, for a client that started this process. Diagnostics go to stderr."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from clawperator.app.mcp.messages import refusal
from clawperator.app.mcp.server import create_server
from clawperator.app.mcp.service import McpService
from clawperator.app.signals import signal_handlers

if TYPE_CHECKING:
    from clawperator.app.fleet.client import Fleet
    from clawperator.engine.facade import Engine

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one message; longer ones are dropped."""
_CHUNK = 65_536
_AHEAD = 64
_STDIN = 0


class Lines:
    """The messages of a file descriptor, one a line, read in a daemon thread; ``answer`` gets the refusals of other lines.

    The SDK's own thread cannot be stopped while the client keeps its end open: a signal would wait for it.
    """

    def __init__(self, descriptor: int) -> None:
        self.answer: Callable[[SessionMessage], Awaitable[None]] | None = None
        self.ended = False
        self._descriptor = descriptor
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._capacity = threading.Semaphore(_AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        while (line := await self._lines.get()) is not None:
            self._capacity.release()
            line = line.removeprefix(codecs.BOM_UTF8)
            if (refused := refusal(line)) is None:
                return line.decode()
            assert self.answer is not None
            await self.answer(SessionMessage(refused))
        self.ended = True
        raise StopAsyncIteration

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            for line in _split(self._descriptor):
                self._capacity.acquire()
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)


class _UntilEnd:
    """What goes to a client until its messages ``lines`` have ended: it does not read what becomes of the calls in flight."""

    def __init__(self, stream: Any, lines: Lines) -> None:
        self._stream, self._lines = stream, lines

    async def send(self, item: SessionMessage) -> None:
        if not self._lines.ended:
            await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _split(descriptor: int) -> Iterator[bytes]:
    """Yield lines without line ends; omit lines that are too long."""
    rest, skipping = b"", False
    while data := _data(descriptor):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if not skipping and line.strip():
                yield line
            skipping = False
        if len(rest) > MAX_LINE:
            rest, skipping = b"", True
    if rest.strip() and not skipping:
        yield rest


def _data(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


@contextlib.contextmanager
def _own_stdin() -> Iterator[int]:
    """Yield a private descriptor for stdin, and let any other reader, such as a child, see an empty file."""
    private = os.dup(_STDIN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.close(nothing)
    yield private  # not closed: the thread may still read


async def serve(
    engine: Engine, *, screenshots_dir: str, log_line: Callable[[str], object], fleet: Fleet | None = None
) -> None:
    """Serve until stdin ends, or SIGINT, SIGTERM or SIGHUP, which cancel running calls; the history records whether they were sent."""
    server = create_server(McpService(engine, screenshots_dir=screenshots_dir, log_line=log_line, fleet=fleet))
    with _own_stdin() as descriptor, _signals():
        lines = Lines(descriptor)
        with contextlib.suppress(asyncio.CancelledError):
            async with stdio_server(stdin=cast("Any", lines)) as (read, write):
                lines.answer = write.send
                await server.run(read, _UntilEnd(write, lines), server.create_initialization_options())


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Cancel the current task at the first signal; exit at the second, because a client that does not read can block stdout."""
    task = asyncio.current_task()
    assert task is not None
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            os._exit(1)
        stopping = True
        task.cancel()

    with signal_handlers(stop):
        yield
