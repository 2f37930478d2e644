"""The live mirror: screenshots of the followed device, one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clawperator.app.console.inspect.pictures import take

if TYPE_CHECKING:
    from clawperator.app.console.console_engine import ConsoleEngine
    from clawperator.widgets.picture_view import Picture
    from clawperator.widgets.text.times import WallClock

BYTES_PER_SECOND = 100_000
"""What pictures may send to the terminal, in the mean; a larger change delays the next one."""


class Mirror:
    """Takes screenshots at the device's pace, one at a time, by the rules of follow mode.

    The next one begins when the last was painted. They rest while the picture does not change, and none begins while
    ``busy`` says that an execution holds the device.
    """

    def __init__(
        self,
        engine: ConsoleEngine,
        clock: WallClock,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        show: Callable[[Picture], object],
        busy: Callable[[str], bool],
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._spawn = spawn
        self._show = show
        self._busy = busy
        self._task: asyncio.Task[None] | None = None
        self._sent = 0
        self._painted = asyncio.Event()
        self._news = asyncio.Event()
        self.device_id = ""

    def start(self, device_id: str) -> None:
        """Show this device instead of the previous one; empty stops it."""
        if device_id == self.device_id:
            return
        if self._task is not None:
            self._task.cancel()
        self.device_id = device_id
        self._task = self._spawn(self._run(device_id)) if device_id else None

    def look_now(self) -> None:
        """End the rest: the screen may have changed, or the device is free."""
        self._news.set()

    def painted(self, sent: int) -> None:
        """Note that the picture was painted with about ``sent`` bytes."""
        self._sent = sent
        self._painted.set()

    async def _run(self, device_id: str) -> None:
        from clawperator.engine.follow.follower import rest_after

        shown: Picture | None = None
        equal = 0
        while True:
            self._news.clear()
            await self._until_free(device_id)
            picture = await take(self._engine, device_id, self._clock, shown)
            equal = equal + 1 if shown is not None and picture.image is shown.image else 0
            shown = picture
            await self._paint(shown)
            with suppress(TimeoutError):
                async with asyncio.timeout(rest_after(equal)):
                    await self._news.wait()

    async def _until_free(self, device_id: str) -> None:
        while self._busy(device_id):
            await self._news.wait()
            self._news.clear()

    async def _paint(self, picture: Picture) -> None:
        """Show a picture, and wait until it is painted and its bytes are within the limit."""
        from clawperator.engine.follow.follower import PAINT_LIMIT

        self._painted.clear()
        self._sent = 0
        self._show(picture)
        with suppress(TimeoutError):
            async with asyncio.timeout(PAINT_LIMIT):
                await self._painted.wait()
        await asyncio.sleep(self._sent / BYTES_PER_SECOND)
