"""A network device dies and returns behind the real adb server, which need not push either."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.engine import Engine, Settings
from clawperator.engine.events.types import DevicesChanged
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.app.console.support import FakeClipboard, MemoryStore, until
from tests.app.console.test_console_journeys import text_of
from tests.journeys.conftest import until_state
from tests.support import adb_environment, free_port, patience, start_adb_server

pytestmark = pytest.mark.adb


class Phone:
    """A simulated device of the network that can be switched off and on again, at the same address."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._all = stack
        self._now = AsyncExitStack()
        self.port = 0

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def on(self, **scenario: object) -> None:
        world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
        self._now = await self._all.enter_async_context(AsyncExitStack())
        simulation = await self._now.enter_async_context(Simulation([world], mode="adbd", port=self.port))
        self.port = simulation.port

    async def off(self) -> None:
        await self._now.aclose()

    async def back(self, engine: Engine) -> None:
        """Switched on again and connected at once: by itself the adb server tries every ten seconds."""
        await self.on()
        await engine.server.disconnect_device(self.serial)
        await until_state(engine, self.serial, "")  # until then the server says "already connected", and then drops it
        await engine.server.connect_device(self.serial)


@pytest.fixture
async def phone() -> AsyncIterator[Phone]:
    async with AsyncExitStack() as stack:
        one = Phone(stack)
        await one.on()
        yield one


@asynccontextmanager
async def engine_with(phone: Phone, env: dict[str, str], home: Path) -> AsyncIterator[Engine]:
    async with Engine(Settings.resolve({"device_id": phone.serial}, {**env, "HOME": str(home)})) as engine:
        await engine.server.connect_device(phone.serial)
        await until_state(engine, phone.serial, "device")
        yield engine


async def test_a_dead_network_device_is_published_within_a_second(
    phone: Phone, adb_env: dict[str, str], tmp_path: Path
) -> None:
    async with engine_with(phone, adb_env, tmp_path) as engine:
        with engine.events.subscribe() as events:
            watching = asyncio.create_task(engine.watch_devices())

            async def published(state: str) -> None:
                async for event in events:
                    if isinstance(event, DevicesChanged) and state == next(
                        (entry.state for entry in event.devices if entry.serial == phone.serial), ""
                    ):
                        return

            try:
                await asyncio.wait_for(published("device"), patience(10))
                await phone.off()
                died = time.monotonic()
                await asyncio.wait_for(published("offline"), patience(10))
                assert time.monotonic() - died < patience(1)
                await phone.back(engine)
                await asyncio.wait_for(published("device"), patience(10))
            finally:
                watching.cancel()


async def test_the_console_reports_a_dead_device_at_once_and_recovers_by_itself(
    phone: Phone, adb_env: dict[str, str], tmp_path: Path
) -> None:
    async with engine_with(phone, adb_env, tmp_path) as engine:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=phone.serial)
        async with app.run_test(size=(120, 36)) as pilot:
            session = app.session
            await until(pilot, lambda: session.report.ended and session.trees.shown and not session.doctor_busy)
            assert not session.report_is_old
            tree, checked = session.trees.newest.at, session.report.ended
            await phone.off()
            await until(pilot, lambda: f"{phone.serial} offline" in text_of(app), seconds=2)
            await until(pilot, lambda: session.report_is_old)
            for mode in "2345671":
                await pilot.press(mode)
                await until(pilot, lambda: f"{phone.serial} offline" in text_of(app))
            await phone.back(engine)
            await until(pilot, lambda: session.trees.newest.at > tree and session.report.ended > checked)
            await until(pilot, lambda: f"{phone.serial} ✓" in text_of(app) and not session.report_is_old)
            await until(pilot, lambda: "the log stream" not in text_of(app).lower())


async def test_the_console_names_the_command_that_reconnects_after_the_end_of_the_adb_server(
    phone: Phone, tmp_path: Path
) -> None:
    port = free_port()
    server = start_adb_server(tmp_path, port)
    env = adb_environment(tmp_path, port)
    try:
        async with engine_with(phone, env, tmp_path) as engine:
            app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=phone.serial)
            async with app.run_test(size=(120, 36)) as pilot:
                await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
                tree = app.session.trees.newest.at
                await asyncio.to_thread(stop_adb_server, env, port)
                await until(pilot, lambda: f"adb restarted; reconnect: adb connect {phone.serial}" in text_of(app))
                await engine.server.connect_device(phone.serial)
                await until(pilot, lambda: app.session.trees.newest.at > tree and not app.session.report_is_old)
    finally:
        await asyncio.to_thread(stop_adb_server, env, port)
        server.kill()
        server.wait()


def stop_adb_server(env: dict[str, str], port: int) -> None:
    subprocess.run(["adb", "-P", str(port), "kill-server"], env=env, check=False, capture_output=True, timeout=20)
