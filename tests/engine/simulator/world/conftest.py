"""Simulated devices that wait for nothing, and the way to send them commands as a host would."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from clawperator.engine.contracts.operator_identity import AGENT_ACTION
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.scenario import Scenario

Make = Callable[..., SimulatedDevice]
Operate = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """``make(*faults, generation="0.5", start="package", **scenario)``: a device, closed after the test."""
    made: list[SimulatedDevice] = []

    def build(*faults: Mapping[str, Any], generation: str = "0.5", start: str = "", **scenario: Any) -> SimulatedDevice:
        content: dict[str, Any] = {"speed": 0, "faults": faults, **scenario}
        if start:
            content["start"] = {"package": start}
        device = create_device(Scenario.model_validate(content), generation="0.3" if generation == "0.3" else "0.5")
        made.append(device)
        return device

    yield build
    for device in made:
        await device.close()


async def _send(device: SimulatedDevice, *actions: tuple[str, Mapping[str, Any]], **root: Any) -> list[dict[str, Any]]:
    steps = [{"id": f"s{number}", "type": kind, "params": params} for number, (kind, params) in enumerate(actions, 1)]
    payload = {"commandId": "c-1", "taskId": "t-1", "source": "test", "timeoutMs": 30_000, "actions": steps, **root}
    before = device.log.now_ns()
    extras = {"payload": json.dumps(payload, ensure_ascii=False)}
    await device.broadcast(AGENT_ACTION, device.operator_package, extras)
    await device.idle()
    lines = [record.text()[1].decode("utf-8", "replace") for record in device.log.reader(after_ns=before).take()]
    marker = "[Clawperator-Result] "
    return [json.loads(line.removeprefix(marker)) for line in lines if line.startswith(marker)]


@pytest.fixture
def send() -> Callable[..., Awaitable[list[dict[str, Any]]]]:
    """``await send(device, (type, params), …)``: all envelopes that came."""
    return _send


@pytest.fixture
def operate() -> Operate:
    """``await operate(device, (type, params), …)``: the one envelope that came."""

    async def send_for_one(
        device: SimulatedDevice, *actions: tuple[str, Mapping[str, Any]], **root: Any
    ) -> dict[str, Any]:
        [envelope] = await _send(device, *actions, **root)
        return envelope

    return send_for_one
