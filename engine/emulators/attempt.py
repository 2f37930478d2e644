"""One start of an emulator while it is not up: its process, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from clawperator.engine.emulators.process import Detached
from clawperator.engine.errors import EngineError, ErrorCode

T = TypeVar("T")


class Attempt:
    """An emulator process that is not up yet, and what becomes of it."""

    def __init__(self, name: str, process: Detached) -> None:
        self.name = name
        self.process = process
        self.up = False

    def is_ended_by(self, error: BaseException) -> bool:
        """What has booted is left running when a setting fails; being cancelled leaves nothing."""
        return not self.up or not isinstance(error, EngineError)

    def fate(self, error: BaseException) -> str:
        """What is said about the process beside the reason of a failure."""
        return "its process is stopped" if self.process.exit_code is None and self.is_ended_by(error) else ""

    async def alive(self, work: Awaitable[T]) -> T:
        """The result of ``work``. Raises ``EngineError`` (EMULATOR_START_FAILED) if the process ends before it."""
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
        code = self.process.exit_code
        last = self.process.last_words()
        message = f"the emulator of {self.name} ended with exit code {code} before it was up"
        return EngineError(
            ErrorCode.EMULATOR_START_FAILED,
            f"{message}: {last}" if last else message,
            hint="Correct what the emulator reports, then start it again."
            if last
            else "Start it with --log <file> to read what it says.",
            details={"name": self.name, "exitCode": code},
        )
