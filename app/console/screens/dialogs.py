"""Help, notices, the device picker, the tree picker, and the confirmation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.widgets import Label

from clawperator.app.console.screens.menu import Dialog
from clawperator.engine.hierarchy.blind import EXPLANATIONS, REMEDIES, BlindSpot
from clawperator.engine.hierarchy.diff import Change
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import BLANK, Slot, ready
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.key_bar import key_sign
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.safe import paragraphs, wrap
from clawperator.widgets.text.times import time_ago
from clawperator.widgets.tree_compare import TreeCompare

if TYPE_CHECKING:
    from clawperator.app.console.screens.base import Menu
    from clawperator.app.console.session import Session


class ListDialog(Dialog):
    """A list. Answers the value of the chosen row, or ``None``; a row without a value cannot be chosen."""

    NOTE = "esc closes"
    EMPTY = ""

    def rows(self, width: int) -> Iterable[Slot]:
        """Return the rows for a width."""
        raise NotImplementedError

    def compose_dialog(self) -> ComposeResult:
        yield RowList(id="entries")

    def on_mount(self) -> None:
        self.entries.empty_text = self.EMPTY
        self.entries.show_folded(self.rows)
        self.entries.focus()

    @property
    def entries(self) -> RowList:
        return self.query_one("#entries", RowList)

    @on(RowList.RowChosen)
    def _chosen(self, message: RowList.RowChosen) -> None:
        message.stop()
        if self.entries.value is not None:
            self.dismiss(self.entries.value)


class HelpDialog(ListDialog):
    """The active keys, grouped."""

    TITLE_TEXT = "available keys"

    def __init__(self, active: Mapping[str, ActiveBinding], menus: Iterable[Menu]) -> None:
        super().__init__()
        self._active, self._menus = active, [menu_group(menu) for menu in menus]

    @property
    def groups(self) -> list[tuple[str, list[HelpEntry]]]:
        return [*help_groups(self._active, self.symbols), *self._menus]

    def rows(self, width: int) -> Iterator[Slot]:
        for index, (name, entries) in enumerate(self.groups):
            if index:
                yield BLANK
            yield Slot(_heading(name), quiet=True)
            for signs, label, tooltip in entries:
                first, *more = wrap(tooltip, max(20, width - _KEY_CELLS - _LABEL_CELLS))
                yield Slot(_entry(signs, label, first))
                yield from (Slot(_entry("", "", text), quiet=True) for text in more)


HelpEntry = tuple[str, str, str]


def help_groups(active: Mapping[str, ActiveBinding], symbols: Symbols) -> list[tuple[str, list[HelpEntry]]]:
    """Return group → (keys, label, sentence), in the order of the key table; a binding with several keys is one entry."""
    entries: dict[str, tuple[str, str, list[str], str, str]] = {}
    for key, (_, binding, _, tooltip) in active.items():
        if not binding.id or not binding.description:
            continue
        group = binding.group.description if binding.group else "Other"
        sign = binding.key_display or keys.sign(key)
        known = entries.setdefault(binding.id, (binding.id, group, [], binding.description, tooltip))
        if sign not in known[2]:
            known[2].append(sign)
    groups: dict[str, list[HelpEntry]] = {}
    for _, group, signs, label, tooltip in sorted(entries.values(), key=lambda entry: keys.rank(entry[0])):
        written = " ".join(key_sign(sign, sign, symbols) for text in signs for sign in text.split(" "))
        groups.setdefault(group, []).append((written, label, tooltip))
    return list(groups.items())


def menu_group(menu: Menu) -> tuple[str, list[HelpEntry]]:
    """Return the entries behind a prefix key."""
    signs = ((f"{menu.prefix} {keys.sign(choice.item.key)}", choice) for choice in menu.choices)
    return f"{menu.name}  ({menu.prefix} …)", [
        (keyed, choice.item.label, choice.item.tooltip) for keyed, choice in signs
    ]


def _heading(name: str) -> Any:
    return lambda width: Row(Line(width).add(f" {name}", "accent"))


def _entry(signs: str, label: str, tooltip: str) -> Any:
    return lambda width: Row(
        Line(width)
        .add(f"  {signs:<{_KEY_CELLS - 2}}", "key")
        .add(f"{label:<{_LABEL_CELLS}}", "text")
        .add(tooltip, "muted")
    )


_KEY_CELLS = 12
_LABEL_CELLS = 20
"""Columns of the help before the sentence."""


class NoticesDialog(ListDialog):
    """The notices in full, newest last."""

    TITLE_TEXT = "notices"
    EMPTY = "No notices yet."

    def __init__(self, notices: Sequence[Notice]) -> None:
        super().__init__()
        self._notices = notices

    def on_mount(self) -> None:
        self.call_after_refresh(self.entries.action_bottom)

    def rows(self, width: int) -> Iterator[Slot]:
        for notice in self._notices:
            status = notice.status
            first, *more = wrap(notice.text, max(20, width - _BEFORE_NOTICE - len(notice.code) - 2))
            line = Line(width).add(f" {self.clock.time_of_day(notice.at, tenths=False)} ", "faint")
            line.add(f"{self.symbols.sign(status)} ", status.role).add(first, "text")
            right = Line(width // 2).device(notice.code, status.role, after=" ") if notice.code else None
            yield ready(Row(line, right), quiet=False)
            for text in more:
                line = Line(width).add(" " * _BEFORE_NOTICE).add(text, "text")
                yield ready(Row(line))


_BEFORE_NOTICE = 12
"""Cells for time and sign."""


class DeviceDialog(Dialog):
    """Asks for the device of the console. Answers its serial, or ``None``."""

    TITLE_TEXT = "device"
    NOTE = "⏎ use · esc"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        count = len(session.usable)
        self._words = {
            0: "No device is usable. Press 7 to see why.",
            1: "One device is usable.",
        }.get(count, f"{count} devices are usable. Choose one; it stays the target until you change it.")

    def compose_dialog(self) -> ComposeResult:
        yield Label(self._words, markup=False)
        yield Label("")
        yield DeviceList(id="picker")

    def on_mount(self) -> None:
        pane = self.query_one("#picker", DeviceList)
        pane.show(self._session.devices, self._session.device_id)
        pane.focus()

    @on(DeviceList.DeviceChosen)
    def _chosen(self, message: DeviceList.DeviceChosen) -> None:
        message.stop()
        self.dismiss(message.serial)


class TreesDialog(ListDialog):
    """Asks for another tree. Answers its snapshot, or ``None``."""

    TITLE_TEXT = "compare with"
    NOTE = "⏎ compare · esc"

    def __init__(self, snapshots: Sequence[TreeSnapshot]) -> None:
        super().__init__()
        self._snapshots = snapshots

    def rows(self, width: int) -> Iterator[Slot]:
        for item in self._snapshots:
            line = (
                Line(width).add(" ").add(self.clock.time_of_day(item.at), "muted").add(f"  {item.source:<7}", "faint")
            )
            line.add(f"{item.node_count:>6,} nodes  ", "text").device(item.name or item.package, "node-id")
            right = Line().add(f"{time_ago(self.clock.now() - item.at)} ", "faint")
            yield ready(Row(line, right), item, quiet=False)


class TreeCompareDialog(Dialog):
    """Shows two trees side by side. Answers the chosen change, or ``None``."""

    TITLE_TEXT = "before and after"
    NOTE = "⏎ show in the tree · ] next · esc"

    def __init__(self, old: TreeSnapshot, new: TreeSnapshot, changes: Sequence[Change]) -> None:
        super().__init__()
        self._pane = TreeCompare(old, new, changes, id="tree-compare")

    def compose_dialog(self) -> ComposeResult:
        yield self._pane

    def on_mount(self) -> None:
        self._pane.focus()

    @on(TreeCompare.ChangeChosen)
    def _chosen(self, message: TreeCompare.ChangeChosen) -> None:
        message.stop()
        self.dismiss(message.change)


class BlindSpotsDialog(ListDialog):
    """Lists what a tree cannot show. Answers the chosen finding, or ``None``."""

    TITLE_TEXT = "blind spots of this tree"
    NOTE = "⏎ node · esc"

    def __init__(self, spots: Sequence[BlindSpot]) -> None:
        super().__init__()
        self._spots = spots

    def rows(self, width: int) -> Iterator[Slot]:
        for index, spot in enumerate(self._spots):
            if index:
                yield BLANK
            where = f"e{spot.node.index}" if spot.node is not None else ""
            line = Line(width).add(f" {spot.kind.replace('_', ' ')}", "accent").add(f"  {where}", "muted")
            yield ready(Row(line, Line().add(f"{spot.certainty} ", "faint")), spot, quiet=False)
            for text in (f"Seen: {spot.seen}.", EXPLANATIONS[spot.kind], f"Try: {REMEDIES[spot.kind]}."):
                yield from map(ready, wrapped(text, width, lead="   "))


class ConfirmDialog(Dialog):
    """Asks yes or no."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("confirm")]
    TITLE_TEXT = "confirm"
    NOTE = "⏎ yes · esc no"

    def __init__(self, question: str, more: str = "") -> None:
        super().__init__()
        self._question = question
        self._more = more

    def compose_dialog(self) -> ComposeResult:
        yield Label(paragraphs(self._question), markup=False)
        if self._more:
            yield Label(paragraphs(self._more), markup=False)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)
