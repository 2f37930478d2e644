"""All devices at once, from what the console knows of each. A device is read only when ``r`` asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult

from clawperator.app.console.console_engine import known_aliases
from clawperator.app.console.devices.console import DevicesConsole
from clawperator.app.console.empty_states import NO_DEVICE_HERE, device_state, no_device_state
from clawperator.app.console.execution.outcome import snapshot_problem
from clawperator.app.console.navigation import DevicePlace
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.session import Facet
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.folding import fold
from clawperator.widgets import keys
from clawperator.widgets.device_grid import DeviceGrid
from clawperator.widgets.format.devices import words_for
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.runs import facts_of
from clawperator.widgets.format.tiles import Tile
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.execution_queries import acted_since
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import time_ago

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.history.records import RunSummary
    from clawperator.widgets.models.executions import ExecutionLog
    from clawperator.widgets.models.snapshot import TreeSnapshot

    Run = ExecutionState | RunSummary

_RECORDED = 300
"""The newest recorded runs that are searched for the last one of each device."""


def show_grid(console: DevicesConsole) -> None:
    """Open the grid and go to the device that it answers."""

    def chosen(serial: str) -> None:
        session = console.session
        if any(device.serial == serial for device in session.usable) or serial == session.device_id:
            console.use_device(serial)
            console.action_mode("inspect")
        elif serial in session.left:
            console.say(Status.WARN, f"{serial} is disconnected")
        else:
            console.go_to(DevicePlace(serial))

    ask(console, GridDialog(console), chosen)


def _started(run: Run) -> float:
    return run.started if isinstance(run, ExecutionState) else run.started_at


def _acted(run: Run) -> bool:
    """Return whether a run did more than to observe successfully."""
    if isinstance(run, ExecutionState):
        fine, types = run.status is Status.OK, {step.type for step in run.steps}
    else:
        fine, types = run.status == "success", {step["type"] for step in (run.outcome or {}).get("steps", ())}
    return not (fine and types <= OBSERVING)


def last_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """Return the last run of each device; one that only observed counts where no other is known."""
    best: dict[str, tuple[tuple[bool, float], Run]] = {}
    for run in runs:
        rank = _acted(run), _started(run)
        if run.device_id not in best or rank >= best[run.device_id][0]:
            best[run.device_id] = rank, run
    return {serial: run for serial, (_, run) in best.items()}


def _began_after(run: Run | None, at: float) -> bool:
    return run is not None and _acted(run) and _started(run) > at


def _outdated(run: Run | None, snapshot: TreeSnapshot, log: ExecutionLog) -> str:
    """Return why a device's tree is out of date, also by what other programs recorded; empty where nothing is known."""
    if not snapshot.readable:
        return ""
    recorded = run is not None and not isinstance(run, ExecutionState) and run.status == "success"
    if run is not None and recorded and _acted(run) and _started(run) > snapshot.at:
        return "an execution ran since"
    return acted_since(log, snapshot)


