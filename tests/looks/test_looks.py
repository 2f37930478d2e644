"""Pictures of the console, as SVG. Journeys assert what happens; these pin what it looks like.

Made on Python 3.11 with the pinned Textual, with invented data and a clock that stands still. After a wanted change:
``pytest tests/looks --snapshot-update``, and look at every picture that changed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.app.console.support import (
    CHECK_IDS,
    CHECKS_NO_SERVER,
    CHECKS_OFF,
    CHECKS_OK,
    CHECKS_ON,
    NOON,
    FakeEngine,
    hostile_screen,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Compare, Typed, at_rest, before, plain_engine, press

pytestmark = PINNED


@AT_SIZES
def test_inspect(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*"j" * 13, engine=engine, busy=True))


@AT_SIZES
def test_inspect_without_a_device(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(FakeEngine(present=())), terminal_size=size, run_before=before(first_look=False))


@TWO_SIZES
def test_inspect_finding(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(
        make_app(plain_engine()), terminal_size=size, run_before=before("slash", Typed("blue"), "enter")
    )


@TWO_SIZES
def test_inspect_with_changes_marked(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()

    async def change(pilot: Any) -> None:
        await before("j", "j")(pilot)
        engine.screen = settings_screen(
            (
                ("Network & internet", "Flight mode", False),
                ("Wi‑Fi", "HomeNet", True),
                ("Apps", "Assistant, recent apps, default apps", False),
            )
        )
        await pilot.press("r")
        await until(pilot, lambda: pilot.app.screen.query_one("#tree").model.changes)
        await at_rest(pilot)

    assert snap_compare(make_app(engine), terminal_size=size, run_before=change)


@pytest.mark.ci
def test_inspect_drawer(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=before(*"jjj", "g", "n"))


def test_inspect_stale_and_away(snap_compare: Compare) -> None:
    engine = plain_engine()
    app = make_app(engine)

    async def leave(pilot: Any) -> None:
        await settled(pilot)
        engine.show_devices()
        await until(pilot, lambda: app.session.gone_since)
        engine.now.at += 42  # type: ignore[attr-defined]  # the movable clock
        app._second()
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=leave)


@AT_SIZES
def test_doctor(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OFF)
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("6", "right_square_bracket"))


@pytest.mark.ci
@TWO_SIZES
def test_doctor_waiting(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Half of the checks have been made; the console watches the devices."""
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_ON)
    app = make_app(engine)

    async def run_again(pilot: Any) -> None:
        await before("6", "w")(pilot)
        engine.held["device.capability"] = asyncio.Event()
        await press(pilot, "r")
        await until(pilot, lambda: app.session.report.pending[:1] == ("device.capability",))
        await press(pilot, *"jjjjj")

    assert snap_compare(app, terminal_size=size, run_before=run_again)


@TWO_SIZES
def test_doctor_fix_dialog(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Two steps that others feel, while an agent is at work; the checks after it were not made."""
    lock = {"deviceId": "emulator-5556", "commandId": "cmd-123", "source": "openclaw", "since": NOON - 4}
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_NO_SERVER, check_ids=CHECK_IDS, taken=[lock])
    app = make_app(engine)

    async def ask(pilot: Any) -> None:
        await until(pilot, lambda: app.session.locks)
        await before("6", "right_square_bracket", "F")(pilot)

    assert snap_compare(app, terminal_size=size, run_before=ask)


@pytest.mark.ci
@AT_SIZES
def test_doctor_fix_log(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OFF, fixed=CHECKS_ON, check_ids=CHECK_IDS)
    app = make_app(engine)

    async def fix(pilot: Any) -> None:
        await before("6", "right_square_bracket", "F", "enter")(pilot)
        await until(pilot, lambda: app.session.fixes and not app.session.doctor_busy and app.session.notices)
        await press(pilot, "g", "f")

    assert snap_compare(app, terminal_size=size, run_before=fix)


@TWO_SIZES
def test_doctor_fixing(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OFF, fixed=CHECKS_ON, hold_fix=asyncio.Event())
    app = make_app(engine)

    async def fix(pilot: Any) -> None:
        await before("6", "right_square_bracket", "F", "enter")(pilot)
        await until(pilot, lambda: app.session.fixes and app.session.fixes[0].stages)
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=fix)


@TWO_SIZES
def test_hostile_text(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=hostile_screen(), checks=CHECKS_OK)
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*"jjjjjjj"))
