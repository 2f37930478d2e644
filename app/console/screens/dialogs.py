"""Help, notices, the device picker and the one question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.widgets import Label

from clawperator.app.console.screens.menu import Dialog
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.format.times import Clock, age
from clawperator.widgets.key_bar import key_sign
from clawperator.widgets.models.snapshot import Snapshot
from clawperator.widgets.notice_line import Notice, notice_row
from clawperator.widgets.row_list import ListRow, RowList, blank

if TYPE_CHECKING:
    from clawperator.app.console.session import Session


class HelpDialog(Dialog):
    """The keys that work where the user is, grouped, made from the active bindings."""

    TITLE_TEXT = "keys that work here"
    NOTE = "esc closes"

    def __init__(self, active: Mapping[str, ActiveBinding], symbols: Symbols) -> None:
        super().__init__()
        self._groups = help_groups(active, symbols)

    def compose_dialog(self) -> ComposeResult:
        yield RowList(id="help")

    def on_mount(self) -> None:
        pane = self.query_one("#help", RowList)
        pane.show_rows(self._rows())
        pane.focus()

    def _rows(self) -> Iterator[ListRow]:
        for index, (name, entries) in enumerate(self._groups):
            if index:
                yield blank()
            yield ListRow(_heading(name), quiet=True)
            for signs, label, tooltip in entries:
                yield ListRow(_entry(signs, label, tooltip), value=(name, signs))


HelpEntry = tuple[str, str, str]


def help_groups(active: Mapping[str, ActiveBinding], symbols: Symbols) -> list[tuple[str, list[HelpEntry]]]:
    """Group → (keys, label, sentence), in the order of the key table; a binding with several keys is one entry."""
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


def _heading(name: str) -> Any:
    return lambda width: Row(Line(width).add(f" {name}", "accent"))


def _entry(signs: str, label: str, tooltip: str) -> Any:
    return lambda width: Row(
        Line(width).add(f"   {signs:<12}", "key").add(f"{label:<20} ", "text").add(tooltip, "muted")
    )


class NoticesDialog(Dialog):
    """Past notices, the newest last."""

    TITLE_TEXT = "notices of this session"
    NOTE = "esc closes"

    def __init__(self, notices: Sequence[Notice], clock: Clock) -> None:
        super().__init__()
        self._notices = notices
        self._clock = clock

    def compose_dialog(self) -> ComposeResult:
        yield RowList(id="notices")

    def on_mount(self) -> None:
        pane = self.query_one("#notices", RowList)
        pane.empty_text = "No notices yet."
        pane.show_rows(ListRow(self._draw(notice)) for notice in self._notices)
        pane.action_bottom()
        pane.focus()

    def _draw(self, notice: Notice) -> Any:
        def draw(width: int) -> Row:
            row = notice_row(notice, width - 10, ascii_only=self.query_one("#notices", RowList).symbols.ascii)
            line = Line(width).add(" ").add(self._clock.time_of_day(notice.at, tenths=False), "faint")
            return row._replace(left=line.extend(row.left))

        return draw


class DeviceDialog(Dialog):
    """Choose the device of the console. Answers its serial, or ``None``."""

    TITLE_TEXT = "device"
    NOTE = "⏎ use · esc"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        count = len(session.usable)
        self._words = {
            0: "No device is usable. 7 says what to do about each of them.",
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


class TreesDialog(Dialog):
    """Choose one of the other trees. Answers its snapshot, or ``None``."""

    TITLE_TEXT = "compare with"
    NOTE = "⏎ compare · esc"

    def __init__(self, snapshots: Sequence[Snapshot], clock: Clock) -> None:
        super().__init__()
        self._snapshots = snapshots
        self._clock = clock

    def compose_dialog(self) -> ComposeResult:
        yield RowList(id="trees")

    def on_mount(self) -> None:
        pane = self.query_one("#trees", RowList)
        pane.show_rows(ListRow(partial(self._row, item), value=item.serial) for item in self._snapshots)
        pane.focus()

    def _row(self, item: Snapshot, width: int) -> Row:
        line = Line(width).add(" ").add(self._clock.time_of_day(item.at), "muted").add(f"  {item.source:<7}", "faint")
        line.add(f"{item.node_count:>6,} nodes  ", "text").device(item.name or item.package, "node-id")
        return Row(line, Line().add(f"{age(self._clock.now() - item.at)} ago ", "faint"))

    @on(RowList.RowChosen)
    def _chosen(self, message: RowList.RowChosen) -> None:
        message.stop()
        self.dismiss(self._snapshots[message.index])


class ConfirmDialog(Dialog):
    """A question with yes and no."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("confirm")]
    TITLE_TEXT = "sure?"
    NOTE = "⏎ yes · esc no"

    def __init__(self, question: str, more: str = "") -> None:
        super().__init__()
        self._question = question
        self._more = more

    def compose_dialog(self) -> ComposeResult:
        yield Label(self._question, markup=False)
        if self._more:
            yield Label(self._more, markup=False)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)
