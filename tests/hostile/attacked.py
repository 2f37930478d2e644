"""A server that is attacked, in a process of its own: it has to answer a good client, say little, and end when it is asked to."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

from tests.support import CLI, free_port, patience, running

MOST_LOG = 2_000
"""Bytes on stderr, whatever clients send."""
MOST_MEMORY = 40_000
"""Kilobytes that an attack may add."""
IMPLEMENTATIONS = ("httptools", "h11")
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


class Attacked:
    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        self._open = ExitStack()
        while (said := re.search(r"http://127\.0\.0\.1:(\d+)(\S*)\s", self.log())) is None:
            assert process.poll() is None, self.log()
            time.sleep(0.02)  # another process says it
        self.port, self.path = int(said[1]), said[2]
        self._before = self._memory()

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A client that has sent ``sent``; it is closed when the server has ended."""
        client = self._open.enter_context(socket.create_connection(("127.0.0.1", self.port), patience(10)))
        client.sendall(sent)
        return client

    def ask(self, path: str = "/healthz", **headers: str) -> int:
        """What a good client is answered."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=patience(15))) as client:
            client.request("GET", path, headers=headers)
            with client.getresponse() as response:
                return response.status

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def log(self) -> str:
        return self._log.read_text()

    def close(self) -> None:
        self._open.close()

    def has_held(self) -> None:
        added = self._memory() - self._before
        assert added < MOST_MEMORY, f"{added} kB more"
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(patience(15)) == 0
        log = self.log()
        assert len(log) < MOST_LOG
        assert "Traceback" not in log, log

    def _memory(self) -> int:
        """The resident memory in kilobytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def attacked(folder: Path, implementation: str, *words: str) -> Iterator[Attacked]:
    """``words`` are the command's, such as ``serve --port auto``. What is checked in the end holds for every attack."""
    shadow = folder / "shadow"
    shadow.mkdir()
    if implementation == "h11":  # uvicorn takes it where httptools is not installed
        (shadow / "httptools.py").write_text("raise ImportError\n")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "PYTHONPATH": str(shadow),
        "ADB_PATH": str(folder / "no adb"),
        "ANDROID_ADB_SERVER_PORT": str(free_port()),
    }
    log = folder / "stderr"
    command = [*CLI, *words]
    with (
        log.open("wb") as errors,
        running(command, env=env, stdout=subprocess.DEVNULL, stderr=errors) as process,
        closing(Attacked(process, log)) as server,
    ):
        yield server
        server.has_held()


def answer(client: socket.socket) -> bytes:
    """All that comes until the end of the connection."""
    got = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65_536):
            got += part
    return got


def refusal(client: socket.socket) -> tuple[int, str]:
    """Status and code of an answer that refuses."""
    head, _, body = answer(client).partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert error["hint"]
    assert isinstance(error["retryable"], bool)
    return int(head.split()[1]), error["code"]


def reset(client: socket.socket) -> None:
    """Leave without a farewell."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
