"""The adb servers that run on this computer, read from ``/proc``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from clawperator.engine.adb.protocol import DEFAULT_PORT
from clawperator.engine.text.numbers import whole_number

_WITH_VALUE = ("-L", "-P", "-H", "-s", "-t", "--one-device", "--reply-fd")
_SERVERS = ("fork-server", "server", "nodaemon")
_COMMAND_BYTES = 4096
_PORT = re.compile(r"(?:^|:)(\d{1,5})$", re.ASCII)


class ServerProcess(NamedTuple):
    """A running adb server; ``port`` is 0 if it listens on something else than a TCP port (``address``)."""

    pid: int
    port: int
    address: str = ""

    @property
    def place(self) -> str:
        return f"port {self.port}" if self.port else self.address or "an unknown address"


def running_servers(proc: str = "/proc") -> tuple[ServerProcess, ...] | None:
    """Return every visible adb server of this computer; ``None`` if processes cannot be listed. Reads files."""
    try:
        pids = sorted(pid for name in os.listdir(proc) if (pid := whole_number(name)) is not None)
    except OSError:
        return None
    if not pids:
        return None
    found = (server_of(pid, _command(f"{proc}/{pid}/cmdline")) for pid in pids)
    return tuple(server for server in found if server is not None)


def _command(path: str) -> list[str]:
    try:
        with open(path, "rb") as stream:
            data = stream.read(_COMMAND_BYTES)
    except OSError:  # it has ended, or is hidden by its owner
        return []
    return data.decode(errors="replace").rstrip("\0").split("\0")


def server_of(pid: int, command: Sequence[str]) -> ServerProcess | None:
    """Parse ``adb -L tcp:5037 fork-server server --reply-fd 4`` and its variants; ``None`` for other command lines."""
    if not command or os.path.basename(command[0]) not in ("adb", "adb.exe"):
        return None
    address, words = f"tcp:{DEFAULT_PORT}", list(command[1:])
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag in _WITH_VALUE and words:
            value = words.pop(0)
            address = value if flag == "-L" else f"tcp:{value}" if flag == "-P" else address
    if not words or words[0] not in _SERVERS:
        return None
    port = _PORT.search(address) if address.startswith("tcp:") else None
    return ServerProcess(pid, int(port[1]) if port else 0, address)
