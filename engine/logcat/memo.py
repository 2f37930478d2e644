"""Small values that repeat for ever (tags, pids, levels), made once and shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
_LONGEST_KEY = 128


class Memo(dict[bytes, Value]):
    """A dictionary that makes what it lacks; it starts afresh when a hostile log fills it with distinct values.

    Keys that are longer than any tag or number of a sane log are not kept.
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
