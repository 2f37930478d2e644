"""Stop a simulated device at a named moment, so that a test can act exactly then."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase


class Pauses:
    """The moments are ``host <request>``, ``service <request>``, ``broadcast``, ``delivered``, ``accepted``, ``step <n>``
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
