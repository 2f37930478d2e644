"""Several commands in one round trip: answers stay apart, to the last byte, whatever they contain."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.batch import run_commands, run_scripts
from clawperator.engine.adb.device import AdbDevice, ShellResult
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.device import create_device
from tests.engine.adb.test_adb_simulated import embedded
from tests.support import end_mark


class Device:
    """Answers each script with ``output``, in which ``MARK`` stands for the end of a command."""

    serial = "s"

    def __init__(self, output: bytes) -> None:
        self.output = output
        self.scripts: list[str] = []

    async def script(self, script: str, **_: Any) -> ShellResult:
        self.scripts.append(script)
        mark = end_mark(script).encode()
        return ShellResult(self.output.replace(b"MARK", mark).replace(b"WORD", mark[1:]), b"", 0)


_DATA = st.binary(max_size=40).filter(lambda data: b"MARK" not in data and b"WORD" not in data)


@given(st.lists(st.tuples(_DATA, st.integers(0, 255)), min_size=1, max_size=5))
async def test_every_answer_comes_back_whole(answers: list[tuple[bytes, int]]) -> None:
    device = Device(b"".join(data + f"MARK{code}\n".encode() for data, code in answers))
    assert [tuple(part) for part in await run_scripts(cast("AdbDevice", device), ["true"] * len(answers))] == answers


@given(_DATA)
async def test_an_answer_that_broke_off_is_an_error(output: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        await run_scripts(cast("AdbDevice", Device(output + b"MARK0\nmore")), ["true", "false"])
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE


async def test_arguments_are_quoted_and_marks_are_unpredictable() -> None:
    device = Device(b"oneMARK0\ntwo\nMARK7\n")
    commands = [("echo", "$(reboot)"), ("false",)]
    parts = [await run_commands(cast("AdbDevice", device), commands) for _ in range(2)]
    assert [(part.text, part.exit_code, part.ok) for part in parts[0]] == [("one", 0, True), ("two\n", 7, False)]
    first, second = device.scripts
    assert first.startswith("{ echo '$(reboot)'; } 2>&1 </dev/null; echo \"\nclawperator-")
    assert first != second


@pytest.mark.parametrize(
    "echoing",
    [
        "ps -A -o PID,ARGS",  # lists the shell that runs the whole script
        "cat /proc/$$/cmdline",
        "echo {script}",  # as a log of adb's commands, a prompt, or a package name would
        "echo '+ '{script}",  # as a shell that traces its commands
    ],
)
async def test_a_command_may_print_the_script_that_runs_it(echoing: str) -> None:
    from clawperator.engine.adb.quote import device_script

    sent = Device(b"MARK0\nMARK0\nMARK0\n")
    await run_scripts(cast("AdbDevice", sent), ["true"] * 3)
    values = {"script": sent.scripts[0]} if "{script}" in echoing else {}
    async with embedded(create_device()) as device:
        scripts = ["echo one", device_script(echoing, **values), "echo three; false"]
        one, echoed, three = await run_scripts(device, scripts)
    assert (one.text, three.text, three.exit_code) == ("one\n", "three\n", 1)
    if echoing.startswith("ps"):
        assert 'echo "' in echoed.text, "the simulated ps shows the script, as toybox does"


@pytest.mark.parametrize("quoted", [b"'\nWORD0'", b"$'\\nWORD0'"])
async def test_a_shell_that_traces_its_commands_prints_no_mark(quoted: bytes) -> None:
    """``set -x`` quotes the line end with which the mark begins."""
    device = Device(b"+ echo one\none\n+ echo " + quoted + b"\nMARK0\n")
    (part,) = await run_scripts(cast("AdbDevice", device), ["echo one"])
    assert (part.text.startswith("+ echo one\none\n"), part.exit_code) == (True, 0)
