"""Built-in commands of the shell."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from clawperator.engine.simulator.process import SHELL, ShellSession, decode, encode
from clawperator.engine.simulator.streams import Streams

MAX_NESTING: Final = 12


class ShellExit(Exception):  # noqa: N818 - control flow, no error
    """``exit``, or ``exec`` of a program that has finished: the shell ends with ``status``."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class LoopBreak(Exception):  # noqa: N818 - control flow, no error
    """``break`` in the loop around it."""


Builtin = Callable[[ShellSession, list[str], Streams], Awaitable[int]]


async def _exit(shell: ShellSession, argv: list[str], _streams: Streams) -> int:
    raise ShellExit(_number(argv, shell.status) & 0xFF)


async def _exec(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    raise ShellExit(await shell.execute(argv[1:], streams))


async def _cd(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    target = argv[1] if len(argv) > 1 else "/"
    path = posixpath.normpath(posixpath.join(shell.cwd, target))
    try:
        is_dir = shell.device.files.stat(path, uid=shell.uid).is_dir
        problem = "" if is_dir else "Not a directory"
    except OSError as exc:
        problem = exc.strerror or ""
    if problem:
        await streams.stderr.write(encode(f"{SHELL}: cd: {target}: {problem}\n"))
        return 2
    shell.cwd = path
    return 0


async def _export(shell: ShellSession, argv: list[str], _streams: Streams) -> int:
    """``export NAME=VALUE``, which adb's own logcat sends first."""
    shell.variables |= dict(argument.split("=", 1) for argument in argv[1:] if "=" in argument)
    return 0


async def _read(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    names = [argument for argument in argv[1:] if not argument.startswith("-")] or ["REPLY"]
    line = decode(await streams.stdin.line())
    words = line.rstrip("\n").split(None, len(names) - 1)
    for name, word in zip(names, words + [""] * len(names), strict=False):
        shell.variables[name] = word.strip()
    return 0 if line.endswith("\n") else 1


async def _which(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    """``command -v NAME``."""
    for name in argv[2:]:
        if name not in BUILTINS and shell.find(name) is None:
            return 127
        path = name if name in BUILTINS or "/" in name else f"/system/bin/{name}"
        await streams.stdout.write(encode(f"{path}\n"))
    return 0


async def _break(_shell: ShellSession, _argv: list[str], _streams: Streams) -> int:
    raise LoopBreak


def _number(argv: list[str], default: int) -> int:
    with suppress(IndexError, ValueError):
        return int(argv[1])
    return default


BUILTINS: Final[Mapping[str, Builtin]] = {
    "break": _break,
    "cd": _cd,
    "command": _which,
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "read": _read,
}
