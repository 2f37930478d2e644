"""The doctor at work without a screen: what is told in which order, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from clawperator.app.console.doctor.controller import DoctorController, DoctorState
from clawperator.app.console.offline import SavedDumps
from clawperator.engine import Engine
from clawperator.engine.doctor.fix import Fixer
from clawperator.engine.doctor.run import Doctor
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.models.doctor_report import DoctorReport, status_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
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
    NOON,
    PHONE,
    SECOND,
    FakeDoctor,
    FakeEngine,
    FakeFixer,
    MovableClock,
)
from tests.support import patience, table

ENABLED, HANDSHAKE = "readiness.accessibility.enabled", "readiness.handshake"


class Controlled:
    """A ``DoctorController`` with everything that it says."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.reported: list[DoctorState] = []
        self.said: list[Notice] = []
        self.changed = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.doctoring = DoctorController(engine, self._spawn, self._hear, self.said.append, MovableClock().clock)
        self.doctoring.use_device(DEVICE.serial)

    def _spawn(self, job: Any) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(job))
        return self.tasks[-1]

    def _hear(self, state: DoctorState) -> None:
        self.reported.append(state)
        self.changed.set()

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(patience(10)):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    async def over(self) -> None:
        """Until nothing is at work."""
        async with asyncio.timeout(patience(10)):
            while self.doctoring.busy:
                await asyncio.wait(self.tasks)
        await asyncio.sleep(0)  # what is called when a task has ended is called now

    @property
    def report(self) -> DoctorReport:
        return self.doctoring.report

    def states(self) -> list[str]:
        """How the rows stand, a sign each."""
        return [status_of(row).glyph for row in self.report.rows()]


@asynccontextmanager
async def desk(engine: FakeEngine) -> AsyncIterator[Controlled]:
    made = Controlled(engine)
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)
    assert engine.running_doctors == 0, "a run was left behind"
    assert engine.most_doctors <= 1, "two runs at once"
    assert not made.report.running
    assert all(fix.over for fix in made.doctoring.state.fixes)


def off(**more: Any) -> FakeEngine:
    """The service is off; a fix switches it on."""
    return FakeEngine(checks=CHECKS_OFF, check_ids=CHECK_IDS, fixed=CHECKS_ON, **more)


# -- runs


async def test_all_checks_wait_at_once_and_come_one_by_one() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        assert here.doctoring.run()
        await here.over()
    rows = [["".join(status_of(row).glyph for row in state.report.rows())] for state in here.reported]
    assert rows[0] == ["●" + "◌" * 11]
    assert rows[1] == ["✓●" + "◌" * 10]
    assert rows[2] == ["✓!●" + "◌" * 9]
    assert rows[-1] == ["✓!" + "✓" * 10]
    assert [state.report.running for state in here.reported] == [True] * 13 + [False]
    assert (here.report.ended, here.report.device_id) == (NOON, DEVICE.serial)


async def test_what_was_not_reached_says_which_check_stopped_it() -> None:
    async with desk(FakeEngine(checks=CHECKS_NO_SERVER, check_ids=CHECK_IDS)) as here:
        here.doctoring.run()
        await here.over()
        rows = here.report.rows()
        assert [row["id"] for row in rows] == list(CHECK_IDS)
        assert {row["stopper"] for row in rows[5:]} == {"host.adb.server"}
        assert [row["status"] for row in rows[5:]] == ["skipped"] * (len(CHECK_IDS) - 5)


