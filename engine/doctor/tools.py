"""Programs of this computer that the doctor asks: in a process group of their own, so that nothing of them stays behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import NamedTuple

from clawperator.engine.process import sessions

TOOL_SECONDS = 5.0
"""How long a program may take to print its version."""
_KEPT_BYTES = 64 * 1024


class Ran(NamedTuple):
    """A program that has ended: its exit code, and the end of what it wrote."""

    exit_code: int
    output: str


async def version_of(name: str, *arguments: str, env: Mapping[str, str], both: bool = False) -> str | None:
    """What a program prints about itself; ``None`` when it is missing, fails or takes more than five seconds.

    ``both`` reads stderr as well.
    """
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        return None
    try:
        ran = await run_tool([path, *arguments], env, seconds=TOOL_SECONDS, errors=both)
    except (OSError, TimeoutError):
        return None
    return ran.output if ran.exit_code == 0 else None


async def run_tool(
    command: Sequence[str], env: Mapping[str, str], *, seconds: float, folder: str | None = None, errors: bool = True
) -> Ran:
    """Run ``command`` in ``folder`` and return its end. Raises ``OSError`` where it cannot start, ``TimeoutError``.

    Its output goes to a file: a pipe would stay open for as long as any daemon that it leaves behind. Being cancelled, or
    too late, ends the whole process group.
    """
    with TemporaryFile() as output:
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=dict(env),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT if errors else asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        process = await _started(starting)
        if seconds > TOOL_SECONDS:
            sessions.watch(process.pid)
        try:
            async with asyncio.timeout(seconds):
                exit_code = await process.wait()
        except BaseException:
            _end(process)
            await process.wait()
            raise
        finally:
            sessions.forget(process.pid)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _KEPT_BYTES))
        return Ran(exit_code, output.read(_KEPT_BYTES).decode(errors="replace"))


async def _started(starting: asyncio.Future[asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """The program, once it runs. Cancelled meanwhile, it is started to the end first, which takes a moment, and then ended:

    asyncio's own way of breaking off may reap a program behind the back of its watcher, which then complains on stderr.
    """
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            process = await starting
            _end(process)
            await process.wait()
        raise


def _end(process: asyncio.subprocess.Process) -> None:
    """End the program and everything in its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
