"""UI nodes as lines: a tree row, a breadcrumb, a line of facts, the table of attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.hierarchy.traits import is_editable, landing
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.node_names import short_class, short_id
from clawperator.widgets.text.safe import cells, shorten

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode
    from clawperator.widgets.models.tree_model import RowState
    from clawperator.widgets.models.tree_rows import VisibleRow

_WIDE_LEVELS = 8
"""Up to this depth a level is two columns wide, below it one."""

_MARK_ROLES = ("added", "changed", "moved")


def tree_row(row: VisibleRow, state: RowState, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return one row: marks, guides, fold arrow, folded chain, class, id, flags, text, description; notes at the right."""
    right = _notes(row, state, symbols)
    line = Line(width - (right.cells + 1 if right else 0))
    _gutter(line, row, state, symbols)
    start = len(line.spans)
    _indent(line, row, width, symbols)
    if row.chain:
        line.add(f"{symbols.more}{row.chain} {symbols.chain} ", "faint")
    _facts(line, row.node, state, symbols)
    if row.ghost or state.dimmed or not state.on_screen:
        kept = {"guide", "changed"}
        line.spans[start:] = [(text, role if role in kept else "faint") for text, role in line.spans[start:]]
    return Row(line, right)


def _gutter(line: Line, row: VisibleRow, state: RowState, symbols: Symbols) -> None:
    """Two cells. The cursor's bar takes the first one, so a single sign stands in the second."""
    mark = "removed" if row.ghost else state.mark if state.mark in _MARK_ROLES else ""
    sign = ("", symbols.match, symbols.match_first)[state.match] or (symbols.bullet if state.found else "")
    glyph = getattr(symbols, mark) if mark else ""
    if not (glyph and sign):
        line.add(" ")
    line.add(glyph, mark).add(sign, "match-current" if state.match == 2 else "match")
    line.pad(2)


def _notes(row: VisibleRow, state: RowState, symbols: Symbols) -> Line | None:
    """Return the right edge: the position among the hits, removed and changed parts, and the count of folded nodes."""
    line = Line().add(state.position, "match-current")
    if state.removed and not state.position:
        line.add(f"{symbols.removed}{state.removed}", "removed")
    gone = _without_glyph(row.node, state.differing)
    if gone:
        line.add(" " if line.cells else "").add(", ".join(gone), "changed")
    if row.hidden:
        line.add(" " if line.cells else "").add(f"{row.hidden:,}", "faint")
    return line if line.cells else None


_DRAWN = {"text", "content-desc", "resource-id", "class"}
_GLYPHS = {"clickable", "long-clickable", "scrollable", "checked"}
"""Flags with a glyph while they hold; ``enabled`` has one while it does not."""


def _without_glyph(node: UiNode, differing: frozenset[str]) -> list[str]:
    """Return words for the differing attributes that the row itself does not show."""
    words = []
    for name in sorted(differing):
        value = node.attributes.get(name, "")
        if name in _DRAWN:
            words += [] if value else [f"no {name}"]
        elif value == "false":
            words += [] if name == "enabled" else [f"not {name}"]
        elif name not in _GLYPHS:
            words.append(name)
    return words


def arrow_column(level: int, width: int) -> int:
    """Return the column of a row's fold arrow; -1 when its indent is drawn as a number."""
    columns = _indent_columns(level)
    return 2 + columns if columns <= width // 3 else -1


def _indent_columns(level: int) -> int:
    return 2 * min(level, _WIDE_LEVELS) + max(0, level - _WIDE_LEVELS)


def _indent(line: Line, row: VisibleRow, width: int, symbols: Symbols) -> None:
    if _indent_columns(row.level) > width // 3:
        line.add(f"{symbols.gap}{row.level} ", "faint")
    else:
        for level in range(row.level):
            follows = row.guides >> level & 1
            line.add((symbols.guide if follows else " ") + (" " if level < _WIDE_LEVELS else ""), "guide")
    line.add(f"{symbols.open} " if row.arrow == "open" else f"{symbols.closed} " if row.arrow else "  ", "muted")


def _facts(line: Line, node: UiNode, state: RowState, symbols: Symbols) -> None:
    strong = state.found == 2

    def role(attribute: str, usual: str) -> str:
        return "changed" if attribute in state.differing else usual

    line.device(short_class(node.cls), role("class", "strong" if strong else "node-class"), room=40)
    if node.resource_id:
        line.device(short_id(node.resource_id), role("resource-id", "node-id"), before=" #")
    for attribute, glyph in _flags(node, symbols, on_screen=state.on_screen):
        line.add(f" {glyph}", role(attribute, "flag"))
    if node.text:
        room = (line.width - line.cells) * 2 // 3 if node.content_desc else 0  # a third for the description
        usual = "match-current" if strong else "node-text"
        line.device(node.text, role("text", usual), before=' "', after='"', room=room)
    if node.content_desc:
        before, after = f" {symbols.desc_open}", symbols.desc_close
        line.device(node.content_desc, role("content-desc", "node-desc"), before=before, after=after)


