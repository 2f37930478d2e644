"""Automatic edits while JSON is typed: pairs, indentation, and formatting of pasted text."""

from __future__ import annotations

import json

from textual import events
from textual.document._edit import Edit
from textual.widgets import TextArea

from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.json_reader import tokens
from clawperator.widgets.text.json_text import editable

INDENT = "  "
_LONG_LINE = 200
_PAIRS = {"{": "}", "[": "]", '"': '"'}


class JsonTyping(LineWidget, TextArea, can_focus=True, inherit_bindings=False):
    """A text area that pairs brackets and indents; subclasses call ``paired`` and implement ``after_change``."""

    typing = False
    """Whether the last change was typed, not pasted or inserted."""

    def after_change(self) -> None:
        """Hook: the user changed the text."""

    # -- places

    def index_of(self, location: tuple[int, int]) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_of(self, offset: int) -> tuple[int, int]:
        for row, line in enumerate(self.document.lines):
            if offset <= len(line):
                return row, offset
            offset -= len(line) + 1
        return self.document.end

    # -- editing

    def action_newline(self) -> None:
        """Insert a line with the same indentation; between brackets a block."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        indent = self.indent_at(row)[:column]
        before, after = line[:column].rstrip(" ")[-1:], line[column:].lstrip(" ")[:1]
        opens = before in ("{", "[") and not self._in_string
        text = f"\n{indent}{INDENT if opens else ''}"
        closes = opens and after == _PAIRS[before]
        self.put(f"{text}\n{indent}" if closes else text, len(text))

    def paired(self, character: str) -> bool:
        """Pair brackets and quotes, or step over an existing closing one; return whether the key was handled."""
        if not character or character not in '{}[]"':
            return False
        row, column = self.cursor_location
        following = self.document.get_line(row)[column : column + 1]
        if self.selected_text and character in _PAIRS:
            self.put(f"{character}{self.selected_text}{_PAIRS[character]}")
        elif character == following and character in '}]"' and (character == '"') is self._in_string:
            self.move_cursor((row, column + 1))
        elif self._in_string:
            return False
        elif character in "}]":
            return self._closed_block(character)
        elif following in ("", " ", ",", ":", "}", "]"):
            self.put(f"{character}{_PAIRS[character]}", 1)
        else:
            return False
        return True

    def _closed_block(self, character: str) -> bool:
        """Dedent a closing bracket that is first in its line."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if before.strip(" ") or not before or self.selected_text:
            return False
        self.edit(Edit(before[: -len(INDENT)] + character, (row, 0), (row, column), False))
        return True

    def action_delete_left(self) -> None:
        """Delete both characters of an empty pair."""
        row, column = self.cursor_location
        around = self.document.get_line(row)[max(0, column - 1) : column + 1]
        if self.selection.is_empty and len(around) == 2 and _PAIRS.get(around[0]) == around[1]:
            self.edit(Edit("", (row, column - 1), (row, column + 1), False))
        else:
            super().action_delete_left()

    def put(self, text: str, cursor: int | None = None) -> None:
        """Replace the selection, with the cursor behind ``cursor`` characters of ``text``."""
        start, end = sorted(self.selection)
        at = self.index_of(start)
        self.edit(Edit(text, start, end, False))
        if cursor is not None:
            self.move_cursor(self.location_of(at + cursor))
            self.after_change()

    @property
    def _in_string(self) -> bool:
        """Return whether the cursor is inside a string."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        found = (token for token in tokens(line) if token.kind == "string" and token.start < column)
        token = next((token for token in found if column <= token.end), None)
        if token is None:
            return False
        closed = token.end - token.start > 1 and line[token.end - 1] == '"'
        return column < token.end or not closed

    def on_paste(self, event: events.Paste) -> None:
        """As TextArea, with invisible characters escaped and a long single line formatted."""
        self.typing = False
        text = editable(event.text)
        if len(text) > _LONG_LINE and "\n" not in text.strip():
            text = _laid_out(text).replace("\n", f"\n{self.indent_at(self.cursor_location[0])}")
        event.text = text

    def indent_at(self, row: int) -> str:
        line = self.document.get_line(row)
        return line[: len(line) - len(line.lstrip(" "))]


def _laid_out(text: str) -> str:
    try:
        return editable(json.dumps(json.loads(text), indent=len(INDENT), ensure_ascii=False))
    except (ValueError, RecursionError):
        return text
