"""A skill's program: in a session of its own, heard while it speaks, and nothing of it left behind.

The session is what belongs to a run: the program, what it started, and what a shell or ``timeout`` put into groups of their
own. Only who leaves the session on purpose outlives the run, as the adb server and an emulator do: they are everybody's.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from clawperator.engine.process import sessions

_LEFTOVER_SECONDS = 1.0
"""How long a finished program's output may stay open: something that it left behind holds it."""

Stream = Literal["stdout", "stderr"]
Take = Callable[[Stream, bytes], object]
_NAMES: dict[int, Stream] = {1: "stdout", 2: "stderr"}


class CannotStartError(Exception):
    """The program does not start: ``reason`` is the ``OSError``, or the ``ValueError`` of an argument that cannot be one."""

    def __init__(self, reason: OSError | ValueError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Ended(NamedTuple):
    """How a program ended: ``exit_code`` is negative where a signal did it; ``too_late``: it had to be stopped at its limit."""

    exit_code: int
    too_late: bool


async def run_child(
    command: Sequence[str], env: Mapping[str, str], take: Take, *, seconds: float, patience: float = sessions.PATIENCE
) -> Ended:
    """Run ``command`` with nothing on its stdin; ``take`` gets what it writes, as it comes, and must not keep all of it.

    When this returns or raises, nothing of the session lives; nor where this process is killed meanwhile. Raises ``CannotStartError``, and what ``take`` raises; being
    cancelled asks the session to end, like its limit of ``seconds`` does.
    """
    watch = _Watch(take)
    transport = await _started(command, env, watch)
    try:
        too_late = await _attend(transport.get_pid(), watch, seconds, patience)
    finally:
        sessions.forget(transport.get_pid())
        transport.close()
    watch.complain()
    exit_code = transport.get_returncode()
    return Ended(-signal.SIGKILL if exit_code is None else exit_code, too_late)


async def _attend(leader: int, watch: _Watch, seconds: float, patience: float) -> bool:
    """Wait for the program, and see to it that nothing of its session is left; whether it had to be stopped at its limit."""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await watch.over.wait()
    except BaseException:
        await _end(leader, watch, patience)
        raise
    too_late = not watch.over.is_set()
    await (_clear(leader, watch) if watch.exited.is_set() else _end(leader, watch, patience))
    return too_late


class _Watch(asyncio.SubprocessProtocol):
    """Hands its output on and notices its end. ``over``: it has exited, or whoever takes the output cannot any more."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._open = len(_NAMES)
        self._trouble: Exception | None = None
        self.over, self.exited, self.silent = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        sessions.watch(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._trouble is None:
            try:
                self._take(_NAMES[fd], data)
            except Exception as exc:  # noqa: BLE001 -- a callback of the loop: it is raised where the program is waited for
                self._trouble = exc
                self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        self._open -= 1
        if not self._open:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.over.set()

    def complain(self) -> None:
        """Raise what taking the output raised."""
        if self._trouble is not None:
            raise self._trouble


async def _started(command: Sequence[str], env: Mapping[str, str], watch: _Watch) -> asyncio.SubprocessTransport:
    """The running program. Cancelled meanwhile, it is started to the end first, which takes a moment, and then ended."""
    starting = asyncio.ensure_future(_start(command, env, watch))
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as exc:
        raise CannotStartError(exc) from exc
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            transport = await starting
            try:
                await _end(transport.get_pid(), watch, 0.0)
            finally:
                sessions.forget(transport.get_pid())
                transport.close()
        raise


async def _start(command: Sequence[str], env: Mapping[str, str], watch: _Watch) -> asyncio.SubprocessTransport:
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: watch,
        *command,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return transport


async def _end(leader: int, watch: _Watch, patience: float) -> None:
    """Ask the session to end, and end it after ``patience`` seconds; being cancelled meanwhile ends it at once."""
    sessions.send(leader, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await watch.exited.wait()
                await watch.silent.wait()
    finally:
        sessions.kill(leader)
        await _settle(watch)  # whoever waits for the process has to be the one who reaps it


async def _clear(leader: int, watch: _Watch) -> None:
    """The program is done: hear the end of what it said, and end what it left behind in its session."""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEFTOVER_SECONDS):
                await watch.silent.wait()
    finally:
        sessions.kill(leader)
        await _settle(watch)


async def _settle(watch: _Watch) -> None:
    """Killed processes are gone in a moment, unless the kernel itself is stuck with one: nobody waits for that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEFTOVER_SECONDS):
            await watch.exited.wait()
            await watch.silent.wait()