@pytest.mark.parametrize(
    ("missing", "because", "stopper"),
    [
        ("readiness.accessibility.bound", ("readiness.settings.dev_options", ENABLED), ENABLED),
        (HANDSHAKE, ("host.node.version", "readiness.apk.presence", "readiness.settings.dev_options"), "readiness.apk.presence"),
        (HANDSHAKE, (), ""),
        ("device.capability", (HANDSHAKE,), ""),
    ],
)  # fmt: skip
def test_the_stopper_is_what_the_check_needs(missing: str, because: tuple[str, ...], stopper: str) -> None:
    ids = (
        "host.node.version", "device.capability", "readiness.apk.presence", "readiness.settings.dev_options", ENABLED,
        "readiness.accessibility.bound", HANDSHAKE,
    )  # fmt: skip
    checks = tuple({"id": name, "status": "warn" if name in because else "pass"} for name in ids if name != missing)
    report = DoctorReport(checks=checks, ids=ids, stopping=frozenset({HANDSHAKE}))
    assert report.stopper(missing) == stopper


async def test_only_one_run_at_a_time() -> None:
    gate = asyncio.Event()
    async with desk(FakeEngine(checks=CHECKS_OK, held={HANDSHAKE: gate})) as here:
        assert here.doctoring.run()
        assert not here.doctoring.run(), "not even begun, and yet at work"
        await here.until(lambda: here.report.pending == (HANDSHAKE,))
        assert not here.doctoring.run()
        assert not here.doctoring.run(only=HANDSHAKE)
        gate.set()
        await here.over()
        assert here.doctoring.run()
        await here.over()
    assert here.engine.calls == [f"doctor {DEVICE.serial}"] * 2


async def test_one_check_again_leaves_the_others_as_they_are() -> None:
    async with desk(FakeEngine(checks=CHECKS_FAILED)) as here:
        here.doctoring.run()
        await here.over()
        here.engine.checks = CHECKS_OK
        here.reported.clear()
        assert here.doctoring.run(only=HANDSHAKE)
        await here.over()
        assert ["".join(status_of(row).glyph for row in state.report.rows()) for state in here.reported] == [
            "✓!✓✓✓✓✓✓✓✓✓●", "✓!✓✓✓✓✓✓✓✓✓✓", "✓!✓✓✓✓✓✓✓✓✓✓",
        ]  # fmt: skip
        assert here.report.find(HANDSHAKE) is CHECKS_OK[-1]


async def test_one_check_without_a_report_is_all_of_them() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        here.doctoring.run(only=HANDSHAKE)
        await here.over()
        assert len(here.report.checks) == len(CHECKS_OK)


async def test_a_full_run_has_more_checks_and_stays_one() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        here.doctoring.run(full=True)
        await here.over()
        assert here.report.full
        assert here.report.rows()[-1]["id"] == "readiness.smoke"
        here.doctoring.run(only=HANDSHAKE)
        await here.over()
        assert here.report.full
        assert here.engine.calls == [f"doctor {DEVICE.serial} in full"] * 2


async def test_a_run_that_breaks_off_says_why() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK[:3], check_ids=CHECK_IDS, doctor_error=EngineError(ErrorCode.ADB_NOT_FOUND, "no adb"))) as here:  # fmt: skip
        here.doctoring.run()
        await here.over()
        assert here.report.problem == "no adb (ADB_NOT_FOUND)"
        assert here.states()[3:] == ["–"] * (len(CHECK_IDS) - 3)


async def test_checks_of_any_kind_are_taken() -> None:
    odd = ({"id": "x.y", "status": None}, {"id": "", "status": "fail"}, {"id": "x.y", "status": "pass"})
    async with desk(FakeEngine(checks=odd)) as here:
        here.doctoring.run()
        await here.over()
        assert not here.report.running


# -- stopping, and other devices


async def test_stopping_a_run_says_so_and_leaves_nothing_waiting() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK, held={"device.capability": asyncio.Event()})) as here:
        here.doctoring.run()
        await here.until(lambda: here.report.pending[:1] == ("device.capability",))
        assert here.doctoring.stop()
        await here.over()
        assert here.report.stopped
        assert here.states()[6:] == ["–"] * 6
        assert not here.doctoring.stop(), "there is nothing to stop any more"


async def test_stopping_before_anything_began() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        here.doctoring.run()
        here.doctoring.stop()
        await here.over()
        assert not here.doctoring.busy
        assert here.engine.calls == []


