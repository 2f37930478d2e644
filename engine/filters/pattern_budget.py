"""The processor time that one pattern of a filter may take over all texts of a query.

``pattern_cost`` bounds a single search by the pattern's source; a history holds thousands of texts. Python's ``re`` cannot be
interrupted, so the time is counted after each search, and the pattern is stopped when its allowance is used up.
"""

from __future__ import annotations

import re
import time
from typing import Final

ALLOWANCE: Final = 1.0
"""Seconds of processor time that every pattern has."""

PER_CHARACTER: Final = 200e-9
"""Seconds that each searched character adds: a pattern in linear time needs far less, however long the history is."""


class PatternBudget:
    """What is left of the allowance of one pattern; ``stopped`` once nothing is."""

    def __init__(self) -> None:
        self._left = ALLOWANCE

    @property
    def stopped(self) -> bool:
        return self._left <= 0

    def search(self, pattern: re.Pattern[str], text: str, reach: int) -> bool:
        """Whether ``pattern`` matches in the first ``reach`` characters; False without a search once it is stopped."""
        if self.stopped:
            return False
        begun = time.thread_time()
        found = pattern.search(text, 0, reach) is not None
        self._left += min(len(text), reach) * PER_CHARACTER - (time.thread_time() - begun)
        return found
