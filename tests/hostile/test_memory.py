"""Memory of every command that reads from a device, against endless answers and against the largest that are accepted."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hostile.conftest import MOST_MEGABYTES, Run, megabytes
from tests.hostile.daemon import FLOODS, NONCE, Attack, HostileServer, chunk, hostile, largest, packet, packets, record
from tests.hostile.test_console_killed import console
from tests.support import CLI, Spawn, patience, varied

MARKER = record(b"[TaskScope] UI Hierarchy:")
BEGINNING = MARKER + record(b"<?xml version='1.0' ?>")
PIXELS = b"\x89PNG\r\n\x1a\n" + b"\0" * 65_000
FILE = chunk(b"x" * 65_536) * 4
ROWS = (b"ab\tdevice\n" * 6_553)[:65_535]

LOGS = {
    "dump": packets(record(b"<node text='x'/>") * 3_000),
    "empty lines in a dump": packets(record(b"") * 5_000),
    "doubtful records": packets(record(b"[TaskRunnerManager]") * 4_000),
    "dumps of many threads": packets(
        b"".join(
            record(b"[TaskScope] UI Hierarchy:", tid=tid) + record(b"<?xml?>", tid=tid) + record(b"<n/>" * 900, tid=tid)
            for tid in range(200)
        )
    ),
    "whole dumps": packets((BEGINNING + record(b"<n/>" * 900) * 100 + record(b"</hierarchy>")) * 2),
    "live lines": packets(record(b"[Clawperator-Command] stage-log commandId=c message=" + b"x" * 3_900) * 50),
    "commands": packets(
        b"".join(record(b"[Clawperator-Command] start commandId=%d taskId=%d" % (n, n), pid=n) for n in range(2_000))
    ),
    "envelopes": packets(record(b"[Clawperator-Result] {" + b"x" * 3_978, level=4) * 63),
    "refusals": packets(record(b"[Operator-Receiver] Failed to parse agent command payload" + b"\nx" * 2_000, level=6)),
    "tags": packets(b"".join(record(b"", tag=b"%d" % n + b"t" * 4_000) for n in range(100))),
    "no records": packet(b"x" * 60_000),
}
"""What the log can hold without end, once the execution or the watcher has attached to it."""


@dataclass(frozen=True)
class Case:
    words: str
    attack: Attack
    code: str = ""
    """Of the error; '' where the command may as well succeed."""


def cases() -> Iterator[tuple[str, Case]]:
    for name, flood in FLOODS.items():
        if name != "silence":
            yield f"packages list, {name}", Case("packages list", Attack("pm list", flood), "DEVICE_SHELL_UNAVAILABLE")
            yield f"doctor, {name}", Case("doctor --check-only", Attack("^shell", flood))
    text = FLOODS["short lines"]
    for words in ("observe snapshot", "action press-key --key home", "execute plan.json"):
        yield f"{words}, probe", Case(words, Attack("getprop", text), "DEVICE_SHELL_UNAVAILABLE")
        yield f"{words}, broadcast", Case(words, Attack("am broadcast", text), "BROADCAST_FAILED")
    yield (
        "packages list --verbose",
        Case("packages list --verbose", Attack("pm list", text), "DEVICE_SHELL_UNAVAILABLE"),
    )
    yield "operator status", Case("operator status", Attack("^shell", text), "DEVICE_SHELL_UNAVAILABLE")
    yield "operator crash-log", Case("operator crash-log", Attack("^shell", text), "DEVICE_SHELL_UNAVAILABLE")
    yield "doctor, dumps", Case("doctor --check-only", Attack("^shell.*(dumpsys|pm |settings)", text))
    yield "devices", Case("devices", Attack("^host:devices", opening=b"%04x" % len(ROWS) + ROWS))
    yield "devices --discover", Case("devices --discover", Attack("mdns", opening=b"%04x" % len(ROWS) + ROWS))
    yield "screenshot", Case("observe screenshot", Attack("screencap", PIXELS))
    yield "record pull, pointer", Case("record pull", Attack("^sync:", FILE), "DEVICE_SHELL_UNAVAILABLE")
    yield "record pull, file", Case("record pull --session-id abc", Attack("^sync:", FILE), "RECORDING_PULL_FAILED")
    for name, line in (("short lines", b"ab\n"), ("package rows", b"package:a uid:1\n")):
        for words in (
            "packages list",
            "doctor --check-only",
            "operator status",
            "operator crash-log",
            "observe snapshot",
        ):
            yield f"{words}, most {name}", Case(words, Attack("^shell(?!.*logcat -b main)", answer=largest(line)))
    for name in ("doubtful records", "whole dumps", "live lines"):
        yield f"observe snapshot, log with {name}", Case("observe snapshot --timeout-ms 1000", log_of(name, nonces=2))


def log_of(name: str, *, nonces: int) -> Attack:
    """A log that turns hostile when so many nonces have gone by: one per listener, then one per dispatch."""
    return Attack("^shell.*logcat -b main(?!.* -d )", LOGS[name], after=(NONCE, nonces), opening=packet(BEGINNING))


PLAN = """{"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator", "timeoutMs": 2000,
"actions": [{"id": "a", "type": "snapshot_ui"}]}"""
CASES = dict(cases())
OFTEN = ("packages list, short lines", "doctor, dumps", "record pull, pointer")
"""The cases of every run; CI runs all."""


@varied("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.ci) for name in CASES])
def test_a_command_stays_small(simulator: int, run: Run, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    (tmp_path / "plan.json").write_text(PLAN)
    with hostile(simulator, case.attack) as server:
        ran = run(server, *case.words.split(), seconds=15)
        assert server.attacked.is_set()
    assert ran.exit_code != 99, "it did not end in time"
    assert ran.megabytes < MOST_MEGABYTES
    assert not case.code or ran.code == case.code
    assert b"Traceback" not in ran.stderr
    assert not [left for left in tmp_path.rglob("*") if left.suffix in (".part", ".png", ".ndjson")]


def test_an_answer_that_is_too_large_is_read_once(simulator: int, run: Run) -> None:
    with hostile(simulator, Attack("pm list", FLOODS["short lines"])) as server:
        assert run(server, "packages", "list", seconds=15).code == "DEVICE_SHELL_UNAVAILABLE"
        assert server.attacks_begun == 1


@pytest.mark.parametrize(
    "name", [name if name == "doubtful records" else pytest.param(name, marks=pytest.mark.ci) for name in LOGS]
)
def test_a_watcher_stays_small(
    simulator: int, environment: Callable[[HostileServer], dict[str, str]], spawn: Spawn, name: str
) -> None:
    with hostile(simulator, log_of(name, nonces=1)) as server:
        child = spawn([*CLI, "watch", "--no-trees"], env=environment(server), stdout=subprocess.DEVNULL)
        assert server.soaked.wait(patience(20))
        assert megabytes(child.pid) < MOST_MEGABYTES
        child.terminate()
        assert child.wait(patience(5)) == 130


@pytest.mark.ci
@pytest.mark.parametrize("name", LOGS)
def test_a_console_stays_small(simulator: int, tmp_path: Path, name: str) -> None:
    """It watches the log from its start on, and a snapshot is wanted meanwhile."""
    with hostile(simulator, log_of(name, nonces=1)) as server, console(tmp_path, "console", **server.env()) as opened:
        process, screen = opened
        screen.reads_until(b"emulator-5554")
        before = megabytes(process.pid)
        os.write(screen.descriptor, b" ")
        deadline = time.monotonic() + patience(20)
        while not server.soaked.is_set():
            assert time.monotonic() < deadline
            if select.select([screen.descriptor], [], [], 0.1)[0]:
                os.read(screen.descriptor, 65_536)
        assert megabytes(process.pid) - before < MOST_MEGABYTES