def _flags(node: UiNode, symbols: Symbols, *, on_screen: bool) -> Iterator[tuple[str, str]]:
    """Yield the attribute and glyph of each flag of a node."""
    if node.clickable or node.long_clickable:
        yield "clickable" if node.clickable else "long-clickable", symbols.clickable
    if node.scrollable:
        yield "scrollable", symbols.scrollable
    if is_editable(node):
        yield "editable", symbols.editable
    if node.checked:
        yield "checked", symbols.checked
    if not node.enabled:
        yield "enabled", symbols.disabled
    if not on_screen:
        yield "visible", symbols.offscreen


def breadcrumb(node: UiNode | None, width: int, symbols: Symbols = UNICODE) -> Line:
    """Return the path from the root to ``node``, cut at the root's end."""
    line = Line(width)
    for step, text, role in _crumbs(node, width, symbols):
        line.add(text, role if step is not None else "faint")
    return line


def breadcrumb_hit(node: UiNode | None, width: int, x: int, symbols: Symbols = UNICODE) -> UiNode | None:
    """Return the node at column ``x`` of ``breadcrumb``; for the cut end the nearest node left out."""
    column = 0
    for step, text, _ in _crumbs(node, width, symbols):
        column += cells(text)
        if x < column:
            return step
    return None


def _crumbs(node: UiNode | None, width: int, symbols: Symbols) -> Iterator[tuple[UiNode | None, str, str]]:
    """Yield the pieces of a breadcrumb: its node (``None``: a separator), text and role."""
    joint = f" {symbols.chain} "
    steps: list[tuple[UiNode, str]] = []
    room = width - 1 - cells(symbols.more)
    current = node
    while current is not None:
        text = _crumb(current)
        room -= cells(text) + len(joint)
        if room < 0 and steps:
            break
        steps.append((current, text))
        current = current.parent
    if steps:
        yield None, " ", "text"
    if current is not None:
        yield current, symbols.more, "faint"
        yield None, joint, "faint"
    for number, (step, text) in enumerate(reversed(steps), start=1):
        yield step, text, "strong" if number == len(steps) else "muted"
        if number < len(steps):
            yield None, joint, "faint"


def _crumb(node: UiNode) -> str:
    name = shorten(short_class(node.cls), 30)
    return f"{name} #{shorten(short_id(node.resource_id), 30)}" if node.resource_id else name


def node_line(node: UiNode | None, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return one line of facts for small screens: text, id, role, and the bounds at the right edge."""
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
    """Return ``[216,400][400,470]``."""
    left, top, right, bottom = node.bounds.left, node.bounds.top, node.bounds.right, node.bounds.bottom
    return f"[{left},{top}][{right},{bottom}]"


class Fact(NamedTuple):
    """One attribute.

    ``derived``: computed, not in the dump; ``sign`` is drawn before the value; ``field`` is the matcher field for it,
    empty where there is none.
    """

    name: str
    value: str
    derived: bool = False
    role: str = "text"
    sign: str = ""
    field: str = ""


_VALUE_ROLES = {"text": "node-text", "content-desc": "node-desc", "resource-id": "node-id"}
_FIELDS = {"text": "textEquals", "content-desc": "contentDescEquals", "resource-id": "resourceId"}
_DENSITY_OF_DP = 160


def node_facts(node: UiNode, *, on_screen: bool, density: int = 0) -> list[Fact]:
    """Return derived facts, then the dump's attributes. ``density`` (dots per inch; 0: unknown) adds the size in dp."""
    facts = [
        Fact("label", node.label, True, "strong", field="textEquals" if node.label else ""),
        Fact("role", node.role, True, sign="≈ ", field="role"),
        Fact("tap", _tap_words(node), True),
        Fact("on screen", "yes" if on_screen else "no, ignored by matching", True, "text" if on_screen else "warn"),
        Fact("size", _size_words(node, density), True),
        Fact("path", node.path, True),
    ]
    for name, value in node.attributes.items():
        field = _FIELDS.get(name, "") if value.strip() else ""
        facts.append(Fact(name, value, False, _VALUE_ROLES.get(name, "text"), field=field))
    return facts


def _size_words(node: UiNode, density: int) -> str:
    box = node.bounds
    size = f"{box.width}×{box.height}"
    if density > 0:
        width, height = (round(pixels * _DENSITY_OF_DP / density) for pixels in (box.width, box.height))
        size += f" ({width}×{height} dp)"
    return f"{size} at {box.left},{box.top}"


def _tap_words(node: UiNode) -> str:
    """Return what a click does (wire.md#actions-and-how-they-fail)."""
    goes = landing(node)
    if goes.on is not None:
        return f"reaches {short_class(goes.on.cls)}, {goes.steps} up" if goes.steps else "clickable"
    if goes.disabled is None:
        return "taps the centre: no clickable ancestor"
    name = "the node" if not goes.steps else f"{short_class(goes.disabled.cls)}, {goes.steps} up,"
    return f"taps the centre: {name} is disabled"
