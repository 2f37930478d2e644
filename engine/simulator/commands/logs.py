"""``log`` and ``logcat``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from getopt import GetoptError, gnu_getopt
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.log_buffer import BUFFERS, FIRST_PRIORITY, HEADER, LEVELS, LogReader, LogRecord
from clawperator.engine.simulator.log_print import FORMATS, MODIFIERS, LogPrinter, parse_time
from clawperator.engine.simulator.process import Command, Process, encode
from clawperator.engine.simulator.streams import Sink

MAX_LOG_BYTES: Final = 1024
"""``log`` truncates its message here (android-facts 2i)."""
DEFAULT_BUFFERS: Final = ("main", "system", "crash")
STDIO_BLOCK: Final = 4096
STALL_SECONDS: Final = 32.0

_SHORT_OPTIONS: Final = "cdt:T:gG:sv:b:B"
_LONG_OPTIONS: Final = {
    "binary": "B",
    "buffer=": "b",
    "buffer-size=": "G",
    "clear": "c",
    "dump": "d",
    "format=": "v",
}
_SIZE_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


async def log(process: Process) -> int:
    """``log [-p PRIORITY] [-t TAG] MESSAGE``."""
    options, words = process.options("+p:t:")
    level = options.get("p", "i")[:1].upper()
    if level not in LEVELS:
        raise CommandError(f"log: bad -p '{options['p']}'")
    if not words:
        raise CommandError('log: Needs 1 argument (see "log --help")')
    device = process.device
    message = encode(" ".join(words) + (" " if device.sdk <= 25 else ""))[:MAX_LOG_BYTES].decode("utf-8", "replace")
    pid = device.new_pid()
    device.log.write(pid=pid, tid=pid, uid=process.uid, level=level, tag=options.get("t", "log"), message=message)
    return 0


@dataclass(slots=True)
class _Query:
    """The arguments of one ``logcat``."""

    sdk: int
    zone: tzinfo
    now_ns: int
    buffers: list[str] = field(default_factory=list)
    dump: bool = False
    binary: bool = False
    style: str = ""
    modifiers: list[str] = field(default_factory=list)
    last: int | None = None
    after_ns: int | None = None
    pid: int | None = None
    levels: dict[bytes, int] = field(default_factory=dict)
    verb: str = ""
    size: int = 0

    @property
    def failure(self) -> int:
        """The exit code for invalid arguments."""
        return 1 if self.sdk >= 24 else 255


async def logcat(process: Process) -> int:
    device = process.device
    query = _Query(device.sdk, time_zone(process), device.log.now_ns())
    try:
        _parse(query, process.arguments)
    except GetoptError as exc:
        raise CommandError(f"logcat: Unrecognized Option {exc.opt}", query.failure) from exc
    except _Refusal as exc:
        raise CommandError(f"logcat: {exc}", query.failure) from exc
    names = query.buffers or list(DEFAULT_BUFFERS)
    if query.verb:
        return await _VERBS[query.verb](process, query, names)
    reader = device.log.reader(names, after_ns=query.after_ns, last=query.last)
    await (_print_binary if query.binary else _print_text)(query, reader, process.stdout)
    return 0


def time_zone(process: Process) -> tzinfo:
    """``TZ``, else the device's own zone; UTC for one unknown to this host."""
    name = process.variables.get("TZ") or process.device.props.get("persist.sys.timezone") or "UTC"
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


# -- arguments


class _Refusal(Exception):  # noqa: N818 - becomes a CommandError with the exit code of the API level
    """Why the arguments cannot be used."""


def _parse(query: _Query, arguments: Sequence[str]) -> None:
    long_options = [*_LONG_OPTIONS, *(("pid=",) if query.sdk >= 24 else ())]
    pairs, specs = gnu_getopt(list(arguments), _SHORT_OPTIONS, long_options)
    for option, value in pairs:
        name = option.lstrip("-")
        name = _LONG_OPTIONS.get(name, _LONG_OPTIONS.get(f"{name}=", name))
        _OPTIONS[name](query, value)
    for spec in (part for each in specs for part in re.split(r"[ \t,]+", each) if part):
        _filter_spec(query, spec)


def _filter_spec(query: _Query, spec: str) -> None:
    tag, colon, letter = spec.partition(":")
    level = LEVELS.find(letter.upper()) if letter else (1 if tag == "*" else 0)
    if not tag or len(letter) > 1 or (colon and level < 0):
        raise _Refusal(f"Invalid filter expression '{spec}'")
    query.levels[encode(tag)] = level


def _buffers(query: _Query, value: str) -> None:
    for name in value.split(","):
        if name == "all":
            query.buffers += [each for each in BUFFERS if each not in ("events", "stats", "security")]
        elif name == "default":
            query.buffers += DEFAULT_BUFFERS
        elif name in BUFFERS:
            query.buffers.append(name)
        else:
            raise _Refusal(f"unknown buffer {name}")


def _style(query: _Query, value: str) -> None:
    for name in re.split(r"[ ,\t]+", value):
        if name in FORMATS:
            query.style = name
        elif name in MODIFIERS and query.sdk >= 24:
            query.modifiers.append(name)
        else:
            raise _Refusal(f'Invalid parameter "{value}" to -v')


def _tail(query: _Query, value: str) -> None:
    """A count, or a time: entries after it (android-facts 2a, 2b)."""
    if value.isascii() and value.isdigit():
        query.last = max(1, int(value[:9]))
        return
    query.after_ns = parse_time(value, query.zone, query.now_ns, sdk=query.sdk)
    if query.after_ns is None:
        raise _Refusal(f'-T "{value}" not in time format')


