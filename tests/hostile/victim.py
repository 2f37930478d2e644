"""One simulated device, and processes on it that get a signal at a moment that the device decides."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.errors import EngineError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks, LockStatus
from clawperator.engine.executions.device_queue import DeviceQueue
from clawperator.engine.history.records import RunSummary
from clawperator.engine.history.store import History
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.support import left_running, patience

CATCHABLE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*CATCHABLE, signal.SIGKILL)
_SERIAL = "emulator-5554"


@dataclass
class Victim:
    """``env`` is what processes need to reach ``world``; ``folder`` is all that they may write to."""

    world: SimulatedDevice
    env: dict[str, str]
    folder: Path

    @property
    def history(self) -> Path:
        return self.folder / "state" / "clawperator" / "history.db"

    @property
    def locks(self) -> Path:
        return self.folder / ".clawperator" / "locks"

    @property
    def plan(self) -> dict[str, Any]:
        """It closes an app, looks, presses a key and takes a picture: everything that an execution may do."""
        return {
            "commandId": "cut",
            "taskId": "t",
            "source": "tests",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 100_000,
            "actions": [
                {"id": "close", "type": "close_app", "params": {"applicationId": "com.android.settings"}},
                {"id": "look", "type": "snapshot_ui"},
                {"id": "home", "type": "press_key", "params": {"key": "home"}},
                {"id": "shot", "type": "take_screenshot"},
            ],
        }

    async def start(self, *words: str, **more: Any) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *words, env=self.env, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, **more
        )

    async def reached(self) -> None:
        """Return when something has come to the moment at which the device stops it."""
        async with asyncio.timeout(patience(30)):
            await self.world.pauses.reached.wait()

    # -- what has to hold afterwards, whatever was killed

    def runs(self) -> list[RunSummary]:
        """As the next process reads them."""
        with History.open(str(self.history), create=False) as history:
            return history.runs()

    async def free(self) -> None:
        """Nobody holds the device, nobody waits for it, and nothing has to settle."""
        assert (await self.lock()).state == "free"

    async def settles(self) -> None:
        """Nobody holds the device, and the next one is refused until it has settled, then not."""
        status = await self.lock()
        path = self.locks / f"{_SERIAL}.lock"
        not_before = json.loads(path.read_bytes())["not_before"]
        assert status.state in ("settling", "free"), "free only where this machine took longer than the device"
        with pytest.raises(EngineError) as caught:
            await self._take(not_before - 0.5)
        assert caught.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
        await self._take(not_before + 0.001)

    async def lock(self) -> LockStatus:
        async with asyncio.timeout(patience(5)):
            while DeviceQueue(str(self.locks / f"{_SERIAL}.queue")).busy:  # noqa: ASYNC110 -- the file system tells nobody
                await asyncio.sleep(0.02)  # a ticket that is new counts for a second, though its process is dead
        return DeviceLocks(str(self.locks)).status(_SERIAL)

    async def _take(self, now: float) -> None:
        command = Command("next", "t", "tests", 1_000, "{}", ("a", "sleep"))
        async with DeviceLocks(str(self.locks), clock=lambda: now).hold(_SERIAL, command):
            pass

    async def nothing_runs(self) -> None:
        assert await asyncio.to_thread(left_running, self.folder) == {}


@asynccontextmanager
async def victim(folder: Path, moment: str = "", **scenario: Any) -> AsyncIterator[Victim]:
    world = create_device(Scenario.model_validate({"speed": 0, "device": {"generation": "0.5"}, **scenario}))
    async with Simulation([world], mode="server") as simulation:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            **simulation.env(),
        }
        world.pauses.stop_at(moment)
        yield Victim(world, env, folder)
