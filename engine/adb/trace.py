"""The commands that go to adb, for whoever listens: nobody, unless the log is to have them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from clawperator.engine.errors import EngineError

HIDDEN = "[REDACTED]"
"""Stands for what a command carries and nobody else is to read."""
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class AdbCommand:
    """A command as somebody may read it; ``serial`` is empty for a question to the adb server itself.

    ``duration_ms`` is ``None`` while it runs. ``exit_code`` is there where a shell told one; ``code`` is that of the error
    that it ended with, ``CANCELLED`` where nobody waited for its end.
    """

    serial: str
    text: str
    at: float = field(default_factory=time.time)
    duration_ms: float | None = None
    exit_code: int | None = None
    code: str = ""


class Call:
    """A command that runs; whoever learns its exit code puts it here."""

    exit_code: int | None = None


class AdbTrace:
    """``listener`` is called when a command begins and when it is over."""

    def __init__(self) -> None:
        self.listener: Callable[[AdbCommand], object] | None = None

    @contextmanager
    def of(self, text: str, serial: str = "") -> Iterator[Call]:
        call, listener = Call(), self.listener
        if listener is None:
            yield call
            return
        begun = AdbCommand(serial, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
        listener(begun)
        code, since = "CANCELLED", time.perf_counter()
        try:
            yield call
            code = ""
        except EngineError as exc:
            code = exc.code.value
            raise
        finally:
            spent = (time.perf_counter() - since) * 1000
            listener(replace(begun, at=time.time(), duration_ms=spent, exit_code=call.exit_code, code=code))
