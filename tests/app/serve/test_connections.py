"""A client that does not take its answer, or does not send its request, does not keep its connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest
import uvicorn
from uvicorn.server import ServerState

from clawperator.app.serve import connections
from clawperator.app.serve.accept_limits import Acceptor, ConnectionTable
from clawperator.app.serve.connections import BoundedProtocol
from clawperator.app.serve.gate import Message, Receive, Scope, Send

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class App:
    """Answers every request with ``size`` bytes, without reading its body."""

    def __init__(self) -> None:
        self.size = 2
        self.asked, self.may_answer, self.answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.may_answer.wait()
        start: Message = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-length", b"%d" % self.size)],
        }
        await send(start)
        for _ in range(0, self.size, 50_000):
            await send({"type": "http.response.body", "body": b"x" * min(self.size, 50_000), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        self.answered.set()


@asynccontextmanager
async def serving(app: App) -> AsyncIterator[tuple[socket.socket, ConnectionTable]]:
    """A client that is connected, and the table of the server's connections."""
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none")
    config.load()
    table = ConnectionTable(10)
    listener = socket.create_server(("127.0.0.1", 0))
    acceptor = Acceptor(listener, partial(BoundedProtocol, config, ServerState(), table), table, log_line=print)
    with listener, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, listener.getsockname())
        try:
            yield client, table
        finally:
            acceptor.close()
            await acceptor.wait_closed()
            for connection in list(table._open):
                connection.abort()
            await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 -- nothing tells
        await asyncio.sleep(0.01)


async def test_a_client_that_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.1)
    app = App()
    app.size = 50_000_000
    async with serving(app) as (client, table):
        await asyncio.get_running_loop().sock_sendall(client, HEAD + b"\r\n")
        await until(lambda: bool(table._open))
        await until(lambda: not table._open)
        await app.answered.wait()  # what is written goes nowhere, and the application comes to its end


async def test_a_body_that_no_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_DRAIN_SECONDS", 0.1)
    loop = asyncio.get_running_loop()
    async with serving(App()) as (client, table):
        await loop.sock_sendall(client, HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 90_000)
        assert (await loop.sock_recv(client, 4_096)).startswith(b"HTTP/1.1 200 ")
        await until(lambda: not table._open)


async def test_a_client_that_ends_its_side_gets_the_answer() -> None:
    loop, app = asyncio.get_running_loop(), App()
    app.may_answer.clear()
    async with serving(app) as (client, table):
        await loop.sock_sendall(client, HEAD + b"\r\n")
        await app.asked.wait()
        client.shutdown(socket.SHUT_WR)
        loop.call_later(0.05, app.may_answer.set)
        answer = b""
        while part := await loop.sock_recv(client, 4_096):
            answer += part
        assert (answer[:13], answer[-2:]) == (b"HTTP/1.1 200 ", b"xx")
        await until(lambda: not table._open)


async def test_a_body_that_comes_after_its_answer() -> None:
    loop = asyncio.get_running_loop()
    async with serving(App()) as (client, _):
        for _ in range(3):
            await loop.sock_sendall(client, HEAD + b"Content-Length: 100000\r\n\r\n")
            answer = b""
            while not answer.endswith(b"xx"):
                answer += await loop.sock_recv(client, 4_096)
            assert answer.startswith(b"HTTP/1.1 200 ")
            await loop.sock_sendall(client, b"x" * 100_000)


async def test_an_endless_body_that_no_one_reads() -> None:
    loop = asyncio.get_running_loop()
    async with serving(App()) as (client, table):
        await loop.sock_sendall(client, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                await loop.sock_sendall(client, b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        await until(lambda: not table._open)


async def test_a_connection_without_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    loop = asyncio.get_running_loop()
    async with serving(App()) as (client, _):
        assert await loop.sock_recv(client, 4_096) == b""
    async with serving(App()) as (client, _):
        await loop.sock_sendall(client, b"GET")
        assert (await loop.sock_recv(client, 4_096)).startswith(b"HTTP/1.1 408 ")
