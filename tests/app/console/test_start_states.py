"""What the tree pane shows without a tree: the reason, what to do, and keys that do it."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.app.console.chips import header_chips
from clawperator.app.console.empty_states import start_state
from clawperator.app.console.messages import (
    DevicesUpdate,
    DoctorUpdate,
    LocksUpdate,
    SnapshotUpdate,
    ValueUpdate,
    WorkUpdate,
)
from clawperator.app.console.session import Session
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.events.types import DevicesChanged
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.format.devices import (
    NO_FACTS,
    DeviceSummary,
    device_columns,
    device_detail,
    device_row,
    fits_beside,
    state_row,
    words_for,
)
from clawperator.widgets.format.lines import Line
from clawperator.widgets.format.start_state import StartState, start_rows
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.header import HeaderLine
from clawperator.widgets.models.doctor_report import DoctorReport, mark_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from tests.app.console.support import (
    CHECKS_OFF,
    CHECKS_OK,
    DEVICE,
    LOCKED_OUT,
    NOON,
    PHONE,
    SECOND,
    TABLET,
    FakeEngine,
    MovableClock,
    check,
    make_app,
    settings_screen,
    until,
)
from tests.support import table

NO_OPERATOR = (
    *(found for found in CHECKS_OK if not found["id"].startswith("readiness.")),
    check(
        "readiness.apk.presence",
        "warn",
        "com.clawperator.operator is not installed",
        code="RECEIVER_NOT_INSTALLED",
        detail="Executions on this device require the Operator app.",
    ),
)
CRASHED = (
    *(found for found in CHECKS_OK if not found["id"].startswith("readiness.")),
    check(
        "readiness.accessibility.bound",
        "warn",
        "The Operator's accessibility service is switched on but not running",
        code="DEVICE_ACCESSIBILITY_NOT_RUNNING",
        detail="Android lists it as crashed. 0 of 1 services are running.",
    ),
    check("readiness.handshake", "fail", "No answer", code="DEVICE_ACCESSIBILITY_NOT_RUNNING"),
)


def session(*devices: DeviceEntry, chosen: str = "", wanted: str = "", problem: str = "") -> Session:
    found = Session(MovableClock().clock, wanted_device=wanted)
    found.device_id = chosen
    found.absorb(DevicesUpdate(devices, problem))
    return found


def checked(checks: tuple[object, ...]) -> Session:
    found = session(DEVICE, chosen=DEVICE.serial)
    report = DoctorReport(checks=checks, ended=NOON, device_id=DEVICE.serial, device=mark_of(DEVICE))  # type: ignore[arg-type]
    found.absorb(DoctorUpdate(report))
    return found


def test_a_busy_device_without_a_tree_says_who_has_it() -> None:
    found = checked((check("readiness.handshake", "fail", "Refused", code="EXECUTION_CONFLICT_IN_FLIGHT"),))
    found.absorb(LocksUpdate({DEVICE.serial: {"deviceId": DEVICE.serial, "commandId": "cmd-\x1b[2J9"}}))
    state = state_of(found)
    assert (state.status, state.reason) == (Status.WAITING, f"{DEVICE.serial} is busy: cmd-␛[2J9")
    assert state.steps == ["The screen is read as soon as it is free."]
    assert found.verdict is None
    assert found.report.status() is Status.WAITING, "it is not known to be not ready"


def state_of(found: Session) -> StartState:
    state = start_state(found)
    assert state is not None
    return state


@table(
    ("found", "reason", "keys"),
    [
        (session(), "No device connected", ["7"]),
        (session(problem="refused"), "adb does not respond: refused", ["6"]),
        (session(PHONE), "R5CT20ABCDE is unauthorized: confirm the dialog on the phone", ["7"]),
        (session(TABLET), "10.0.0.7:5555 is offline: reconnect it with adb", ["7"]),
        (session(PHONE, LOCKED_OUT), "No usable device", ["7"]),
        (session(DEVICE, SECOND), "2 devices are usable. Choose the one to use", ["D"]),
        (session(DEVICE, wanted="x"), "x is not connected. emulator-5554 is usable. Choose the one to use", ["D"]),
        (
            session(DEVICE, PHONE, wanted=PHONE.serial),
            "R5CT20ABCDE is unauthorized: confirm the dialog on the phone",
            ["D", "7"],
        ),
        (session(SECOND, chosen=DEVICE.serial), "emulator-5554 is disconnected", ["D", "7"]),
        (checked(NO_OPERATOR), "Not ready: Operator not installed", ["o", "6", "r"]),
        (checked(CHECKS_OFF), "Not ready: accessibility service off", ["F", "6", "r"]),
        (checked(CRASHED), "Not ready: accessibility service not running", ["6", "r"]),
    ],
)
def test_the_reason_and_the_keys(found: Session, reason: str, keys: list[str]) -> None:
    state = state_of(found)
    assert (state.reason, [key for key, _ in state.keys]) == (reason, keys)


def test_the_steps_are_those_of_mode_7_and_of_the_check() -> None:
    assert any("Allow USB debugging?" in step for step in state_of(session(PHONE)).steps)
    assert state_of(session(LOCKED_OUT)).steps[0].startswith("adb: missing udev rules?")
    assert state_of(checked(CRASHED)).steps == ["Android lists it as crashed. 0 of 1 services are running."]


def test_a_ready_device_without_a_tree_has_no_state() -> None:
    assert start_state(checked(CHECKS_OK)) is None
    assert start_state(session(DEVICE, chosen=DEVICE.serial)) is None, "no checks have run"


def test_a_verdict_of_before_the_device_reconnected_is_not_shown() -> None:
    found = checked(NO_OPERATOR)
    found.absorb(DevicesUpdate((DEVICE._replace(transport_id=9),)))
    assert found.report_is_old
    assert start_state(found) is None


def test_a_failed_snapshot_and_an_empty_one() -> None:
    found = checked(CHECKS_OK)
    found.absorb(WorkUpdate("", problem="The window has no root"))
    assert state_of(found).steps == ["The window has no root"]
    tree = parse("<hierarchy/>")
    found.absorb(
        SnapshotUpdate(TreeSnapshot(serial=1, device_id=DEVICE.serial, at=NOON, xml="<hierarchy/>", tree=tree))
    )
    assert state_of(found).reason == "The device reports a screen without nodes"


def test_a_restarted_adb_names_the_command_that_reconnects() -> None:
    phone = DeviceEntry("10.0.0.7:5555", "device", transport_id=3)
    found = session(phone, chosen=phone.serial)
    found.absorb(DevicesUpdate((phone,), "no adb server listens"))
    assert state_of(found).reason == "adb does not respond: no adb server listens"
    found.absorb(DevicesUpdate(()))
    assert state_of(found).reason == "adb restarted; reconnect: adb connect 10.0.0.7:5555"
    found.absorb(DevicesUpdate((phone,)))
    assert start_state(found) is None
    found.absorb(DevicesUpdate(()))
    assert state_of(found).reason == "10.0.0.7:5555 is disconnected", "this time adb has not restarted"


def test_the_rows_fit_and_a_row_knows_its_key() -> None:
    state = StartState(Status.FAILED, "x\x1b[31m " * 30, ["a " * 80, "b"], [("o", "set up"), ("6", "checks")])
    for width in (20, 52, 80, 200):
        rows = start_rows(state, width)
        assert all(entry.row.left.cells <= width for entry in rows)
        assert [entry.key for entry in rows if entry.key] == ["o", "6"]
        assert "\x1b" not in "".join(entry.row.left.plain for entry in rows)


def test_a_device_that_does_not_respond_says_so() -> None:
    """adb lists it as connected, whatever became of it."""
    found = session(DEVICE, chosen=DEVICE.serial)

    def chips() -> str:
        return "".join(text for chip in header_chips(found, UNICODE, narrow=False) for text, _ in chip.spans)

    assert f"{DEVICE.serial} ✓" in chips()
    found.absorb(ValueUpdate("silent", frozenset({DEVICE.serial})))
    assert f"{DEVICE.serial} ! not responding" in chips()
    row = device_row(DEVICE, 40, facts=DeviceSummary(silent=DEVICE.serial in found.silent))
    assert row.left.plain.startswith(f" ! {DEVICE.serial}")
    assert "not responding" in row.left.plain
    found.absorb(ValueUpdate("silent", frozenset()))
    assert f"{DEVICE.serial} ✓" in chips()


@pytest.mark.parametrize(("width", "said"), [(80, "✗ Not ready: Op"), (120, "✗ Not ready: Operator not installed")])
async def test_the_header_says_as_much_of_the_reason_as_fits(width: int, said: str) -> None:
    app = make_app(FakeEngine(screen=settings_screen(), checks=NO_OPERATOR))
    async with app.run_test(size=(width, 24)) as pilot:
        header = app.screen.query_one(HeaderLine)
        await until(pilot, lambda: said in (header.line_row(width).right or Line()).plain)


def test_mode_7_says_of_an_offline_device_of_the_network_what_the_tree_pane_says() -> None:
    assert device_row(TABLET, 72).left.plain.endswith(" offline  reconnect it with adb")
    detail = "\n".join(row.left.plain for row in device_detail(TABLET, 60, chosen=False))
    assert f"adb disconnect {TABLET.serial}" in detail
    assert f"adb connect {TABLET.serial}" in detail


@pytest.mark.parametrize("odd", [PHONE, TABLET, LOCKED_OUT])
def test_mode_7_aligns_devices_that_cannot_be_used(odd: DeviceEntry) -> None:
    room = device_columns([(DEVICE, NO_FACTS), (odd, NO_FACTS)], 72)
    usable, text = (device_row(device, 72, room=room).left.plain for device in (DEVICE, odd))
    assert text.index(words_for(odd).next) == usable.index(DEVICE.model.replace("_", " "))


def test_a_narrow_row_shows_where_the_devices_of_a_host_differ() -> None:
    row = device_row(DeviceEntry("bench-3/192.168.1.17:5555", "device"), 20).left.plain
    assert row.endswith(".168.1.17:5555")
    assert len(row) < 20


async def test_without_a_device_every_pane_shows_the_whole_reason() -> None:
    app = make_app(FakeEngine(screen=settings_screen(), present=()))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "No device connected" in shown(app, "#tree"))
        assert not app.screen.query_one("#rail").display, "it would say the same in 22 columns"
        await pilot.press("g", "d")
        await until(pilot, lambda: "No device connected." in " ".join(shown(app, "#devices").split()))
        await pilot.press("escape", "7")
        await until(pilot, lambda: "network: adb connect <address>" in " ".join(shown(app, "#list").split()))


async def test_the_rail_begins_with_the_verdict_and_does_not_repeat_its_check() -> None:
    app = make_app(FakeEngine(screen=settings_screen(), checks=NO_OPERATOR))
    async with app.run_test(size=(120, 36)) as pilot:
        verdict = "✗ Not ready: Operator not installed"
        await until(pilot, lambda: " ".join(shown(app, "#doctor").split()) == verdict)
        note = str(app.screen.query_one("#doctor-pane")._border_subtitle)
        assert note.startswith("1 hint · 6 ok")


async def test_the_rail_names_a_device_that_is_away_and_marks_its_old_checks() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OFF)
    app = make_app(engine)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "accessibility service off" in " ".join(shown(app, "#doctor").split()))
        engine.publish(DevicesChanged(devices=()))
        await until(pilot, lambda: shown(app, "#devices").split() == ["!", DEVICE.serial, "disconnected"])
        note = str(app.screen.query_one("#doctor-pane")._border_subtitle)
        assert note.startswith("old · ✗ 1 failed")


def test_the_details_of_a_device_that_does_not_respond_are_what_reconnects_it() -> None:
    phone = TABLET._replace(state="device")
    rows = device_detail(phone, 60, chosen=True, facts=DeviceSummary(silent=True))
    detail = "\n".join(row.left.plain for row in rows)
    assert detail.startswith(f" ! {phone.serial}")
    assert "not responding – reconnect it with adb" in detail
    assert f"adb connect {phone.serial}" in detail


def test_a_narrow_row_has_its_state_below_where_there_is_no_room_beside_it() -> None:
    assert not fits_beside(TABLET, 20)
    assert device_row(TABLET, 20).left.plain == f" ! {TABLET.serial}"
    assert state_row(TABLET, 20).left.plain == "   offline"
    assert device_row(TABLET, 30).left.plain == f" ! {TABLET.serial} offline"


def shown(app: Any, selector: str) -> str:
    widget = app.screen.query_one(selector)
    return "\n".join(widget.render_line(y).text for y in range(widget.content_size.height))


ADB_MISSING = check(
    "host.adb.presence",
    "fail",
    "adb was not found",
    code="ADB_NOT_FOUND",
    detail="Searched PATH and the Android SDK folders.",
    fix={"title": "Install", "platform": "any", "steps": [{"kind": "manual", "value": "Install platform-tools."}]},
)


def test_without_adb_the_pane_says_what_to_install() -> None:
    found = session(problem="no adb in PATH")
    report = DoctorReport(checks=(ADB_MISSING,), ended=NOON, device=mark_of(None))
    found.absorb(DoctorUpdate(report))
    state = state_of(found)
    assert (state.status, state.reason) == (Status.FAILED, "Not ready: adb was not found")
    assert [*state.steps] == [ADB_MISSING["detail"], "Install platform-tools.", "The console reconnects by itself."]
    assert [key for key, _ in state.keys] == ["6"]


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ((), "no device"),
        ((PHONE,), f"{PHONE.serial} unauthorized"),
        ((PHONE, LOCKED_OUT), "0 of 2 devices usable"),
        ((DEVICE, SECOND), "2 devices: D chooses"),
    ],
)
def test_the_header_says_which_device_is_not_usable(devices: tuple[DeviceEntry, ...], said: str) -> None:
    chip = header_chips(session(*devices), UNICODE, narrow=False)[0]
    assert "".join(text for text, _ in chip.spans) == said


async def test_the_checks_run_without_a_device_as_well_and_again_when_the_reason_changes() -> None:
    engine = FakeEngine(screen=settings_screen(), present=(), checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=(120, 36)) as pilot:
        header = app.screen.query_one(HeaderLine)
        await until(pilot, lambda: "✗ Not ready: no device connected" in (header.line_row(120).right or Line()).plain)
        await pilot.press("6")
        await until(pilot, lambda: "No device is connected" in shown(app, "#list"))
        engine.publish(DevicesChanged(devices=()))
        engine.publish(DevicesChanged(devices=(PHONE,)))
        await until(pilot, lambda: engine.calls.count("doctor None") == 2 and not app.session.doctor_busy)
        engine.publish(DevicesChanged(devices=(DEVICE,)))
        await until(pilot, lambda: app.session.verdict is not None and app.session.verdict.ready)


async def test_a_snapshot_that_the_operator_refuses_says_so_and_the_checks_run_again() -> None:
    """The Operator of 0.5 answers itself that its service is off; the tree of before stayed as if it had been read again."""
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.verdict is not None and app.session.trees.shown)
        words = "Accessibility service is not available"
        engine.checks = CHECKS_OFF
        engine.failed_snapshot = {
            "status": "failed",
            "stepResults": [],
            "error": words,
            "errorCode": "SERVICE_UNAVAILABLE",
            "hint": "Enable it.",
        }
        await pilot.press("r")
        await until(pilot, lambda: app.session.verdict is not None and not app.session.verdict.ready)
        assert app.session.last_notice is not None
        assert app.session.last_notice[:3] == (Status.FAILED, f"{words}. Enable it.", "SERVICE_UNAVAILABLE")
        engine.failed_snapshot, engine.checks = None, CHECKS_OK
        await pilot.press("r")
        await until(pilot, lambda: app.session.last_notice is None)
