"""Mode 7: devices and virtual devices in one list, one of them in full, and what hostile names do to it."""

from __future__ import annotations

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.engine.emulators.avds import Avd
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.widgets.emulator_list import AvdKey, EmulatorList
from clawperator.widgets.format.devices import NO_FACTS, facts_of
from clawperator.widgets.models.doctor_report import DoctorReport
from tests.app.console.fake_emulators import NO_SDK, PIXEL, RUNS, SECOND_AVD, TABLET_AVD, FakeEmulators
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    LOCKED_OUT,
    NOON,
    PHONE,
    SECOND,
    FakeClipboard,
    FakeEngine,
    drained,
    make_app,
    until,
)
from tests.app.console.test_provisioning import devices_mode, shown, to_avd


def pane_of(app: ConsoleApp) -> EmulatorList:
    return app.screen.query_one("#list", EmulatorList)


async def test_devices_come_first_then_the_virtual_ones() -> None:
    async with devices_mode(FakeEmulators(present=(PIXEL, SECOND_AVD, TABLET_AVD), up=(RUNS,))) as (app, pilot, engine):
        engine.show_devices(DEVICE, PHONE, LOCKED_OUT)
        await until(pilot, lambda: len(pane_of(app).devices) == 3)
        await drained(pilot)
        values = [row.place for row in pane_of(app).rows if not row.quiet]
        assert values == [
            DEVICE.serial,
            PHONE.serial,
            LOCKED_OUT.serial,
            AvdKey(PIXEL.name),
            AvdKey("second"),
            AvdKey(TABLET_AVD.name),
        ]
        text = shown(app)
        for words in ("confirm the dialog", "stopped", "running", "✓ supported", "✗ no Play Store"):
            assert words in text
        assert "35 release 0.3.1" not in text.splitlines()[1]  # no room for it at this size
        assert "last checked now" in text
        assert "API level 35" in text
        assert "release 0.3.1" in text
        assert "emulator   second" in text


async def test_a_change_of_devices_asks_what_runs() -> None:
    emulators = FakeEmulators(present=(PIXEL,))
    async with devices_mode(emulators) as (app, pilot, engine):
        assert "stopped" in shown(app)
        listed = emulators.calls.count("avds")
        emulators.up = (RunningEmulator(PIXEL.name, SECOND.serial, False),)
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: app.session.machines.run_of(PIXEL.name))
        await until(pilot, lambda: "booting" in shown(app))
        assert emulators.calls.count("avds") == listed


