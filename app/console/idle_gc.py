"""What the interpreter does beside the console's work: not between a key and its frame.

A tree of ten thousand nodes is tens of thousands of objects that refer to each other; a full collection over fifty such
trees takes longer than anybody waits for a key. Python starts one whenever enough has been made; the console starts it when
nobody is at the keys, and at the latest when a good part of what is kept has been thrown away.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

SWITCH_SECONDS = 0.001
"""So long a worker thread keeps the interpreter to itself: a key passes through several hands, each waits its turn."""
QUIET_SECONDS = 1.5
"""So long without a key or a click: a pause is noticed by nobody."""
LEAST_GARBAGE = 50_000
"""Nodes thrown away that are worth a collection."""
REST_SECONDS = 60.0
"""Dialogs and messages are garbage too: in quiet times everything is looked at this often."""
_HARD_LIMIT = 10
"""Times ``LEAST_GARBAGE`` after which nobody's keys are waited for any longer."""
_NEVER = 1_000_000


class Housekeeping:
    """``begin`` takes over from Python's own full collections and its long turns of threads, ``end`` gives back. ``now`` counts seconds."""

    def __init__(self, now: Callable[[], float], collect: Callable[[], object] = gc.collect) -> None:
        self._now = now
        self._collect = collect
        self._touched = self._collected = now()
        self._swept = 0
        self._thresholds = gc.get_threshold()
        self._switching = sys.getswitchinterval()

    def begin(self) -> None:
        """What exists now lives as long as the console: no collection needs to look at it before ``end``."""
        gc.freeze()
        young, middle, _ = self._thresholds
        gc.set_threshold(young, middle, _NEVER)
        sys.setswitchinterval(SWITCH_SECONDS)

    def end(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)
        sys.setswitchinterval(self._switching)

    def touched(self) -> None:
        """Somebody is at the keys."""
        self._touched = self._now()

    def tick(self, *, kept: int, dropped: int) -> bool:
        """Called every second, with the number of nodes that are kept now and of those ever dropped: collect if it is time
        to; whether it was.
        """
        now, garbage = self._now(), dropped - self._swept
        quiet = now - self._touched >= QUIET_SECONDS
        worth = max(LEAST_GARBAGE, kept // 4)
        due = garbage >= worth or now - self._collected >= REST_SECONDS
        if (due and quiet) or garbage >= worth * _HARD_LIMIT:
            self._collect()
            self._swept, self._collected = dropped, self._now()
            return True
        return False
