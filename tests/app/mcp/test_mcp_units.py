"""The parts by themselves: progress, answers, lines, schemas."""

from __future__ import annotations

import json
import os
import re
from itertools import chain
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types import ListToolsResult

from clawperator.app.mcp import messages, stdio
from clawperator.app.mcp.answers import Reply, bounded, lean, outcome, refusal, result_of, tail
from clawperator.app.mcp.progress import Progress
from clawperator.app.mcp.service import McpService
from clawperator.app.mcp.stdio import MAX_LINE
from clawperator.app.mcp.tools import TOOLS, lenient
from clawperator.app.mcp.tools.act import TYPES, _tool_of
from clawperator.app.mcp.tools.listing import tool_list
from clawperator.app.mcp.tools.observe import _fitted
from clawperator.app.serve.verbs import (
    ARGUMENTS,
    PLAN_VERBS,
    VERBS,
    DeviceCommand,
    VerbArguments,
    checked_arguments,
    made,
    refuse_verbs,
)
from clawperator.engine.contracts.actions import ACTIONS, COMPOSITIONS, INPUT_ACTIONS
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.build import completed
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.executions.validate import validate
from clawperator.engine.json_schema import json_schema
from tests.support import table

NODE = {"textEquals": "x"}
GIVEN: dict[str, Any] = {
    "selector": NODE,
    "point": {"x": 1, "y": 2},
    "clickType": "long_click",
    "applicationId": "com.example",
    "uri": "https://example.org/",
    "text": "words",
    "checked": True,
    "fields": {"title": "product_title"},
    "key": "back",
    "all": True,
    "container": {"resourceId": "a:id/b"},
    "strict": True,
    "nth": 1,
    "within": {"ref": "e12@7f3a1b2c"},
    "direction": "up",
    "durationMs": 10,
    "timeoutMs": 100,
    "to": {"x": 3, "y": 4},
    "apk": "app.apk",
    "permission": "CAMERA",
    "keepData": True,
    "rotation": "90",
    "lines": 5,
    "display": 0,
    "skipNavigationWait": True,
    "navigationTimeoutMs": 2_000,
    "clear": True,
    "visibility": "all",
    "limit": 5,
    "holdDurationMs": 500,
    "moveDurationMs": 300,
    "duration": "long",
    "template": "{step}",
    "anchor": "right",
    "textAlign": "right",
    "topOffsetDp": 10,
    "edgeOffsetDp": 10,
    "widthDp": 100,
    "fontSizeSp": 10,
    "textColor": "#ffffff",
    "backgroundColor": "#80000000",
    "ttlMs": 2_000,
    "maxTextChars": 80,
    "notificationKey": "0|a.b|1|null|10001",
    "waitTimeoutMs": 100,
    "actionId": "reply",
    "mediaSessionId": "s",
    "positionMs": 1_000,
    "positionToleranceMs": 100,
    "validator": "version",
    "validatorPattern": "x",
    "distanceRatio": 0.5,
    "settleDelayMs": 100,
    "maxScrolls": 5,
    "maxSwipes": 5,
    "noPositionChangeThreshold": 2,
    "clickAfter": True,
}
TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=40))
async def test_progress_only_grows(steps: list[tuple[int, bool]]) -> None:
    reported: list[float] = []

    async def report(value: float, _total: float | None, _message: str | None) -> None:
        reported.append(value)

    progress = Progress(report)
    for step, done in steps:
        await progress.report(step + (1 if done else 0.5), step + 1, "x")
    assert reported == sorted(set(reported))


async def test_a_step_that_is_tried_again_never_reaches_its_end() -> None:
    reported: list[float] = []

    async def report(value: float, _total: float | None, message: str | None) -> None:
        assert message == "x" * 200
        reported.append(value)

    progress = Progress(report)
    for _ in range(1_000):
        await progress.report(0.5, 1, "x" * 1_000)
    assert reported[0] == 0.5
    assert reported[-1] <= 1
    assert reported == sorted(set(reported))


