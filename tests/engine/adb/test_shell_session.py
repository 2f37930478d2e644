"""One shell for several scripts: its marks in output that arrives in any pieces, with noise around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clawperator.engine import EngineError
from clawperator.engine.adb.device import AdbDevice, ShellStream
from clawperator.engine.adb.protocol import STDERR, STDOUT
from clawperator.engine.adb.shell_session import ShellSession
from tests.support import end_mark

Pieces = list[tuple[int, str]]


class Stream:
    """A device's shell that answers with ``pieces``, in which ``MARK`` stands for the session's mark."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.mark = ""

    async def write(self, data: bytes) -> None:
        self.mark = end_mark(data.decode())

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        for channel, text in self.pieces:
            yield channel, text.replace("MARK", self.mark).encode()


def session(pieces: Pieces) -> ShellSession:
    trace = SimpleNamespace(of=lambda *_: nullcontext(SimpleNamespace()))
    device = SimpleNamespace(serial="s", server=SimpleNamespace(trace=trace))
    return ShellSession(cast("AdbDevice", device), cast("ShellStream", Stream(pieces)))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([(STDOUT, "out\nMARK7\n"), (STDERR, "MARK7\n")], ("out\n", "", 7)),
        ([(STDERR, "bad\nMARK0\n"), (STDOUT, "MARK0\n")], ("", "bad\n", 0)),
        ([(STDOUT, "a"), (STDOUT, "bMARK12"), (STDERR, "MARK127\n"), (STDOUT, "7\n")], ("ab", "", 127)),
        ([(STDOUT, "out\r\nMARK0\r\n"), (STDERR, "MARK0\r\n")], ("out\r\n", "", 0)),
        # a program that was left running, or the linker, writes behind the mark
        ([(STDERR, "MARK0\nWARNING: linker: libvendor.so\n"), (STDOUT, "out\nMARK0\n")], ("out\n", "", 0)),
        ([(STDERR, "MARK0\nKilled"), (STDOUT, "out\nMARK0\n")], ("out\n", "", 0)),
    ],
)
async def test_a_script_ends_at_its_marks(pieces: Pieces, expected: tuple[str, str, int]) -> None:
    done = await session(pieces).run("true", timeout=5)
    assert (done.stdout.decode(), done.stderr.decode(), done.exit_code) == expected


@pytest.mark.parametrize("pieces", [[], [(STDOUT, "MARK0\n")], [(STDOUT, "MARKx\n"), (STDERR, "MARK0\n")]])
async def test_a_shell_that_ends_in_the_middle_is_a_lost_device(pieces: Pieces) -> None:
    with pytest.raises(EngineError, match="in the middle of a script"):
        await session(pieces).run("true", timeout=5)


async def test_the_output_of_a_script_is_bounded() -> None:
    flood: list[Any] = [(STDOUT, "x" * 1_000)] * 20
    with pytest.raises(EngineError, match="device shell"):
        await session(flood).run("true", timeout=5, limit=5_000)
