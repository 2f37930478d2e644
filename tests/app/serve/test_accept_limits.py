"""How many connections there may be, and which one makes room for the next."""

from __future__ import annotations

import asyncio
import errno
import socket
from dataclasses import dataclass

import pytest

from clawperator.app.serve.accept_limits import Acceptor, ConnectionTable, address_key
from tests.support import table


@dataclass(eq=False)
class Client:
    incomplete: bool = False
    idle: bool = False
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True

    def expire(self, now: float) -> None:
        raise NotImplementedError


def test_a_request_that_runs_makes_no_room() -> None:
    table = ConnectionTable(4)
    for host in ("10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"):
        assert table.admit(host)
        table.enter(Client(), host)
    assert not table.admit("10.0.0.1")
    assert not table.admit("10.0.0.3")
    assert table.refused == 2


def test_who_makes_room() -> None:
    table = ConnectionTable(4)
    idle, half, other = Client(idle=True), Client(incomplete=True), Client(incomplete=True)
    table.enter(other, "10.0.0.2")
    table.enter(idle, "10.0.0.1")
    table.enter(half, "10.0.0.1")
    assert table.admit("10.0.0.1")
    assert (idle.aborted, half.aborted, other.aborted) == (False, True, False)
    table.enter(Client(), "10.0.0.1")
    assert table.admit("10.0.0.1")
    assert idle.aborted
    table.leave(idle)  # a second time, when its connection is lost
    assert not other.aborted


@table(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "::1", True),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "", True),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, same: bool) -> None:
    assert (address_key(one) == address_key(other)) is same


async def test_without_descriptors_it_tries_again_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.app.serve.accept_limits._RETRY_SECONDS", 0.01)
    said: list[str] = []
    tellings = iter([OSError(errno.EMFILE, "Too many open files"), None, None, None])
    served = asyncio.Event()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            served.set()
            transport.close()

    def on_progress(line: str) -> None:
        if (failure := next(tellings)) is not None:
            raise failure  # saying it needs a descriptor as well
        said.append(line)

    class Listener(socket.socket):
        tries = 0

        def accept(self) -> tuple[socket.socket, object]:
            self.tries += 1
            if self.tries < 4:
                raise OSError(errno.EMFILE, "Too many open files")
            return super().accept()

    listener = Listener()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    acceptor = Acceptor(listener, Protocol, ConnectionTable(2), log_line=on_progress)
    with socket.socket() as client:
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, listener.getsockname())
        await served.wait()
    assert listener.tries >= 4
    assert len(said) == 1
    assert "Too many open files" in said[0]
    acceptor.close()
    await acceptor.wait_closed()
