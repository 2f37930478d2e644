"""What the Operator reads into a payload, and what it refuses as a whole (wire.md#payload-parsing-on-the-device)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.runtime import payload as reading
from clawperator.engine.runtime import plan as p
from clawperator.engine.runtime.payload import PayloadError, read_payload
from clawperator.engine.runtime.plan import Generation, OperatorPlan
from clawperator.engine.runtime.retry import APP_LAUNCH, NONE, UI_READINESS, UI_SCROLL, RetryPolicy
from tests.support import table

MATCHER = {"textEquals": "x"}


def payload(*actions: object, **root: object) -> str:
    return json.dumps({"commandId": "c", "taskId": "t", "source": "s", "actions": list(actions), **root})


def action(kind: str, params: object = None, **rest: object) -> dict[str, object]:
    return {"id": "a1", "type": kind, **({"params": params} if params is not None else {}), **rest}


def one(kind: str, params: object = None, generation: Generation = "0.5") -> Any:
    return read_payload(payload(action(kind, params)), generation).steps[0].action


def refusal(text: str, generation: Generation = "0.5") -> str:
    with pytest.raises(PayloadError) as caught:
        read_payload(text, generation)
    return str(caught.value)


def test_unknown_keys_are_ignored_everywhere() -> None:
    text = payload(action("sleep", {"durationMs": 5, "uri": 7}, note=1), expectedFormat="x", mode="direct", extra={})
    assert read_payload(text, "0.3") == OperatorPlan("c", "t", "s", 30_000, (p.PlanStep("a1", "sleep", p.Sleep(5)),))


@table(
    ("given", "read"),
    [
        (5000, 5000),
        (10, 1000),
        (999_999, 120_000),
        (5000.5, 30_000),
        ("5000", 5000),
        (None, 30_000),
        (True, 30_000),
        ("x", 30_000),
    ],
)
def test_timeout(given: object, read: int) -> None:
    assert read_payload(payload(action("sleep"), timeoutMs=given), "0.5").timeout_ms == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        payload(),
        payload(*[action("sleep")] * 65),
        payload(action("sleep"), commandId=" "),
        payload(action("sleep"), commandId=None),
        payload(action("sleep"), commandId={}),
        payload(action("sleep"), commandId="c" * 129),
        payload(action("sleep"), taskId=""),
        payload(action("sleep"), source="s" * 65),
        payload(action("sleep"), actions={}),
        payload(action("sleep"), pad="é" * 32_000),
        payload("sleep"),
        payload({"id": "", "type": "sleep"}),
        payload({"id": "a" * 129, "type": "sleep"}),
        payload({"id": "a"}),
        payload(action("sleep", [])),
        '{"commandId":"c","taskId":"t","source":"s","actions":[{"id":"a","type":"sleep","params":null}]}',
        payload(action("click", {})),
        payload(action("click", {"matcher": {}})),
        payload(action("click", {"matcher": "x"})),
        payload(action("click", {"matcher": {"textEquals": "x" * 513}})),
        payload(action("click", {"matcher": {"textEquals": {}}})),
        payload(action("click", {"matcher": {"unknown": "x"}})),
        payload(action("click", {"matcher": MATCHER, "clickType": "double"})),
        payload(action("click", {"matcher": MATCHER, "retry": 3})),
        payload(action("click", {"matcher": MATCHER, "coordinate": {"x": 1, "y": 1}})),
        payload(action("click", {"coordinate": {"x": -1, "y": 1}})),
        payload(action("click", {"coordinate": {"x": 1.5, "y": 1}})),
        payload(action("click", {"coordinate": {"x": 1, "y": 1}, "clickType": "focus"})),
        payload(action("open_app", {"applicationId": " "})),
        payload(action("open_uri", {"uri": "x" * 2049})),
        payload(action("enter_text", {"matcher": MATCHER, "text": "  "})),
        payload(action("enter_text", {"matcher": MATCHER, "text": "😀" * 257})),
        payload(action("press_key", {"key": "enter"})),
        payload(action("scroll", {"direction": " down"})),
        payload(action("scroll_and_click", {"target": MATCHER})),
        payload(action("read_text", {"matcher": MATCHER, "validator": "date"})),
        payload(action("read_text", {"matcher": MATCHER, "validator": "regex"})),
        payload(action("scroll_until", {"clickAfter": True})),
        payload(action("wait_for_navigation", {"timeoutMs": 5})),
        payload(action("wait_for_navigation", {"expectedPackage": "a.b"})),
        payload(action("start_recording", {"sessionId": "../x"})),
    ],
    ids=str.__len__,
)  # fmt: skip
def test_refused_as_a_whole(text: str) -> None:
    assert refusal(text)


def test_an_unknown_type_is_named_with_its_index() -> None:
    assert refusal(payload(action("sleep"), action("Fly"))) == "unsupported action type at index=1: fly"


@pytest.mark.parametrize("kind", ["wait_for_navigation", "read_key_value_pair", "start_recording", "stop_recording"])
def test_what_0_3_2_added_is_unknown_to_0_3(kind: str) -> None:
    assert refusal(payload(action(kind)), "0.3") == f"unsupported action type at index=0: {kind}"


@pytest.mark.parametrize(
    ("given", "canonical"), [("find_node", "wait_for_node"), ("Type_Text", "enter_text"), ("KEY_PRESS", "press_key")]
)
def test_synonyms_and_case(given: str, canonical: str) -> None:
    params = {"matcher": MATCHER, "text": "x", "key": "Back"}
    assert read_payload(payload(action(given, params)), "0.3").steps[0].type == canonical


@pytest.mark.parametrize(
    ("kind", "params", "field", "policy"),
    [
        ("click", {"matcher": MATCHER}, "retry", UI_READINESS),
        ("snapshot_ui", {}, "retry", UI_READINESS),
        ("open_app", {"applicationId": "a"}, "retry", APP_LAUNCH),
        ("scroll", {}, "retry", NONE),
        ("scroll_and_click", {"matcher": MATCHER}, "scroll_retry", UI_SCROLL),
        ("scroll_and_click", {"matcher": MATCHER}, "click_retry", UI_READINESS),
        ("click", {"matcher": MATCHER, "retry": {}}, "retry", RetryPolicy()),
        (
            "click",
            {"matcher": MATCHER, "retry": {"maxAttempts": 99, "initialDelayMs": 100, "maxDelayMs": 5, "backoffMultiplier": 9, "jitterRatio": 2}},
            "retry",
            RetryPolicy(10, 100, 100, 5.0, 1.0),
        ),
        ("click", {"matcher": MATCHER, "retry": {"maxAttempts": 2.5, "jitterRatio": "x"}}, "retry", RetryPolicy()),
    ],
)  # fmt: skip
def test_retry_presets_and_clamps(kind: str, params: dict[str, Any], field: str, policy: RetryPolicy) -> None:
    assert getattr(one(kind, params), field) == policy


def test_scroll_defaults_and_clamps() -> None:
    assert one("scroll") == p.Scroll(None, "down", 0.7, 250, find_first_scrollable_child=True)
    wild = {"direction": "LEFT", "distanceRatio": 7, "settleDelayMs": 99_999, "findFirstScrollableChild": "false"}
    assert one("scroll", wild) == p.Scroll(None, "left", 1.0, 10_000, find_first_scrollable_child=False)


@pytest.mark.parametrize(
    ("params", "limits"),
    [
        ({}, (20, None, 3)),
        ({"maxScrolls": 0, "maxDurationMs": -1, "noPositionChangeThreshold": 99}, (1, 0, 20)),
        ({"maxScrolls": 2.5, "maxDurationMs": 1.5, "noPositionChangeThreshold": 0.5}, (20, None, 3)),
    ],
)
def test_scroll_until_limits(params: dict[str, Any], limits: tuple[int, int | None, int]) -> None:
    read = one("scroll_until", params)
    assert (read.max_scrolls, read.max_duration_ms, read.threshold) == limits


def test_newer_params_are_silently_ignored_by_0_3() -> None:
    click = one("click", {"matcher": MATCHER, "coordinate": "junk"}, "0.3")
    wait = one("wait_for_node", {"matcher": MATCHER, "timeoutMs": 5}, "0.3")
    read = one("read_text", {"matcher": MATCHER, "all": True, "container": "junk"}, "0.3")
    until = one("scroll_until", {"matcher": "junk", "clickAfter": True}, "0.3")
    assert (click.coordinate, wait.timeout_ms, read.all, read.container) == (None, None, False, None)
    assert (until.matcher, until.click_after) == (None, False)


def test_scroll_and_click_reads_the_key_of_its_generation() -> None:
    both = {"target": {"textEquals": "old"}, "matcher": {"textEquals": "new"}}
    assert one("scroll_and_click", both, "0.3").target.fields == {"textEquals": "old"}
    assert one("scroll_and_click", both, "0.5").target.fields == {"textEquals": "new"}


def test_a_null_matcher_field_is_the_word_null() -> None:
    query = one("click", {"matcher": {"role": None, "resourceId": 5}}).matcher
    assert query.fields == {"resourceId": "5", "role": "null"}
    assert str(query) == (
        "NodeMatcher(resourceId=5, role=null, textEquals=null, textContains=null, contentDescEquals=null, "
        "contentDescContains=null)"
    )


@pytest.mark.parametrize(("given", "read"), [(None, None), (0, 1), (450, 450), (999_999, 120_000), (4.5, None)])
def test_wait_for_node_deadline(given: object, read: int | None) -> None:
    params = {"matcher": MATCHER} | ({} if given is None else {"timeoutMs": given})
    assert one("wait_for_node", params).timeout_ms == read


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)
names = st.sampled_from(
    ["matcher", "target", "container", "expectedNode", "labelMatcher", "text", "uri", "applicationId", "key", "clickType",
     "direction", "retry", "durationMs", "timeoutMs", "coordinate", "validator", "validatorPattern", "all", "sessionId"]
)  # fmt: skip
matchers = st.dictionaries(
    st.sampled_from(["resourceId", "role", "textEquals", "textContains"]), json_values, max_size=2
)
kinds = st.sampled_from(sorted(reading._READERS)) | st.text(max_size=8)
actions = st.fixed_dictionaries(
    {
        "id": st.just("a") | json_values,
        "type": kinds,
        "params": st.dictionaries(names, json_values | matchers, max_size=5),
    }
)


def reading_of(text: str, generation: Generation) -> OperatorPlan | str:
    """The plan, or why there is none; any other exception is a defect."""
    try:
        return read_payload(text, generation)
    except PayloadError as refused:
        return str(refused)


@given(actions, st.sampled_from(["0.3", "0.5"]))
def test_any_action_is_read_or_refused(raw: object, generation: Generation) -> None:
    assert reading_of(payload(raw), generation)


@given(json_values.map(json.dumps) | st.text())
@example('{"commandId":"\\ud800","taskId":"t","source":"s","actions":[{"id":"a","type":"sleep"}]}')
@example(
    '{"commandId":NaN,"taskId":1e999,"source":"s","actions":[{"id":"a","type":"sleep","params":{"durationMs":1e999}}]}'
)
def test_any_text_is_read_or_refused(text: str) -> None:
    assert reading_of(text, "0.5")
