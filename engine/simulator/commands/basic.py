"""Commands for text, time and the caller's identity."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.logs import time_zone
from clawperator.engine.simulator.filesystem import user_name
from clawperator.engine.simulator.process import Command, Process

_BACKSLASH: Final = {"n": "\n", "t": "\t", "\\": "\\"}
_PERIOD = re.compile(r"\d{1,8}(?:\.\d{0,9})?")


async def echo(process: Process) -> int:
    """``echo [-n] WORDS``; as in mksh, there are no backslash escapes."""
    words = process.arguments
    end = "" if words[:1] == ["-n"] else "\n"
    await process.out(" ".join(words if end else words[1:]) + end)
    return 0


async def printf(process: Process) -> int:
    """``printf FORMAT [WORDS]`` with ``%s`` and ``%d``: the format is repeated while words are left."""
    style, *words = process.require(process.arguments)
    style = re.sub(r"\\([nt\\])", lambda found: _BACKSLASH[found[1]], style)
    pieces = re.split(r"(%[sd])", style)
    text = ""
    while True:
        text += "".join((words.pop(0) if words else "") if piece in ("%s", "%d") else piece for piece in pieces)
        if not words or len(pieces) == 1:
            break
    await process.out(text)
    return 0


async def true(_process: Process) -> int:
    return 0


async def false(_process: Process) -> int:
    return 1


async def sleep(process: Process) -> int:
    word = process.require(process.arguments)[0]
    if _PERIOD.fullmatch(word) is None:
        raise CommandError(f"sleep: Bad duration '{word}'")
    await asyncio.sleep(float(word))
    return 0


async def date(process: Process) -> int:
    """``date [+FORMAT]``; the shell user cannot set the clock."""
    words = process.arguments
    if any(not word.startswith("+") for word in words):
        raise CommandError("date: cannot set date: Operation not permitted")
    seconds, nanoseconds = divmod(process.device.log.now_ns(), 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, time_zone(process))
    style = words[0][1:] if words else "%a %b %e %H:%M:%S %Z %Y"
    fraction = f"{nanoseconds:09d}" if process.device.sdk >= 26 else "N"  # android-facts 2f

    def special(match: re.Match[str]) -> str:
        return {"%N": fraction, "%s": str(seconds)}.get(match[0]) or moment.strftime(match[0])

    await process.out(re.sub(r"%[A-Za-z%]", special, style) + "\n")
    return 0


async def identity(process: Process) -> int:
    """``id [-u] [-n]``."""
    options, _ = process.options("un")
    name = user_name(process.uid)
    number = name if "n" in options else process.uid
    await process.out(f"{number}\n" if "u" in options else f"uid={process.uid}({name}) gid={process.uid}({name})\n")
    return 0


async def shell(process: Process) -> int:
    """``sh [-c SCRIPT [NAME [WORDS]]] [FILE [WORDS]]``; without either, a script on standard input."""
    words = process.arguments
    if words and words[0] == "-c":
        if len(words) < 2:
            raise CommandError("/system/bin/sh: -c: requires an argument")
        return await process.shell.child(process, words[2:] or None).run(words[1])
    if words:
        script = process.device.files.read(process.path(words[0]), uid=process.uid)
        return await process.shell.child(process, words).run(script.decode("utf-8", "surrogateescape"))
    return await process.shell.child(process, None).run_input()


async def test(process: Process) -> int:
    """``test EXPRESSION`` and ``[ EXPRESSION ]``: one or two operands."""
    words = process.arguments
    if process.name == "[" and (not words or words.pop() != "]"):
        raise CommandError("/system/bin/sh: [: missing ]", 2)
    return int(not _holds(process, words))


def _holds(process: Process, words: list[str]) -> bool:
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2:
        return _one_operand(process, *words)
    left, operator, right = words[:3]
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    try:
        numbers = int(left), int(right)
    except ValueError as exc:
        raise CommandError(f"/system/bin/sh: {process.name}: {left}: unexpected operator/operand", 2) from exc
    order = (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    accepted = {"-eq": (0,), "-ne": (-1, 1), "-lt": (-1,), "-le": (-1, 0), "-gt": (1,), "-ge": (0, 1)}.get(operator)
    if accepted is None:
        raise CommandError(f"/system/bin/sh: {process.name}: {operator}: unexpected operator/operand", 2)
    return order in accepted


def _one_operand(process: Process, operator: str, word: str) -> bool:
    if operator in ("-z", "-n"):
        return bool(word) == (operator == "-n")
    try:
        stat = process.device.files.stat(process.path(word), uid=process.uid)
    except OSError:
        return False
    return {"-d": stat.is_dir, "-f": not stat.is_dir}.get(operator, True)


BASIC: Final[dict[str, Command]] = {
    "[": test,
    "date": date,
    "echo": echo,
    "false": false,
    "id": identity,
    "printf": printf,
    "sh": shell,
    "sleep": sleep,
    "test": test,
    "true": true,
}
