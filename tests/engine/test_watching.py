"""Following a device that is not there: its return is pushed, not guessed at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode, Settings
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.adb.trace import AdbTrace
from clawperator.engine.events.types import LogGap
from tests.support import patience


class Away:
    """An adb server whose one device refuses everything; ``lists`` are the device lists that it pushes."""

    def __init__(self) -> None:
        self.trace = AdbTrace()
        self.attempts = 0
        self.asked_for_more = asyncio.Event()
        self.lists: asyncio.Queue[tuple[DeviceEntry, ...]] = asyncio.Queue()

    async def select(self, serial: str) -> Any:
        self.attempts += 1
        raise EngineError(ErrorCode.DEVICE_OFFLINE, f"{serial} is offline")

    async def track_devices(self, **_: Any) -> AsyncIterator[tuple[DeviceEntry, ...]]:
        while True:
            if self.lists.empty():
                self.asked_for_more.set()
            yield await self.lists.get()


async def test_a_device_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, server = Engine(Settings.resolve(env={"HOME": "/nowhere"})), Away()
    monkeypatch.setattr(engine, "server", server)
    server.lists.put_nowait(())
    server.lists.put_nowait((DeviceEntry("A", "offline"), DeviceEntry("B", "device")))
    with engine.events.subscribe() as subscription:
        watching = asyncio.create_task(engine.watch_log("A"))
        async with asyncio.timeout(patience(5)):
            await server.asked_for_more.wait()
            assert server.attempts == 1
            (gap,) = await subscription.batch()
            assert isinstance(gap, LogGap)
            server.lists.put_nowait((DeviceEntry("A", "device"),))
            await subscription.batch()
        assert server.attempts == 2
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
