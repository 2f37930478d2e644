"""Draws docs/console.svg: the running console on the built-in simulated device. ``python docs/picture.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.engine import Engine

SETTINGS = "com.android.settings"
WIFI = {"textEquals": "Network & internet"}


def plan(name: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": name,
        "taskId": "tour",
        "source": "openclaw",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [{"id": f"s{number}", **action} for number, action in enumerate(actions, 1)],
    }


async def turns(pilot: Pilot[int]) -> None:
    """The bridge delivers news on its own clock: let many of its ticks pass."""
    for _ in range(40):
        await pilot.pause(0.05)


async def main() -> None:
    async with one_device() as settings, Engine(settings) as engine:
        app = ConsoleApp(engine, demo=True)
        async with app.run_test(size=(120, 36)) as pilot:
            await turns(pilot)  # the console's own first look at the device
            await engine.execute(plan("open-settings", {"type": "open_app", "params": {"applicationId": SETTINGS}}))
            await engine.execute(
                plan("toggle-wifi", {"type": "click", "params": {"matcher": WIFI}}, {"type": "snapshot_ui"})
            )
            once = {"maxAttempts": 1}
            await engine.execute(
                plan(
                    "buy-milk", {"type": "click", "params": {"matcher": {"textEquals": "Add to basket"}, "retry": once}}
                )
            )
            await turns(pilot)
            await pilot.press("slash", *"wi", "enter")
            await turns(pilot)
            Path(__file__).with_name("console.svg").write_text(
                app.export_screenshot(title="clawperator"), encoding="utf-8"
            )


if __name__ == "__main__":
    asyncio.run(main())
