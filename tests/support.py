"""What tests need beside their subject: children that end, limits that fit the machine, an adb server of their own."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from _pytest.mark.structures import ParameterSet

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.parsing.parser import read
from clawperator.engine.config.settings import Settings
from clawperator.engine.guard import Guard

Spawn = Callable[..., subprocess.Popen[Any]]
CLI = (sys.executable, "-m", "clawperator.app.cli")
"""The command line in a process of its own."""

OWNER = Guard(Settings())
"""The policy of nobody's file, and no audit."""
MOST_PATIENCE = 8.0


def patience(seconds: float) -> float:
    """Return the limit for what takes less than ``seconds`` on an idle machine, as busy as this one is now.

    For waiting until something has happened only, never for how fast it has to be.
    """
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(2.0, 2.0 * busy), MOST_PATIENCE)


def table(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[object] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a test try each row, as ``parametrize`` would, but as one test: each process that shares the tests collects all.

    For rows that take milliseconds and need no fixture. Every row is tried; a failure names its own.
    """
    wanted = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    tried = list(rows)
    named = ids if ids is None or callable(ids) else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), f"{test.__name__}: nothing would await its rows"
        signature = inspect.signature(test)

        @functools.wraps(test)
        def try_all(*args: Any, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, row in enumerate(tried):
                values = row.values if isinstance(row, ParameterSet) else row if len(wanted) > 1 else (row,)
                try:
                    test(*args, **dict(zip(wanted, values, strict=True)), **fixtures)
                except pytest.skip.Exception as skipped:
                    raise AssertionError("a row of a table cannot be skipped alone") from skipped
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - all that fails a test
                    name = named[number] if isinstance(named, list) else [(named or repr)(value) for value in values]
                    failure.add_note(f"row {number} of {', '.join(wanted)}: {name}")
                    failures.append(failure)
            if failures:
                raise failures[0] if len(failures) == 1 else BaseExceptionGroup("several rows", failures)

        left = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        vars(try_all)["__signature__"] = signature.replace(parameters=left)
        assert tried, f"{test.__name__}: the table has no row"
        return try_all

    return decorate


def varied(
    names: str | Sequence[str], rows: Iterable[Any], *, always: int = 1, ids: Any = None
) -> pytest.MarkDecorator:
    """``parametrize`` for rows that only vary a case: every run tries the first ``always`` ones, CI tries all."""
    single = isinstance(names, str) and "," not in names
    params, left = [], always
    for row in rows:
        given = row if isinstance(row, ParameterSet) else pytest.param(*([row] if single else row))
        in_ci_only = any(getattr(mark, "name", "") == "ci" for mark in given.marks)
        marks = given.marks if in_ci_only or left > 0 else [*given.marks, pytest.mark.ci]
        left -= not in_ci_only
        params.append(pytest.param(*given.values, id=given.id, marks=marks))
    return pytest.mark.parametrize(names, params, ids=ids)


def examples(most: int) -> int:
    """Return how many examples a property is tried with: ``most`` in CI, a quarter of that on a person's machine."""
    return most if os.environ.get("CI") else most // 4


@contextmanager
def surroundings(env: Mapping[str, str]) -> Iterator[None]:
    """``env`` is all of this process's environment meanwhile, as that of a program that was started with it."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def command_line(words: str, *flags: str) -> SimpleNamespace:
    """What the command ``words`` would run with, given ``flags``."""
    return read(build_parser(load(words)), words, flags, ())


@contextmanager
def temporary_files(folder: Path) -> Iterator[None]:
    """Temporary files of this process and of all that it starts go to ``folder``, also with an environment of their own."""
    start: Any = subprocess.Popen.__init__

    def started(self: subprocess.Popen[Any], *arguments: Any, env: Any = None, **more: Any) -> None:
        start(self, *arguments, env=env if env is None else {"TMPDIR": str(folder), **env}, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setattr(subprocess.Popen, "__init__", started)
        yield


def hear_signals() -> None:
    """React to signals as on a terminal, in this process and in all that it starts.

    In the background of a shell, under ``nohup`` and on some CI runners a process begins with signals ignored, and its children
    with it: none of them would hear the SIGINT that a test sends.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[Any]]:
    """A child (the arguments are those of ``Popen``) that has ended when the block is left, whatever happened in it."""
    with subprocess.Popen(command, **more) as child:
        try:
            yield child
        finally:
            end(child)


_ECHOED = re.compile(r'echo "\n([^"]+)""([^"$]+)\$[?r]"')


def end_mark(script: str) -> str:
    """Return the line that ends a command's output on a device, up to the exit code, from the script that prints it."""
    echoed = _ECHOED.search(script)
    assert echoed is not None, script
    return f"\n{echoed[1]}{echoed[2]}"


