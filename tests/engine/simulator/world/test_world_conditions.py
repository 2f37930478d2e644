"""The state of a device that a doctor asks for, and the switches of a scenario that change it."""

from __future__ import annotations

import asyncio
import time

import pytest

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.contracts.operator_identity import service_of
from clawperator.engine.simulator.clock import RoundTrips
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.dumpsys import dumpsys
from clawperator.engine.simulator.scenario import Scenario

SERVICE = service_of("com.clawperator.operator")


def device(**scenario: object) -> SimulatedDevice:
    return create_device(Scenario.model_validate({"speed": 0, **scenario}))


@pytest.mark.parametrize("sdk", [24, 29, 34])
@pytest.mark.parametrize(
    ("scenario", "bound", "crashed", "binding", "held"),
    [
        ({}, 1, (), (), False),
        ({"operator": {"enabled": False}}, 0, (), (), False),
        ({"faults": [{"kind": "service_down"}]}, 0, (), (), False),
        ({"faults": [{"kind": "service_down", "how": "crashed"}]}, 0, (SERVICE,), (), False),
        ({"faults": [{"kind": "service_down", "how": "binding"}]}, 0, (), (SERVICE,), False),
        ({"faults": [{"kind": "ui_automation_held"}]}, 0, (), (), True),
    ],
)
async def test_the_accessibility_dump(
    scenario: dict[str, object], bound: int, crashed: tuple[str, ...], binding: tuple[str, ...], held: bool, sdk: int
) -> None:
    state = parse_accessibility(dumpsys(device(device={"sdk": sdk}, **scenario), "accessibility"))
    assert (state.known, len(state.bound), state.ui_automation) == (True, bound, held)
    if sdk >= 29:  # before, these were not printed
        assert (state.crashed, state.binding) == (crashed, binding)


async def test_a_crashed_service_is_forgiven_once_it_is_switched_off() -> None:
    world = device(faults=[{"kind": "service_down", "how": "crashed"}])
    secure = world.settings["secure"]
    world.accessibility.settings_written()
    assert not world.accessibility.bound(SERVICE)
    secure["enabled_accessibility_services"] = ""
    world.accessibility.settings_written()
    secure["enabled_accessibility_services"] = SERVICE
    world.accessibility.settings_written()
    assert world.accessibility.bound(SERVICE)


async def test_screen_lock_and_clock() -> None:
    world = device(device={"awake": False, "locked": True, "clock_skew_ms": -5_000_000, "log_buffer_kib": 64})
    assert "mWakefulness=Asleep" in dumpsys(world, "power")
    assert "      showing=true\n" in dumpsys(world, "window", ["policy"])
    assert "mCurrentFocus" in dumpsys(world, "window")
    assert world.log.now_ns() / 1e9 - time.time() == pytest.approx(-5_000, abs=30)
    assert world.log.usage("main") == (0, 65_536)


async def test_round_trips_at_the_same_time_are_one_in_sequence() -> None:
    trips = RoundTrips(latency_ms=20)
    await asyncio.gather(trips.wait(), trips.wait(), trips.wait())
    assert (trips.total, trips.in_sequence) == (3, 1)
    await trips.wait()
    await asyncio.gather(trips.wait(), trips.wait())
    assert (trips.total, trips.in_sequence) == (6, 3)
    trips.reset()
    await trips.wait()
    assert (trips.total, trips.in_sequence) == (1, 1)
