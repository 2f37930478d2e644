"""Which node a step took, and what comes near where none was found: by the trees that went by on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.events.types import LogAttached

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

OPEN = {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}}
LOOK = {"id": "look", "type": "snapshot_ui"}
ONCE = {"retry": {"maxAttempts": 1}}


def plan(*actions: dict[str, Any]) -> dict[str, Any]:
    names = {"commandId": "nodes-1", "taskId": "nodes", "source": "tests"}
    return {**names, "expectedFormat": "android-ui-automator", "timeoutMs": 20_000, "actions": list(actions)}


def step(kind: str, matcher: dict[str, str], **params: Any) -> dict[str, Any]:
    return {"id": kind, "type": kind, "params": {"matcher": matcher, **ONCE, **params}}


async def test_a_click_says_which_node_it_took(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(plan(OPEN, LOOK, step("click", {"textEquals": "Display"})))
    target = result.outcome.steps[2].target
    assert target is not None
    assert (target["text"], target["matched"], target["tree"]["stepId"]) == ("Display", 1, "look")
    assert len(target["bounds"]) == 4
    assert result.warnings == ()


async def test_several_matches_are_a_warning(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(plan(OPEN, LOOK, step("click", {"resourceId": "android:id/title"})))
    target = result.outcome.steps[2].target
    assert target is not None
    assert target["matched"] > 1
    (warning,) = result.warnings
    assert (warning["code"], warning["path"]) == ("MATCHER_AMBIGUOUS", "actions.2.params.matcher")


async def test_a_click_after_which_the_screen_changed_is_not_guessed(connect: Connect) -> None:
    bench = await connect()
    display, back = (
        step("click", {"textEquals": "Display"}),
        {"id": "back", "type": "press_key", "params": {"key": "back"}},
    )
    last = {**step("click", {"textEquals": "Display"}), "id": "again"}
    result = await bench.engine.execute(plan(OPEN, LOOK, display, back, last))
    assert result.outcome.steps[4].target is None


async def test_a_read_takes_what_it_says_and_where_from_the_tree_after_it(connect: Connect) -> None:
    bench = await connect()
    await bench.engine.execute(plan(OPEN))
    result = await bench.engine.execute(plan(step("read_text", {"textContains": "displ"}), LOOK))
    target = result.outcome.steps[0].target
    assert target is not None
    assert (target["text"], target["matched"]) == ("Display", 1)
    assert target["tree"]["ageMs"] <= 0


async def test_what_comes_near_by_the_snapshot_of_the_run(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(plan(OPEN, LOOK, step("click", {"textEquals": "Displai"})))
    error = result.outcome.error
    assert error is not None
    assert error["code"] == "NODE_NOT_FOUND"
    details = error["details"]
    assert details["selector"] == {"textEquals": "Displai"}
    assert details["matches"] == 0
    assert 1 <= len(details["nearest"]) <= 3
    assert details["nearest"][0]["node"]["text"] == "Display"
    assert details["nearest"][0]["fields"][0]["reason"]
    assert (details["tree"]["stepId"], details["tree"]["current"]) == ("look", True)
    assert "match --selector" not in error["hint"]


async def test_a_snapshot_from_before_an_action_does_not_count(connect: Connect) -> None:
    bench = await connect()
    await bench.engine.execute(plan(OPEN))

    display = step("click", {"textEquals": "Display"})
    missed = {**step("click", {"textEquals": "Displai"}), "id": "missed"}
    result = await bench.engine.execute(plan(OPEN, LOOK, display, missed))
    assert result.outcome.error is not None
    assert "nearest" not in result.outcome.error["details"]  # a click came between
    assert "match --selector" in result.outcome.error["hint"]


async def test_nothing_near_is_an_empty_list(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(plan(OPEN, LOOK, step("click", {"textEquals": "Qqqqqq"})))
    assert result.outcome.error is not None
    assert result.outcome.error["details"]["nearest"] == []


async def test_without_a_tree_the_hint_names_the_command_and_nothing_more_is_dispatched(connect: Connect) -> None:
    bench = await connect()
    await bench.engine.execute(plan(OPEN, LOOK))
    result = await bench.engine.execute(plan(step("click", {"textEquals": "It's not there"})))
    error = result.outcome.error
    assert error is not None
    assert "nearest" not in error["details"]
    assert "clawperator match --selector" in error["hint"]
    assert bench.serial in error["hint"]


async def test_a_tree_of_before_counts_while_the_log_says_that_nothing_has_changed(connect: Connect) -> None:
    """A console or a server that follows the log knows that the tree it has is the one on the screen."""
    bench = await connect()
    with bench.engine.events.subscribe() as subscription:
        tail = asyncio.create_task(bench.engine.watch_log(bench.serial))
        async for event in subscription:
            if isinstance(event, LogAttached):
                break
        try:
            await bench.engine.execute(plan(OPEN, LOOK))
            missed = plan(step("click", {"textEquals": "Displai"}))
            first = await bench.engine.execute(missed)
            await bench.engine.execute(plan(step("click", {"textEquals": "Display"})))
            second = await bench.engine.execute(missed)
        finally:
            tail.cancel()
            with suppress(asyncio.CancelledError, EngineError):
                await tail
    assert first.outcome.error is not None
    assert second.outcome.error is not None
    details = first.outcome.error["details"]
    assert (details["nearest"][0]["node"]["text"], details["tree"]["source"]) == ("Display", "log")
    assert details["tree"]["ageMs"] >= 0
    assert "nearest" not in second.outcome.error["details"]
