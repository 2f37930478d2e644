"""Mutation fuzzing of parsers: inputs made of seeds by a number, and the property that every one of them has to hold.

Hypothesis makes values from a grammar, and would have to be given that of every format; coverage-guided fuzzers for Python need
a compiler. Mutations of real captures reach the same branches with the few lines below.

An input is a function of the parser's name and a number, so a failure is found again with what it prints::

    python -m tests.hostile.fuzzing <parser> <number>        # runs that one input
    python -m tests.hostile.fuzzing <parser> <number> --show # writes it to stdout
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from clawperator.engine.errors import EngineError

MAX_INPUT = 64 * 1024
CPU_SECONDS = 5.0
"""Processor time that one input may take: not the clock's, so that a busy machine fails nothing."""
MEMORY = 96 * 1024 * 1024
"""Bytes by which one input may raise the peak of the process."""

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63, 2**64 - 1)
_NUMBERS = (
    b"0",
    b"-1",
    b"1e309",
    b"-0",
    b"9" * 20,
    b"9" * 5_000,
    b"0x7fffffff",
    b"1.5",
    b"\xd9\xa3",
    b"",
    b"1_0",
    b"NaN",
)
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 2**31, 2**63, 10**400, "", "0", "\u00b2", "\ud800", "\0", "\n", "a" * 5_000, "[" * 200, "../../x", "*",
    "-" * 300, [], {}, [[]], {"": None}, [None] * 60, {"a": {"a": {"a": 1}}},
)  # fmt: skip
_TOKENS = (
    b"\0", b"\r\n", b"\n\n", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"\xc3",
    b"\x1b[2J", b"\x1b]0;x\x07", b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"%s", b"{{A}}",
    b"../", b"/", b"${x}", b"`id`", b"null", b"true", b":", b"=", b",", b"#", b"-", b" ", b"\t", b"\xc2\x85", b"\xe2\x80\xa8",
)  # fmt: skip
_DIGITS = re.compile(rb"[0-9]+")
_WORD = re.compile(rb"[A-Za-z_.]{2,}")


Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


class Parser(NamedTuple):
    """What is fuzzed: each of ``readers`` takes the bytes of an input and raises nothing but ``errors``."""

    readers: Sequence[Callable[[bytes], object]]
    seeds: Sequence[bytes]
    errors: tuple[type[Exception], ...] = (EngineError,)


class TooSlow(BaseException):
    pass


# -- inputs


def made(name: str, number: int, seeds: Sequence[bytes]) -> bytes:
    """Return the input ``number`` of the parser ``name``: up to 16 mutations of a seed."""
    dice = random.Random(f"{name}/{number}")
    data = _piece(dice, dice.choice(seeds), MAX_INPUT)
    mutations: Sequence[Mutation] = (_json,) if data.startswith((b"{", b"[")) and dice.random() < 0.7 else _MUTATIONS
    for _ in range(1 << dice.randrange(5)):
        data = dice.choice(mutations)(dice, data, seeds)[:MAX_INPUT]
    return data


def _piece(dice: random.Random, data: bytes, most: int) -> bytes:
    start = dice.randrange(len(data) - most) if len(data) > most else 0
    return data[start : start + most]


def _span(dice: random.Random, data: bytes) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + int(dice.expovariate(1 / 24)))


