"""Choosing a node on a tree: one that a matcher finds alone, or a refusal that says what there was."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import UiTree, build
from clawperator.engine.skills.node_choice import choose
from tests.support import table

CLICK: dict[str, Any] = {"id": "press", "type": "click", "params": {}}
READ: dict[str, Any] = {"id": "press", "type": "read_text", "params": {}}


def tree(*rows: dict[str, Any]) -> UiTree:
    children = [
        render_node({"class": "android.widget.TextView", "index": n, "bounds": (0, 100 * n, 100, 100 * n + 90), **row})
        for n, row in enumerate(rows)
    ]
    return build([render_node({"class": "android.widget.FrameLayout", "bounds": (0, 0, 1000, 2000)}, children)])


ROWS = tree(
    {"text": "Off", "selected": True, "clickable": True},
    {"text": "On", "clickable": True},
    {"text": "Auto", "enabled": False, "class": "android.view.View"},
    {"text": "Same", "clickable": True},
    {"text": "Same"},
    {"text": "Dark", "class": "android.widget.Switch"},
)


@table(
    ("selector", "text"),
    [
        ({"selected": True}, "Off"),
        ({"enabled": False, "annotation": "STRUCTURAL"}, "Auto"),
        ({"text_contains": "o", "clickable": True, "selected": False}, "On"),
        ({"class": "View"}, "Auto"),
        ({"class": "android.view.View"}, "Auto"),
        ({"index_in_parent": 1}, "On"),
        ({"class": "SwitchCompat", "enabled": True}, "Dark"),
        ({"any_of": [{"text_equals": "Nothing"}, {"text_equals": "On"}], "clickable": True}, "On"),
        ({"all_of": [{"clickable": True}, {"any_of": [{"selected": True}]}]}, "Off"),
    ],
)
def test_one_node(selector: dict[str, Any], text: str) -> None:
    for action in (CLICK, READ):
        assert choose(ROWS, selector, action).fields() == {"textEquals": text}


def refused(selector: dict[str, Any], code: ErrorCode, screen: UiTree = ROWS) -> EngineError:
    with pytest.raises(EngineError) as caught:
        choose(screen, selector, CLICK)
    assert caught.value.code is code
    return caught.value


def test_no_node_says_what_came_near() -> None:
    error = refused({"text_equals": "On", "enabled": False}, ErrorCode.NODE_NOT_FOUND)
    (near,) = error.details["nearest"]
    assert near["node"]["text"] == "On"
    assert [(field["field"], field["ok"]) for field in near["fields"]] == [("text_equals", True), ("enabled", False)]
    error = refused({"text_equals": "on", "enabled": True}, ErrorCode.NODE_NOT_FOUND)
    assert error.details["nearest"][0]["node"]["text"] == "On"
    assert refused({"class": "Nope"}, ErrorCode.NODE_NOT_FOUND).details["nearest"] == []


def test_several_nodes_are_no_choice() -> None:
    error = refused({"clickable": True}, ErrorCode.RECIPE_SELECTOR_UNSUPPORTED)
    assert error.details["matches"] == 3
    assert [found["text"] for found in error.details["found"]] == ["Off", "On", "Same"]


def test_a_node_that_no_matcher_finds_alone() -> None:
    error = refused({"text_equals": "Same", "clickable": False}, ErrorCode.RECIPE_SELECTOR_UNSUPPORTED)
    assert error.details["matches"] == 1
    assert "no matcher" in error.message


def test_off_the_screen_is_not_there() -> None:
    screen = tree({"text": "Below", "clickable": True, "bounds": (0, 5000, 100, 5100)})
    refused({"text_equals": "Below", "clickable": True}, ErrorCode.NODE_NOT_FOUND, screen)


def test_a_label_is_tapped_but_not_read() -> None:
    label = render_node({"class": "android.widget.TextView", "text": "Storage", "bounds": (0, 0, 100, 50)})
    row = {"class": "android.view.ViewGroup", "clickable": True, "bounds": (0, 0, 100, 90)}
    other = {"class": "android.view.ViewGroup", "clickable": True, "bounds": (0, 100, 100, 190)}
    rows = [render_node(row, [label]), render_node({**other, "index": 1})]
    screen = build([render_node({"class": "android.widget.FrameLayout", "bounds": (0, 0, 1000, 2000)}, rows)])
    selector = {"clickable": True, "index_in_parent": 0}
    assert choose(screen, selector, CLICK).fields() == {"textEquals": "Storage"}
    for action in (READ, {**CLICK, "params": {"clickType": "long_click"}}):
        with pytest.raises(EngineError) as caught:
            choose(screen, selector, action)
        assert caught.value.code is ErrorCode.RECIPE_SELECTOR_UNSUPPORTED
