"""Retry policies of the Operator's steps (wire.md#payload-parsing-on-the-device)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``max_attempts`` counts the first try; delays are milliseconds; ``jitter`` is a fraction of the delay."""

    max_attempts: int = 1
    initial_ms: int = 0
    max_ms: int = 0
    multiplier: float = 1.0
    jitter: float = 0.0

    def delay_ms(self, retry: int, chance: Callable[[], float]) -> int:
        """How long to wait before the ``retry``-th retry (from 1); ``chance`` gives numbers in [0, 1)."""
        plain = min(self.initial_ms * self.multiplier ** (retry - 1), float(self.max_ms))
        return max(0, round(plain * (1 + self.jitter * (2 * chance() - 1))))


NONE = RetryPolicy()
UI_READINESS = RetryPolicy(5, 500, 3_000, 2.0, 0.15)
RESTED = RetryPolicy(3, 500, 1_000, 2.0)
"""In place of UI_READINESS where each snapshot takes about two seconds: in all, it waits as long for the screen."""
UI_SCROLL = RetryPolicy(4, 400, 2_000, 2.0, 0.15)
APP_LAUNCH = RetryPolicy(4, 750, 4_000, 2.0, 0.15)
