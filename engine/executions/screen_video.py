"""Live video of a device's screen, from the scrcpy server file that the user names, decoded by PyAV (the extra ``video``).

It is scrcpy's standalone server, versions 2 to 4: started with ``raw_stream``, it sends bare H.264 to one client of the abstract socket
``scrcpy_<scid>``. The encoder repeats a frame once when the screen rests, so the parser, which knows a frame's end by the next one's
start, is at most that repetition behind.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.adb.connection import AdbConnection, deadline
from clawperator.engine.adb.device import AdbDevice, ShellStream
from clawperator.engine.adb.displays import STATE_SCRIPT, state_size
from clawperator.engine.adb.quote import device_script
from clawperator.engine.errors import EngineError, ErrorCode, not_readable

if TYPE_CHECKING:
    from av import VideoFrame
    from PIL.Image import Image

MAX_SIDE = 1_024
MAX_FPS = 15
START_SECONDS = 8.0
"""From the push of the file to the first frame."""
_VERSION = re.compile(r"scrcpy-server-v([0-9]{1,3}(?:\.[0-9]{1,3}){1,2})(?:\.jar)?")
_OTHER_VERSION = re.compile(r"The server version \(([\w.-]{1,20})\) does not match", re.ASCII)
_SCRIPT = (
    "export CLASSPATH={path}; exec app_process / com.genymobile.scrcpy.Server {version} scid={scid} log_level=info audio=false "
    "control=false tunnel_forward=true raw_stream=true video_codec=h264 max_size={size} max_fps={fps} cleanup=false power_on=false"
)
_MAX_FILE = 8 * 1024 * 1024
_RETRY_SECONDS = 0.1
_QUIET_SECONDS = 0.5
"""After this time without a byte, what the parser holds is a whole frame."""
_CLEANING_SECONDS = 5.0
_LOG_TAIL = 4_096
_MAX_DAMAGED = 32
"""Packets in a row that cannot be decoded."""
_MAX_UNDECODED = 4 * 1024 * 1024
"""Bytes without a frame; a frame of this size is far smaller."""


class ScrcpyServer(NamedTuple):
    """The server file on this computer, and the version that it requires as its first argument."""

    path: str
    version: str


class Frame(NamedTuple):
    """A decoded picture (mode RGB), and its size in pixels of the display."""

    image: Image
    size: tuple[int, int]


def find_server(path: str, version: str = "") -> ScrcpyServer:
    """Return the server file with its ``version``, or that in its name.

    Raises ``EngineError``: FILE_NOT_READABLE, or SETTINGS_INVALID where the version is unknown.
    """
    try:
        size = os.stat(path).st_size if os.path.isfile(path) else -1
        if not 0 < size <= _MAX_FILE:
            raise OSError("No such file" if size < 0 else f"It has {size} bytes")  # noqa: TRY301
    except (OSError, ValueError) as exc:
        raise not_readable(path, exc, what="scrcpy server") from exc
    named = _VERSION.fullmatch(os.path.basename(path))
    if not version and named is None:
        raise EngineError(
            ErrorCode.SETTINGS_INVALID,
            f"The version of the scrcpy server {os.path.basename(path)} is unknown",
            hint='Set scrcpy_version below [mirror], such as "3.1", or keep the name of the release: scrcpy-server-v3.1.',
        )
    return ScrcpyServer(path, version or (named[1] if named else ""))


class ScreenVideo:
    """The frames of a running server. Only the newest one is kept; ``dropped`` counts those that were replaced before they were taken."""

    def __init__(
        self, server: ScrcpyServer, display: tuple[int, int] | None, connection: AdbConnection, log: _ServerLog
    ) -> None:
        self.version = server.version
        self.dropped = 0
        self._display = display
        self._connection = connection
        self._log = log
        self._newest: VideoFrame | None = None
        self._arrived = asyncio.Event()
        self._times: deque[float] = deque(maxlen=4 * MAX_FPS)
        self._task: asyncio.Task[None] | None = None

    @property
    def rate(self) -> int:
        """Return the number of frames decoded within the last second."""
        now = time.monotonic()
        return sum(now - at <= 1 for at in self._times)

    async def frame(self, within: float) -> Frame | None:
        """Return the newest frame that has not been returned; ``None`` if none arrives ``within`` seconds.

        Raises ``EngineError`` when the video has ended.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._arrived.wait()
        if self._task is not None and self._task.done():
            self._task.result()
        newest, self._newest = self._newest, None
        self._arrived.clear()
        if newest is None:
            return None
        image: Image = await asyncio.to_thread(newest.to_image)
        scale = max(self._display) / max(image.size) if self._display else 1.0
        return Frame(image, (round(image.width * scale), round(image.height * scale)))

    @asynccontextmanager
    async def _decoding(self, decoder: _Decoder) -> AsyncIterator[None]:
        """Decode in the background; begins with the first frame."""
        self._task = asyncio.create_task(self._decode(decoder))
        self._task.add_done_callback(lambda _: self._arrived.set())
        try:
            await self._arrived.wait()
            if self._task.done():
                self._task.result()
            yield
        finally:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _decode(self, decoder: _Decoder) -> None:
        """Read at the pace of decoding, so that no more than one read is held. Ends by raising ``EngineError``."""
        data = b"-"
        while data:
            reading = asyncio.ensure_future(self._connection.read())
            try:
                if not (await asyncio.wait([reading], timeout=_QUIET_SECONDS))[0]:
                    self._take(await asyncio.to_thread(decoder.feed, b""))
                data = await reading
            finally:
                reading.cancel()
            self._take(await asyncio.to_thread(decoder.feed, data))
        with suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_SECONDS):
                await self._log.ended.wait()
        raise self._log.failure()

    def _take(self, decoded: tuple[int, VideoFrame | None]) -> None:
        count, newest = decoded
        if newest is not None:
            self.dropped += count - (self._newest is None)
            self._newest = newest
            self._times.extend([time.monotonic()] * min(count, 4 * MAX_FPS))
            self._arrived.set()