class Ran(NamedTuple):
    """A program that has ended."""

    exit_code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value


async def ran(*command: str, env: Mapping[str, str], stdin: bytes = b"", folder: Path | None = None) -> Ran:
    """Run a program to its end, in the working folder ``folder``."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *command, env=dict(env), cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
    )
    out, err = await child.communicate(stdin)
    assert child.returncode is not None
    return Ran(child.returncode, out.decode(), err.decode())


async def listening(
    stack: AsyncExitStack, *words: str, env: Mapping[str, str]
) -> tuple[asyncio.subprocess.Process, str, list[str]]:
    """Start a server of the command line, which is killed with ``stack``: its process, its URL, and what it writes to stderr."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*CLI, *words, "--json", env=dict(env), stdout=pipe, stderr=pipe)
    assert child.stdout is not None
    errors: list[str] = []
    reading = asyncio.create_task(_read(child.stderr, errors))

    async def stop() -> None:
        if child.returncode is None:
            child.kill()
        await child.wait()
        await reading

    stack.push_async_callback(stop)
    line = await child.stdout.readline()
    assert line, "\n".join(errors)
    return child, json.loads(line)["url"], errors


async def _read(stream: asyncio.StreamReader | None, lines: list[str]) -> None:
    assert stream is not None
    with suppress(asyncio.CancelledError):
        async for line in stream:
            lines.append(line.decode(errors="replace").rstrip())  # noqa: PERF401 -- others read it meanwhile


def end(child: subprocess.Popen[Any]) -> None:
    """Terminate ``child`` if it runs, give it a while, then kill it."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(patience(5))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def left_running(folder: Path, *, seconds: float = 5) -> dict[int, str]:
    """End, and return with their command lines, the processes of tests whose files are under ``folder``.

    Linux tells: each of them has a path below ``folder`` in its environment. What ends by itself meanwhile is not meant.
    """
    left = _after(folder, seconds)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if left:
        _after(folder, 5)
    return left


@contextmanager
def no_survivors(folder: Path) -> Iterator[None]:
    """End the processes of ``left_running`` if this process is killed meanwhile: the end of a pipe tells a watchdog."""
    code = "from sys import argv, stdin; stdin.read(); from tests.support import end_all; end_all(argv[1])"
    watchdog = subprocess.Popen(
        [sys.executable, "-c", code, folder],
        cwd=Path(__file__).parents[1],
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what ends this process may be meant for its whole group
    )
    try:
        yield
    finally:
        watchdog.kill()
        watchdog.communicate()


def end_all(folder: str) -> None:
    """End what ``left_running`` finds, and what was started meanwhile."""
    while left_running(Path(folder), seconds=0):
        pass


def _after(folder: Path, seconds: float) -> dict[int, str]:
    """Return the processes of ``folder`` that are still there after that time; at once where there are none."""
    deadline = time.monotonic() + patience(seconds)
    while (left := _processes_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)  # another process: nothing tells when it is gone
    return left


def _processes_of(folder: Path) -> dict[int, str]:
    mark, found = os.fsencode(f"{folder}/"), {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(process.name) != os.getpid() and mark in (process / "environ").read_bytes():
                found[int(process.name)] = (
                    (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def adb_environment(home: Path, port: int) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "ADB_EMU": "0",
        "ANDROID_ADB_SERVER_PORT": str(port),
    }


def newest_adb() -> str:
    """The adb program in the wheel of adbutils: newer than the one that distributions have; empty where it is missing."""
    found = importlib.util.find_spec("adbutils")
    program = Path(found.origin).parent / "binaries" / "adb" if found and found.origin else Path()
    return str(program) if os.access(program, os.X_OK) and program.is_file() else ""


def start_adb_server(home: Path, port: int, adb: str = "adb") -> subprocess.Popen[bytes]:
    """The real server in the foreground of this test run; it says when it is ready on a pipe of its own."""
    ready, report = os.pipe()
    try:
        server = subprocess.Popen(
            [adb, "-P", str(port), "fork-server", "server", "--reply-fd", str(report)],
            env=adb_environment(home, port),
            pass_fds=[report],
            stdin=subprocess.DEVNULL,
        )
    finally:
        os.close(report)
    with os.fdopen(ready, "rb") as stream:
        assert stream.read() == b"OK\n"
    return server


def forget_devices(port: int) -> None:
    """Return when the adb server lists no device any more: it disconnects those of the network, emulators have ended."""
    for service in (b"0010host:disconnect:", b"0012host:track-devices"):
        with socket.create_connection(("127.0.0.1", port), patience(20)) as server, server.makefile("rb") as answer:
            server.sendall(service)
            assert answer.read(4) == b"OKAY"
            while answer.read(int(answer.read(4) or b"0", 16)):
                pass  # the one answer of disconnect; the list of devices, which comes again whenever it changes
