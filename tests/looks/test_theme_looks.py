"""Every mode once in every other look: light, contrast, for the colour-blind, without colour, without glyphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.events.bus import EventBus
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.app.console.support import (
    CHECKS_FAILED,
    CHECKS_OK,
    DEVICE,
    LOCKED_OUT,
    PHONE,
    TABLET,
    FakeEngine,
    make_app,
    settings_screen,
    until,
)
from tests.looks.poses import PINNED, Compare, before
from tests.past_runs import NOON, a_run, failed, put
from tests.widgets.invented_runs import PAYLOAD

pytestmark = PINNED
THEMES = ("claw-light", "claw-contrast", "claw-cvd-dark", "claw-cvd-light")
MODES = {"inspect": "j" * 13, "stream": "2kkk", "run": "3j", "history": "4jt", "doctor": "6]", "devices": "7j"}
ALWAYS = ("inspect", "stream")
IN_MODES = pytest.mark.parametrize(
    "mode", [mode if mode in ALWAYS else pytest.param(mode, marks=pytest.mark.ci) for mode in MODES]
)
THEMED = [
    pytest.param(theme, mode, marks=[] if theme == THEMES[0] and mode in ALWAYS else pytest.mark.ci)
    for theme in THEMES
    for mode in MODES
    if theme == THEMES[0] or mode != "devices"  # which has no colour that others have not
]


def an_engine(path: Path, mode: str) -> FakeEngine:
    """With something of every kind in it: devices in all states, a check that fails, some runs of the past."""
    with History.open(str(path)) as history:
        put(history, failed(a_run(1, at=NOON - 600, trees=(settings_screen(),))))
        put(history, a_run(2, at=NOON - 300, trees=(settings_screen(), settings_screen()[:-1])))
        put(history, failed(a_run(3, at=NOON - 60, trees=(settings_screen(),))))
    devices = (DEVICE, PHONE, TABLET, LOCKED_OUT) if mode == "devices" else (DEVICE,)
    return FakeEngine(
        screen=settings_screen(),
        checks=CHECKS_FAILED if mode == "doctor" else CHECKS_OK,
        present=devices,
        history=HistoryWorker(str(path), EventBus()),
    )


def pictured(snap_compare: Compare, path: Path, mode: str, **look: Any) -> bool:
    """Take the picture of a mode; whether it is as it was."""
    engine = an_engine(path / "history.db", mode)
    app = make_app(engine, **look)
    names = {"]": "right_square_bracket"}

    async def pose(pilot: Any) -> None:
        if mode == "run":
            await until(pilot, lambda: app.session.devices_known)
            plan = {**PAYLOAD, "actions": [*PAYLOAD["actions"][:3], {"id": "x", "type": "clik"}]}
            app.drafts.load(plan)
        await before(*(names.get(key, key) for key in MODES[mode]), engine=engine, busy=True)(pilot)

    same = snap_compare(app, terminal_size=(120, 36), run_before=pose)
    engine.history.close()
    return same


@pytest.mark.parametrize(("theme", "mode"), THEMED)
def test_theme(snap_compare: Compare, tmp_path: Path, theme: str, mode: str) -> None:
    assert pictured(snap_compare, tmp_path, mode, theme=theme)


@IN_MODES
def test_mono(snap_compare: Compare, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``NO_COLOR``: bold, dim, underline and reverse only."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert pictured(snap_compare, tmp_path, mode, theme="claw-mono", no_colour=True)


@IN_MODES
def test_ascii(snap_compare: Compare, tmp_path: Path, mode: str) -> None:
    assert pictured(snap_compare, tmp_path, mode, ascii_only=True)


@pytest.mark.ci
@pytest.mark.parametrize("look", ["mono", "ascii"])
def test_small(snap_compare: Compare, look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small, and with a menu open, in the two looks that have least to draw with."""
    if look == "mono":
        monkeypatch.setenv("NO_COLOR", "1")
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(
        engine,
        theme="claw-mono" if look == "mono" else "claw-dark",
        no_colour=look == "mono",
        ascii_only=look == "ascii",
    )
    run = before(*"jjj", "g", engine=engine, busy=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=run)


@pytest.mark.ci
def test_help_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine, theme="claw-mono", no_colour=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=before("question_mark"))
