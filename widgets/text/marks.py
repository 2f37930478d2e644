"""Underlined spans of a text, and their shift after an edit. Pure."""

from __future__ import annotations

from typing import NamedTuple


class TextMark(NamedTuple):
    """An underlined span with its role and message."""

    start: int
    end: int
    role: str
    words: str


def moved(mark: TextMark, start: int, end: int, grown: int) -> TextMark:
    """Return the mark after the text from ``start`` to ``end`` changed its length by ``grown``."""
    if mark.end <= start:
        return mark
    if mark.start >= end:
        return mark._replace(start=mark.start + grown, end=mark.end + grown)
    return mark._replace(start=min(mark.start, start), end=max(start + 1, mark.end + grown))
