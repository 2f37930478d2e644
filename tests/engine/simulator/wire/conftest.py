from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest

from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.services import TOOLBOX
from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.streams import Collector, Streams, input_of
from tests.support import patience


def make_device(
    *,
    sdk: int = 34,
    state: str = "device",
    index: int = 0,
    faults: tuple[object, ...] = (),
    **profile: object,
) -> SimulatedDevice:
    """A device whose clock waits for nothing."""
    settings = {"speed": 0, "device": {"sdk": sdk, "state": state, **profile}, "faults": faults}
    return create_device(Scenario.model_validate(settings), index=index)


class Ran(NamedTuple):
    """What came out of a script."""

    status: int
    out: str
    err: str


class Runner:
    """Runs scripts on one device without any socket."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device

    async def __call__(self, script: str, stdin: bytes = b"") -> Ran:
        out, err = Collector(), Collector()
        shell = Shell(self.device, Streams(input_of(stdin), out, err), TOOLBOX)
        async with asyncio.timeout(patience(20)):
            status = await shell.run(script)
        return Ran(status, bytes(out.data).decode("utf-8", "replace"), bytes(err.data).decode("utf-8", "replace"))


@pytest.fixture
async def device() -> AsyncIterator[SimulatedDevice]:
    made = make_device()
    yield made
    await made.close()


@pytest.fixture
def sh(device: SimulatedDevice) -> Callable[..., Awaitable[Ran]]:
    return Runner(device)