async def test_another_device_ends_the_run_and_the_next_one_is_for_it() -> None:
    gate = asyncio.Event()
    async with desk(FakeEngine(checks=CHECKS_OK, held={HANDSHAKE: gate})) as here:
        here.doctoring.run()
        await here.until(lambda: here.report.pending == (HANDSHAKE,))
        here.doctoring.use_device(SECOND.serial)
        assert here.doctoring.run()
        here.doctoring.use_device("third")
        assert here.doctoring.run()
        gate.set()
        await here.over()
        assert here.report.device_id == "third"
        assert len(here.report.checks) == len(CHECKS_OK)
        assert here.engine.calls[-1] == "doctor third"


async def test_the_old_devices_run_ends_even_if_no_other_follows() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK, held={HANDSHAKE: asyncio.Event()})) as here:
        here.doctoring.run()
        await here.until(lambda: here.report.pending == (HANDSHAKE,))
        here.doctoring.use_device("")
        await here.over()
        assert here.report.stopped


# -- fixes


async def test_a_fix_runs_and_all_checks_that_it_concerns_are_made_again() -> None:
    async with desk(off()) as here:
        here.doctoring.run()
        await here.over()
        plans = here.doctoring.plan([CHECKS_OFF[-1]])
        assert [plan.step for plan in plans] == [GRANT, LOOK]
        here.reported.clear()
        assert here.doctoring.fix(plans)
        await here.over()
        assert here.engine.calls == [
            f"doctor {DEVICE.serial}", f"fix {GRANT}", f"fix {LOOK}", f"doctor {DEVICE.serial}",
        ]  # fmt: skip
        begun = next(state.report for state in here.reported if state.report.running)
        assert begun.pending == (ENABLED, HANDSHAKE), "the earliest check that offers the step, and those after it"
        assert len(begun.checks) == len(CHECK_IDS) - 2
        assert here.states() == ["✓", "!", *"✓" * (len(CHECK_IDS) - 2)]
        assert [fix.state for fix in here.doctoring.state.fixes] == ["ok", "ok"]
        assert [stage.state for stage in here.doctoring.state.fixes[0].stages] == ["done"]
        assert here.said == [Notice(Status.OK, "Fixed: accessibility enabled, handshake")]
    states = [tuple(fix.state for fix in state.fixes) for state in here.reported]
    assert states.index(("waiting", "waiting")) < states.index(("running", "waiting")) < states.index(("ok", "running"))


async def test_a_fix_that_fails_says_why_and_looks_again_all_the_same() -> None:
    async with desk(off(fix_ok=False, fix_output="cmd: Can't find service: package\n")) as here:
        here.doctoring.run()
        await here.over()
        here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-2]]))
        await here.over()
        assert here.engine.calls[-1] == f"doctor {DEVICE.serial}"
        assert here.said[0].status is Status.FAILED
        assert "Can't find service: package" in here.said[0].text


async def test_a_fix_that_changes_nothing_is_no_success() -> None:
    async with desk(FakeEngine(checks=CHECKS_OFF)) as here:
        here.doctoring.run()
        await here.over()
        here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-2]]))
        await here.over()
        assert here.said[0].status is Status.WARN
        assert "still do not pass" in here.said[0].text


async def test_a_refused_fix_is_one_that_failed() -> None:
    refusal = EngineError(ErrorCode.READ_ONLY, "started with --read-only")
    async with desk(off(fix_error=refusal)) as here:
        here.doctoring.run()
        await here.over()
        here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-2]]))
        await here.over()
        assert here.doctoring.state.fixes[0].output.startswith("started with --read-only (READ_ONLY)")


async def test_stopping_a_fix_stops_all_that_follow_from_it() -> None:
    async with desk(off(hold_fix=asyncio.Event())) as here:
        here.doctoring.run()
        await here.over()
        here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-1]]))
        await here.until(lambda: any(fix.stages for fix in here.doctoring.state.fixes))
        assert here.doctoring.fixing
        assert not here.doctoring.run(), "not while a fix is at work"
        assert not here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-1]]))
        here.doctoring.stop()
        await here.over()
        assert [fix.state for fix in here.doctoring.state.fixes] == ["stopped", "stopped"]
        assert here.engine.calls.count(f"doctor {DEVICE.serial}") == 1
        assert here.doctoring.run(), "and nothing stands in the way of the next run"
        await here.over()


