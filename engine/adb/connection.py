"""One connection to the adb server on the running event loop: the asyncio driver of ``protocol``'s conversations.

A plain non-blocking socket instead of a ``StreamReader``: closing is immediate (nothing to await, so cancelling at any
point leaks nothing), large reads go through one copy, and the acknowledgement rule below needs the socket anyway.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from clawperator.engine.adb.failures import broken, oversized, timed_out

if TYPE_CHECKING:
    from clawperator.engine.adb.protocol import Address, Conversation

T = TypeVar("T")

_SMALL_READ = 64 * 1024
_LARGE_READ = 256 * 1024
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)


@asynccontextmanager
async def deadline(seconds: float | None, what: str, *, serial: str = "") -> AsyncIterator[None]:
    """Run the body within ``seconds`` (``None``: no limit); too late is an :class:`AdbTimeoutError`."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as exc:
        if seconds is None or not limit.expired():
            raise
        raise timed_out(what, seconds, serial=serial) from exc


class AdbConnection:
    """A connected socket with the bytes read ahead. Close it (``contextlib.closing``); ``serial`` labels its errors."""

    def __init__(self, sock: socket.socket, serial: str = "") -> None:
        self.serial = serial
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._ahead = b""
        self._read_size = _SMALL_READ
        self._unshared = 0
        """Bytes requested since other tasks last ran."""
        # The server leaves Nagle's algorithm on: what it sends after an OKAY waits for our acknowledgement, which Linux
        # delays by 40 ms unless disabled, and it has to be disabled again after every read (facts 9a, 9b).
        self._hasten = _QUICKACK is not None and sock.family in (socket.AF_INET, socket.AF_INET6)

    @classmethod
    async def open(cls, address: Address, serial: str = "") -> AdbConnection:
        """Connect; raises ``OSError`` where nothing listens."""
        loop = asyncio.get_running_loop()
        failure = OSError("the host name has no address")
        for family, target in await _candidates(loop, address):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                await loop.sock_connect(sock, target)
            except OSError as exc:
                sock.close()
                failure = exc
            except BaseException:
                sock.close()
                raise
            else:
                return cls(sock, serial)
        raise failure

    async def run(self, talk: Conversation[T]) -> T:
        """Drive one conversation to its result."""
        try:
            step = next(talk)
            while True:
                if isinstance(step, bytes):
                    await self.send(step)
                    step = next(talk)
                else:
                    step = talk.send(await self.exactly(step))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def exactly(self, size: int) -> bytes:
        """Read exactly ``size`` bytes. Raises ``TransportError`` at an earlier end of the stream."""
        while len(self._ahead) < size:
            data = await self._receive()
            if not data:
                raise broken("the adb server closed the connection before it had answered", serial=self.serial)
            self._ahead = self._ahead + data if self._ahead else data
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    async def read(self) -> bytes:
        """Read what is available, at least one byte; empty at the end of the stream."""
        if self._ahead:
            taken, self._ahead = self._ahead, b""
            return taken
        return await self._receive()

    async def read_all(self, limit: int) -> bytes:
        """Read to the end of the stream. Raises ``OversizedError`` beyond ``limit`` bytes."""
        parts, size = [], 0
        while data := await self.read():
            parts.append(data)
            size += len(data)
            if size > limit:
                raise oversized("device shell", limit, serial=self.serial)
        return b"".join(parts)

    async def send(self, data: bytes) -> None:
        try:
            await self._loop.sock_sendall(self._sock, data)
        except OSError as exc:
            raise broken(f"the adb server stopped accepting data: {exc}", serial=self.serial) from exc

    async def _receive(self) -> bytes:
        self._unshared += self._read_size
        if (
            self._unshared > _LARGE_READ
        ):  # sock_recv returns at once while data is available: a flood would block the event loop
            self._unshared = 0
            await asyncio.sleep(0)
        try:
            data = await self._loop.sock_recv(self._sock, self._read_size)
            if self._hasten and _QUICKACK is not None:
                self._sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
        except OSError as exc:
            raise broken(f"the connection to the adb server broke: {exc}", serial=self.serial) from exc
        if len(data) == self._read_size:
            self._read_size = _LARGE_READ  # a bulk stream: fewer, larger reads from now on
        return data

    @property
    def ended(self) -> bool:
        """Whether the other side has closed an idle connection."""
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        self._sock.close()


async def _candidates(
    loop: asyncio.AbstractEventLoop, address: Address
) -> list[tuple[socket.AddressFamily, tuple[str, int] | str]]:
    """Socket family and target per address; numeric ones skip the resolver, which would need a thread."""
    host = address.host
    if address.path:
        return [(socket.AF_UNIX, address.path)]
    if address.is_numeric:
        return [(socket.AF_INET, (host, address.port))]
    if ":" in host:
        return [(socket.AF_INET6, (host, address.port))]
    found = await loop.getaddrinfo(host, address.port, type=socket.SOCK_STREAM)
    return [(family, (str(target[0]), int(target[1]))) for family, _, _, _, target in found]
