"""Commands that filter lines."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.process import Command, Process, encode

_BASIC_SPECIAL = re.compile(r"\\?([+?{}()|])")


async def grep(process: Process) -> int:
    """``grep [-EFivqox] [-m N] PATTERN [FILES]``, line by line as the lines come."""
    options, words = process.options("EFivqoxm:")
    pattern = _pattern(process, process.require(words)[0], options)
    names = words[1:] or ["-"]
    limit = int(options["m"]) if options.get("m", "").isdigit() else -1
    found = 0
    for name in names:
        async for line in _lines(process, name):
            if (pattern.search(line.rstrip(b"\n")) is not None) == ("v" in options):
                continue
            found += 1
            if "q" in options:
                return 0
            await process.stdout.write(_hit(line, pattern, options))
            if found == limit:
                break
    return int(not found)


def _pattern(process: Process, text: str, options: dict[str, str]) -> re.Pattern[bytes]:
    if "F" in options:
        text = "|".join(map(re.escape, text.split("\n")))
    elif "E" not in options:  # basic expressions: the backslash makes these special instead of plain
        text = _BASIC_SPECIAL.sub(lambda found: found[1] if found[0][0] == "\\" else f"\\{found[1]}", text)
    text = rf"^(?:{text})$" if "x" in options else text
    try:
        return re.compile(encode(text), re.IGNORECASE if "i" in options else 0)
    except (re.error, OverflowError) as exc:
        raise CommandError(f"{process.name}: bad REGEX: {exc}", 2) from exc


def _hit(line: bytes, pattern: re.Pattern[bytes], options: dict[str, str]) -> bytes:
    body = line.rstrip(b"\n")
    if "o" in options and "v" not in options:
        return b"".join(found[0] + b"\n" for found in pattern.finditer(body) if found[0])
    return body + b"\n"


async def tail(process: Process) -> int:
    """``tail -c N [FILES]``."""
    options, names = process.options("c:")
    text = options.get("c", "")
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise CommandError(f"tail: bad number '{text}'")
    for name in names or ["-"]:
        data = await process.contents(name)
        await process.stdout.write(data[max(0, len(data) - int(text)) :])
    return 0


async def sed(process: Process) -> int:
    """``sed '/FROM/,/TO/d'``: all lines but those of such ranges."""
    script = process.require(process.arguments)[0]
    if (found := re.fullmatch("/(.+)/,/(.+)/d", script)) is None:
        raise CommandError(f"sed: bad pattern '{script}'")
    ends = [_pattern(process, text, {}) for text in found.groups()]
    inside = False
    async for line in _lines(process, "-"):
        edge = ends[inside].search(line) is not None
        if not (inside or edge):
            await process.stdout.write(line)
        inside ^= edge
    return 0


async def wc(process: Process) -> int:
    """``wc -c`` and ``wc -l`` of standard input."""
    options, _ = process.options("lc")
    data = await process.stdin.all()
    count = len(data.splitlines()) if "l" in options else len(data)
    await process.out(f"{count}\n")
    return 0


async def _lines(process: Process, name: str) -> AsyncIterator[bytes]:
    if name == "-":
        while line := await process.stdin.line():
            yield line
    else:
        for line in process.read(name).splitlines(keepends=True):
            yield line


TEXT: Final[dict[str, Command]] = {command.__name__: command for command in (grep, sed, tail, wc)}
