"""``operator status``: one round trip, and what it says about a device in every condition."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.packages import SimulatedPackage
from tests.engine.operator.conftest import MakePhone

OURS: dict[str, Any] = {"package": RELEASE_PACKAGE, "versionName": "0.3.1", "versionCode": 301_900}


async def test_a_healthy_device(phone: MakePhone) -> None:
    there = await phone()
    await there.engine.device()
    there.world.round_trips.reset()
    found = (await there.app.status()).to_dict()
    assert found["installed"] == [OURS]
    assert (found["ready"], found["receiverPackage"], found["deviceId"]) == (True, RELEASE_PACKAGE, "emulator-5554")
    assert found["accessibility"] == {"listed": True, "enabled": True, "bound": True}
    assert found["compatibility"]["compatible"] is True
    assert found["notification"] == {"granted": True}
    assert found["notificationListener"] == {"listed": False}
    assert found["uiAutomationHeld"] is False
    assert there.world.round_trips.total <= 3  # which devices there are, what this one can do, and the question itself


@pytest.mark.parametrize(
    ("scenario", "ready", "service", "words"),
    [
        ({"operator": {"enabled": False}}, False, {"listed": False, "enabled": False, "bound": False}, "switched off"),
        (
            {"faults": [{"kind": "service_down", "how": "crashed"}]},
            False,
            {"listed": True, "enabled": True, "bound": False},
            "--force --device-id emulator-5554",
        ),
        (
            {"faults": [{"kind": "service_down"}], "device": {"sdk": 28}},
            False,
            {"listed": True, "enabled": True, "bound": False},
            "not running",
        ),
        ({"device": {"sdk": 28}}, True, {"listed": True, "enabled": True, "bound": True}, "is ready"),
        (
            {"operator": {"version_name": "0.13.0"}},
            False,
            {"listed": True, "enabled": True, "bound": True},
            "is not supported",
        ),
        (
            {"operator": {"installed": False}},
            False,
            {"listed": False, "enabled": False, "bound": None},
            "is not installed",
        ),
        (
            {"faults": [{"kind": "ui_automation_held"}]},
            False,
            {"listed": True, "enabled": True, "bound": False},
            "Another program holds UiAutomation",
        ),
    ],
)
async def test_conditions(
    phone: MakePhone, scenario: dict[str, Any], ready: bool, service: dict[str, bool | None], words: str
) -> None:
    found = (await (await phone(**scenario)).app.status()).to_dict()
    assert (found["ready"], found["accessibility"]) == (ready, service)
    assert words in found["message"]


async def test_both_variants_and_a_chosen_one(phone: MakePhone) -> None:
    there = await phone(operator={"package": DEBUG_PACKAGE})
    assert (await there.app.status()).package == DEBUG_PACKAGE
    there.world.add_operator(RELEASE_PACKAGE)
    both = await there.app.status()
    assert [variant.package for variant in both.installed] == [RELEASE_PACKAGE, DEBUG_PACKAGE]
    assert (both.package, both.enabled) == (RELEASE_PACKAGE, False)
    chosen = await there.engine.operator_app(receiver_package=DEBUG_PACKAGE).status()
    assert (chosen.package, chosen.enabled) == (DEBUG_PACKAGE, True)


async def test_versions_that_the_settings_accept(phone: MakePhone) -> None:
    there = await phone({"accepted_versions": ("0.13",)}, operator={"version_name": "0.13.4"})
    assert (await there.app.status()).ready
    assert (await there.app.compatibility()).compatible
    assert not (await there.app.compatibility(strict=True)).compatible


async def test_a_neighbour_with_a_longer_name_is_not_the_operator(phone: MakePhone) -> None:
    there = await phone(operator={"installed": False})
    there.world.packages[f"{RELEASE_PACKAGE}2"] = SimulatedPackage(f"{RELEASE_PACKAGE}2", 10_400)
    found = await there.app.status()
    assert found.installed == ()
    assert found.compatibility.error is not None
    assert found.compatibility.error.code is ErrorCode.RECEIVER_NOT_INSTALLED


async def test_a_device_without_an_answer(phone: MakePhone) -> None:
    there = await phone()
    there.world.disconnect()
    with pytest.raises(EngineError) as caught:
        await there.app.status()
    assert caught.value.code is ErrorCode.NO_DEVICES


async def test_settings_that_cannot_be_read_are_unknown(phone: MakePhone) -> None:
    there = await phone(faults=[{"kind": "program", "program": "settings", "how": "killed"}])
    found = (await there.app.status()).to_dict()
    assert found["accessibility"] == {"listed": None, "enabled": None, "bound": True}
    assert (found["ready"], found["notificationListener"]) == (False, {"listed": None})
    assert found["message"].startswith("The accessibility settings cannot be read")
