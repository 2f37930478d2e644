"""The console before a fleet: one console, the devices of two hosts, through a real NATS server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from unittest.mock import AsyncMock

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.start import not_offered
from clawperator.app.fleet import subjects
from clawperator.app.fleet.client import Fleet, fleet
from clawperator.app.fleet.connection import connected
from clawperator.app.fleet.engine import FleetEngine
from clawperator.app.serve import event_frames
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import build
from clawperator.widgets.emulator_list import EmulatorList
from tests.app.console.support import FakeClipboard, MemoryStore, until
from tests.app.fleet.conftest import Join, Nats, join, nats, proxy  # noqa: F401 -- fixtures
from tests.app.http.conftest import HOME, plan
from tests.journeys.remote_support import header, notice_says, package

LOOK = {"id": "look", "type": "snapshot_ui"}


@asynccontextmanager
async def console(url: str, *, size: tuple[int, int] = (120, 36), **more: Any) -> AsyncIterator[Any]:
    async with FleetEngine(url) as engine:
        app = ConsoleApp(
            engine,
            clipboard=FakeClipboard(),
            drafts=MemoryStore(),
            remote=engine.host,
            without=not_offered("there:"),
            **more,
        )
        async with app.run_test(size=size) as pilot:
            yield pilot


async def test_one_console_watches_and_uses_the_devices_of_two_hosts(nats: Nats, join: Join) -> None:  # noqa: F811
    hosts = [await join(name, 2, tag="lab") for name in ("east", "west")]
    first, second = (device.serial for device in hosts[0].devices)
    async with console(nats.url, wanted_device=f"east/{first}", size=(200, 60)) as pilot:
        app, session = pilot.app, pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended and not session.work)
        all_of_them = [f"{host}/{serial}" for host in ("east", "west") for serial in (first, second)]
        await until(pilot, lambda: [device.serial for device in session.devices] == all_of_them)
        assert "at fleet 127.0.0.1" in header(pilot)
        assert not session.report.problem
        assert not session.report.checks[0].get("error")

        app.dispatcher.run(build.open_app("com.android.settings"), "open settings")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: notice_says(pilot, "open settings: ok"))
        await until(pilot, lambda: package(pilot) == "com.android.settings")

        await pilot.press("7")
        pane = app.screen.query_one("#list", EmulatorList)
        names = ["east/d0", "east/d1", "west/d0", "west/d1"]  # the devices of a host whose answer is late come last
        await until(pilot, lambda: [app.screen._facts[each.serial].name for each in pane.devices] == names)
        async with fleet(
            nats.url
        ) as other:  # what others do is seen here, on a device that this console did not choose
            assert (await other.execute(plan(HOME, LOOK), f"west/{second}", wait_ms=20_000))["ok"]
        await until(pilot, lambda: (west := app.screen._facts[f"west/{second}"]).seen and west.run)
        assert pane.to_value(f"west/{second}")
        await pilot.press("enter")
        await until(pilot, lambda: session.device_id == f"west/{second}")
        hosts[1].leave()
        await until(pilot, lambda: f"west/{second}" in session.left, seconds=30)


async def test_a_device_is_chosen_by_its_alias(nats: Nats, join: Join) -> None:  # noqa: F811
    host = await join("east", 2, tag="lab")
    async with console(nats.url, wanted_device="east/d1") as pilot:
        await until(pilot, lambda: pilot.app.session.device_id == f"east/{host.devices[1].serial}")


async def test_a_host_is_gone_with_the_second_answer_that_is_missing(
    nats: Nats,  # noqa: F811
    join: Join,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = await join("east", 1)
    listed = (f"east/{host.devices[0].serial}",)
    async with FleetEngine(nats.url) as engine:
        answer = await engine.fleet.hosts()
        for answers, expected in ((answer, listed), ([], listed), (answer, listed), ([], listed), ([], ()), ([], ())):
            monkeypatch.setattr(Fleet, "hosts", AsyncMock(return_value=answers))
            assert tuple(device.serial for device in await engine.devices()) == expected


async def test_what_strangers_publish_does_not_disturb_the_console(nats: Nats, join: Join) -> None:  # noqa: F811
    host = await join("east")
    serial = host.devices[0].serial
    facts = '{"deviceId":"x","commandId":"c","stepId":"s","digest":"d","complete":true,"at":1e400}'
    async with console(nats.url) as pilot, connected(nats.url, name="stranger", lasting=False) as stranger:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and not session.work)
        for kind in (*event_frames.TYPES, "clawperator:none"):
            for data in (b"", b"[" * 60_000, b"{}", b'{"devices":1}', b"\xff", b'{"commandId":7,"event":{}}'):
                await stranger.publish(subjects.event_subject("east", serial, kind), data)
                await stranger.publish(subjects.event_subject("evil", "x", kind), data)
        for tree in (b"", b"<", b"<hierarchy/>"):
            for headers in ({}, {subjects.FACTS: facts}, {subjects.FACTS: "["}):
                await stranger.publish(subjects.tree_subject("evil", "x"), tree, headers=headers)
                await stranger.publish(f"{subjects.PREFIX}.tree.a", tree, headers=headers)
        async with fleet(nats.url) as client:
            assert (
                await client.execute(
                    plan(build.open_app("com.android.settings")["actions"][0], LOOK), f"east/{serial}", wait_ms=20_000
                )
            )["ok"]
        await until(pilot, lambda: package(pilot) == "com.android.settings")
        assert set(session._trees) <= {"", f"east/{serial}"}


async def test_a_fleet_that_is_lost_says_so_and_comes_back(nats: Nats, join: Join) -> None:  # noqa: F811
    host = await join("east")
    device = f"east/{host.devices[0].serial}"
    async with console(nats.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.device_id == device and session.trees.shown)
        await nats.stop()
        await until(pilot, lambda: "fleet" in session.adb_problem, seconds=30)
        await pilot.press("r")
        await until(pilot, lambda: notice_says(pilot, "The connection to the fleet is lost"))
        await nats.start()
        await until(pilot, lambda: not session.adb_problem and session.device is not None, seconds=60)
        before = host.devices[0].commands

        def read() -> bool:
            """Ask for the screen again: on a busy machine, one attempt may find the host not connected yet."""
            pilot.app.bridge.take_snapshot()
            return host.devices[0].commands > before

        await until(pilot, read, seconds=30)
        await until(pilot, lambda: not (session.work or session.tree_problem))


async def test_what_a_fleet_does_not_offer_says_so(nats: Nats, join: Join) -> None:  # noqa: F811
    await join("east")
    async with console(nats.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown)
        for at, words in (("7P", "provision emulator"), ("7o", "operator setup")):
            await pilot.press(*at)
            await until(pilot, partial(notice_says, pilot, words))


async def test_the_host_follows_while_someone_watches(
    nats: Nats,  # noqa: F811
    join: Join,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subjects, "SILENT_SECONDS", 1.5)
    host = await join("east")
    (device,) = host.devices
    async with console(nats.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and not session.work)
        await pilot.press("f")
        await until(pilot, lambda: session.follow and session.follow.phase == "resting")
        for package_shown in ("com.android.settings", "com.example.shop"):
            device.ui.show(package_shown)
            await until(pilot, lambda: package(pilot) == package_shown)  # noqa: B023
        await until(pilot, lambda: [serial for serial, _ in host.fleet._leases] == [device.serial])
        await pilot.press("f")
        await until(pilot, lambda: session.follow is None and not host.fleet._followers.tasks())

        async with fleet(nats.url) as silent:  # a watcher that says nothing any more
            assert (await silent.follow(f"east/{device.serial}", "silent"))["follow"]["phase"] == "reading"
            assert host.fleet._leases
            await until(pilot, lambda: not host.fleet._leases and not host.fleet._followers.tasks())

        await pilot.press("f")
        await until(pilot, lambda: session.follow and session.follow.phase == "resting")
        host.leave()
        await until(pilot, lambda: session.follow and session.follow.phase == "away", seconds=30)
        await until(pilot, lambda: not host.fleet._followers.tasks(), seconds=30)


async def test_a_partition_ends_follow_mode_on_both_sides(
    nats: Nats,  # noqa: F811
    join: Join,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subjects, "SILENT_SECONDS", 1.5)
    host = await join("east")
    news = asyncio.Event()
    async with proxy(nats.port) as (url, way), FleetEngine(url) as engine, asyncio.timeout(60):
        follow = engine.follow(f"east/{host.devices[0].serial}", lambda _: news.set())
        running = asyncio.create_task(follow.run())
        while not host.fleet._leases:  # noqa: ASYNC110 -- the host announces nothing
            await asyncio.sleep(0.01)
        way.clear()
        while follow.state.phase != "away":
            await news.wait()
            news.clear()
        while host.fleet._leases:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_tree_that_no_message_can_carry_is_a_failure_of_follow_mode(nats: Nats, join: Join) -> None:  # noqa: F811
    host = await join("east", faults=[{"kind": "huge_tree", "nodes": 2_000}])
    async with fleet(nats.url) as client, asyncio.timeout(30):
        state: dict[str, Any] = {"phase": ""}
        while state["phase"] != "failing":
            state = (await client.follow(f"east/{host.devices[0].serial}", "w", painted=True))["follow"]
    assert state["error"]["code"] == "HIERARCHY_TOO_LARGE"
    assert host.fleet.dropped


async def test_a_host_decides_who_follows_and_who_reads_its_history(nats: Nats, join: Join) -> None:  # noqa: F811
    host = await join("east", policy='version = 1\n[profiles.default.capabilities]\nallow = ["navigate"]\n')
    name = f"east/{host.devices[0].serial}"
    async with fleet(nats.url) as client:
        with pytest.raises(EngineError) as denied:
            await client.follow(name, "w")
        assert denied.value.code == "CAPABILITY_DENIED"
        with pytest.raises(EngineError) as denied:
            await client.history("east", limit=1)
        assert denied.value.code == "CAPABILITY_DENIED"
        with pytest.raises(EngineError) as wrong:
            await client._request(subjects.host_subject("east"), "east", 10, ask="execute", payload=plan(HOME))
        assert wrong.value.code == "INVALID_BODY"
    assert not host.fleet._leases


async def test_the_history_is_that_of_the_host_of_the_device(nats: Nats, join: Join) -> None:  # noqa: F811
    for name in ("east", "west"):
        await join(name)
    serials = [f"{name}/emulator-5554" for name in ("east", "west")]
    async with fleet(nats.url) as client:
        for number, serial in enumerate(serials):
            await client.execute(plan(LOOK, command=f"on-{number}"), serial)
    async with console(nats.url, wanted_device=serials[0], size=(160, 45)) as pilot:
        app, session = pilot.app, pilot.app.session
        await until(pilot, lambda: session.device_id == serials[0] and session.trees.shown and not session.work)
        await pilot.press("4")
        runs = app.screen.query_one("#runs")
        await until(pilot, lambda: "on-0" in {run.command_id for run in runs.runs})
        assert {run.device_id for run in runs.runs} == {serials[0]}
        history = app.engine.history
        first = next(run for run in runs.runs if run.command_id == "on-0")
        record = await history.find(first.number)
        assert record.summary == first
        assert "<hierarchy" in await history.tree(record.trees[0].digest)
        app.use_device(serials[1])
        await until(pilot, lambda: {run.device_id for run in runs.runs} == {serials[1]})
        assert "on-1" in {run.command_id for run in runs.runs}
        again = await history.find(first.number)
        assert again.summary == first, "a run keeps its number while this console runs"
        assert "<hierarchy" in await history.tree(record.trees[0].digest)
        assert (await history.find("on-1")).summary.device_id == serials[1]
        assert await history.runs(limit=10, before=first.number) == []
