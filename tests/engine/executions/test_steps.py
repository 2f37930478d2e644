"""Verbs become steps, steps become payloads that the contract takes: whatever a screen puts into the matcher."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, utf16_length
from clawperator.engine.executions.steps import VERBS, execution, step, with_own_ids
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher
from tests.support import table

WIFI = Matcher(resource_id="android:id/title", text_equals="Wi‑Fi")
LIST = Matcher(resource_id="com.android.settings:id/recycler_view")

values = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40) | st.sampled_from(
    ["-", "--text", "'", '"$(reboot)`', "100 %", "\x1b[31m", "\u202egpj", " ", "\n", "{", "😀" * 256, "a" * 512]
)
matchers = st.builds(
    Matcher,
    resource_id=st.just("") | values,
    role=st.just(""),
    text_equals=values,
    text_contains=st.just("") | values,
    content_desc_equals=st.just("") | values,
)
texts = values.filter(lambda text: bool(text.strip()) and utf16_length(text) <= MAX_MATCHER_VALUE_LENGTH)
packages = st.from_regex(r"\A[a-z][a-z0-9_]{0,8}(\.[a-z][a-z0-9_]{0,8}){1,3}\Z")


@st.composite
def steps(draw: st.DrawFn) -> dict[str, object]:
    return step(
        draw(st.sampled_from(sorted(VERBS))),
        matcher=draw(matchers),
        container=draw(st.none() | matchers),
        text=draw(texts),
        submit=draw(st.booleans()),
        application_id=draw(packages),
        uri="geo:0,0?q=tea",
        duration_ms=draw(st.integers(0, 20_000)),
    )


@given(st.lists(steps(), min_size=1, max_size=8))
def test_every_execution_of_verbs_is_valid_as_it_is(actions: list[dict[str, object]]) -> None:
    payload = execution(actions)
    validated = validate(payload)
    assert validated.payload == payload | {"mode": "direct"}


@table(
    ("verb", "expected"),
    [
        ("tap", ("click", {"matcher": WIFI.fields()})),
        ("long_press", ("click", {"matcher": WIFI.fields(), "clickType": "long_click"})),
        ("focus", ("click", {"matcher": WIFI.fields(), "clickType": "focus"})),
        ("read", ("read_text", {"matcher": WIFI.fields()})),
        ("wait", ("wait_for_node", {"matcher": WIFI.fields()})),
        ("enter_text", ("enter_text", {"matcher": WIFI.fields(), "text": "tea", "submit": True})),
        ("scroll_to", ("scroll_and_click", {"container": LIST.fields(), "target": WIFI.fields(), "clickAfter": True})),
        ("scroll_down", ("scroll", {"container": LIST.fields(), "direction": "down"})),
        ("scroll_up", ("scroll", {"container": LIST.fields(), "direction": "up"})),
        ("back", ("press_key", {"key": "back"})),
        ("open_app", ("open_app", {"applicationId": "com.example.tea"})),
        ("open_uri", ("open_uri", {"uri": "geo:0,0"})),
        ("sleep", ("sleep", {"durationMs": 500})),
        ("snapshot", ("snapshot_ui", {})),
        ("screenshot", ("take_screenshot", {})),
        ("verify", ("wait_for_node", {"matcher": WIFI.fields(), "retry": {"maxAttempts": 1}})),
    ],
)
def test_a_verb_takes_what_it_needs_and_leaves_the_rest(verb: str, expected: tuple[str, dict[str, object]]) -> None:
    made = step(
        verb,
        matcher=WIFI,
        container=LIST,
        text="tea",
        submit=True,
        application_id="com.example.tea",
        uri="geo:0,0",
        duration_ms=500,
    )
    assert (made["type"], made.get("params", {})) == expected


@table("verb", [verb for verb, spec in VERBS.items() if spec.needs])
def test_a_verb_without_what_it_needs_is_a_mistake_of_the_caller(verb: str) -> None:
    with pytest.raises(ValueError, match=f"{verb} needs"):
        step(verb, matcher=Matcher())


def test_only_looking_changes_nothing() -> None:
    assert {verb for verb, spec in VERBS.items() if not spec.changes} == {"snapshot", "screenshot", "verify"}
    assert {verb for verb, spec in VERBS.items() if spec.of_node} >= {"tap", "scroll_to", "verify", "enter_text"}


def test_ids_are_distinguished_and_the_first_one_stays() -> None:
    taps = [{"id": "tap"}, {"id": "tap-2"}, {"id": "tap"}, {"id": "tap"}]
    assert [each["id"] for each in with_own_ids(taps)] == ["tap", "tap-2", "tap-3", "tap-4"]
    assert [each["id"] for each in taps] == ["tap", "tap-2", "tap", "tap"]


def test_time_is_as_the_single_commands_have_it_and_grows_with_the_steps() -> None:
    tap, back, nap = step("tap", matcher=WIFI), step("back"), step("sleep", duration_ms=4_000)
    assert execution([tap])["timeoutMs"] == 30_000
    assert execution([back])["timeoutMs"] == 10_000
    assert execution([tap, back, nap])["timeoutMs"] == 44_000
    assert execution([step("sleep", duration_ms=120_000)] * 3)["timeoutMs"] == 120_000


def test_no_two_executions_share_an_id_and_none_shares_its_steps() -> None:
    tap = step("tap", matcher=WIFI)
    one, two = execution([tap]), execution([tap])
    assert one["commandId"] != two["commandId"]
    one["actions"][0]["params"]["matcher"]["textEquals"] = "changed"
    assert tap["params"]["matcher"]["textEquals"] == "Wi‑Fi"