@given(TEXTS, TEXTS)
def test_every_text_has_a_form_on_the_wire(key: str, text: str) -> None:
    result = result_of(Reply({"ok": True, key: [text, {"inner": text}]}))
    line = result.model_dump_json(by_alias=True)
    assert "\n" not in line
    assert json.loads(line)["structuredContent"] == result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    if not any("\ud800" <= sign <= "\udfff" for sign in key + text):
        assert result.structured_content[key] == [text, {"inner": text}]


@given(TEXTS, st.integers(1, 30))
def test_the_end_of_a_text_is_kept(text: str, limit: int) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    kept = tail(text, limit)
    if len(raw) <= limit:
        assert kept == text
    else:
        assert kept.startswith(f"[{len(raw) - limit} bytes omitted] ")
        assert len(kept.encode("utf-8", "surrogatepass")) <= limit + 40


def test_long_texts_of_errors_are_bounded() -> None:
    error = EngineError(ErrorCode.SKILL_EXECUTION_FAILED, "failed", extra={"stderr": "x" * 10_000_000 + "why"})
    document = refusal(error).document
    assert len(json.dumps(document)) < 5_000
    assert document["error"]["stderr"].endswith("why")
    assert bounded({"a": ["y" * 9, 1, None]}, 8) == {"a": ["[1 bytes omitted] yyyyyyyy", 1, None]}


def test_a_tree_that_cannot_be_shown_does_not_undo_what_was_done() -> None:
    xml = (
        f'<?xml version="1.0"?><hierarchy rotation="0"><node package="{"p" * 5_000}" bounds="[0,0][1,1]"/></hierarchy>'
    )
    envelope = {"stepResults": [{"id": "s", "actionType": "snapshot_ui", "success": True, "data": {"text": xml}}]}
    lean(envelope, "interactive", 1_024)
    data: Any = envelope["stepResults"][0]["data"]
    assert "text" not in data
    assert data["view"]["error"]["code"] == "EXECUTION_VALIDATION_FAILED"


def test_a_failed_step_of_a_plan_that_went_on() -> None:
    failed = {"id": "r", "actionType": "read_text", "success": False, "data": {"error": "VALIDATOR_MISMATCH"}}
    envelope = {"status": "success", "error": None, "stepResults": [failed]}
    reply = outcome(
        {"ok": True, "envelope": envelope, "outcome": outcome_of((), (), envelope).to_dict()}, {"brief": False}
    )
    assert reply.failed
    assert reply.document["failure"]["code"] == "VALIDATOR_MISMATCH"
    assert reply.document["failure"]["message"] == 'Step "r" (read_text) failed: VALIDATOR_MISMATCH'
    assert reply.document["failure"] == reply.document["outcome"]["error"]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20), st.booleans())
def test_lines_are_split_wherever_they_are_cut(lines: list[bytes], closed: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if closed else b"")
    assert split(data) == [line for line in lines if line.strip()]


def test_a_line_that_is_too_long_is_left_out() -> None:
    assert split(b"a\n" + b"x" * (MAX_LINE + 200_000) + b"\nb\n") == [b"a", b"b"]
    assert split(b"a\n" + b"x" * (MAX_LINE + 200_000)) == [b"a"]


def split(data: bytes) -> list[bytes]:
    """What is read from a file with ``data``."""
    descriptor = os.memfd_create("lines")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return list(stdio._split(descriptor))
    finally:
        os.close(descriptor)


def test_listed_schemas_are_valid_and_name_every_parameter() -> None:
    for listed in tool_list():
        for schema in (listed.input_schema, listed.output_schema):
            assert isinstance(schema, dict)
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert not {"oneOf", "anyOf", "allOf"} & schema.keys()  # some clients do not support them at the root
        assert listed.input_schema["properties"].keys() == TOOLS[listed.name].parameters.keys()
        for name, schema in listed.input_schema["properties"].items():
            assert schema["type"] == TOOLS[listed.name].parameters[name]["type"]
    selectors = {one.name: one.input_schema["properties"].get("selector") for one in tool_list()}
    described = selectors.pop("act")
    assert described["properties"].keys() == json_schema("matcher")["properties"].keys()
    assert {name: selector["description"] for name, selector in selectors.items() if selector} == dict.fromkeys(
        ("read", "wait", "match", "suggest"), "As in `act`."
    )


