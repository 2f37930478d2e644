"""The attributes of one node: derived facts, then the dump's attributes in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.nodes import Fact, node_facts
from clawperator.widgets.format.slot import BLANK, Slot, heading
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.safe import wrap

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode

_NAME_WIDTH = 16
_VALUE_LINES = 12


class NodeInspector(RowList):
    """One node; enter copies a value, plus adds it to the matcher."""

    BINDINGS = keys.binding_list("node")

    EMPTY = "No node selected."

    @dataclass(eq=False)
    class ValueWanted(Message):
        """Copy the value of one attribute."""

        name: str
        value: str

    @dataclass(eq=False)
    class FieldUsed(Message):
        """Set the matcher's ``field`` (JSON name, such as ``resourceId``) to ``value``."""

        field: str
        value: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.node: UiNode | None = None
        self._facts: list[Fact] = []
        self._before: UiNode | None = None
        self._known: tuple[bool, int] = (True, 0)

    def show_node(
        self, node: UiNode | None, *, on_screen: bool = True, density: int = 0, before: UiNode | None = None
    ) -> None:
        """``density`` of the display in dots per inch, where known; ``before`` has the old values of a changed node."""
        if node is self.node and before is self._before and (on_screen, density) == self._known:
            return
        self.node, self._before, self._known = node, before, (on_screen, density)
        self._facts = node_facts(node, on_screen=on_screen, density=density) if node is not None else []
        self.show_folded(self._all_rows if self._facts else lambda _width: ())

    def _all_rows(self, width: int) -> Iterator[Slot]:
        room = max(8, width - _NAME_WIDTH - 1)
        yield heading("derived")
        for fact in self._facts:
            if fact.derived:
                yield from _fact_rows(fact, room)
        yield BLANK
        yield heading("attributes")
        old = self._before.attributes if self._before is not None else {}
        for fact in self._facts:
            if not fact.derived:
                changed = self._before is not None and old.get(fact.name) != fact.value
                yield from _fact_rows(fact._replace(role="added") if changed else fact, room)
                if changed:
                    yield from _old_rows("was", old.get(fact.name), room)
        present = {fact.name for fact in self._facts if not fact.derived}
        for name, value in old.items():
            if name not in present:
                yield from _old_rows(name, value, room)

    @property
    def _fact(self) -> Fact | None:
        return next((fact for fact in self._facts if (fact.name, fact.derived) == self.value), None)

    def action_copy_value(self) -> None:
        if (fact := self._fact) is not None:
            self.post_message(self.ValueWanted(fact.name, fact.value))

    def action_use_field(self) -> None:
        if (fact := self._fact) is not None and fact.field:
            self.post_message(self.FieldUsed(fact.field, fact.value))


def _old_rows(name: str, value: str | None, room: int) -> Iterator[Slot]:
    """Yield the value before; ``None``: there was none."""
    words = ["absent"] if value is None else wrap(value, room, limit=_VALUE_LINES) or ["–"]
    for index, text in enumerate(words):
        yield Slot(_draw("" if index else name, text, "faint" if value is None else "removed"), quiet=True)


def _fact_rows(fact: Fact, room: int) -> Iterator[Slot]:
    """Yield one row per line of the value; only the first takes the cursor."""
    role = fact.role if fact.value not in ("", "false") else "faint"
    for index, text in enumerate(wrap(fact.sign + fact.value, room, limit=_VALUE_LINES) if fact.value else ["–"]):
        value = None if index else (fact.name, fact.derived)
        yield Slot(_draw("" if index else fact.name, text, role), place=value, quiet=index > 0)


def _draw(name: str, text: str, role: str) -> Callable[[int], Row]:
    def draw(width: int) -> Row:
        line = Line(width).add(" ").device(name, "muted", room=_NAME_WIDTH - 1).pad(_NAME_WIDTH)
        return Row(line.add(" ").add(text, role))

    return draw
