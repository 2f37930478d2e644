"""Several commands in one round trip: answers stay apart, to the last byte, whatever they contain."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.batch import _split, run_commands
from clawperator.engine.adb.device import AdbDevice, ShellResult
from clawperator.engine.errors import EngineError, ErrorCode

MARK = b"clawperator-0123456789abcdef:"


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 255)), min_size=1, max_size=5))
def test_every_answer_comes_back_whole(answers: list[tuple[bytes, int]]) -> None:
    output = b"".join(data + MARK + f"{code}\n".encode() for data, code in answers)
    assert [tuple(part) for part in _split(output, MARK, len(answers), "s")] == answers


@given(st.binary(max_size=200))
def test_an_answer_that_broke_off_is_an_error(output: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        _split(output + MARK + b"0\nmore", MARK, 2, "s")
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE


async def test_arguments_are_quoted_and_marks_are_unpredictable() -> None:
    scripts: list[str] = []

    class Device:
        serial = "s"

        async def script(self, script: str, **_: Any) -> ShellResult:
            scripts.append(script)
            mark = script.rpartition("echo ")[2].removesuffix("$?")
            return ShellResult(f"one{mark}0\ntwo\n{mark}7\n".encode(), b"", 0)

    device = cast("AdbDevice", Device())
    parts = [await run_commands(device, [("echo", "$(reboot)"), ("false",)]) for _ in range(2)]
    assert [(part.text, part.exit_code, part.ok) for part in parts[0]] == [("one", 0, True), ("two\n", 7, False)]
    assert scripts[0].startswith("{ echo '$(reboot)'; } 2>&1 </dev/null; echo clawperator-")
    assert scripts[0] != scripts[1]
