"""Check regular expressions of a recipe, which the host applies to screen texts."""

from __future__ import annotations

import re
import warnings

from clawperator.engine.filters.pattern_cost import cost_of

MAX_PATTERN = 512


def pattern_problem(pattern: str, *, groups: int | None = None) -> str:
    """Return why ``pattern`` is not allowed; empty if it is. ``groups`` is the required number of groups, if any."""
    if len(pattern) > MAX_PATTERN:
        return f"the pattern is longer than {MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as exc:
        return f"the pattern cannot be read: {exc}"
    if groups is not None and compiled.groups != groups:
        return f"the pattern has {compiled.groups} groups instead of {groups}"
    return cost_of(pattern).problem
