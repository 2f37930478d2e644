"""The screen as a PNG: a file for executions, bytes for other callers."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from clawperator.engine.adb.device import SHELL_TIMEOUT, AdbDevice
from clawperator.engine.adb.displays import DISPLAY_SCRIPT, Display, parse_displays
from clawperator.engine.adb.quote import device_script
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.regular import check_target, open_regular, private_folder, require_private, write_file

_PNG_HEAD = b"\x89PNG\r\n\x1a\n"
_PNG_TAIL = b"IEND\xaeB`\x82"
_PREFIX = "clawperator-screenshot-"
_MOST_KEPT = 200
_KEPT_SECONDS = 86_400.0
"""How many screenshots without a chosen path are kept, and for how long."""
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

    Raises ``CaptureError`` if the device sends no PNG, or the file cannot be written, or exists and is no PNG (without ``overwrite``).
    """
    if not await asyncio.to_thread(_may_write, path, overwrite=overwrite):
        raise CaptureError(f"{path} exists; pass --overwrite to replace it")
    try:
        output = await _screencap(device, timeout, display)
    except EngineError as exc:
        raise CaptureError(exc.message) from exc
    try:
        await asyncio.to_thread(_write, path, _png(output), overwrite=overwrite)
    except (OSError, ValueError) as exc:  # ValueError: invalid file names
        raise CaptureError(f"{path} cannot be written: {getattr(exc, 'strerror', None) or exc}") from exc


def target_problem(path: str, *, overwrite: bool) -> EngineError | None:
    """Return why no file can be written to ``path``, as far as the file system shows it in advance."""
    try:
        check_target(path, replace=overwrite or is_png(path))
    except (OSError, ValueError) as exc:  # ValueError: invalid file names
        hint = "" if overwrite else "Choose another path, or pass --overwrite to replace the file."
        return not_writable(path, exc, hint=hint)
    return None


def is_png(path: str) -> bool:
    """Return whether a regular file, and no link to one, is a PNG: a screenshot replaces it without --overwrite."""
    try:
        with open_regular(path) as stream:
            return stat.S_ISREG(os.lstat(path).st_mode) and stream.read(len(_PNG_HEAD)) == _PNG_HEAD
    except (OSError, ValueError):
        return False


def _may_write(path: str, *, overwrite: bool) -> bool:
    return overwrite or not os.path.lexists(path) or is_png(path)


def _write(path: str, png: bytes, *, overwrite: bool) -> None:
    write_file(path, png, replace=overwrite or is_png(path))
    if os.path.basename(path).startswith(_PREFIX) and os.path.dirname(path) == _folder_path():
        _prune(os.path.dirname(path))


# -- files without a chosen path


def temporary_path(name: str) -> str:
    """Return a path for a screenshot called ``name`` in a folder for this user only, below that of temporary files.

    The newest ``_MOST_KEPT`` of the last day are kept there. Raises ``OSError``; ``NotPrivateError`` where the folder is not ours.
    """
    folder = _folder_path()
    private_folder(folder)
    require_private(folder, links=False)
    if stat.S_IMODE(os.stat(folder).st_mode) & 0o077:
        os.chmod(folder, 0o700)
    return os.path.join(folder, f"{_PREFIX}{name}.png")


def _folder_path() -> str:
    import tempfile

    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    return os.path.join(tempfile.gettempdir(), f"clawperator{user}")


def _prune(folder: str) -> None:
    """Delete screenshots that are old or too many. Another process may do the same at the same time."""
    with os.scandir(folder) as entries:
        ours = [entry for entry in entries if entry.name.startswith(_PREFIX) and entry.is_file(follow_symlinks=False)]
    oldest = time.time() - _KEPT_SECONDS
    for index, (written, path) in enumerate(sorted(_ages(ours), reverse=True)):
        if index >= _MOST_KEPT or written < oldest:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _ages(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[float, str]]:
    for entry in entries:
        with suppress(FileNotFoundError):
            yield entry.stat(follow_symlinks=False).st_mtime, entry.path


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
