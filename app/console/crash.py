"""When a pane fails: what is written down about it, and where. The console goes on without that pane's last change."""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.text import Text
from textual import on
from textual.app import App

from clawperator.engine.files.writing import private_folder
from clawperator.engine.version import __version__
from clawperator.widgets.line_pane import LinePane

MAX_BYTES = 1024 * 1024
"""A pane that fails with every line must not fill the disk: beyond this the report begins anew."""


class CrashReports:
    """Writes reports, each failure once per session: the same pane would fail again with every frame."""

    def __init__(self, path: Path, time_of_day: Callable[[], str]) -> None:
        self.path = path
        self._time_of_day = time_of_day
        self._known: set[tuple[str, int]] = set()

    def add(self, error: BaseException, where: str) -> bool:
        """Append a report of ``error``; whether it is a new one. A disk that does not take it costs only the report."""
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


class Surviving(App[int]):
    """An app whose panes may fail one by one. ``crashes`` is where that is reported; without it (in tests) a failure fails."""

    crashes: CrashReports | None = None

    def report_failure(self, words: str) -> None:
        """Tell the user that a pane has failed."""
        raise NotImplementedError

    @contextlib.contextmanager
    def surviving(self, where: str) -> Iterator[None]:
        """A pane that fails is reported and the console goes on; without a place for reports (in tests) it fails."""
        try:
            yield
        except Exception as error:  # whatever it is: a pane that draws device text must not take the others with it
            if self.crashes is None:
                raise
            if self.crashes.add(error, where):
                words = f"A pane failed and was left as it is. The report is in {self.crashes.path}. The others go on"
                self.report_failure(words)

    @on(LinePane.Failed)
    def _row_failed(self, message: LinePane.Failed) -> None:
        with self.surviving(f"a row of #{message.pane.id}"):
            raise message.error

    def _fatal_error(self) -> None:
        """Leave after a failure that cannot be survived. Textual's own report prints every local variable: device text too."""
        if self.crashes is None or self._exception is None:
            super()._fatal_error()
            return
        self.crashes.add(self._exception, "the console")
        kind = type(self._exception).__name__
        words = f"The console failed ({kind}) and had to close. The report is in {self.crashes.path}"
        self._exit_renderables.append(Text(words))
        self._close_messages_no_wait()


def _place_of(error: BaseException) -> tuple[str, int]:
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else (type(error).__name__, 0)