@asynccontextmanager
async def open_video(
    device: AdbDevice, server: ScrcpyServer, starting: AbstractContextManager[None]
) -> AsyncIterator[ScreenVideo]:
    """Run the server on ``device`` within the block; ``starting`` is entered around its start.

    Raises ``EngineError``: HOST_DEPENDENCY_MISSING without PyAV, UNSUPPORTED_RUNTIME_SCREENSHOT where the server fails, and errors of the
    connection. The file is removed from the device as soon as the server runs.
    """
    decoder = await asyncio.to_thread(_Decoder)
    path = f"/data/local/tmp/clawperator-{secrets.token_hex(8)}.jar"
    scid = f"{secrets.randbits(31):08x}"
    script = device_script(
        _SCRIPT, path=path, version=server.version, scid=scid, size=str(MAX_SIDE), fps=str(MAX_FPS)
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        with starting:
            async with deadline(START_SECONDS, "scrcpy server", serial=device.serial):
                display = state_size((await device.script(STATE_SCRIPT)).text)
                try:
                    await device.push(server.path, path)
                    log = _ServerLog(await stack.enter_async_context(device.stream(script)), server)
                    await stack.enter_async_context(log.reading())
                    connection = await _connect(device, scid, log)
                    stack.callback(connection.close)
                    video = ScreenVideo(server, display, connection, log)
                    await stack.enter_async_context(video._decoding(decoder))  # noqa: SLF001
                finally:
                    with suppress(EngineError):
                        await device.shell(["rm", "-f", path], timeout=_CLEANING_SECONDS)
        yield video


async def _connect(device: AdbDevice, scid: str, log: _ServerLog) -> AdbConnection:
    """Connect as soon as the server listens; before that, adb refuses."""
    while not log.ended.is_set():
        with suppress(EngineError):
            return await device.connect(f"localabstract:scrcpy_{scid}")
        with suppress(TimeoutError):
            async with asyncio.timeout(_RETRY_SECONDS):
                await log.ended.wait()
    raise log.failure()


class _ServerLog:
    """What the server prints: read to the end, of which the last lines are kept."""

    def __init__(self, shell: ShellStream, server: ScrcpyServer) -> None:
        self._shell = shell
        self._server = server
        self._tail = b""
        self._broken: EngineError | None = None
        self.ended = asyncio.Event()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._read())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _read(self) -> None:
        try:
            async for _, data in self._shell:
                self._tail = (self._tail + data)[-_LOG_TAIL:]
        except EngineError as exc:
            self._broken = exc
        finally:
            self.ended.set()

    def failure(self) -> EngineError:
        """Return why the server ended, by its own words."""
        text = self._tail.decode(errors="replace")
        if other := _OTHER_VERSION.search(text):
            return _failed(
                f"The scrcpy server has the version {other[1]}, not {self._server.version}",
                f'Set scrcpy_version = "{other[1]}" below [mirror] in the settings.',
            )
        if self._broken is not None:
            return self._broken
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line] or lines[-1:] or ["it printed nothing"]
        return _failed(f"The scrcpy server ended: {errors[0][:200]}", "Check that the file is a scrcpy server.")


def _failed(message: str, hint: str) -> EngineError:
    return EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, message, hint=hint)


class _Decoder:
    """Decodes H.264 of any origin; every method is for worker threads, one call at a time."""

    def __init__(self) -> None:
        try:
            from av import CodecContext
            from av.error import FFmpegError
        except ImportError as exc:
            raise EngineError(
                ErrorCode.HOST_DEPENDENCY_MISSING,
                f"Video of the screen needs the package '{exc.name}'",
                hint="Install it: pip install 'clawperator[video]'",
            ) from exc
        self._refused = FFmpegError
        self._codec = CodecContext.create("h264", "r")
        self._codec.thread_count = 1  # more would hold frames back
        self._codec.options = {"max_pixels": str(MAX_SIDE * MAX_SIDE)}  # FFmpeg allocates nothing for larger frames
        self._damaged = self._undecoded = 0

    def feed(self, data: bytes) -> tuple[int, VideoFrame | None]:
        """Return the number of frames that ``data`` completes, and the last of them; empty data completes what has arrived."""
        count, newest = 0, None
        self._undecoded += len(data)
        for packet in self._codec.parse(data):
            try:
                frames = self._codec.decode(packet)
            except self._refused:
                self._damaged += 1
                continue
            for frame in frames:
                count, newest = count + 1, frame
                self._damaged = self._undecoded = 0
        if self._damaged > _MAX_DAMAGED or self._undecoded > _MAX_UNDECODED:
            raise _failed(
                f"The scrcpy server sent no H.264 video of up to {MAX_SIDE:,} × {MAX_SIDE:,} pixels",
                "Check the version of the server.",
            )
        return count, newest
