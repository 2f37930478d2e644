"""Every command × every outcome: the exit code is that of the table in the reference (cli.md#exit-codes)."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from clawperator.app.cli.command import EXIT_CODES, executing_commands, exit_code
from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import composition, verbs
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.backends.operator import OperatorBackend
from tests.app.cli.conftest import Plug

if TYPE_CHECKING:
    from clawperator.engine.executions.command import Command
    from clawperator.engine.simulator.device import SimulatedDevice
    from tests.app.cli.conftest import Cli

SETTINGS = "com.android.settings"
STATUSES = ("succeeded", "partial", "failed", "unknown")
PLAN = {
    "commandId": "c",
    "taskId": "t",
    "source": "tests",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5_000,
    "actions": [
        {"id": "a", "type": "read_text", "params": {"matcher": {"textEquals": "x"}}},
        {"id": "b", "type": "read_text", "params": {"matcher": {"textEquals": "x"}}},
    ],
}
LINES = {
    "execute": shlex.quote(json.dumps(PLAN)),
    "exec": shlex.quote(json.dumps(PLAN)),
    "observe snapshot": "",
    "observe screenshot": "",
    "inspect ui": "--view compact",
    "match": "--text x",
    "suggest": "--text x",
    "action open-app": "--app a.b",
    "action open-uri": "--uri https://example.org/",
    "action click": "--text x",
    "action read": "--text x --validator temperature",
    "action type": "--id x --text y",
    "action wait": "--text x",
    "action press-key": "--key back",
    "action scroll": "",
    "action scroll-until": "--text x --click",
    "action scroll-and-click": "--text x",
    "set": "--id a:id/x --checked true",
    "submit": "",
    "input key": "BACK",
    "input text": "abc",
    "input tap": "--text x",
    "input long-press": "--text x",
    "input swipe": "--text x --to 5,5",
    "input drag": "--text x --to 5,5",
    "app start": "a.b",
    "app stop": "a.b",
    "snapshot": "",
    "screenshot": "",
    "click": "--text x",
    "read": "--text x",
    "read-value": "--label x",
    "type": "y --id x",
    "wait": "--text x",
    "wait-for-nav": "--text x --timeout 1000",
    "open": "a.b",
    "close": "a.b",
    "press": "home",
    "back": "",
    "scroll": "down",
    "scroll-until": "--text x",
    "scroll-and-click": "--text x",
    "sleep": "1",
    "query": "--text x",
    "swipe": "--at 1,1 --to 5,5",
    "drag": "--at 1,1 --to 5,5",
    "toast": "hello",
    "on-screen-log set": "hello",
    "on-screen-log clear": "",
    "notifications list": "",
    "notifications dismiss": "key",
    "notifications action": "key reply",
    "media list": "",
    "media status": "--app a.b",
    "media observe": "",
    "media pause": "--app a.b",
    "media play": "--session s",
    "media seek": "1 --session s",
    "record start": "",
    "record stop": "",
    "demo": "--json",
    "skills run": "com.android.settings.overview --artifact overview --registry builtin",
}
BY_SHELL = ("input key", "input text")
"""Commands that send nothing to the Operator: Android's own ``input`` does all."""
HOST_CLOSES = ("app stop", "close")
COUNTER = itertools.count()


