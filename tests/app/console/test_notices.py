"""What the notice line shows, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clawperator.app.console.messages import (
    DevicesUpdate,
    DoctorUpdate,
    LocksUpdate,
    NoticeUpdate,
    SnapshotUpdate,
    WorkUpdate,
)
from clawperator.app.console.screens.dialogs import TreeCompareDialog
from clawperator.app.console.session import Facet, Session
from clawperator.engine.errors import ErrorCode
from clawperator.engine.events.types import SnapshotSeen
from clawperator.widgets.models.doctor_report import DoctorReport, mark_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from tests.app.console.support import (
    CHECKS_OFF,
    CHECKS_OK,
    DEVICE,
    NOON,
    ROWS,
    SECOND,
    MovableClock,
    settings_screen,
    until,
)
from tests.app.console.test_console_journeys import console, text_of

BUSY = Notice(Status.WAITING, "Device busy: cmd-1", ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value)
OFF = Notice(Status.FAILED, "The accessibility service is switched off", ErrorCode.SERVICE_UNAVAILABLE.value)
HELD = {DEVICE.serial: {"commandId": "cmd-1"}}


def session(clock: MovableClock | None = None) -> Session:
    found = Session((clock or MovableClock()).clock)
    found.device_id = DEVICE.serial
    return found


def test_a_busy_device_is_no_longer_news_when_it_is_free() -> None:
    known = session()
    known.absorb(LocksUpdate(HELD))
    known.absorb(NoticeUpdate(BUSY))
    known.absorb(LocksUpdate(HELD))
    assert known.last_notice is not None
    assert known.absorb(LocksUpdate({})) == Facet.LOCKS | Facet.NOTICE
    assert known.last_notice is None
    assert [notice.text for notice in known.notices] == [BUSY.text]


def test_a_refusal_by_an_execution_that_no_poll_saw_is_over_soon() -> None:
    clock = MovableClock()
    known = session(clock)
    known.absorb(NoticeUpdate(BUSY))
    assert not known.pass_time()
    clock.at += 3
    assert known.pass_time() == Facet.NOTICE
    assert known.last_notice is None


@pytest.mark.parametrize(
    ("status", "shown"), [(Status.OK, False), (Status.IDLE, False), (Status.WARN, True), (Status.FAILED, True)]
)
def test_news_of_a_minute_ago_are_not_shown_any_more_and_problems_are(status: Status, shown: bool) -> None:
    clock = MovableClock()
    known = session(clock)
    known.say(status, "tap Wi-Fi", "" if status is Status.OK else "CODE")
    clock.at += 59
    known.pass_time()
    assert known.last_notice is not None
    clock.at += 2
    known.pass_time()
    assert (known.last_notice is not None) == shown
    assert len(known.notices) == 1


def test_what_was_refused_during_work_is_over_with_it() -> None:
    known = session()
    known.say(Status.WAITING, "Choose a node")
    known.clock.now.at += 1  # type: ignore[attr-defined]
    known.absorb(WorkUpdate("Reading the screen…", known.clock.now()))
    known.absorb(WorkUpdate(""))
    assert known.last_notice is not None, "it is about something else"
    known.absorb(WorkUpdate("Reading the screen…", known.clock.now()))
    known.say(Status.WAITING, "A snapshot is already being taken")
    known.absorb(WorkUpdate(""))
    assert known.last_notice is None


def test_a_warning_stands_behind_the_result_that_came_before_it() -> None:
    clock = MovableClock()
    known = session(clock)
    known.absorb(NoticeUpdate(Notice(Status.OK, "tap Wi-Fi: ok, 14 ms", result=True)))
    clock.at += 1
    known.say(Status.WARN, "Wi-Fi left the screen")
    assert known.last_notice is not None
    assert known.last_notice.text == "tap Wi-Fi: ok, 14 ms · Wi-Fi left the screen"
    assert known.last_notice.status is Status.OK
    clock.at += 60
    known.say(Status.WARN, "The tree is incomplete")
    assert known.last_notice.text == "The tree is incomplete"


async def test_a_comparison_says_which_side_is_which() -> None:
    async with console() as (app, pilot, engine):
        xml = settings_screen(ROWS[:3])
        engine.publish(SnapshotSeen(device_id=DEVICE.serial, command_id="x", step_id="s", xml=xml, at=NOON + 60))
        await until(pilot, lambda: len(app.session.trees) == 2)
        await pilot.press("c")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TreeCompareDialog))
        await pilot.press("escape")
        await until(pilot, lambda: "− 22:29:00 + 22:30:00" in text_of(app))


def tree_at(at: float, device: str = DEVICE.serial) -> SnapshotUpdate:
    return SnapshotUpdate(TreeSnapshot(serial=1, device_id=device, at=at, xml="<hierarchy/>"))


def test_a_problem_of_the_device_is_over_once_it_answers() -> None:
    known = session()
    known.absorb(NoticeUpdate(OFF))
    known.absorb(tree_at(NOON - 1))
    assert known.last_notice is not None, "that tree is older"
    known.absorb(tree_at(NOON + 1, SECOND.serial))
    assert known.last_notice is not None, "that is another device"
    assert Facet.NOTICE in known.absorb(tree_at(NOON + 1))
    assert known.last_notice is None
    assert [notice.text for notice in known.notices] == [OFF.text]


def test_a_problem_of_the_device_is_over_once_the_checks_pass() -> None:
    known = session()
    known.absorb(DevicesUpdate((DEVICE,)))
    report = DoctorReport(checks=CHECKS_OFF, ended=NOON + 1, device_id=DEVICE.serial, device=mark_of(DEVICE))
    known.absorb(NoticeUpdate(OFF))
    known.absorb(DoctorUpdate(report))
    assert known.last_notice is not None
    known.absorb(DoctorUpdate(replace(report, checks=CHECKS_OK)))
    assert known.last_notice is None


@pytest.mark.parametrize("other", [OFF._replace(result=True), OFF._replace(code=ErrorCode.EMULATOR_START_FAILED.value)])
def test_an_answer_hides_neither_how_an_action_ended_nor_what_it_does_not_refute(other: Notice) -> None:
    known = session()
    known.absorb(NoticeUpdate(other))
    known.absorb(tree_at(NOON + 1))
    assert known.last_notice is not None
