"""The screen as a PNG file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.errors import EngineError

_PNG = b"\x89PNG\r\n\x1a\n"


class CaptureError(Exception):
    """Why there is no picture, in words."""


async def capture(device: AdbDevice, path: str, *, overwrite: bool) -> None:
    """Write the current screen of ``device`` to ``path``. Parent folders are not created.

    Raises ``CaptureError`` when the device gives no picture, the file exists (and ``overwrite`` is false) or cannot be written.
    """
    if not overwrite and await asyncio.to_thread(os.path.lexists, path):
        raise CaptureError(f"{path} exists; pass --overwrite to replace it")
    try:
        picture = await device.exec_out(["screencap", "-p"])
    except EngineError as exc:
        raise CaptureError(exc.message) from exc
    if not picture.startswith(_PNG):
        words = picture[:200].decode(errors="replace").strip()
        raise CaptureError(f"screencap gave no PNG: {words or 'empty output'}")
    try:
        await asyncio.to_thread(_write, path, picture, overwrite)
    except OSError as exc:
        raise CaptureError(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _write(path: str, picture: bytes, overwrite: bool) -> None:
    """Whole or not at all: written beside ``path`` first. Without ``overwrite`` a file that appeared meanwhile stays."""
    folder = os.path.dirname(path) or "."
    fd, part = tempfile.mkstemp(prefix=".clawperator-", suffix=".png", dir=folder)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(picture)
        if overwrite:
            os.replace(part, path)
        else:
            os.link(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
