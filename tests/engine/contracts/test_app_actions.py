"""The actions of Operator 0.10 and later: exactly their parameters and bounds, and nothing that the app would not answer."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.config.policy import DEFAULT, action_refusals, capabilities_of, packages_of
from clawperator.engine.contracts.actions import ACTIONS, ExactParams
from clawperator.engine.contracts.execution import Action
from clawperator.engine.contracts.generation import by_input, fits_every_generation, require_generation
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.command import ENVELOPE_WAIT_SECONDS, Command
from clawperator.engine.executions.validate import Validated, validate
from clawperator.engine.runtime.payload import PayloadError, read_payload
from tests.support import table

HERE, THERE = {"x": 1, "y": 2}, {"x": 3, "y": 4}
NODE = {"role": "button"}
SESSION = {"mediaSessionId": "s"}
MINIMAL: dict[str, dict[str, Any]] = {
    "query_ui": {},
    "swipe": {"start": HERE, "end": THERE, "durationMs": 300},
    "drag": {"start": HERE, "end": THERE, "holdDurationMs": 500, "moveDurationMs": 300},
    "show_toast": {"text": "hello"},
    "cancel_toast": {},
    "set_on_screen_log": {"text": "a\tb\nc"},
    "clear_on_screen_log": {},
    "list_notifications": {},
    "dismiss_notification": {"notificationKey": "0|a.b|1|null|10001"},
    "invoke_notification_action": {"notificationKey": "0|a.b|1|null|10001", "actionId": "reply"},
    "list_media_sessions": {},
    "get_media_status": SESSION,
    "media_pause": SESSION,
    "media_play": {"applicationId": "a.b"},
    "media_seek": {**SESSION, "positionMs": 0},
    "observe_media": {"durationMs": 1},
}
NEW = [name for name, spec in ACTIONS.items() if issubclass(spec, ExactParams)]


def plan(action_type: str, params: dict[str, Any]) -> dict[str, Any]:
    action = {"id": "a", "type": action_type, "params": params}
    head = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    return {**head, "timeoutMs": 15_000, "actions": [action]}


def accepted(action_type: str, params: dict[str, Any]) -> Validated:
    return validate(plan(action_type, params))


def refused(action_type: str, params: dict[str, Any]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        accepted(action_type, params)
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    return caught.value


def test_every_new_action_is_here() -> None:
    assert list(MINIMAL) == NEW


@table("action_type", NEW)
def test_the_app_reads_what_the_host_accepts(action_type: str) -> None:
    validated = accepted(action_type, MINIMAL[action_type])
    assert not validated.warnings
    (step,) = read_payload(validated.wire, "1.0").steps
    assert step.type == action_type
    for generation in ("0.3", "0.9"):
        with pytest.raises(PayloadError):
            read_payload(validated.wire, generation)


@table("action_type", NEW)
def test_other_parameters_are_refused_by_both(action_type: str) -> None:
    error = refused(action_type, {**MINIMAL[action_type], "clickType": "focus"})
    assert error.details["invalidKeys"] == ["clickType"]
    wire = accepted(action_type, MINIMAL[action_type]).wire
    broken = wire.replace('"params":{', '"params":{"clickType":"focus",').replace(',"clickType":"focus",}', "}")
    if '"params"' not in wire:
        broken = wire.replace(f'"type":"{action_type}"', f'"type":"{action_type}","params":{{"clickType":"focus"}}')
    with pytest.raises(PayloadError):
        read_payload(broken.replace(",}", "}"), "1.0")


def test_the_older_actions_do_not_take_the_new_parameters() -> None:
    assert refused("click", {"matcher": NODE, "visibility": "all"}).details["invalidKeys"] == ["visibility"]


BOUNDS: list[tuple[str, str, object, object]] = [
    ("query_ui", "limit", 1, 0),
    ("query_ui", "limit", 1_000, 1_001),
    ("swipe", "durationMs", 1, 0),
    ("swipe", "durationMs", 10_000, 10_001),
    ("drag", "holdDurationMs", 10_000, 10_001),
    ("drag", "moveDurationMs", 1, 0),
    ("show_toast", "text", "x" * 2_048, "x" * 2_049),
    ("show_toast", "text", "a\nb\tc", " \n"),
    ("show_toast", "text", "ä", "a\x07b"),
    ("show_toast", "duration", "long", "longer"),
    ("set_on_screen_log", "topOffsetDp", 0, -1),
    ("set_on_screen_log", "edgeOffsetDp", 1_000, 1_001),
    ("set_on_screen_log", "widthDp", 80, 79),
    ("set_on_screen_log", "widthDp", 600, 601),
    ("set_on_screen_log", "fontSizeSp", 12.0, 12.5),
    ("set_on_screen_log", "fontSizeSp", 24, "24"),
    ("set_on_screen_log", "textColor", "#aabbcc", "#abc"),
    ("set_on_screen_log", "backgroundColor", "#80AABBCC", "red"),
    ("set_on_screen_log", "ttlMs", 3_600_000, 999),
    ("set_on_screen_log", "anchor", "right", "top"),
    ("list_notifications", "limit", 100, 101),
    ("list_media_sessions", "maxTextChars", 1_024, 0),
    ("dismiss_notification", "notificationKey", "k" * 4_096, "k" * 4_097),
    ("dismiss_notification", "waitTimeoutMs", 30_000, 30_001),
    ("invoke_notification_action", "actionId", "a" * 128, "a" * 129),
    ("get_media_status", "mediaSessionId", "s" * 128, ""),
    ("media_seek", "positionMs", 2**53 - 1, 2**53),
    ("media_seek", "positionToleranceMs", 60_000, 60_001),
    ("observe_media", "durationMs", 30_000, 30_001),
    ("open_app", "navigationTimeoutMs", 1_000, 999),
    ("open_app", "navigationTimeoutMs", 120_000, 120_001),
    ("open_app", "skipNavigationWait", True, "true"),
]


@table(("action_type", "name", "good", "bad"), BOUNDS)
def test_bounds_are_the_same_on_the_device(action_type: str, name: str, good: object, bad: object) -> None:
    minimal = {**MINIMAL, "open_app": {"applicationId": "a.b"}}[action_type]
    read_payload(accepted(action_type, {**minimal, name: good}).wire, "1.0")
    assert refused(action_type, {**minimal, name: bad}).details["path"] == f"actions.0.params.{name}"


@table(
    ("action_type", "params"),
    [
        ("swipe", {"start": HERE, "end": HERE, "durationMs": 1}),
        ("swipe", {"start": HERE, "durationMs": 1}),
        ("drag", {"start": HERE, "end": {"x": -1, "y": 1}, "holdDurationMs": 1, "moveDurationMs": 1}),
        ("set_on_screen_log", {}),
        ("set_on_screen_log", {"text": "a", "template": "b"}),
        ("get_media_status", {}),
        ("media_pause", {**SESSION, "applicationId": "a.b"}),
        ("media_seek", SESSION),
        ("observe_media", {}),
        ("show_toast", {}),
    ],
)
def test_what_belongs_together(action_type: str, params: dict[str, Any]) -> None:
    assert action_type in refused(action_type, params).message or "must" in refused(action_type, params).message


# -- generations


SINCE = {
    "query_ui": ("0.9.5", "0.10.0"),
    "set_on_screen_log": ("0.9.5", "0.10.0"),
    "clear_on_screen_log": ("0.9.5", "0.10.0"),
    "show_toast": ("0.11.2", "0.11.3"),
    "cancel_toast": ("0.11.2", "0.11.3"),
    "observe_media": ("0.11.0", "0.11.1"),
    **dict.fromkeys(
        ("list_notifications", "dismiss_notification", "invoke_notification_action", "list_media_sessions",
         "get_media_status", "media_pause", "media_play", "media_seek"),
        ("0.10.1", "0.11.0"),
    ),
}  # fmt: skip


@table("action_type", SINCE)
def test_the_version_that_can_is_named(action_type: str) -> None:
    last_without, first = SINCE[action_type]
    execution = accepted(action_type, MINIMAL[action_type]).execution
    assert not fits_every_generation(execution)
    with pytest.raises(EngineError) as caught:
        require_generation(execution, last_without)
    assert caught.value.details["requiresApk"] in (first, first.removesuffix(".0"))
    require_generation(execution, first)


@pytest.mark.parametrize(
    ("action_type", "params", "last_without", "first"),
    [
        ("set_on_screen_log", {"template": "x"}, "0.11.1", "0.11.2"),
        ("open_app", {"applicationId": "a.b", "navigationTimeoutMs": 2_000}, "0.9.1", "0.9.2"),
        ("open_app", {"applicationId": "a.b", "skipNavigationWait": True}, "0.9.1", "0.9.2"),
        ("enter_text", {"matcher": NODE, "text": "x", "clear": True}, "0.6.5", "0.7.0"),
    ],
)
def test_later_parameters(action_type: str, params: dict[str, Any], last_without: str, first: str) -> None:
    execution = accepted(action_type, params).execution
    with pytest.raises(EngineError, match=first.removesuffix(".0")):
        require_generation(execution, last_without)
    require_generation(execution, first)


def test_what_says_nothing_new_reads_no_version() -> None:
    assert fits_every_generation(
        accepted("enter_text", {"matcher": NODE, "text": "x", "clear": False, "submit": False}).execution
    )


@table(
    ("action_type", "version", "sdk", "left"),
    [
        ("swipe", "0.5.0", 34, True),
        ("swipe", "0.11.2", 34, True),
        ("swipe", "0.11.3", 21, False),
        ("drag", "0.12.4", 34, True),
        ("drag", "0.12.5", 34, False),
        ("drag", "1.0.0", 25, True),
        ("drag", "unreadable", 25, False),
    ],
)
def test_gestures_that_the_app_cannot_perform_are_left_to_input(
    action_type: str, version: str, sdk: int, left: bool
) -> None:
    execution = accepted(action_type, MINIMAL[action_type]).execution
    require_generation(execution, version)
    assert [action.id for action in by_input(execution, version, sdk)] == (["a"] if left else [])


# -- time limits


def test_the_host_waits_longer_for_an_app_that_may_take_longer() -> None:
    longer = Command.of(accepted("open_app", {"applicationId": "a.b", "navigationTimeoutMs": 60_000}))
    assert longer.spare_seconds == ENVELOPE_WAIT_SECONDS + 60
    assert Command.of(accepted("open_app", {"applicationId": "a.b"})).spare_seconds == ENVELOPE_WAIT_SECONDS


def test_only_reading_and_media_actions_are_of_the_background() -> None:
    background = [name for name in NEW if Command.of(accepted(name, MINIMAL[name])).background]
    assert background == [
        "list_notifications", "list_media_sessions", "get_media_status", "media_pause", "media_play", "media_seek",
        "observe_media",
    ]  # fmt: skip
    assert not Command.of(accepted("sleep", {"durationMs": 1})).background


# -- policy


FAR = {"x": 500, "y": 500}


@table(
    ("action_type", "params", "needed"),
    [
        ("query_ui", {}, {"observe"}),
        ("list_notifications", {}, {"observe"}),
        ("observe_media", {"durationMs": 1}, {"observe"}),
        ("media_pause", SESSION, {"click"}),
        ("invoke_notification_action", {}, {"click"}),
        ("dismiss_notification", {}, {"click"}),
        ("show_toast", {"text": "x"}, {"navigate"}),
        ("swipe", {"start": HERE, "end": FAR, "durationMs": 300}, {"navigate"}),
        ("swipe", {"start": HERE, "end": THERE, "durationMs": 300}, {"navigate", "click"}),
        ("swipe", {"start": HERE, "end": THERE, "durationMs": 400}, {"navigate", "long_click"}),
        ("swipe", {"start": HERE, "end": FAR, "durationMs": 10_000}, {"navigate", "long_click"}),
        ("drag", {"start": HERE, "end": FAR, "holdDurationMs": 1, "moveDurationMs": 300}, {"navigate", "long_click"}),
        (
            "drag",
            {"start": HERE, "end": THERE, "holdDurationMs": 1, "moveDurationMs": 1},
            {"navigate", "long_click", "click"},
        ),
    ],
)
def test_capabilities_follow_the_effect(action_type: str, params: dict[str, Any], needed: set[str]) -> None:
    assert capabilities_of(action_type, params) == needed


def test_every_action_needs_a_capability_and_those_that_read_are_allowed_read_only() -> None:
    for name in NEW:
        needed = capabilities_of(name, MINIMAL[name])
        assert needed
        assert (name in OBSERVING) == (needed == {"observe"})
        found = [
            error.code for error in action_refusals(DEFAULT._replace(read_only=True), Action("a", name, MINIMAL[name]))
        ]
        assert found == ([] if name in OBSERVING else [ErrorCode.READ_ONLY])


@pytest.mark.parametrize(
    ("action_type", "params", "package"),
    [
        ("media_pause", {"applicationId": "com.example.bank"}, "com.example.bank"),
        ("list_notifications", {"applicationId": "com.example.bank"}, "com.example.bank"),
        ("dismiss_notification", {"notificationKey": "0|com.example.bank|1|null|10001"}, "com.example.bank"),
        ("dismiss_notification", {"notificationKey": "odd"}, "*"),
        ("media_play", {"mediaSessionId": "s"}, "*"),
    ],
)
def test_packages_are_those_that_are_read_or_controlled(action_type: str, params: dict[str, Any], package: str) -> None:
    assert packages_of(Action("a", action_type, params)) == (package,)
    rules = DEFAULT.packages._replace(deny=("com.example.bank",))
    found = list(action_refusals(DEFAULT._replace(packages=rules), Action("a", action_type, params)))
    assert [error.code for error in found] == [ErrorCode.PACKAGE_DENIED]
    assert not list(action_refusals(DEFAULT, Action("a", action_type, params)))
