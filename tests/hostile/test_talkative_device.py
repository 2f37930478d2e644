"""A device that does not stop talking: deadlines and the event loop hold against any stream of bytes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clawperator.engine.adb import blocking
from clawperator.engine.adb.failures import AdbTimeoutError
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError

from .talkative import FLOODS, SERIAL, talkative

CLI = (sys.executable, "-m", "clawperator.app.cli")


@pytest.mark.parametrize("flood", FLOODS)
async def test_a_deadline_holds_and_others_have_their_turn(flood: str) -> None:
    turns = 0

    async def neighbour() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    with talkative(flood) as hostile:
        beside = asyncio.create_task(neighbour())
        device = AdbServer.from_env(hostile.env()).device(SERIAL)
        with pytest.raises(EngineError) as caught:
            await device.shell(["true"], timeout=0.5)
        assert isinstance(caught.value, AdbTimeoutError) or "larger than" in str(caught.value)
        assert turns
        beside.cancel()


@pytest.mark.parametrize("flood", ["empty packets", "endless text"])
def test_what_light_commands_keep_is_bounded(flood: str) -> None:
    with talkative(flood) as hostile, pytest.raises(EngineError) as caught:
        blocking.shell(SERIAL, ["true"], env=hostile.env(), timeout=2.0)
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"


@pytest.mark.parametrize("flood", ["empty packets", "one byte in each packet", "silence"])
def test_a_signal_is_heard(flood: str, tmp_path: Path) -> None:
    with talkative(flood) as hostile:
        env = {**os.environ, **hostile.env(), "HOME": str(tmp_path)}
        words = ("observe", "snapshot", "--device-id", SERIAL, "--timeout-ms", "100000")
        running = subprocess.Popen([*CLI, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                running.communicate(timeout=2)
            running.send_signal(signal.SIGTERM)
            running.communicate(timeout=30)
        finally:
            running.kill()
            running.communicate()
    assert running.returncode > 0, "ended by its own decision, not by the kernel's"
