"""No input makes a parser raise what it does not document, take long or take much memory.

A fraction of a second each here, the same inputs every time; ``--soak`` gives five minutes to inputs that nobody has tried.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import random
import re
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType

import pytest

import clawperator.engine
from tests.support import table

from .fuzzing import Parser, again, check, hold, made, run
from .parsers import PARSERS
from .seeds import NOTE, history, png

SECONDS = 300
INPUTS = 100
ORDINARY_SECONDS = 0.12

_READS = re.compile(r"(parse|read|load|decode|examine|lint|from|convert|understand|validate|judge|compile)(_|$)")
_DATA = {"str", "bytes", "str | bytes", "object", "Part", "BinaryIO", "BinaryIO | bytes", "dict[str, Any]"}
NOT_FUZZED = {
    "files.regular.read_tail": "it returns the bytes as they are",
    "skills.validation.read_entry": "it takes a path; parse_json reads the content",
    "simulator.process.decode": "in the simulator's shell: who speaks to it has started it",
    "simulator.log_print.parse_time": "as above",
}
"""Functions that read by their names, and why what they get needs no fuzzing."""

HEADER = struct.pack(">I4sIIBBBBB4x", 13, b"IHDR", 400_000, 400_000, 8, 2, 0, 0, 0)
FOUND = [
    ("logcat-words", b"u0_a" + b"9" * 5_000),
    ("logcat-text", b"9" * 5_000 + b".1  1  1 I tag: x\n"),
    ("logcat-text", b"01-01 00:00:00.000  1  1 I chatty: uid=1000 a identical " + b"9" * 5_000 + b" lines\n"),
    ("adb-server", b"OKAY" + b"FAIL" * 2_000),
    ("adb-sync", b"DENT" + bytes(12) + b"\xff\xff\xff\xff"),
    ("adb-sync", (b"DENT" + bytes(12) + b"\1\0\0\0x") * 101_000),
    ("history-ahead", json.dumps({**NOTE, "payload": "no object"}).encode()),
    ("history-file", history().replace(b"\x78\x5e", b"\x78\0")),
    ("screenshot", png()[:33] + HEADER + png()[33:]),
    ("filters", b"a+" * 180),
    ("filters", b"a{,4294967294}b" * 34),
    ("outcome", '{"stepResults":[{"id":"r","actionType":"read_text","success":true,"data":{"all":"true","count":"²"}}]}'.encode()),
]  # fmt: skip
"""Inputs that were found so, made small: each of them broke its parser."""


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
def test_every_input_is_read_or_refused(name: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--soak"):
        first = random.SystemRandom().randrange(10**9)
        print(f"inputs from {first}")
        for seed in PARSERS[name].seeds:
            hold(PARSERS[name], seed)
        run(name, PARSERS[name], seconds=SECONDS / len(PARSERS), first=first)
    else:
        run(name, PARSERS[name], seconds=ORDINARY_SECONDS, most=INPUTS)


@table(("name", "data"), FOUND, ids=[f"{name}-{number}" for number, (name, _) in enumerate(FOUND)])
def test_what_was_found_stays_fixed(name: str, data: bytes) -> None:
    hold(PARSERS[name], data)


@table("name", PARSERS)
def test_every_reader_accepts_a_seed(name: str) -> None:
    """A reader that refuses them all at its first check would hide what is behind it."""
    parser = PARSERS[name]
    for position, reader in enumerate(parser.readers):
        assert any(_accepts(reader, seed, parser) for seed in parser.seeds), f"reader {position} of {name}"


def _accepts(reader: Callable[[bytes], object], seed: bytes, parser: Parser) -> bool:
    with suppress(*parser.errors):
        reader(seed)
        return True
    return False


def test_no_parser_of_the_engine_is_forgotten() -> None:
    called = {(code.co_filename, code.co_firstlineno) for code in _called()}
    missing = {
        name
        for name, function in _functions()
        if (function.__code__.co_filename, function.__code__.co_firstlineno) not in called and name not in NOT_FUZZED
    }
    assert not missing


def test_the_reasons_are_needed() -> None:
    assert NOT_FUZZED.keys() <= {name for name, _ in _functions()}


def _functions() -> list[tuple[str, Callable[..., object]]]:
    """Public functions of the engine that by their names and first argument read data."""
    found = []
    for module in pkgutil.walk_packages(clawperator.engine.__path__, "clawperator.engine."):
        if ".skills.builtin" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if not (inspect.isfunction(value) and value.__module__ == module.name and _READS.match(name)):
                continue
            arguments = list(inspect.signature(value).parameters.values())
            if arguments and str(arguments[0].annotation) in _DATA:
                found.append((f"{module.name.removeprefix('clawperator.engine.')}.{name}", inspect.unwrap(value)))
    return found


def _called() -> set[CodeType]:
    """The code of everything that runs while the seeds are read."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for parser in PARSERS.values():
            for reader in parser.readers:
                for seed in parser.seeds[:6]:
                    with suppress(*parser.errors):
                        reader(seed)
    finally:
        sys.setprofile(before)
    return seen


# -- the fuzzer itself


def refuse(data: bytes) -> None:
    raise KeyError(data[:1])


def hang(_: bytes) -> None:
    while True:
        pass


def swell(_: bytes) -> None:
    len(b"x" * 64 * 1024 * 1024)


def test_an_input_is_made_of_its_number() -> None:
    seeds = [b"<a b='1'/>", b"x=1\ny=2\n"]
    assert [made("x", number, seeds) for number in range(50)] == [made("x", number, seeds) for number in range(50)]
    assert len({made("x", number, seeds) for number in range(200)}) > 150


@pytest.mark.parametrize("broken", [refuse, hang, swell])
def test_what_breaks_the_property_is_found_with_how_to_run_it_again(
    broken: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.hostile.fuzzing.CPU_SECONDS", 0.2)
    monkeypatch.setattr("tests.hostile.fuzzing.MEMORY", 32 * 1024 * 1024)
    monkeypatch.delenv("CLAWPERATOR_CORPUS", raising=False)
    with pytest.raises(AssertionError) as caught:
        check("x", Parser([broken], [b"seed"]), 7)
    assert str(caught.value).startswith(again("x", 7))
