"""Apply ``then: diff``: written from ``docs/reference/execution.md`` (The screen after it), as a client would, not from the product."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.view_lines import lines_of

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def patched(old: Sequence[str], hunks: Sequence[str]) -> list[str]:
    """Return the lines that a unified diff without context makes of ``old``; every line that it removes must be there."""
    new: list[str] = []
    done = at = 0
    while at < len(hunks):
        header = HUNK.fullmatch(hunks[at])
        assert header, f"no hunk: {hunks[at]}"
        first, gone, place, come = (1 if count is None else int(count) for count in header.groups())
        start = first - 1 if gone else first
        new += old[done:start]
        assert len(new) == (place - 1 if come else place), f"the new lines are elsewhere: {hunks[at]}"
        removed, added = hunks[at + 1 : at + 1 + gone], hunks[at + 1 + gone : at + 1 + gone + come]
        assert removed == [f"-{line}" for line in old[start : start + gone]], f"other lines are there: {hunks[at]}"
        assert all(line.startswith("+") for line in added)
        new += [line[1:] for line in added]
        done, at = start + gone, at + 1 + gone + come
    return [*new, *old[done:]]


def lines_after(old: Sequence[str], then: Mapping[str, Any]) -> list[str]:
    """Return the lines of the compact view after an execution, of those before it and its ``then`` with ``diff``."""
    if then["changed"] is False:
        assert "view" not in then
        return [*old]
    return patched(old, lines_of(then)) if then["view"] == "diff" else lines_of(then)