def tree() -> str:
    """A screen that differs each time: one focused field that is checked."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><hierarchy rotation="0"><node index="0" text="x" resource-id="a:id/x" '
        'class="android.widget.EditText" package="com.android.launcher3" content-desc="" checkable="true" checked="true" clickable="true" '
        'enabled="true" focusable="true" focused="true" scrollable="false" long-clickable="false" password="false" '
        f'selected="false" bounds="[0,0][900,900]"><node index="0" text="{next(COUNTER)}" bounds="[0,0][9,9]"/></node></hierarchy>'
    )


def answer(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """Let every execution end with ``status``, as the Operator reports it."""

    async def run(_self: OperatorBackend, _device: Any, command: Command, trace: Any) -> Outcome:
        trace.dispatched()
        actions = json.loads(command.wire)["actions"]
        ids = command.command_id, command.task_id
        if status == "unknown":
            raise EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "no result")
        if status == "failed":
            return Outcome(Envelope(*ids, "failed", error="Task execution failed: No UI node found matching criteria"))
        results = [StepResult(a["id"], a["type"], True, data_of(a["type"])) for a in actions]
        if status == "partial":
            results[-1] = results[-1]._replace(success=False, data={"error": "VALIDATOR_MISMATCH", "raw_text": "x"})
        return Outcome(Envelope(*ids, "success", tuple(results)))

    monkeypatch.setattr(OperatorBackend, "run", run)


def data_of(action_type: str) -> dict[str, str]:
    return {"text": tree(), "actual_format": "hierarchy_xml"} if action_type == "snapshot_ui" else {"text": "1"}


@pytest.fixture
def phone(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> SimulatedDevice:
    monkeypatch.setattr(verbs, "SETTLE_MS", 50)
    monkeypatch.setattr(composition, "POLL_SECONDS", 0.01)
    return plug(device={"generation": "0.12"})


def test_the_table_has_every_command_that_runs_executions() -> None:
    assert {*LINES, "record replay"} == set(executing_commands())
    assert EXIT_CODES == {"succeeded": 0, "partial": 1, "failed": 1, "unknown": 1, "not_run": 1, "interrupted": 130}
    assert {status: exit_code(status, allow_partial=True) for status in EXIT_CODES} == {**EXIT_CODES, "partial": 0}


@pytest.mark.cold  # the warm process does not have what this test replaces
@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=[] if number % 4 == 0 else pytest.mark.ci) for number, words in enumerate(LINES)],
)
def test_every_outcome(
    words: str, phone: SimulatedDevice, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = (*words.split(), *shlex.split(LINES[words]))
    for status in STATUSES:
        answer(monkeypatch, status)
        phone.input.key("HOME")  # the windows are real: what lies over a node is not tapped
        run = cli(*line)
        found = run.document.get("outcome", {}).get("status") or _of(run.document)
        if words in BY_SHELL or (words in HOST_CLOSES and status != "unknown"):
            expected = "succeeded"
        elif status == "partial" and _is_composed(words):
            expected = "failed"
        else:
            expected = status
        assert found == expected, run.out
        assert run.exit_code == EXIT_CODES[expected], run.out
        if executing_commands()[words]:
            phone.input.key("HOME")
            accepted = cli(*line, "--allow-partial", "--no-history")
            assert accepted.exit_code == exit_code(expected, allow_partial=True), accepted.out
            if _takes_devices(words):
                many = cli(*line, "--devices", "all", "--junit", str(tmp_path / "many.xml"))
                assert many.exit_code == EXIT_CODES[expected], many.out


def _is_composed(words: str) -> bool:
    return words in ("set", "submit") or words.startswith("input ")


def _takes_devices(words: str) -> bool:
    return words in ("execute", "exec", "skills run")


def _of(document: dict[str, Any]) -> str:
    """The status of an answer without an outcome: a report, an error, or what a look was taken for."""
    if "executions" in document and not document["ok"]:
        return str(document["executions"][-1]["outcome"]["status"])
    return "succeeded" if document.get("ok") else "failed"


CHECK = ("--selector", '{"textEquals":"Dark theme"}', "--validator", "temperature")


@pytest.mark.parametrize("words", [("action", "read"), ("read",)])
def test_a_failed_check_fails_on_both_spellings(phone: SimulatedDevice, cli: Cli, words: tuple[str, ...]) -> None:
    phone.ui.show(SETTINGS, "display")
    run = cli(*words, *CHECK)
    assert (run.exit_code, run.document["ok"], run.document["outcome"]["status"]) == (1, True, "partial")
    assert run.document["outcome"]["error"]["code"] == "VALIDATOR_MISMATCH"
    accepted = cli(*words, *CHECK, "--allow-partial")
    assert (accepted.exit_code, accepted.document["outcome"]["status"]) == (0, "partial")
    absent = cli(*words, "--text", "nothing like this", "--allow-partial")
    assert (absent.exit_code, absent.document["outcome"]["status"]) == (1, "failed")


def test_an_app_that_the_host_closed_is_closed(phone: SimulatedDevice, cli: Cli) -> None:
    phone.ui.show(SETTINGS, "display")
    plan = {**PLAN, "actions": [{"id": "a", "type": "close_app", "params": {"applicationId": SETTINGS}}]}
    for words in ("execute", "exec"):
        run = cli(words, json.dumps(plan))
        assert (run.exit_code, run.document["outcome"]["status"]) == (0, "succeeded")


@pytest.mark.parametrize(("more", "tag", "code"), [({"validator": "temperature"}, "failure", 1), ({}, "system-out", 0)])
def test_junit_of_one_device(
    phone: SimulatedDevice, cli: Cli, tmp_path: Path, more: dict[str, str], tag: str, code: int
) -> None:
    phone.ui.show(SETTINGS, "display")
    action = {"id": "a", "type": "read_text", "params": {"matcher": {"textEquals": "Dark theme"}, **more}}
    report = tmp_path / "one.xml"
    run = cli("execute", json.dumps({**PLAN, "actions": [action]}), "--junit", str(report), "--brief")
    assert run.exit_code == code
    (case,) = ET.parse(report).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("clawperator.execute", "emulator-5554")
    assert [child.tag for child in case] == [tag]
    assert run.document["outcome"]["status"] == ("partial" if code else "succeeded")


def test_junit_of_an_error(plug: Plug, cli: Cli, tmp_path: Path) -> None:
    plug()
    report = tmp_path / "one.xml"
    run = cli("execute", json.dumps(PLAN), "--device", "nobody", "--junit", str(report))
    assert (run.exit_code, run.document["code"]) == (1, "DEVICE_NOT_FOUND")
    (failure,) = ET.parse(report).iter("failure")
    assert failure.get("type") == "DEVICE_NOT_FOUND"
    script = cli("skills", "run", "com.example.none", "--junit", str(report))
    assert script.exit_code == 1
    assert [each.get("type") for each in ET.parse(report).iter("failure")] == [script.document["code"]]
