"""The screen as a PNG: as a file for executions, as bytes for who wants to look."""

from __future__ import annotations

import asyncio
import os

from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.writing import check_target, write_file

_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_TAIL = b"IEND\xaeB`\x82"
_MOST_BYTES = 32 * 1024 * 1024
"""Of a picture: an uncompressed screen of 3840 × 2160 pixels has as many."""


class CaptureError(Exception):
    """Why there is no picture, in words."""


async def capture(device: AdbDevice, path: str, *, overwrite: bool, timeout: float = SHELL_TIMEOUT) -> None:
    """Write the current screen of ``device`` to ``path``, which it sends within ``timeout`` seconds. Parent folders are not created.

    Raises ``CaptureError`` when the device gives no picture, the file exists (and ``overwrite`` is false) or cannot be written.
    """
    if not overwrite and await asyncio.to_thread(os.path.lexists, path):
        raise CaptureError(f"{path} exists; pass --overwrite to replace it")
    try:
        output = await _screencap(device, timeout)
    except EngineError as exc:
        raise CaptureError(exc.message) from exc
    try:
        await asyncio.to_thread(write_file, path, _png(output), replace=overwrite)
    except (OSError, ValueError) as exc:  # ValueError: names that no system call takes
        raise CaptureError(f"{path} cannot be written: {getattr(exc, 'strerror', None) or exc}") from exc


def target_problem(path: str, *, overwrite: bool) -> EngineError | None:
    """Why no picture can be written to ``path``, as far as that can be known before; asks the file system."""
    try:
        check_target(path, replace=overwrite)
    except (OSError, ValueError) as exc:  # ValueError: names that no system call takes
        hint = "" if overwrite else "Choose another path, or pass --overwrite to replace the file."
        return not_writable(path, exc, hint=hint)
    return None


async def picture(device: AdbDevice) -> bytes:
    """The current screen of ``device`` as the bytes of a PNG file; no part of an execution, so it waits for no lock.

    Raises ``EngineError``: UNSUPPORTED_RUNTIME_SCREENSHOT when the device answers with something else, or the connection's own.
    """
    try:
        return _png(await _screencap(device, SHELL_TIMEOUT))
    except CaptureError as exc:
        raise EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, str(exc)) from exc


async def _screencap(device: AdbDevice, timeout: float) -> bytes:
    return await device.exec_out(["screencap", "-p"], timeout=timeout, limit=_MOST_BYTES)


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