def _tail_and_dump(query: _Query, value: str) -> None:
    query.dump = True
    _tail(query, value)


def _size(query: _Query, value: str) -> None:
    match = re.fullmatch(r"(\d{1,9})([KMG]?)", value)
    size = int(match[1]) * _SIZE_UNITS[match[2]] if match else 0
    if not 64 << 10 <= size <= 256 << 20:
        raise _Refusal(f"Invalid -G {value} is not a buffer size between 64K and 256M")
    query.verb, query.size = "G", size


def _number(value: str) -> int:
    if not re.fullmatch(r"\d{1,9}", value):
        raise _Refusal(f"{value} is out of range")
    return int(value)


def _set(name: str, value: object = True) -> Callable[[_Query, str], None]:
    def handle(query: _Query, argument: str) -> None:
        setattr(query, name, _number(argument) if value is int else value)

    return handle


def _silence(query: _Query, _value: str) -> None:
    query.levels.setdefault(b"*", LEVELS.index("S"))


_OPTIONS: Final[dict[str, Callable[[_Query, str], None]]] = {
    "b": _buffers,
    "B": _set("binary"),
    "c": _set("verb", "c"),
    "d": _set("dump"),
    "g": _set("verb", "g"),
    "G": _size,
    "pid": _set("pid", int),
    "s": _silence,
    "t": _tail_and_dump,
    "T": _tail,
    "v": _style,
}


# -- reading


async def _batches(query: _Query, reader: LogReader, deliver: Callable[[list[LogRecord]], Awaitable[None]]) -> None:
    """Pass on logd's records until a dump is complete."""
    loop = asyncio.get_running_loop()
    while True:
        records = reader.take()
        if query.after_ns is not None and 26 <= query.sdk <= 30:  # such a logd withholds records later than its clock
            records = [record for record in records if record.time_ns > query.after_ns]
        if query.pid is not None:
            records = [record for record in records if record.header()[0] == query.pid]
        began = loop.time()
        await deliver(records)
        if query.dump:
            return
        given_up = loop.time() - began > STALL_SECONDS and query.sdk >= 24  # android-facts 2e
        if not given_up:
            await reader.wait()
        if given_up or reader.ended:
            raise CommandError("logcat: Unexpected EOF!" if query.sdk >= 31 else "read: unexpected EOF!")


async def _print_binary(query: _Query, reader: LogReader, sink: Sink) -> None:
    """Frames unchanged; API 33 flushes them in stdio's blocks, and the rest at exit (android-facts 1d)."""
    held = bytearray()

    async def deliver(records: list[LogRecord]) -> None:
        nonlocal held
        held += b"".join(_frames(query.sdk, records))
        ready = len(held) // STDIO_BLOCK * STDIO_BLOCK if query.sdk == 33 and not query.dump else len(held)
        if ready:
            data, held = bytes(held[:ready]), held[ready:]
            await sink.write(data)

    await _batches(query, reader, deliver)


def _frames(sdk: int, records: Iterable[LogRecord]) -> Iterable[bytes]:
    """Before API 24 a header has no uid (version 3, 24 bytes)."""
    if sdk >= 24:
        return [record.frame for record in records]
    size = HEADER.size - 4
    head = size.to_bytes(2, "little")
    return [r.frame[:2] + head + r.frame[4:size] + r.frame[HEADER.size :] for r in records]


async def _print_text(query: _Query, reader: LogReader, sink: Sink) -> None:
    printer = LogPrinter(
        query.style or ("threadtime" if query.sdk >= 24 else "brief"), query.modifiers, zone=query.zone
    )
    lowest = query.levels.get(b"*", 0)

    async def deliver(records: list[LogRecord]) -> None:
        pieces: list[bytes] = []
        for record in records:
            pieces.append(printer.divider(record.header()[2]))
            level = record.frame[HEADER.size] - FIRST_PRIORITY
            if level >= query.levels.get(record.text()[0], lowest):
                pieces.append(printer.entry(record))
        if data := b"".join(pieces):
            await sink.write(data)

    await _batches(query, reader, deliver)


# -- logcat's other verbs

_Verb = Callable[[Process, _Query, list[str]], Awaitable[int]]


async def _clear(process: Process, _query: _Query, names: list[str]) -> int:
    process.device.log.clear(names)
    return 0


async def _sizes(process: Process, query: _Query, names: list[str]) -> int:
    for name in names:
        used, capacity = process.device.log.usage(name)
        if query.sdk >= 31:
            text = f"ring buffer is {_size_text(capacity)} ({_size_text(used)} consumed, {_size_text(used)} readable)"
            limits = "max entry is 5120 B, max payload is 4068 B"
        else:
            text = f"ring buffer is {_size_text(capacity, '')}b ({_size_text(used, '')}b consumed)"
            limits = "max entry is 5120b, max payload is 4068b"
        await process.out(f"{name}: {text}, {limits}\n")
    return 0


def _size_text(size: int, gap: str = " ") -> str:
    """``256 KiB``, or ``256K`` before API 31."""
    for letter, unit in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= unit:
            return f"{size // unit}{gap}{letter}{'iB' if gap else ''}"
    return f"{size}{gap}{'B' if gap else ''}"


async def _resize(process: Process, query: _Query, names: list[str]) -> int:
    for name in names:
        process.device.log.resize(name, query.size)
    return 0


_VERBS: Final[dict[str, _Verb]] = {"c": _clear, "g": _sizes, "G": _resize}

LOGS: Final[dict[str, Command]] = {"log": log, "logcat": logcat}
