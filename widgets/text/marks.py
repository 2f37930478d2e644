"""Places of a text that are underlined, and where they are after the text was changed. Pure."""

from __future__ import annotations

from typing import NamedTuple


class TextMark(NamedTuple):
    """What is underlined from ``start`` to ``end``, in which role, and why."""

    start: int
    end: int
    role: str
    words: str


def moved(mark: TextMark, start: int, end: int, grown: int) -> TextMark:
    """A mark after what stood from ``start`` to ``end`` has grown."""
    if mark.end <= start:
        return mark
    if mark.start >= end:
        return mark._replace(start=mark.start + grown, end=mark.end + grown)
    return mark._replace(start=min(mark.start, start), end=max(start + 1, mark.end + grown))
