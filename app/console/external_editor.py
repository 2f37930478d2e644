"""Open a text or a file in the user's own editor while the console keeps working in the background."""

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

from clawperator.app.console.text_files import read_text

if TYPE_CHECKING:
    from textual.app import App


_PLUS_LINE = frozenset({"vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "ed"})
"""Editors that take the line before the file, as ``+12``."""
_COLON_LINE = frozenset({"hx", "helix", "subl", "zed"})
"""Editors that take it after the file, as ``file:12``."""


class NoEditorError(Exception):
    """Why there is no editor, for the user."""


def editor_command(env: Mapping[str, str], *, web: bool) -> list[str]:
    """Return the editor and its arguments from ``VISUAL`` or ``EDITOR``, without a shell. Raises ``NoEditorError``."""
    if web:
        raise NoEditorError("No editor can be opened in a browser")
    try:
        command = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "")
    except ValueError as exc:
        raise NoEditorError(f"EDITOR cannot be read: {exc}") from exc
    if not command:
        raise NoEditorError("No editor is named: set EDITOR")
    return command


async def open_file(app: App[Any], command: Sequence[str], path: str, line: int = 0) -> None:
    """Edit the file, at ``line`` (from 1) where the editor is known to take one; return when it has exited.

    Raises as ``edit``.
    """
    name = os.path.basename(command[0])
    words = [path]
    if line and name in _PLUS_LINE:
        words = [f"+{line}", path]
    elif line and name in _COLON_LINE:
        words = [f"{path}:{line}"]
    with app.suspend(), app.batch_update(), _ignoring_interrupts():
        editor = await asyncio.create_subprocess_exec(*command, *words)
        code = await editor.wait()
    if code:
        raise ValueError(f"{command[0]} ended with exit code {code}")


async def edit(app: App[Any], command: Sequence[str], text: str) -> str:
    """Return ``text`` as edited. The editor owns the terminal meanwhile.

    Raises ``OSError`` where the editor cannot be started or the file not be read, ``ValueError`` for a failed editor or
    a file that is not text, and Textual's ``SuspendNotSupported``.
    """
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="clawperator-")
    path = Path(folder) / "draft.json"
    try:
        await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        await open_file(app, command, os.fspath(path))
        return await asyncio.to_thread(read_text, path)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore SIGINT here: Ctrl+C in the editor's terminal reaches every process there."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # a handler, not SIG_IGN, which the editor would inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
