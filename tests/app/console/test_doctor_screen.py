"""Mode 6 with keys and a screen: the checklist, one check, fixes, watching, read-only, hostile text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.doctor.fix_dialog import FixDialog, Proposal, proposal_rows
from clawperator.app.console.doctor.screen import DoctorScreen
from clawperator.app.console.messages import DoctorUpdate
from clawperator.app.console.screens.forms import QuestionDialog
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.config.settings import Settings
from clawperator.engine.doctor.fix import Fixer
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.fix_log import FixLog
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText
from tests.app.console.support import (
    CHECK_IDS,
    CHECKS_FAILED,
    CHECKS_NO_SERVER,
    CHECKS_OFF,
    CHECKS_OK,
    CHECKS_ON,
    DEVICE,
    GRANT,
    LOOK,
    PHONE,
    SECOND,
    FakeEngine,
    FakeFixer,
    check,
    drained,
    guard_without,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.app.console.test_console_journeys import copied, go, text_of

SMALL, MIDDLE, WIDE = (80, 24), (120, 36), (200, 60)
LARGER = [pytest.param(size, marks=pytest.mark.ci) for size in (MIDDLE, WIDE)]
Screen = tuple[ConsoleApp, Pilot[int], FakeEngine]


def off(**more: Any) -> FakeEngine:
    return FakeEngine(screen=settings_screen(), checks=CHECKS_OFF, check_ids=CHECK_IDS, fixed=CHECKS_ON, **more)


@asynccontextmanager
async def doctor(
    engine: FakeEngine | None = None, *, size: tuple[int, int] = MIDDLE, **more: Any
) -> AsyncIterator[Screen]:
    """In mode 6, after the first look."""
    engine = engine or off()
    app = make_app(engine, **more)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await go(pilot, "doctor")
        engine.calls.clear()
        yield app, pilot, engine
    assert engine.running_doctors == 0


def screen_of(app: ConsoleApp) -> DoctorScreen:
    screen = app.mode_screen
    assert isinstance(screen, DoctorScreen)
    return screen


def panel_of(app: ConsoleApp) -> DoctorPanel:
    return screen_of(app).panel


def said(app: ConsoleApp) -> str:
    notice = app.session.last_notice
    return notice.text if notice is not None else ""


async def idle(app: ConsoleApp, pilot: Pilot[int]) -> None:
    await until(pilot, lambda: not app.session.doctor_busy and not app.bridge.doctor.busy)
    await drained(pilot)


# -- job 11


@pytest.mark.parametrize("size", [(60, 16), SMALL, *LARGER], ids=str)
async def test_four_keys_make_a_device_ready(size: tuple[int, int]) -> None:
    engine = off()
    app = make_app(engine)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("6", "right_square_bracket", "F")
        await until(pilot, lambda: isinstance(app.screen, FixDialog) and "⏎ run" in text_of(app))
        shown = text_of(app)
        assert "pm grant" in shown or size[1] < 24, "the exact commands, as far as they fit"
        await pilot.press("enter")
        await until(pilot, lambda: said(app) == "Fixed: accessibility enabled, handshake")
        await idle(app, pilot)
        fixed = [f"fix {GRANT}", f"fix {LOOK}", f"doctor {DEVICE.serial}", f"snapshot {DEVICE.serial}"]
        await until(pilot, lambda: engine.calls[-4:] == fixed)
        assert app.session.report.status() is Status.OK, "a missing Node.js is no hint about the device"
        assert panel_of(app).check == CHECKS_ON[-1], "the cursor is where it was"
        assert app.focused is panel_of(app)


# -- the list


async def test_groups_in_the_order_of_the_report_and_nothing_is_absent() -> None:
    async with doctor(FakeEngine(screen=settings_screen(), checks=CHECKS_NO_SERVER, check_ids=CHECK_IDS), size=SMALL) as (app, _, __):  # fmt: skip
        values = [row.place for row in panel_of(app).rows]
        groups = app.session.report.grouped()
        assert values == [value for _, rows in groups for value in (None, *(row["id"] for row in rows))]
        assert sorted(value for value in values if value) == sorted(CHECK_IDS)
        shown = text_of(app)
        for words in (" critical", " advisory", "– handshake  not run (adb server)", "8 not run · 1 optional", "5.0 s"):
            assert words in shown


async def test_rows_fill_in_while_the_run_goes_on() -> None:
    async with doctor() as (app, pilot, engine):
        engine.held["device.capability"] = gate = asyncio.Event()
        await pilot.press("r")
        await until(pilot, lambda: "● capability  checking…" in text_of(app))
        assert "◌ handshake  waiting" in text_of(app)
        assert "checking 7 of 13" in text_of(app)
        assert "C stop" in text_of(app)
        gate.set()
        await idle(app, pilot)
        await until(pilot, lambda: "Not ready: " in text_of(app))
        assert "C stop" not in text_of(app)


async def test_news_of_a_run_come_in_order() -> None:
    engine, seen = off(), []
    app = make_app(engine)

    def hook(message: object) -> None:
        if isinstance(message, DoctorUpdate):
            seen.append((message.report.running, len(message.report.checks), len(message.report.pending)))

    async with app.run_test(size=MIDDLE, message_hook=hook) as pilot:
        await settled(pilot)
        await idle(app, pilot)
    assert seen[-1] == (False, 13, 0)
    assert [entry for entry in seen if entry[0]] == sorted(entry for entry in seen if entry[0]), "news may be replaced"


async def test_stopping_a_run() -> None:
    async with doctor() as (app, pilot, engine):
        engine.held["device.capability"] = asyncio.Event()
        await pilot.press("r")
        await until(pilot, lambda: "checking 7 of 13" in text_of(app))
        await pilot.press("C")
        await idle(app, pilot)
        assert "stopped" in text_of(app)
        assert "– handshake  not run" in text_of(app)


async def test_one_check_again() -> None:
    async with doctor() as (app, pilot, engine):
        await pilot.press("right_square_bracket")
        engine.checks = CHECKS_ON
        await pilot.press("v")
        await idle(app, pilot)
        assert panel_of(app).check == CHECKS_ON[-1]
        assert app.session.report.find("readiness.accessibility.enabled") == CHECKS_OFF[-2], "not looked at"


async def test_another_device_while_a_run_goes_on() -> None:
    async with doctor() as (app, pilot, engine):
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: len(app.session.usable) == 2)
        engine.held["device.capability"] = gate = asyncio.Event()
        await pilot.press("r")
        await until(pilot, lambda: app.session.report.pending[:1] == ("device.capability",))
        app.use_device(SECOND.serial)
        assert app.session.report_is_old or app.session.report.running
        gate.set()
        await until(pilot, lambda: app.session.report.device_id == SECOND.serial and app.session.report.ended)
        assert not app.session.report_is_old
        assert engine.most_doctors == 1


async def test_results_are_old_when_the_device_came_back() -> None:
    async with doctor(size=WIDE) as (app, pilot, engine):
        assert " old" not in text_of(app)
        engine.show_devices()
        await until(pilot, lambda: not app.session.devices)
        assert app.session.report_is_old
        await until(pilot, lambda: "old · " in text_of(app))
        await pilot.press("1")
        await until(pilot, lambda: "accessibility service off old" in text_of(app))
        engine.show_devices(DEVICE._replace(transport_id=7))
        await until(pilot, lambda: not app.session.report_is_old and app.session.report.ended)
        await until(pilot, lambda: " old" not in text_of(app))
        assert [call for call in engine.calls if "old" not in call] == [
            f"snapshot {DEVICE.serial}",
            f"doctor {DEVICE.serial}",
        ]


# -- one check


async def test_the_detail_says_what_it_means_and_what_to_do() -> None:
    async with doctor(FakeEngine(screen=settings_screen(), checks=CHECKS_FAILED), size=WIDE) as (app, pilot, _):
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "failed in 7.0 s" in text_of(app))
        shown = text_of(app)
        for words in (
            "readiness.handshake  critical", "RESULT_ENVELOPE_TIMEOUT", "No result came back in time.",
            "on the device: Accessibility Settings", "1. Open Clawperator Operator in the list", "2. Switch it off",
            "1. ▸ clawperator grant-device-permissions", "F run", "waitedMs   7000",
        ):  # fmt: skip
            assert words in shown
        assert "Run doctor" not in shown, "the check has a fix of its own"


async def test_a_person_copies_what_a_machine_cannot_do() -> None:
    async with doctor(FakeEngine(screen=settings_screen(), checks=CHECKS_OK)) as (app, pilot, _):
        await pilot.press("right_square_bracket", "F")
        assert said(app) == "This requires manual steps: https://nodejs.org. y l copies them, v checks again"
        await pilot.press("y", "l")
        await until(pilot, lambda: copied(app) == ["https://nodejs.org"])
        await pilot.press("y", "c")
        await until(pilot, lambda: len(copied(app)) == 2)
        assert copied(app)[1] == f"clawperator doctor --device-id {DEVICE.serial}"
        await pilot.press("y", "j")
        await until(pilot, lambda: len(copied(app)) == 3)
        assert json.loads(copied(app)[2]) == CHECKS_OK[1]


async def test_commands_are_copied_as_commands() -> None:
    async with doctor() as (app, pilot, _):
        await pilot.press("right_square_bracket", "y", "c")
        await until(pilot, lambda: copied(app) == [f"{GRANT}\n{LOOK}"])


async def test_on_small_screens_the_detail_lies_over_the_list_and_keys_work_in_it() -> None:
    async with doctor(size=SMALL) as (app, pilot, engine):
        await pilot.press("right_square_bracket", "enter")
        await until(
            pilot, lambda: isinstance(app.focused, WrappedText) and "Restart the Operator app's service" in text_of(app)
        )
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "Switch on the accessibility service" in text_of(app))
        engine.checks = CHECKS_ON
        await pilot.press("r")
        await idle(app, pilot)
        await pilot.press("escape")
        assert app.focused is panel_of(app)


# -- fixes


async def test_all_that_can_be_fixed_in_one_question() -> None:
    async with doctor() as (app, pilot, engine):
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FixDialog))
        await until(pilot, lambda: "fix all that can be fixed" in text_of(app))
        assert isinstance(app.screen, FixDialog)
        assert [plan.step for plan in app.screen._shown.plans] == [GRANT, LOOK]
        await pilot.press("escape")
        assert engine.calls == [], "nothing is run before the yes"
        await pilot.press("F", "enter")
        await until(pilot, lambda: said(app).startswith("Fixed"))
        await idle(app, pilot)


async def test_the_fix_of_the_verdict_is_proposed_also_while_the_checks_run_again() -> None:
    async with doctor() as (app, pilot, engine):
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "inspect")
        engine.held = {str(engine.checks[0]["id"]): asyncio.Event()}
        app.doctor.run()
        await until(pilot, lambda: app.session.report.running and not app.session.report.checks)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FixDialog) and "⏎ run" in text_of(app))
        engine.held[str(engine.checks[0]["id"])].set()
        await pilot.press("enter")
        await until(pilot, lambda: said(app).startswith("Fixed"))
        await idle(app, pilot)


async def test_a_fix_that_the_policy_denies_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real fixer, before an engine that has a policy and no devices."""
    guard = guard_without("setup_operator", tmp_path)
    guarded: Any = SimpleNamespace(guard=guard, server=AdbServer(), settings=Settings())
    step = {"kind": "shell", "value": "adb kill-server"}
    odd = check("host.adb.server", "fail", "The adb server is too old", fix={"steps": [step]})
    engine = FakeEngine(screen=settings_screen(), checks=[odd])
    monkeypatch.setattr(engine, "fixer", lambda: Fixer(guarded))
    async with doctor(engine) as (app, pilot, _):
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FixDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "CAPABILITY_DENIED" in said(app))
        assert "setup_operator" in said(app)
        await idle(app, pilot)


