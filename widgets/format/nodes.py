"""UI nodes as lines: a row of the tree, a breadcrumb, one line of facts, the table of attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.safe import cells, shorten
from clawperator.widgets.format.symbols import UNICODE, Symbols

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode
    from clawperator.widgets.models.tree_rows import TreeRow

_WIDE_LEVELS = 8
"""Up to this depth a level is two columns wide, below it one."""

_MARK_ROLES = ("added", "changed", "moved")


class RowState(NamedTuple):
    """What a tree row shows beside its node. ``mark`` is a change; ``found``: 0 not, 1 found, 2 the current hit."""

    mark: str = ""
    found: int = 0
    dimmed: bool = False
    on_screen: bool = True
    note: str = ""
    note_role: str = "faint"


def short_class(name: str) -> str:
    """``android.widget.TextView`` → ``TextView``."""
    return name.replace("$", ".").rpartition(".")[2] or "?"


def short_id(resource_id: str) -> str:
    """``com.android.settings:id/title`` → ``title``; anything else stays as it is."""
    return resource_id.partition(":id/")[2] or resource_id


def tree_row(row: TreeRow, state: RowState, width: int, symbols: Symbols = UNICODE) -> Row:
    """One row: change mark, guides, fold arrow, folded chain, class, id, flags, text, description; a note at the right."""
    right = Line().add(state.note, state.note_role) if state.note else _hidden_count(row)
    line = Line(width - (right.cells + 1 if right else 0))
    line.add(_gutter(state, symbols), state.mark if state.mark in _MARK_ROLES else "match")
    _indent(line, row, width, symbols)
    if row.chain:
        line.add(f"{symbols.more}{row.chain} {symbols.chain} ", "faint")
    _facts(line, row.node, symbols, on_screen=state.on_screen, strong=state.found == 2)
    return Row(line, right, "faint" if state.dimmed or not state.on_screen else "")


def _gutter(state: RowState, symbols: Symbols) -> str:
    if state.mark in _MARK_ROLES:
        return f" {getattr(symbols, state.mark)}"
    return f" {symbols.bullet}" if state.found else "  "


def _hidden_count(row: TreeRow) -> Line | None:
    return Line().add(f"{row.hidden:,}", "faint") if row.hidden else None


def arrow_column(level: int, width: int) -> int:
    """Where a row's fold arrow stands; -1 when its indent is drawn as a number instead."""
    columns = _indent_columns(level)
    return 2 + columns if columns <= width // 3 else -1


def _indent_columns(level: int) -> int:
    return 2 * min(level, _WIDE_LEVELS) + max(0, level - _WIDE_LEVELS)


def _indent(line: Line, row: TreeRow, width: int, symbols: Symbols) -> None:
    if _indent_columns(row.level) > width // 3:
        line.add(f"{symbols.gap}{row.level} ", "faint")
    else:
        for level in range(row.level):
            follows = row.guides >> level & 1
            line.add((symbols.guide if follows else " ") + (" " if level < _WIDE_LEVELS else ""), "guide")
    line.add(f"{symbols.open} " if row.arrow == "open" else f"{symbols.closed} " if row.arrow else "  ", "muted")


def _facts(line: Line, node: UiNode, symbols: Symbols, *, on_screen: bool = True, strong: bool = False) -> None:
    line.device(short_class(node.cls), "strong" if strong else "node-class", room=40)
    if node.resource_id:
        line.device(short_id(node.resource_id), "node-id", before=" #")
    flags = node_flags(node, symbols, on_screen=on_screen)
    if flags:
        line.add(f" {flags}", "flag")
    if node.text:
        line.device(node.text, "match-current" if strong else "node-text", before=' "', after='"')
    if node.content_desc:
        line.device(node.content_desc, "node-desc", before=f" {symbols.desc_open}", after=symbols.desc_close)


def node_flags(node: UiNode, symbols: Symbols = UNICODE, *, on_screen: bool = True) -> str:
    """Glyphs for what can be done with a node and what is the matter with it."""
    flags = (
        (node.clickable or node.long_clickable, symbols.clickable),
        (node.scrollable, symbols.scrollable),
        ("EditText" in node.cls, symbols.editable),
        (node.checked, symbols.checked),
        (not node.enabled, symbols.disabled),
        (not on_screen, symbols.offscreen),
    )
    return " ".join(glyph for holds, glyph in flags if holds)


