"""Devices with several Android users, through the real adb: all that is asked, and all that is done, is for the one in the foreground."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.engine.operator.apks import apk
from tests.journeys.conftest import until_state
from tests.support import CLI, ran

pytestmark = pytest.mark.adb

PACKAGE = "com.clawperator.operator"
SECURE_FOLDER: dict[str, Any] = {"closed": [150]}
SECOND_USER: dict[str, Any] = {"current": 10}
FIRST_ONLY: dict[str, Any] = {"current": 10, "operator": [0]}
LEVELS = [23, 26, 29, 30, 33, 34]
"""pm has no -U; am has no get-current-user; pm does not know the current user; it does; logs are text; today."""


class Place:
    """An engine on one device behind the real adb."""

    def __init__(self, engine: Engine, world: SimulatedDevice, serial: str, env: dict[str, str]) -> None:
        self.engine, self.world, self.serial, self.env = engine, world, serial, env

    async def cli(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = await ran(*CLI, *words, "--device-id", self.serial, "--json", env=self.env)
        return done.exit_code, json.loads(done.out or done.err)


Visit = Callable[..., Awaitable[Place]]


@pytest.fixture
async def visit(adb_env: dict[str, str], warm_env: dict[str, str], tmp_path: Path) -> AsyncIterator[Visit]:
    env = {**adb_env, **warm_env, "HOME": str(tmp_path)}
    async with AsyncExitStack() as stack:

        async def make(users: dict[str, Any], *, sdk: int = 34, **scenario: Any) -> Place:
            faults = [{"kind": "android_users", **users}]
            given = {"speed": 0, "device": {"sdk": sdk}, "faults": faults, **scenario}
            world = create_device(Scenario.model_validate(given))
            simulation = await stack.enter_async_context(Simulation([world], mode="adbd"))
            await simulation.attach(int(env["ANDROID_ADB_SERVER_PORT"]))
            engine = await stack.enter_async_context(Engine(Settings.resolve({}, env)))
            (serial,) = simulation.serials
            stack.push_async_callback(engine.server.disconnect_device, serial)
            await until_state(engine, serial, "device")
            return Place(engine, world, serial, env)

        yield make


async def ready(place: Place) -> bool:
    checks = {check.id: check async for check in place.engine.doctor(device_id=place.serial).checks()}
    assert not any(check.unknown for check in checks.values())
    about = ("readiness.apk.presence", "readiness.accessibility.enabled", "readiness.accessibility.bound")
    return all(checks[name].status == "pass" for name in (*about, "readiness.handshake"))


@pytest.mark.parametrize("sdk", LEVELS)
@pytest.mark.parametrize("users", [SECURE_FOLDER, SECOND_USER], ids=["secure folder", "second user"])
async def test_a_device_with_another_user_is_ready_and_answers(visit: Visit, users: dict[str, Any], sdk: int) -> None:
    if users is SECOND_USER and sdk < 24:
        pytest.skip("before Android 7 no program says who is in the foreground")
    place = await visit(users, sdk=sdk)
    assert PACKAGE in await place.engine.packages(device_id=place.serial)
    assert await ready(place)
    result = await place.engine.execute(build.press_key("home"), device_id=place.serial)
    assert result.succeeded
    status = await place.engine.operator_app(device_id=place.serial).status()
    assert (status.enabled, status.bound) == (True, True)


async def test_the_command_line_lists_and_acts_for_the_user_in_the_foreground(visit: Visit) -> None:
    for users in (SECURE_FOLDER, SECOND_USER):
        place = await visit(users)
        exit_code, listed = await place.cli("packages", "list")
        assert (exit_code, PACKAGE in listed["packages"]) == (0, True)
        exit_code, pressed = await place.cli("action", "press-key", "--key", "home")
        assert (exit_code, pressed["outcome"]["status"]) == (0, "succeeded")


async def test_the_operator_of_another_user_is_named(visit: Visit) -> None:
    place = await visit(FIRST_ONLY)
    with pytest.raises(EngineError) as caught:
        await place.engine.execute(build.press_key("home"), device_id=place.serial)
    assert caught.value.code is ErrorCode.RECEIVER_NOT_INSTALLED
    words = "is not installed on {} for the Android user in the foreground, only for user 0"
    assert words.format(place.serial) in caught.value.message
    assert place.world.commands == 0, "nothing was sent to the Operator of user 0"
    (presence,) = [
        check async for check in place.engine.doctor(device_id=place.serial).checks(only="readiness.apk.presence")
    ]
    assert presence.summary.endswith("only for user 0")


async def test_a_foreground_user_that_adb_may_not_access_is_named(visit: Visit) -> None:
    place = await visit({"current": 10, "closed": [10]})
    words = "Android does not let adb access user 10, who is in the foreground"
    with pytest.raises(EngineError, match=words):
        await place.engine.packages(device_id=place.serial)
    checks = [check.to_dict() async for check in place.engine.doctor(device_id=place.serial).checks()]
    assert verdict_of(checks).summary == f"Not ready: {words}"
    with pytest.raises(EngineError, match="access user 10"):
        await place.engine.execute(build.press_key("home"), device_id=place.serial)


async def test_setup_makes_the_device_of_a_second_user_ready(visit: Visit, tmp_path: Path) -> None:
    place = await visit(FIRST_ONLY)
    file = tmp_path / "operator.apk"
    file.write_bytes(apk())
    await place.engine.operator_app(device_id=place.serial).setup(str(file))
    assert place.world.packages[PACKAGE].users == {0, 10}
    assert place.world.settings_of_others.get(0, {}).get("secure", {}).get("accessibility_enabled", "0") == "0"
    assert await ready(place)


@pytest.mark.parametrize("sdk", [29, 34])
async def test_apps_are_changed_for_the_user_in_the_foreground_only(visit: Visit, sdk: int) -> None:
    place = await visit(SECOND_USER, sdk=sdk)
    admin = place.engine.device_admin(device_id=place.serial)
    shop = place.world.packages["com.example.shop"]
    assert (await admin.uninstall(shop.name))["uninstalled"]
    assert shop.users == {0}
    assert shop.name not in await place.engine.packages(device_id=place.serial)
    with pytest.raises(EngineError, match="not installed"):
        await admin.clear(shop.name)
    with pytest.raises(EngineError, match="app of the system"):
        await admin.uninstall("com.android.settings")
    assert place.world.packages["com.android.settings"].users is None


async def test_settings_are_those_of_the_user_in_the_foreground(visit: Visit) -> None:
    place = await visit(SECOND_USER)
    await place.engine.device_admin(device_id=place.serial).rotate("90")
    assert place.world.settings["system"]["user_rotation"] == "1"
    assert "system" not in place.world.settings_of_others.get(0, {})


async def test_a_recording_is_that_of_the_user_in_the_foreground(visit: Visit, tmp_path: Path) -> None:
    place = await visit(SECOND_USER, operator={"version_name": "0.5.0"}, device={"sdk": 34, "generation": "0.5"})
    for words in (("start", "--session-id", "beans"), ("stop",)):
        assert (await place.cli("record", *words))[0] == 0
    exit_code, pulled = await place.cli("record", "pull", "--out", str(tmp_path / "here"))
    assert (exit_code, pulled.get("sessionId")) == (0, "beans"), pulled


async def test_the_stock_backend_starts_apps_for_that_user(visit: Visit) -> None:
    place = await visit(SECOND_USER, operator={"installed": False})
    place.engine.use_backend("stock")
    result = await place.engine.execute(build.open_app("com.example.shop"), device_id=place.serial)
    assert result.succeeded
