"""A device that does not respond, or is not ready, is asked until it does, or is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clawperator.app.console import device_probe
from clawperator.app.console.device_probe import PATIENCE_SECONDS, QUIET_SECONDS, DeviceProbe
from clawperator.app.console.doctor.controller import DoctorController
from clawperator.engine.events.types import ExecutionFinished, ExecutionStarted, LogBatch
from clawperator.widgets.models.doctor_report import DoctorReport
from tests.app.console.support import CHECKS_OK, DEVICE, SECOND, TABLET, FakeEngine, check, log_lines

SERIAL = DEVICE.serial
SILENT = frozenset({SERIAL})
SHELL, ENABLED = "device.capability", "readiness.accessibility.enabled"
ANSWERS = check(SHELL, "pass", "The device shell answers")
UNREACHABLE = check(SHELL, "fail", "The device's shell is unavailable", code="DEVICE_SHELL_UNAVAILABLE")
OFF = check(ENABLED, "warn", "The service is off", code="DEVICE_ACCESSIBILITY_NOT_RUNNING")
SILENCE = check("readiness.handshake", "fail", "No answer", code="RESULT_ENVELOPE_TIMEOUT")
BEGUN = ExecutionStarted(
    device_id=SERIAL, execution_id="a", command_id="a", task_id="t", source="console", timeout_ms=30_000, action_count=1
)
LINES = LogBatch(device_id=SERIAL, entries=tuple(log_lines(1)))


class Probed:
    """A probe of a device whose checks found ``found``; it answers until ``hangs``."""

    def __init__(self, *found: Mapping[str, Any]) -> None:
        self.now = 100.0
        self.usable = True
        self.silent: frozenset[str] = frozenset()
        self.recovered = 0
        self.engine = FakeEngine(checks=(ANSWERS, {**OFF, "status": "pass"}))
        report = DoctorReport(checks=found, device_id=SERIAL, ended=1.0)
        self.doctor = SimpleNamespace(report=report, busy=False)
        self.probe = DeviceProbe(
            self.engine,
            cast("DoctorController", self.doctor),
            publish=lambda serials: setattr(self, "silent", serials),
            usable=lambda _: self.usable,
            recovered=lambda: setattr(self, "recovered", self.recovered + 1),
            clock=lambda: self.now,
        )
        self.probe.device_id = SERIAL

    def hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(device_probe, "PATIENCE_SECONDS", 0.01)
        self.engine.held = {SHELL: asyncio.Event()}

    @property
    def asked(self) -> int:
        return self.engine.calls.count(f"doctor {SERIAL}")


def ended(**result: Any) -> ExecutionFinished:
    return ExecutionFinished(device_id=SERIAL, execution_id="a", command_id="a", result=result, duration_ms=1.0)


async def test_a_device_that_is_ready_and_owes_nothing_is_left_alone() -> None:
    here = Probed(*CHECKS_OK)
    await here.probe.look()
    here.probe.heed(BEGUN)
    here.probe.heed(ended(envelope={}))
    here.now += 2 * PATIENCE_SECONDS
    await here.probe.look()
    assert here.asked == 0


async def test_a_device_that_owes_an_answer_is_asked_once_nothing_came_for_some_seconds() -> None:
    here = Probed(*CHECKS_OK)
    here.probe.heed(BEGUN)
    here.now += PATIENCE_SECONDS
    here.probe.heed(LINES)
    here.now += PATIENCE_SECONDS
    await here.probe.look()
    assert here.asked == 0
    here.now += 1
    await here.probe.look()
    assert (here.asked, here.silent, here.recovered) == (1, frozenset(), 0)
    await here.probe.look()
    assert here.asked == 1, "it answered just now"


async def test_a_device_of_the_network_is_asked_now_and_then() -> None:
    here = Probed()
    here.probe.device_id = TABLET.serial
    await here.probe.look()
    here.now += QUIET_SECONDS + 1
    await here.probe.look()
    await here.probe.look()
    assert here.engine.calls == [f"doctor {TABLET.serial}"]


async def test_one_that_vanished_does_not_respond_until_it_answers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Probed(*CHECKS_OK)
    here.hangs(monkeypatch)
    here.probe.heed(BEGUN)
    here.now += 2 * PATIENCE_SECONDS
    await here.probe.look()
    await here.probe.look()
    assert (here.silent, here.recovered) == (SILENT, 0)
    here.engine.held = {}
    await here.probe.look()
    assert (here.silent, here.recovered) == (frozenset(), 1)


async def test_any_line_of_its_log_shows_that_it_responds() -> None:
    here = Probed(*CHECKS_OK)
    here.probe.heed(ended(error={"code": "DEVICE_SHELL_UNAVAILABLE"}))
    assert here.silent == SILENT
    here.probe.heed(ended(error={"code": "EXECUTION_CONFLICT_IN_FLIGHT"}))
    assert here.silent == SILENT, "that was refused on this computer"
    here.probe.heed(LINES)
    assert here.silent == frozenset()


async def test_an_operator_that_does_not_answer_is_not_asked_for_a_tree_for_ever() -> None:
    here = Probed(*CHECKS_OK)
    here.probe.heed(ended(error={"code": "RESULT_ENVELOPE_TIMEOUT"}))
    assert here.silent == SILENT
    await here.probe.look()
    assert (here.silent, here.recovered) == (frozenset(), 0), "the device's shell answers"


async def test_a_device_that_was_not_ready_recovers_when_the_obstacle_is_gone() -> None:
    here = Probed(*CHECKS_OK[:-1], OFF, SILENCE)
    here.engine.checks = (OFF,)
    await here.probe.look()
    assert (here.asked, here.recovered) == (1, 0)
    here.engine.checks = ({**OFF, "status": "pass"},)
    here.doctor.busy = True
    await here.probe.look()
    assert here.asked == 1, "the checks run"
    here.doctor.busy = False
    await here.probe.look()
    assert here.recovered == 1


async def test_so_does_one_whose_shell_the_checks_did_not_reach() -> None:
    here = Probed(*(found for found in CHECKS_OK[:-1] if found["id"] != SHELL), UNREACHABLE)
    await here.probe.look()
    assert (here.asked, here.recovered) == (1, 1)


async def test_the_operator_itself_is_not_asked_again_and_again() -> None:
    here = Probed(*CHECKS_OK[:-1], SILENCE)
    await here.probe.look()
    assert here.asked == 0


async def test_a_device_that_is_away_or_not_selected_is_not_asked() -> None:
    here = Probed(*CHECKS_OK[:-1], OFF, SILENCE)
    here.probe.heed(ended(error={"code": "DEVICE_SHELL_UNAVAILABLE"}))
    here.usable = False
    await here.probe.look()
    assert (here.asked, here.silent) == (0, frozenset()), "its state says more"
    here.usable, here.probe.device_id = True, SECOND.serial
    await here.probe.look()
    assert here.asked == 0