def name_of(node: UiNode, width: int = 40) -> str:
    """A node in a sentence: ``TextView "Wi-Fi"`` or ``TextView #title``, safe to draw."""
    name = shorten(short_class(node.cls), width)
    if node.label:
        return f'{name} "{shorten(node.label, width)}"'
    return f"{name} #{shorten(short_id(node.resource_id), width)}" if node.resource_id else name


def breadcrumb(node: UiNode | None, width: int, symbols: Symbols = UNICODE) -> Line:
    """The way from the root to ``node``; what does not fit is cut at the root's end."""
    line = Line(width)
    if node is None:
        return line
    steps: list[str] = []
    joint = f" {symbols.chain} "
    room = width - 2
    current: UiNode | None = node
    while current is not None:
        step = _crumb(current)
        room -= cells(step) + len(joint)
        if room < 0 and steps:
            break
        steps.append(step)
        current = current.parent
    line.add(" ")
    if current is not None:
        line.add(f"{symbols.more}{joint}", "faint")
    for index, step in enumerate(reversed(steps)):
        if index:
            line.add(joint, "faint")
        line.add(step, "strong" if index == len(steps) - 1 else "muted")
    return line


def _crumb(node: UiNode) -> str:
    name = shorten(short_class(node.cls), 30)
    return f"{name} #{shorten(short_id(node.resource_id), 30)}" if node.resource_id else name


def node_line(node: UiNode | None, width: int, symbols: Symbols = UNICODE) -> Row:
    """One line of facts for small screens: text, id, role, and the bounds at the right edge."""
    if node is None:
        return Row(Line(width))
    bounds = Line().add(bounds_text(node), "muted")
    line = Line(width - bounds.cells - 2).add(" ")
    if node.text:
        line.add("text ", "faint").device(node.text, "node-text", before='"', after='"', room=30).add("  ")
    if node.content_desc:
        line.add("desc ", "faint").device(
            node.content_desc, "node-desc", before=symbols.desc_open, after=symbols.desc_close, room=24
        )
        line.add("  ")
    line.add(f"role {symbols.approx} ", "faint").device(node.role, "text")
    if node.resource_id:
        line.add("  ").device(node.resource_id, "node-id", before="#")
    return Row(line, bounds)


def bounds_text(node: UiNode) -> str:
    """``[216,400][400,470]``."""
    left, top, right, bottom = node.bounds.left, node.bounds.top, node.bounds.right, node.bounds.bottom
    return f"[{left},{top}][{right},{bottom}]"


class Fact(NamedTuple):
    """One attribute: its name, its value, and whether we ``derived`` it (true) or the dump says so."""

    name: str
    value: str
    derived: bool = False
    role: str = "text"


_VALUE_ROLES = {"text": "node-text", "content-desc": "node-desc", "resource-id": "node-id"}


def node_facts(node: UiNode, *, on_screen: bool) -> list[Fact]:
    """What is known of a node: first what we conclude (marked so), then the dump's own attributes in its order."""
    box = node.bounds
    facts = [
        Fact("label", node.label, True, "strong"),
        Fact("role", f"≈ {node.role}", True),
        Fact("tap", _tap_words(node), True),
        Fact("on screen", "yes" if on_screen else "no – matching ignores it", True, "text" if on_screen else "warn"),
        Fact("size", f"{box.width}×{box.height} at {box.left},{box.top}", True),
        Fact("path", node.path, True),
    ]
    facts += [Fact(name, value, False, _VALUE_ROLES.get(name, "text")) for name, value in node.attributes.items()]
    return facts


def _tap_words(node: UiNode) -> str:
    if node.clickable:
        return "takes it itself"
    ancestor, steps = node.parent, 1
    while ancestor is not None and steps <= 7:
        if ancestor.clickable:
            return f"goes {steps} up to {short_class(ancestor.cls)}"
        ancestor, steps = ancestor.parent, steps + 1
    return "at its centre: nothing clickable above"
