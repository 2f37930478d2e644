"""A value that can be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Copyable(NamedTuple):
    """Its name in notices, and how to get its text."""

    what: str
    text: Callable[[], str]
