"""``app_process`` of a scrcpy server: the display as H.264, encoded by PyAV, to one client of an abstract socket."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING, Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.process import Process
from clawperator.engine.simulator.render import render_image
from clawperator.engine.simulator.scenario import ScrcpyFault
from clawperator.engine.simulator.streams import Channel

if TYPE_CHECKING:
    from PIL.Image import Image

_SERVER: Final = "com.genymobile.scrcpy.Server"
_OTHER_VERSION: Final = "2.4"
_HUGE_SIDE: Final = 4_096
_MANY: Final = 64


async def app_process(process: Process) -> int:
    """Run the class that scrcpy's server has; its file is any file."""
    _folder, main, version, *words = (*process.arguments, "", "", "")
    jar = process.variables.get("CLASSPATH", "")
    if main != _SERVER or not process.device.files.exists(jar):
        raise CommandError(f"Error: could not find or load main class {main}", 1)
    device, options = process.device, dict(word.split("=", 1) for word in words if "=" in word)
    fault = device.scenario.of_device(ScrcpyFault)
    how = fault.how if fault is not None else ""
    if how == "version" and version != _OTHER_VERSION:
        raise CommandError(
            f"[server] ERROR: The server version ({_OTHER_VERSION}) does not match the client ({version})", 1
        )
    if find_spec("av") is None:
        raise CommandError("[server] ERROR: This simulator has no encoder: the package 'av' is missing", 1)
    await process.out(f"[server] INFO: Device: [Google] google {device.model} (Android {device.sdk})\n")
    name, ended = f"scrcpy_{options.get('scid', '')}", asyncio.Event()

    async def serve(channel: Channel) -> None:
        del device.sockets[name]
        work = [asyncio.ensure_future(_stream(device, channel, options, how)), asyncio.ensure_future(ended.wait())]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.set()
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    device.sockets[name] = serve
    device.scrcpy_servers.add(name)
    try:
        await ended.wait()
    finally:
        ended.set()
        device.sockets.pop(name, None)
        device.scrcpy_servers.discard(name)
    raise CommandError("[server] ERROR: Encoding error: java.lang.IllegalStateException", 1)


async def _stream(device: SimulatedDevice, channel: Channel, options: dict[str, str], how: str) -> None:
    """Send a frame for each change of the display, at most ``max_fps`` in a second; and each once more, as Android's
    encoder repeats the last frame of a screen that rests (KEY_REPEAT_PREVIOUS_FRAME_AFTER).
    """
    if how == "garbage":
        chance = Random(0)
        for _ in range(256):
            await channel.write(b"\0\0\0\1\x65" + chance.randbytes(20_000))
        return
    encoder, shown, left = _Encoder(_HUGE_SIDE if how == "huge" else int(options["max_size"])), None, 0
    image: Image | None = None
    while True:
        now = device.ui.window(), device.ui.awake
        if shown is None or now[0] is not shown[0] or now[1] != shown[1]:
            shown, image, left = now, render_image(device.ui), 2
        if left and image is not None:
            data = await asyncio.to_thread(encoder.encode, image)
            await channel.write(data * (_MANY if how == "huge" else 1))
            left -= 1
        elif how == "dies":
            return
        await asyncio.sleep(1 / int(options["max_fps"]))


class _Encoder:
    """Begins a new video when the display turns."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._size = (0, 0)
        self._frames = 0

    def encode(self, image: Image) -> bytes:
        from av import CodecContext, VideoFrame

        scale = self._side / max(image.size)
        width, height = (round(side * scale / 8) * 8 for side in image.size)
        if (width, height) != self._size:
            self._size = (width, height)
            self._codec = CodecContext.create("libx264", "w")
            self._codec.width, self._codec.height, self._codec.pix_fmt = width, height, "yuv420p"
            self._codec.time_base = Fraction(1, 30)
            self._codec.options = {"preset": "ultrafast", "tune": "zerolatency"}
        frame = VideoFrame.from_image(image.resize((width, height)))
        frame.pts, self._frames = self._frames, self._frames + 1
        return b"".join(bytes(packet) for packet in self._codec.encode(frame))
