"""Actions of Operator 0.10 and later through the real adb: what acts, what its receipt says, and what older apps get instead."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.simulator.render import render_image
from tests.journeys.conftest import Bench, Connect

pytestmark = pytest.mark.adb
SETTINGS = "com.android.settings"
UP = {"start": {"x": 540, "y": 1_800}, "end": {"x": 540, "y": 600}, "durationMs": 300}
DRAG = {"start": {"x": 540, "y": 1_800}, "end": {"x": 540, "y": 600}, "holdDurationMs": 500, "moveDurationMs": 300}


def plan(*actions: tuple[str, dict[str, Any]], timeout_ms: int = 10_000) -> dict[str, Any]:
    steps = [{"id": f"s{n}", "type": kind, "params": params} for n, (kind, params) in enumerate(actions)]
    return build.single("journey", "sleep", timeout_ms=timeout_ms) | {"actions": steps}


def offsets(bench: Bench) -> dict[Any, int]:
    return bench.world.ui.front.frames[-1].offsets


@pytest.mark.parametrize(
    ("scenario", "way"),
    [
        ({"device": {"generation": "1.0"}}, "coordinate_gesture"),
        ({"device": {"generation": "0.12"}}, "coordinate_gesture"),
        ({"device": {"generation": "0.10"}}, "input"),
        ({"device": {"generation": "0.3"}}, "input"),
        ({"operator": {"installed": False}}, "input"),
    ],
)
async def test_gestures_stand_at_their_place_in_a_plan(connect: Connect, scenario: dict[str, Any], way: str) -> None:
    bench = await connect(start={"package": SETTINGS}, **scenario)
    stock: dict[str, Any] = {} if "device" in scenario else {"backend": "stock"}
    look = ("read_text", {"matcher": {"textEquals": "Network & internet"}})
    result = await bench.engine.execute(
        plan(look, ("swipe", UP), ("sleep", {"durationMs": 1}), ("drag", DRAG)), **stock
    )
    assert result.outcome.status == "succeeded", result.to_dict()
    assert [step.status for step in result.outcome.steps] == ["done"] * 4
    assert max(offsets(bench).values()) > 0
    facts = [result.outcome.steps[index].facts or {} for index in (1, 3)]
    assert [each["dispatchMethod"] for each in facts] == [way, way]
    sent = ["input swipe 540 1800 540 600 300", "input draganddrop 540 1800 540 600 300"]
    assert [each.get("inputCommand") for each in facts] == (sent if way == "input" else [None, None])
    codes = [warning["code"] for warning in result.warnings]
    assert codes.count("GESTURE_BY_INPUT") == (2 if way == "input" and not stock else 0)


async def test_a_drag_before_android_8_is_left_to_input(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0", "sdk": 25}, start={"package": SETTINGS})
    result = await bench.engine.execute(plan(("drag", DRAG)))
    assert (result.outcome.status, result.outcome.steps[0].facts) == (
        "succeeded",
        {
            "dispatchMethod": "input",
            "dispatchAccepted": True,
            "inputCommand": "input draganddrop 540 1800 540 600 300",
        },
    )


@pytest.mark.parametrize("generation", ["0.5", "1.0"])
async def test_what_follows_a_gesture_that_fails_has_not_run(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation}, start={"package": SETTINGS})
    outside = {**UP, "start": {"x": 540, "y": 50_000}}
    result = await bench.engine.execute(
        plan(("sleep", {"durationMs": 1}), ("swipe", outside), ("press_key", {"key": "home"}))
    )
    outcome = result.outcome
    assert [step.status for step in outcome.steps] == ["done", "failed", "not_run"]
    assert (outcome.error or {})["code"] == "GESTURE_FAILED"
    assert (outcome.steps[1].facts or {})["dispatchAccepted"] is False
    assert bench.world.ui.package == SETTINGS


@pytest.mark.parametrize("generation", ["0.5", "1.0"])
async def test_a_click_on_a_point_outside_the_screen_is_refused(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation}, start={"package": SETTINGS})
    width, height = bench.world.ui.display
    wait = ("sleep", {"durationMs": 1})
    for index, steps, screen in (
        (0, [("click", {"coordinate": {"x": 5, "y": height}})], f"{width}x{height}"),
        (1, [wait, ("click", {"coordinate": {"x": 5, "y": 50_000}})], f"{height}x{height}"),
    ):
        with pytest.raises(EngineError, match=f"outside the screen of {screen} pixels") as caught:
            await bench.engine.execute(plan(*steps))
        assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
        assert caught.value.details["path"] == f"actions.{index}.params.coordinate"
    assert bench.world.commands == 0
    sideways = ("click", {"coordinate": {"x": height - 1, "y": 5}})  # the step before may have turned the device
    assert (await bench.engine.execute(plan(wait, sideways))).succeeded
    corner = ("click", {"coordinate": {"x": width - 1, "y": height - 1}})
    assert (await bench.engine.execute(plan(corner))).succeeded


async def test_a_plan_in_parts_keeps_its_trees_its_limit_and_the_screen_after_it(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.9"}, start={"package": SETTINGS})
    payload = plan(
        ("snapshot_ui", {}), ("swipe", UP), ("snapshot_ui", {}), ("close_app", {"applicationId": "com.example.shop"})
    )
    result = await bench.engine.execute(payload, options=RunOptions(then="diff"))
    assert result.outcome.status == "succeeded", result.to_dict()
    first, second = (
        step["data"]["text"] for step in result.envelope["stepResults"] if step["actionType"] == "snapshot_ui"
    )
    assert first != second
    assert result.then is not None
    assert "tree" in result.then
    late = plan(("sleep", {"durationMs": 5_000}), ("swipe", UP), timeout_ms=1_000)
    ended = await bench.engine.execute(late)
    assert [step.status for step in ended.outcome.steps] == ["failed", "not_run"]


async def test_receipts_are_typed_and_failures_have_them_too(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0"}, start={"package": SETTINGS})
    click = await bench.engine.execute(plan(("click", {"matcher": {"textEquals": "Battery"}})))
    facts = click.outcome.steps[0].facts or {}
    assert facts["matchedTarget"]["label"] == "Battery"
    assert (facts["target"]["clickable"], facts["target"]["visibleToUser"]) == (True, True)
    assert len(facts["target"]["bounds"]) == 4
    assert (facts["candidateCount"], facts["dispatchMethod"], facts["dispatchAccepted"]) == (
        1,
        "accessibility_action",
        True,
    )
    point = await bench.engine.execute(plan(("click", {"coordinate": {"x": 5, "y": 700}})))
    assert (point.outcome.steps[0].facts or {})["point"] == {"x": 5, "y": 700}
    missed = await bench.engine.execute(
        plan(("click", {"matcher": {"textEquals": "Nope"}, "retry": {"maxAttempts": 1}}))
    )
    assert missed.outcome.steps[0].facts == {"dispatchMethod": "none", "dispatchAccepted": False, "elapsedMs": 0} | {
        "elapsedMs": (missed.outcome.steps[0].facts or {})["elapsedMs"]
    }


@pytest.mark.parametrize(("generation", "word"), [("0.9", "edge_reached"), ("0.10", "no_movement")])
async def test_a_scroll_that_moves_nothing(connect: Connect, generation: str, word: str) -> None:
    bench = await connect(device={"generation": generation}, start={"package": SETTINGS})
    result = await bench.engine.execute(plan(("scroll", {"direction": "up", "settleDelayMs": 0})))
    step = result.envelope["stepResults"][0]
    assert (step["success"], step["data"]["scroll_outcome"]) == (True, word)
    facts = result.outcome.steps[0].facts or {}
    if generation == "0.10":
        assert (facts["scrollOutcome"], facts["progress"]["comparable"]) == ("no_movement", True)
        assert facts["progress"]["beforeSignature"] == facts["progress"]["afterSignature"]
    else:
        assert not facts


async def test_typed_text_stands_in_no_fact_that_is_kept(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0"}, start={"package": SETTINGS, "screen": "search"})
    field = {"resourceId": f"{SETTINGS}:id/search_src_text"}
    typed = {"matcher": field, "text": "hunter2-secret", "clear": True}
    with bench.engine.events.subscribe() as events:
        first = await bench.engine.execute(plan(("enter_text", typed), ("click", {"matcher": field})))
        said = "\n".join(map(str, events.taken()))
    facts = first.outcome.steps[0].facts or {}
    assert (facts["textEntry"], facts["submission"], facts["clear"]) == ("accepted", "not_requested", True)
    assert (first.outcome.steps[1].facts or {})["target"]["label"] == "hunter2-secret", "the caller's own answer"
    assert "hunter2-secret" not in said


# -- opening apps


async def test_an_open_that_does_not_arrive_is_a_failed_step(connect: Connect) -> None:
    bench = await connect(speed=0.1, device={"generation": "0.9"}, latency_ms={"launch": 5_000})
    opened = ("open_app", {"applicationId": SETTINGS, "navigationTimeoutMs": 1_000})
    result = await bench.engine.execute(plan(opened, ("press_key", {"key": "home"})))
    assert result.outcome.status == "partial"
    step = result.outcome.steps[0]
    assert (step.status, step.code) == ("failed", "NAVIGATION_TIMEOUT")
    assert (step.facts or {})["lastPackage"] == "com.android.launcher3"
    assert "another one or a dialog is in front" in (result.outcome.error or {})["hint"]
    skipped = ("open_app", {"applicationId": SETTINGS, "skipNavigationWait": True})
    result = await bench.engine.execute(plan(skipped))
    assert result.envelope["stepResults"][0]["data"] == {"application_id": SETTINGS}


async def test_the_payload_of_open_gives_the_app_its_time() -> None:
    assert build.open_app("a.b")["timeoutMs"] == 15_000
    assert build.open_app("a.b", navigation_timeout_ms=60_000)["timeoutMs"] == 65_000
    assert build.open_app("a.b", navigation_timeout_ms=120_000)["timeoutMs"] == 120_000


# -- queries


@pytest.mark.parametrize("column", ["0.10", "1.0", "stock"])
async def test_a_query_lists_nodes_with_their_states(connect: Connect, column: str) -> None:
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    how: dict[str, Any] = {"backend": "stock"} if stock else {}
    bench = await connect(start={"package": SETTINGS}, **scenario)

    async def query(**params: Any) -> dict[str, Any]:
        result = await bench.engine.execute(plan(("query_ui", params)), **how)
        found: dict[str, Any] = json.loads(result.envelope["stepResults"][0]["data"]["query"])
        return found

    one = await query(matcher={"textEquals": "Battery"})
    (node,) = one["nodes"]
    assert (one["schemaVersion"], one["totalMatches"], one["truncated"]) == (1, 1, False)
    assert (node["label"], node["onScreen"], node["enabled"]) == ("Battery", True, True)
    assert node["visibleToUser"] is (None if stock else True)
    assert node["parentPath"] == node["nodePath"].rpartition(".")[0]
    few = await query(limit=3)
    assert (few["returnedCount"], few["truncated"]) == (3, True)
    assert few["totalMatches"] > 3
    if not stock:  # uiautomator drops what is off screen
        everything = await query(visibility="all")
        assert everything["totalMatches"] > few["totalMatches"]


async def test_a_query_result_that_is_too_large_is_a_failed_step(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0"}, faults=[{"kind": "huge_tree", "nodes": 3_000}])
    result = await bench.engine.execute(plan(("query_ui", {"limit": 1_000, "visibility": "all"})))
    assert (result.outcome.status, result.outcome.steps[0].code) == ("partial", "PAYLOAD_TOO_LARGE")
    assert "lower the limit" in (result.outcome.error or {})["hint"]


# -- beside the screen


def beside() -> dict[str, Any]:
    return {
        "notifications": [
            {"package": "com.example.chat", "id": 7, "title": "Ada", "text": "x" * 400, "actions": [{"id": "reply"}]},
            {"package": "com.example.player", "id": 1, "title": "Playing", "ongoing": True},
        ],
        "media": [
            {"package": "com.example.player", "state": "playing", "title": "Song"},
            {"package": "com.example.radio", "seekable": False},
        ],
    }


async def told(bench: Bench, kind: str, **params: Any) -> dict[str, Any]:
    result = await bench.engine.execute(plan((kind, params)))
    assert result.outcome.status == "succeeded", result.to_dict()
    found: dict[str, Any] = json.loads(result.envelope["stepResults"][0]["data"]["payload"])
    return found


async def test_notifications_and_media_need_no_accessibility_service(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0", "awake": False}, operator={"listener": True}, **beside())
    assert bench.world.operator is not None
    bench.world.accessibility.disable(bench.world.operator.service)
    listed = await told(bench, "list_notifications", maxTextChars=10)
    assert [len(each["text"]) for each in listed["notifications"]] == [10, 0]
    assert (await told(bench, "list_notifications", limit=1))["truncated"] is True
    assert len((await told(bench, "list_media_sessions"))["sessions"]) == 2
    assert (await told(bench, "media_pause", applicationId="com.example.player"))["session"]["state"] == "paused"
    sought = await told(bench, "media_seek", mediaSessionId="session-1", positionMs=42_000)
    assert sought["session"]["positionMs"] == 42_000
    assert (await told(bench, "observe_media", durationMs=20))["changes"] == []
    acting = await bench.engine.execute(plan(("dismiss_notification", {"notificationKey": "k"})))
    assert (acting.outcome.error or {})["code"] == "SERVICE_UNAVAILABLE"


async def test_refusals_of_notifications_and_media(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0"}, operator={"listener": True}, **beside())
    key = next(iter(bench.world.app_actions.notifications))

    async def code(kind: str, **params: Any) -> str:
        result = await bench.engine.execute(plan((kind, params)))
        assert result.outcome.status == "partial"
        assert (result.outcome.error or {})["hint"]
        return result.outcome.steps[0].code

    assert await code("dismiss_notification", notificationKey="gone") == "NOTIFICATION_NOT_FOUND"
    assert (
        await code("invoke_notification_action", notificationKey=key, actionId="no") == "NOTIFICATION_ACTION_NOT_FOUND"
    )
    assert await code("media_seek", applicationId="com.example.radio", positionMs=1) == "MEDIA_ACTION_UNSUPPORTED"
    assert await code("get_media_status", mediaSessionId="no") == "MEDIA_SESSION_NOT_FOUND"
    assert (await told(bench, "invoke_notification_action", notificationKey=key, actionId="reply"))[
        "actionId"
    ] == "reply"
    assert (await told(bench, "dismiss_notification", notificationKey=key))["dismissed"] is True
    assert key not in bench.world.app_actions.notifications
    bench.world.settings["secure"]["enabled_notification_listeners"] = ""
    assert await code("list_notifications") == "NOTIFICATION_ACCESS_REQUIRED"


async def test_the_panel_is_in_pictures_and_not_in_trees(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.10"}, start={"package": SETTINGS})
    before = render_image(bench.world.ui).tobytes()
    shown = await bench.engine.execute(
        plan(("set_on_screen_log", {"text": "Step 1", "anchor": "right", "textColor": "#00ff00"}))
    )
    data = shown.envelope["stepResults"][0]["data"]
    assert (data["visible"], data["bounds"], data["text_color"]) == ("true", "[288,22][1058,106]", "#FF00FF00")
    assert render_image(bench.world.ui).tobytes() != before
    look = await bench.engine.execute(plan(("snapshot_ui", {})))
    assert look.envelope["stepResults"][0]["data"]["operator_overlay_visible"] == "true"
    assert "Step 1" not in look.envelope["stepResults"][0]["data"]["text"]
    for _ in range(2):  # safe to repeat
        cleared = await bench.engine.execute(plan(("clear_on_screen_log", {})))
        assert cleared.envelope["stepResults"][0]["data"] == {"visible": "false"}
    assert render_image(bench.world.ui).tobytes() == before
    wide = await bench.engine.execute(plan(("set_on_screen_log", {"text": "x", "edgeOffsetDp": 1_000})))
    assert wide.outcome.steps[0].code == "ON_SCREEN_LOG_LAYOUT_INVALID"


async def test_a_gesture_that_has_begun_ends_before_a_cancelled_plan(connect: Connect) -> None:
    """Nothing can call it back: the next execution must not act while a finger is still down."""
    bench = await connect(device={"generation": "0.10"}, start={"package": SETTINGS}, speed=1)
    running = asyncio.create_task(bench.engine.execute(plan(("swipe", {**UP, "durationMs": 700}))))
    while not bench.world.program_calls["input"]:
        assert not running.done()
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert max(offsets(bench).values()) > 0
