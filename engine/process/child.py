"""Programs that run to their end in a session of their own, of which nothing is left behind.

The session is what belongs to a run: the program, what it started, and what a shell or ``timeout`` put into other process
groups. Only a process that leaves the session on purpose outlives the run, such as the adb server and an emulator.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, Required, TypedDict, Unpack

from clawperator.engine.process import sessions
from clawperator.engine.process.output import BoundedOutput, TerminalLines

_LEFTOVER_SECONDS = 1.0
"""How long the output of a finished program may stay open: a process that it left behind may hold it."""

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, bytes], object]
_NAMES: dict[int, Stream] = {1: "stdout", 2: "stderr"}


class CannotStartError(Exception):
    """The program cannot be started: ``reason`` is the ``OSError``, or the ``ValueError`` of an invalid argument."""

    def __init__(self, reason: OSError | ValueError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Ended(NamedTuple):
    """How a program ended: ``exit_code`` is negative after a signal; ``timed_out``: it was stopped at its time limit."""

    exit_code: int
    timed_out: bool


class Options(TypedDict, total=False):
    """The keyword arguments of ``run_child``."""

    seconds: Required[float]
    patience: float
    stdin: bytes
    folder: str | None
    merge_stderr: bool
    survives_us: bool


class Captured(NamedTuple):
    """A program that has ended, and the parts of its output that were kept."""

    exit_code: int
    stdout: BoundedOutput
    stderr: BoundedOutput


async def run_child(
    command: Sequence[str],
    env: Mapping[str, str],
    on_output: OnOutput,
    *,
    seconds: float,
    patience: float = sessions.PATIENCE,
    stdin: bytes = b"",
    folder: str | None = None,
    merge_stderr: bool = False,
    survives_us: bool = False,
) -> Ended:
    """Run ``command`` in ``folder`` and pass on its output as it comes.

    When this returns or raises, no process of the session is alive. Nor is one after this process was killed, unless
    ``survives_us``, which saves short programs the watchdog. A limit of ``seconds`` and a cancellation send SIGTERM, and
    SIGKILL after ``patience`` seconds. Raises ``CannotStartError``, and what ``on_output`` raises.
    """
    protocol = _Protocol(on_output, merge_stderr=merge_stderr, watched=not survives_us)

    async def start() -> asyncio.SubprocessTransport:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *command,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            start_new_session=True,
        )
        return transport

    transport = await _started(start(), protocol)
    try:
        _feed(transport, stdin)
        timed_out = await _wait(transport.get_pid(), protocol, seconds, patience)
    finally:
        sessions.unregister(transport.get_pid())
        transport.close()
    protocol.raise_error()
    exit_code = transport.get_returncode()
    return Ended(-signal.SIGKILL if exit_code is None else exit_code, timed_out)


async def capture(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    stdout: BoundedOutput,
    stderr: BoundedOutput,
    on_line: Callable[[str], object] | None = None,
    line_streams: Sequence[Stream] = ("stdout", "stderr"),
    **options: Unpack[Options],
) -> Captured:
    """Run ``command`` as ``run_child`` does and keep its output in ``stdout`` and ``stderr``.

    ``on_line`` gets every line of ``line_streams`` that is not blank. Raises ``CannotStartError``, and ``TimeoutError``.
    """
    kept: dict[Stream, tuple[BoundedOutput, TerminalLines]] = {
        "stdout": (stdout, TerminalLines()),
        "stderr": (stderr, TerminalLines()),
    }

    def report(stream: Stream, data: bytes) -> None:
        if on_line and stream in line_streams:
            for line in kept[stream][1].add(data):
                on_line(line)

    def take(stream: Stream, data: bytes) -> None:
        kept[stream][0].add(data)
        report(stream, data)

    ended = await run_child(command, env, take, **options)
    for stream in _NAMES.values():
        report(stream, b"\n")
    if ended.timed_out:
        raise TimeoutError(f"it did not end within {options['seconds']:g} s and was stopped")
    return Captured(ended.exit_code, stdout, stderr)


class _Protocol(asyncio.SubprocessProtocol):
    """Pass output on and note the end. ``finished``: the program has exited, or ``on_output`` has raised."""

    def __init__(self, on_output: OnOutput, *, merge_stderr: bool, watched: bool) -> None:
        self._on_output = on_output
        self._open = 1 if merge_stderr else 2
        self._watched = watched
        self._error: Exception | None = None
        self.finished, self.exited, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        if self._watched:
            sessions.register(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._error is None:
            try:
                self._on_output(_NAMES[fd], data)
            except Exception as exc:  # noqa: BLE001 -- a callback of the loop: ``run_child`` raises it
                self._error = exc
                self.finished.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        self._open -= fd in _NAMES
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.finished.set()

    def raise_error(self) -> None:
        """Raise what ``on_output`` raised."""
        if self._error is not None:
            raise self._error

    async def gone(self) -> None:
        """Wait until the program has exited and its output is closed."""
        await self.exited.wait()
        await self.closed.wait()


async def _started(
    start: Coroutine[None, None, asyncio.SubprocessTransport], protocol: _Protocol
) -> asyncio.SubprocessTransport:
    """Return the running program. A cancellation waits until it has started, and then ends it.

    asyncio's own cancellation may reap the program behind the back of its watcher, which then logs an error.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as exc:
        raise CannotStartError(exc) from exc
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            transport = await starting
            try:
                await _end(transport.get_pid(), protocol, 0.0)
            finally:
                sessions.unregister(transport.get_pid())
                transport.close()
        raise


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    """Write ``stdin`` and close it; what the program does not read is dropped."""
    if stdin:
        pipe = transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(stdin)
        pipe.close()


async def _wait(leader: int, protocol: _Protocol, seconds: float, patience: float) -> bool:
    """Wait for the program and end what is left of its session; return whether the program reached its time limit."""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await protocol.finished.wait()
    except BaseException:
        await _end(leader, protocol, patience)
        raise
    timed_out = not protocol.finished.is_set()
    if protocol.exited.is_set():
        await _kill_after(_LEFTOVER_SECONDS, protocol.closed.wait(), leader, protocol)
    else:
        await _end(leader, protocol, patience)
    return timed_out


async def _end(leader: int, protocol: _Protocol, patience: float) -> None:
    """Send SIGTERM to the session, and SIGKILL after ``patience`` seconds; a cancellation sends SIGKILL at once."""
    sessions.send(leader, signal.SIGTERM)
    await _kill_after(patience, protocol.gone(), leader, protocol)


async def _kill_after(seconds: float, event: Coroutine[None, None, object], leader: int, protocol: _Protocol) -> None:
    """Wait for ``event``, at most ``seconds``, then kill the session and wait until it is gone.

    That wait has a limit because the kernel itself may be stuck with a process.
    """
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event
    finally:
        sessions.kill(leader)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEFTOVER_SECONDS):
                await protocol.gone()
