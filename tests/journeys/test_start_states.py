"""The console on a device that is not ready, through the real adb: the state is named, and the keys and clicks that it offers end it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.setup_screen import SetupDialog
from clawperator.app.console.doctor.fix_dialog import FixDialog
from clawperator.engine import Engine, EngineError, Settings
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.widgets.format.start_state import start_rows
from clawperator.widgets.ui_tree import UiTreePane
from tests.app.console.support import FakeClipboard, MemoryStore, until
from tests.app.console.test_console_journeys import text_of
from tests.engine.operator.apks import save
from tests.journeys.conftest import until_state
from tests.journeys.test_device_lost import Phone

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def console(engine: Engine, serial: str) -> AsyncIterator[tuple[ConsoleApp, Pilot[int]]]:
    app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=serial)
    async with app.run_test(size=(120, 36)) as pilot:
        yield app, pilot


async def use(app: ConsoleApp, pilot: Pilot[int], key: str, way: str) -> None:
    """Press ``key``, or click the row of the start state that offers it."""
    if way == "key":
        await pilot.press(key)
        return
    tree = app.screen.query_one("#tree", UiTreePane)
    assert tree.start_state is not None
    rows = start_rows(tree.start_state, tree.content_size.width)
    row = next(index for index, entry in enumerate(rows) if entry.key == key)
    top = (tree.view_height - len(rows)) // 3
    await pilot.click("#tree", offset=(tree.content_size.width // 2, top + row))


async def recovered(app: ConsoleApp, pilot: Pilot[int]) -> None:
    """The tree is shown and the verdict is ready, without another key."""
    await until(pilot, lambda: app.session.trees.shown and app.session.verdict and app.session.verdict.ready)
    await until(pilot, lambda: "Not ready" not in text_of(app))


@pytest.mark.parametrize("way", ["key", pytest.param("mouse", marks=pytest.mark.ci)])
async def test_no_operator(connect: Connect, tmp_path: Path, way: str) -> None:
    bench = await connect(operator={"installed": False})
    async with console(bench.engine, bench.serial) as (app, pilot):
        words = "Not ready: Operator not installed"
        await until(pilot, lambda: text_of(app).count(words) >= 2)  # the header and the tree pane
        checks = [check.to_dict() async for check in bench.engine.doctor().checks()]
        assert verdict_of(checks).summary == words, "as the command line, HTTP and MCP report it"
        await use(app, pilot, "o", way)
        await until(pilot, lambda: isinstance(app.screen, SetupDialog))
        app.operator_setup.install(save(tmp_path))
        await until(pilot, lambda: app.session.setup.job is not None and not app.operator_setup.busy)
        await pilot.press("escape")
        await recovered(app, pilot)


@pytest.mark.parametrize("way", ["key", pytest.param("mouse", marks=pytest.mark.ci)])
async def test_service_off(connect: Connect, way: str) -> None:
    bench = await connect(operator={"enabled": False})
    async with console(bench.engine, bench.serial) as (app, pilot):
        await until(pilot, lambda: text_of(app).count("Not ready: accessibility service off") >= 2)
        await use(app, pilot, "F", way)
        await until(pilot, lambda: isinstance(app.screen, FixDialog) and "⏎ run" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: not app.session.doctor_busy and app.session.trees.shown)
        await pilot.press("1")
        await recovered(app, pilot)


async def test_a_service_that_is_switched_on_at_the_device_is_noticed(connect: Connect) -> None:
    bench = await connect(operator={"enabled": False})
    async with console(bench.engine, bench.serial) as (app, pilot):
        await until(pilot, lambda: "Not ready: accessibility service off" in text_of(app))
        with suppress(EngineError):  # granted, but not verified while the device settles
            await bench.engine.operator_app().grant(force=False)
        await recovered(app, pilot)
        assert app.session.last_notice is None


async def test_unauthorised(adb_env: dict[str, str], tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        phone = Phone(stack)
        await phone.on(faults=[{"kind": "unauthorized"}])
        engine = await stack.enter_async_context(
            Engine(Settings.resolve({"device_id": phone.serial}, {**adb_env, "HOME": str(tmp_path)}))
        )
        with suppress(EngineError):
            await engine.server.connect_device(phone.serial)
        await until_state(engine, phone.serial, "unauthorized")
        async with console(engine, phone.serial) as (app, pilot):
            await until(pilot, lambda: f"{phone.serial} is unauthorized:" in text_of(app))
            assert "USB debugging" in text_of(app)
            await pilot.press("F")
            # a notice, or mode 6 with the check and its steps where the checks have finished before
            await until(
                pilot, lambda: "Allow USB debugging?" in text_of(app) + "".join(n.text for n in app.session.notices)
            )
            await phone.off()
            await phone.back(engine)  # confirmed on the device
            await recovered(app, pilot)
