"""Google's command line tools: where they are, whether they start, and running one of them (emulators.md#tools and emulators.md#limits)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from clawperator.engine.adb.binary import find_adb
from clawperator.engine.emulators.process import end_group
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.process import sessions

TOOLS = ("adb", "emulator", "sdkmanager", "avdmanager")
"""In the order in which missing ones are listed."""
_VARIABLES = {"emulator": "EMULATOR_PATH", "sdkmanager": "SDKMANAGER_PATH", "avdmanager": "AVDMANAGER_PATH"}
_PLACES = {
    "emulator": ("emulator", "emulator"),
    "sdkmanager": ("cmdline-tools", "latest", "bin", "sdkmanager"),
    "avdmanager": ("cmdline-tools", "latest", "bin", "avdmanager"),
}
MAX_STDOUT = 4 * 1024 * 1024
MAX_STDERR = 64 * 1024
"""Bytes of a tool's words that are kept: the beginning of stdout, the end of stderr."""
_LONGEST_LINE = 8192
_LEFTOVER_SECONDS = 0.5
"""How long the words of a tool that has ended are awaited, when a descendant of it keeps its output open."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A tool that has ended; ``exit_code`` is negative where a signal ended it."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def words(self) -> str:
        """Everything that it said."""
        return f"{self.stdout}\n{self.stderr}"


class ToolTimeoutError(Exception):
    """The tool took too long and has been ended; ``seconds`` is what it had."""

    def __init__(self, tool: str, seconds: float) -> None:
        super().__init__(f"{tool} did not end within {seconds:g} s and was stopped")
        self.seconds = seconds


class Sdk:
    """The tools that ``env`` points at. ``adb_path`` is the adb program that was chosen, '' for the one that is found."""

    def __init__(self, env: Mapping[str, str], adb_path: str = "") -> None:
        self.env = env
        self._adb_path = adb_path

    def path(self, tool: str) -> str:
        """How ``tool`` is called (emulators.md#tools): its own variable, else in the SDK if it is there, else its name."""
        if tool == "adb":
            return find_adb(self.env, self._adb_path or None)
        if chosen := self.env.get(_VARIABLES[tool]):
            return chosen
        root = self.env.get("ANDROID_HOME") or self.env.get("ANDROID_SDK_ROOT")
        inside = os.path.join(root, *_PLACES[tool]) if root else ""
        return inside if inside and os.path.exists(inside) else tool

    async def missing(self, *, timeout: float) -> tuple[str, ...]:
        """The tools that cannot be started, in the order of ``TOOLS``."""
        available = await asyncio.gather(*(self._available(tool, timeout) for tool in TOOLS))
        return tuple(tool for tool, there in zip(TOOLS, available, strict=True) if not there)

    async def _available(self, tool: str, timeout: float) -> bool:
        """Started with ``--help`` it ends with 0 or 1, or says anything at all."""
        heard: list[str] = []
        try:
            done = await self.run(tool, ["--help"], timeout=timeout, tell=heard.append)
        except EngineError:
            return False
        except ToolTimeoutError:
            return bool(heard)
        return done.exit_code in (0, 1) or bool(done.words.strip())

    async def run(
        self,
        tool: str,
        arguments: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        tell: Callable[[str], object] | None = None,
    ) -> Ran:
        """Run ``tool`` to its end, in a process group of its own that a timeout or a cancellation takes away.

        ``tell`` hears every line of its output that is not blank, of lines that are written over each other the last.

        Raises ``EngineError`` ANDROID_SDK_TOOL_MISSING, and ``ToolTimeoutError``.
        """
        watch = _Watch(tell)
        transport = await self._spawn(tool, arguments, watch)
        try:
            async with asyncio.timeout(timeout):
                return await _attend(transport, watch, stdin)
        except TimeoutError as exc:
            raise ToolTimeoutError(tool, timeout) from exc
        finally:
            await _end(transport, watch)

    async def _spawn(self, tool: str, arguments: Sequence[str], watch: _Watch) -> asyncio.SubprocessTransport:
        """A started tool. Cancelled meanwhile, it is started and taken away again.

        Python's own cancelling ends the program alone, and then waits for what that has started.
        """
        try:
            command = [self.path(tool), *arguments]
        except EngineError as exc:  # no adb anywhere
            raise tool_missing((tool,)) from exc
        starting = asyncio.ensure_future(_start(command, self.env, watch))
        try:
            return await asyncio.shield(starting)
        except (OSError, ValueError) as exc:
            raise tool_missing((tool,)) from exc
        except asyncio.CancelledError:
            starting.add_done_callback(_end_group)
            await asyncio.wait({starting})
            if starting.exception() is None:
                await _end(starting.result(), watch)
            raise


async def _start(command: Sequence[str], env: Mapping[str, str], watch: _Watch) -> asyncio.SubprocessTransport:
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: watch,
        *command,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    return transport


def _end_group(starting: asyncio.Future[asyncio.SubprocessTransport]) -> None:
    """Whatever else happens to whoever wanted it."""
    if not starting.cancelled() and starting.exception() is None:
        end_group(starting.result().get_pid(), at_once=True)


def tool_missing(tools: Sequence[str]) -> EngineError:
    """The error for tools that cannot be started."""
    message = f"Android SDK tools are missing: {', '.join(tools)}"
    return EngineError(ErrorCode.ANDROID_SDK_TOOL_MISSING, message, details={"missingTools": list(tools)})


async def _attend(transport: asyncio.SubprocessTransport, watch: _Watch, stdin: bytes) -> Ran:
    """Feed it and wait for its end; what it leaves unread or unsaid is not waited for."""
    feed = transport.get_pipe_transport(0)
    assert isinstance(feed, asyncio.WriteTransport)
    feed.write(stdin)
    feed.close()
    await watch.exited.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEFTOVER_SECONDS):
            await watch.silent.wait()
    exit_code = transport.get_returncode()
    assert exit_code is not None
    return Ran(exit_code, watch.stdout.text, watch.stderr.text)


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Take away what is left of it: the program, and descendants in its group that hold on to its output."""
    if not (watch.exited.is_set() and watch.silent.is_set()):
        end_group(transport.get_pid(), at_once=True)
    try:
        await watch.exited.wait()
    finally:
        sessions.forget(transport.get_pid())
        transport.close()


class _Watch(asyncio.SubprocessProtocol):
    """What happens to a tool: words, the end of its words, its own end."""

    def __init__(self, tell: Callable[[str], object] | None) -> None:
        self.stdout = Heard(MAX_STDOUT, tell)
        self.stderr = Heard(MAX_STDERR, tell, tail=True)
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()
        self._speaking = {1: self.stdout, 2: self.stderr}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        sessions.watch(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._speaking[fd].take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if heard := self._speaking.pop(fd, None):
            heard.end()
        if not self._speaking:
            self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()


class Heard:
    """One output of a tool: a bounded part of it, and its lines as they come."""

    def __init__(self, limit: int, tell: Callable[[str], object] | None, *, tail: bool = False) -> None:
        self._limit = limit
        self._tell = tell
        self._tail = tail
        self._kept = bytearray()
        self._line = b""

    @property
    def text(self) -> str:
        return bytes(self._kept).decode(errors="replace")

    def take(self, data: bytes) -> None:
        self._keep(data)
        if self._tell is not None:
            self._lines(data)

    def end(self) -> None:
        """Nothing follows."""
        if self._tell is not None:
            self._lines(b"\n")

    def _keep(self, data: bytes) -> None:
        if self._tail:
            self._kept += data
            del self._kept[: max(len(self._kept) - self._limit, 0)]
        else:
            self._kept += data[: max(self._limit - len(self._kept), 0)]

    def _lines(self, data: bytes) -> None:
        *whole, rest = (self._line + data).split(b"\n")
        for line in whole:
            self._say(line)
        finished, over, newest = rest.rpartition(b"\r")
        if over:
            self._say(finished)
        self._line = newest[-_LONGEST_LINE:]

    def _say(self, line: bytes) -> None:
        """What a terminal would show of it in the end."""
        shown = line.rstrip(b"\r").rpartition(b"\r")[2]
        text = shown[:_LONGEST_LINE].decode(errors="replace").strip()
        if text and self._tell is not None:
            self._tell(text)
