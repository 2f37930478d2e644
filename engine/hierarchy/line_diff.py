"""A unified diff of two lists of lines, without lines of context (``diff -U0``): hunks only, no names of files.

A hunk is ``@@ -a,b +c,d @@``, then the ``b`` old lines from line ``a`` on, each after ``-``, then the ``d`` new ones, which become the lines
from ``c`` on, each after ``+``. Lines count from 1, a count of 1 is omitted, and where a count is 0 the number is that of the line before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clawperator.engine.hierarchy.align import common_ends, common_subsequence

_MOST_CELLS = 250_000
"""Above this many comparisons (500 × 500 lines) all between the equal beginning and the equal end is one hunk."""


def line_diff(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of the hunks that turn ``old`` into ``new``; none where they are equal."""
    start, end = common_ends(old, new)
    rest_old, rest_new = old[start : len(old) - end], new[start : len(new) - end]
    small = len(rest_old) * len(rest_new) <= _MOST_CELLS
    kept = [(start + i, start + j) for i, j in (common_subsequence(rest_old, rest_new) if small else ())]
    i = j = start
    for next_i, next_j in (*kept, (len(old) - end, len(new) - end)):
        if next_i > i or next_j > j:
            yield f"@@ -{_range(i, next_i)} +{_range(j, next_j)} @@"
            yield from ("-" + line for line in old[i:next_i])
            yield from ("+" + line for line in new[j:next_j])
        i, j = next_i + 1, next_j + 1


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"
