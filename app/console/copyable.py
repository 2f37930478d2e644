"""Something that can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Copyable(NamedTuple):
    """Its name in the strip, and how to get it."""

    what: str
    text: Callable[[], str]
