"""One phone that adb lists twice gets one execution at a time, and is chosen once; two phones are never taken for one.

Over the real adb one simulated phone has two addresses. USB and Wireless debugging are the simulator's own adb server.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clawperator.engine import Engine, EngineError, Settings, fan_out
from clawperator.engine.doctor.check import Check
from clawperator.engine.events.types import DevicesChanged, EnvelopeSeen, LogAttached
from clawperator.engine.executions.device_lock import DeviceLocks
from clawperator.engine.history.seen_runs import SeenRuns
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.text.suggestions import adb_line
from tests.journeys.conftest import until_state
from tests.support import patience, ran

CLI = (sys.executable, "-m", "clawperator.app.cli")
PLAN = {
    "commandId": "buy-1",
    "taskId": "t",
    "source": "tests",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 20_000,
    "actions": [{"id": "a", "type": "press_key", "params": {"key": "home"}}],
}
USB, WIRELESS = "R5CT30ABCDE", "adb-R5CT30ABCDE-Fj4kLm._adb-tls-connect._tcp"
NO_NUMBERS = ("", "unknown", "0123456789ABCDEF", "EMULATOR36X1X11X0")


def phone(index: int = 0, **device: Any) -> SimulatedDevice:
    return create_device(Scenario.model_validate({"speed": 0, "device": device}), index=index)


def in_both_ways(**more: Any) -> SimulatedDevice:
    """A phone by USB and by Wireless debugging."""
    wireless = {"guid": "adb-R5CT30ABCDE-Fj4kLm", "paired": True}
    device = {"serial": USB, "usb": "1-4", **more}
    return create_device(Scenario.model_validate({"speed": 0, "device": device, "wireless": wireless}))


class Lab(NamedTuple):
    """Phones behind the real adb, each with two serials."""

    engine: Engine
    worlds: list[SimulatedDevice]
    serials: list[tuple[str, str]]
    env: dict[str, str]

    def another_engine(self, **more: Any) -> Engine:
        return Engine(replace(self.engine.settings, **more))

    async def run_all(self, devices: str = "all") -> dict[str, Any]:
        async def run(serial: str) -> Any:
            return (await self.engine.execute(PLAN, device_id=serial)).to_dict()

        return await fan_out.report(self.engine, devices, run)


@pytest.fixture
async def lab(adb_env: dict[str, str], tmp_path: Path) -> AsyncIterator[Any]:
    """Call it with simulated phones."""
    async with AsyncExitStack() as stack:

        async def make(*worlds: SimulatedDevice) -> Lab:
            simulation = await stack.enter_async_context(Simulation(worlds, mode="adbd"))
            env = {**adb_env, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
            engine = await stack.enter_async_context(Engine(Settings.resolve({}, env)))
            serials = [(f"127.0.0.1:{port}", f"localhost:{port}") for port in simulation.ports]
            for serial in (each for pair in serials for each in pair):
                await engine.server.connect_device(serial)
                stack.push_async_callback(engine.server.disconnect_device, serial)
                await until_state(engine, serial, "device")
            return Lab(engine, list(worlds), serials, env)

        yield make


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Any]:
    """An engine with the simulator's own adb server."""
    async with AsyncExitStack() as stack:

        async def make(*worlds: SimulatedDevice) -> Engine:
            simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
            settings = Settings.resolve({"lock_dir": str(tmp_path)}, simulation.env())
            return await stack.enter_async_context(Engine(settings))

        yield make


async def doctor_checks(engine: Engine, **how: Any) -> list[Check]:
    return [check async for check in engine.doctor(**how).checks()]


