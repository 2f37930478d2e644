"""Suggestions for misspelt commands and flags. Imported only for those."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FLAG_SIMILARITY = 0.75


def edit_distance(left: str, right: str) -> int:
    """Return the number of insertions, deletions, replacements and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def closest_command(word: str, known: Iterable[str]) -> str:
    """Return the nearest of ``known`` within half of the word's length (at least two edits), else ''."""
    limit = max(2, len(word) // 2)
    distance, name = min(((edit_distance(word[:64], name), name) for name in known), default=(limit + 1, ""))
    return name if distance <= limit else ""


def closest_flag(flag: str, known: Iterable[str]) -> str:
    """Return the nearest of ``known`` if its similarity is above ``FLAG_SIMILARITY``, else ''."""
    best, name = max(((similarity(flag[:64], name), name) for name in known), default=(0.0, ""))
    return name if best > FLAG_SIMILARITY else ""


def similarity(left: str, right: str) -> float:
    return 1 - edit_distance(left, right) / max(len(left), len(right), 1)
