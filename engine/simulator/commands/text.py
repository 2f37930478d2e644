"""Commands that filter lines."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.process import Command, Process, encode

_BASIC_SPECIAL = re.compile(r"\\?([+?{}()|])")


async def grep(process: Process) -> int:
    """``grep [-EFivcqnowlsx] [-m N] [-e PATTERN] [PATTERN] [FILES]``, line by line as the lines come."""
    options, words = process.options("EFivcqnowlshHxam:e:A:B:")
    if "e" in options:
        words.insert(0, options["e"])
    pattern = _pattern(process, process.require(words)[0], options)
    names = words[1:] or ["-"]
    limit = int(options["m"]) if options.get("m", "").isdigit() else -1
    found = 0
    for name in names:
        label = encode(f"{name}:") if (len(names) > 1 or "H" in options) and "h" not in options else b""
        count = 0
        number = 0
        async for line in _lines(process, name):
            number += 1
            if (pattern.search(line.rstrip(b"\n")) is not None) == ("v" in options):
                continue
            count += 1
            if "q" in options:
                return 0
            if not {"c", "l"} & options.keys():
                await process.stdout.write(label + _hit(line, number, pattern, options))
            if count == limit or "l" in options:
                break
        found += count
        if "c" in options:
            await process.stdout.write(label + b"%d\n" % count)
        elif "l" in options and count:
            await process.out(f"{name}\n")
    return int(not found)


def _pattern(process: Process, text: str, options: dict[str, str]) -> re.Pattern[bytes]:
    if "F" in options:
        text = "|".join(map(re.escape, text.split("\n")))
    elif "E" not in options:  # basic expressions: the backslash makes these special instead of plain
        text = _BASIC_SPECIAL.sub(lambda found: found[1] if found[0][0] == "\\" else f"\\{found[1]}", text)
    text = rf"\b(?:{text})\b" if "w" in options else rf"^(?:{text})$" if "x" in options else text
    try:
        return re.compile(encode(text), re.IGNORECASE if "i" in options else 0)
    except (re.error, OverflowError) as exc:
        raise CommandError(f"{process.name}: bad REGEX: {exc}", 2) from exc


def _hit(line: bytes, number: int, pattern: re.Pattern[bytes], options: dict[str, str]) -> bytes:
    prefix = b"%d:" % number if "n" in options else b""
    body = line.rstrip(b"\n")
    if "o" in options and "v" not in options:
        return b"".join(prefix + found[0] + b"\n" for found in pattern.finditer(body) if found[0])
    return prefix + body + b"\n"


async def head(process: Process) -> int:
    options, names = process.options("n:c:qv", digits=True)
    count = _count(process, options)
    for name in names or ["-"]:
        if "c" in options:
            await process.stdout.write((await process.contents(name))[:count])
            continue
        left = count
        async for line in _lines(process, name):
            if left <= 0:
                break
            await process.stdout.write(line)
            left -= 1
            if left == 0:
                break
    return 0


async def tail(process: Process) -> int:
    """``tail -c N [FILES]``."""
    options, names = process.options("c:")
    for name in names or ["-"]:
        data = await process.contents(name)
        await process.stdout.write(data[max(0, len(data) - _count(process, options)) :])
    return 0


def _count(process: Process, options: dict[str, str]) -> int:
    text = options.get("c") or options.get("n") or "10"
    if not re.fullmatch(r"[-+]?\d{1,9}", text):
        raise CommandError(f"{process.name}: bad number '{text}'")
    return abs(int(text))


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
    options, names = process.options("lwcm")
    letters = [letter for letter in "lwcm" if letter in options] or ["l", "w", "c"]
    for name in names or ["-"]:
        data = await process.contents(name)
        counts = {
            "l": data.count(b"\n"),
            "w": len(data.split()),
            "c": len(data),
            "m": len(data.decode("utf-8", "replace")),
        }
        row = " ".join(str(counts[letter]) for letter in letters)
        await process.out(f"{row} {name}\n" if names else f"{row}\n")
    return 0


async def _lines(process: Process, name: str) -> AsyncIterator[bytes]:
    if name == "-":
        while line := await process.stdin.line():
            yield line
    else:
        for line in process.read(name).splitlines(keepends=True):
            yield line


TEXT: Final[dict[str, Command]] = {command.__name__: command for command in (grep, head, sed, tail, wc)}
