"""A cache of small repeated values (tags, pids, levels)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
_LONGEST_KEY = 128


class Memo(dict[bytes, Value]):
    """A dictionary that makes missing values; it is cleared when a hostile log fills it with distinct values.

    Keys longer than any sane tag or number are not kept.
    """

    def __init__(self, make: Callable[[bytes], Value], limit: int = 20_000) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, key: bytes) -> Value:
        if len(key) > _LONGEST_KEY:
            return self._make(key)
        if len(self) >= self._limit:
            self.clear()
        value = self[key] = self._make(key)
        return value
