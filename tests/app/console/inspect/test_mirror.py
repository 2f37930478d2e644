"""The live mirror takes one screenshot at a time, rests as follow mode, and yields to executions."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from PIL import Image

from clawperator.app.console.inspect.mirror import BYTES_PER_SECOND, Mirror
from clawperator.engine.follow.follower import rest_after
from clawperator.widgets.picture_view import Picture
from clawperator.widgets.text.times import WallClock


def png(colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 8), colour).save(out, "PNG")
    return out.getvalue()


RED, BLUE, BLACK = png((200, 0, 0)), png((0, 0, 200)), png((0, 0, 0))


class Phone:
    """Answers with ``screen`` when it may; counts how many screenshots are in flight."""

    def __init__(self) -> None:
        self.screen = RED
        self.taken = self.running = self.most = 0
        self.may = asyncio.Event()
        self.may.set()
        self.shown: asyncio.Queue[Picture] = asyncio.Queue()
        self.held = False

    async def picture(self, *, device_id: str | None = None) -> bytes:
        assert device_id == "phone"
        self.taken += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.may.wait()
            return self.screen
        finally:
            self.running -= 1


@asynccontextmanager
async def mirroring(phone: Phone) -> AsyncIterator[Mirror]:
    tasks: list[asyncio.Task[None]] = []

    def spawn(job: object) -> asyncio.Task[None]:
        assert asyncio.iscoroutine(job)
        tasks.append(asyncio.create_task(job))
        return tasks[-1]

    mirror = Mirror(cast("Any", phone), WallClock(lambda: 1.0), spawn, phone.shown.put_nowait, lambda _: phone.held)
    mirror.start("phone")
    yield mirror
    mirror.start("")
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_next_one_begins_when_the_last_was_painted() -> None:
    phone = Phone()
    async with mirroring(phone) as mirror:
        first = await phone.shown.get()
        for _ in range(20):
            await asyncio.sleep(0)
        assert phone.taken == 1, "it was not painted yet"
        phone.screen = BLUE
        mirror.painted(0)
        second = await phone.shown.get()
        assert first.image is not None
        assert second.image is not None
        assert (first.image.getpixel((0, 0)), second.image.getpixel((0, 0))) == ((200, 0, 0), (0, 0, 200))
        assert phone.most == 1


async def test_an_equal_screenshot_is_not_decoded_again_and_begins_a_rest_that_news_end() -> None:
    phone = Phone()
    async with mirroring(phone) as mirror:
        first = await phone.shown.get()
        mirror.painted(0)
        second = await phone.shown.get()
        assert second.image is first.image
        mirror.painted(0)
        async with asyncio.timeout(rest_after(1) / 2):
            mirror.look_now()
            await phone.shown.get()
        assert phone.taken == 3


async def test_none_begins_while_an_execution_holds_the_device() -> None:
    phone = Phone()
    phone.held = True
    async with mirroring(phone) as mirror:
        mirror.look_now()
        for _ in range(20):
            await asyncio.sleep(0)
        assert phone.taken == 0
        phone.held = False
        mirror.look_now()
        await phone.shown.get()


async def test_bytes_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = Phone()
    naps: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await real(0)

    monkeypatch.setattr("clawperator.app.console.inspect.mirror.asyncio.sleep", sleep)
    async with mirroring(phone) as mirror:
        await phone.shown.get()
        phone.screen = BLUE
        mirror.painted(3 * BYTES_PER_SECOND)
        await phone.shown.get()
    assert 3.0 in naps


async def test_a_black_picture_is_named() -> None:
    phone = Phone()
    phone.screen = BLACK
    async with mirroring(phone):
        assert (await phone.shown.get()).problem == "secure window or screen off, no picture"


async def test_a_stopped_mirror_takes_none() -> None:
    phone = Phone()
    phone.may.clear()
    async with mirroring(phone) as mirror:
        for _ in range(20):
            await asyncio.sleep(0)
        assert phone.running == 1
        mirror.start("")
        for _ in range(20):
            await asyncio.sleep(0)
        assert (phone.running, phone.shown.qsize(), mirror.device_id) == (0, 0, "")
