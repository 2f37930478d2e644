"""Limits the processor time of one pattern over all texts of a query.

Python's ``re`` cannot be interrupted, so the time is counted after each search, and further searches are skipped beyond the limit.
"""

from __future__ import annotations

import re
import time
from typing import Final

ALLOWANCE: Final = 1.0
"""Seconds of processor time per pattern."""

PER_CHARACTER: Final = 200e-9
"""Additional seconds per searched character; a linear pattern needs far less."""


class PatternBudget:
    """The remaining time of one pattern; ``stopped`` if none is left."""

    def __init__(self) -> None:
        self._left = ALLOWANCE

    @property
    def stopped(self) -> bool:
        return self._left <= 0

    def search(self, pattern: re.Pattern[str], text: str, reach: int) -> bool:
        """Return whether ``pattern`` matches in the first ``reach`` characters; False once stopped."""
        if self.stopped:
            return False
        begun = time.thread_time()
        found = pattern.search(text, 0, reach) is not None
        self._left += min(len(text), reach) * PER_CHARACTER - (time.thread_time() - begun)
        return found
