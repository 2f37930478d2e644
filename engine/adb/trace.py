"""Trace of the commands sent to adb, for the log file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from clawperator.engine.errors import EngineError

HIDDEN = "[REDACTED]"
"""Replaces secrets in a traced command."""
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class AdbCommand:
    """A traced command; ``serial`` is empty for a request to the adb server itself.

    ``duration_ms`` is ``None`` while it runs. ``exit_code`` is set where a shell returned one; ``code`` is that of the error
    that ended it, or ``CANCELLED``.
    """

    serial: str
    text: str
    at: float = field(default_factory=time.time)
    duration_ms: float | None = None
    exit_code: int | None = None
    code: str = ""


class AdbCall:
    """A running command, whose exit code is set when it is known."""

    exit_code: int | None = None


class AdbTrace:
    """``listener`` is called when a command begins and when it is over."""

    def __init__(self) -> None:
        self.listener: Callable[[AdbCommand], object] | None = None

    @contextmanager
    def of(self, text: str, serial: str = "") -> Iterator[AdbCall]:
        call, listener = AdbCall(), self.listener
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
