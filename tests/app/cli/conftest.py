"""Running command lines: in this process for speed, in one of their own where the process is what is tested."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clawperator.app.cli.main import main
from tests.support import patience


class Run(NamedTuple):
    """What a command line left behind."""

    exit_code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; fails where there is more, less, or no final newline."""
        assert self.out.endswith("\n")
        value: dict[str, Any] = json.loads(self.out)
        return value


Cli = Callable[..., Run]
ProcessCli = Callable[..., Run]


@pytest.fixture
def lonely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment without devices, without adb and without anybody's settings; the free port answers nobody."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in list(os.environ):
        if name.startswith(("CLAWPERATOR_", "ANDROID_", "ADB_")):
            monkeypatch.delenv(name)
    chosen = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": str(tmp_path),
        "ADB_PATH": str(tmp_path / "no-adb"),
        "ANDROID_ADB_SERVER_PORT": str(port),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return chosen


@pytest.fixture
def cli(lonely: Mapping[str, str], capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """``cli(*arguments, stdin=b"")`` in this process."""

    def run(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        exit_code = main(arguments)
        out, err = capfdbinary.readouterr()
        return Run(exit_code, out.decode(), err.decode())

    return run


@pytest.fixture
def process(lonely: Mapping[str, str]) -> ProcessCli:
    """``process(*arguments)`` as ``python -m clawperator.app.cli``."""

    def run(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "clawperator.app.cli", *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=patience(50),
            check=False,
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
