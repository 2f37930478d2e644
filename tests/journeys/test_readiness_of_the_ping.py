"""What a ping of Operator 0.7 and later says about screen and lock: the doctor repeats it, failures offer what helps, nobody wakes."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Connect
from tests.journeys.test_operator_generations import LOOK, plan

pytestmark = pytest.mark.adb


@pytest.mark.parametrize(
    ("awake", "locked", "unlocked", "words"),
    [
        (True, False, True, ""),
        (False, True, True, "but the screen is off"),
        (True, True, True, "but the device is locked"),
        (True, True, False, "but the device has not been unlocked since it started"),
    ],
)
@pytest.mark.parametrize("generation", ["0.5", "0.9", "1.0"])
async def test_the_handshake_says_what_the_app_says(
    connect: Connect, generation: str, awake: bool, locked: bool, unlocked: bool, words: str
) -> None:
    bench = await connect(device={"generation": generation, "awake": awake, "locked": locked})
    bench.world.user_unlocked = unlocked
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    found = checks["readiness.handshake"]
    assert found.status == "pass"
    assert found.evidence is not None
    assert ("screen_on" in found.evidence) is (generation != "0.5")
    assert found.summary.endswith(words if generation != "0.5" and words else "ms")
    offered = [step.value for check in (found, checks["device.screen"]) for step in check.fix]
    assert any(value.startswith("clawperator device wake") for value in offered) is not awake
    assert bench.world.ui.awake is awake


@pytest.mark.parametrize("generation", ["0.5", "0.10", "0.12"])
async def test_a_failure_for_want_of_a_tree_says_that_the_screen_is_off(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation, "awake": False})
    result = await bench.engine.execute(plan(LOOK))
    (warning,) = result.warnings
    assert warning["code"] == "SCREEN_OFF"
    assert "clawperator device wake" in warning["message"]
    assert not bench.world.ui.awake
