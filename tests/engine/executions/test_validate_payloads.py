"""Every row of the execution contract: what is accepted, what is refused, with which words, at which path."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.actions import ACTIONS, VOCABULARY, ExactParams
from clawperator.engine.contracts.aliases import ALIAS_TABLE_VERSION, ALIASES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import Profile, Validated, validate
from tests.support import table

BUTTON = {"resourceId": "com.example:id/button"}
LIST = {"resourceId": "com.example:id/list"}
NOTHING = object()


def plan(*actions: Any, **root: Any) -> dict[str, Any]:
    payload = {
        "commandId": "look-1",
        "taskId": "look",
        "source": "demo",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 15000,
        "actions": list(actions) or [{"id": "s1", "type": "snapshot_ui"}],
    }
    payload |= root
    return {key: value for key, value in payload.items() if value is not NOTHING}


def step(action_type: Any, /, **params: Any) -> dict[str, Any]:
    return {"id": "a1", "type": action_type, "params": params}


def refusal(payload: object, profile: Profile = "classic") -> EngineError:
    with pytest.raises(EngineError) as caught:
        validate(payload, profile=profile)
    return caught.value


def assert_refused(payload: object, path: str, message: str, profile: Profile = "classic") -> EngineError:
    """``message`` begins with its verb where the name of the field, which is its path, stands before it."""
    if message.startswith(("is ", "must ", "has ")):
        message = f"{f'`{path}`' if path else 'The payload'} {message}"
    error = refusal(payload, profile)
    assert (error.message, error.details["path"]) == (message, path)
    assert error.hint
    assert ("details.path" in error.hint) == (error.hint == "Correct the value at details.path." and path != "")
    assert error.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert error.details["issues"][0] == {"path": path, "message": message}
    return error


def sent(payload: object, profile: Profile = "classic") -> Validated:
    return validate(payload, profile=profile)


# -- the root


@table(
    ("value", "kind"),
    [
        (None, "null"),
        ([], "an array"),
        ("x", "a string"),
        (3, "a number"),
        (2.5, "a number"),
        (True, "a boolean"),
        ({1, 2}, "set"),
    ],
)
def test_the_root_is_an_object(value: object, kind: str) -> None:
    error = assert_refused(value, "", f"must be an object, not {kind}")
    assert "actionId" not in error.details


@table("field", ["commandId", "taskId", "source", "expectedFormat", "timeoutMs", "actions"])
def test_root_fields_are_required_but_for_mode(field: str) -> None:
    assert_refused(plan(**{field: NOTHING}), field, "is missing")


@table(
    ("field", "value", "message"),
    [
        ("commandId", 7, "must be a string, not a number"),
        ("commandId", None, "must be a string, not null"),
        ("commandId", "", "must not be empty"),
        ("commandId", "x" * 129, "must not be longer than 128 characters"),
        ("commandId", "  \t", "must not be blank"),
        ("commandId", "a\ud800", "must not contain unpaired surrogates"),
        ("taskId", "x" * 129, "must not be longer than 128 characters"),
        ("taskId", " ", "must not be blank"),
        ("source", "x" * 65, "must not be longer than 64 characters"),
        ("source", "\n", "must not be blank"),
        ("expectedFormat", "android", "must be 'android-ui-automator', not 'android'"),
        ("expectedFormat", None, "must be 'android-ui-automator', not null"),
        ("timeoutMs", "15000", "must be a number, not a string"),
        ("timeoutMs", True, "must be a number, not a boolean"),
        ("timeoutMs", None, "must be a number, not null"),
        ("timeoutMs", float("nan"), "must be a number, not NaN"),
        ("timeoutMs", float("inf"), "must be 120000 or less"),
        ("timeoutMs", 999, "must be 1000 or more"),
        ("timeoutMs", 120001, "must be 120000 or less"),
        ("timeoutMs", 10**400, "must be 120000 or less"),
        ("timeoutMs", 5000.5, "must be a whole number"),
        ("actions", {}, "must be an array, not an object"),
        ("actions", [], "must not be empty"),
        ("mode", "fast", "must be 'artifact_compiled' or 'direct', not 'fast'"),
        ("mode", None, "must be 'artifact_compiled' or 'direct', not null"),
    ],
)
def test_root_fields_have_their_rules(field: str, value: object, message: str) -> None:
    assert_refused(plan(**{field: value}), field, message)


def test_the_edges_of_the_root_are_inside() -> None:
    fifty = [{"id": f"{n}", "type": "snapshot_ui"} for n in range(50)]
    for timeout in (1000, 120000, 15000.0):
        execution = sent(plan(*fifty, commandId="x" * 128, source="s" * 64, timeoutMs=timeout)).execution
        assert (execution.timeout_ms, type(execution.timeout_ms)) == (int(timeout), int)
    assert_refused(plan(*fifty, {"id": "51", "type": "snapshot_ui"}), "actions", "must not have more than 50 elements")


def test_lengths_count_as_the_device_counts_them() -> None:
    sent(plan(commandId="😀" * 64))
    assert_refused(plan(commandId="😀" * 65), "commandId", "must not be longer than 128 characters")


def test_unknown_root_keys_are_named_with_a_suggestion() -> None:
    error = assert_refused(plan(timeoutms=5, retries=1), "", "has unknown keys: 'timeoutms', 'retries'")
    assert error.details["invalidKeys"] == ["timeoutms", "retries"]
    assert error.details["hint"] == error.hint == "Did you mean 'timeoutMs'?"


def test_mode_defaults_to_direct_in_what_is_stored_and_stays_off_the_wire() -> None:
    assert sent(plan()).payload["mode"] == "direct"
    compiled = sent(plan(mode="artifact_compiled"))
    assert compiled.execution.mode == compiled.payload["mode"] == "artifact_compiled"
    assert "mode" not in compiled.wire


# -- actions


@table(
    ("action", "path", "message"),
    [
        ("snapshot_ui", "actions.0", "must be an object, not a string"),
        (None, "actions.0", "must be an object, not null"),
        ({"type": "sleep"}, "actions.0.id", "is missing"),
        ({"id": "a", "params": {}}, "actions.0.type", "is missing"),
        ({"id": 1, "type": "snapshot_ui"}, "actions.0.id", "must be a string, not a number"),
        ({"id": "", "type": "snapshot_ui"}, "actions.0.id", "must not be empty"),
        ({"id": "x" * 129, "type": "snapshot_ui"}, "actions.0.id", "must not be longer than 128 characters"),
        ({"id": " ", "type": "snapshot_ui"}, "actions.0.id", "must not be blank"),
        ({"id": "a", "type": None}, "actions.0.type", "must be a string, not null"),
        ({"id": "a", "type": "x" * 65}, "actions.0.type", "must not be longer than 64 characters"),
        ({"id": "a", "type": "snapshot_ui", "params": None}, "actions.0.params", "must be an object, not null"),
        ({"id": "a", "type": "snapshot_ui", "params": []}, "actions.0.params", "must be an object, not an array"),
        ({"id": "a", "type": "snapshot_ui", "name": 1}, "actions.0", "has an unknown key: 'name'"),
        (step("snapshot_ui", colour=1), "actions.0.params", "has an unknown key: 'colour'"),
        (step("click", uri=5), "actions.0.params.uri", "must be a string, not a number"),
        (step("click", matcher={}), "actions.0.params.matcher", "must have at least one field"),
        (step("click", matcher={"role": ""}), "actions.0.params.matcher", "must have at least one field"),
        (step("click", matcher=None), "actions.0.params.matcher", "must be an object, not null"),
        (step("click", matcher={"role": None}), "actions.0.params.matcher.role", "must be a string, not null"),
        (
            step("click", matcher={"textEquals": "x" * 513}),
            "actions.0.params.matcher.textEquals",
            "must not be longer than 512 characters",
        ),
        (
            step("click", matcher={"text": "OK", "role": "button"}),
            "actions.0.params.matcher",
            "has an unknown key: 'text'",
        ),
        (step("click", coordinate={"x": 1}), "actions.0.params.coordinate.y", "is missing"),
        (
            step("click", coordinate={"x": 1, "y": 2, "z": 3}),
            "actions.0.params.coordinate",
            "has an unknown key: 'z'",
        ),
        (
            step("click", matcher=BUTTON, retry={"maxAttempts": "3"}),
            "actions.0.params.retry.maxAttempts",
            "must be a number, not a string",
        ),
        (
            step("click", matcher=BUTTON, retry={"attempts": 3}),
            "actions.0.params.retry",
            "has an unknown key: 'attempts'",
        ),
        (step("open_uri", uri="x" * 2049), "actions.0.params.uri", "must not be longer than 2048 characters"),
        (
            step("enter_text", matcher=BUTTON, text="x" * 513),
            "actions.0.params.text",
            "must not be longer than 512 characters",
        ),
        (
            step("start_recording", sessionId="x" * 129),
            "actions.0.params.sessionId",
            "must not be longer than 128 characters",
        ),
        (
            step("scroll", findFirstScrollableChild=1),
            "actions.0.params.findFirstScrollableChild",
            "must be a boolean, not a number",
        ),
        (step("scroll", distanceRatio=True), "actions.0.params.distanceRatio", "must be a number, not a boolean"),
        (step("scroll", distanceRatio=float("inf")), "actions.0.params.distanceRatio", "must be a finite number"),
    ],
)
def test_actions_have_their_form(action: object, path: str, message: str) -> None:
    error = assert_refused(plan(action), path, message)
    given = action if isinstance(action, dict) else {}
    assert error.details.get("actionId") == (given.get("id") if isinstance(given.get("id"), str) else None)


def test_an_issue_names_the_action_as_it_was_given() -> None:
    details = refusal(plan(step("snapshot_ui") | {"id": "a0"}, step(" Press_Key "))).details
    assert (details["path"], details["actionId"], details["actionType"]) == (
        "actions.1.params.key",
        "a1",
        " Press_Key ",
    )


def test_ids_are_unique() -> None:
    payload = plan(step("snapshot_ui"), step("snapshot_ui") | {"id": "b"}, step("snapshot_ui"))
    assert_refused(payload, "actions.2.id", "Action id 'a1' is used more than once")


@pytest.mark.parametrize("name", ["ascii", "json", "hierarchy_xml", " ASCII "])
def test_the_format_of_a_snapshot_is_the_hosts_business(name: str) -> None:
    checked = validate(plan(step("snapshot", format=name)))
    assert checked.payload["actions"][0]["params"] == {"format": name.strip().lower()}
    assert "format" not in checked.wire
    assert checked.wire == validate(plan(step("snapshot"))).wire


def test_formats_that_there_are_not() -> None:
    message = "snapshot_ui params.format must be one of: hierarchy_xml, ascii, json"
    assert_refused(plan(step("snapshot", format="xml")), "actions.0.params.format", message)


@pytest.mark.parametrize(
    ("given", "meant"), [("clik", "click"), ("snapshotui", "snapshot_ui"), ("screenshoot", "screenshot")]
)
def test_an_unknown_type_is_unsupported_and_a_near_one_suggested(given: str, meant: str) -> None:
    error = refusal(plan(step("snapshot_ui"), step(given) | {"id": "b"}))
    assert error.code is ErrorCode.EXECUTION_ACTION_UNSUPPORTED
    assert error.details["path"] == "actions.1.type"
    assert error.details["actionType"] == given
    assert error.details["supportedTypes"] == list(ACTIONS)
    assert error.details["hint"] == f"Did you mean '{meant}'?"


@pytest.mark.parametrize("verb", ["set_checked", "wait_gone", "input_tap"])
def test_a_verb_of_its_own_is_not_taken_for_another_action(verb: str) -> None:
    assert refusal(plan(step(verb))).hint == "It is a verb of its own, outside of a plan."


@pytest.mark.parametrize(("argument", "meant"), [("selector", "matcher"), ("point", "coordinate")])
def test_an_argument_of_a_verb_is_a_parameter_under_another_name(argument: str, meant: str) -> None:
    error = refusal(plan(step("click", **{argument: {"textEquals": "x"}})))
    assert (error.details["path"], error.hint) == ("actions.0.params", f"Did you mean '{meant}'?")


@pytest.mark.parametrize("internal", ["doctor_ping", "Doctor_Ping", "  ", "\u0130"])
def test_internal_and_strange_types_are_unsupported(internal: str) -> None:
    assert refusal(plan(step(internal))).code is ErrorCode.EXECUTION_ACTION_UNSUPPORTED


# -- order


def test_the_first_issue_in_contract_order_speaks_for_all() -> None:
    payload = {
        "extra": 1,
        "mode": "fast",
        "actions": [
            {"extra": 1, "params": {"odd": 1, "matcher": {"odd": 1}, "retry": {"odd": 1}}, "type": "clik", "id": 5},
            {"id": "b", "type": "press_key"},
        ],
        "timeoutMs": 1,
        "expectedFormat": "x",
        "source": "",
    }
    issues = refusal(payload).details["issues"]
    assert [issue["path"] for issue in issues] == [
        "commandId",
        "taskId",
        "source",
        "expectedFormat",
        "timeoutMs",
        "actions.0.id",
        "actions.0.params.retry",
        "actions.0.params.matcher",
        "actions.0.params.matcher",
        "actions.0.params",
        "actions.0",
        "actions.0.type",
        "mode",
        "",
        "actions.1.params.key",
    ]
    assert [issue["message"] for issue in issues][7:9] == [
        "`actions.0.params.matcher` has an unknown key: 'odd'",
        "`actions.0.params.matcher` must have at least one field",
    ]


def test_form_comes_before_rules_whatever_the_action() -> None:
    payload = plan(step("press_key") | {"id": "a0"}, step("sleep", durationMs="1"))
    assert_refused(payload, "actions.1.params.durationMs", "must be a number, not a string")


def test_range_issues_of_the_root_do_not_hide_the_rules() -> None:
    assert [i["path"] for i in refusal(plan(step("press_key"), timeoutMs=1)).details["issues"]] == [
        "timeoutMs",
        "actions.0.params.key",
    ]


def test_the_reason_is_one_readable_line() -> None:
    reason = refusal(plan(*[step("press_key", key="x") | {"id": str(n)} for n in range(9)])).details["reason"]
    assert reason.startswith(
        "actions.0.params.key: press_key params.key must be one of: back, home, recents; actions.1"
    )
    assert reason.endswith("and 4 more")
    assert "\n" not in reason


def test_a_refusal_lists_no_more_than_a_hundred_issues() -> None:
    many = [{"id": "x", "type": "x", "params": {"matcher": {}}} for _ in range(500)]
    assert len(refusal(plan(*many)).details["issues"]) == 100


# -- rules with their exact words

ONE_OF_DIRECTIONS = "must be one of: down, up, left, right"
ONE_OF_CLICKS = "must be one of: default, long_click, focus"

RULES = [
    (step("open_app"), "params.applicationId", "open_app requires params.applicationId"),
    ({"id": "a", "type": "open_app"}, "params.applicationId", "open_app requires params.applicationId"),
    (step("open_app", applicationId=" "), "params.applicationId", "open_app requires params.applicationId"),
    (step("open_app", applicationId=""), "params.applicationId", "open_app requires params.applicationId"),
    (
        step("open_app", applicationId="x; rm -rf /sdcard"),
        "params.applicationId",
        "open_app params.applicationId must be an Android package name",
    ),
    (step("close_app"), "params.applicationId", "close_app requires params.applicationId"),
    (
        step("close_app", applicationId="a.b\n"),
        "params.applicationId",
        "close_app params.applicationId must be an Android package name",
    ),
    (step("open_uri"), "params.uri", "open_uri requires params.uri"),
    (step("open_uri", uri="\t"), "params.uri", "open_uri requires params.uri"),
    (step("sleep"), "params.durationMs", "sleep requires params.durationMs >= 0"),
    (step("sleep", durationMs=-1), "params.durationMs", "sleep requires params.durationMs >= 0"),
    (step("sleep", durationMs=120001), "params.durationMs", "sleep.durationMs must not exceed 120000 ms"),
    (step("sleep", durationMs=1.5), "params.durationMs", "sleep params.durationMs must be an integer in [0, 120000]"),
    (step("click"), "params.matcher", "click requires params.matcher"),
    (step("read_text"), "params.matcher", "read_text requires params.matcher"),
    (step("wait_for_node"), "params.matcher", "wait_for_node requires params.matcher"),
    (
        step("wait_for_node", matcher=BUTTON, timeoutMs=0),
        "params.timeoutMs",
        "wait_for_node params.timeoutMs must be an integer in [1, 120000]",
    ),
    (step("enter_text", text="x"), "params.matcher", "enter_text requires params.matcher"),
    (step("enter_text", matcher=BUTTON), "params.text", "enter_text requires non-empty params.text"),
    (step("enter_text", matcher=BUTTON, text=""), "params.text", "enter_text requires non-empty params.text"),
    (step("enter_text", matcher=BUTTON, text=" \n"), "params.text", "enter_text requires non-empty params.text"),
    (step("scroll_and_click"), "params.target", "scroll_and_click requires params.target"),
    (
        step("scroll_and_click", target=BUTTON, matcher=LIST),
        "params",
        "scroll_and_click params.target and params.matcher differ",
    ),
    (
        step("scroll_and_click", target=BUTTON, maxSwipes=51),
        "params.maxSwipes",
        "scroll_and_click params.maxSwipes must be an integer in [1, 50]",
    ),
    (
        step("scroll_and_click", target=BUTTON, scrollRetry={"maxAttempts": 0}),
        "params.scrollRetry.maxAttempts",
        "scroll_and_click params.scrollRetry.maxAttempts must be an integer in [1, 10]",
    ),
    *[
        (step(kind, **extra, direction=bad), "params.direction", f"{kind} params.direction {ONE_OF_DIRECTIONS}")
        for kind, extra in [("scroll", {}), ("scroll_until", {}), ("scroll_and_click", {"target": BUTTON})]
        for bad in ("north", "")
    ],
    *[
        (step(kind, distanceRatio=bad), "params.distanceRatio", f"{kind} params.distanceRatio must be in [0.0, 1.0]")
        for kind in ("scroll", "scroll_until")
        for bad in (-0.1, 1.01, 7)
    ],
    *[
        (step(kind, settleDelayMs=bad), "params.settleDelayMs", f"{kind} params.settleDelayMs must be in [0, 10000]")
        for kind in ("scroll", "scroll_until")
        for bad in (-1, 10001)
    ],
    *[
        (
            step("scroll_until", maxScrolls=bad),
            "params.maxScrolls",
            "scroll_until params.maxScrolls must be an integer in [1, 200]",
        )
        for bad in (0, 201, 1.5)
    ],
    *[
        (
            step("scroll_until", maxDurationMs=bad),
            "params.maxDurationMs",
            "scroll_until params.maxDurationMs must be in [0, 120000]",
        )
        for bad in (-1, 120001)
    ],
    *[
        (
            step("scroll_until", noPositionChangeThreshold=bad),
            "params.noPositionChangeThreshold",
            "scroll_until params.noPositionChangeThreshold must be an integer in [1, 20]",
        )
        for bad in (0, 21, 2.5)
    ],
    (
        step("scroll_until", clickAfter=True),
        "params.matcher",
        "scroll_until params.clickAfter=true requires params.matcher",
    ),
    (
        step("scroll_until", matcher=BUTTON, clickType="double"),
        "params.clickType",
        f"scroll_until params.clickType {ONE_OF_CLICKS}",
    ),
    (step("press_key"), "params.key", "press_key requires params.key"),
    (step("press_key", key=" "), "params.key", "press_key requires params.key"),
    (step("press_key", key="enter"), "params.key", "press_key params.key must be one of: back, home, recents"),
    (
        step("click", matcher=BUTTON, coordinate={"x": 1, "y": 2}),
        "params",
        "click params.matcher and params.coordinate are mutually exclusive",
    ),
    (
        step("click", coordinate={"x": 1, "y": 2}, clickType=" Focus"),
        "params.clickType",
        "click params.coordinate does not support clickType='focus'",
    ),
    (
        step("click", coordinate={"x": 1, "y": -1}),
        "params.coordinate.y",
        "click params.coordinate.y must be an integer in [0, 2147483647]",
    ),
    (step("click", matcher=BUTTON, clickType="double"), "params.clickType", f"click params.clickType {ONE_OF_CLICKS}"),
    (
        step("click", matcher=BUTTON, retry={"maxAttempts": 11}),
        "params.retry.maxAttempts",
        "click params.retry.maxAttempts must be an integer in [1, 10]",
    ),
    (
        step("click", matcher=BUTTON, retry={"initialDelayMs": 30001, "maxDelayMs": 30001}),
        "params.retry.initialDelayMs",
        "click params.retry.initialDelayMs must be an integer in [0, 30000]",
    ),
    (
        step("click", matcher=BUTTON, retry={"maxDelayMs": 60001}),
        "params.retry.maxDelayMs",
        "click params.retry.maxDelayMs must be an integer in [0, 60000]",
    ),
    (
        step("click", matcher=BUTTON, retry={"initialDelayMs": 500, "maxDelayMs": 499}),
        "params.retry.maxDelayMs",
        "click params.retry.maxDelayMs must not be less than initialDelayMs",
    ),
    (
        step("click", matcher=BUTTON, retry={"backoffMultiplier": 0.5}),
        "params.retry.backoffMultiplier",
        "click params.retry.backoffMultiplier must be in [1.0, 5.0]",
    ),
    (
        step("click", matcher=BUTTON, retry={"jitterRatio": 1.5}),
        "params.retry.jitterRatio",
        "click params.retry.jitterRatio must be in [0.0, 1.0]",
    ),
    (
        step("long_press", matcher=BUTTON, clickType="focus"),
        "params.clickType",
        "long_press means params.clickType 'long_click', not 'focus'",
    ),
    (
        step("read_text", matcher=BUTTON, validator="number"),
        "params.validator",
        "read_text params.validator must be one of: temperature, version, regex",
    ),
    (
        step("read_text", matcher=BUTTON, validator="regex"),
        "params.validatorPattern",
        "read_text with validator='regex' requires params.validatorPattern",
    ),
    (
        step("read_text", matcher=BUTTON, validator="regex", validatorPattern=" "),
        "params.validatorPattern",
        "read_text with validator='regex' requires params.validatorPattern",
    ),
    (
        step("read_text", matcher=BUTTON, validator="regex", validatorPattern="("),
        "params.validatorPattern",
        "read_text params.validatorPattern is not a valid regex pattern",
    ),
    (
        step("take_screenshot", path="  "),
        "params.path",
        "take_screenshot params.path must be a non-empty string",
    ),
    (
        step("wait_for_navigation", timeoutMs=1000),
        "params",
        "wait_for_navigation requires at least one of params.expectedPackage or params.expectedNode",
    ),
    (
        step("wait_for_navigation", expectedPackage="a.b"),
        "params.timeoutMs",
        "wait_for_navigation requires params.timeoutMs > 0",
    ),
    (
        step("wait_for_navigation", expectedNode=BUTTON, timeoutMs=0),
        "params.timeoutMs",
        "wait_for_navigation requires params.timeoutMs > 0",
    ),
    (
        step("wait_for_navigation", expectedNode=BUTTON, timeoutMs=30001),
        "params.timeoutMs",
        "wait_for_navigation params.timeoutMs must not exceed 30000",
    ),
    (
        step("wait_for_navigation", expectedPackage=" ", timeoutMs=1),
        "params.expectedPackage",
        "wait_for_navigation params.expectedPackage must not be blank",
    ),
    (step("read_key_value_pair"), "params.labelMatcher", "read_key_value_pair requires params.labelMatcher"),
    *[
        (step(kind, sessionId=bad), "params.sessionId", f"{kind} params.sessionId {words}")
        for kind in ("start_recording", "stop_recording")
        for bad, words in ((" ", "must not be blank"), ("a b", "must consist of A-Z, a-z, 0-9, _ and -"))
    ],
]


@table(("action", "suffix", "message"), RULES)
def test_rules_speak_in_the_contract_s_words(action: dict[str, Any], suffix: str, message: str) -> None:
    assert_refused(plan(action), f"actions.0.{suffix}", message)


@pytest.mark.parametrize(
    ("action", "suffix", "message"),
    [
        (step("click"), "params", "click requires params.matcher or params.coordinate"),
        (step("scroll_and_click"), "params.matcher", "scroll_and_click requires params.matcher"),
    ],
)
def test_the_flat_profile_has_words_of_its_own(action: dict[str, Any], suffix: str, message: str) -> None:
    assert_refused(plan(action), f"actions.0.{suffix}", message, "flat")


# -- what is accepted, and what it becomes

ACCEPTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (step("open_app", applicationId="com.android.settings"), {"applicationId": "com.android.settings"}),
    (step("open_app", applicationId="android", retry={}), {"applicationId": "android", "retry": {}}),
    (step("open_uri", uri="u" * 2048), {"uri": "u" * 2048}),
    (step("close_app", applicationId="com.example_1.app2"), {"applicationId": "com.example_1.app2"}),
    (step("wait_for_node", matcher=BUTTON, timeoutMs=120000), {"matcher": BUTTON, "timeoutMs": 120000}),
    (
        step("click", matcher={**BUTTON, "role": "", "textEquals": ""}, clickType=" LongClick"),
        {"matcher": BUTTON, "clickType": "long_click"},
    ),
    (step("click", matcher=BUTTON, clickType="click"), {"matcher": BUTTON, "clickType": "default"}),
    (step("click", coordinate={"x": 0, "y": 12.0}), {"coordinate": {"x": 0, "y": 12}}),
    (
        step("read_text", matcher=BUTTON, validator="Regex", validatorPattern=r"\d+", all=True, container=LIST),
        {"matcher": BUTTON, "validator": "regex", "validatorPattern": r"\d+", "all": True, "container": LIST},
    ),
    (
        step("enter_text", matcher=BUTTON, text=" x ", submit=True, clear=False),
        {"matcher": BUTTON, "text": " x ", "submit": True, "clear": False},
    ),
    (step("take_screenshot", path="/tmp/a.png"), {"path": "/tmp/a.png"}),
    (step("sleep", durationMs=0), {"durationMs": 0}),
    (step("sleep", durationMs=250.0), {"durationMs": 250}),
    (step("press_key", key=" BACK "), {"key": "back"}),
    (
        step("scroll", direction="UP", distanceRatio=1, settleDelayMs=10000, container=LIST),
        {"direction": "up", "distanceRatio": 1, "settleDelayMs": 10000, "container": LIST},
    ),
    (
        step(
            "scroll_until",
            maxScrolls=200,
            maxDurationMs=0,
            noPositionChangeThreshold=20,
            clickAfter=True,
            matcher=BUTTON,
        ),
        {"maxScrolls": 200, "maxDurationMs": 0, "noPositionChangeThreshold": 20, "clickAfter": True, "matcher": BUTTON},
    ),
    (
        step("wait_for_navigation", expectedPackage="a.b", expectedNode=BUTTON, timeoutMs=30000),
        {"expectedPackage": "a.b", "expectedNode": BUTTON, "timeoutMs": 30000},
    ),
    (step("read_key_value_pair", labelMatcher=BUTTON, all=False), {"labelMatcher": BUTTON, "all": False}),
    (step("start_recording", sessionId="Run_1-a"), {"sessionId": "Run_1-a"}),
    (
        step("click", matcher=BUTTON, retry={"maxAttempts": 10.0, "jitterRatio": 0.15, "maxDelayMs": 60000}),
        {"matcher": BUTTON, "retry": {"maxAttempts": 10, "jitterRatio": 0.15, "maxDelayMs": 60000}},
    ),
]


@table(("action", "params"), ACCEPTED)
def test_accepted_params_are_normalised(action: dict[str, Any], params: dict[str, Any]) -> None:
    validated = sent(plan(action))
    assert validated.payload["actions"][0]["params"] == params
    assert validated.execution.actions[0].params == params


def test_the_value_shares_nothing_with_the_payload() -> None:
    payload = plan(step("click", matcher=dict(BUTTON), retry={"maxAttempts": 2}))
    validated = sent(payload)
    payload["actions"][0]["params"]["matcher"]["resourceId"] = "changed"
    validated.payload["actions"][0]["params"]["retry"]["maxAttempts"] = 9
    assert validated.execution.to_payload()["actions"][0]["params"] == {"matcher": BUTTON, "retry": {"maxAttempts": 2}}


@table("action_type", ACTIONS)
def test_every_type_is_accepted_in_any_case_and_with_blanks(action_type: str) -> None:
    minimal: dict[str, dict[str, Any]] = {
        "open_app": {"applicationId": "a.b"},
        "open_uri": {"uri": "x:y"},
        "close_app": {"applicationId": "a.b"},
        "enter_text": {"matcher": BUTTON, "text": "x"},
        "sleep": {"durationMs": 1},
        "press_key": {"key": "home"},
        "scroll_and_click": {"target": BUTTON},
        "wait_for_navigation": {"expectedPackage": "a.b", "timeoutMs": 1},
        "read_key_value_pair": {"labelMatcher": BUTTON},
        "swipe": {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}, "durationMs": 1},
        "drag": {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}, "holdDurationMs": 1, "moveDurationMs": 1},
        "show_toast": {"text": "x"},
        "set_on_screen_log": {"text": "x"},
        "dismiss_notification": {"notificationKey": "k"},
        "invoke_notification_action": {"notificationKey": "k", "actionId": "a"},
        **{name: {"mediaSessionId": "s"} for name in ("get_media_status", "media_pause", "media_play")},
        "media_seek": {"mediaSessionId": "s", "positionMs": 0},
        "observe_media": {"durationMs": 1},
    }
    needs_matcher = action_type in ("click", "read_text", "wait_for_node")
    params = minimal.get(action_type, {"matcher": BUTTON} if needs_matcher else {})
    assert sent(plan(step(f" {action_type.upper()} ", **params))).execution.actions[0].type == action_type


def test_types_are_the_contract_s() -> None:
    assert list(ACTIONS) == [
        "open_app",
        "open_uri",
        "close_app",
        "wait_for_node",
        "click",
        "read_text",
        "enter_text",
        "snapshot_ui",
        "take_screenshot",
        "sleep",
        "press_key",
        "scroll",
        "scroll_until",
        "scroll_and_click",
        "wait_for_navigation",
        "read_key_value_pair",
        "start_recording",
        "stop_recording",
        "query_ui",
        "swipe",
        "drag",
        "show_toast",
        "cancel_toast",
        "set_on_screen_log",
        "clear_on_screen_log",
        "list_notifications",
        "dismiss_notification",
        "invoke_notification_action",
        "list_media_sessions",
        "get_media_status",
        "media_pause",
        "media_play",
        "media_seek",
        "observe_media",
    ]


def test_aliases_are_the_contract_s() -> None:
    assert ALIAS_TABLE_VERSION == 1
    assert ALIASES == {
        "tap": "click",
        "press": "click",
        "long_press": "click",
        "wait_for": "wait_for_node",
        "find": "wait_for_node",
        "find_node": "wait_for_node",
        "read": "read_text",
        "snapshot": "snapshot_ui",
        "screenshot": "take_screenshot",
        "capture_screenshot": "take_screenshot",
        "type_text": "enter_text",
        "text_entry": "enter_text",
        "input_text": "enter_text",
        "open_url": "open_uri",
        "key_press": "press_key",
        "sleep": "sleep",
        "on_screen_log_set": "set_on_screen_log",
        "on_screen_log_clear": "clear_on_screen_log",
    }


@pytest.mark.parametrize("alias", ["tap", "Press ", "TAP"])
def test_aliases_become_canonical(alias: str) -> None:
    assert sent(plan(step(alias, matcher=BUTTON))).payload["actions"][0]["type"] == "click"


@pytest.mark.parametrize("explicit", [{}, {"clickType": "long_click"}, {"clickType": "LONGCLICK"}])
def test_long_press_is_a_long_click(explicit: dict[str, str]) -> None:
    params = sent(plan(step("long_press", matcher=BUTTON, **explicit))).payload["actions"][0]["params"]
    assert params == {"matcher": BUTTON, "clickType": "long_click"}


@table("given", [{"target": BUTTON}, {"matcher": BUTTON}, {"target": BUTTON, "matcher": {**BUTTON, "role": ""}}])
@table(("profile", "name"), [("classic", "target"), ("flat", "matcher")])
def test_the_target_of_scroll_and_click_has_one_name_here_and_two_on_the_wire(
    given: dict[str, Any], profile: Profile, name: str
) -> None:
    validated = sent(plan(step("scroll_and_click", **given, maxSwipes=3)), profile)
    assert validated.payload["actions"][0]["params"] == {name: BUTTON, "maxSwipes": 3}
    on_wire = validated.execution.actions[0].to_wire()["params"]
    assert on_wire == {"target": BUTTON, "matcher": BUTTON, "maxSwipes": 3}


def test_a_known_param_on_any_action_is_kept_but_not_sent() -> None:
    validated = sent(plan(step("click", matcher=BUTTON, uri="x:y", durationMs=-5.5)))
    assert validated.payload["actions"][0]["params"] == {"matcher": BUTTON, "uri": "x:y", "durationMs": -5.5}
    assert "x:y" not in validated.wire
    assert [(w.code, w.path) for w in validated.warnings] == [
        ("PARAM_UNUSED", "actions.0.params.uri"),
        ("PARAM_UNUSED", "actions.0.params.durationMs"),
    ]


def test_the_vocabulary_is_every_param_of_every_action_that_takes_others() -> None:
    shared = [spec for spec in ACTIONS.values() if not issubclass(spec, ExactParams)]
    assert set(VOCABULARY) == {name for spec in shared for name in spec.model_fields}


def test_the_wire_text_is_compact_and_exactly_this() -> None:
    payload = plan(
        step("tap", matcher={"textEquals": "Käse “€” 😀", "role": ""}), {"id": "b", "type": "snapshot", "params": {}}
    )
    assert sent(payload).wire == (
        '{"commandId":"look-1","taskId":"look","source":"demo","expectedFormat":"android-ui-automator","timeoutMs":15000,'
        '"actions":[{"id":"a1","type":"click","params":{"matcher":{"textEquals":"Käse “€” 😀"}}},{"id":"b","type":"snapshot_ui"}]}'
    )


# -- after validation


@table("value", ["20000", float("nan"), float("inf"), True, [], {}])
def test_an_override_is_a_finite_number(value: object) -> None:
    with pytest.raises(EngineError) as caught:
        validate(plan(), timeout_ms=value)
    assert (caught.value.message, caught.value.details) == ("timeoutMs must be a finite number", {})
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED


@table("value", [999, 120001, -1, 0, 999.9, 10**400])
def test_an_override_is_in_range(value: float) -> None:
    with pytest.raises(EngineError) as caught:
        validate(plan(), timeout_ms=value)
    assert (caught.value.message, caught.value.details) == ("timeoutMs must be between 1000 and 120000", {})


def test_an_override_is_whole() -> None:
    with pytest.raises(EngineError, match="must be an integer"):
        validate(plan(), timeout_ms=5000.5)


def test_an_override_replaces_the_payload_s_timeout_everywhere() -> None:
    validated = validate(plan(), timeout_ms=20000.0)
    assert validated.execution.timeout_ms == validated.payload["timeoutMs"] == 20000
    assert '"timeoutMs":20000,' in validated.wire


def test_an_override_does_not_excuse_an_invalid_payload() -> None:
    with pytest.raises(EngineError) as caught:
        validate(plan(timeoutMs=1), timeout_ms=5000)
    assert caught.value.details["path"] == "timeoutMs"


def test_the_size_limit_is_exact_in_utf8_bytes() -> None:
    matcher = {"textEquals": "t" * 512, "textContains": "c" * 512, "contentDescEquals": "d" * 512}
    actions = [step("click", matcher=matcher) | {"id": f"{n}"} for n in range(38)]
    actions.append(step("click", matcher={"textEquals": "t" * 512}) | {"id": "last"})
    tail = step("enter_text", matcher={"textEquals": ""} | BUTTON, text="x") | {"id": "t"}
    rest = 64_000 - len(sent(plan(*actions, tail)).wire.encode())
    assert 0 < rest // 2 < 511
    tail["params"]["text"] = "x" + "é" * (rest // 2) + "x" * (rest % 2)
    assert len(sent(plan(*actions, tail)).wire.encode()) == 64_000
    tail["params"]["text"] += "x"
    with pytest.raises(EngineError) as caught:
        validate(plan(*actions, tail))
    assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE
    assert caught.value.message == "Payload exceeds 64000 bytes (got 64001)"
