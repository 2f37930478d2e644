"""Byte streams between a simulated device's processes, with pushback, backpressure and broken pipes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

PIPE_CAPACITY: Final = 65536


class Sink(Protocol):
    """The output of a command. Waits while the reader is slow; raises BrokenPipeError once there is no reader."""

    async def write(self, data: bytes) -> None: ...


class Channel(Protocol):
    """Both directions of one open service."""

    async def read(self) -> bytes:
        """The next bytes from the host; ``b""`` once it closed."""

    async def write(self, data: bytes) -> None:
        """Wait until the host can take ``data``; raises ConnectionError when it has gone."""


class InputStream:
    """The input of a command. Pieces come from ``fetch`` (``b""`` = end); bytes read ahead are kept for the next reader.

    A shell and its commands share one InputStream, like a file descriptor on a device.
    """

    def __init__(self, fetch: Callable[[], Awaitable[bytes]]) -> None:
        self._fetch = fetch
        self._ahead = b""
        self._ended = False

    async def read(self, limit: int | None = None) -> bytes:
        """The next piece, at most ``limit`` bytes; ``b""`` at the end."""
        if not self._ahead:
            await self._more()
        piece = self._ahead if limit is None else self._ahead[:limit]
        self._ahead = self._ahead[len(piece) :]
        return piece

    async def exactly(self, size: int) -> bytes:
        """``size`` bytes; fewer only where the input ends."""
        pieces: list[bytes] = []
        while size > 0 and (piece := await self.read(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    async def line(self) -> bytes:
        """Up to and including the next LF; the last line may lack it; ``b""`` at the end."""
        pieces: list[bytes] = []
        while piece := await self.read():
            head, feed, tail = piece.partition(b"\n")
            pieces.append(head + feed)
            if feed:
                self._ahead = tail + self._ahead
                break
        return b"".join(pieces)

    async def all(self) -> bytes:
        pieces: list[bytes] = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def _more(self) -> None:
        if self._ended:
            return
        self._ahead = await self._fetch()
        self._ended = not self._ahead


@dataclass(frozen=True, slots=True)
class Streams:
    """File descriptors 0, 1 and 2."""

    stdin: InputStream
    stdout: Sink
    stderr: Sink


async def _nothing() -> bytes:
    return b""


def no_input() -> InputStream:
    """``/dev/null`` for reading."""
    return InputStream(_nothing)


def input_of(data: bytes) -> InputStream:
    """A finished input that holds ``data``."""
    pieces = [b"", data]

    async def fetch() -> bytes:
        return pieces.pop() if pieces else b""

    return InputStream(fetch)


class Null:
    """``/dev/null`` for writing."""

    async def write(self, data: bytes) -> None:
        del data


class Collector:
    """Keeps what is written: command substitution, and tests."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def write(self, data: bytes) -> None:
        self.data += data


class Notifier:
    """Wakes all current waiters; ringing without one has no effect."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Return at the next ``notify``."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)


class Pipe:
    """A pipe between two commands. The writer waits while 64 KiB or more are unread."""

    def __init__(self) -> None:
        self.input = InputStream(self._fetch)
        self._pieces: list[bytes] = []
        self._size = 0
        self._closed = False
        self._abandoned = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()

    async def write(self, data: bytes) -> None:
        while self._size >= PIPE_CAPACITY and not self._abandoned:
            self._writable.clear()
            await self._writable.wait()
        if self._abandoned:
            raise BrokenPipeError
        if data:
            self._pieces.append(data)
            self._size += len(data)
            self._readable.set()

    def close(self) -> None:
        """The writer has finished: the reader comes to an end."""
        self._closed = True
        self._readable.set()

    def abandon(self) -> None:
        """The reader has gone: the writer's next write breaks."""
        self._abandoned = True
        self._writable.set()

    async def _fetch(self) -> bytes:
        while not self._pieces and not self._closed:
            self._readable.clear()
            await self._readable.wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._writable.set()
        return data
