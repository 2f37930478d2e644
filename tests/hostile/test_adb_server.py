"""An adb server that is none, or one that lies: whatever it answers, the caller has a documented error within its deadline."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

from clawperator.engine.adb import blocking
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError, ErrorCode
from tests.app.cli.conftest import Cli
from tests.support import table

SECONDS = 0.5
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\r\x9bH"


def fail(text: str) -> bytes:
    data = text.encode()
    return b"FAIL%04x" % len(data) + data


def okay(text: str) -> bytes:
    data = text.encode()
    return b"OKAY%04x" % len(data) + data


ANSWERS = {
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "zeros": bytes(1_000),
    "nothing": b"",
    "half a status": b"OK",
    "half a length": b"OKAY00",
    "no length": b"OKAYzzzz",
    "a length with a sign": b"OKAY+00f",
    "less than its length": b"OKAY00ffshort",
    "less than the longest": b"OKAYffff" + b"x" * 60_000,
    "half a refusal": b"FAIL00ffbecause",
    "refusal without end": b"OKAY" + b"FAIL" * 20_000,
    "the longest refusal": fail("no" * 30_000),
    "refusal with escapes": fail(ESCAPES),
    "bytes that are no text": b"OKAY0004\xff\xfe\x80\x00",
    "escapes": okay(f"{ESCAPES}\tdevice\nx{ESCAPES} device transport_id:{'9' * 5_000}\n"),
    "a transport and nothing more": b"OKAY" + bytes(8),
    "a transport and a file list without end": b"OKAY" + bytes(8) + b"OKAY" + (b"DENT" + bytes(16)) * 3_000,
    "a transport and a name of gigabytes": b"OKAY" + bytes(8) + b"OKAYDENT" + b"\xff" * 16,
    "a transport and a piece of gigabytes": b"OKAY" + bytes(8) + b"OKAYDATA" + b"\xff" * 8,
    "a transport and a damaged shell": b"OKAY" + bytes(8) + b"OKAY" + b"\xff" * 10,
}
"""What is sent to every request before the server hangs up."""

CALLS: dict[str, Callable[[AdbServer], Awaitable[object]]] = {
    "version": lambda server: server.version(timeout=SECONDS),
    "devices": lambda server: server.devices(timeout=SECONDS),
    "connect": lambda server: server.connect_device("10.0.0.1:5555", timeout=SECONDS),
    "ask": lambda server: server.ask("host:mdns:services", timeout=SECONDS),
    "shell": lambda server: AdbDevice(server, "x").shell(["true"], timeout=SECONDS),
    "exec": lambda server: AdbDevice(server, "x").exec_out(["true"], timeout=SECONDS),
    "stat": lambda server: AdbDevice(server, "x").stat("/a", timeout=SECONDS),
    "pull": lambda server: AdbDevice(server, "x").pull("/a", timeout=SECONDS),
    "push": lambda server: AdbDevice(server, "x").push(b"a", "/a", timeout=SECONDS),
}
_DOCUMENTED = {
    ErrorCode.ADB_SERVER_FAILED, ErrorCode.DEVICE_SHELL_UNAVAILABLE, ErrorCode.DEVICE_NOT_FOUND, ErrorCode.DEVICE_OFFLINE,
    ErrorCode.NO_DEVICES, ErrorCode.PAIRING_FAILED,
}  # fmt: skip


class LyingServer:
    """Reads one request per connection, answers it with ``answer`` and hangs up, or with ``silent`` stays without a word."""

    def __init__(self, answer: bytes, *, silent: bool = False) -> None:
        self._answer, self._silent = answer, silent
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def env(self) -> dict[str, str]:
        return {"ANDROID_ADB_SERVER_PORT": str(self.port), "ADB_PATH": "/nowhere/adb"}

    def close(self) -> None:
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                with contextlib.suppress(OSError):
                    client.recv(4_096)
                    client.sendall(self._answer)
                    if not self._silent:
                        client.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def lying(answer: bytes, *, silent: bool = False) -> Iterator[LyingServer]:
    server = LyingServer(answer, silent=silent)
    try:
        yield server
    finally:
        server.close()


async def refusals(server: LyingServer) -> dict[str, ErrorCode | None]:
    """What every call comes to, all at once; ``None`` for one that took the answer for its own."""
    adb = AdbServer.from_env(server.env(), autostart=False)
    done = await asyncio.gather(*(call(adb) for call in CALLS.values()), return_exceptions=True)
    found: dict[str, ErrorCode | None] = {}
    for name, result in zip(CALLS, done, strict=True):
        assert not isinstance(result, BaseException) or isinstance(result, EngineError), f"{name}: {result!r}"
        found[name] = result.code if isinstance(result, EngineError) else None
    return found


@pytest.mark.parametrize("answer", ANSWERS)
async def test_every_answer_is_taken_or_refused(answer: str) -> None:
    with lying(ANSWERS[answer]) as server:
        found = await refusals(server)
    assert set(found.values()) <= {None, *_DOCUMENTED}


@pytest.mark.parametrize("beginning", [b"", b"OK", b"OKAY00", b"OKAYffff", b"OKAY" + bytes(8) + b"OKAY"])
async def test_a_server_that_falls_silent_is_left_at_the_deadline(beginning: bytes) -> None:
    with lying(beginning, silent=True) as server:
        found = await refusals(server)
    assert set(found.values()) <= _DOCUMENTED


@table("answer", ANSWERS)
def test_light_commands_fail_in_the_same_way(answer: str) -> None:
    with lying(ANSWERS[answer]) as server:
        for call in (blocking.devices, lambda **more: blocking.shell("x", ["true"], **more)):
            with contextlib.suppress(EngineError):
                call(env=server.env(), timeout=SECONDS)


@pytest.mark.parametrize("answer", ["refusal with escapes", "escapes", "another protocol", "refusal without end"])
@pytest.mark.parametrize("words", [("devices",), ("packages", "list"), ("observe", "snapshot", "--timeout-ms", "1000")])
def test_nothing_that_it_says_reaches_a_terminal(
    words: tuple[str, ...], answer: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lying(ANSWERS[answer]) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        for form in ("json", "pretty"):
            done = cli(*words, "--output", form)
            assert not {"\x1b", "\x07", "\x9b", "\r"} & set(done.out + done.err)
            assert "Traceback" not in done.err
            if form == "json":
                assert done.exit_code == 0 or json.loads(done.out)["code"] != ErrorCode.UNKNOWN
