"""Time of a simulated device: its clock, the moments at which a test stops it, the round trips of its connection."""

from __future__ import annotations

import asyncio
import time
from fnmatch import fnmatchcase


class DeviceClock:
    """Monotonic: a multiple of the real clock, or moved by its own waits only.

    ``speed`` is real seconds per simulated second. At 0 nothing waits and ``now`` is the sum of all waits so far.
    """

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


class Pauses:
    """Stop a device at a named moment, so that a test can act exactly then.

    The moments are ``host <request>``, ``service <request>``, ``broadcast``, ``delivered``, ``accepted``, ``step <n>``
    (from 1), ``result`` and ``answered``; each is before what it names, except ``delivered`` and ``answered``.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        """Set once something has stopped."""
        self._pattern = ""
        self._resumed = asyncio.Event()

    def stop_at(self, pattern: str) -> None:
        """Stop at every moment that matches the shell pattern, until ``resume``."""
        self._pattern = pattern
        self.reached.clear()
        self._resumed.clear()

    def resume(self) -> None:
        """Continue, and stop at nothing more."""
        self._pattern = ""
        self._resumed.set()

    async def at(self, moment: str) -> None:
        """Return when the simulation may pass ``moment``."""
        if self._pattern and fnmatchcase(moment, self._pattern):
            self.reached.set()
            await self._resumed.wait()


class RoundTrips:
    """Counts requests of adb clients, and delays their responses by ``latency_ms`` (real milliseconds, whatever the device's speed).

    A round trip is one request and its response: a ``host:`` request, or a service of the device (a shell command, a file
    transfer). Choosing the device belongs to the request that follows it on the same connection. Concurrent requests count
    as one in ``in_sequence``, which therefore needs a latency to be meaningful.
    """

    def __init__(self, latency_ms: float = 0.0) -> None:
        self.latency_ms = latency_ms
        self.total = 0
        """All requests so far."""
        self.in_sequence = 0
        """The longest chain of requests, each sent after the response to the previous one."""
        self._answered = 0

    def reset(self) -> None:
        """Count from zero again; requests that wait now are counted with the next ones."""
        self.total = self.in_sequence = self._answered = 0

    async def wait(self) -> None:
        """Count one request; return when it may be answered."""
        depth = self._answered + 1
        self.total += 1
        self.in_sequence = max(self.in_sequence, depth)
        if self.latency_ms:
            await asyncio.sleep(self.latency_ms / 1000)
        self._answered = max(self._answered, depth)
