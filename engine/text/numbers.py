"""Numbers in texts from outside."""

from __future__ import annotations


def whole_number(text: str, *, digits: int = 9) -> int | None:
    """Return the number that ``text`` is, at most so many ASCII digits long; ``None`` for any other text.

    Python's ``int`` also takes signs, underscores, spaces and digits of other scripts, and raises for the rest.
    """
    return int(text) if 0 < len(text) <= digits and text.isascii() and text.isdigit() else None