async def test_a_fix_ends_the_run_that_is_under_way_and_makes_the_rest_of_it() -> None:
    gate = asyncio.Event()
    async with desk(off(held={HANDSHAKE: gate})) as here:
        here.doctoring.run()
        await here.until(lambda: here.report.pending == (HANDSHAKE,))
        assert here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-2]]))
        gate.set()
        await here.over()
        assert here.states() == ["✓", "!", *"✓" * (len(CHECK_IDS) - 2)]
        assert not here.report.stopped


async def test_a_fix_goes_on_when_the_device_is_left_and_the_new_one_is_checked_after_it() -> None:
    gate = asyncio.Event()
    async with desk(off(hold_fix=gate)) as here:
        here.doctoring.run()
        await here.over()
        here.doctoring.fix(here.doctoring.plan([CHECKS_OFF[-2]]))
        await here.until(lambda: any(fix.stages for fix in here.doctoring.state.fixes))
        here.doctoring.use_device(SECOND.serial)
        gate.set()
        await here.over()
        assert here.doctoring.state.fixes[0].state == "ok"
        assert here.engine.calls[-1] == f"doctor {SECOND.serial}"
        assert here.report.device_id == SECOND.serial


async def test_nothing_to_fix_is_no_fix() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        assert here.doctoring.plan(CHECKS_OK) == ()
        assert not here.doctoring.fix(())


async def test_old_fixes_are_forgotten_one_day() -> None:
    async with desk(off()) as here:
        here.doctoring.run()
        await here.over()
        plan = here.doctoring.plan([CHECKS_OFF[-2]])
        for _ in range(40):
            here.doctoring.fix(plan)
            await here.over()
        assert len(here.doctoring.state.fixes) == 31


# -- watching


async def test_watching_looks_again_when_the_devices_change() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        here.doctoring.devices_changed((DEVICE,))
        here.doctoring.run()
        await here.over()
        here.doctoring.devices_changed((DEVICE, PHONE))
        assert not here.doctoring.busy, "off by default"
        here.doctoring.watch(True)
        assert here.doctoring.busy, "what was missed is made up for"
        await here.over()
        here.doctoring.devices_changed((DEVICE, PHONE))
        assert not here.doctoring.busy, "nothing changed"
        here.doctoring.devices_changed((DEVICE._replace(transport_id=9), PHONE))
        assert here.doctoring.busy, "it went and came back"
        await here.over()
        here.doctoring.watch(False)
        here.doctoring.devices_changed(())
        assert not here.doctoring.busy
        assert here.engine.calls == [f"doctor {DEVICE.serial}"] * 3


async def test_changes_during_a_run_are_one_more_run() -> None:
    gate = asyncio.Event()
    async with desk(FakeEngine(checks=CHECKS_OK, held={HANDSHAKE: gate})) as here:
        here.doctoring.watch(True)
        here.doctoring.devices_changed((DEVICE,))
        await here.until(lambda: here.report.pending == (HANDSHAKE,))
        for devices in ((), (PHONE,), (DEVICE, PHONE), (DEVICE,), (DEVICE, PHONE)):
            here.doctoring.devices_changed(devices)
        gate.set()
        await here.over()
        assert here.engine.calls == [f"doctor {DEVICE.serial}"] * 2


async def test_a_change_of_the_app_is_one_too() -> None:
    async with desk(FakeEngine(checks=CHECKS_OK)) as here:
        here.doctoring.changed()
        assert not here.doctoring.busy
        here.doctoring.watch(True)
        await here.over()
        here.doctoring.changed()
        assert here.doctoring.busy
        await here.over()
        assert len(here.engine.calls) == 2


