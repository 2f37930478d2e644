"""The nodes that differ between two trees, with their values before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.message import Message

from clawperator.engine.hierarchy.diff import Change
from clawperator.widgets import keys
from clawperator.widgets.format.changes import change_slots, sign_of
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import Sheet, Slot, fixed, fold_sign, plain
from clawperator.widgets.format.tree_slots import counts_line
from clawperator.widgets.models.run_diff import ValueChange, counts_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.row_panes import SlotPane

_SHOWN = 2_000
"""Changes that have rows."""


class TreeCompare(SlotPane):
    """Shows ``changes`` from the tree ``old`` to ``new``."""

    BINDINGS = keys.binding_list("compare")
    HEAD_ROWS: ClassVar[int] = 2
    EMPTY = "The trees do not differ."

    @dataclass(eq=False)
    class ChangeChosen(Message):
        """Enter or a double click on ``change``."""

        change: Change

    def __init__(
        self,
        old: TreeSnapshot,
        new: TreeSnapshot,
        changes: Sequence[Change],
        *,
        id: str | None = None,  # noqa: A002  # Textual's own name
    ) -> None:
        super().__init__(id=id)
        self.old, self.new, self.changes = old, new, changes

    # -- rows

    def head(self, y: int, width: int) -> Row:
        """Return what the trees are, and the number of changes."""
        if y:
            return Row(Line(width).add(" ").device(self._title("after", self.new), "added"))
        counts = counts_line(counts_of(self.changes), self.symbols).add(" ")
        return Row(Line(width).add(" ").device(self._title("before", self.old), "removed"), counts)

    def _title(self, side: str, tree: TreeSnapshot) -> str:
        source = {"r": "snapshot", "stream": "log"}.get(tree.source, tree.source)
        words = [tree.name or self.clock.time_of_day(tree.at), source, f"{tree.node_count:,} nodes"]
        return f"{side:<6}  {f' {self.symbols.dot} '.join(words)}"

    def slots(self, width: int) -> Iterable[Slot]:
        sheet = self.sheet(width)
        for number, change in enumerate(self.changes[:_SHOWN]):
            opened = sheet.is_open((number,), True) if change.attributes else None
            first, *more = _heading(change, sheet, opened)
            yield fixed(first)._replace(place=(number,), opened=opened, role=change.kind)
            yield from map(fixed, more)
            for value in _values(change) if opened else ():
                for slot in change_slots((number,), value, sheet, indent=7):
                    yield slot._replace(role="")  # they are marked at their node
        if (more_changes := len(self.changes) - _SHOWN) > 0:
            yield plain(f"{more_changes:,} more changes: the tree marks them", "muted")

    # -- keys

    def action_choose(self) -> None:
        place, _ = self._anchor()
        if isinstance(place, tuple):
            self.post_message(self.ChangeChosen(self.changes[place[0]]))

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        self.move_to(index)
        if twice:
            self.action_choose()
        elif x < self.FOLD_CELLS:
            self.action_fold()


def _heading(change: Change, sheet: Sheet, opened: bool | None) -> Iterator[Row]:
    """Yield the kind of the change, and the node."""
    name = f"{change.name}  {change.node.path}"
    whole = change.old is None or change.new is None
    if whole and (size := change.node.end - change.node.index) > 1:
        name += f"  {size:,} nodes"
    lead = f" {fold_sign(opened, sheet.symbols)} {sign_of(change.kind, sheet.symbols)} {change.kind:<8}"
    role = change.kind if whole else "strong"
    return wrapped(name, sheet.width, role, lead=lead, lead_role=change.kind)


def _values(change: Change) -> Iterator[ValueChange]:
    for name, (old, new) in change.attributes.items():
        kind = "added" if old is None else "removed" if new is None else "changed"
        yield ValueChange(kind, (name,), old, new)
