"""An engine on one simulated device without any adb program, and small fake tools of this computer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.doctor import probes
from clawperator.engine.doctor.check import Check
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario

TOOLS = {
    "node": "echo v22.1.0",
    "git": "echo git version 2.45.0",
    "adb": "echo Android Debug Bridge version 1.0.41; echo Version 35.0.2-12147458",
    "java": "echo 'openjdk version \"17.0.9\" 2023-10-17' >&2",
}


@dataclass(frozen=True)
class Patient:
    """What a doctor looks at in these tests."""

    engine: Engine
    world: SimulatedDevice
    tools: Path

    async def checks(self, *, full: bool = False, strict: bool = False, only: str = "", since: str = "") -> list[Check]:
        doctor = self.engine.doctor(full=full, strict=strict)
        return [check async for check in doctor.checks(only=only, since=since)]

    async def by_id(self, *, strict: bool = False) -> dict[str, Check]:
        return {check.id: check for check in await self.checks(strict=strict)}


Admit = Callable[..., Awaitable[Patient]]


def write_tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with every tool in the version that is wanted."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, script in TOOLS.items():
        write_tool(folder, name, script)
    return folder


@pytest.fixture
async def admit(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Admit]:
    """Call it with the keys of a scenario (``speed`` is 0 unless given); ``env`` and ``settings`` are further choices."""
    monkeypatch.setattr(probes, "running_servers", lambda: ())
    async with AsyncExitStack() as stack:

        async def make(
            *, env: dict[str, str] | None = None, settings: dict[str, Any] | None = None, **scenario: Any
        ) -> Patient:
            world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
            simulation = await stack.enter_async_context(Simulation([world], mode="server"))
            surroundings = {"HOME": str(tmp_path), "PATH": str(tools), **simulation.env(), **(env or {})}
            engine = await stack.enter_async_context(Engine(Settings.resolve(settings, surroundings)))
            return Patient(engine, world, tools)

        yield make
