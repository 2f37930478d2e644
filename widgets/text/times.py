"""Times and durations as text, with one decimal of a second."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import NamedTuple


class WallClock(NamedTuple):
    """Source of the time: ``now`` in seconds since the epoch, ``zone`` (``None``: local)."""

    now: Callable[[], float] = time.time
    zone: tzinfo | None = None

    def time_of_day(self, at: float, *, tenths: bool = True) -> str:
        """Return ``11:29:04.1``; empty when unknown."""
        if math.isnan(at) or at <= 0:
            return ""
        moment = datetime.fromtimestamp(at, self.zone).astimezone(self.zone)
        text = moment.strftime("%H:%M:%S")
        return f"{text}.{moment.microsecond // 100_000}" if tenths else text


def duration(seconds: float) -> str:
    """Return ``0.8 s``, ``42.0 s``, ``3 min 05 s``, ``2 h 10 min``; empty when unknown."""
    if math.isnan(seconds):
        return ""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


def precise(seconds: float) -> str:
    """As ``duration``, with milliseconds below one second."""
    return f"{seconds * 1000:.0f} ms" if 0 <= seconds < 0.9995 else duration(seconds)


def age(seconds: float) -> str:
    """Return a coarse age: ``now``, ``4 s``, ``3 min``, ``2 h``."""
    if seconds < 1:
        return "now"
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    return f"{int(seconds // 3600)} h"


def time_ago(seconds: float) -> str:
    """Return ``now`` or ``4 s ago``."""
    words = age(seconds)
    return words if words == "now" else f"{words} ago"


def rate(per_second: float) -> str:
    """Return ``41/s`` or ``1.2k/s``; empty below one per second."""
    if per_second < 1:
        return ""
    return f"{per_second:.0f}/s" if per_second < 1000 else f"{per_second / 1000:.1f}k/s"
