"""A device that does not stop talking, or says nothing: deadlines, signals and the event loop hold against any stream of bytes."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.adb import blocking
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import AdbTimeoutError
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import build
from clawperator.engine.executions.backends import operator
from clawperator.engine.executions.command import ENVELOPE_WAIT_SECONDS
from tests.hostile.conftest import Run
from tests.hostile.daemon import (
    EXIT,
    FLOODS,
    NONCE,
    SERIAL,
    STDERR,
    Attack,
    HostileServer,
    hostile,
    packet,
    record,
)
from tests.support import CLI, Spawn, patience, varied

TOO_MUCH = "the device's output is larger than 2 MiB"
SILENT = ("silence",)
EACH_FLOOD = pytest.mark.parametrize(
    "flood",
    [name if name in ("short lines", "silence") else pytest.param(name, marks=pytest.mark.ci) for name in FLOODS],
)


async def _listen(device: AdbDevice) -> None:
    async with device.stream("exec logcat") as stream:
        async for _ in stream:
            pass


@EACH_FLOOD
async def test_others_have_their_turn(simulator: int, flood: str) -> None:
    turns = 0

    async def neighbour() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    with hostile(simulator, Attack("^shell", FLOODS[flood])) as server:
        beside = asyncio.create_task(neighbour())
        device = AdbDevice(AdbServer.from_env(server.env()), SERIAL)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_listen(device), 0.5)
        assert turns
        beside.cancel()


@EACH_FLOOD
async def test_a_command_ends_at_its_deadline_or_at_its_limit(simulator: int, flood: str) -> None:
    with hostile(simulator, Attack("^shell", FLOODS[flood])) as server:
        device = AdbDevice(AdbServer.from_env(server.env()), SERIAL)
        with pytest.raises(EngineError) as caught:
            await device.shell(["true"], timeout=0.5 if flood in SILENT else 20)
        assert isinstance(caught.value, AdbTimeoutError) is (flood in SILENT)
        assert flood in SILENT or TOO_MUCH in caught.value.message
        with pytest.raises(EngineError) as caught:
            blocking.shell(SERIAL, ["true"], env=server.env(), timeout=0.5 if flood in SILENT else 20)
        assert flood in SILENT or TOO_MUCH in caught.value.message


async def test_a_refusal_of_a_refusal_of_a_refusal(simulator: int) -> None:
    """An adb server whose refusals never come to their reason is a broken one, not a recursion."""
    with hostile(simulator, Attack("^host:devices", b"FAIL" * 1_000)) as server:
        with pytest.raises(EngineError, match="unexpected length"):
            await AdbServer.from_env(server.env()).devices()
        with pytest.raises(EngineError, match="unexpected length"):
            blocking.devices(server.env())


@varied(
    ("words", "service", "code", "says"),
    [
        ("observe snapshot", "^host:devices", "ADB_SERVER_FAILED", "choosing the device"),
        (
            "observe snapshot",
            "^shell.*getprop",
            "DEVICE_SHELL_UNAVAILABLE",
            "looking for the Operator app on the device",
        ),
        ("close com.android.settings", "^shell.*force-stop", "DEVICE_SHELL_UNAVAILABLE", "stopping apps"),
        ("observe snapshot", "^shell.*logcat", "LOGCAT_UNAVAILABLE", ""),
    ],
)
def test_what_comes_before_the_dispatch_fits_the_callers_deadline(
    simulator: int, run: Run, words: str, service: str, code: str, says: str
) -> None:
    with hostile(simulator, Attack(service)) as server:
        ran = run(server, *words.split(), "--timeout-ms", "1000", seconds=4)
    assert ran.exit_code == 1
    assert ran.code == code
    expected = f"{says} before the dispatch: no answer within 1 s" if says else "not within 1 s"
    assert ran.answer["message"].endswith(expected)
    assert ran.answer.get("broadcastDispatchStatus", "not_sent") == "not_sent"


def test_a_picture_fits_the_callers_deadline(simulator: int, run: Run) -> None:
    with hostile(simulator, Attack("^exec.*screencap")) as server:
        ran = run(server, "observe", "screenshot", "--timeout-ms", "1000", seconds=4)
    assert "no answer within 1 s" in ran.answer["warnings"][0]["message"]


@pytest.mark.parametrize(
    "flood",
    [
        "empty packets",
        *(pytest.param(flood, marks=pytest.mark.ci) for flood in ("one byte in each packet", "short lines", "silence")),
    ],
)
@pytest.mark.parametrize("words", ["observe snapshot --timeout-ms 100000", "watch"])
def test_a_signal_is_heard(
    simulator: int,
    environment: Callable[[HostileServer], dict[str, str]],
    spawn: Spawn,
    tmp_path: Path,
    words: str,
    flood: str,
) -> None:
    """While the log, which has no limit, floods the process."""
    with hostile(simulator, Attack("^shell.*logcat", FLOODS[flood], after=(NONCE, 1))) as server:
        running = spawn(
            [*CLI, *words.split()],
            env=environment(server),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.attacked.wait(patience(10))
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=patience(5))
    assert running.returncode > 0, "ended by its own decision, not by the kernel's"


@pytest.mark.parametrize(
    "flood", ["short lines", *(pytest.param(each, marks=pytest.mark.ci) for each in ("silence", "empty packets"))]
)
async def test_a_log_that_does_not_end_adds_nothing_to_the_wait_for_an_answer(
    simulator: int, tmp_path: Path, flood: str
) -> None:
    """The live log and its buffer, which is read once more before the timeout."""
    attacks = Attack("^shell.*logcat", FLOODS[flood], after=(NONCE, 1)), Attack("^shell.*dumpsys")
    with hostile(simulator, *attacks) as server:
        async with Engine(Settings.resolve({"device_id": SERIAL}, {**server.env(), "HOME": str(tmp_path)})) as engine:
            began = time.monotonic()
            with suppress(EngineError):  # the buffer may hold the answer
                await engine.execute(build.snapshot() | {"timeoutMs": 1_000})
            elapsed = time.monotonic() - began
    spent = ENVELOPE_WAIT_SECONDS + 1 + operator._AFTERWARDS_SECONDS
    assert operator._AFTERWARDS_SECONDS < 0.5
    assert elapsed < spent + patience(3)  # the budgets that once added up took 8.7 s


def _ended(service: str) -> bytes:
    """A log that ends behind its nonce, if the service writes one."""
    nonce = re.search(r"clawperator-nonce-[0-9a-f]+", service)
    first = packet(record(nonce[0].encode(), tag=b"clawperator")) if nonce is not None else b""
    return first + packet(b"logcat: Unexpected EOF!\n", STDERR) + packet(b"\1", EXIT)


@varied("dispatched", [False, True])
def test_a_log_that_keeps_ending_is_unavailable_at_once_with_its_reason(
    simulator: int, run: Run, *, dispatched: bool
) -> None:
    """Before the dispatch, or again and again behind it."""
    attacks = [Attack("^shell.*exec logcat", answer=_ended)]
    if dispatched:
        attacks = [
            Attack("^shell.*exec logcat.* -T [0-9]", answer=_ended),
            Attack("^shell.*exec logcat", answer=lambda _: _ended(""), after=(NONCE, 2)),
        ]
    with hostile(simulator, *attacks) as server:
        ran = run(server, "observe", "snapshot", "--timeout-ms", "60000", seconds=10)
    assert ran.code == "LOGCAT_UNAVAILABLE"
    assert "logcat: Unexpected EOF!" in ran.answer["message"]
    assert ran.answer["broadcastDispatchStatus"] == ("sent" if dispatched else "not_sent")
