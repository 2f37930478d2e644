"""Readers of stdout that pause: a full pipe blocks nobody but the printing, and a signal ends it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.engine.skills.made import made_registry
from tests.hostile.conftest import MOST_MEGABYTES, megabytes
from tests.hostile.daemon import NONCE, SERIAL, Attack, HostileServer, hostile, packets, record
from tests.support import CLI, Spawn, patience

ROWS = b"".join(b"device-%05d\tdevice\n" % number for number in range(3_000))
LINES = packets(record(b"[Clawperator-Command] stage-log commandId=c message=" + b"x" * 3_900) * 50)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
@pytest.mark.parametrize("words", ["watch", "watch --output pretty"])
def test_watch(
    simulator: int,
    environment: Callable[[HostileServer], dict[str, str]],
    spawn: Spawn,
    words: str,
    number: signal.Signals,
) -> None:
    """It goes on reading the log, keeps little of it, and ends."""
    attack = Attack("^shell.*logcat", LINES, after=(NONCE, 1))
    with hostile(simulator, attack) as server:
        child = spawn([*CLI, *words.split()], env=environment(server), stdout=subprocess.PIPE)
        assert server.soaked.wait(patience(20))
        assert megabytes(child.pid) < MOST_MEGABYTES
        child.send_signal(number)
        assert child.wait(patience(5)) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_answer(
    simulator: int, environment: Callable[[HostileServer], dict[str, str]], spawn: Spawn, number: signal.Signals
) -> None:
    with hostile(simulator, Attack("^host:devices", opening=b"%04x" % len(ROWS) + ROWS)) as server:
        child = spawn([*CLI, "devices"], env=environment(server), stdout=subprocess.PIPE)
        _begun(child)
        child.send_signal(number)
        assert child.wait(patience(5)) == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_logs(
    simulator: int,
    environment: Callable[[HostileServer], dict[str, str]],
    spawn: Spawn,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    from clawperator.engine.diagnostics.log_file import today_path

    log = Path(today_path(str(tmp_path / "logs")))
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"event": "x" * 200}) + "\n" * 1)
    log.write_text((json.dumps({"event": SERIAL * 20}) + "\n") * 2_000)
    with hostile(simulator) as server:
        env = {**environment(server), "CLAWPERATOR_LOG_DIR": str(log.parent)}
        child = spawn([*CLI, "logs"], env=env, stdout=subprocess.PIPE)
        _begun(child)
        child.send_signal(number)
        assert child.wait(patience(5)) in (0, 130)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
@pytest.mark.parametrize(("flags", "stream"), [("--output pretty", "stdout"), ("--verbose", "stderr")])
def test_a_script_that_prints_without_end(
    simulator: int,
    environment: Callable[[HostileServer], dict[str, str]],
    spawn: Spawn,
    tmp_path: Path,
    flags: str,
    stream: str,
    number: signal.Signals,
) -> None:
    skill = "com.example.shop.talk"
    registry = made_registry(tmp_path / "root", {skill: {"run.sh": "#!/bin/sh\nwhile :; do echo words; done\n"}})
    with hostile(simulator) as server:
        env = environment(server)
        words = ["skills", "run", skill, "--registry", str(registry.path), *flags.split()]
        child = spawn([*CLI, *words], env=env, **{stream: subprocess.PIPE})
        pipe = child.stdout if stream == "stdout" else child.stderr
        assert pipe is not None
        assert pipe.read(1)
        child.send_signal(number)
        assert child.wait(patience(10)) == 130


def _begun(child: subprocess.Popen[bytes]) -> None:
    """Return when the child has printed; nothing more is read of it."""
    stream: IO[bytes] | None = child.stdout
    assert stream is not None
    assert stream.read(1)
