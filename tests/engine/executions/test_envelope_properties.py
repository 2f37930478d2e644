"""Damaged envelopes through the whole finish path: a result that is true, or one error with a specific code; never anything else."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.app.cli.pretty import draw
from clawperator.app.console.execution.outcome import ended
from clawperator.engine import fan_out
from clawperator.engine.adb.device import ShellResult
from clawperator.engine.contracts.envelope import difference, parse_envelope
from clawperator.engine.diagnostics.safe_logs import mask_envelope
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import composition, plan_run, run, verbs
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.brief import brief
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.outcome import status_of
from clawperator.engine.executions.screenshot import CaptureError
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy import blind
from clawperator.engine.logcat.signals import CapturedHierarchy
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.outcomes import settle
from tests.support import examples, table

TREE = (
    '<hierarchy rotation="0"><node index="0" text="tea" resource-id="a:id/x" class="android.widget.EditText" package="a.b" checkable="true" '
    'checked="true" clickable="true" enabled="true" focused="true" bounds="[0,0][90,90]"><node index="0" text="1" resource-id="a:id/y" '
    'bounds="[0,0][9,9]"/></node></hierarchy>'
)
ACTIONS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "open_app": ({"applicationId": "a.b"}, {"application_id": "a.b"}),
    "close_app": ({"applicationId": "a.b"}, {"error": "UNSUPPORTED_RUNTIME_CLOSE", "application_id": "a.b"}),
    "click": ({"matcher": {"textEquals": "x"}}, {"click_types": "click"}),
    "read_text": ({"matcher": {"textEquals": "x"}, "all": True}, {"text": '["1","2"]', "all": "true", "count": "2"}),
    "enter_text": ({"matcher": {"textEquals": "x"}, "text": "t"}, {"text": "t", "submit": "false"}),
    "wait_for_node": ({"matcher": {"textEquals": "x"}}, {"resource_id": "", "label": "x"}),
    "snapshot_ui": ({}, {"actual_format": "hierarchy_xml", "text": TREE}),
    "take_screenshot": ({}, {"error": "UNSUPPORTED_RUNTIME_SCREENSHOT"}),
    "scroll": ({"direction": "down"}, {"scroll_outcome": "moved", "settle_delay_ms": "250"}),
    "sleep": ({"durationMs": 1}, {"duration_ms": "1"}),
    "query_ui": ({}, {"query": '{"nodes":[]}'}),
    "list_notifications": ({}, {"payload": '{"schemaVersion":1,"notifications":[]}'}),
}
"""Parameters and the data of a result, by action type, as the Operator writes them (wire.md#actions-and-how-they-fail)."""
TEXT = st.sampled_from(
    ["", "x", "a0", "click", "snapshot", "hierarchy_xml", "true", "-1", "9" * 400, "\u00b2", "\x1b[2J\0", "\ud800", "VALIDATOR_MISMATCH",
     "UNSUPPORTED_RUNTIME_CLOSE", "UNSUPPORTED_RUNTIME_SCREENSHOT", "<hierarchy", TREE,
     '{"x":NaN,"y":1e999}', '{"nodes":[{"bounds":{"left":' + 4 * ("1" * 400 + ',"top":') + "0}}]}", "[" * 900 + "]" * 900, '{"id":"\\ud800"}']
)  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
KEYS = ("commandId", "taskId", "status", "stepResults", "error", "errorCode")
STEP_KEYS = ("id", "actionType", "success", "data")
DATA_KEYS = (
    "text",
    "error",
    "message",
    "count",
    "all",
    "label",
    "application_id",
    "actual_format",
    "scroll_outcome",
    "raw_text",
    "path",
    "query",
    "payload",
    "candidates",
    "candidate_count",
    "coordinate",
    "progress",
    "target",
    "dispatch_method",
)


def answer_to(plan: dict[str, Any]) -> dict[str, Any]:
    """The envelope of a success."""
    steps = [
        {"id": a["id"], "actionType": a["type"], "success": a["type"] not in ("close_app", "take_screenshot"), "data": dict(ACTIONS[a["type"]][1])}
        for a in plan["actions"]
    ]  # fmt: skip
    return {
        "commandId": plan["commandId"],
        "taskId": plan["taskId"],
        "status": "success",
        "stepResults": steps,
        "error": None,
    }


def damage(envelope: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Return it with up to four changes of the kinds that apps, logs and attackers make."""
    envelope = copy.deepcopy(envelope)
    for _ in range(data.draw(st.integers(0, 4))):
        steps = envelope.get("stepResults")
        steps = steps if isinstance(steps, list) else []
        chosen = data.draw(st.sampled_from(steps)) if steps else None
        step = chosen if isinstance(chosen, dict) else {}
        kind = data.draw(
            st.sampled_from(("drop", "add", "swap", "status", "top", "step", "data", "key", "whole", "lose"))
        )
        if kind == "drop" and steps:
            steps.pop(data.draw(st.integers(0, len(steps) - 1)))
        elif kind == "add" and steps:
            steps.append(copy.deepcopy(chosen))
        elif kind == "swap" and steps:
            steps.reverse()
        elif kind == "status":
            envelope |= {"status": "failed", "error": "Task execution failed: No UI node found matching criteria"}
        elif kind == "top":
            envelope[data.draw(st.sampled_from(KEYS))] = data.draw(JUNK)
        elif kind == "step":
            step[data.draw(st.sampled_from(STEP_KEYS))] = data.draw(JUNK)
        elif kind == "data" and isinstance(step.get("data"), dict):
            step["data"][data.draw(st.sampled_from(DATA_KEYS))] = data.draw(JUNK)
        elif kind == "key" and step:
            step.pop(data.draw(st.sampled_from([*step])))
        elif kind == "whole" and steps:
            steps[0] = data.draw(JUNK)
        elif kind == "lose":
            envelope.pop(data.draw(st.sampled_from([*envelope])), None)
    return envelope


class Device:
    serial = "emulator-5554"

    async def shell(self, words: list[str], **_: Any) -> ShellResult:
        return ShellResult(b"", b"", 0)

    async def script(self, text: str, **_: Any) -> ShellResult:
        return ShellResult(b"", b"", 0)


class DamagedBackend:
    """Answers each plan with what ``damage`` makes of a success."""

    name, look_ms = "operator", 0

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def attached(self, device: Any, trace: Trace) -> Any:
        return nullcontext_async()

    async def version(self, device: Any) -> None:
        return None

    async def run(self, device: Any, command: Any, trace: Trace) -> Outcome:
        trace.dispatched()
        text = json.dumps(damage(answer_to(json.loads(command.wire)), self._data))
        trees = [CapturedHierarchy("", xml, complete=True) for xml in self._data.draw(st.lists(TEXT, max_size=2))]
        try:
            return Outcome(parse_envelope(text), trees)
        except ValueError as exc:  # what the backend makes of it
            raise EngineError(ErrorCode.RESULT_ENVELOPE_MALFORMED, str(exc)) from exc


class nullcontext_async(nullcontext):  # type: ignore[type-arg]  # noqa: N801 -- a context manager
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_picture(*_: Any, **__: Any) -> None:
        raise CaptureError("no picture")

    monkeypatch.setattr(run, "capture", no_picture)
    monkeypatch.setattr(verbs, "SETTLE_MS", 1)
    monkeypatch.setattr(verbs, "WAIT_MS", 1)
    monkeypatch.setattr(composition, "POLL_SECONDS", 0.001)


def everything_said(finished: run.Finished, payload: dict[str, Any]) -> None:
    """Every place that reads an answer."""
    result = ExecutionResult(
        finished.envelope, finished.outcome, "emulator-5554", "x", "direct", "operator", tuple(finished.warnings)
    )
    document = result.to_dict()
    assert result.succeeded == (status_of(document) == "succeeded")
    if result.succeeded and not finished.facts:
        assert {step.status for step in finished.outcome.steps} == {"done"}
    row = fan_out.DeviceRow(fan_out.Target("s"), status_of(document), document, 1.0)
    fan_out.junit([row], "x", duration_ms=1.0, at=0.0)
    draw("executions.execution", document)
    mask_envelope(finished.envelope)
    settle(ExecutionState("c", "d", 1, 0.0), finished.envelope, 1.0)
    ended(payload, "x", finished.envelope, 1.0)
    json.dumps(brief(copy.deepcopy(document)), allow_nan=False)
    blind.add_to(finished.envelope)


@settings(max_examples=examples(1_200), deadline=None)
@given(st.lists(st.sampled_from([*ACTIONS]), min_size=1, max_size=4), st.booleans(), st.booleans(), st.data())
def test_a_plan(types: list[str], flat: bool, raw: bool, data: st.DataObject) -> None:
    actions = [{"id": f"a{n}", "type": kind, "params": ACTIONS[kind][0]} for n, kind in enumerate(types)]
    payload = {
        "commandId": "c",
        "taskId": "t",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": actions,
    }
    options = RunOptions(profile="flat" if flat else "classic", raw_envelope=raw)
    finished, code = ended_with(plan_run.run_held(DamagedBackend(data), Device(), validate(payload), options, Trace()))  # type: ignore[arg-type]  # fakes
    assert code in (None, ErrorCode.RESULT_ENVELOPE_MALFORMED)
    if finished is not None:
        everything_said(finished, payload)


def ended_with(held: Coroutine[Any, Any, run.Finished]) -> tuple[run.Finished | None, ErrorCode | None]:
    """What a run left behind: its result, or the code of its error."""
    try:
        return asyncio.run(held), None
    except EngineError as exc:
        return None, exc.code


COMPOSED = {
    "set on": lambda: verbs.set_checked({"textEquals": "tea"}, checked=True),
    "set off": lambda: verbs.set_checked({"textEquals": "tea"}, checked=False),
    "set text": lambda: verbs.set_text({"resourceId": "a:id/x"}, "coffee"),
    "submit": lambda: verbs.submit({"resourceId": "a:id/x"}, text="coffee"),
    "type": lambda: verbs.type_and_submit({"resourceId": "a:id/x"}, "coffee"),
    "gone": lambda: verbs.wait_gone({"textEquals": "none"}),
    "text": lambda: verbs.wait_text_changes({"textEquals": "tea"}),
    "app": lambda: verbs.wait_app("a.b"),
    "rows": lambda: verbs.read_rows({"resourceId": "a:id/x"}, {"y": "y"}),
}


@pytest.mark.parametrize("name", COMPOSED)
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_composition(name: str, data: st.DataObject) -> None:
    composed = COMPOSED[name]()
    checked = composed.validated()
    finished, code = ended_with(composed.run_held(DamagedBackend(data), Device(), checked, RunOptions(), Trace()))  # type: ignore[arg-type]  # fakes
    assert code in (
        None,
        ErrorCode.RESULT_ENVELOPE_MALFORMED,
        ErrorCode.HIERARCHY_MALFORMED,
        ErrorCode.HIERARCHY_TOO_LARGE,
    )
    if finished is not None:
        everything_said(finished, {"actions": [{"id": action.id} for action in composed.actions]})


PLANNED = [("a", "click"), ("b", "snapshot_ui")]


@table(
    ("steps", "status", "reason"),
    [
        ([("a", "click"), ("b", "snapshot_ui")], "success", ""),
        ([("a", "click"), ("b", "snapshot")], "success", ""),
        ([], "failed", ""),
        ([("a", "click")], "failed", ""),
        ([("a", "click")], "success", "it has 1 step results for 2 steps"),
        ([], "success", "it has 0 step results for 2 steps"),
        ([("a", "click"), ("b", "snapshot_ui"), ("c", "click")], "success", "it has 3 step results for 2 steps"),
        ([("a", "click"), ("a", "click")], "success", 'step 2 is "a", not "b"'),
        ([("b", "snapshot_ui"), ("a", "click")], "success", 'step 1 is "b", not "a"'),
        ([("a", "sleep"), ("b", "snapshot_ui")], "success", 'step 1, "a", is of type sleep, not click'),
        ([("b", "snapshot_ui")], "failed", 'step 1 is "b", not "a"'),
    ],
)
def test_how_an_envelope_differs_from_its_plan(steps: list[tuple[str, str]], status: str, reason: str) -> None:
    results = [{"id": name, "actionType": kind, "success": True, "data": {}} for name, kind in steps]
    envelope = {"commandId": "c", "taskId": "t", "status": status, "stepResults": results, "error": None}
    assert difference(parse_envelope(json.dumps(envelope)), PLANNED) == reason


@table("text", ['{"x":NaN}', '{"x":1e999}', "[" * 900 + "]" * 900, "", "{", '{"x":1,"x":2}'])
def test_data_that_are_no_strict_json_stay_text(text: str) -> None:
    """What another program could not read, or reads otherwise, is not copied into our answer as JSON."""
    finished = {"id": "a", "type": "query_ui", "status": "done"}
    document = {
        "ok": True,
        "envelope": {"stepResults": [{"id": "a", "actionType": "query_ui", "success": True, "data": {"query": text}}]},
        "outcome": {"status": "succeeded", "steps": [finished]},
    }
    assert brief(document)["outcome"]["steps"][0]["data"]["query"] == text