def _flip(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _delete(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(dice, data)
    return data[:start] + data[end:]


def _truncate(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _repeat(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(dice, data)
    return data[:end] + data[start:end] * dice.choice((1, 2, 10, 1_000, 20_000)) + data[end:]


def _token(dice: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Insert a sign that means something somewhere, or a word of another place."""
    words: Sequence[bytes] = _WORD.findall(_piece(dice, dice.choice(seeds), 4_096)) if dice.random() < 0.3 else ()
    start, end = _span(dice, data)
    return data[:start] + dice.choice(words or _TOKENS) + data[end if dice.random() < 0.5 else start :]


def _splice(dice: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Continue somewhere else, in this seed or another."""
    other = _piece(dice, dice.choice(seeds), MAX_INPUT)
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def _length(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Overwrite what may be a length field, binary or in hexadecimal digits."""
    value, size = dice.choice(_INTERESTING), dice.choice((1, 2, 4, 8))
    field = (value % 256**size).to_bytes(size, dice.choice(("little", "big")))
    at = dice.randrange(len(data) + 1)
    field = dice.choice((field, b"%04x" % (value % 65_536)))
    return data[:at] + field + data[at + len(field) :]


def _number(dice: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    places = list(_DIGITS.finditer(data))
    if not places:
        return data
    place = dice.choice(places)
    return data[: place.start()] + dice.choice(_NUMBERS) + data[place.end() :]


def _json(dice: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Put another value in one place of a JSON text, or of one line of JSON; what is neither is cut instead."""
    start = data.rfind(b"\n", 0, dice.randrange(len(data) + 1)) + 1
    for at, text in ((0, data), (start, data[start:].partition(b"\n")[0])):
        with suppress(ValueError, RecursionError):
            return data[:at] + _other_value(dice, json.loads(text)) + data[at + len(text) :]
    return _delete(dice, data, seeds)


def _other_value(dice: random.Random, value: Any) -> bytes:
    if places := list(_places(value)):
        (holder, key), (other, name) = dice.choice(places), dice.choice(places)
        holder[key] = copy.deepcopy(dice.choice((*_VALUES, other[name])))
        if dice.random() < 0.2:
            del holder[key]
    return json.dumps(value).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and the key or index there."""
    held: list[Any] = [value] if isinstance(value, dict | list) else []
    while held:
        holder = held.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                held.append(holder[key])


_MUTATIONS = (_flip, _delete, _truncate, _repeat, _token, _token, _splice, _length, _number)


# -- the property


def check(name: str, parser: Parser, number: int) -> None:
    """Hold the input ``number`` to the property; an ``AssertionError`` begins with how to run it again."""
    hold(parser, made(name, number, parser.seeds), again(name, number))


def hold(parser: Parser, data: bytes, label: str = "") -> None:
    """Raise ``AssertionError`` unless every reader takes or refuses ``data`` within the bounds."""
    before = _peak(reset=True)
    try:
        for reader in parser.readers:
            with _bounded(), suppress(*parser.errors):
                reader(data)
    except (Exception, TooSlow) as exc:
        where = "".join(traceback.format_exception(exc)[-6:])
        raise AssertionError(f"{label}\n{len(data)} bytes, {data[:200]!r}…\n{where}") from exc
    grown = _peak() - before
    assert grown < MEMORY, f"{label}\n{len(data)} bytes, {data[:200]!r}… took {grown >> 20} MB"


def again(name: str, number: int) -> str:
    corpus = f"CLAWPERATOR_CORPUS={os.environ['CLAWPERATOR_CORPUS']} " if os.environ.get("CLAWPERATOR_CORPUS") else ""
    return f"to run it again: {corpus}python -m tests.hostile.fuzzing {name} {number}"


def run(name: str, parser: Parser, *, seconds: float, first: int = 0, most: int = sys.maxsize) -> int:
    """Check inputs from the number ``first`` on until ``seconds`` or ``most`` of them are over. Return how many."""
    end, count = time.monotonic() + seconds, 0
    while count < most and time.monotonic() < end:
        check(name, parser, first + count)
        count += 1
    return count


@contextmanager
def _bounded() -> Iterator[None]:
    def expired(*_: Any) -> None:
        raise TooSlow(f"more than {CPU_SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, expired)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _peak(*, reset: bool = False) -> int:
    """The most bytes of memory that this process had, where Linux lets it since the last ``reset``."""
    with suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_bytes(b"5")
        return int(Path("/proc/self/status").read_bytes().partition(b"VmHWM:")[2].split()[0]) * 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def main(name: str, number: str, *more: str) -> None:
    from tests.hostile.parsers import PARSERS

    if "--show" in more:
        sys.stdout.buffer.write(made(name, int(number), PARSERS[name].seeds))
    elif number.endswith("s"):
        for each in PARSERS if name == "all" else [name]:
            first = random.SystemRandom().randrange(10**9)
            try:
                count = run(each, PARSERS[each], seconds=float(number[:-1]), first=first)
                print(f"{each}: {count} inputs from {first}")
            except AssertionError as exc:
                print(f"{each}: FAILED {exc}", flush=True)
    else:
        check(name, PARSERS[name], int(number))
        print("held")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