async def test_no_one_looks_for_virtual_devices_before_they_are_wanted() -> None:
    engine = FakeEngine(checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        engine.show_devices(DEVICE, PHONE)
        await until(pilot, lambda: len(app.session.devices) == 2)
        assert engine.emulators.calls == []


async def test_the_card_follows_the_cursor_and_opens_over_the_list() -> None:
    async with devices_mode(FakeEmulators(), size=(80, 24)) as (app, pilot, _):
        await to_avd(pilot, TABLET_AVD.name)
        await pilot.press("enter")
        await drained(pilot)
        text = shown(app)
        assert "required: API level 35" in text
        assert "(unsupported_abi)" in text
        assert "pixel_tablet" in text
        await pilot.press("escape")
        await drained(pilot)
        assert pane_of(app).value == AvdKey(TABLET_AVD.name)
        assert app.screen.focused is pane_of(app)


async def test_no_device_and_no_sdk_leave_a_sentence_and_a_key_each() -> None:
    async with devices_mode(FakeEmulators(list_error=NO_SDK), size=(80, 24)) as (app, pilot, engine):
        engine.show_devices()
        await until(pilot, lambda: "emulator-5554 is disconnected" in shown(app) and "TOOL_MISSING" in shown(app))
        text = " ".join(shown(app).split())
        assert "the Android SDK's emulator was not found (ANDROID_SDK_TOOL_MISSING)" in text
        assert NO_SDK.hint in text
        engine.emulators.list_error = None
        engine.emulators.present = ()
        await pilot.press("r")
        await until(pilot, lambda: "P create one" in shown(app))


@pytest.mark.ci
async def test_hostile_names_stay_text() -> None:
    name = "[red]x[/] \x1b]0;owned\x07 \u202egpj"
    avd = Avd(name, True, False, 35, "[b]\x1b[2J", True, "pixel_7\x00", "\x1b[31m;google_apis_playstore", ())
    up = RunningEmulator(name, "emulator-5556\x1b[H", True)
    async with devices_mode(FakeEmulators(present=(avd,), up=(up,)), size=(200, 60)) as (app, pilot, engine):
        engine.show_devices(DEVICE, SECOND._replace(serial="emulator-5556\x1b[H"))
        await to_avd(pilot, name)
        app.screen.show_detail()  # type: ignore[attr-defined]
        await pilot.press("S")
        await drained(pilot)
        text = shown(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]x[/]" in text
        await pilot.press("escape", "colon")
        await drained(pilot)
        assert "\x1b" not in shown(app)


@pytest.mark.ci
async def test_copying_a_virtual_device() -> None:
    async with devices_mode(FakeEmulators()) as (app, pilot, _):
        await to_avd(pilot, PIXEL.name)
        await pilot.press("y", "c")
        assert isinstance(app.system_clipboard, FakeClipboard)
        texts = app.system_clipboard.texts
        await until(pilot, lambda: texts)
        assert texts == [f"clawperator emulator inspect {PIXEL.name}"]


async def test_saved_dumps_have_no_virtual_devices() -> None:
    from clawperator.app.console.offline import SavedDumps

    app = make_app(SavedDumps(), files=("/nowhere.xml",))  # type: ignore[arg-type]  # the offline engine
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("7")
        await until(pilot, lambda: app.session.machines.known)
        await drained(pilot)
        assert "This console shows saved dumps" in shown(app)
        await pilot.press("P")
        await drained(pilot)
        assert "NO_DEVICES" in shown(app)


def test_facts_are_only_what_passed() -> None:
    report = DoctorReport(checks=CHECKS_OK, ended=NOON, device_id=DEVICE.serial)
    assert facts_of(report)[:3] == ("35", "release", "0.3.1")
    bad = DoctorReport(checks=tuple({**check, "status": "fail"} for check in CHECKS_OK), ended=NOON)
    assert facts_of(bad)[:3] == ("", "", "")
    assert facts_of(None) == NO_FACTS


async def test_facts_outlive_the_next_report() -> None:
    async with devices_mode(FakeEmulators()) as (app, pilot, engine):
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: len(app.session.usable) == 2)
        app.use_device(SECOND.serial)
        await until(pilot, lambda: app.session.report.device_id == SECOND.serial and app.session.report.ended)
        assert set(app.session.findings) == {DEVICE.serial, SECOND.serial}


async def test_the_cursor_stays_on_a_virtual_device_when_devices_come_and_go() -> None:
    async with devices_mode(FakeEmulators()) as (app, pilot, engine):
        await to_avd(pilot, TABLET_AVD.name)
        engine.show_devices()
        await until(pilot, lambda: not app.session.devices)
        assert pane_of(app).value == AvdKey(TABLET_AVD.name)
        engine.show_devices(SECOND, DEVICE)
        await until(pilot, lambda: [device.usable for device in pane_of(app).devices] == [True, True])
        assert pane_of(app).value == AvdKey(TABLET_AVD.name)


async def test_without_any_device_there_is_a_next_step() -> None:
    engine = FakeEngine(present=(), emulators=FakeEmulators(present=()))
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        await pilot.press("7")
        await until(pilot, lambda: app.session.machines.known)
        await drained(pilot)
        assert "Or start a virtual device: press 7, then P." in shown(app)
        assert "No virtual devices. P create one." in shown(app)
        await pilot.press("S")
        await drained(pilot)
        assert app.session.last_notice is not None
        assert "No virtual device under the cursor" in app.session.last_notice.text
