"""The doctor at work for the console: runs, fixes with what follows from them, and watching. It knows no widget.

At most one of them is at work. Every news is the whole state: the report so far, the fixes of the session, and whether
the doctor watches. A run for a device that is left is cancelled; a fix that was agreed to is not, only its second look.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clawperator.engine.doctor.check import CRITICAL, NEVER_STOPS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import Stage, Tell
from clawperator.widgets.format.checks import short_name
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.doctor_report import Check, DeviceMark, DoctorReport, id_of, mark_of, status_of
from clawperator.widgets.models.fix_run import FixRun, FixState
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.adb.parse import DeviceEntry
    from clawperator.engine.doctor.fix import FixResult, PlannedFix

FIXES_KEPT = 30
_BUSY = ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value
_MUTE = frozenset(
    code.value
    for code in (
        ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        ErrorCode.RECEIVER_NOT_INSTALLED,
        ErrorCode.RECEIVER_VARIANT_MISMATCH,
    )
)
OUTPUT_KEPT = 20_000
"""Characters of what one fix said; the rest is cut off at the front."""


class DoctorRun(Protocol):
    """One run of the doctor (``engine.doctor.run.Doctor``); its checks come as mappings or as values with ``to_dict``."""

    @property
    def ids(self) -> tuple[str, ...]: ...
    def checks(self, *, only: str = "", since: str = "") -> AsyncIterator[Any]: ...


class FixRunner(Protocol):
    """``engine.doctor.fix.Fixer``."""

    def plan(self, checks: Sequence[Any], device_id: str) -> tuple[PlannedFix, ...]: ...
    async def run(self, fix: PlannedFix, tell: Tell = ...) -> FixResult: ...


class CanCheck(Protocol):
    """The part of the engine that the doctor's screen uses."""

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> DoctorRun: ...
    def fixer(self) -> FixRunner: ...


class DoctorState(NamedTuple):
    """What there is to show. ``watching``: checks run by themselves when devices change."""

    report: DoctorReport = DoctorReport.EMPTY
    fixes: tuple[FixRun, ...] = ()
    watching: bool = False


class _Round(NamedTuple):
    """What one run makes: all checks, ``only`` one of them, or those from ``since`` on."""

    device_id: str
    full: bool = False
    only: str = ""
    since: str = ""


