"""An adb server in front of a simulated one: services that match are answered by an attacker, all others by the simulator."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

SERIAL: Final = "emulator-5554"
OPERATOR_UID: Final = 10_190
"""Of the simulator's Operator app: lines of others are not believed."""
STDOUT, STDERR, EXIT = 1, 2, 3
NONCE = b"clawperator-nonce-"
LARGEST = 2_090_000
"""Bytes of an answer that is just about accepted."""
SOAK = 24 * 1024 * 1024
"""Far more than a bound on anything that is kept of a log."""

_RECORD = struct.Struct("<HHiIIIII")
_MARK = re.compile(r"clawperator-[0-9a-f]{16}:")
_NUMBERS = struct.Struct("<III")


def packet(data: bytes, channel: int = STDOUT) -> bytes:
    """One packet of a shell's stream."""
    return struct.pack("<BI", channel, len(data)) + data


def packets(data: bytes, size: int = 60_000) -> bytes:
    return b"".join(packet(data[at : at + size]) for at in range(0, len(data), size))


def record(message: bytes, *, level: int = 3, pid: int = 4242, tid: int = 4242, tag: bytes = b"E") -> bytes:
    """One record of ``logcat -B`` by the Operator app."""
    text = bytes((level,)) + tag + b"\0" + message + b"\0"
    return _RECORD.pack(len(text), 28, pid, tid, 2_000_000_000, 0, 0, OPERATOR_UID) + text


def chunk(data: bytes) -> bytes:
    """One piece of a file."""
    return b"DATA" + len(data).to_bytes(4, "little") + data


FLOODS: Final = {
    "short lines": packet(b"ab\n" * 20_000),
    "one line": packet(b"x" * 60_000),
    "errors": packet(b"ab\n" * 20_000, STDERR),
    "empty packets": (packet(b"") + packet(b"", STDERR)) * 6_000,
    "one byte in each packet": packet(b".") * 10_000,
    "silence": b"",
}
"""What a shell can send for ever."""


def largest(line: bytes) -> Callable[[str], bytes]:
    """The longest answer that is accepted, of this line alone; where several questions were asked, a part to each."""

    def answer(service: str) -> bytes:
        head = b"34\n" if service.startswith("shell,v2,raw:getprop ro.build.version.sdk;") else b""
        marks = list(dict.fromkeys(_MARK.findall(service)))
        count = sum(service.count(mark) for mark in marks)
        if not count:
            return packets(head + line * (LARGEST // len(line))) + packet(b"\0", EXIT)
        part = line * (LARGEST // count // len(line)) + f"{marks[0]}0\n".encode()
        return packets(part * count) + packet(b"\0", EXIT)

    return answer


@dataclass(frozen=True)
class Attack:
    """``flood`` again and again (nothing where it is empty) in the place of the ``service`` (a pattern).

    ``answer`` makes a finite one of the service instead. ``after``: the simulator answers until it has sent these bytes so
    often. ``opening`` comes once, before the flood.
    """

    service: str
    flood: bytes = b""
    answer: Callable[[str], bytes] | None = None
    after: tuple[bytes, int] = (b"", 0)
    opening: bytes = b""


@dataclass
class HostileServer:
    """Listens on ``port`` of the loopback address.

    ``attacked`` is set when an attack has begun (``attacks_begun`` counts them), ``soaked`` when one of its floods has poured ``SOAK`` bytes: a client takes them.
    """

    behind: int
    attacks: Sequence[Attack]
    attacked: threading.Event = field(default_factory=threading.Event)
    soaked: threading.Event = field(default_factory=threading.Event)
    attacks_begun: int = 0
    _open: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def env(self) -> dict[str, str]:
        return {"ANDROID_ADB_SERVER_PORT": str(self.port), "ANDROID_ADB_SERVER_ADDRESS": "127.0.0.1"}

    def close(self) -> None:
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.behind))
                self._open += [client, server]
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client, server:
            while True:
                service = client.recv(int(client.recv(4, socket.MSG_WAITALL), 16), socket.MSG_WAITALL).decode()
                attack = next((each for each in self.attacks if re.search(each.service, service, re.DOTALL)), None)
                if attack is None and service.startswith("host:tport"):
                    _ask(server, service)
                    client.sendall(server.recv(12, socket.MSG_WAITALL))
                    continue
                if attack is None:
                    _ask(server, service)
                    _relay(client, server)
                else:
                    self._attack(attack, service, client, server)
                return

    def _attack(self, attack: Attack, service: str, client: socket.socket, server: socket.socket) -> None:
        if attack.after[0]:
            _ask(server, service)
            _relay_until(server, client, *attack.after)
        else:
            client.sendall(b"OKAY")
        if service == "sync:":
            _refer_to_the_file(client)
        self.attacks_begun += 1
        self.attacked.set()
        client.sendall(attack.opening)
        if attack.answer is not None:
            client.sendall(attack.answer(service))
            return
        poured = 0
        while attack.flood:
            client.sendall(attack.flood)
            poured += len(attack.flood)
            if poured >= SOAK:
                self.soaked.set()
        while client.recv(4096):
            pass  # silent until the client goes


def _ask(server: socket.socket, service: str) -> None:
    server.sendall(b"%04x%s" % (len(service.encode()), service.encode()))


def _relay(client: socket.socket, server: socket.socket) -> None:
    threading.Thread(target=_copy, args=(client, server), daemon=True).start()
    _copy(server, client)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _relay_until(server: socket.socket, client: socket.socket, mark: bytes, times: int) -> None:
    seen = b""
    while seen.count(mark) < times:
        data = server.recv(65_536)
        if not data:
            raise ValueError("the simulator has ended")
        seen += data
        client.sendall(data)


def _refer_to_the_file(client: socket.socket) -> None:
    """Say that whatever is asked about is a small file, until the client wants its content."""
    while head := client.recv(8, socket.MSG_WAITALL):
        client.recv(int.from_bytes(head[4:], "little"), socket.MSG_WAITALL)
        if head[:4] != b"STAT":
            return
        client.sendall(b"STAT" + _NUMBERS.pack(0o100644, 40, 1))
    raise ValueError("the client has gone")


@contextlib.contextmanager
def hostile(behind: int, *attacks: Attack) -> Iterator[HostileServer]:
    server = HostileServer(behind, attacks)
    try:
        yield server
    finally:
        server.close()
