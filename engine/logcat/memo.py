"""Small values that repeat for ever (tags, pids, levels), made once and shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


class Memo(dict[bytes, Value]):
    """A dictionary that makes what it lacks; it starts afresh when a hostile log fills it with distinct values."""

    def __init__(self, make: Callable[[bytes], Value], limit: int = 20_000) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, key: bytes) -> Value:
        if len(self) >= self._limit:
            self.clear()
        value = self[key] = self._make(key)
        return value
