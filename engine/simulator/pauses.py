"""Moments at which a simulated device can be made to stop, so that a test does something at exactly one of them."""

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
        """Stop whatever comes to a moment that the shell pattern matches, until ``resume``."""
        self._pattern = pattern
        self.reached.clear()
        self._resumed.clear()

    def resume(self) -> None:
        """Let everything go on, and stop nothing more."""
        self._pattern = ""
        self._resumed.set()

    async def at(self, moment: str) -> None:
        """Return when the simulation may pass ``moment``."""
        if self._pattern and fnmatchcase(moment, self._pattern):
            self.reached.set()
            await self._resumed.wait()
