"""The process of an emulator while it boots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from clawperator.engine.emulators.tool_errors import known_error
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process.detached import Detached

T = TypeVar("T")
_CORRECT = "Correct the error, then start the emulator again."


class BootProcess:
    """An emulator process that was started; ``booted`` once Android has booted."""

    def __init__(self, name: str, process: Detached) -> None:
        self.name = name
        self.process = process
        self.booted = False

    def is_ended_by(self, error: BaseException) -> bool:
        """Return whether ``error`` ends the process: a booted one outlives a setting that failed, not a cancellation."""
        return not self.booted or not isinstance(error, EngineError)

    def remains(self, error: BaseException) -> str:
        """Return what becomes of the process after ``error``."""
        return "its process is stopped" if self.process.exit_code is None and self.is_ended_by(error) else ""

    async def while_running(self, work: Awaitable[T]) -> T:
        """Return the result of ``work``. Raises ``EngineError`` (EMULATOR_START_FAILED) if the process ends first."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self.process.ended())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise self._ended()
        finally:
            for task in (working, ending):
                task.cancel()
            await asyncio.wait({working, ending})

    def _ended(self) -> EngineError:
        code, log = self.process.exit_code, self.process.log_tail()
        known = known_error(log)
        message = f"The emulator of {self.name} exited with code {code} before it had booted"
        return EngineError(
            ErrorCode.EMULATOR_START_FAILED,
            f"{message}: {log}" if log else message,
            hint=known.hint if known else _CORRECT if log else "Start it with --log <file> to see its output.",
            details={"name": self.name, "exitCode": code},
        )
