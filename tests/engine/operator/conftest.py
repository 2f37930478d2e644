"""A simulated device behind the simulator's own adb server: every shell command is real, and no adb binary is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.operator import grants
from clawperator.engine.operator.app import OperatorApp
from clawperator.engine.progress import Stage
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario


@dataclass(frozen=True)
class Phone:
    """One device, an engine that sees it, and what was told while something was done to it."""

    engine: Engine
    world: SimulatedDevice
    home: Path
    reported: list[Stage]

    @property
    def app(self) -> OperatorApp:
        return self.engine.operator_app()

    @property
    def secure(self) -> dict[str, str]:
        return self.world.settings["secure"]


MakePhone = Callable[..., Awaitable[Phone]]


@pytest.fixture
async def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MakePhone]:
    """Call it with the keys of a scenario; ``flags`` are settings of the engine."""
    monkeypatch.setattr(grants, "OFF_SECONDS", 0.0)
    async with AsyncExitStack() as stack:

        async def make(flags: dict[str, Any] | None = None, **scenario: Any) -> Phone:
            world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
            simulation = await stack.enter_async_context(Simulation([world], mode="server"))
            env = {**simulation.env(), "HOME": str(tmp_path)}
            engine = await stack.enter_async_context(Engine(Settings.resolve(flags, env)))
            return Phone(engine, world, tmp_path, [])

        yield make