async def test_what_was_turned_away_is_made_again_when_the_device_is_free() -> None:
    busy = {"id": HANDSHAKE, "status": "fail", "code": "EXECUTION_CONFLICT_IN_FLIGHT", "summary": "busy"}
    async with desk(FakeEngine(checks=(*CHECKS_OK[:-1], busy))) as here:
        here.doctoring.run()
        await here.over()
        here.engine.checks = CHECKS_OK
        here.doctoring.use_device(SECOND.serial)
        here.doctoring.device_free()
        assert not here.doctoring.busy, "that was another device"
        here.doctoring.use_device(DEVICE.serial)
        here.doctoring.device_free()
        await here.doctoring.rest()
        assert here.report.status() is Status.OK
        here.doctoring.device_free()
        assert not here.doctoring.busy


async def test_what_was_found_before_the_device_was_busy_is_examined_again_as_well() -> None:
    """The service was off, a fix of another program had the device, and now the service is on."""
    busy = {"id": HANDSHAKE, "status": "fail", "code": "EXECUTION_CONFLICT_IN_FLIGHT", "summary": "busy"}
    async with desk(FakeEngine(checks=(*CHECKS_OFF[:-1], busy))) as here:
        here.doctoring.run()
        await here.over()
        assert here.report.problems
        here.engine.checks = (*CHECKS_OK[:-1], {**CHECKS_OFF[-2], "status": "pass"}, CHECKS_OK[-1])
        here.doctoring.device_free()
        await here.doctoring.rest()
        assert not here.report.problems


@pytest.mark.parametrize(("checks", "cannot_answer"), [(CHECKS_OFF, True), (CHECKS_FAILED, False), (CHECKS_OK, False)])
async def test_whether_a_tree_can_come_at_all(checks: Any, cannot_answer: bool) -> None:
    async with desk(FakeEngine(checks=checks)) as here:
        here.doctoring.run()
        await here.over()
        assert here.doctoring.cannot_answer(DEVICE.serial) is cannot_answer
        assert not here.doctoring.cannot_answer(SECOND.serial)


# -- the fakes are like the real ones


@table(
    ("real", "fake"),
    [
        (Doctor.checks, FakeDoctor.checks),
        (Fixer.plan, FakeFixer.plan),
        (Fixer.run, FakeFixer.run),
        (Doctor.checks, SavedDumps.checks),
        (Fixer.plan, SavedDumps.plan),
        (Fixer.run, SavedDumps.run),
    ],
    ids=lambda method: method.__qualname__,
)
def test_the_fakes_are_called_as_the_real_ones(real: Callable[..., Any], fake: Callable[..., Any]) -> None:
    def shape(method: Callable[..., Any]) -> list[tuple[str, Any, bool]]:
        found = inspect.signature(method).parameters.values()
        return [(one.name, one.kind, one.default is inspect.Parameter.empty) for one in found]

    assert shape(real) == shape(fake)


async def test_the_real_doctor_has_what_the_fake_one_has() -> None:
    async with Engine() as engine:
        doctor = engine.doctor(full=True)
        assert isinstance(engine.fixer(), Fixer)
        found: Any = doctor.checks()
        await found.aclose()
    assert set(CHECK_IDS) <= set(doctor.ids)
    order = [name for name in doctor.ids if name in CHECK_IDS]
    assert order == list(CHECK_IDS)
    assert hasattr(found, "aclose"), "an async generator, so that a run can be ended"


async def test_without_a_device_there_is_nothing_to_check() -> None:
    async with desk(FakeEngine()) as here:
        doctoring = DoctorController(SavedDumps(), here._spawn, here._hear, here.said.append, MovableClock().clock)
        doctoring.run()
        await asyncio.wait(here.tasks)
        assert "saved dumps" in doctoring.report.problem
        assert doctoring.plan([CHECKS_OFF[-1]]) == ()
        assert replace(doctoring.report, problem="").status() is Status.IDLE
