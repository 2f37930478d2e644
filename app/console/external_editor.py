"""A text in the user's own editor: the console steps aside, and goes on working behind it."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawperator.app.console.draft_file import read_text

if TYPE_CHECKING:
    from textual.app import App


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor and its arguments, as ``VISUAL`` or ``EDITOR`` say; empty where neither names one. No shell reads it.

    Raises ``ValueError`` for a quote that is never closed.
    """
    return shlex.split(env.get("VISUAL") or env.get("EDITOR") or "")


async def edit(app: App[Any], command: Sequence[str], text: str) -> str:
    """``text`` as the user left it. Meanwhile the terminal is the editor's; nothing is drawn, everything else goes on.

    Raises ``OSError`` where the editor cannot be started or the file not be read, ``ValueError`` for what is no text or an
    editor that failed, and Textual's ``SuspendNotSupported`` where the terminal cannot be given away.
    """
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="clawperator-")
    path = Path(folder) / "draft.json"
    try:
        await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        with app.suspend(), app.batch_update(), _deaf_to_interrupts():
            editor = await asyncio.create_subprocess_exec(*command, os.fspath(path))
            code = await editor.wait()
        if code:
            raise ValueError(f"{command[0]} ended with exit code {code}")
        return await asyncio.to_thread(read_text, path)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl+C in the editor's terminal reaches every process there: it is meant for the editor."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # a handler, not SIG_IGN, which the editor would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