async def test_nothing_to_fix_says_why() -> None:
    unknown = check(
        "readiness.apk.presence", "warn", "odd", fix={"steps": [{"kind": "shell", "value": "nvm install 22"}]}
    )
    bare = check("device.clock", "warn", "The clocks differ")
    passing = [found for found in CHECKS_OK if found["status"] == "pass"]
    async with doctor(FakeEngine(screen=settings_screen(), checks=[*passing[:2], unknown, bare])) as (
        app,
        pilot,
        engine,
    ):
        await pilot.press("F")
        assert said(app) == "Run in a shell: nvm install 22. y c copies it, v checks again"
        await pilot.press("right_square_bracket", "F")
        assert said(app) == "Run in a shell: nvm install 22. y c copies it, v checks again"
        await pilot.press("right_square_bracket", "F")
        assert said(app) == "No fix is known for this. y j copies the finding"
        engine.checks = passing
        await pilot.press("r")
        await idle(app, pilot)
        await pilot.press("F")
        assert said(app) == "All checks pass: there is nothing to fix"
        assert not any(call.startswith("fix") for call in engine.calls)


@pytest.mark.parametrize("size", [SMALL, *LARGER], ids=str)
async def test_the_log_keeps_what_fixes_said_and_g_f_goes_there(size: tuple[int, int]) -> None:
    async with doctor(size=size) as (app, pilot, _):
        await pilot.press("g", "f")
        assert "No fix has run yet" in said(app)
        await pilot.press("right_square_bracket", "F", "enter")
        await until(pilot, lambda: said(app).startswith("Fixed"))
        await idle(app, pilot)
        await pilot.press("g", "f")
        await until(pilot, lambda: isinstance(app.focused, FixLog) and "The Operator answered with" in text_of(app))
        await pilot.press("escape", "g", "h")
        await until(pilot, lambda: app.focused is panel_of(app))
        if size == SMALL:
            assert "The Operator answered with" not in text_of(app)


