"""The device's monotonic clock: a multiple of the real one, or moved by its own waits only."""

from __future__ import annotations

import asyncio
import time


class DeviceClock:
    """``speed`` is real seconds per simulated second. At 0 nothing waits and ``now`` is the sum of all waits so far."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._started = time.monotonic()
        self._waited = 0.0

    def now(self) -> float:
        """Simulated seconds since the device was made."""
        return (time.monotonic() - self._started) / self.speed if self.speed else self._waited

    async def sleep(self, seconds: float) -> None:
        if not self.speed:
            self._waited += max(0.0, seconds)
        await asyncio.sleep(seconds * self.speed)
