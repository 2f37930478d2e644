"""A simulator for this folder's tests, and how much its commands may take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.cli.conftest import cli, lonely, warm_runtime
from tests.hostile.daemon import SERIAL, HostileServer
from tests.support import CLI, end, patience, running

__all__ = ["cli", "lonely", "warm_runtime"]  # command lines in this process, as the tests of the command line run them

MOST_MEGABYTES = 150
_MEASURE = """
import resource, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
try:
    code = child.wait(float(sys.argv[1]))
except subprocess.TimeoutExpired:
    child.kill()
    code = 99
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
"""The peak of a child counts what its parent had when it was forked, so a small process is its parent."""


@dataclass(frozen=True)
class Ran:
    """A command that has ended. ``exit_code`` is 99 where it had to be killed."""

    exit_code: int
    megabytes: float
    stdout: bytes
    stderr: bytes

    @property
    def answer(self) -> Any:
        return json.loads(self.stdout)

    @property
    def code(self) -> str:
        return str(self.answer.get("code", ""))


Run = Callable[..., Ran]


def megabytes(pid: int) -> float:
    """The most memory that a running process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an adb server with one simulated device, ``SERIAL``."""
    home = tmp_path_factory.mktemp("simulator")
    with running([*CLI, "sim", "--server"], stdout=subprocess.PIPE, env={**os.environ, "HOME": str(home)}) as child:
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        assert ready["serials"] == [SERIAL]
        yield ready["ports"][0]
        end(child)


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[HostileServer], dict[str, str]]:
    def make(server: HostileServer) -> dict[str, str]:
        return {**os.environ, **server.env(), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}

    return make


@pytest.fixture
def run(environment: Callable[[HostileServer], dict[str, str]], tmp_path: Path) -> Run:
    """Run a command line against a hostile server, in a folder of its own, for at most ``seconds``."""

    def call(server: HostileServer, *words: str, seconds: float = 10) -> Ran:
        ended = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(patience(seconds)), *CLI, *words],
            env=environment(server),
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        *said, peak = ended.stderr.splitlines(keepends=True)
        return Ran(ended.returncode, int(peak) / 1024, ended.stdout, b"".join(said))

    return call
