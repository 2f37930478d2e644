"""The emulator's own process: detached, so that it outlives us once it is up, and taken away again while it is not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from clawperator.engine.errors import not_writable
from clawperator.engine.files.writing import open_regular

_TAIL_BYTES = 2000


def end_group(pid: int, *, at_once: bool) -> None:
    """End the process group that ``pid`` leads; ``at_once`` leaves it no time to put its things in order."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL if at_once else signal.SIGTERM)
        else:  # Windows has no groups that could be signalled
            os.kill(pid, signal.SIGTERM)


class Detached:
    """A program in a session of its own, its input and output connected to nothing, or its output to a log file.

    Whether it lives is watched by a thread, which also takes its exit code when we stay longer than it does.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: str) -> None:
        self._process = process
        self._log = log
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop may be gone before the program is
                loop.call_soon_threadsafe(self._ended.set)

        threading.Thread(target=wait, name=f"emulator {process.pid}", daemon=True).start()

    @classmethod
    def start(cls, command: Sequence[str], env: Mapping[str, str], log: str = "") -> Detached:
        """Start ``command``; its output goes to the end of the file ``log``, or nowhere.

        Raises ``OSError`` where it cannot be started, ``EngineError`` (``not_writable``) for the log file.
        """
        try:
            output = open(log or os.devnull, "ab")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as exc:
            raise not_writable(log, exc, what="the log file") from exc
        with output:
            process = subprocess.Popen(  # noqa: S603 - an argument vector: a tool the user chose, a checked name
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
        """``None`` while it lives; negative where a signal ended it."""
        return self._process.returncode

    async def ended(self) -> None:
        """Return when it has ended."""
        await self._ended.wait()

    async def end(self, *, patience: float) -> None:
        """Ask it to end, and end it after ``patience`` seconds; being cancelled meanwhile ends it at once."""
        if self.exit_code is not None:
            return
        end_group(self.pid, at_once=False)
        try:
            async with asyncio.timeout(patience):
                await self._ended.wait()
        except TimeoutError:
            pass
        finally:
            end_group(self.pid, at_once=True)  # also what it had started itself
        await self._ended.wait()

    def last_words(self) -> str:
        """The end of the log file; '' where there is none."""
        if not self._log:
            return ""
        try:
            with open_regular(self._log) as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(stream.tell() - _TAIL_BYTES, 0))
                return stream.read(_TAIL_BYTES).decode(errors="replace").strip()
        except OSError:
            return ""
