"""Pictures of the console, as SVG. Journeys assert what happens; these pin what it looks like.

Made on Python 3.11 with the pinned Textual, with invented data and a clock that stands still. After a wanted change:
``pytest tests/looks --snapshot-update``, and look at every picture that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.app.console.support import (
    CHECKS_FAILED,
    CHECKS_OK,
    DEVICE,
    LOCKED_OUT,
    PHONE,
    SECOND,
    TABLET,
    FakeEngine,
    hostile_screen,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.looks.poses import PINNED, SIZE_IDS, SIZES, Compare, at_rest, before, plain_engine

pytestmark = PINNED


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_inspect(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*"j" * 13, engine=engine, busy=True))


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_inspect_without_a_device(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(FakeEngine(present=())), terminal_size=size, run_before=before(first_look=False))


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_inspect_finding(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("slash", *"blue", "enter"))


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_IDS[:2])
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
        await until(pilot, lambda: pilot.app.screen.query_one("#tree").changes)
        await at_rest(pilot)

    assert snap_compare(make_app(engine), terminal_size=size, run_before=change)


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


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_stream(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("2", *"kkk", engine=engine, busy=True))


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_stream_failed_execution(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    keys = ("2", "home", "right_square_bracket", "right_square_bracket", "space", "enter")
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*keys, engine=engine, busy=True))


def test_stream_envelope(snap_compare: Compare) -> None:
    engine = plain_engine()
    keys = ("2", "home", "j", "enter", "l")
    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=before(*keys, engine=engine, busy=True))


def test_stream_device_log(snap_compare: Compare) -> None:
    engine = plain_engine()
    assert snap_compare(
        make_app(engine), terminal_size=(120, 36), run_before=before("2", *"ttt", engine=engine, busy=True)
    )


def test_stream_filter_hides_all(snap_compare: Compare) -> None:
    engine = plain_engine()
    keys = ("2", "slash", *"status:skipped !malformed", "enter")
    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=before(*keys, engine=engine, busy=True))


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_doctor(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_FAILED)
    assert snap_compare(
        make_app(engine), terminal_size=size, run_before=before("6", "right_square_bracket", "right_square_bracket")
    )


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_devices(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, present=(DEVICE, PHONE, TABLET, LOCKED_OUT))
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("7", "j"))


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_IDS[:2])
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("question_mark"))


def test_copy_menu(snap_compare: Compare) -> None:
    assert snap_compare(
        make_app(plain_engine()), terminal_size=(80, 24), run_before=before("slash", *"blue", "enter", "y")
    )


def test_device_picker(snap_compare: Compare) -> None:
    engine = FakeEngine(present=(DEVICE, SECOND, PHONE))
    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=before(first_look=False))


def test_too_small(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(58, 14), run_before=before())


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_IDS[:2])
def test_hostile_text(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=hostile_screen(), checks=CHECKS_OK)
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*"jjjjjjj"))


@pytest.mark.parametrize("theme", ["claw-light", "claw-contrast", "claw-cvd-dark", "claw-cvd-light"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    engine = plain_engine()
    assert snap_compare(
        make_app(engine, theme=theme), terminal_size=(120, 36), run_before=before(*"j" * 13, engine=engine, busy=True)
    )


@pytest.mark.parametrize("keys", [(), ("2",), ("question_mark",)], ids=["inspect", "stream", "help"])
def test_mono(snap_compare: Compare, keys: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``NO_COLOR``: bold, dim, underline and reverse only."""
    monkeypatch.setenv("NO_COLOR", "1")
    engine = plain_engine()
    app = make_app(engine, theme="claw-mono", no_colour=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=before(*"jjj", *keys, engine=engine, busy=True))


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_IDS[:2])
def test_ascii(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    app = make_app(engine, ascii_only=True)
    assert snap_compare(app, terminal_size=size, run_before=before(*"jjj", engine=engine, busy=True))