def test_the_list_of_tools_is_short() -> None:
    result = ListToolsResult(tools=tool_list()).model_dump(by_alias=True, exclude_none=True, mode="json")
    message = {"jsonrpc": "2.0", "id": 2, "result": result | {"ttlMs": 3_600_000, "cacheScope": "public"}}
    size = len(json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode())
    assert size <= 12 * 1024, "a model reads the whole list before its first call"


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        ("act", {"type": "tap"}, "'type' has no value 'tap'", "Did you mean 'click'?"),
        ("act", {"type": "app_clear"}, "'type' has no value 'app_clear'", "Use the tool `manage`."),
        ("act", {"type": "app_start"}, "'type' has no value 'app_start'", "Did you mean 'open_app'?"),
        ("act", {"type": "wait_gone"}, "'type' has no value 'wait_gone'", "Use the tool `wait`, whose argument `until`"),
        ("act", {"type": "click", "ref": "e1@x"}, "act has no argument 'ref'", 'Put it into the selector: {"selector": {"ref": …}}.'),
        ("wait", {"text": "x"}, "wait has no argument 'text'", 'Put it into the selector: {"selector": {"textEquals": …}}.'),
        ("match", {"selector": {"text": "x"}}, "'selector' has an unknown key: 'text'", "Known keys: resourceId, role, "),
        ("match", {"selector": "x"}, "'selector' must be an object", None),
        ("match", {"selector": {}}, "'selector' must not be empty", None),
        ("act", {"type": "input_tap", "point": {"x": 1}}, "'point' needs 'y'", None),
        ("snapshot", {"maxBytes": 10}, "'maxBytes' must be at least 1024", None),
        ("snapshot", {"view": "compct"}, "'view' has no value 'compct'", "Did you mean 'compact'?"),
        ("execute", {"execution": {"actions": [{"id": "x"}]}}, "'execution.actions.0' needs 'type'", None),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_and_the_right_one_suggested(
    tool: str, arguments: dict[str, Any], message: str, hint: str | None
) -> None:
    with pytest.raises(EngineError) as refused:
        TOOLS[tool].validate(arguments)
    assert (refused.value.code, refused.value.message) == ("INVALID_PARAMETER", message)
    assert (refused.value.hint or "").startswith(hint or "Correct the parameter")


@pytest.mark.parametrize(
    ("tool", "sent", "understood"),
    [
        ("act", {"type": "input_tap", "point": {"x": "540", "y": "-1"}}, None),
        ("act", {"type": "input_tap", "point": '{"x": "540", "y": 400}'}, {"point": {"x": 540, "y": 400}}),
        ("act", {"durationMs": "200", "checked": "true", "strict": "False"}, {"durationMs": 200, "checked": True, "strict": False}),
        ("act", {"type": "click", "selector": '{"textEquals": "540"}'}, {"selector": {"textEquals": "540"}}),
        ("act", {"text": "540", "uri": "true", "key": "66"}, {}),
        ("manage", {"rotation": "90", "keepData": "true"}, {"keepData": True}),
        ("act", {"text": '{"a": 1}', "applicationId": "null"}, {}),
        ("act", {"fields": '{"title": "7"}'}, {"fields": {"title": "7"}}),
        ("snapshot", {"maxBytes": "4096", "brief": "true", "deviceId": "5554"}, {"maxBytes": 4096, "brief": True}),
        ("skill_run", {"skillId": "1", "args": ["1", "true"], "variables": '{"n": "1"}'}, {"variables": {"n": "1"}}),
        ("skill_run", {"skillId": "1", "args": '["1", 2]'}, {"args": ["1", 2]}),
        ("execute", {"execution": [{"type": "sleep"}]}, {"execution": {"actions": [{"type": "sleep"}]}}),
        ("execute", {"execution": '[{"type": "sleep"}]'}, {"execution": {"actions": [{"type": "sleep"}]}}),
        ("execute", {"execution": "[1"}, None),
        ("wait", {"selector": "{}", "timeoutMs": "1e3"}, None),
        ("snapshot", {"maxBytes": " 4096"}, None),
        ("snapshot", {"maxBytes": "04096"}, None),
        ("snapshot", {"maxBytes": "9" * 5_000}, None),
        ("snapshot", {"brief": "yes"}, None),
    ],
)  # fmt: skip
def test_texts_of_other_types_are_understood_where_the_schema_leaves_no_doubt(
    tool: str, sent: dict[str, Any], understood: dict[str, Any] | None
) -> None:
    known = {
        name: {"type": TYPES[tool][0] if tool in TYPES else ""}.get(name, "x")
        for name in TOOLS[tool].required
        if name not in sent
    }
    if understood is None:
        with pytest.raises(EngineError, match=r"must (be|not)"):
            TOOLS[tool].validate({**sent, **known})
    else:
        assert TOOLS[tool].validate({**sent, **known}) == {**sent, **known, **understood}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(st.text(max_size=12) | st.integers().map(str) | st.sampled_from(["true", "False", "{}", '{"a":1}', "[1]"]))
