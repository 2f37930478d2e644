"""Clients that exhaust a server before a token is asked for; the limits are the same with both of uvicorn's parsers."""

from __future__ import annotations

import resource
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support import patience

from .attacked import IMPLEMENTATIONS, REQUEST, Attacked, answer, attacked, refusal, reset

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
POST = b"POST /observe/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MCP = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
TOKEN = "right-token-0123456789"
PARSERS = [IMPLEMENTATIONS[0], *(pytest.param(name, marks=pytest.mark.ci) for name in IMPLEMENTATIONS[1:])]


@pytest.fixture(params=PARSERS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attacked]:
    with attacked(tmp_path, request.param, "serve", "--port", "auto") as found:
        yield found


@pytest.fixture(params=PARSERS)
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attacked]:
    """Asks for a token."""
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text(f"{TOKEN} owner\n")
    with attacked(tmp_path, request.param, "serve", "--port", "auto", "--token-file", str(tokens)) as found:
        yield found


@pytest.fixture(params=PARSERS)
def agents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attacked]:
    """The server of MCP."""
    with attacked(tmp_path, request.param, "mcp", "--http", "--port", "auto") as found:
        yield found


def test_a_flood_of_headers(server: Attacked) -> None:
    client = server.connect(REQUEST)
    block = b"".join(b"X-%d: %b\r\n" % (number, b"a" * 1_000) for number in range(300))
    sent = 0
    with suppress(OSError):
        while sent < 300_000_000:
            client.sendall(block)
            sent += len(block)
    assert sent < 30_000_000
    assert server.ask() == 200
    for lines in (b"X: 1\r\n" * 101, b"X: " + b"a" * 40_000 + b"\r\n"):
        assert refusal(server.connect(REQUEST + lines + b"Connection: close\r\n\r\n")) == (431, "HEADERS_TOO_LARGE")
    assert refusal(server.connect(b"GET /" + b"a" * 40_000)) == (431, "HEADERS_TOO_LARGE")
    enough = REQUEST + b"X: 1\r\n" * 90 + b"Y: " + b"a" * 20_000 + b"\r\nConnection: close\r\n\r\n"
    assert answer(server.connect(enough)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.ci
def test_requests_that_are_sent_ahead(server: Attacked) -> None:
    clients = []
    for _ in range(60):
        client = server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.setblocking(False)
        with suppress(BlockingIOError):
            for _ in range(20):
                client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
        clients.append(client)
    assert server.ask() == 200
    for client in clients:
        reset(client)
    some = server.connect(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40 + REQUEST + b"Connection: close\r\n\r\n"
    )
    assert answer(some).count(b"HTTP/1.1 200 ") == 41
    waiting_for_events = b"clawperator_event_streams 0"
    while waiting_for_events not in answer(server.connect(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")):
        time.sleep(0.05)  # the streams of those that left end


def test_what_is_no_http(server: Attacked) -> None:
    for sent in (
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\r\n\r\n",
        b"GET\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ):
        assert refusal(server.connect(sent)) == (400, "INVALID_REQUEST")
    both = answer(server.connect(REQUEST + b"\r\n" + b"\0\r\n\r\n"))
    assert both.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 400 " in both, "after the answer to the request before it"
    upgrade = b"Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHg=\r\n\r\n"
    assert answer(server.connect(REQUEST + upgrade)).startswith(b"HTTP/1.1 200 "), "there are no web sockets here"


def test_clients_that_leave(server: Attacked) -> None:
    leave(server, POST + b"Content-Length: 1000\r\n\r\n{", b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
          b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", REQUEST)  # fmt: skip


def test_clients_that_leave_the_server_of_mcp(agents: Attacked) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}'
    leave(agents, MCP + b"Content-Length: 1000\r\n\r\n{", MCP + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert refusal(agents.connect(REQUEST + b"X: " + b"a" * 40_000)) == (431, "HEADERS_TOO_LARGE")
    assert refusal(agents.connect(MCP + b"X: 1\r\n" * 101 + b"Connection: close\r\n\r\n")) == (431, "HEADERS_TOO_LARGE")


def test_clients_of_the_console_in_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("textual_serve", reason="needs the extra 'web'")
    with attacked(tmp_path, "aiohttp", "console", "--web") as server:
        before = server.descriptors()
        halves = [server.connect(b"GET / HTTP/1.1\r\nHost: local") for _ in range(200)]
        while server.descriptors() > before + 80:
            time.sleep(0.02)  # those that had no room are closed
        for sent in (
            REQUEST + b"X: " + b"a" * 40_000,
            REQUEST + b"X: 1\r\n" * 1_000,
            b"\x16\x03\x01\0\r\n\r\n",
            REQUEST,
        ):
            reset(server.connect(sent + b"\r\n\r\n"))
        assert server.ask(server.path, Host=f"127.0.0.1:{server.port}") == 200
        hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (before + 20, hard))
        halves += [server.connect(b"GET / HTTP/1.1\r\nHost: local") for _ in range(20)]
        assert server.ask(server.path, Host=f"127.0.0.1:{server.port}") == 200
        assert server.log().count("cannot be accepted") == 1


def leave(server: Attacked, *requests: bytes) -> None:
    for number in range(20):
        for request in requests:
            client = server.connect(request)
            (reset if number % 2 else socket.socket.close)(client)
    assert server.ask() in {200, 404}


def test_without_descriptors(server: Attacked) -> None:
    before = server.descriptors()
    hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (before + 6, hard))
    streams = [server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(3)]
    halves = [server.connect(REQUEST) for _ in range(60)]
    assert server.ask() == 200, "in the place of one that waits"
    streams += [server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(12)]
    used = cpu(server)
    time.sleep(3)  # what is measured: the processor time of these seconds
    assert cpu(server) - used < 1.5
    for client in (*streams, *halves):
        reset(client)
    assert server.ask() == 200
    assert server.log().count("cannot be accepted") == 1


def cpu(server: Attacked) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_wrong_tokens(guarded: Attacked) -> None:
    right, ended = {"Authorization": f"Bearer {TOKEN}"}, threading.Event()
    heard: Counter[int] = Counter()

    def guess() -> None:
        with closing(HTTPConnection("127.0.0.1", guarded.port)) as client:
            while not ended.is_set():
                client.request("GET", "/devices", headers={"Authorization": "Bearer wrong-token-0123456789"})
                response = client.getresponse()
                response.read()
                heard[response.status] += 1

    began = time.monotonic()
    guessing = [threading.Thread(target=guess) for _ in range(48)]
    for each in guessing:
        each.start()
    while sum(heard.values()) < 30:  # the flood has begun: who guesses waits
        time.sleep(0.02)
    slowest = 0.0
    for _ in range(30):
        asked = time.monotonic()
        assert guarded.ask("/schemas/execution", **right) == 200, "from the first time on"
        slowest = max(slowest, time.monotonic() - asked)
    assert guarded.ask() == 200
    seconds = time.monotonic() - began
    ended.set()
    for each in guessing:
        each.join()
    assert slowest < patience(1)
    assert heard.keys() <= {401, 429}
    assert heard[401] < 30 + 10 * (seconds + 3), "ten per second after the first ones"
    assert heard[429] <= len(guessing) * (seconds / 3 + 2), "none of them at once"


@pytest.mark.ci
def test_half_requests(server: Attacked) -> None:
    before = server.descriptors()
    clients = []
    for _ in range(1_000):
        with suppress(OSError):
            clients.append(server.connect(b"GET /healthz HTTP/1.1\r\nHost: local"))
    for _ in range(10):
        assert server.ask() == 200
    assert server.descriptors() < before + 600
    assert refusal(clients[-1]) == (408, "REQUEST_TIMEOUT")
    while server.descriptors() > before + 5:
        time.sleep(0.1)


@pytest.mark.ci
@pytest.mark.timeout(180)
def test_slow_bodies(server: Attacked) -> None:
    stream = server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    sent = POST + b"Content-Length: 1000\r\n\r\n{"
    clients = [server.connect(sent) for _ in range(300)]
    unread = server.connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
    assert server.ask() == 200
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(0.5):
            for client in (clients[-1], unread):
                with suppress(OSError):
                    client.send(b" ")

    dripping = threading.Thread(target=drip)
    dripping.start()
    assert answer(unread).startswith(b"HTTP/1.1 200 ")
    clients[-1].settimeout(90)
    assert refusal(clients[-1]) == (408, "REQUEST_TIMEOUT")
    ended.set()
    dripping.join()
    stream.settimeout(60)
    assert stream.recv(1)
    stream.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            assert stream.recv(65_536), "a stream stays"


def test_refused_connections_are_counted(server: Attacked) -> None:
    before = server.descriptors()
    hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (before + 6, hard))
    halves = [server.connect(REQUEST) for _ in range(20)]
    shown = answer(server.connect(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")).decode()
    count = next(line for line in shown.splitlines() if line.startswith("clawperator_connections_refused_total "))
    assert float(count.split()[1]) >= 10
    for client in halves:
        reset(client)