@pytest.mark.ci
async def test_a_fix_that_takes_its_time_is_reported_and_can_be_stopped() -> None:
    async with doctor(off(hold_fix=asyncio.Event())) as (app, pilot, engine):
        await pilot.press("F", "enter")
        await until(pilot, lambda: "fixing accessibility enabled" in text_of(app) and "● permissions" in text_of(app))
        await pilot.press("F")
        assert said(app) == "A fix is running. Press C in Doctor to stop it"
        await pilot.press("r")
        await drained(pilot)
        assert said(app) == "A fix is running. Press C in Doctor to stop it"
        await pilot.press("C")
        await idle(app, pilot)
        assert "stopped: changes made so far remain" in text_of(app)
        assert not any(call.startswith("doctor") for call in engine.calls)


def test_the_question_says_whom_it_disturbs() -> None:
    plans = FakeFixer(FakeEngine()).plan([CHECKS_NO_SERVER[-1]], "emulator-5554")
    at_work = {"emulator-5556": {"commandId": "cmd-123", "source": "openclaw"}, "x\x1b[2J": {}}
    words = [row.left.plain for row in proposal_rows(Proposal("fix", "emulator-5554", plans, at_work), 90)]
    text = "\n".join(words)
    assert "This affects other programs: everything on this computer that uses adb" in text
    assert "Running now: cmd-123 from openclaw on emulator-5556." in text
    assert "an execution on x␛[2J." in text
    assert "$ adb kill-server" in text
    harmless = FakeFixer(FakeEngine()).plan([CHECKS_OFF[-2]], "emulator-5554")
    assert "affects" not in "\n".join(row.left.plain for row in proposal_rows(Proposal("fix", "", harmless, {}), 90))


