"""The screen as a PNG: a file for executions, bytes for other callers."""

from __future__ import annotations

import asyncio
import os

from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice
from clawperator.engine.adb.displays import DISPLAY_SCRIPT, Display, parse_displays
from clawperator.engine.adb.quote import device_script
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.regular import check_target, write_file

_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_TAIL = b"IEND\xaeB`\x82"
_SEVERAL = b"Multiple displays were found"
"""A foldable's screencap shows any of its displays, maybe one that is off, where none is chosen."""
_LONGEST_WARNING = 4_096
_MOST_BYTES = 32 * 1024 * 1024
"""Size of an uncompressed screen of 3840 × 2160 pixels."""


class CaptureError(Exception):
    """A screenshot failed; the message says why."""


async def _displays(device: AdbDevice) -> list[Display]:
    return parse_displays((await device.script(device_script(DISPLAY_SCRIPT))).text)


async def find_display(device: AdbDevice, number: int) -> Display:
    """Return a display that is not the main one. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) if the device has none with that id."""
    found = await _displays(device)
    display = next((each for each in found if each.id == number), None)
    if display is None:
        known = ", ".join(str(each.id) for each in found) or "unknown"
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"{device.serial} has no display {number}; its displays: {known}",
            hint="Run `clawperator device info`.",
            details={"path": "display", "displays": [each.id for each in found]},
        )
    return display


async def capture(
    device: AdbDevice, path: str, *, overwrite: bool, timeout: float = SHELL_TIMEOUT, display: int = 0
) -> None:
    """Write the screen of ``device``, received within ``timeout`` seconds, to ``path``. Parent folders are not created.

    Raises ``CaptureError`` if the device sends no PNG, or the file exists (without ``overwrite``) or cannot be written.
    """
    if not overwrite and await asyncio.to_thread(os.path.lexists, path):
        raise CaptureError(f"{path} exists; pass --overwrite to replace it")
    try:
        output = await _screencap(device, timeout, display)
    except EngineError as exc:
        raise CaptureError(exc.message) from exc
    try:
        await asyncio.to_thread(write_file, path, _png(output), replace=overwrite)
    except (OSError, ValueError) as exc:  # ValueError: invalid file names
        raise CaptureError(f"{path} cannot be written: {getattr(exc, 'strerror', None) or exc}") from exc


def target_problem(path: str, *, overwrite: bool) -> EngineError | None:
    """Return why no file can be written to ``path``, as far as the file system shows it in advance."""
    try:
        check_target(path, replace=overwrite)
    except (OSError, ValueError) as exc:  # ValueError: invalid file names
        hint = "" if overwrite else "Choose another path, or pass --overwrite to replace the file."
        return not_writable(path, exc, hint=hint)
    return None


async def picture(device: AdbDevice, display: int = 0) -> bytes:
    """Return the screen of a ``display`` of ``device`` as a PNG, without the device lock.

    Raises ``EngineError``: UNSUPPORTED_RUNTIME_SCREENSHOT if the device sends anything else, and errors of the connection.
    """
    try:
        return _png(await _screencap(device, SHELL_TIMEOUT, display))
    except CaptureError as exc:
        raise EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, str(exc)) from exc


async def _screencap(device: AdbDevice, timeout: float, display: int = 0) -> bytes:
    async def taken(*of: str) -> bytes:
        return await device.exec_out(["screencap", "-p", *of], timeout=timeout, limit=_MOST_BYTES)

    if display:
        if physical := (await find_display(device, display)).physical:
            return await taken("-d", physical)
        raise CaptureError(f"display {display} is virtual: screencap shows physical displays only")
    output = await taken()
    if output.find(_SEVERAL, 0, _LONGEST_WARNING) < 0:
        return output
    main = next((each.physical for each in await _displays(device) if not each.id), "")
    return await taken("-d", main) if main else output


def _png(output: bytes) -> bytes:
    """Return the PNG in screencap's output: warnings may precede it, and only a missing end shows a broken connection."""
    start, end = output.find(_PNG_HEAD), output.rfind(_PNG_TAIL)
    if start < 0:
        words = output[:200].decode(errors="replace").strip()
        raise CaptureError(f"screencap gave no PNG: {words or 'empty output'}")
    if end < start:
        raise CaptureError(f"the picture broke off after {len(output) - start} bytes")
    return output[start : end + len(_PNG_TAIL)]
