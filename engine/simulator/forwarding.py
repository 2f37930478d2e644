"""``adb reverse`` and ``adb forward``: port tables, and the embedded adb server's listening sockets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from clawperator.engine.simulator.listener import Listener

FIRST_FREE_PORT: Final = 33_000
MAX_FORWARDS: Final = 64
_TCP = re.compile(r"tcp:(\d{1,5})")
_LOCAL: Final = ("localabstract:", "localreserved:", "localfilesystem:")


class ForwardError(Exception):
    """The request is refused with adb's text."""


@dataclass(frozen=True, slots=True)
class Request:
    """``forward:[norebind:]LOCAL;REMOTE``."""

    local: str
    remote: str
    rebind: bool

    @classmethod
    def parse(cls, text: str) -> Request:
        """Raises ForwardError unless it is a pair of addresses."""
        rest = text.removeprefix("norebind:")
        local, separator, remote = rest.partition(";")
        if not separator or not local or not remote or remote.startswith("*"):
            raise ForwardError(f"bad forward: forward:{text}")
        return cls(local, remote, rebind=rest == text)


def tcp_port(address: str) -> int | None:
    """The port of ``tcp:N``, None for another kind of address. Raises ForwardError for an invalid address."""
    match = _TCP.fullmatch(address)
    if match is not None and int(match[1]) < 65_536:
        return int(match[1])
    if address.startswith(_LOCAL):
        return None
    raise ForwardError(f"cannot bind listener: unknown socket specification: {address}")


class Reverses:
    """The listeners of ``adb reverse``. Nothing on a simulated device connects to them."""

    def __init__(self) -> None:
        self.table: dict[str, str] = {}

    def answer(self, verb: str) -> bytes:
        """The whole response to ``reverse:VERB``, as adbd writes it."""
        try:
            return self._answer(verb)
        except ForwardError as exc:
            return b"FAIL" + block(str(exc))

    def _answer(self, verb: str) -> bytes:
        name, _, rest = verb.partition(":")
        if name == "list-forward":
            return block("".join(f"host-19 {local} {remote}\n" for local, remote in self.table.items()))
        if name == "killforward-all":
            self.table.clear()
        elif name == "killforward":
            if self.table.pop(rest, None) is None:
                raise ForwardError(f"listener '{rest}' not found")
        elif name == "forward":
            return b"OKAY" + self._add(Request.parse(rest))
        else:
            raise ForwardError("not a reverse forwarding command")
        return b"OKAY"

    def _add(self, request: Request) -> bytes:
        port = tcp_port(request.local)
        if port == 0:
            port = next(free for free in range(FIRST_FREE_PORT, 65_536) if f"tcp:{free}" not in self.table)
        local = request.local if port is None else f"tcp:{port}"
        if local in self.table and not request.rebind:
            raise ForwardError("cannot rebind existing socket")
        if len(self.table) >= MAX_FORWARDS:
            raise ForwardError("cannot bind listener: Too many open files")
        self.table[local] = request.remote
        return b"" if port is None else block(str(port))


class Forwards:
    """The embedded adb server's listeners of ``adb forward``. ``serve`` connects one client to a service of a device."""

    def __init__(
        self,
        host: str,
        serve: Callable[[str, str, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    ) -> None:
        self._host = host
        self._serve = serve
        self._table: dict[str, tuple[str, str, Listener]] = {}

    def listing(self) -> str:
        return "".join(f"{serial} {local} {remote}\n" for local, (serial, remote, _) in self._table.items())

    async def add(self, serial: str, request: Request) -> str:
        """Listen; the port of a TCP address, as text. Raises ForwardError."""
        port = tcp_port(request.local)
        if port is None:
            raise ForwardError("cannot bind listener: the simulator's adb server listens on TCP only")
        if request.local in self._table:
            if not request.rebind:
                raise ForwardError("cannot rebind existing socket")
            await self.remove(request.local)
        if len(self._table) >= MAX_FORWARDS:
            raise ForwardError("cannot bind listener: Too many open files")
        listener = Listener(lambda reader, writer: self._serve(serial, request.remote, reader, writer))
        try:
            await listener.listen(self._host, port)
        except OSError as exc:
            raise ForwardError(f"cannot bind listener: {exc.strerror or exc}") from exc
        self._table[f"tcp:{listener.port}"] = serial, request.remote, listener
        return str(listener.port)

    async def remove(self, local: str) -> None:
        """Raises ForwardError."""
        entry = self._table.pop(local, None)
        if entry is None:
            raise ForwardError(f"listener '{local}' not found")
        await entry[2].close()

    async def remove_all(self, serial: str = "") -> None:
        """Remove those of one device, or (empty) all."""
        for local in [local for local, entry in self._table.items() if serial in ("", entry[0])]:
            await self.remove(local)


def block(text: str) -> bytes:
    """Text after its length in four hexadecimal digits."""
    data = text.encode("utf-8", "surrogateescape")
    return b"%04x" % len(data) + data
