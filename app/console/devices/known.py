"""What is known of each device: the doctor's findings, its last run, the age of its screen. A device is read only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from clawperator.app.console.console_engine import known_aliases
from clawperator.app.console.devices.console import DevicesConsole
from clawperator.app.console.execution.outcome import snapshot_problem
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError
from clawperator.widgets.format.devices import DISCONNECTED, DeviceSummary, facts_of
from clawperator.widgets.format.runs import facts_of as facts_of_run
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.execution_queries import acted_since
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import time_ago

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.history.records import RunSummary

    Run = ExecutionState | RunSummary

_RECORDED = 300
"""The newest recorded runs that are searched for the last one of each device."""


class KnownDevices:
    """``changed`` is called when a device was read, or the history."""

    def __init__(self, console: DevicesConsole, changed: Callable[[], object]) -> None:
        self._console = console
        self._changed = changed
        self._recorded: Sequence[RunSummary] = ()
        self._reading: set[str] = set()
        self._problems: dict[str, str] = {}

    @property
    def devices(self) -> tuple[DeviceEntry, ...]:
        """Return the devices that adb lists, then those that it listed before."""
        session = self._console.session
        return (*session.devices, *(gone._replace(state=DISCONNECTED) for gone, _ in session.left.values()))

    def summaries(self) -> dict[str, DeviceSummary]:
        """Return what is known of each device, by serial."""
        session, aliases = self._console.session, known_aliases(self._console.engine)
        runs = last_runs([*self._recorded, *(run for run in session.log.executions if not run.follow_snapshots)])
        return {each.serial: self._summary(each, runs.get(each.serial), aliases) for each in self.devices}

    def _summary(self, device: DeviceEntry, run: Run | None, aliases: Mapping[str, str]) -> DeviceSummary:
        session, serial = self._console.session, device.serial
        snapshot, now = session.trees_of(serial).newest, session.clock.now()
        stale = _outdated(run, snapshot.at) or acted_since(session.log, snapshot) if snapshot.readable else ""
        lock, left = session.locks.get(serial, {}), session.left.get(serial)
        holder = str(lock.get("commandId") or f"pid {lock.get('pid')}") if lock else ""
        return facts_of(session.findings.get(serial), session.machines.name_of(serial))._replace(
            silent=serial in session.silent,
            name=aliases.get(serial, ""),
            activity="reading" if serial in self._reading else str(lock.get("state") or "busy") if lock else "",
            holder=holder,
            app=snapshot.package,
            run=facts_of_run(run, session.clock) if run is not None else None,
            ran=time_ago(now - _started(run)) if run is not None else "",
            seen=time_ago(now - snapshot.at) if snapshot.readable else "",
            stale=stale,
            problem=self._problems.get(serial, ""),
            left=time_ago(now - left[1]) if left is not None else "",
        )

    async def read_history(self) -> None:
        """Read the newest recorded runs; mode 4 says why they cannot be read."""
        history = self._console.engine.history
        if history is None:
            return
        try:
            self._recorded = await history.runs(limit=_RECORDED)
        except EngineError:
            return
        self._changed()

    def read(self, serial: str) -> None:
        """Read the screen of a device once."""
        if serial not in self._reading:
            self._reading.add(serial)
            self._console.run_worker(self._read(serial), name=f"read {serial}", exit_on_error=True)
            self._changed()

    async def _read(self, serial: str) -> None:
        try:
            result = await self._console.engine.snapshot(device_id=serial)
            envelope = getattr(result, "envelope", None)
            self._problems[serial] = snapshot_problem(envelope) if envelope is not None else ""
        except EngineError as exc:
            self._problems[serial] = exc.message
        finally:
            self._reading.discard(serial)
        self._changed()


def last_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """Return the last run of each device; one that only observed counts where no other is known."""
    best: dict[str, tuple[tuple[bool, float], Run]] = {}
    for run in runs:
        rank = _acted(run), _started(run)
        if run.device_id not in best or rank >= best[run.device_id][0]:
            best[run.device_id] = rank, run
    return {serial: run for serial, (_, run) in best.items()}


def _started(run: Run) -> float:
    return run.started if isinstance(run, ExecutionState) else run.started_at


def _acted(run: Run) -> bool:
    """Return whether a run did more than to observe successfully."""
    if isinstance(run, ExecutionState):
        fine, types = run.status is Status.OK, {step.type for step in run.steps}
    else:
        fine, types = run.status == "success", {step["type"] for step in (run.outcome or {}).get("steps", ())}
    return not (fine and types <= OBSERVING)


def _outdated(run: Run | None, at: float) -> str:
    """Return whether another program's run, which only the history has, makes a tree out of date, in words."""
    recorded = run is not None and not isinstance(run, ExecutionState) and run.status == "success"
    return "an execution ran since" if run is not None and recorded and _acted(run) and _started(run) > at else ""
