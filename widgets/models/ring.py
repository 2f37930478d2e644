"""A bounded list of lines whose positions never change: number 17 stays number 17 when older ones go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Ring(Generic[T]):
    """Keeps the newest ``capacity`` items. ``first`` is the number of the oldest kept one, ``end`` that of the next."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: list[T] = []
        self.first = 0

    @property
    def end(self) -> int:
        return self.first + len(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> T:
        """The item with this number; raises ``IndexError`` when it has gone or has not come."""
        if number < self.first:
            raise IndexError(number)
        return self._items[number - self.first]

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def numbered(self, start: int = 0) -> Iterator[tuple[int, T]]:
        """Items from number ``start`` on, each with its number."""
        begin = max(0, start - self.first)
        return enumerate(self._items[begin:], self.first + begin)

    def extend(self, items: Iterable[T]) -> None:
        self._items.extend(items)
        surplus = len(self._items) - self._capacity
        if (
            surplus > self._capacity // 16
        ):  # drop in slabs: shifting a long list for each line would cost more than the line
            del self._items[:surplus]
            self.first += surplus

    def clear(self) -> None:
        self.first = self.end
        self._items.clear()
