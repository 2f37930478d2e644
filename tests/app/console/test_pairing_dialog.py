"""Pairing from mode 7: the code is drawn, the simulated phone scans it, and the dialog follows what the adb server says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.pair_dialog import PairDialog, QrCode
from clawperator.app.qr import NARROW, modules
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.adb.wireless import Wireless
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.row_panes import WrappedText
from tests.app.console.support import CHECKS_OK, FakeEngine, make_app, settings_screen, settled, until

PIXELS = {" ": "00", "▀": "10", "▄": "01", "█": "11"}


@asynccontextmanager
async def pairing(
    *, tools: int = 35, size: tuple[int, int] = (120, 36), **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], AdbServer, list[str]]]:
    profile = {"speed": 0, "wireless": {"code": "924113"}, "adb_server": {"platform_tools": tools}}
    offers: list[str] = []
    async with Simulation([create_device(Scenario.model_validate(profile))], mode="server") as simulation:
        server = AdbServer.from_env(simulation.env(), autostart=False)
        engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
        engine.network = Wireless(server, poll=0.01)
        app = make_app(engine, **more)
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            real = QrCode.show

            def show(self: QrCode, payload: str) -> None:
                if payload:
                    offers.append(payload)
                real(self, payload)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(QrCode, "show", show)
                await pilot.press("7", "W")
                await until(pilot, lambda: isinstance(app.screen, PairDialog))
                yield app, pilot, server, offers


def words(app: ConsoleApp) -> str:
    rows = app.screen.query_one("#pairing", WrappedText).rows
    return " ".join(" ".join(row.draw(80).left.plain.split()) for row in rows)


def drawn(app: ConsoleApp) -> list[list[bool]]:
    """The modules that the terminal shows."""
    code = app.screen.query_one(QrCode)
    lines = ["".join(segment.text for segment in code.render_line(y)) for y in range(code.size.height)]
    return [[PIXELS[cell][half] == "1" for cell in line] for line in lines for half in (0, 1)]


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 36), marks=pytest.mark.ci)])
async def test_a_phone_that_scans_the_code_is_paired_and_connected(size: tuple[int, int]) -> None:
    async with pairing(size=size) as (app, pilot, server, offers):
        await until(pilot, lambda: offers and "wait for the scan" in words(app))
        assert [hint.label for hint in app.screen.query_one(KeyBar)._hints] == ["cancel"]
        code = app.screen.query_one(QrCode)
        await until(pilot, lambda: code.size.height == code.get_content_height() > 0)
        assert drawn(app)[: len(rows := modules(offers[0], NARROW))] == rows
        assert app.screen.region.contains_region(code.region)
        await server.ask(f"host:scan:{offers[0]}")
        await until(pilot, lambda: "Paired and connected: adb-" in words(app))
        assert not code.display, "the password is not shown any more"
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PairDialog))
        assert any("adb-" in entry.serial for entry in await server.devices())


@pytest.mark.ci
async def test_closing_cancels_and_a_server_that_cannot_pair_says_why() -> None:
    async with pairing() as (app, pilot, server, offers):
        await until(pilot, lambda: offers)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PairDialog))
        await server.ask(f"host:scan:{offers[0]}")
        assert not any("adb-" in entry.serial for entry in await server.devices())
    async with pairing(tools=29) as (app, pilot, _server, offers):
        await until(pilot, lambda: "too old" in words(app) or "platform" in words(app))
        assert not offers
        await pilot.press("enter")
        await until(pilot, lambda: words(app))


@pytest.mark.ci
async def test_without_colours_the_light_modules_are_drawn() -> None:
    async with pairing(theme="claw-mono", no_colour=True) as (app, pilot, _server, offers):
        code = app.screen.query_one(QrCode)
        await until(pilot, lambda: offers and code.size.height == code.get_content_height() > 0)
        rows = modules(offers[0], NARROW)
        assert drawn(app)[: len(rows)] == [[not dark for dark in row] for row in rows]


async def test_an_engine_that_cannot_pair_says_why() -> None:
    app = make_app(FakeEngine(screen=settings_screen(), checks=CHECKS_OK))
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("7", "W")
        await until(pilot, lambda: isinstance(app.screen, PairDialog) and "computer of the server" in words(app))
        assert not app.screen.query_one(QrCode).display
