"""The floor: the same conversation as one ``Engine.execute``, by hand on blocking sockets, understanding next to nothing of it."""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import Sequence
from typing import Any, Self

PACKAGE = "com.clawperator.operator"
ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"


class Connection:
    """One connection to the adb server; reads are as large as the kernel has them."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._socket.close()

    def request(self, service: str) -> None:
        data = service.encode()
        self._socket.sendall(b"%04x" % len(data) + data)
        assert self._exactly(4) == b"OKAY"

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._socket.recv(size - len(data))
        return data

    def answer(self) -> bytes:
        return self._exactly(int(self._exactly(4), 16))

    def device(self, serial: str) -> None:
        self.request(f"host:tport:serial:{serial}")
        self._exactly(8)

    def shell(self, serial: str, script: str) -> None:
        self.device(serial)
        self.request(f"shell,v2,raw:{script}")

    def type(self, data: bytes) -> None:
        """Write to a shell's standard input."""
        self._socket.sendall(struct.pack("<BI", 0, len(data)) + data)

    def until(self, mark: bytes) -> bytes:
        """Read until ``mark`` has come by."""
        parts: list[bytes] = []
        tail = b""
        while mark not in tail:
            data = self._socket.recv(1 << 18)
            assert data
            parts.append(data)
            tail = tail[-len(mark) :] + data
        return b"".join(parts)

    def until_exit(self) -> bytes:
        """Read a shell's packets to its exit code."""
        data = b""
        while True:
            at = 0
            while len(data) >= at + 5:
                kind, size = struct.unpack_from("<BI", data, at)
                if kind == 3 and len(data) >= at + 6:
                    return data
                at += 5 + size
            data += self._socket.recv(1 << 18)


class RawScript:
    """``cold`` opens the log stream for each command, ``open`` uses one that is there already."""

    def __init__(self, port: int, serial: str) -> None:
        self._port, self._serial = port, serial
        self._log = Connection(port)
        self._attach(self._log)

    def close(self) -> None:
        self._log.__exit__()

    def cold(self, wire: str, command_id: str) -> bytes:
        self._devices()
        with Connection(self._port) as log:
            self._attach(log)
            return self._dispatch(log, wire, command_id)

    def open(self, wire: str, command_id: str) -> bytes:
        self._devices()
        return self._dispatch(self._log, wire, command_id)

    def skip(self, command_id: str) -> None:
        """Read what somebody else's command wrote into the open log."""
        self._log.until(_mark(command_id))

    def _devices(self) -> None:
        with Connection(self._port) as connection:
            connection.request("host:devices-l")
            assert self._serial.encode() in connection.answer()

    def _attach(self, log: Connection) -> None:
        nonce = secrets.token_hex(8)
        start = f"T=$EPOCHREALTIME; log -t floor {nonce}"
        log.shell(self._serial, f'{start}; exec logcat -b main -b crash -B -T "$T"')
        log.until(nonce.encode())

    def _dispatch(self, log: Connection, wire: str, command_id: str) -> bytes:
        quoted = wire.replace("'", "'\"'\"'")
        with Connection(self._port) as shell:
            broadcast = f"am broadcast -a {ACTION} -p {PACKAGE} --es payload '{quoted}' --receiver-foreground"
            shell.shell(self._serial, f"log -t floor {secrets.token_hex(8)}; exec {broadcast}")
            shell.until_exit()
        return log.until(_mark(command_id))


class RawShell:
    """The same scripts as an execution by the stock backend: ``before`` each in a shell of its own, ``session`` in one shell."""

    def __init__(self, port: int, serial: str) -> None:
        self._port, self._serial = port, serial

    def run(self, before: Sequence[str], session: Sequence[str]) -> None:
        with Connection(self._port) as connection:
            connection.request("host:devices-l")
            assert self._serial.encode() in connection.answer()
        for script in before:
            with Connection(self._port) as shell:
                shell.shell(self._serial, script)
                shell.until_exit()
        with Connection(self._port) as shell:
            shell.shell(self._serial, "exec sh")
            for script in session:
                shell.type(f"(\n{script}\n) </dev/null; echo raw-script-end\n".encode())
                shell.until(b"raw-script-end\n")


def _mark(command_id: str) -> bytes:
    return f'[Clawperator-Result] {{"commandId":"{command_id}"'.encode()


def click(command_id: str) -> dict[str, Any]:
    return _plan(command_id, {"id": "a", "type": "click", "params": {"matcher": {"contentDescEquals": "Search"}}})


def snapshot(command_id: str) -> dict[str, Any]:
    return _plan(command_id, {"id": "a", "type": "snapshot_ui"})


def _plan(command_id: str, action: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": command_id,
        "source": "benchmark",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": [action],
    }
