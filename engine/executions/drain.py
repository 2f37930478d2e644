"""The graceful stop of a server: running requests get their results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from clawperator.engine.errors import EngineError, ErrorCode


class Drain:
    """Counts running requests. ``stopping``: new ones are refused."""

    def __init__(self) -> None:
        self.stopping = False
        self.count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one request for the block. Raises ``EngineError`` (SHUTTING_DOWN)."""
        if self.stopping:
            raise EngineError(ErrorCode.SHUTTING_DOWN, "The server stops: nothing was sent to the device")
        self.count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._idle.set()

    async def idle(self) -> None:
        """Return when no request is running."""
        await self._idle.wait()
