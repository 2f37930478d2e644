"""What is copied means the same as what would be dispatched: through a real shell, our own parser and a Python of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.commands.action import Action
from clawperator.app.cli.commands.execute import Execute
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import read
from clawperator.app.cli.payload_file import read_payload
from clawperator.engine import executions
from clawperator.engine.executions import build, snippets
from clawperator.engine.executions.steps import VERBS, execution, step
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from tests.support import ran, table

HOSTILE = ["-", "--text", "-h", "'", "it's", '"$(reboot)`', "a\\'b", "\x1b[2J", "\u202egpj", "\xa0", "!!", "x\ny", "\x7f", "*~#", "\U000e0001"]  # fmt: skip
seen = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
values = seen | st.sampled_from(HOSTILE)
matchers = st.builds(
    Matcher, resource_id=st.just("") | values, text_equals=values, content_desc_contains=st.just("") | values
)
texts = values.filter(lambda text: bool(text.strip(" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0")) and bool(text.strip()))
serials = st.sampled_from(["", "emulator-5554", "10.0.0.7:5555", "-odd serial's"])


@st.composite
def actions(draw: st.DrawFn) -> dict[str, Any]:
    return step(
        draw(st.sampled_from(sorted(VERBS))),
        matcher=draw(matchers),
        container=draw(st.none() | matchers),
        text=draw(texts),
        submit=draw(st.booleans()),
        application_id="com.example.tea",
        uri="geo:0,0?q='tea'",
        duration_ms=700,
    )


def understood(line: str) -> tuple[dict[str, Any], str]:
    """The payload that our own command line makes of ``line``, and the device it names."""
    program, *arguments = shlex.split(line)
    assert program == "clawperator"
    words, rest, after = find_command(arguments)
    command = load(words)
    options = read(build_parser(command), words, rest, after)
    return _payload(words, command, options), options.device_id or ""


def _payload(words: str, command: object, options: Any) -> dict[str, Any]:
    if isinstance(command, Execute):
        payload = read_payload(options.execution)
        assert isinstance(payload, dict)
    elif isinstance(command, Action):
        payload = command.payload(options)
    else:
        payload = {"observe snapshot": build.snapshot, "observe screenshot": build.screenshot}[words]()
    return validate(payload, timeout_ms=options.timeout_ms).payload


def essence(payload: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What an execution does, without names and without parameters that say what is so anyway."""
    silent = {"submit": False, "clear": False, "clickAfter": True}
    return [
        (
            action["type"],
            {name: value for name, value in action.get("params", {}).items() if silent.get(name) is not value},
        )
        for action in payload["actions"]
    ]


@given(actions(), serials)
def test_the_command_line_of_a_step_does_the_same_on_the_same_device(action: dict[str, Any], serial: str) -> None:
    payload = execution([action])
    line = snippets.execution_line(payload, serial)
    again, device = understood(line)
    assert essence(again) == essence(payload)
    assert again["timeoutMs"] == payload["timeoutMs"]
    assert device == serial
    assert line.isprintable()


@given(st.lists(actions(), min_size=2, max_size=4))
def test_the_command_line_of_several_steps_carries_the_whole_payload(several: list[dict[str, Any]]) -> None:
    payload = execution(several)
    again, _ = understood(snippets.execution_line(payload, "emulator-5554"))
    assert again == validate(payload).payload


@settings(max_examples=60)
@given(actions())
def test_a_shell_reads_the_line_as_it_was_meant(action: dict[str, Any]) -> None:
    line = snippets.execution_line(execution([action]), "emulator-5554")
    done = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, text=True, encoding="utf-8"
    )
    assert done.stdout.split("\0")[:-1] == shlex.split(line)


def test_well_known_lines() -> None:
    wifi = Matcher(text_equals="Wi‑Fi", resource_id="android:id/title")
    selector = """--selector '{"resourceId":"android:id/title","textEquals":"Wi‑Fi"}'"""
    lines = {verb: snippets.execution_line(execution([step(verb, matcher=wifi, text="-x y", application_id="a.b", uri="geo:0,0", duration_ms=1)]), "emulator-5554") for verb in VERBS}  # fmt: skip
    device = "--device-id emulator-5554"
    assert lines["tap"] == f"clawperator action click {device} {selector}"
    assert lines["long_press"] == f"clawperator action click {device} {selector} --click-type long_click"
    assert lines["enter_text"] == f"clawperator action type {device} {selector} '--text=-x y'"
    submitted = execution([step("enter_text", matcher=wifi, text="tea", submit=True)])
    assert snippets.execution_line(submitted).startswith("clawperator execute "), "type --submit presses Enter instead"
    assert lines["scroll_down"] == f"clawperator action scroll {device} --direction down"
    assert lines["back"] == f"clawperator action press-key {device} --key back"
    assert lines["open_uri"] == f"clawperator action open-uri {device} --uri geo:0,0"
    assert lines["snapshot"] == f"clawperator observe snapshot {device}"
    assert lines["verify"].startswith(f"clawperator execute {device} --execution '{{")
    assert snippets.file_line("-plan{.json", "") == "clawperator execute --execution './-plan{.json'"


def test_a_budget_that_is_not_the_commands_own_is_said() -> None:
    payload = execution([step("back")]) | {"timeoutMs": 5_000}
    assert snippets.execution_line(payload) == "clawperator action press-key --key back --timeout-ms 5000"


