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


class LoopControl(Exception):  # noqa: N818 - control flow, no error
    """``break`` (or, ``again``, ``continue``) in the ``levels``-th loop around it."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again


Builtin = Callable[[ShellSession, list[str], Streams], Awaitable[int]]


async def _exit(shell: ShellSession, argv: list[str], _streams: Streams) -> int:
    raise ShellExit(_number(argv, shell.status) & 0xFF)


async def _exec(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    if len(argv) == 1:
        shell.streams = streams
        return 0
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
    for argument in argv[1:]:
        name, equals, value = argument.partition("=")
        if equals:
            shell.variables[name] = value
    return 0


async def _unset(shell: ShellSession, argv: list[str], _streams: Streams) -> int:
    for name in argv[1:]:
        shell.variables.pop(name, None)
    return 0


async def _read(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    names = [argument for argument in argv[1:] if not argument.startswith("-")] or ["REPLY"]
    line = decode(await streams.stdin.line())
    words = line.rstrip("\n").split(None, len(names) - 1)
    for name, word in zip(names, words + [""] * len(names), strict=False):
        shell.variables[name] = word.strip()
    return 0 if line.endswith("\n") else 1


async def _which(shell: ShellSession, argv: list[str], streams: Streams) -> int:
    """``command -v NAME`` and ``type NAME``; ``command NAME …`` runs it."""
    names = [argument for argument in argv[1:] if argument != "-v"]
    if argv[0] == "command" and "-v" not in argv[1:2]:
        return await shell.execute(names, streams) if names else 0
    for name in names:
        if name not in BUILTINS and shell.find(name) is None:
            return 127
        path = name if name in BUILTINS or "/" in name else f"/system/bin/{name}"
        await streams.stdout.write(encode(f"{path}\n" if argv[0] == "command" else f"{name} is {path}\n"))
    return 0


async def _nothing(_shell: ShellSession, _argv: list[str], _streams: Streams) -> int:
    return 0


def _loop_control(*, again: bool) -> Builtin:
    async def leave(_shell: ShellSession, argv: list[str], _streams: Streams) -> int:
        raise LoopControl(max(1, _number(argv, 1)), again=again)

    return leave


def _number(argv: list[str], default: int) -> int:
    with suppress(IndexError, ValueError):
        return int(argv[1])
    return default


BUILTINS: Final[Mapping[str, Builtin]] = {
    ":": _nothing,
    "break": _loop_control(again=False),
    "cd": _cd,
    "command": _which,
    "continue": _loop_control(again=True),
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "read": _read,
    "trap": _nothing,
    "type": _which,
    "umask": _nothing,
    "unset": _unset,
    "wait": _nothing,
}
