"""The screen as a PNG: as a file for executions, as bytes for who wants to look."""

from __future__ import annotations

import asyncio
import contextlib
import os

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.errors import EngineError, ErrorCode

_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_TAIL = b"IEND\xaeB`\x82"


class CaptureError(Exception):
    """Why there is no picture, in words."""


async def capture(device: AdbDevice, path: str, *, overwrite: bool) -> None:
    """Write the current screen of ``device`` to ``path``. Parent folders are not created.

    Raises ``CaptureError`` when the device gives no picture, the file exists (and ``overwrite`` is false) or cannot be written.
    """
    if not overwrite and await asyncio.to_thread(os.path.lexists, path):
        raise CaptureError(f"{path} exists; pass --overwrite to replace it")
    try:
        output = await _screencap(device)
    except EngineError as exc:
        raise CaptureError(exc.message) from exc
    try:
        await asyncio.to_thread(_write, path, _png(output), overwrite)
    except (OSError, ValueError) as exc:  # ValueError: names that no system call takes
        raise CaptureError(f"{path} cannot be written: {getattr(exc, 'strerror', None) or exc}") from exc


async def picture(device: AdbDevice) -> bytes:
    """The current screen of ``device`` as the bytes of a PNG file; no part of an execution, so it waits for no lock.

    Raises ``EngineError``: UNSUPPORTED_RUNTIME_SCREENSHOT when the device answers with something else, or the connection's own.
    """
    try:
        return _png(await _screencap(device))
    except CaptureError as exc:
        raise EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, str(exc)) from exc


async def _screencap(device: AdbDevice) -> bytes:
    return await device.exec_out(["screencap", "-p"])


def _png(output: bytes) -> bytes:
    """The picture in what screencap said: words may stand before it (devices with several displays warn), and a
    connection that broke shows by its missing end alone.
    """
    start, end = output.find(_PNG_HEAD), output.rfind(_PNG_TAIL)
    if start < 0:
        words = output[:200].decode(errors="replace").strip()
        raise CaptureError(f"screencap gave no PNG: {words or 'empty output'}")
    if end < start:
        raise CaptureError(f"the picture broke off after {len(output) - start} bytes")
    return output[start : end + len(_PNG_TAIL)]


def _write(path: str, png: bytes, overwrite: bool) -> None:
    """Whole or not at all: written beside ``path`` first. Without ``overwrite`` a file that appeared meanwhile stays."""
    part = os.path.join(os.path.dirname(path), f".clawperator-{os.urandom(8).hex()}.png")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(png)
        if overwrite:
            os.replace(part, path)
        else:
            _claim(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def _claim(part: str, path: str) -> None:
    """Give ``part`` the name ``path`` unless somebody has it. Some file systems (and Android itself) have no hard links."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        os.replace(part, path)
