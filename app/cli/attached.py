"""A command that has our stdin, stdout and stderr, and gets our signals, as one that a shell runs."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from clawperator.app.cli import diagnostics
from clawperator.app.signals import ENDING
from clawperator.engine.process import sessions

NOT_FOUND, NOT_RUNNABLE = 127, 126
Signals = asyncio.Queue[signal.Signals]


async def run_attached(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Return the exit code: the command's, 128 and the number of the signal that ended it, or 127 and 126 where it cannot start.

    On a terminal it stays in our session and gets Ctrl-C from there. Elsewhere it has a session of its own, which is ended as a
    whole, also when this process is killed.
    """
    alone = sys.stdin is None or not sys.stdin.isatty()
    with _signals() as came:
        try:  # descriptors stay open: a shell's <(…) is one
            child = await asyncio.create_subprocess_exec(*command, env=env, start_new_session=alone, close_fds=False)
        except (OSError, ValueError) as exc:
            diagnostics.note(f"Cannot run {command[0]}: {getattr(exc, 'strerror', None) or exc}")
            return NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_RUNNABLE
        if alone:
            sessions.register(child.pid)
        passing_on = asyncio.create_task(_pass_on(came, child, alone=alone))
        try:
            code = await child.wait()
        finally:
            passing_on.cancel()
            if alone:
                sessions.kill(child.pid)
                sessions.unregister(child.pid)
    return code if code >= 0 else 128 - code


@contextmanager
def _signals() -> Iterator[Signals]:
    """Collect what would end this process; a signal that is ignored for us stays so. The program may want many a Ctrl-C."""
    came, loop = Signals(), asyncio.get_running_loop()
    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, came.put_nowait, number)
    try:
        yield came
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


async def _pass_on(came: Signals, child: asyncio.subprocess.Process, *, alone: bool) -> None:
    """Send each signal to the command, unless it is Ctrl-C of its own terminal, and kill what has not ended in time."""
    loop, limit = asyncio.get_running_loop(), None
    with suppress(ProcessLookupError):
        while True:
            try:
                async with asyncio.timeout_at(limit):
                    number = await came.get()
            except TimeoutError:
                child.kill()
                return
            if alone:
                sessions.send(child.pid, number)
            elif number != signal.SIGINT:
                child.send_signal(number)
            if limit is None and (alone or number != signal.SIGINT):
                limit = loop.time() + sessions.PATIENCE
