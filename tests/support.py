"""A real adb server that belongs to the tests: another home, another port, no scan for emulators."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def adb_environment(home: Path, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "ADB_EMU": "0",
        "ANDROID_ADB_SERVER_PORT": str(port),
    }


def start_adb_server(home: Path, port: int) -> subprocess.Popen[bytes]:
    """The real server in the foreground of this test run; it says when it is ready on a pipe of its own."""
    ready, report = os.pipe()
    try:
        server = subprocess.Popen(
            ["adb", "-P", str(port), "fork-server", "server", "--reply-fd", str(report)],
            env=adb_environment(home, port),
            pass_fds=[report],
            stdin=subprocess.DEVNULL,
        )
    finally:
        os.close(report)
    with os.fdopen(ready, "rb") as stream:
        assert stream.read() == b"OK\n"
    return server
