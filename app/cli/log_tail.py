"""The output of ``logs``: the growing log file of the day."""

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
"""Interval of the checks without a file event: at midnight, on network file systems."""
_CHUNK = 1 << 20


class Tail:
    """Prints whole lines, each once. ``path`` is the file being read: today's. A context manager.

    A file that becomes shorter, or is replaced, is read from its beginning.
    """

    def __init__(self, folder: str, fmt: str) -> None:
        self.path = today_path(folder)
        self._folder = folder
        self._fmt = fmt
        self._file: FileIO | None = None
        self._partial = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def follow(self) -> None:
        """Print new lines until interrupted."""
        for _ in _ticks(self._folder):
            self.print_news()

    def print_news(self) -> bool:
        """Print the lines since the last call; false if there is no file of today."""
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
            current = os.stat(self.path)
        except OSError:
            return True
        ours = os.fstat(self._file.fileno())
        return (current.st_ino, current.st_dev) != (ours.st_ino, ours.st_dev) or current.st_size < self._file.tell()

    def _open(self, path: str) -> bool:
        try:
            file = open(path, "rb", buffering=0, opener=_opener)  # noqa: SIM115 -- stays open while it is followed
        except OSError:
            return False
        if self._file is not None:
            self._file.close()
        self.path, self._file, self._partial = path, file, b""
        return True

    def _read(self) -> None:
        while self._file is not None and (chunk := self._file.read(_CHUNK)):
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            if lines:
                self._print([line.decode(errors="replace") for line in lines])

    def _print(self, lines: list[str]) -> None:
        if self._fmt == "pretty":
            from clawperator.app.cli.pretty import draw

            output.print_bytes(draw("logs.log_lines", lines), output.Progress())
        else:
            output.print_text("".join(f"{output.visible(line)}\n" for line in lines))


def _ticks(folder: str) -> Iterator[None]:
    """Yield after file events in ``folder``, and every half second."""
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
    """Open without waiting for the other end of a FIFO."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
