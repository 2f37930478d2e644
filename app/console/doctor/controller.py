"""Runs the doctor's checks and fixes, and watches devices for new runs. It knows no widget.

One run or fix at a time. Every report is the whole state. A run is cancelled when another device is selected; a fix
continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clawperator.app.console.console_engine import ConsoleEngine, Document, FixRunner, as_mapping
from clawperator.engine.doctor.check import CRITICAL, NEVER_STOPS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import Stage
from clawperator.widgets.format.checks import short_name
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.doctor_report import Check, DeviceMark, DoctorReport, id_of, mark_of, status_of
from clawperator.widgets.models.fix_run import FixRun, FixState
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.doctor.fix import PlannedFix

FIXES_KEPT = 30
_BUSY = ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value
_CANNOT_ANSWER = frozenset(
    code.value
    for code in (
        ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        ErrorCode.RECEIVER_NOT_INSTALLED,
        ErrorCode.RECEIVER_VARIANT_MISMATCH,
    )
)
OUTPUT_KEPT = 20_000
"""Limit in characters of the output of a fix; the beginning is cut."""


class DoctorState(NamedTuple):
    """What there is to show. ``watching``: checks run when devices change."""

    report: DoctorReport = DoctorReport.EMPTY
    fixes: tuple[FixRun, ...] = ()
    watching: bool = False


class _Round(NamedTuple):
    """One run: all checks, ``only`` one of them, or those from ``since`` on."""

    device_id: str
    full: bool = False
    only: str = ""
    since: str = ""


class DoctorController:
    """``spawn`` starts a task, ``publish`` gets each new state, ``say`` the outcome of fixes."""

    def __init__(
        self,
        engine: ConsoleEngine,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        publish: Callable[[DoctorState], object],
        say: Callable[[Notice], object],
        clock: WallClock,
    ) -> None:
        self._engine = engine
        self._spawn = spawn
        self._publish = publish
        self._say = say
        self._clock = clock
        self.state = DoctorState()
        self._device_id = ""
        self._task: asyncio.Task[None] | None = None
        self._unfinished: set[asyncio.Task[None]] = set()
        self._round: _Round | None = None
        self._fixing = False
        self._again = False
        self._present: tuple[DeviceEntry, ...] = ()
        self._seen: frozenset[tuple[str, DeviceMark]] | None = None

    @property
    def report(self) -> DoctorReport:
        return self.state.report

    @property
    def busy(self) -> bool:
        """Whether a run or a fix is running."""
        return self._task is not None and not self._task.done()

    @property
    def fixing(self) -> bool:
        """Whether a fix is running."""
        return self.busy and self._fixing

    @property
    def busy_words(self) -> str:
        """Why no other run or fix can begin now."""
        return "A fix is running. Press C in Doctor to stop it" if self.fixing else "The checks are already running"

    # -- requests

    def use_device(self, serial: str) -> None:
        """Select the device; a run for another one is cancelled. The caller starts the next run."""
        if serial == self._device_id:
            return
        self._device_id = serial
        if self._task is not None and not self.fixing:
            self._task.cancel()

    def run(self, *, full: bool = False, only: str = "") -> bool:
        """Run all checks, or ``only`` one; return false while a run or a fix is running."""
        same = self._round is not None and self._round.device_id == self._device_id
        if self.fixing or (self.busy and same):
            return False
        self._begin_rounds(self._wanted(full=full, only=only))
        return True

    def rerun(self) -> None:
        """Run all checks; after the current run, if there is one."""
        if not self.run() and not self.fixing:
            self._again = True

    def fix(self, plans: Sequence[PlannedFix]) -> bool:
        """Run ``plans`` in order, then the checks that they concern and the following ones.

        A current run is cancelled; return false while another fix is running, or without plans.
        """
        if not plans or self.fixing:
            return False
        self._start(partial(self._fix, plans, self._device_id), fixing=True)
        return True

    def stop(self) -> bool:
        """Cancel the current run or fix; return whether there was one."""
        self._again = False
        return self._task is not None and self._task.cancel()

    def watch(self, on: bool) -> None:
        """Switch runs on device changes on or off; changes since the last run count."""
        self._update(watching=on)
        self._watched()

    def devices_changed(self, devices: Sequence[DeviceEntry]) -> None:
        """Take adb's device list."""
        self._present = tuple(devices)
        self._watched()

    def changed(self) -> None:
        """Note a change that the checks depend on, such as the Operator app."""
        self._seen = None
        self._watched()

    def device_free(self) -> None:
        """Repeat the check that was refused because the device was busy, and the problems before it: they may be over."""
        report = self.report
        refused = any(check.get("code") == _BUSY for check in report.checks)
        if refused and self._device_id == report.device_id and not self.busy:
            first = next(id_of(check) for check in report.checks if status_of(check) is not Status.OK)
            self._begin_rounds(self._wanted(since=first))

    async def rest(self) -> None:
        """Wait until no run and no fix is running."""
        while self._unfinished:
            await asyncio.wait(tuple(self._unfinished))

    def cannot_answer(self, serial: str) -> bool:
        """Return whether the checks found that the Operator app of ``serial`` cannot answer now."""
        report = self.report
        return report.device_id == serial and any(check.get("code") in _CANNOT_ANSWER for check in report.checks)

    def plan(self, checks: Sequence[Check]) -> tuple[PlannedFix, ...]:
        """Return the fixes that can run for these checks."""
        return self._engine.fixer().plan(list(checks), self.report.device_id or self._device_id)

    def _watched(self) -> None:
        if not self.state.watching or self._marks() == self._seen:
            return
        if self.busy:
            self._again = True
        else:
            self._begin_rounds(self._wanted())

    def _marks(self) -> frozenset[tuple[str, DeviceMark]]:
        """Return what distinguishes one list of devices from another."""
        return frozenset((entry.serial, mark_of(entry)) for entry in self._present)

    # -- running

    def _wanted(self, *, full: bool = False, only: str = "", since: str = "") -> _Round:
        """Return the run to make: a partial one only for the device of the current report."""
        report = self.report
        backend = self._engine.backend_of(self._device_id)
        known = report.device_id == self._device_id and report.backend == backend and report.checks
        if (only or since) and not known:
            return _Round(self._device_id)
        return _Round(self._device_id, full or bool((only or since) and report.full), only, since)

    def _begin_rounds(self, wanted: _Round) -> None:
        self._round = wanted
        self._start(partial(self._rounds, wanted), fixing=False)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]], *, fixing: bool) -> None:
        """Start ``work`` after the current work, which is cancelled."""
        before = tuple(self._unfinished)
        for task in before:
            task.cancel()
        self._fixing = fixing
        self._task = self._spawn(_after(before, work))
        self._unfinished.add(self._task)
        self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """Mark the report as stopped where the task ended early."""
        self._unfinished.discard(task)
        if task is self._task and self.report.running:
            self._update(report=self.report.over(self._clock.now(), stopped=True))

    async def _rounds(self, first: _Round) -> None:
        """Run once, and again if devices changed during the run."""
        await self._run(first)
        while self._again:
            await self._run(self._wanted())

    async def _run(self, wanted: _Round) -> None:
        self._round = wanted
        if not (wanted.only or wanted.since):
            self._again, self._seen = False, self._marks()
        report = self.report
        try:
            doctor = self._engine.doctor(device_id=wanted.device_id or None, full=wanted.full)
            ids = tuple(doctor.ids)
            only = wanted.only if wanted.only in ids else ""
            since = wanted.since if wanted.since in ids else ""
            report = self._begin(wanted, ids, (only,) if only else ids[ids.index(since) :] if since else ids)
            checks = doctor.checks(only=only, since=since)
            async with aclosing(cast("AsyncGenerator[Document, None]", checks)):
                async for check in checks:
                    report = report.took(as_mapping(check))
                    self._update(report=report)
        except EngineError as exc:
            report = replace(report, problem=f"{exc.message} ({exc.code.value})")
        report = report.over(self._clock.now())
        self._update(report=report if wanted.only else replace(report, device=self._mark(wanted.device_id)))

    def _mark(self, serial: str) -> DeviceMark:
        return mark_of(next((entry for entry in self._present if entry.serial == serial), None))

    def _begin(self, wanted: _Round, ids: tuple[str, ...], pending: tuple[str, ...]) -> DoctorReport:
        """Return the report with all checks of this run marked as pending."""
        whole = pending == ids
        report = DoctorReport(
            checks=() if whole else self.report.checks,
            ids=ids,
            critical=CRITICAL,
            stopping=CRITICAL - NEVER_STOPS,
            ended=0.0 if whole else self.report.ended,
            device=self.report.device,
            device_id=wanted.device_id,
            full=wanted.full,
            backend=self._engine.backend_of(wanted.device_id),
        ).begun(pending)
        self._update(report=report)
        return report

    # -- fixes

    async def _fix(self, plans: Sequence[PlannedFix], device_id: str) -> None:
        begun = [
            FixRun(check_id=plan.check_id, step=plan.step, preview=plan.preview, device_id=device_id) for plan in plans
        ]
        kept = self.state.fixes[-FIXES_KEPT:] if len(begun) < FIXES_KEPT else ()
        first = len(kept)
        self._update(fixes=(*kept, *begun))
        try:
            fixer = self._engine.fixer()
            for place, plan in enumerate(plans, first):
                await self._fix_one(fixer, plan, place)
        except asyncio.CancelledError:
            for place in range(first, len(self.state.fixes)):
                self._stopped(place)
            raise
        finally:
            self._fixing = False
        done = self.state.fixes[first:]
        if device_id != self._device_id:
            await self._rounds(self._wanted())
            return
        concerned = self._concerned([plan.step for plan in plans])
        await self._run(self._wanted(since=concerned[0] if concerned else ""))
        self._say(_outcome(done, concerned, self.report))
        if self._again:
            await self._rounds(self._wanted())

    async def _fix_one(self, fixer: FixRunner, plan: PlannedFix, place: int) -> None:
        self._change(place, state="running", began=self._clock.now())
        try:
            result = await fixer.run(plan, lambda stage: self._staged(place, stage))
        except EngineError as exc:
            hint = f"\n{exc.hint}" if exc.hint else ""
            self._closed(place, "failed", f"{exc.message} ({exc.code.value}){hint}")
        else:
            self._closed(place, "ok" if result.ok else "failed", result.output)

    def _staged(self, place: int, stage: Stage) -> None:
        self._put(place, self.state.fixes[place].with_stage(stage))

    def _stopped(self, place: int) -> None:
        if not self.state.fixes[place].over:
            self._closed(place, "stopped", "")

    def _closed(self, place: int, state: FixState, output: str) -> None:
        self._change(place, state=state, output=output[-OUTPUT_KEPT:], ended=self._clock.now())

    def _change(self, place: int, **changes: Any) -> None:
        self._put(place, replace(self.state.fixes[place], **changes))

    def _put(self, place: int, fix: FixRun) -> None:
        fixes = self.state.fixes
        self._update(fixes=(*fixes[:place], fix, *fixes[place + 1 :]))

    def _concerned(self, steps: Sequence[str]) -> list[str]:
        """Return the ids of the checks that offer one of these steps, in the order of the report."""
        return [
            id_of(check)
            for check in self.report.checks
            if status_of(check) is not Status.OK and not set(steps).isdisjoint(steps_of(check))
        ]

    def _update(self, **changes: Any) -> None:
        self.state = self.state._replace(**changes)
        self._publish(self.state)


