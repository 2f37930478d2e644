"""Count and delay the round trips of adb clients."""

from __future__ import annotations

import asyncio


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