# -- watching


async def test_watching_goes_on_in_other_modes() -> None:
    async with doctor(size=(140, 36)) as (app, pilot, engine):  # the chip has room
        await pilot.press("w")
        assert said(app).startswith("Watching")
        await until(
            pilot,
            lambda: " watching · " in text_of(app) and "✗ Not ready: accessibility service off watch" in text_of(app),
        )
        assert engine.calls == [], "nothing has changed since the last run"
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "inspect")
        engine.checks = CHECKS_ON
        engine.show_devices(DEVICE, PHONE)
        await until(pilot, lambda: engine.calls == [f"doctor {DEVICE.serial}", f"snapshot {DEVICE.serial}"])
        await idle(app, pilot)
        await until(pilot, lambda: "✓ Ready watch" in text_of(app))
        await pilot.press("6", "w")
        assert said(app) == "No longer watching"
        engine.show_devices(DEVICE)
        await until(pilot, lambda: len(app.session.devices) == 1)
        await idle(app, pilot)
        assert len(engine.calls) == 2


async def test_watching_without_a_device_sees_the_first_one_come() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_ON, present=())
    app = make_app(engine)
    async with app.run_test(size=MIDDLE) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        await go(pilot, "doctor")
        await pilot.press("w")
        await until(pilot, lambda: engine.calls == ["doctor None"])
        await idle(app, pilot)
        engine.show_devices(DEVICE)
        await until(pilot, lambda: app.session.report.device_id == DEVICE.serial and app.session.report.ended)
        await idle(app, pilot)
        assert engine.calls[-1] == f"doctor {DEVICE.serial}"
        assert engine.most_doctors == 1


# -- a first look that takes long