class Doctoring:
    """``spawn`` starts a task, ``tell`` hears each new state, ``say`` the outcome of fixes."""

    def __init__(
        self,
        engine: CanCheck,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        tell: Callable[[DoctorState], object],
        say: Callable[[Notice], object],
        clock: WallClock,
    ) -> None:
        self._engine = engine
        self._spawn = spawn
        self._tell_state = tell
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
        """Whether a run or a fix is at work."""
        return self._task is not None and not self._task.done()

    @property
    def fixing(self) -> bool:
        """Whether what is at work is a fix."""
        return self.busy and self._fixing

    # -- wishes

    def use_device(self, serial: str) -> None:
        """``serial`` is the device from now on; a run for another one ends. Whoever says so starts the next one."""
        if serial == self._device_id:
            return
        self._device_id = serial
        if self._task is not None and not self.fixing:
            self._task.cancel()

    def run(self, *, full: bool = False, only: str = "") -> bool:
        """Make all checks, or ``only`` one of them; false while something is at work already."""
        same = self._round is not None and self._round.device_id == self._device_id
        if self.fixing or (self.busy and same):
            return False
        self._begin_rounds(self._wanted(full=full, only=only))
        return True

    def fix(self, plans: Sequence[PlannedFix]) -> bool:
        """Run ``plans`` one after the other, then make the checks again that they concern, and those after them.

        A run that is under way ends for it; false while another fix is at work, or when there is nothing to do.
        """
        if not plans or self.fixing:
            return False
        self._start(partial(self._fix, plans, self._device_id), fixing=True)
        return True

    def stop(self) -> bool:
        """End the run or the fix that is at work; whether there was one."""
        self._again = False
        return self._task is not None and self._task.cancel()

    def watch(self, on: bool) -> None:
        """Check by itself from now on whenever the devices change, or no longer; what was missed is made up for."""
        self._tell(watching=on)
        self._watched()

    def devices_changed(self, devices: Sequence[DeviceEntry]) -> None:
        """The list of adb; with its transports, which change when a device comes back."""
        self._present = tuple(devices)
        self._watched()

    def changed(self) -> None:
        """Something that the checks look at has changed, such as the Operator app: whoever watches looks again."""
        self._seen = None
        self._watched()

    def device_free(self) -> None:
        """Nobody holds the device any more: a check that was turned away for it is made again."""
        report = self.report
        turned_away = [id_of(check) for check in report.checks if check.get("code") == _BUSY]
        if turned_away and self._device_id == report.device_id and not self.busy:
            self._begin_rounds(self._wanted(since=turned_away[0]))

    async def rest(self) -> None:
        """Until nothing is at work."""
        while self._unfinished:
            await asyncio.wait(tuple(self._unfinished))

    def hopeless(self, serial: str) -> bool:
        """Whether the checks found out that the Operator app of ``serial`` cannot answer anything now."""
        report = self.report
        return report.device_id == serial and any(check.get("code") in _MUTE for check in report.checks)

    def plan(self, checks: Sequence[Check]) -> tuple[PlannedFix, ...]:
        """What of these could be put right from here."""
        return self._engine.fixer().plan(list(checks), self.report.device_id or self._device_id)

    def _watched(self) -> None:
        if not self.state.watching or self._marks() == self._seen:
            return
        if self.busy:
            self._again = True
        else:
            self._begin_rounds(self._wanted())

    def _marks(self) -> frozenset[tuple[str, DeviceMark]]:
        """What makes one list of devices another one."""
        return frozenset((entry.serial, mark_of(entry)) for entry in self._present)

    # -- at work

    def _wanted(self, *, full: bool = False, only: str = "", since: str = "") -> _Round:
        """A part of a report can only be made for the device that the rest of it is about."""
        report = self.report
        if (only or since) and (report.device_id != self._device_id or not report.checks):
            return _Round(self._device_id)
        return _Round(self._device_id, full or bool((only or since) and report.full), only, since)

    def _begin_rounds(self, wanted: _Round) -> None:
        self._round = wanted
        self._start(partial(self._rounds, wanted), fixing=False)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]], *, fixing: bool) -> None:
        """``work`` in the place of what is at work, which ends for it."""
        before = tuple(self._unfinished)
        for task in before:
            task.cancel()
        self._fixing = fixing
        self._task = self._spawn(_after(before, work))
        self._unfinished.add(self._task)
        self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """However it ended, and even if it never began: what nobody makes any more is not waited for."""
        self._unfinished.discard(task)
        if task is self._task and self.report.running:
            self._tell(report=self.report.over(self._clock.now(), stopped=True))

    async def _rounds(self, first: _Round) -> None:
        """One run, and another one if the devices changed meanwhile."""
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
            async with aclosing(cast("AsyncGenerator[Any, None]", checks)):
                async for check in checks:
                    report = report.took(as_mapping(check))
                    self._tell(report=report)
        except EngineError as exc:
            report = replace(report, problem=f"{exc.message} ({exc.code.value})")
        report = report.over(self._clock.now())
        self._tell(report=report if wanted.only else replace(report, device=self._mark(wanted.device_id)))

    def _mark(self, serial: str) -> DeviceMark:
        return mark_of(next((entry for entry in self._present if entry.serial == serial), None))

    def _begin(self, wanted: _Round, ids: tuple[str, ...], pending: tuple[str, ...]) -> DoctorReport:
        """The report with all that is going to be made marked as awaited."""
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
        ).begun(pending)
        self._tell(report=report)
        return report

    # -- fixes

    async def _fix(self, plans: Sequence[PlannedFix], device_id: str) -> None:
        begun = [
            FixRun(check_id=plan.check_id, step=plan.step, preview=plan.preview, device_id=device_id) for plan in plans
        ]
        kept = self.state.fixes[-FIXES_KEPT:] if len(begun) < FIXES_KEPT else ()
        first = len(kept)
        self._tell(fixes=(*kept, *begun))
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
        self._tell(fixes=(*fixes[:place], fix, *fixes[place + 1 :]))

    def _concerned(self, steps: Sequence[str]) -> list[str]:
        """Ids of the checks that offer one of these steps, in the order of the report: one fix may help several."""
        return [
            id_of(check)
            for check in self.report.checks
            if status_of(check) is not Status.OK and not set(steps).isdisjoint(steps_of(check))
        ]

    def _tell(self, **changes: Any) -> None:
        self.state = self.state._replace(**changes)
        self._tell_state(self.state)


async def _after(before: Sequence[asyncio.Task[None]], work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Never two at once: what was cancelled may still be putting its things away."""
    waiting = [task for task in before if not task.done()]
    if waiting:
        await asyncio.wait(waiting)
    await work()


def steps_of(check: Check) -> tuple[str, ...]:
    """What a check says to do, as it words it."""
    fix = check.get("fix")
    steps = fix.get("steps") if isinstance(fix, Mapping) else ()
    found = steps if isinstance(steps, (list, tuple)) else ()
    return tuple(str(step.get("value", "")) for step in found if isinstance(step, Mapping))


def as_mapping(value: Any) -> Mapping[str, Any]:
    """An engine value as its dictionary form."""
    return value if isinstance(value, Mapping) else value.to_dict()


def _outcome(fixes: Sequence[FixRun], concerned: Sequence[str], report: DoctorReport) -> Notice:
    """What became of it: whether the steps worked, and whether the checks pass now."""
    failed = [fix for fix in fixes if fix.state != "ok"]
    still = [name for name in concerned if (found := report.find(name)) is None or status_of(found) is not Status.OK]
    where = "g f shows what it said"
    if failed:
        first = next((line for line in failed[0].output.splitlines() if line.strip()), "no reason was given")
        words = f"{short_name(failed[0].check_id)}: the fix failed: {first[:200]}. {where}"
        return Notice(Status.FAILED, sentence(words))
    names = ", ".join(map(short_name, still or concerned))
    if still:
        pronoun = "still does not pass" if len(still) == 1 else "still do not pass"
        return Notice(Status.WARN, sentence(f"The fix ran, but {names} {pronoun}. {where}"))
    return Notice(Status.OK, sentence(f"Fixed: {names}" if names else "The fix ran"))
