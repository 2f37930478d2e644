"""A pytest test of an app on a simulated device in the same process: no adb, no emulator, milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from clawperator.engine import Engine
from clawperator.engine.config.settings import Settings
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation

PLAN = {
    "commandId": "settings-1",
    "taskId": "settings",
    "source": "pytest",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 10_000,
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Network & internet"}}},
        {"id": "title", "type": "read_text", "params": {"matcher": {"textEquals": "Internet"}}},
    ],
}


def on_a_device(work: Callable[[Engine], Awaitable[None]]) -> None:
    async def run() -> None:
        async with (
            Simulation([create_device()]) as simulation,
            Engine(Settings.resolve({}, simulation.env())) as engine,
        ):
            await work(engine)

    asyncio.run(run())


def test_the_network_page_lists_internet() -> None:
    async def work(engine: Engine) -> None:
        result = await engine.execute(PLAN)
        assert result.outcome.status == "succeeded"
        assert result.envelope["stepResults"][2]["data"]["text"] == "Internet"

    on_a_device(work)
