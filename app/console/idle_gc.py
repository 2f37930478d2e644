"""Runs garbage collection while the user is idle.

A full collection over fifty trees of ten thousand nodes delays a key noticeably. Python starts one after enough
allocations; the console starts it when no key was pressed for a while, and at the latest when much has been discarded.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

SWITCH_SECONDS = 0.001
"""Thread switch interval: a key passes through several threads."""
QUIET_SECONDS = 1.5
"""Time without input after which the user counts as idle."""
LEAST_GARBAGE = 50_000
"""Discarded nodes that are worth a collection."""
REST_SECONDS = 10.0
"""Interval of collections in idle times: under load, a minute's messages and frames are fifty megabytes."""
_HARD_LIMIT = 10
"""Multiple of ``LEAST_GARBAGE`` that starts a collection without waiting for idle time."""
_NEVER = 1_000_000


class IdleGc:
    """``begin`` replaces Python's full collections and switch interval; ``end`` restores them. ``now``: seconds.

    ``grown`` returns whether enough was allocated since the last collection for another one to find anything.
    """

    def __init__(
        self,
        now: Callable[[], float],
        collect: Callable[[], object] = gc.collect,
        grown: Callable[[], bool] = lambda: gc.get_count()[2] > 0,
    ) -> None:
        self._now = now
        self._collect = collect
        self._grown = grown
        self._touched = self._collected = now()
        self._swept = 0
        self._thresholds = gc.get_threshold()
        self._switching = sys.getswitchinterval()

    def begin(self) -> None:
        """Exclude all current objects from collections until ``end``."""
        gc.freeze()
        young, middle, _ = self._thresholds
        gc.set_threshold(young, middle, _NEVER)
        sys.setswitchinterval(SWITCH_SECONDS)

    def end(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)
        sys.setswitchinterval(self._switching)

    def touched(self) -> None:
        """Note input of the user."""
        self._touched = self._now()

    def tick(self, *, kept: int, dropped: int) -> bool:
        """Collect if it is time, and return whether it was; called every second with counts of nodes."""
        now, garbage = self._now(), dropped - self._swept
        quiet = now - self._touched >= QUIET_SECONDS
        worth = max(LEAST_GARBAGE, kept // 4)
        due = garbage >= worth or (now - self._collected >= REST_SECONDS and self._grown())
        if (due and quiet) or garbage >= worth * _HARD_LIMIT:
            self._collect()
            self._swept, self._collected = dropped, self._now()
            return True
        return False