async def refused(engine: Engine, **how: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await engine.execute(PLAN, **how)
    return caught.value


@pytest.mark.adb
async def test_one_phone_with_two_addresses_is_listed_twice_and_used_once(lab: Any) -> None:
    made: Lab = await lab(phone())
    ((numeric, named),) = made.serials
    first, second = await made.engine.devices()
    assert (first.other_transports, first.preferred) == ((named,), True)
    assert (second.other_transports, second.preferred) == ((numeric,), False)
    assert (await made.engine.device()).serial == numeric, "one phone is no reason to ask which"
    for devices in ("all", f"{named},{numeric}", f"{named},all"):
        before = made.worlds[0].commands
        summary = await made.run_all(devices)
        assert (summary["ok"], len(summary["rows"]), made.worlds[0].commands - before) == (True, 1, 1)
        assert {summary["rows"][0]["deviceId"], *summary["rows"][0]["otherTransports"]} == {numeric, named}
    assert (await made.engine.execute(PLAN, device_id=named)).device_id == named, "a choice is a choice"


@pytest.mark.adb
@pytest.mark.parametrize("backend", ["operator", "stock"])
async def test_two_programs_with_one_serial_each_exclude_each_other(lab: Any, backend: str) -> None:
    made: Lab = await lab(phone())
    ((numeric, named),) = made.serials
    world, other = made.worlds[0], made.another_engine()
    world.pauses.stop_at("broadcast")
    first = asyncio.create_task(made.engine.execute(PLAN, device_id=numeric))
    async with asyncio.timeout(patience(10)):
        await world.pauses.reached.wait()
    how: dict[str, Any] = {"backend": backend, "allow_unbind": True} if backend == "stock" else {}
    error = await refused(other, device_id=named, **how)
    assert (error.code, error.details["otherTransport"]) == ("EXECUTION_CONFLICT_IN_FLIGHT", numeric)
    for name in (named, f"transport_id:{(await other.device(named)).transport_id}"):
        assert (await other.lock_of(name)).to_dict()["otherTransport"] == numeric
    assert {lock.device_id for lock in other.locks()} == {numeric, named}
    waiting = asyncio.create_task(other.execute({**PLAN, "commandId": "later"}, device_id=named, wait_ms=20_000, **how))
    async with asyncio.timeout(patience(10)):
        while not DeviceLocks(other.settings.lock_dir).status(named).holder:  # noqa: ASYNC110  # a file does not announce its change
            await asyncio.sleep(0.01)
    third = await refused(made.another_engine(), device_id=named)
    assert third.details["inFlightCommandId"] == "buy-1", "not the one that waits"
    for engine in (other, made.another_engine()):
        assert {lock.to_dict()["commandId"] for lock in engine.locks() if lock.device_id == numeric} == {"buy-1"}
        assert {(await engine.lock_of(name)).to_dict()["commandId"] for name in (named, numeric)} == {"buy-1"}
    world.pauses.resume()
    assert (await first).succeeded
    assert (await waiting).succeeded
    assert other.lock(named).state == other.lock(numeric).state == "free"


@pytest.mark.adb
@pytest.mark.parametrize("number", NO_NUMBERS)
async def test_phones_that_share_a_serial_number_stay_apart(lab: Any, number: str) -> None:
    made: Lab = await lab(phone(serialno=number), phone(1, serialno=number))
    summary = await made.run_all()
    assert sorted(row["deviceId"] for row in summary["rows"]) == sorted(first for first, _ in made.serials)
    assert [world.commands for world in made.worlds] == [1, 1]


@pytest.mark.adb
@pytest.mark.parametrize("number", ["EMULATOR36X1X11X0", "unknown", ""])
async def test_emulators_from_one_snapshot_stay_apart(lab: Any, number: str) -> None:
    worlds = phone(serialno=number), phone(1, serialno=number)
    worlds[1].boot_id = worlds[0].boot_id
    made: Lab = await lab(*worlds)
    assert len((await made.run_all())["rows"]) == 2
    assert [world.commands for world in made.worlds] == [1, 1]


@pytest.mark.adb
async def test_a_phone_that_does_not_say_who_it_is_is_known_by_its_serial(lab: Any) -> None:
    world = phone()
    world.boot_id = "Permission denied"
    made: Lab = await lab(world)
    assert [entry.other_transports for entry in await made.engine.devices()] == [(), ()]
    assert len((await made.run_all())["rows"]) == 2
    with pytest.raises(EngineError) as caught:
        await made.engine.device()
    assert caught.value.code == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"


@pytest.mark.adb
async def test_the_next_phone_at_an_address_is_another_one(adb_env: dict[str, str], tmp_path: Path) -> None:
    async with Engine(Settings.resolve({}, {**adb_env, "HOME": str(tmp_path)})) as engine:
        found = []
        port = 0
        for _ in range(2):
            async with Simulation([phone()], mode="adbd", port=port) as simulation:
                port = simulation.port
                serial = f"127.0.0.1:{port}"
                await engine.server.connect_device(serial)
                await until_state(engine, serial, "device")
                await engine.execute(PLAN, device_id=serial)
                found.append(engine.server.phones.newest(serial))
                await engine.server.disconnect_device(serial)
            await engine.devices()
            assert engine.server.phones.newest(serial) == ""
        assert found[0] != found[1]


@pytest.mark.adb
async def test_the_history_of_a_phone_has_the_runs_by_its_other_serial(lab: Any) -> None:
    made: Lab = await lab(phone())
    ((numeric, named),) = made.serials
    plan = json.dumps(PLAN)
    done = await ran(*CLI, "execute", "--execution", plan, "--device-id", numeric, env=made.env)
    assert done.exit_code == 0, done.err
    for serial in (named, numeric):
        listed = await ran(*CLI, "history", "list", "--device-id", serial, env=made.env)
        assert [run["deviceId"] for run in listed.document["executions"]] == [numeric]
    by_id = f"transport_id:{(await made.engine.device(named)).transport_id}"
    listed = await ran(*CLI, "history", "list", "--device-id", by_id, env=made.env)
    assert len(listed.document["executions"]) == 1
    listed = await ran(*CLI, "history", "list", "--device-id", "127.0.0.1:1", env=made.env)
    assert listed.document["executions"] == []
    rows = (await ran(*CLI, "devices", env=made.env)).document["devices"]
    assert [(row["serial"], row["otherTransports"], row["preferred"]) for row in rows] == [
        (numeric, [named], True),
        (named, [numeric], False),
    ]


@pytest.mark.adb
async def test_the_device_list_that_is_pushed_names_the_other_serial(lab: Any) -> None:
    made: Lab = await lab(phone())
    with made.engine.events.subscribe() as events:
        watching = asyncio.create_task(made.engine.watch_devices())
        try:
            async with asyncio.timeout(patience(10)):
                listed = next(event for event in await events.batch() if isinstance(event, DevicesChanged))
        finally:
            watching.cancel()
    assert [entry.preferred for entry in listed.devices] == [True, False]


async def test_usb_is_preferred_to_wireless_debugging(served: Any) -> None:
    world = in_both_ways()
    engine: Engine = await served(world)
    rows = {entry.serial: entry for entry in await engine.devices()}
    assert (rows[USB].other_transports, rows[USB].preferred) == ((WIRELESS,), True)
    assert (rows[WIRELESS].other_transports, rows[WIRELESS].preferred) == ((USB,), False)
    assert (await engine.execute(PLAN)).device_id == USB
    assert (await engine.execute(PLAN, device_id=WIRELESS)).device_id == WIRELESS
    assert (await engine.execute(PLAN, device_id="usb:1-4")).device_id == USB
    found = next(check for check in await doctor_checks(engine) if check.id == "device.discovery")
    assert found.evidence is not None
    assert (found.status, found.evidence["serial"]) == ("pass", USB)
    assert WIRELESS in found.detail


async def test_two_phones_with_one_serial_are_chosen_by_path_and_by_transport(served: Any) -> None:
    shared = "0123456789ABCDEF"
    worlds = [phone(index, serial=shared, usb=f"1-{index + 1}") for index in range(2)]
    engine: Engine = await served(*worlds)
    first, second = await engine.devices()
    assert (first.serial, second.serial, first.shared_serial) == ("usb:1-1", "usb:1-2", shared)
    assert (await engine.execute(PLAN, device_id="usb:1-2")).device_id == "usb:1-2"
    by_id = f"transport_id:{second.transport_id}"
    assert (await engine.execute(PLAN, device_id=by_id)).device_id == "usb:1-2"
    assert (await engine.execute(PLAN, device_id=f"transport-id:{first.transport_id}")).device_id == "usb:1-1"
    assert [world.commands for world in worlds] == [1, 2]
    for wanted in (None, shared):
        error = await refused(engine, device_id=wanted)
        assert error.code == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
        assert error.details["devices"] == ["usb:1-1", "usb:1-2"]
        assert f"2 devices have the serial {shared}: usb:1-1, usb:1-2" in error.message
        assert "--device-id usb:1-1" in error.hint
    for wanted in ("", shared):
        failed = [check for check in await doctor_checks(engine, device_id=wanted) if check.status == "fail"]
        assert [check.id for check in failed] == ["device.discovery"], "one finding, not one for each check"
        assert "usb:1-2" in failed[0].summary + failed[0].detail
    assert adb_line("usb:1-2", "reboot") == "adb -s usb:1-2 reboot"
    assert adb_line("transport_id:7", "reboot") == "adb -t 7 reboot"
    ready = await doctor_checks(engine, device_id="usb:1-1")
    assert not [check.summary for check in ready if check.status == "fail"]
    with pytest.raises(EngineError, match="2 devices have the serial"):
        fan_out.choose_devices(shared, await engine.devices(), {})


@pytest.mark.skipif(shutil.which("adb") is None, reason="needs the adb binary (Debian: apt install adb)")
async def test_the_real_adb_chooses_between_them_in_the_same_words() -> None:
    worlds = [phone(index, serial="0123456789ABCDEF", usb=f"1-{index + 1}", model=f"P{index}") for index in range(2)]
    async with Simulation(worlds, mode="server") as simulation:
        env = {**simulation.env(), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        model = ("shell", "getprop", "ro.product.model")
        assert "more than one" in (await ran("adb", "-s", "0123456789ABCDEF", *model, env=env)).err
        assert (await ran("adb", "-s", "usb:1-2", *model, env=env)).out.strip() == "P1"
        assert (await ran("adb", "-t", "1", *model, env=env)).out.strip() == "P0"


@pytest.mark.adb
async def test_a_run_that_is_seen_on_both_transports_is_one_run(lab: Any, tmp_path: Path) -> None:
    """A server follows the logs of all transports while another program runs an execution by one of them."""
    made: Lab = await lab(phone())
    ((numeric, named),) = made.serials
    settings = replace(made.engine.settings, history_path=str(tmp_path / "history.db"))
    async with Engine(settings, face="http") as server, Engine(settings, face="cli") as other:
        with server.events.subscribe() as events:
            assert server.history is not None
            tasks = [asyncio.create_task(server.watch_log(serial)) for serial in (numeric, named)]
            recording = SeenRuns(server.history, "http", server.events.typed, server.server.phones.newest)
            seen: set[str | None] = set()
            async with asyncio.timeout(patience(20)):
                while len(seen) < 2:
                    seen |= {event.device_id for event in await events.batch() if isinstance(event, LogAttached)}
                assert (await other.execute(PLAN, device_id=named)).succeeded
                seen = set()
                while len(seen) < 2:
                    recording.take(batch := await events.batch())
                    seen |= {event.device_id for event in batch if isinstance(event, EnvelopeSeen)}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert other.history is not None
        await asyncio.to_thread(other.history.close)
        runs = await server.history.runs()
    assert [(run.device_id, run.origin, run.status) for run in runs] == [(named, "made", "success")]