def test_a_text_stays_a_text(text: str) -> None:
    assert lenient.understood({"text": text, "in": [text]}, {"properties": {"text": {"type": "string"}, "in": {"items": {"type": ["string", "number"]}}}}) == {
        "text": text, "in": [text],
    }  # fmt: skip


@given(
    st.integers(-(10**14), 10**14)
    | st.booleans()
    | st.dictionaries(st.text(max_size=3), JSON, max_size=3)
    | st.lists(JSON, max_size=3)
)
def test_what_json_writes_is_understood(value: Any) -> None:
    kind = {int: "integer", bool: "boolean", dict: "object", list: "array"}[type(value)]
    assert lenient.understood(json.dumps(value), {"type": kind}) == value


def test_a_plan_of_texts() -> None:
    actions = [
        {"id": "1", "type": "sleep", "params": {"durationMs": "10"}},
        {"id": "2", "type": "tap", "params": '{"matcher": "{\\"textEquals\\": \\"5\\"}", "strict": "true"}'},
        {"id": "3", "type": "scroll", "params": {"distanceRatio": "0.5", "retry": {"maxAttempts": "2"}}},
        {
            "id": "4",
            "type": "enter_text",
            "params": {"matcher": {"ref": "e1@00000000"}, "text": "12", "submit": "true"},
        },
        {"id": "5", "type": "none", "params": {"n": "1"}},
    ]
    known = TOOLS["execute"].validate({"execution": json.dumps({"actions": json.dumps(actions), "timeoutMs": "9000"})})
    plan = lenient.understood_plan(known["execution"])
    assert plan["timeoutMs"] == 9_000
    assert [action["params"] for action in plan["actions"]] == [
        {"durationMs": 10},
        {"matcher": {"textEquals": "5"}, "strict": True},
        {"distanceRatio": 0.5, "retry": {"maxAttempts": 2}},
        {"matcher": {"ref": "e1@00000000"}, "text": "12", "submit": True},
        {"n": "1"},
    ]
    assert lenient.understood_plan({"executions": [{"actions": actions[:1]}]})["executions"][0]["actions"][0][
        "params"
    ] == {"durationMs": 10}


@table("verb", [name for name in VERBS if name not in (*ACTIONS, *ALIASES)])
def test_a_verb_in_a_plan_names_the_tool_that_has_it(verb: str) -> None:
    plan = {
        "actions": [
            {"id": "a", "type": "sleep", "params": {"durationMs": 1}},
            {"id": "b", "type": verb, "params": {"checked": True}},
        ]
    }
    with pytest.raises(EngineError) as refused:
        refuse_verbs(plan, _tool_of)
    assert refused.value.code == "EXECUTION_ACTION_UNSUPPORTED"
    assert refused.value.details["path"] == "actions.1.type"
    assert refused.value.hint is not None
    words = re.search(r"`(\w+)` with `(\w+)`: (\w+)\.$", refused.value.hint)
    assert words
    assert words[3] in TOOLS[words[1]].parameters[words[2]]["enum"]
    if verb in (*COMPOSITIONS, *INPUT_ACTIONS):  # the engine by itself names the type first, too
        with pytest.raises(EngineError, match="Unsupported action type"):
            validate(completed(plan, "s", "t"))


