"""Differences as rows: values by their path, texts line by line. Runs, trees and payloads are all compared so."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from clawperator.widgets.format.json_lines import preview
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Sheet, Slot, fixed, fold_sign
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.outline import Path
from clawperator.widgets.models.run_diff import ValueChange
from clawperator.widgets.text.safe import cells, escape, take, wrap

_LINES_OF_VALUE = 500
_DEEPEST = 40
"""Parts of a path at most: earlier ones would be cut in any case."""


def sign_of(kind: str, symbols: Symbols) -> str:
    """Return the sign of a kind of change."""
    known = {"added": symbols.added, "removed": symbols.removed, "moved": symbols.moved}
    return known.get(kind, symbols.changed)


def change_slots(topic: tuple[Hashable, ...], change: ValueChange, sheet: Sheet, *, indent: int) -> Iterator[Slot]:
    """Yield one difference; opened, both values in full."""
    place = (*topic, change.kind, change.path)
    opened = sheet.is_open(place, False) if _is_long(change, sheet.width - indent) and not change.expected else None
    draw = partial(change_row, change, opened=opened, indent=indent, symbols=sheet.symbols)
    yield Slot(draw, place, opened, "" if change.expected else "changed")
    if opened:
        for role, text in line_diff(_whole(change.old), _whole(change.new)):
            for part in wrap(text, max(10, sheet.width - indent - 4)) or [""]:
                yield fixed(diff_row(role, part, sheet.width, indent=indent, symbols=sheet.symbols))


def change_row(
    change: ValueChange, width: int, *, opened: bool | None = None, indent: int = 3, symbols: Symbols = UNICODE
) -> Row:
    """Return a differing value: path, old value, new value."""
    role = "faint" if change.expected else change.kind
    line = Line(width).add(" " * (indent - 2)).add(f"{fold_sign(opened, symbols)} ", "muted")
    line.add(f"{sign_of(change.kind, symbols)} ", role)
    line.add(
        path_text(change.path, max(12, width // 2)) or "whole value", "faint" if change.expected else "node-id"
    ).add("  ")
    if opened:
        return Row(line)
    if change.expected:
        return Row(line.add("differs in every run", "faint"))
    if change.kind == "added":
        return Row(line.device(preview(change.new, width), "added"))
    if change.kind == "removed":
        return Row(line.device(preview(change.old, width), "removed"))
    line.device(preview(change.old, width), "removed", room=max(6, (width - line.cells - 4) // 2))
    return Row(line.add(f" {symbols.arrow} ", "faint").device(preview(change.new, width), "added"))


def path_text(path: Path, room: int) -> str:
    """Return a path such as ``actions.wait.params.key``, cut at its beginning."""
    safe = escape(".".join(str(part) for part in path[-_DEEPEST:]))
    return safe if cells(safe) <= room else "…" + take(safe[::-1], room - 1)[::-1]


def _whole(value: Any) -> str:
    """Return a value in full: text as it is, everything else as JSON; empty for a missing one."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _is_long(change: ValueChange, width: int) -> bool:
    """Return whether a row cannot show both values."""
    room = width - min(width // 2, cells(".".join(map(str, change.path)))) - 8
    return sum(len(preview(value, room)) for value in (change.old, change.new) if value is not None) > room


def line_diff(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts, each with its role: *removed*, *added*, or ``""`` for one that both have."""
    before, after = old.splitlines()[:_LINES_OF_VALUE], new.splitlines()[:_LINES_OF_VALUE]
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (("", text) for text in before[start:end])
        else:
            yield from (("removed", text) for text in before[start:end])
            yield from (("added", text) for text in after[first:last])


def diff_row(role: str, text: str, width: int, *, indent: int = 1, symbols: Symbols = UNICODE) -> Row:
    """Return a line of ``line_diff``; a common one is dim."""
    line = Line(width).add(" " * indent).add(f"{sign_of(role, symbols) if role else ' '} ", role or "muted")
    return Row(line.device(text, role or "muted"))
