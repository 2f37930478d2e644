"""The tail of ``logs``: from a growing file to stdout, one day after the other."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Self

from clawperator.app.cli import output
from clawperator.engine.diagnostics.log_file import today_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

_POLL_MS = 500
"""How often is looked where the system tells nothing: at midnight, on file systems of the network."""
_CHUNK = 1 << 20


class Tail:
    """Prints whole lines, each once. ``path`` is the file that is being read: that of today.

    A file that becomes shorter, or another one under its name, is read from its beginning. A context manager.
    """

    def __init__(self, folder: str, fmt: str) -> None:
        self.path = today_path(folder)
        self._folder = folder
        self._fmt = fmt
        self._file: FileIO | None = None
        self._begun = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def follow(self) -> None:
        """Print what is written from now on, for ever."""
        for _ in _ticks(self._folder):
            self.print_news()

    def print_news(self) -> bool:
        """Print what has come since the last time; false where there is no file of today."""
        self._read()
        today = today_path(self._folder)
        if self._file is None or today != self.path or self._replaced():
            if not self._open(today):
                return self._file is not None
            self._read()
        return True

    def _replaced(self) -> bool:
        assert self._file is not None
        try:
            there = os.stat(self.path)
        except OSError:
            return True
        ours = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev) or there.st_size < self._file.tell()

    def _open(self, path: str) -> bool:
        try:
            file = open(path, "rb", buffering=0, opener=_opener)  # noqa: SIM115 -- stays open for as long as it is followed
        except OSError:
            return False
        if self._file is not None:
            self._file.close()
        self.path, self._file, self._begun = path, file, b""
        return True

    def _read(self) -> None:
        while self._file is not None and (chunk := self._file.read(_CHUNK)):
            *lines, self._begun = (self._begun + chunk).split(b"\n")
            if lines:
                self._print([line.decode(errors="replace") for line in lines])

    def _print(self, lines: list[str]) -> None:
        if self._fmt == "pretty":
            output.print_pretty("log_lines", lines)
        else:
            output.print_text("".join(f"{output.visible(line)}\n" for line in lines))


def _ticks(folder: str) -> Iterator[None]:
    """Something may have changed in ``folder``: told by the system where it can, and every half second anyway."""
    from watchfiles import watch

    try:
        for _ in watch(
            folder,
            watch_filter=None,
            debounce=50,
            step=20,
            rust_timeout=_POLL_MS,
            yield_on_timeout=True,
            recursive=False,
        ):
            yield
    except (OSError, RuntimeError):  # no watches left, or the folder is gone
        while True:
            time.sleep(_POLL_MS / 1000)
            yield


def _opener(path: str, flags: int) -> int:
    """A pipe under the file's name is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