@pytest.mark.parametrize(
    ("sent", "number", "code", "words"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":2}}', 1, -32700, "'a' appears twice"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":NaN}}', 1, -32700, "NaN is not a JSON value"),
        (b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1e999}}', "x", -32700, "`params.a`: the number 1e999"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + b"9" * 5_000 + b"}}", 1, -32700, "too many digits"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\ud800"}}', 1, -32700, "hex escape"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + b"[" * 70 + b"]" * 70 + b"}}", 1, -32700, "64 levels"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}', 1, -32700, "not UTF-8 at byte"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m",}', None, -32700, "column"),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', 1, -32600, "JSON-RPC 2.0"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', None, -32600, "JSON-RPC 2.0"),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None, -32600, "'id' must be"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None, -32600, "'id' must be"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered(sent: bytes, number: int | str | None, code: int, words: str) -> None:
    answer = messages.refusal(sent)
    assert answer is not None
    assert (answer.id, answer.error.code) == (number, code)
    assert words in answer.error.message


@pytest.mark.parametrize("kind", [{"id": 1, "method": "m"}, {"method": "m"}, {"id": "a", "result": {}}])
def test_messages_pass(kind: dict[str, Any]) -> None:
    assert messages.refusal(json.dumps({"jsonrpc": "2.0", **kind}).encode()) is None


def test_the_arguments_of_verbs_are_those_of_the_tool() -> None:
    assert ARGUMENTS.keys() == VerbArguments.model_fields.keys() == GIVEN.keys()
    for tool, types in TYPES.items():
        names = {param.name for kind in types for param in VERBS[kind].arguments}
        assert names <= TOOLS[tool].accepted.keys(), tool
    waits = ("wait_for_node", "wait_gone", "wait_text_changes")
    assert sorted((*chain(*TYPES.values()), *PLAN_VERBS, *waits)) == sorted(VERBS)


@table("name", VERBS)
def test_every_verb_becomes_what_may_be_sent(name: str) -> None:
    verb = VERBS[name]
    for one in verb.one_of or ("",):
        required = [param.name for param in verb.arguments if param.need]
        names = {param.name for param in verb.arguments} - {*verb.one_of} | {one} - {""}
        if one == "point":
            names -= {"container", "strict", "nth", "within"}  # what limits the nodes
        given = {name: GIVEN[name] for name in names}
        assert checked_arguments(given) == given
        for tool, types in TYPES.items():
            if name in types:
                TOOLS[tool].validate({"type": name, **given})
        sent = made(name, given, source="test")
        assert isinstance(sent, Composition) == (name in (*COMPOSITIONS, *INPUT_ACTIONS))
        if isinstance(sent, Composition):
            assert sent.validated().execution.source == "test"
        elif not isinstance(sent, DeviceCommand):
            checked = validate(sent)
            assert (checked.execution.actions[0].type, checked.execution.source) == (name, "test")
            assert not checked.warnings
            validate(made(name, {name: GIVEN[name] for name in {*required, one} - {""}}, source="test"))
        for missing in required:
            with pytest.raises(EngineError) as raised:
                made(name, {other: GIVEN[other] for other in names if other != missing}, source="test")
            assert raised.value.details["path"] == missing


def test_the_plan_that_is_shown_is_valid_and_an_unknown_type_gets_all_of_them() -> None:
    about = TOOLS["execute"].description
    shown = json.loads(about[about.index("{") : about.rindex("}") + 1])
    assert not validate(completed({"actions": [shown]})).warnings
    with pytest.raises(EngineError) as refused:
        validate(completed({"actions": [{**shown, "type": "none"}]}))
    assert refused.value.details["supportedTypes"] == list(ACTIONS)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_picture(data: bytes) -> None:
    with pytest.raises(EngineError) as raised:
        _fitted(b"\x89PNG\r\n\x1a\n" + data, 100)
    assert raised.value.code is ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT


async def test_only_a_skill_knows_what_its_inputs_mean() -> None:
    """Before a screen is read: a variable that happens to be called ``resourceId`` is no id of it."""
    given = {"skillId": "com.example.look", "artifact": "look", "variables": {"resourceId": "title"}}
    assert await McpService.with_whole_ids(cast("Any", None), cast("Any", None), given) == (given, {})
