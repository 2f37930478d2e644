"""Accept connections within limits, for every server of the product.

asyncio's accept loop logs one traceback per attempt while the process is out of descriptors, and has no limit per address;
uvicorn's ``limit_concurrency`` counts a connection only from its first request.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any, Protocol

BACKLOG = 512
MOST = 1_024
"""Connections in total; half of the process's descriptors where those are fewer."""
_AT_ONCE = 8
"""Connections accepted per turn of the event loop."""
_RETRY_SECONDS = 1.0
_SILENT_SECONDS = 60.0
"""Minimum time between two log lines about missing descriptors."""


class Connection(Protocol):
    """A connection that ``ConnectionTable`` counts."""

    @property
    def incomplete(self) -> bool:
        """Return whether its request has not arrived completely."""

    @property
    def idle(self) -> bool:
        """Return whether it is kept alive without a request."""

    def abort(self) -> None: ...

    def expire(self, now: float) -> None:
        """Enforce time limits; called once a second with the event loop's time."""


class ConnectionTable:
    """The open connections by address: at most ``most``, at most half of them from one address."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or min(MOST, _descriptors() // 2)
        self._open: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()
        self.refused = 0
        """Number of connections closed above a limit."""

    def enter(self, connection: Connection, host: str) -> None:
        key = address_key(host)
        self._open[connection] = key
        self._counts[key] += 1

    def leave(self, connection: Connection) -> None:
        key = self._open.pop(connection, None)
        if key is not None:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

    def admit(self, host: str) -> bool:
        """Return whether one more connection of ``host`` is accepted; a waiting connection may be closed for it."""
        key = address_key(host)
        if self._counts[key] >= self._most // 2:
            return self.evict(key)
        return len(self._open) < self._most or self.evict()

    def evict(self, key: str | None = None) -> bool:
        """Close the oldest connection (of an address) without a running request, incomplete requests first."""
        candidates = [connection for connection, its in self._open.items() if key is None or its == key]
        found = next((each for each in candidates if each.incomplete), None)
        found = found or next((each for each in candidates if each.idle), None)
        self.refused += 1
        if found is None:
            return False
        self.leave(found)
        found.abort()
        return True

    def expire(self, now: float) -> None:
        for connection in list(self._open):
            connection.expire(now)


class Acceptor:
    """Accepts connections of the listening socket ``listener`` for protocols of ``make``, until ``close``.

    ``make`` returns a protocol that enters ``table`` itself. ``busy`` is written to a client
    above the limit. ``log_line`` gets one line when descriptors run out.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        table: ConnectionTable,
        *,
        log_line: Callable[[str], object],
        busy: bytes = b"",
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._make = make
        self._table = table
        self._log_line = log_line
        self._busy = busy
        self._logged_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._retry: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._listen()
        self._sweep = self._loop.call_later(1.0, self._expire)

    def close(self) -> None:
        """Stop accepting. Open connections keep their time limits until ``wait_closed``."""
        if self._retry is not None:
            self._retry.cancel()
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()

    async def wait_closed(self) -> None:
        self._sweep.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _listen(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _expire(self) -> None:
        self._table.expire(self._loop.time())
        self._sweep = self._loop.call_later(1.0, self._expire)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                client, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as exc:
                self._pause(exc)
                return
            client.setblocking(False)
            if self._table.admit(str(address[0])):
                task = self._loop.create_task(self._serve(client), name="accepted connection")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._refuse(client)

    async def _serve(self, client: socket.socket) -> None:
        with suppress(OSError):  # the client has disconnected
            await self._loop.connect_accepted_socket(self._make, client)

    def _refuse(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            client.send(self._busy)
            client.shutdown(socket.SHUT_WR)
            client.recv(1 << 16)  # unread data would reset the connection and lose the answer

    def _pause(self, exc: OSError) -> None:
        """Evict a connection after a failed accept (out of descriptors), or retry later."""
        if not self._table.evict():
            self._loop.remove_reader(self._listener)
            self._retry = self._loop.call_later(_RETRY_SECONDS, self._listen)
        self._loop.call_soon(self._log_shortage, exc)  # logging may need the descriptor, which is free by then

    def _log_shortage(self, exc: OSError) -> None:
        now = time.monotonic()
        if not self._logged_at or now - self._logged_at > _SILENT_SECONDS:
            with suppress(OSError, ImportError):  # no descriptor for the log: repeated at the next attempt
                self._log_line(
                    f"Connections cannot be accepted: {exc.strerror}; idle ones are closed, others have to wait"
                )
                self._logged_at = now


def address_key(host: str) -> str:
    """Return the key of an address: ``loopback``, an IPv4 address, or the /64 prefix of an IPv6 address."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return "loopback" if address.is_loopback else str(address.exploded[:19])
        address = address.ipv4_mapped
    return "loopback" if address.is_loopback else str(address)


def _descriptors() -> int:
    """Return the limit of open descriptors."""
    try:
        import resource
    except ImportError:  # Windows
        return 2 * MOST
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2 * MOST if limit == resource.RLIM_INFINITY else limit
