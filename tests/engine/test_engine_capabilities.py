"""Every public method of the engine: what reads or changes a device or this computer needs a capability."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, Settings
from clawperator.engine.device_admin import DeviceAdmin
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.executions import build
from clawperator.engine.operator.app import OperatorApp

NOTHING = "version = 1\n[profiles.default.capabilities]\nallow = []\n"
Call = Callable[[Engine], Any]
MATCHER = {"textEquals": "x"}


ENGINE: dict[str, Call] = {
    "execute": lambda e: e.execute(build.click(MATCHER)),
    "snapshot": lambda e: e.snapshot(),
    "screenshot": lambda e: e.screenshot(),
    "picture": lambda e: e.picture(),
    "force_stop": lambda e: e.force_stop("com.example"),
    "devices": lambda e: e.devices(),
    "packages": lambda e: e.packages(),
    "locks": lambda e: e.locks(),
    "lock": lambda e: e.lock("x"),
    "lock_of": lambda e: e.lock_of("x"),
    "doctor": lambda e: e.doctor(),
    "use_backend": lambda e: e.use_backend("stock"),
    "follow": lambda e: e.follow("x", print)._look(None),  # type: ignore[arg-type]  # the policy is asked first
    "admit": lambda e: e.admit(build.snapshot(), "look"),
}
UNDER_THE_GUARD = {"operator_app", "device_admin", "emulators", "wireless", "fixer"}
"""They return objects whose methods have rows of their own below, or in the tests of every command."""
FREE = {
    "validate": "uses no device",
    "operator_package": "names the installed Operator app, for methods that are guarded",
    "backend_of": "reads a setting",
    "device": "finds the device of what is admitted on its own",
    "guard": "the policy itself",
    "under": "binds a caller",
    "watch_devices": "publishes to those who were admitted",
    "watch_log": "publishes to those who were admitted",
    "record_seen": "writes the history",
}
OPERATOR: dict[str, Callable[[OperatorApp], Any]] = {
    "setup": lambda a: a.setup(),
    "fetch": lambda a: a.fetch("x"),
    "grant": lambda a: a.grant(),
    "status": lambda a: a.status(),
    "crash_log": lambda a: a.crash_log(),
    "compatibility": lambda a: a.compatibility(),
}
ADMIN: dict[str, Callable[[DeviceAdmin], Any]] = {
    "apps": lambda a: a.apps(),
    "install": lambda a: a.install(__file__),
    "uninstall": lambda a: a.uninstall("com.example"),
    "clear": lambda a: a.clear("com.example"),
    "permission": lambda a: a.permission("grant", "com.example", "CAMERA"),
    "info": lambda a: a.info(),
    "rotate": lambda a: a.rotate("90"),
    "wake": lambda a: a.wake(),
    "reset": lambda a: a.reset(),
    "logs": lambda a: a.logs(),
}
EMULATORS: dict[str, Callable[[EmulatorManager], Any]] = {
    "avds": lambda m: m.avds(),
    "inspect": lambda m: m.inspect("pixel"),
    "status": lambda m: m.status(),
    "plan": lambda m: m.plan(),
    "create": lambda m: m.create(),
    "start": lambda m: m.start("pixel"),
    "stop": lambda m: m.stop("pixel"),
    "delete": lambda m: m.delete("pixel"),
    "provision": lambda m: m.provision(),
}


def public(kind: type) -> set[str]:
    members = inspect.getmembers(kind, lambda member: inspect.isfunction(member) or isinstance(member, property))
    return {name for name, _ in members if not name.startswith("_")}


def test_every_method_has_a_row() -> None:
    assert public(Engine) == ENGINE.keys() | UNDER_THE_GUARD | FREE.keys()
    assert public(OperatorApp) == OPERATOR.keys() | {"grant_commands"}, "the preview of command lines uses no device"
    assert public(DeviceAdmin) == ADMIN.keys()
    assert public(EmulatorManager) == EMULATORS.keys() | {"under"}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    policy = tmp_path / "policy.toml"
    policy.write_text(NOTHING)
    env = {"ANDROID_ADB_SERVER_PORT": "1", "HOME": str(tmp_path)}
    flags = {"policy_path": str(policy), "adb_path": str(tmp_path / "no-adb")}
    return Engine(Settings.resolve(flags, env))


async def called(call: Callable[[], Any]) -> None:
    found = call()
    if inspect.isawaitable(found):
        await found


async def refused(call: Callable[[], Any]) -> None:
    with pytest.raises(EngineError) as caught:
        await called(call)
    assert caught.value.code == "CAPABILITY_DENIED", caught.value


@pytest.mark.parametrize("name", ENGINE)
async def test_a_method_of_the_engine_is_refused(engine: Engine, name: str) -> None:
    await refused(lambda: ENGINE[name](engine))


@pytest.mark.parametrize("name", OPERATOR)
async def test_a_method_of_the_operator_app_is_refused(engine: Engine, name: str) -> None:
    await refused(lambda: OPERATOR[name](engine.operator_app()))


@pytest.mark.parametrize("name", ADMIN)
async def test_a_device_command_is_refused(engine: Engine, name: str) -> None:
    await refused(lambda: ADMIN[name](engine.device_admin()))


@pytest.mark.parametrize("name", EMULATORS)
async def test_a_method_for_emulators_is_refused(engine: Engine, name: str) -> None:
    await refused(lambda: EMULATORS[name](engine.emulators))
