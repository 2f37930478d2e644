"""Moments and durations in words: seconds with one decimal, thin and without surprises."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import NamedTuple


class WallClock(NamedTuple):
    """Where the console gets the time from: ``now`` in seconds since the epoch, ``zone`` (``None``: the local one)."""

    now: Callable[[], float] = time.time
    zone: tzinfo | None = None

    def time_of_day(self, at: float, *, tenths: bool = True) -> str:
        """``11:29:04.1``; empty when the moment is unknown."""
        if math.isnan(at) or at <= 0:
            return ""
        moment = datetime.fromtimestamp(at, self.zone).astimezone(self.zone)
        text = moment.strftime("%H:%M:%S")
        return f"{text}.{moment.microsecond // 100_000}" if tenths else text


def duration(seconds: float) -> str:
    """``0.8 s``, ``42.0 s``, ``3 min 05 s``, ``2 h 10 min``; an unknown one is empty."""
    if math.isnan(seconds):
        return ""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"


def precise(seconds: float) -> str:
    """As ``duration``, but milliseconds below one second: for what a machine did."""
    return f"{seconds * 1000:.0f} ms" if 0 <= seconds < 0.9995 else duration(seconds)


def age(seconds: float) -> str:
    """How long ago, coarse enough not to flicker: ``now``, ``4 s``, ``3 min``, ``2 h``."""
    if seconds < 1:
        return "now"
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    return f"{int(seconds // 3600)} h"


def rate(per_second: float) -> str:
    """``41/s``, ``1.2k/s``; below one line per second nothing."""
    if per_second < 1:
        return ""
    return f"{per_second:.0f}/s" if per_second < 1000 else f"{per_second / 1000:.1f}k/s"
