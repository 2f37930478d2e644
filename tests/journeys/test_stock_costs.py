"""What the stock backend asks of a phone, where a tree takes two seconds: trees and inputs of each verb, in each form of ``then``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from clawperator.engine.executions import build, shell_input, verbs
from clawperator.engine.executions.finish import RunOptions
from tests.journeys.conftest import Connect
from tests.journeys.test_stock_backend import FIELD, SETTINGS, SHOP, on, plan

pytestmark = pytest.mark.adb

FEED = "com.example.feed"
BATTERY, NOWHERE = {"textEquals": "Battery"}, {"textEquals": "Nowhere"}
AIRPLANE = {"textEquals": "Airplane mode"}
FORMS = (None, "compact", "diff")
DUMPSYS_PER_TREE = 5
"""The display, the windows and, where a gesture follows, both again; a device that shows less is asked in a second way."""


class Case(NamedTuple):
    """``trees`` are those without ``then`` and in each of its forms; ``inputs`` what is sent."""

    start: tuple[str, str]
    make: Callable[[], Any]
    trees: tuple[int, int, int]
    inputs: int
    error: str = ""


IN_SETTINGS, IN_NETWORK, IN_SEARCH, IN_FEED = (SETTINGS, ""), (SETTINGS, "network"), (SHOP, "search"), (FEED, "")
CASES = {
    "snapshot": Case(IN_SETTINGS, build.snapshot, (1, 1, 1), 0),
    "two snapshots": Case(IN_SETTINGS, lambda: plan(("snapshot_ui", {}), ("snapshot_ui", {})), (2, 2, 2), 0),
    "click": Case(IN_SETTINGS, lambda: build.click(BATTERY), (1, 2, 2), 1),
    "click, missing": Case(IN_SETTINGS, lambda: build.click(NOWHERE), (3, 3, 3), 0, "NODE_NOT_FOUND"),
    "click at a point": Case(IN_SETTINGS, lambda: build.click(point={"x": 540, "y": 1200}), (0, 1, 2), 1),
    "read": Case(IN_SETTINGS, lambda: build.read_text(BATTERY), (1, 1, 1), 0),
    "read rows": Case(
        IN_SETTINGS,
        lambda: verbs.read_rows({"resourceId": f"{SETTINGS}:id/recycler_view"}, {"title": "android:id/title"}),
        (1, 1, 1),
        0,
    ),
    "read twice": Case(
        IN_SETTINGS,
        lambda: plan(("read_text", {"matcher": BATTERY}), ("read_text", {"matcher": {"textEquals": "Display"}})),
        (1, 1, 1),
        0,
    ),
    "wait": Case(IN_SETTINGS, lambda: build.wait_for_node(BATTERY, wait_ms=5_000), (1, 1, 1), 0),
    "wait, then click": Case(
        IN_SETTINGS,
        lambda: plan(("wait_for_node", {"matcher": BATTERY, "timeoutMs": 5_000}), ("click", {"matcher": BATTERY})),
        (1, 2, 2),
        1,
    ),
    "wait until gone": Case(IN_SETTINGS, lambda: verbs.wait_gone(NOWHERE), (1, 1, 1), 0),
    "wait for an app": Case(IN_SETTINGS, lambda: verbs.wait_app(SETTINGS), (0, 1, 2), 0),
    "type": Case(IN_SEARCH, lambda: build.enter_text(FIELD, "tea"), (3, 3, 3), 4),
    "type and submit": Case(IN_SEARCH, lambda: verbs.type_and_submit(FIELD, "tea"), (4, 4, 4), 5),
    "set a text": Case(IN_SEARCH, lambda: verbs.set_text(FIELD, "tea"), (3, 3, 3), 4),
    "submit": Case(IN_SEARCH, lambda: verbs.submit(FIELD, text="tea"), (4, 4, 4), 5),
    "switch on": Case(IN_NETWORK, lambda: verbs.set_checked(AIRPLANE, checked=True), (2, 2, 2), 1),
    "switched already": Case(IN_NETWORK, lambda: verbs.set_checked(AIRPLANE, checked=False), (1, 1, 1), 0),
    "open": Case((SHOP, ""), lambda: build.open_app(SETTINGS), (0, 1, 2), 0),
    "press": Case(IN_SETTINGS, lambda: build.press_key("back"), (0, 1, 2), 1),
    "scroll": Case(IN_SETTINGS, lambda: build.scroll({"direction": "down"}), (2, 2, 2), 1),
    "scroll until an end": Case(
        IN_FEED,
        lambda: build.scroll_until({"matcher": NOWHERE, "maxScrolls": 3}),
        (5, 5, 5),
        3,
        "TARGET_NOT_FOUND",
    ),
    "scroll until it is there": Case(
        IN_SETTINGS, lambda: build.scroll_until({"matcher": {"textContains": "About"}}), (5, 5, 5), 4
    ),
    "scroll at most twice": Case(
        IN_FEED,
        lambda: build.scroll_and_click({"target": NOWHERE, "maxSwipes": 2}),
        (3, 3, 3),
        2,
        "NODE_NOT_FOUND",
    ),
    "tap": Case(IN_SETTINGS, lambda: shell_input.gesture("tap", matcher=BATTERY), (1, 2, 2), 1),
    "key": Case(IN_SETTINGS, lambda: shell_input.key("BACK"), (0, 1, 2), 1),
}


@pytest.mark.parametrize("form", [None, pytest.param("compact", marks=pytest.mark.ci), "diff"], ids=str)
@pytest.mark.parametrize("name", CASES)
async def test_each_verb_reads_no_tree_that_adds_nothing(connect: Connect, name: str, form: str | None) -> None:
    case = CASES[name]
    bench = await connect(**on(*case.start))
    bench.world.program_calls.clear()
    done = await bench.engine.execute(case.make(), backend="stock", options=RunOptions(then=form))
    called, trees = bench.world.program_calls, case.trees[FORMS.index(form)]
    assert (called["uiautomator"], called["input"]) == (trees, case.inputs)
    assert called["dumpsys"] <= DUMPSYS_PER_TREE * (trees + case.inputs) + 2
    error = done.outcome.error or {}
    assert error.get("code", "") == case.error
    if form == "diff":
        assert done.then is not None
        assert done.then["changed"] in (True, False)
