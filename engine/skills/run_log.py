"""Log lines about a running script: ``skills.run.*`` (cli.md#conventions)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clawperator.engine.diagnostics.log_file import OUTPUT, Line, open_log
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.typed_text import TypedText

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

MAX_LOGGED = 1024 * 1024
"""Approximate limit of the logged output of one run, in bytes."""
_LINE_ITSELF = 200
"""Bytes of a log line besides its message."""


class RunLog:
    """The log of one run, without its arguments and what it reports as typed. Errors in it never fail the run."""

    def __init__(self, settings: Settings, skill_id: str, device_id: str | None, args: Sequence[str] = ()) -> None:
        self._arguments = TypedText(args, "[argument]")
        self._log = open_log(settings)
        self._names: dict[str, Any] = {"skillId": skill_id, "deviceId": device_id or settings.device_id or None}
        self._left = MAX_LOGGED

    @contextmanager
    def around(self, path: str) -> Iterator[None]:
        """Log the start, and the end if it is a failure."""
        self._write("info", "skills.run.start", f"runs {path}")
        began = time.monotonic()
        try:
            yield
        except BaseException as exc:
            code = exc.code if isinstance(exc, EngineError) else ErrorCode.INTERRUPTED
            event = "skills.run.timeout" if code is ErrorCode.SKILL_EXECUTION_TIMEOUT else "skills.run.failed"
            message = self._arguments.text(exc.message) if isinstance(exc, EngineError) else "cancelled by the caller"
            exit_code = exc.extra.get("exitCode") if isinstance(exc, EngineError) else None
            spent = round((time.monotonic() - began) * 1000)
            self._write("error", event, message, status=code.value, exitCode=exit_code, durationMs=spent)
            raise

    def output(self, stream: str, texts: Iterable[str]) -> Iterator[str]:
        """Pass the lines on and log them up to the limit."""
        now, lines = time.time(), list[Line]()
        try:
            for text in texts:
                if self._left > 0:
                    self._left -= len(text) + _LINE_ITSELF
                    shown = self._arguments.raw(text)
                    message = shown if self._left > 0 else "(the rest of the output is not logged)"
                    lines.append(Line(now, "info", OUTPUT, message, {**self._names, "stream": stream}))
                yield text
        finally:
            if lines:
                self._log.put(lines)

    def complete(self, duration_ms: float) -> None:
        self._write("info", "skills.run.complete", "done", status="success", exitCode=0, durationMs=round(duration_ms))

    def _write(self, level: str, event: str, message: str, **fields: Any) -> None:
        self._log.write(level, event, message, **self._names, **fields)
