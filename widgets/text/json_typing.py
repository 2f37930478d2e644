"""Automatic edits while JSON is typed: pairs, indentation, and formatting of pasted text. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from clawperator.widgets.text.json_reader import tokens
from clawperator.widgets.text.json_text import editable

INDENT = "  "
_LONG_LINE = 200
_PAIRS = {"{": "}", "[": "]", '"': '"'}
_PAIRED = frozenset((*_PAIRS, *_PAIRS.values()))


class Typed(NamedTuple):
    """What replaces the selection with the characters around it; ``cursor`` is an offset in it, ``None`` its end."""

    text: str
    cursor: int | None = None
    left: int = 0
    right: int = 0


STEP_OVER = Typed("")
"""Only the cursor moves: over the closing character that was typed again."""


def newline(line: str, column: int) -> Typed:
    """Return a line break with the same indentation; between brackets a block."""
    indent = indent_of(line)[:column]
    before, after = line[:column].rstrip(" ")[-1:], line[column:].lstrip(" ")[:1]
    opens = before in ("{", "[") and not _in_string(line, column)
    text = f"\n{indent}{INDENT if opens else ''}"
    closes = opens and after == _PAIRS[before]
    return Typed(f"{text}\n{indent}" if closes else text, len(text))


def paired(character: str, line: str, column: int, selected: str) -> Typed | None:
    """Return the edit for a bracket or quote; ``None`` where it is a character like others."""
    if character not in _PAIRED:
        return None
    before, following, in_string = line[:column], line[column : column + 1], _in_string(line, column)
    if selected and character in _PAIRS:
        return Typed(f"{character}{selected}{_PAIRS[character]}")
    if character == following and character in '}]"' and (character == '"') is in_string:
        return STEP_OVER
    if in_string:
        return None
    if character in "}]":  # it is dedented where it is first in its line
        first = before != "" and not before.strip(" ")
        return Typed(character, left=min(len(INDENT), column)) if first and not selected else None
    return Typed(f"{character}{_PAIRS[character]}", 1) if following in ("", " ", ",", ":", "}", "]") else None


def unpaired(line: str, column: int) -> Typed | None:
    """Return the edit that deletes both characters of an empty pair; ``None`` where there is none."""
    around = line[max(0, column - 1) : column + 1]
    return Typed("", left=1, right=1) if len(around) == 2 and _PAIRS.get(around[0]) == around[1] else None


def _in_string(line: str, column: int) -> bool:
    """Return whether the column is inside a string."""
    found = (token for token in tokens(line) if token.kind == "string" and token.start < column)
    token = next((token for token in found if column <= token.end), None)
    if token is None:
        return False
    closed = token.end - token.start > 1 and line[token.end - 1] == '"'
    return column < token.end or not closed


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def pasted(text: str, indent: str) -> str:
    """Return the text with invisible characters escaped, and a long single line formatted."""
    text = editable(text)
    if len(text) <= _LONG_LINE or "\n" in text.strip():
        return text
    try:
        text = editable(json.dumps(json.loads(text), indent=len(INDENT), ensure_ascii=False))
    except (ValueError, RecursionError):
        pass  # it is not JSON
    return text.replace("\n", f"\n{indent}")
