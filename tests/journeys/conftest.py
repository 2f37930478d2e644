"""An engine that reaches simulated devices through the real adb server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, Settings
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario


@dataclass(frozen=True)
class Bench:
    """One simulated device, connected; ``env`` is what another process needs to reach the same one."""

    engine: Engine
    world: SimulatedDevice
    simulation: Simulation
    serial: str
    env: dict[str, str]

    def another_engine(self) -> Engine:
        """As a second program on this computer would have it."""
        return Engine(replace(self.engine.settings), strict=self.engine.strict)


Connect = Callable[..., Awaitable[Bench]]


@pytest.fixture
async def connect(adb_env: dict[str, str], warm_env: dict[str, str], tmp_path: Path) -> AsyncIterator[Connect]:
    """Call it with the keys of a scenario (``speed`` is 0 unless given) to get a connected device.

    Unless ``strict``, several matches are no failure: as on the command line and over HTTP. Its command lines run in a warm process.
    """
    async with AsyncExitStack() as stack:

        async def make(*, wait_for: str = "device", strict: bool | None = False, **scenario: Any) -> Bench:
            world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
            simulation = await stack.enter_async_context(Simulation([world], mode="adbd"))
            env = {**adb_env, **warm_env, "HOME": str(tmp_path)}
            serial = f"127.0.0.1:{simulation.port}"
            settings = Settings.resolve({"device_id": serial}, env)
            engine = await stack.enter_async_context(Engine(settings, strict=strict))
            with suppress(EngineError) if wait_for != "device" else nullcontext():
                await engine.server.connect_device(serial)
            stack.push_async_callback(engine.server.disconnect_device, serial)
            await until_state(engine, serial, wait_for)
            return Bench(engine, world, simulation, serial, env)

        yield make


async def failure(engine: Engine, payload: object, **more: Any) -> dict[str, Any]:
    with pytest.raises(EngineError) as caught:
        await engine.execute(payload, **more)
    return caught.value.to_dict()


async def until_state(engine: Engine, serial: str, state: str) -> None:
    """Wait for a pushed device list in which ``serial`` has ``state`` ("" for absent)."""
    from contextlib import aclosing

    async with aclosing(engine.server.track_devices()) as lists:
        async for devices in lists:
            if state == next((entry.state for entry in devices if entry.serial == serial), ""):
                return