class GridDialog(LiveDialog):
    """A tile for each device. Answers the serial of the chosen one, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("grid_dialog")]
    GO = "go to"
    MORE_KEYS = (("r", "read"), ("slash", "find"))

    def __init__(self, console: DevicesConsole) -> None:
        super().__init__("all devices")
        self._owner = console
        self._needle = ""
        self._recorded: Sequence[RunSummary] = ()
        self._reading: set[str] = set()
        self._problems: dict[str, str] = {}

    def compose_question(self) -> ComposeResult:
        yield InfoLine(id="grid-summary")
        yield DeviceGrid(id="grid")
        yield FindLine(self._find, placeholder="name, app or step", back_to="#grid", id="grid-find")

    @property
    def grid(self) -> DeviceGrid:
        return self.query_one("#grid", DeviceGrid)

    def on_mount(self) -> None:
        self.set_focus(self.grid)
        self._read_history()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & Facet.LOCKS and changed is not Facet.EVERYTHING:
            self._read_history()  # an execution of some program has ended
        known = [*self._tiles()]
        shown = [tile for tile in known if fold(self._needle) in fold(tile.words)]
        first = not self.grid.tiles
        self.grid.show(shown, self._empty_words(searched=bool(known)), self._owner.session.pictures)
        if first:
            self.grid.to_serial(self._owner.session.device_id)
        self._draw_summary(known, len(shown))

    def _empty_words(self, *, searched: bool) -> Sequence[str]:
        session = self._owner.session
        if searched:
            return ["No device matches. esc shows all"]
        if session.offline:
            return [f"{NO_DEVICE_HERE}."]
        state = device_state(session) or no_device_state(session)
        return [f"{state.reason}.", *state.steps] if state else []

    def _draw_summary(self, known: Sequence[Tile], shown: int) -> None:
        session, symbols = self._owner.session, self.symbols
        line = self.query_one("#grid-summary", InfoLine)
        words = Line(line.width)
        if session.adb_problem:
            problem = session.adb_problem if session.remote else f"adb: {session.adb_problem}"
            words.add(f"{symbols.sign(Status.FAILED)} ", "fail").device(problem, "fail")
        else:
            busy = sum(tile.serial in session.locks for tile in known)
            count, usable = len(known), len(session.usable)
            words.add(f"{count:,} device{'s' * (count != 1)}", "strong").add(f"   {usable:,} usable", "text")
            words.add(f"   {busy:,} busy" if busy else "", "run")
            words.add(f"   {count - usable:,} not usable" if count > usable else "", "warn")
        right = Line(line.width // 2)
        if self._needle:
            right.add(f"{shown:,} of {len(known):,} with ", "muted").device(self._needle, "match")
        elif shown > self.grid.on_screen:
            right.add(f"{self.grid.on_screen:,} of {shown:,} on screen", "muted")
        elif session.remote:
            right.add("at ", "muted").device(session.remote, "accent")
        line.show(Row(words, right))

    # -- what is known

    def _tiles(self) -> Iterator[Tile]:
        session = self._owner.session
        aliases = known_aliases(self._owner.engine)
        runs = last_runs([*self._recorded, *(run for run in session.log.executions if not run.follow_snapshots)])
        gone = (device for device, _ in session.left.values())
        devices = (*session.devices, *gone)
        return (self._tile(each, runs.get(each.serial), aliases.get(each.serial, "")) for each in devices)

    def _tile(self, device: DeviceEntry, run: Run | None, alias: str) -> Tile:
        session, clock, serial = self._owner.session, self.clock, device.serial
        snapshot, now = session.trees_of(serial).newest, clock.now()
        picture = session.pictures.get(serial)
        pictured = picture is not None and picture.at >= snapshot.at
        seen = picture.at if picture is not None and pictured else snapshot.at
        same = f"same phone as {', '.join(device.other_transports)}" if device.other_transports else ""
        more = (serial if alias else "", same, device.model.replace("_", " "), session.machines.name_of(serial))
        status, state, advice = self._state(device, now)
        return Tile(
            serial,
            alias or serial,
            "  ".join(filter(None, more)),
            status,
            state,
            advice,
            facts_of(run, clock) if run is not None else None,
            time_ago(now - _started(run)) if run is not None else "",
            snapshot,
            f"screen {time_ago(now - seen)}" if snapshot.readable or pictured else "screen not read",
            "" if pictured and not _began_after(run, seen) else _outdated(run, snapshot, session.log),
            self._problems.get(serial, ""),
            serial == session.device_id,
        )

    def _state(self, device: DeviceEntry, now: float) -> tuple[Status, str, str]:
        """Return status, state and next step; a free device has no state."""
        session, serial, words = self._owner.session, device.serial, words_for(device)
        if session.adb_problem:
            return Status.UNKNOWN, "state unknown", ""
        if serial in session.left:
            return Status.WARN, "disconnected", time_ago(now - session.left[serial][1])
        if not device.usable:
            return words.status, device.state, words.next
        if serial in self._reading:
            return Status.WAITING, "reading the screen…", ""
        if (lock := session.locks.get(serial)) is not None:
            if lock.get("state") == "settling":
                return Status.WAITING, "settling", ""
            return Status.RUNNING, "busy", str(lock.get("commandId") or f"pid {lock.get('pid')}")
        if serial in session.silent:
            return Status.WARN, "not responding", ""
        return Status.OK, "", ""

    def _read_history(self) -> None:
        self.run_worker(self._last_recorded(), group="history", exclusive=True, exit_on_error=True)

    async def _last_recorded(self) -> None:
        history = self._owner.engine.history
        if history is None:
            return
        try:
            self._recorded = await history.runs(limit=_RECORDED)
        except EngineError:
            return  # mode 4 says why; the tiles show what this console saw
        self.show(Facet.DEVICES)

    # -- keys

    def _find(self, text: str) -> None:
        self._needle = text.strip()
        self.show(Facet.DEVICES)

    def action_find(self) -> None:
        self.query_one("#grid-find", FindLine).open()

    def action_close(self) -> None:
        """Show all devices again after a search, else close."""
        if self._needle:
            self.query_one("#grid-find", FindLine).value = ""
        else:
            super().action_close()

    def action_go(self) -> None:
        self.grid.action_choose()

    @on(DeviceGrid.Chosen)
    def _chosen(self, message: DeviceGrid.Chosen) -> None:
        message.stop()
        self.dismiss(message.serial)

    def action_read(self) -> None:
        """Read the screen of the device under the cursor once."""
        tile = self.grid.tile
        usable = {device.serial for device in self._owner.session.usable}
        if tile is not None and tile.serial in usable and tile.serial not in self._reading:
            self._reading.add(tile.serial)
            self._owner.run_worker(self._read(tile.serial), name=f"read {tile.serial}", exit_on_error=True)
            self.show(Facet.DEVICES)

    async def _read(self, serial: str) -> None:
        try:
            result = await self._owner.engine.snapshot(device_id=serial)
            envelope = getattr(result, "envelope", None)
            self._problems[serial] = snapshot_problem(envelope) if envelope is not None else ""
        except EngineError as exc:
            self._problems[serial] = exc.message
        finally:
            self._reading.discard(serial)
        self.show(Facet.DEVICES)