async def test_a_device_that_never_sends_its_tree_is_examined_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.app.console.bridge.FIRST_LOOK_SECONDS", 0.01)
    engine = off(hold_snapshot=asyncio.Event())
    app = make_app(engine)
    async with app.run_test(size=MIDDLE) as pilot:
        await until(pilot, lambda: app.session.report.ended and not app.session.work)
        assert engine.calls == [f"snapshot {DEVICE.serial}", f"doctor {DEVICE.serial}"]
        await until(pilot, lambda: "✗ Not ready: accessibility service off" in text_of(app))


async def test_a_slow_device_still_sends_its_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.app.console.bridge.FIRST_LOOK_SECONDS", 0.01)
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, hold_snapshot=(gate := asyncio.Event()))
    app = make_app(engine)
    async with app.run_test(size=MIDDLE) as pilot:
        await until(pilot, lambda: app.session.report.ended)
        gate.set()
        await until(pilot, lambda: app.session.trees.shown)


# -- full runs, read-only, palette


async def test_a_full_run_asks_first() -> None:
    async with doctor() as (app, pilot, engine):
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog) and "Settings app" in text_of(app))
        await pilot.press("escape")
        assert engine.calls == []
        await pilot.press("f", "enter")
        await until(pilot, lambda: engine.calls == [f"doctor {DEVICE.serial} in full"])
        await idle(app, pilot)
        await until(pilot, lambda: "checks · full run" in text_of(app) and "– smoke" in text_of(app))


@pytest.mark.parametrize("key", ["F", "f"])
async def test_a_read_only_console_looks_and_does_not_touch(key: str) -> None:
    async with doctor(read_only=True) as (app, pilot, engine):
        await pilot.press("right_square_bracket")
        assert app.screen.active_bindings[key].enabled is False
        await pilot.press(key)
        await drained(pilot)
        assert "--read-only" in said(app)
        assert isinstance(app.screen, DoctorScreen)
        await pilot.press("r")
        await until(pilot, lambda: engine.calls == [f"doctor {DEVICE.serial}"])
        await idle(app, pilot)


async def test_the_palette_has_the_keys_of_the_doctor() -> None:
    async with doctor() as (app, _, __):
        names = {entry.name for entry in app.palette.search().entries()}
        assert {
            "Doctor: fix  (F)", "Doctor: recheck  (v)", "Doctor: watch  (w)", "Doctor: full run  (f)",
            "Doctor: run again  (r)", "Doctor: next problem  (])", "Go to: fix log  (g f)", "Copy: command line  (y c)",
        } <= names  # fmt: skip
        assert "Doctor: stop  (C)" not in names, "there is nothing to stop"


# -- hostile text


@pytest.mark.ci
async def test_hostile_text_stays_text() -> None:
    nasty = "\x1b[31m[bold]x[/] \u202egpj.exe\u202c 中文\r\n\x07" + "lorem " * 4000
    odd = check(
        "readiness.odd\x1b[2J", "fail", nasty, code="NO_SUCH\x1bCODE", detail=nasty, durationMs="soon",
        fix={"title": nasty, "steps": [{"kind": "shell", "value": nasty}, {"kind": 7}, "no step", None]},
        deviceGuidance={"screen": nasty, "steps": [nasty, None]},
        evidence={nasty: nasty, "list": [nasty, 3], "map": {"a": {nasty: object()}}, "none": None},
    )  # fmt: skip
    shapes = [
        {**odd, "id": "a.b", "fix": "text", "deviceGuidance": [], "evidence": "text", "durationMs": float("nan")},
        {
            **odd,
            "id": "c.d",
            "fix": {"steps": "text"},
            "deviceGuidance": {"steps": 5},
            "evidence": {},
            "durationMs": -1,
        },
    ]
    engine = off(fix_output=nasty)
    engine.checks = [*CHECKS_OFF, odd, *shapes]
    engine.check_ids = ()
    engine.fixed = ()
    async with doctor(engine, size=WIDE) as (app, pilot, _):
        for _ in range(6):
            await pilot.press("right_square_bracket")
            await drained(pilot)
        await pilot.press("F", "enter")
        await until(pilot, lambda: said(app).startswith("The fix ran"))
        await idle(app, pilot)
        for words in ("\x1b", "\u202e", "\x07", "\r"):
            assert words not in text_of(app)
        assert "[bold]x[/]" in text_of(app)
        await pilot.press("y", "j")
        await until(pilot, lambda: copied(app))
