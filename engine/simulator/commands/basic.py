"""Commands for text, time and the caller's identity."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.logs import time_zone
from clawperator.engine.simulator.filesystem import SHELL_GROUPS, SHELL_UID, user_name
from clawperator.engine.simulator.process import Command, Process

_BACKSLASH: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\033",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
}
_ESCAPE = re.compile(r"\\(?:0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_CONVERSION = re.compile(r"%(%|[-+ 0#]*\d*(?:\.\d+)?([sdiuxXocbfg]))")
_PERIOD = re.compile(r"(\d{0,8}(?:\.\d{0,9})?)([smhd]?)")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_WIDTH: Final = 1024


async def echo(process: Process) -> int:
    """``echo [-n] [-e] WORDS``; as in mksh, backslash escapes work with ``-e`` only."""
    words = process.arguments
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags += words.pop(0)
    text = " ".join(words)
    await process.out((_unescape(text) if "e" in flags else text) + ("" if "n" in flags else "\n"))
    return 0


async def printf(process: Process) -> int:
    """``printf FORMAT [WORDS]``: the format is repeated while words are left."""
    if not process.arguments:
        raise CommandError('printf: Needs 1 argument (see "printf --help")')
    style, *words = process.arguments
    style = _unescape(style)
    pieces = [_formatted(style, words)]
    while words:
        left = len(words)
        pieces.append(_formatted(style, words))
        if len(words) == left:
            break
    await process.out("".join(pieces))
    return 0


def _formatted(style: str, words: list[str]) -> str:
    """One pass over the format; removes the words that it uses from the front."""

    def convert(match: re.Match[str]) -> str:
        letter = match[2]
        if match[1] == "%":
            return "%"
        word = words.pop(0) if words else ""
        width = match[0][1:-1]
        if any(int(number) > MAX_WIDTH for number in re.findall(r"\d+", width)):
            raise CommandError("printf: bad format")
        if letter == "b":
            return _unescape(word)
        if letter in "sc":
            return f"%{width}s" % (word[:1] if letter == "c" else word)
        try:
            number = float(word or "0") if letter in "fg" else int(word or "0", 0)
        except ValueError as exc:
            raise CommandError(f"printf: {word}: not a number") from exc
        return f"%{width}{'d' if letter in 'iu' else letter}" % number

    return _CONVERSION.sub(convert, style)


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        octal, hexadecimal, other = match.groups()
        if other is not None:
            return _BACKSLASH.get(other, match[0])
        return chr(int(octal, 8) & 0xFF) if octal else chr(int(hexadecimal, 16))

    return _ESCAPE.sub(character, text)


async def true(_process: Process) -> int:
    return 0


async def false(_process: Process) -> int:
    return 1


async def sleep(process: Process) -> int:
    total = 0.0
    for word in process.arguments:
        match = _PERIOD.fullmatch(word)
        if match is None or match[1] in ("", "."):
            raise CommandError(f"sleep: Bad duration '{word}'")
        total += float(match[1]) * _UNITS[match[2]]
    await asyncio.sleep(total)
    return 0


async def date(process: Process) -> int:
    """``date [-u] [+FORMAT]``; the shell user cannot set the clock."""
    options, words = process.options("ud:")
    if "d" in options or any(not word.startswith("+") for word in words):
        raise CommandError("date: cannot set date: Operation not permitted")
    seconds, nanoseconds = divmod(process.device.log.now_ns(), 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC if "u" in options else time_zone(process))
    style = words[0][1:] if words else "%a %b %e %H:%M:%S %Z %Y"
    fraction = f"{nanoseconds:09d}" if process.device.sdk >= 26 else "N"  # android-facts 2f

    def special(match: re.Match[str]) -> str:
        return {"%N": fraction, "%s": str(seconds)}.get(match[0]) or moment.strftime(match[0])

    await process.out(re.sub(r"%[A-Za-z%]", special, style) + "\n")
    return 0


async def identity(process: Process) -> int:
    """``id [-u]``."""
    options, _ = process.options("ugGn")
    name = user_name(process.uid)
    if "u" in options or "g" in options:
        await process.out(f"{name if 'n' in options else process.uid}\n")
        return 0
    numbers = (
        sorted(SHELL_GROUPS, key=lambda gid: (gid != process.uid, gid)) if process.uid == SHELL_UID else [process.uid]
    )
    groups = ",".join(f"{gid}({user_name(gid)})" for gid in numbers)
    domain = "shell" if process.uid == SHELL_UID else "runas_app"
    own = f"{process.uid}({name})"
    await process.out(f"uid={own} gid={own} groups={groups} context=u:r:{domain}:s0\n")
    return 0


async def environment(process: Process) -> int:
    await process.lines(f"{name}={value}" for name, value in process.variables.items())
    return 0


async def shell(process: Process) -> int:
    """``sh [-c SCRIPT [NAME [WORDS]]] [FILE [WORDS]]``; without either, a script on standard input."""
    words = process.arguments
    while words and re.fullmatch(r"[-+][eux]+", words[0]):
        words.pop(0)
    if words and words[0] == "-c":
        if len(words) < 2:
            raise CommandError("/system/bin/sh: -c: requires an argument")
        return await process.shell.child(process, words[2:] or None).run(words[1])
    words = words[1:] if words and words[0] == "-s" else words
    if words:
        script = process.device.files.read(process.path(words[0]), uid=process.uid)
        return await process.shell.child(process, words).run(script.decode("utf-8", "surrogateescape"))
    return await process.shell.child(process, None).run_input()


async def test(process: Process) -> int:
    """``test EXPRESSION`` and ``[ EXPRESSION ]``: one or two operands, ``!``, ``-a`` and ``-o``."""
    words = process.arguments
    if process.name == "[" and (not words or words.pop() != "]"):
        raise CommandError("/system/bin/sh: [: missing ]", 2)
    for joint, combine in (("-o", any), ("-a", all)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            return int(not combine([_holds(process, words[:at]), _holds(process, words[at + 1 :])]))
    return int(not _holds(process, words))


def _holds(process: Process, words: list[str]) -> bool:
    if words and words[0] == "!":
        return not _holds(process, words[1:])
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
    if operator == "-t":
        return process.shell.tty
    try:
        stat = process.device.files.stat(process.path(word), follow=operator not in ("-L", "-h"), uid=process.uid)
    except OSError:
        return False
    answers = {"-d": stat.is_dir, "-f": not stat.is_dir, "-L": stat.is_link, "-h": stat.is_link, "-s": stat.size > 0}
    return answers.get(operator, True)


BASIC: Final[dict[str, Command]] = {
    "[": test,
    "date": date,
    "echo": echo,
    "env": environment,
    "false": false,
    "id": identity,
    "printf": printf,
    "sh": shell,
    "sleep": sleep,
    "test": test,
    "true": true,
}
