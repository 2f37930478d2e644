"""A program that outlives this process, such as an emulator."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from clawperator.engine.errors import not_writable
from clawperator.engine.files.regular import read_tail
from clawperator.engine.process import sessions

_TAIL_BYTES = 2000


class Detached:
    """A program in a session of its own, without input, whose output goes to a log file or nowhere.

    A thread waits for its exit code.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: str) -> None:
        self._process = process
        self._log = log
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop may be closed before the program ends
                loop.call_soon_threadsafe(self._ended.set)

        threading.Thread(target=wait, name=f"process {process.pid}", daemon=True).start()

    @classmethod
    def start(cls, command: Sequence[str], env: Mapping[str, str], log: str = "") -> Detached:
        """Start ``command`` and append its output to the file ``log``, if any.

        Raises ``OSError`` if it cannot be started, ``EngineError`` (``not_writable``) for the log file.
        """
        try:
            output = open(log or os.devnull, "ab")  # noqa: SIM115 -- closed below
        except (OSError, ValueError) as exc:
            raise not_writable(log, exc, what="the log file") from exc
        with output:
            process = subprocess.Popen(  # noqa: S603 -- an argument vector without a shell
                list(command),
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """``None`` while it runs; negative after a signal."""
        return self._process.returncode

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    async def end(self, *, patience: float) -> None:
        """Send SIGTERM to its session, and SIGKILL after ``patience`` seconds; a cancellation sends SIGKILL at once."""
        if self.exit_code is not None:
            return
        sessions.send(self.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout(patience):
                await self._ended.wait()
        except TimeoutError:
            pass
        finally:
            sessions.kill(self.pid)
        await self._ended.wait()

    def log_tail(self) -> str:
        """Return the end of the log file; '' without one."""
        try:
            return read_tail(self._log, _TAIL_BYTES).decode(errors="replace").strip() if self._log else ""
        except OSError:
            return ""
