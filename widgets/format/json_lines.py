"""A JSON outline as rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Sheet, Slot, fold_sign, folded
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.outline import OutlineNode, Path, outline
from clawperator.widgets.text.json_text import roles

LINES_OF_TEXT = 2_000
"""Rows of one long text at most; the rest is counted."""

_INDENT = 2


def json_slots(
    value: Any,
    sheet: Sheet,
    *,
    topic: str,
    by_itself: Callable[[Path, Any], bool],
    role_of: Callable[[Path, Any], str] = lambda _path, _value: "",
) -> Iterator[Slot]:
    """Yield ``value`` as rows; the place of each is ``(topic, path)``. ``by_itself`` tells what is open at first,
    ``role_of`` what needs attention.
    """
    for node in outline(value, lambda path, value: sheet.is_open((topic, path), by_itself(path, value))):
        role = role_of(node.path, node.value)
        draw = partial(node_row, node, role=role, symbols=sheet.symbols)
        yield Slot(draw, (topic, node.path), node.opened, role)
        if node.opened and isinstance(node.value, str):
            indent = _indent(node.path, sheet.width) + 4
            yield from folded(node.value, sheet.width, "node-text", indent=indent, limit=LINES_OF_TEXT)


def _indent(path: Path, width: int) -> int:
    """Return the indent, limited so that deep values stay in the pane."""
    return min(_INDENT * max(0, len(path) - 1), width // 3)


def node_row(node: OutlineNode, width: int, *, role: str = "", symbols: Symbols = UNICODE) -> Row:
    """Return one value: its key, and the value as far as it fits."""
    line = (
        Line(width)
        .add(" " * (1 + _indent(node.path, width)))
        .add(f"{fold_sign(node.opened, symbols)} ", role or "muted")
    )
    if isinstance(node.name, str):
        line.device(json.dumps(node.name, ensure_ascii=False), role or "node-id").add(": ", "faint")
    elif node.name is not None:
        line.add(f"{node.name}: ", role or "faint")
    if node.opened:
        return Row(line.add(_size(node.value), "faint"))
    return Row(_value(line, node.value))


def _size(value: Any) -> str:
    count = len(value)
    if isinstance(value, str):
        return f"{count:,} characters"
    noun = "field" if isinstance(value, Mapping) else "item"
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _value(line: Line, value: Any) -> Line:
    if isinstance(value, str):
        return line.device(value, "node-text", before='"', after='"')
    if isinstance(value, (Mapping, list, tuple)):
        return line.device(preview(value, max(8, line.width - line.cells)), "muted")
    word = json.dumps(value)
    return line.add(word, "muted" if word in ("null", "false") else "accent")


def preview(value: Any, room: int) -> str:
    """Return the beginning of ``value`` as JSON in one line, at most one character longer than ``room``."""
    parts: list[str] = []
    left = room
    for part in _pieces(value, room):
        parts.append(part)
        left -= len(part)
        if left < 0:
            break
    return "".join(parts)[: room + 1]


def _pieces(value: Any, room: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield "{"
        for index, (key, child) in enumerate(value.items()):
            yield f"{', ' if index else ''}{json.dumps(str(key)[:room], ensure_ascii=False)}: "
            yield from _pieces(child, room)
        yield "}"
    elif isinstance(value, (list, tuple)):
        yield "["
        for index, child in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(child, room)
        yield "]"
    else:
        yield json.dumps(value[:room] if isinstance(value, str) else value, ensure_ascii=False)


def json_rows(value: object, width: int) -> Iterator[Row]:
    """Yield pretty-printed JSON."""
    for text in json.dumps(value, indent=2, ensure_ascii=False).splitlines():
        yield Row(coloured_json(Line(width).add(" "), text))


def coloured_json(line: Line, text: str) -> Line:
    """Append one line of JSON."""
    place = 0
    for start, end, role in roles(text):
        line.add(text[place:start]).device(text[start:end], role)
        place = end
    return line.device(text[place:]) if text[place:] else line
