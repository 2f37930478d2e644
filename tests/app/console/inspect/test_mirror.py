"""The live mirror takes one screenshot at a time, rests as follow mode, and yields to executions."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest
from PIL import Image

from clawperator.app.console.inspect.mirror import BYTES_PER_SECOND, Mirror
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.screen_video import Frame
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
        self.reported: list[EngineError] = []
        self.videos: list[Video] = []
        """What each opening of the video gives, in this order; then there is none."""

    def screen_video(self, device_id: str) -> Any:
        assert device_id == "phone"
        return self.videos.pop(0) if self.videos else None

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


class Video:
    """Shows ``frames``, each when asked, then nothing new, until ``failure``."""

    version, rate, dropped = "3.1", 12, 0

    def __init__(self, *frames: Frame) -> None:
        self.frames = list(frames)
        self.failure: EngineError | None = None
        self.open = False

    async def __aenter__(self) -> Self:
        self.open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open = False

    async def frame(self, within: float) -> Frame | None:
        assert within > 0
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        return self.frames.pop(0) if self.frames else None


def frame(colour: tuple[int, int, int]) -> Frame:
    return Frame(Image.new("RGB", (4, 8), colour), (1_080, 2_160))


@asynccontextmanager
async def mirroring(phone: Phone) -> AsyncIterator[Mirror]:
    tasks: list[asyncio.Task[None]] = []

    def spawn(job: object) -> asyncio.Task[None]:
        assert asyncio.iscoroutine(job)
        tasks.append(asyncio.create_task(job))
        return tasks[-1]

    mirror = Mirror(
        phone, WallClock(lambda: 1.0), spawn, phone.shown.put_nowait, lambda _: phone.held, report=phone.reported.append
    )
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


async def seen(phone: Phone, mirror: Mirror, wanted: Callable[[Picture], bool]) -> Picture:
    """The next such picture; each is painted at once."""
    async with asyncio.timeout(10):
        while not wanted(picture := await phone.shown.get()):
            mirror.painted(0)
    return picture


async def test_video_is_shown_instead_and_a_screen_that_rests_keeps_its_frame() -> None:
    phone, video = Phone(), Video(frame((0, 200, 0)), frame((0, 0, 200)))
    phone.videos = [video]
    async with mirroring(phone) as mirror:
        first = await phone.shown.get()
        assert (first.video, first.size) == ("scrcpy 3.1, 12 fps", (1_080, 2_160))
        for _ in range(20):
            await asyncio.sleep(0)
        assert video.frames, "the first was not painted yet"
        mirror.painted(0)
        second = await phone.shown.get()
        assert second.image is not first.image
        video.dropped = 1_234
        mirror.painted(0)
        again = await phone.shown.get()
        assert again.image is second.image
        assert again.video == "scrcpy 3.1, 12 fps, 1,234 dropped"
    assert not video.open
    assert phone.taken == 0


async def test_a_black_frame_is_named() -> None:
    phone = Phone()
    phone.videos = [Video(frame((5, 3, 6)))]
    async with mirroring(phone):
        assert (await phone.shown.get()).problem == "secure window or screen off, no picture"


async def test_screenshots_replace_a_video_that_failed_and_the_reason_is_reported_once() -> None:
    """Video is tried again when a screenshot succeeds after one that did not: the device is back, or its screen on."""
    phone, video = Phone(), Video(frame((0, 200, 0)))
    failure = EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, "The scrcpy server has the version 2.4, not 3.1")
    failed, again = Video(), Video(frame((0, 0, 200)))
    failed.failure = failure
    phone.videos = [video, failed, again]
    async with mirroring(phone) as mirror:
        assert (await phone.shown.get()).video
        video.failure = failure
        mirror.painted(0)
        shot = await seen(phone, mirror, lambda picture: not picture.video)
        assert (shot.no_video, video.open) == (True, False)
        for _ in range(2):
            phone.screen = BLACK
            mirror.look_now()
            mirror.painted(0)
            await seen(phone, mirror, lambda picture: bool(picture.problem))
            phone.screen = BLUE
            mirror.look_now()
            mirror.painted(0)
            await seen(phone, mirror, lambda picture: picture.image is not None)
        assert phone.reported == [failure]
        assert again.open