def test_a_compiled_execution_keeps_its_mode() -> None:
    payload = execution([step("back")]) | {"mode": "artifact_compiled"}
    again, _ = understood(snippets.execution_line(payload))
    assert again["mode"] == "artifact_compiled"
    assert snippets.execution_line(payload | {"mode": "direct"}) == "clawperator action press-key --key back"


ODD_PARAMS: list[Any] = [None, [], "x"]
ODD_BUDGETS: list[Any] = [None, "9", 1.5, True]
REFUSED: list[dict[str, Any]] = [
    {},
    {"actions": []},
    {"actions": "x", "timeoutMs": 1},
    {"actions": [3], "timeoutMs": 1_000},
    *({"timeoutMs": 9_000, "actions": [{"type": "press_key", "params": params}]} for params in ODD_PARAMS),
    *({"timeoutMs": budget, "actions": [{"type": "press_key", "params": {"key": "back"}}]} for budget in ODD_BUDGETS),
]


@table("wrong", REFUSED, ids=str)
def test_what_was_refused_is_spelled_as_it_was_given(wrong: dict[str, Any]) -> None:
    line = shlex.split(snippets.execution_line(wrong, "emulator-5554"))
    assert line[:-1] == ["clawperator", "execute", "--device-id", "emulator-5554", "--execution"]
    assert json.loads(line[-1]) == wrong


@given(st.recursive(values, lambda inner: st.dictionaries(values, inner, max_size=3)))
def test_json_is_the_same_value_and_hides_nothing(value: object) -> None:
    assert json.loads(snippets.compact(value)) == value
    assert json.loads(snippets.pretty(value)) == value
    assert snippets.compact(value).isprintable()
    assert snippets.pretty(value).replace("\n", "").isprintable()


def test_a_parameter_without_a_flag_makes_it_a_payload() -> None:
    assert snippets.command_line({"id": "s", "type": "scroll", "params": {"distanceRatio": 0.4}}) is None
    assert snippets.command_line({"id": "s", "type": "scroll_and_click", "params": {"clickAfter": False}}) is None
    assert snippets.command_line({"id": "s", "type": "click", "params": {"coordinate": {"x": 1, "y": 2}}}) is None
    typed = {"id": "t", "type": "enter_text", "params": {"matcher": {"textEquals": "a"}, "text": "-"}}
    assert snippets.command_line(typed) is None, "--text - would read stdin"


class Recorder:
    """Stands for the engine in a copied program."""

    calls: list[tuple[dict[str, Any], dict[str, Any]]]

    def __init__(self) -> None:
        type(self).calls = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def execute(self, payload: dict[str, Any], **more: Any) -> types.SimpleNamespace:
        type(self).calls.append((payload, more))
        outcome = types.SimpleNamespace(status="succeeded")
        return types.SimpleNamespace(envelope={"status": "success"}, outcome=outcome)


@settings(max_examples=40)
@given(st.lists(actions(), min_size=1, max_size=3), serials)
def test_the_program_runs_the_same_payload(several: list[dict[str, Any]], serial: str) -> None:
    payload = execution(several)
    source = snippets.python(payload, serial)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clawperator.engine.Engine", Recorder, raising=False)
        calls = []
        for _ in range(2):
            exec(
                compile(source, "copied.py", "exec"), {"__name__": "__main__"}
            )  # the point of the test: it is a program
            calls += Recorder.calls
    (first, more), (second, _) = calls
    assert more == ({"device_id": serial} if serial else {})
    assert first["commandId"] != second["commandId"], "a second run is no duplicate of the first"
    assert first | {"commandId": ""} == second | {"commandId": ""} == payload | {"commandId": ""}
    assert source.replace("\n", "").isprintable()


@given(actions(), serials)
def test_the_copied_test_runs_the_same_payload_and_asserts_its_success(action: dict[str, Any], serial: str) -> None:
    payload = execution([action])
    module: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clawperator.engine.Engine", Recorder, raising=False)
        exec(compile(snippets.pytest(payload, serial), "test_copied.py", "exec"), module)
        (test,) = [value for name, value in module.items() if name.startswith("test_")]
        test()
    ((sent, more),) = Recorder.calls
    assert more == ({"device_id": serial} if serial else {})
    assert sent | {"commandId": ""} == payload | {"commandId": ""}


@pytest.mark.parametrize("spelled", ["shell", "python"])
async def test_what_is_copied_runs(spelled: str, tmp_path: Path) -> None:
    """On a simulated device: the line in a shell of its own, the program in a Python of its own."""
    payload = execution([step("wait", matcher=Matcher(text_equals="Settings"))])
    async with Simulation([create_device()], mode="server") as simulation:
        (serial,) = simulation.serials
        (tmp_path / "clawperator").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m clawperator.app.cli "$@"\n')
        (tmp_path / "clawperator").chmod(0o700)
        env = {**os.environ, **simulation.env(), "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        command = {
            "shell": ["/bin/sh", "-c", snippets.execution_line(payload, serial)],
            "python": [sys.executable, "-c", snippets.python(payload, serial)],
        }[spelled]
        done = await ran(*command, env=env)
    assert done.exit_code == 0
    assert "wait_for_node" in done.out
    assert "success" in done.out


def test_nothing_here_needs_a_terminal() -> None:
    """The engine's spelling is for every face."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {executions.__name__}.snippets; print('textual' in sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "False\n"