async def _after(before: Sequence[asyncio.Task[None]], work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run ``work`` once the cancelled tasks have ended."""
    waiting = [task for task in before if not task.done()]
    if waiting:
        await asyncio.wait(waiting)
    await work()


def steps_of(check: Check) -> tuple[str, ...]:
    """Return the steps that a check suggests."""
    fix = check.get("fix")
    steps = fix.get("steps") if isinstance(fix, Mapping) else ()
    found = steps if isinstance(steps, (list, tuple)) else ()
    return tuple(str(step.get("value", "")) for step in found if isinstance(step, Mapping))


def _outcome(fixes: Sequence[FixRun], concerned: Sequence[str], report: DoctorReport) -> Notice:
    """Describe whether the steps worked, and whether the checks pass now."""
    failed = [fix for fix in fixes if fix.state != "ok"]
    still = [name for name in concerned if (found := report.find(name)) is None or status_of(found) is not Status.OK]
    where = "Press g f for its output"
    if failed:
        first = next((line for line in failed[0].output.splitlines() if line.strip()), "no reason was given")
        result = "the fix failed" if still or not concerned else "passes now, but the fix failed"
        words = f"{short_name(failed[0].check_id)}: {result}: {first[:200]}. {where}"
        return Notice(Status.FAILED if still or not concerned else Status.OK, sentence(words))
    names = ", ".join(map(short_name, still or concerned))
    if still:
        pronoun = "still does not pass" if len(still) == 1 else "still do not pass"
        return Notice(Status.WARN, sentence(f"The fix ran, but {names} {pronoun}. {where}"))
    return Notice(Status.OK, sentence(f"Fixed: {names}" if names else "The fix ran"))
