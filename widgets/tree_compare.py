"""Two trees side by side: each node that differs, with its values before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import ClassVar

from textual.message import Message

from clawperator.engine.hierarchy.diff import Change
from clawperator.widgets import keys
from clawperator.widgets.format.compare_lines import column_width
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import Sheet, Slot, fixed, fold_sign, plain
from clawperator.widgets.format.tree_slots import counts_line
from clawperator.widgets.models.run_diff import counts_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.slot_pane import SlotPane
from clawperator.widgets.text.safe import wrap

_NAMES = 20
"""Cells before both columns: kinds of changes and names of attributes."""
_LEAST_COLUMN = 30
"""Cells of a column; narrower ones are put below each other."""
_LINES_OF_VALUE = 12
_SHOWN = 2_000
"""Changes that have rows."""

_Text = tuple[str, str]
"""A text, and its role."""


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
        """Return which tree is on which side."""
        counts = counts_line(counts_of(self.changes), self.symbols).add(" ")
        before, after = self._title("before", self.old), self._title("after", self.new)
        if not _beside(width):
            return Row(Line(width).add(" ").device(after if y else before, "strong"), None if y else counts)
        if y:
            return Row(Line(width).add(self.symbols.rule * width, "guide"))
        line = Line(width).add(" ").extend(counts).pad(_NAMES)
        line.device(before, "removed", room=column_width(width, _NAMES))
        line.pad(_NAMES + column_width(width, _NAMES)).add(f" {self.symbols.guide} ", "guide")
        return Row(line.device(after, "added"))

    def _title(self, side: str, tree: TreeSnapshot) -> str:
        source = {"r": "snapshot", "stream": "log"}.get(tree.source, tree.source)
        words = [tree.name or self.clock.time_of_day(tree.at), source, f"{tree.node_count:,} nodes"]
        return f"{side}  {f' {self.symbols.dot} '.join(words)}"

    def slots(self, width: int) -> Iterable[Slot]:
        return self._all(self.sheet(width))

    def _all(self, sheet: Sheet) -> Iterator[Slot]:
        for number, change in enumerate(self.changes[:_SHOWN]):
            opened = sheet.is_open(number, True) if change.attributes else None
            first, *more = _heading(change, sheet, opened)
            yield Slot(partial(_same, first), number, opened, change.kind)
            yield from map(fixed, more)
            for name, (old, new) in change.attributes.items() if opened else ():
                yield from map(fixed, _value_rows(name, _value(old, "removed"), _value(new, "added"), sheet))
        if (more_changes := len(self.changes) - _SHOWN) > 0:
            yield plain(f"{more_changes:,} more changes: the tree marks them", "muted")

    # -- keys

    def action_choose(self) -> None:
        place, _ = self._anchor()
        if isinstance(place, int):
            self.post_message(self.ChangeChosen(self.changes[place]))

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        self.move_to(index)
        if twice:
            self.action_choose()
        elif x < self.FOLD_CELLS:
            self.action_fold()


def _same(row: Row, _width: int) -> Row:
    return row


def _beside(width: int) -> bool:
    return column_width(width, _NAMES) >= _LEAST_COLUMN


def _value(value: str | None, role: str) -> _Text:
    return ("absent", "faint") if value is None else (value, role) if value else ("–", "faint")


def _heading(change: Change, sheet: Sheet, opened: bool | None) -> Iterator[Row]:
    """Yield kind and node; an added or removed one stands on its own side."""
    symbols, width = sheet.symbols, sheet.width
    size = change.node.end - change.node.index
    name = f"{change.name}  {change.node.path}"
    if size > 1 and not (change.old and change.new):
        name += f"  {size:,} nodes"
    sign = {"added": symbols.added, "removed": symbols.removed, "moved": symbols.moved}.get(
        change.kind, symbols.changed
    )
    lead = f" {fold_sign(opened, symbols)} {sign} {change.kind}"
    if not _beside(width):
        yield from wrapped(name, width, "strong", lead=f"{lead:<13} ", lead_role=change.kind)
    elif change.old and change.new:
        yield Row(Line(width).add(lead, change.kind).pad(_NAMES).device(name, "strong"))
    else:
        text = (name, change.kind)
        yield from _columns(Line().add(lead, change.kind), *((text, _NONE) if change.old else (_NONE, text)), sheet)


_NONE: _Text = ("", "faint")


def _value_rows(name: str, before: _Text, after: _Text, sheet: Sheet) -> Iterator[Row]:
    """Yield one attribute, its values beside each other, else below each other."""
    if _beside(sheet.width):
        yield from _columns(Line(_NAMES).add("     ").device(name, "muted", room=_NAMES - 6), before, after, sheet)
        return
    yield Row(Line(sheet.width).add("     ").device(name, "muted"))
    for side, (text, role) in (("before", before), ("after", after)):
        yield from wrapped(text, sheet.width, role, lead=f"       {side:<6}  ", limit=_LINES_OF_VALUE)


def _columns(first: Line, before: _Text, after: _Text, sheet: Sheet) -> Iterator[Row]:
    """Yield two texts in columns behind ``first``."""
    column = column_width(sheet.width, _NAMES)
    parts = (wrap(text, column, limit=_LINES_OF_VALUE) for text, _ in (before, after))
    for index, (left, right) in enumerate(zip_longest(*parts, fillvalue="")):
        line = Line(sheet.width).extend(first if not index else Line()).pad(_NAMES).add(left, before[1])
        line.pad(_NAMES + column).add(f" {sheet.symbols.guide} ", "guide")
        yield Row(line.add(right, after[1]))
