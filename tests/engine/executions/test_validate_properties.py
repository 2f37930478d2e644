"""What holds for any payload whatever: hypothesis looks for the counterexample."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawperator.engine.contracts.actions import ACTIONS, VOCABULARY, ExactParams
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.contracts.matcher import FIELDS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import Profile, Validated, validate

CODES = {
    ErrorCode.EXECUTION_VALIDATION_FAILED,
    ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
    ErrorCode.PAYLOAD_TOO_LARGE,
}
PROFILES = st.sampled_from(["classic", "flat"])

numbers = st.integers() | st.floats() | st.sampled_from([0, 1, 0.5, 250.0, 20, 30_000, 120_000, 10**400, -(10**400)])
words = st.text(max_size=12) | st.sampled_from(
    [
        *ACTIONS,
        *ALIASES,
        "up",
        " Down ",
        "back",
        "regex",
        "focus",
        "longclick",
        "a.b.c",
        "(",
        "button",
        "50%",
        " ",
        "\ud800",
        "x\udfff",
    ]
)
scalars = st.none() | st.booleans() | numbers | words
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))

matchers = st.dictionaries(st.sampled_from(list(FIELDS)), words, min_size=1, max_size=3)
retries = st.fixed_dictionaries(
    {},
    optional={
        "maxAttempts": st.integers(0, 11),
        "initialDelayMs": st.integers(0, 1000),
        "maxDelayMs": st.integers(0, 2000),
        "jitterRatio": st.floats(0, 1),
    },
)
likely_values = matchers | retries | st.fixed_dictionaries({"x": numbers, "y": numbers}) | scalars
params = st.dictionaries(st.sampled_from(list(VOCABULARY)) | words, likely_values, max_size=5)
actions = st.fixed_dictionaries({"id": words, "type": words}, optional={"params": params | anything, "x": anything})
payloads = st.fixed_dictionaries(
    {},
    optional={
        "commandId": words | anything,
        "taskId": words,
        "source": words,
        "expectedFormat": st.just("android-ui-automator") | anything,
        "timeoutMs": st.just(15_000) | numbers,
        "actions": st.lists(actions | anything, max_size=4) | anything,
        "mode": st.sampled_from(["direct", "artifact_compiled"]) | anything,
        "extra": anything,
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(payloads | anything, anything, PROFILES)
def test_nothing_but_a_documented_refusal_ever_comes_out(payload: object, timeout: object, profile: Profile) -> None:
    error = refused(payload, timeout, profile)
    if error is None:
        return
    assert error.code in CODES
    shown = error.to_dict()
    assert shown["message"]
    json.dumps(shown, allow_nan=False, ensure_ascii=False).encode()
    if "path" in shown.get("details", {}):
        assert shown["details"]["issues"][0]["path"] == shown["details"]["path"]


def refused(payload: object, timeout: object = None, profile: Profile = "classic") -> EngineError | None:
    try:
        validate(payload, timeout_ms=timeout, profile=profile)
    except EngineError as error:
        return error
    return None


REQUIRED: dict[str, dict[str, Any]] = {
    "open_app": {"applicationId": "a.b"},
    "open_uri": {"uri": "x:y"},
    "close_app": {"applicationId": "a.b"},
    "wait_for_node": {"matcher": {"role": "button"}},
    "click": {"matcher": {"textContains": "50%", "role": ""}},
    "read_text": {"matcher": {"textEquals": "a"}},
    "enter_text": {"matcher": {"textEquals": "a"}, "text": "x"},
    "sleep": {"durationMs": 10},
    "press_key": {"key": "home"},
    "scroll_and_click": {"target": {"role": "x"}},
    "wait_for_navigation": {"expectedPackage": "a.b", "timeoutMs": 9.0},
    "read_key_value_pair": {"labelMatcher": {"textEquals": "a"}},
}

LENIENT = [name for name, spec in ACTIONS.items() if not issubclass(spec, ExactParams)]
"""The types that accept parameters of others; the rest are in ``contracts/test_app_actions.py``."""


@st.composite
def sound_payloads(draw: st.DrawFn) -> dict[str, Any]:
    """Payloads near enough to the contract that many of them pass."""
    chosen = draw(
        st.lists(st.sampled_from([*LENIENT, "tap", "snapshot", "long_press", " CLICK "]), min_size=1, max_size=6)
    )
    steps = []
    for index, name in enumerate(chosen):
        extra = draw(st.dictionaries(st.sampled_from(["retry", "clickType", "direction", "container"]), st.just(None)))
        values = {
            "retry": draw(retries),
            "clickType": draw(st.sampled_from(["default", "LongClick", "long_click"])),
            "direction": draw(st.sampled_from(["up", " Down"])),
            "container": draw(matchers),
        }
        base = REQUIRED.get(ALIASES.get(name.strip().lower(), name.strip().lower()), {})
        steps.append({"id": f"{index}", "type": name, "params": {**base, **{key: values[key] for key in extra}}})
    return {
        "commandId": draw(st.text(min_size=1, max_size=20)),
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": draw(st.integers(1000, 120_000)),
        "actions": steps,
    }


def accepted(payload: object, profile: Profile) -> Validated | None:
    try:
        return validate(payload, profile=profile)
    except EngineError:
        return None


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(sound_payloads(), PROFILES)
def test_what_was_validated_validates_to_itself(payload: dict[str, Any], profile: Profile) -> None:
    first = accepted(payload, profile)
    if first is None:
        return
    again = validate(first.payload, profile=profile)
    assert again == first
    assert validate(json.loads(json.dumps(first.payload)), profile=profile).wire == first.wire


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(sound_payloads(), PROFILES)
def test_the_wire_holds_no_null_no_empty_matcher_field_and_no_fraction(
    payload: dict[str, Any], profile: Profile
) -> None:
    validated = accepted(payload, profile)
    if validated is None:
        return
    assert len(validated.wire.encode()) <= 64_000
    assert "\n" not in validated.wire
    root = json.loads(validated.wire, parse_constant=pytest.fail)
    for action in root["actions"]:
        known = ACTIONS[action["type"]].model_fields
        for name, value in action.get("params", {}).items():
            assert name in known
            assert value is not None
            if name in ("matcher", "target", "container", "labelMatcher", "expectedNode"):
                assert value
                assert all(value.values())
            if name.endswith("Ms"):
                assert isinstance(value, int)
            if name in ("direction", "clickType", "key"):
                assert value == value.strip().lower()


def test_most_near_payloads_pass_so_that_the_properties_say_something() -> None:
    passed = []

    @settings(max_examples=60, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(sound_payloads())
    def count(payload: dict[str, Any]) -> None:
        passed.append(accepted(payload, "classic") is not None)

    count()
    assert sum(passed) >= 10


def test_a_hostile_payload_costs_little() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = {"matcher": deep}
    payload = {
        "actions": [{"id": "a", "type": "t" * 10**6, "params": deep | {f"k{n}": n for n in range(10_000)}}] * 100
    }
    error = refused(payload)
    assert error is not None
    assert error.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert len(json.dumps(error.to_dict())) < 100_000
