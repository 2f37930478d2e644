"""A value that can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Copyable(NamedTuple):
    """Its name in notices, and its text, which the menu shows. A text that may be long has ``make`` instead, which is
    called in a thread when the user copies it. ``refused``: why this form cannot express it.
    """

    what: str
    text: str = ""
    make: Callable[[], str] | None = None
    refused: str = ""

    @classmethod
    def if_possible(cls, what: str, make: Callable[[], str]) -> Copyable:
        """Call ``make``; the reason of its ``ValueError`` is why it is refused."""
        try:
            return cls(what, make())
        except ValueError as refusal:
            return cls(what, refused=str(refusal))
