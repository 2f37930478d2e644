"""Report exceptions of panes; the console continues without that pane's last change."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from clawperator.engine.files.regular import private_folder
from clawperator.engine.version import __version__

MAX_BYTES = 1024 * 1024
"""Size limit of the report file: beyond it the file starts over."""


class CrashReports:
    """Writes each failure once per session: the same pane would fail again with every frame. ``hide`` takes out typed text."""

    def __init__(self, path: Path, time_of_day: Callable[[], str], hide: Callable[[str], str] = str) -> None:
        self.path = path
        self._time_of_day = time_of_day
        self._hide = hide
        self._known: set[tuple[str, int]] = set()

    def add(self, error: BaseException, where: str) -> bool:
        """Append a report of ``error``; return whether it is a new one. A write error loses only the report."""
        place = _place_of(error)
        if place in self._known:
            return False
        self._known.add(place)
        with contextlib.suppress(OSError):
            private_folder(str(self.path.parent))
            begin_again = self.path.exists() and self.path.stat().st_size > MAX_BYTES
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if begin_again else os.O_APPEND)
            with open(os.open(self.path, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(self._report(error, where))
        return True

    def _report(self, error: BaseException, where: str) -> str:
        story = self._hide("".join(traceback.format_exception(error)))
        versions = f"clawperator {__version__}, Python {platform.python_version()}, {platform.system()}"
        return f"{self._time_of_day()}  {where}\n{versions}\n{story}\n"


class Failures:
    """What becomes of exceptions: reported, and shown by ``show``. Without ``reports`` (tests) they end the app."""

    def __init__(self, reports: CrashReports | None, show: Callable[[str], object]) -> None:
        self._reports = reports
        self._show = show

    @contextlib.contextmanager
    def isolated(self, where: str) -> Iterator[None]:
        """Report an exception in the block and continue."""
        try:
            yield
        except Exception as error:  # any: one pane must not take down the others
            if self._reports is None:
                raise
            if self._reports.add(error, where):
                path = self._reports.path
                self._show(f"A pane failed and was not redrawn. The report is in {path}. Other panes are unaffected")

    def fatal_report(self, error: BaseException) -> str:
        """Write a report of the fatal error and return where it is."""
        if self._reports is None:
            return ""
        self._reports.add(error, "the console")
        return f"The console failed ({type(error).__name__}) and had to close. The report is in {self._reports.path}"


def _place_of(error: BaseException) -> tuple[str, int]:
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else (type(error).__name__, 0)
