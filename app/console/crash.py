"""Report exceptions of panes; the console continues without that pane's last change."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from textual import on

from clawperator.app.console.textual_internals import ReportingApp
from clawperator.engine.files.regular import private_folder
from clawperator.engine.version import __version__
from clawperator.widgets.line_pane import LinePane

MAX_BYTES = 1024 * 1024
"""Size limit of the report file: beyond it the file starts over."""


class CrashReports:
    """Writes each failure once per session: the same pane would fail again with every frame."""

    def __init__(self, path: Path, time_of_day: Callable[[], str]) -> None:
        self.path = path
        self._time_of_day = time_of_day
        self._known: set[tuple[str, int]] = set()

    def add(self, error: BaseException, where: str) -> bool:
        """Append a report of ``error``; return whether it is a new one. A write error loses only the report."""
        place = _place_of(error)
        if place in self._known:
            return False
        self._known.add(place)
        with contextlib.suppress(OSError):
            private_folder(str(self.path.parent))
            begin_anew = self.path.exists() and self.path.stat().st_size > MAX_BYTES
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if begin_anew else os.O_APPEND)
            with open(os.open(self.path, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(self._report(error, where))
        return True

    def _report(self, error: BaseException, where: str) -> str:
        story = "".join(traceback.format_exception(error))
        versions = f"clawperator {__version__}, Python {platform.python_version()}, {platform.system()}"
        return f"{self._time_of_day()}  {where}\n{versions}\n{story}\n"


class FaultTolerantApp(ReportingApp):
    """An app that survives exceptions of its panes. Without ``crashes`` (tests) an exception ends it."""

    crashes: CrashReports | None = None

    def report_failure(self, words: str) -> None:
        """Show a notice about a failed pane."""
        raise NotImplementedError

    @contextlib.contextmanager
    def isolated(self, where: str) -> Iterator[None]:
        """Report an exception in the block and continue; without ``crashes`` raise it."""
        try:
            yield
        except Exception as error:  # any: one pane must not take down the others
            if self.crashes is None:
                raise
            if self.crashes.add(error, where):
                words = f"A pane failed and was not redrawn. The report is in {self.crashes.path}. Other panes are unaffected"
                self.report_failure(words)

    @on(LinePane.Failed)
    def _row_failed(self, message: LinePane.Failed) -> None:
        with self.isolated(f"a row of #{message.pane.id}"):
            raise message.error

    def fatal_report(self, error: BaseException) -> str:
        """Write a report of the fatal error and return where it is."""
        if self.crashes is None:
            return ""
        self.crashes.add(error, "the console")
        return f"The console failed ({type(error).__name__}) and had to close. The report is in {self.crashes.path}"


def _place_of(error: BaseException) -> tuple[str, int]:
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else (type(error).__name__, 0)
