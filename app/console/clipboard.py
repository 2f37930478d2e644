"""Copy by the system's own tool where there is one, else by the terminal (OSC 52), and always to a file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from clawperator.engine.files.regular import private_folder

OSC52_LIMIT = 74_000
"""Limit in bytes of OSC 52 in terminals; longer texts go to the file only."""

_TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("", ("pbcopy",)),
    ("WSL_DISTRO_NAME", ("clip.exe",)),
)
"""Environment variable that the tool needs, and its command."""

_TOOL_SECONDS = 2.0


class Clipboard(Protocol):
    """Takes text; returns how it was copied, as a phrase that follows "Copied 84 characters"."""

    async def copy(self, text: str) -> str: ...


class SystemClipboard:
    """``osc52`` writes the terminal's escape sequence; ``file`` keeps the last copy."""

    def __init__(self, osc52: Callable[[str], None], file: Path, env: Mapping[str, str]) -> None:
        self._osc52 = osc52
        self._file = file
        self._env = env

    async def copy(self, text: str) -> str:
        kept = await asyncio.to_thread(self._keep, text)
        if tool := await self._by_tool(text):
            return f" by {tool}"
        if len(text.encode("utf-8", "replace")) > OSC52_LIMIT:
            return (
                f" to {self._file} only: too long for the terminal"
                if kept
                else "" + " nowhere: too long for the terminal"
            )
        self._osc52(text)
        return f" by OSC 52. Not in your clipboard? It is in {self._file}" if kept else " by OSC 52"

    def _keep(self, text: str) -> bool:
        """Write the file, readable by its owner only; return false when the disk does not take it."""
        with contextlib.suppress(OSError):
            private_folder(str(self._file.parent))
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            return True
        return False

    async def _by_tool(self, text: str) -> str:
        """Use a desktop tool and return its name; not over ssh, where it would be the wrong machine's clipboard."""
        if self._env.get("SSH_CONNECTION"):
            return ""
        for variable, argv in _TOOLS:
            if variable and not self._env.get(variable):
                continue
            path = shutil.which(argv[0], path=self._env.get("PATH"))
            if path is not None and await _feed((path, *argv[1:]), text):
                return argv[0]
        return ""


async def _feed(argv: tuple[str, ...], text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(_TOOL_SECONDS):
            await process.communicate(text.encode("utf-8", "replace"))
    except (OSError, TimeoutError):
        return False
    return process.returncode == 0


def last_copy_path() -> Path:
    """Return the path of the last copy, in the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "last-copy"
