"""One execution in full: state, steps, trees, envelope, payload, raw text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.json_lines import json_slots
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.mark_slots import mark_slots
from clawperator.widgets.format.outcome_block import NextKey, outcome_row, outcome_slots
from clawperator.widgets.format.raw_lines import log_slots, raw_slots
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, fixed, plain
from clawperator.widgets.format.step_slots import phase_slots, step_slots
from clawperator.widgets.format.stream import entry_rows
from clawperator.widgets.format.tree_slots import TreePlace, tree_slots
from clawperator.widgets.models.execution import ExecutionState, Item, Mark, StepState
from clawperator.widgets.models.failed_matcher import unfound, unfound_step
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.outline import is_failure, opened_envelope, opened_payload
from clawperator.widgets.models.run_diff import TreeCounts
from clawperator.widgets.models.run_lines import NONE, RunLines, lines_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import FoldState, SlotPane
from clawperator.widgets.text.safe import cells

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry


class DetailTab(Enum):
    """Part of an execution; ``h`` and ``l`` cycle."""

    STEPS = "Steps"
    TREES = "Trees"
    ENVELOPE = "Envelope"
    PAYLOAD = "Payload"
    PHASES = "Phases"
    RAW = "Raw"


_NEXT_ACTIONS = {
    "attention(1)": "next failure",
    "app.explain_failure": "why not",
    "rerun": "run again",
    "edit": "edit",
    "compare": "compare",
    "export": "export",
}
"""Actions of this pane or its screen for a run that ended."""


class ExecutionDetail(SlotPane):
    """One execution; each tab keeps its cursor and folds while the execution stays."""

    BINDINGS = keys.binding_list("detail")
    HEAD_ROWS: ClassVar[int] = 1

    EMPTY = "Select an execution."

    @dataclass(eq=False)
    class TreeWanted(Message):
        """Enter on a tree: ``key`` is its ``TreeMark.key``."""

        key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.tab = DetailTab.STEPS
        self.ring: LineRing | None = None
        """The log lines; without a ring only the envelope is shown raw."""
        self._lines = NONE
        self.item: Item | LogEntry | None = None
        self._shown: Hashable = None
        self._views: dict[DetailTab, FoldState] = {}
        self._counts: dict[tuple[str, str], TreeCounts] = {}
        self._screen = TreeSnapshot.EMPTY

    def show(self, item: Item | LogEntry | None) -> None:
        """Show an execution, a mark or a log line; the same one keeps its place, also when it was read again."""
        other = _identity(item) != _identity(self.item)
        lines = self._own_lines(item)
        look = _version_of(item), lines
        if item is self.item and look == self._shown:
            return
        self.item, self._shown, self._lines = item, look, lines
        if other:
            self._screen = TreeSnapshot.EMPTY
            self._views.clear()
            self._visit()
        else:
            self.rearrange()

    def show_screen(self, snapshot: TreeSnapshot) -> None:
        """Take the tree read closest to the failure of the shown run; the same one may be seen again later."""
        if (snapshot.serial, snapshot.at) != (self._screen.serial, self._screen.at):
            self._screen = snapshot
            self.rearrange()

    def show_changes(self, counts: Mapping[tuple[str, str], TreeCounts]) -> None:
        """Take known differences between trees, by the keys of both."""
        self._counts.update(counts)
        if self.tab is DetailTab.TREES:
            self.rearrange()

    def _own_lines(self, item: Item | LogEntry | None) -> RunLines:
        """Return the log lines of an execution while its raw tab is shown."""
        looked_at = self.tab is DetailTab.RAW and self.ring is not None and isinstance(item, ExecutionState)
        return lines_of(item, self.ring) if looked_at and self.ring and isinstance(item, ExecutionState) else NONE

    def _visit(self) -> None:
        first = _is_failing if self.tab is DetailTab.ENVELOPE else None
        self.visit(self._views.setdefault(self.tab, FoldState()), first=first)
        self.refresh()

    # -- head: execution and tabs

    def head(self, _y: int, width: int) -> Row:
        line = Line(width)
        item = self.item
        if isinstance(item, Mark):
            when = self.clock.time_of_day(item.at)
            return Row(line.add(f" {item.kind}", "warn"), Line().add(f"{when} ", "muted"))
        if not isinstance(item, ExecutionState):
            return Row(line.add(" log line" if item is not None else "", "muted"))
        line.add(self._sign(item), item.status.role)
        tabs = self._tabs(item, width - line.cells - 1)
        if self._id_in_head(item, width):
            line.device(item.command_id, "strong")
        return Row(line.add(" ").extend(tabs))

    def _sign(self, execution: ExecutionState) -> str:
        return f" {self.symbols.sign(execution.status)} "

    def _id_in_head(self, execution: ExecutionState, width: int) -> bool:
        """Return whether the head has room for the whole commandId; else it stands among the facts."""
        line = Line().add(self._sign(execution)).device(execution.command_id)
        return line.cells + 2 + self._tabs(execution, width - cells(self._sign(execution)) - 1).cells <= width

    def _tabs(self, execution: ExecutionState, room: int) -> Line:
        """Return all tabs; where they do not fit, the current one with its number."""
        line = Line()
        for tab in DetailTab:
            here = tab is self.tab
            count = f" {len(execution.trees)}" if tab is DetailTab.TREES and execution.trees else ""
            line.add(f"{self.symbols.cursor if here else ' '}{tab.value}{count} ", "accent" if here else "muted")
        if line.cells > room:
            place = [*DetailTab].index(self.tab) + 1
            return (
                Line()
                .add(f"{self.symbols.cursor}{self.tab.value} ", "accent")
                .add(f"{place}/{len(DetailTab)}", "muted")
            )
        return line

    def head_clicked(self, x: int) -> None:
        text = self.head(0, self.content_size.width).left.plain
        begins = {tab: text.rfind(tab.value) for tab in DetailTab}
        under = [tab for tab, begin in begins.items() if 0 <= begin - 1 <= x]
        if under:
            self._show_tab(under[-1])

    # -- rows

    def slots(self, width: int) -> Iterable[Slot]:
        sheet = self.sheet(width)
        if self.item is None:
            return ()
        if isinstance(self.item, ExecutionState):
            return self._execution(self.item, sheet)
        if isinstance(self.item, Mark):
            return mark_slots(self.item, sheet)
        return map(fixed, entry_rows(self.item, width, self.clock))

    def _execution(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        if self.tab is DetailTab.STEPS:
            with_id = not self._id_in_head(execution, sheet.width)
            yield from outcome_slots(execution, sheet, self._next_keys(execution), self._screen, with_id=with_id)
        else:
            yield fixed(outcome_row(execution, sheet.width, sheet.clock, sheet.symbols))
        yield BLANK
        yield from self._of_tab(execution, sheet)

    def _of_tab(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        if self.tab is DetailTab.STEPS:
            return step_slots(execution, sheet)
        if self.tab is DetailTab.TREES:
            return tree_slots(execution, sheet, self._counts)
        if self.tab is DetailTab.ENVELOPE:
            return _envelope(execution, sheet)
        if self.tab is DetailTab.PAYLOAD:
            return _payload(execution, sheet)
        return phase_slots(execution, sheet) if self.tab is DetailTab.PHASES else self._raw(execution, sheet)

    def _raw(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        """Yield the log lines, then the envelope that was joined from some of them."""
        if self.ring is not None:
            yield from log_slots(self._lines, self.ring, sheet)
            yield BLANK
        yield from _raw(execution, sheet)

    def _next_keys(self, execution: ExecutionState) -> list[NextKey]:
        """Return the next actions that this screen offers."""
        wanted = dict(_NEXT_ACTIONS)
        if all(step.status is not Status.FAILED for step in execution.steps):
            del wanted["attention(1)"]
        if not unfound(execution, unfound_step(execution)):
            del wanted["app.explain_failure"]
        holders = (type(self), *type(self.screen).__mro__)
        declared = (binding for holder in holders for binding in holder.__dict__.get("BINDINGS", ()))
        return [
            NextKey(binding.key_display or keys.sign(binding.key), wanted[binding.action])
            for binding in declared
            if isinstance(binding, Binding) and binding.action in wanted
        ]

    @property
    def unfound_step(self) -> StepState | None:
        """Return the step under the cursor if it had no match, else the first such step."""
        if not isinstance(self.item, ExecutionState):
            return None
        places = (slot.place for slot in self.rows[self.cursor :: -1]) if self.tab is DetailTab.STEPS else ()
        numbers = (place[1] for place in places if isinstance(place, tuple) and place[0] == "step")
        return unfound_step(self.item, next(numbers, 0) - 1)

    # -- keys

    def action_tab(self, step: int) -> None:
        tabs = tuple(DetailTab)
        self._show_tab(tabs[(tabs.index(self.tab) + step) % len(tabs)])

    def _show_tab(self, tab: DetailTab) -> None:
        self.tab = tab
        self._lines = self._own_lines(self.item)
        self._visit()

    def action_choose(self) -> None:
        place = self.slot.place if self.slot is not None else None
        if isinstance(place, TreePlace):
            self.post_message(self.TreeWanted(place.key))
        else:
            self.action_fold()


def _is_failing(slot: Slot) -> bool:
    return bool(slot.role)


def _envelope(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    if execution.envelope is None:
        why = (
            "It could not be parsed. See the Raw tab."
            if execution.problem
            else "None arrived."
            if execution.over
            else "None yet."
        )
        return iter([plain(f"No envelope. {why}", "muted")])
    return json_slots(
        execution.envelope,
        sheet,
        topic="envelope",
        by_itself=opened_envelope,
        role_of=lambda path, value: "fail" if is_failure(path, value) else "",
    )


def _payload(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    if execution.payload is None:
        return iter([plain("Unknown: another process sent it, and the device log does not contain it.", "muted")])
    return json_slots(execution.payload, sheet, topic="payload", by_itself=opened_payload)


def _raw(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    if not execution.raw:
        yield plain("No raw envelope.", "muted")
        return
    if execution.parts > 1:
        yield plain(f"joined from {execution.parts} log entries", "faint")
    yield from raw_slots(execution.raw, sheet, hidden=execution.raw_hidden)


def _identity(item: Item | LogEntry | None) -> Hashable:
    """Return a key of the item's identity."""
    if isinstance(item, ExecutionState):
        return item.device_id, item.command_id, item.started
    return id(item)


def _version_of(item: Item | LogEntry | None) -> Hashable:
    """Return a key of its state; that of a running execution is always new."""
    if not isinstance(item, (ExecutionState, Mark)):
        return None
    return item.version, object() if isinstance(item, ExecutionState) and not item.over else None
