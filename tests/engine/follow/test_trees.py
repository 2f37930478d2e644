"""The last trees: what is kept, how old it may be, and how a view is cut."""

from __future__ import annotations

import json

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.follow.trees import LastTrees, digest_of, tree_text, viewed

XML = (
    '<?xml version="1.0"?><hierarchy rotation="0"><node text="{}" clickable="true" bounds="[0,0][10,10]"/></hierarchy>'
)


def test_the_same_tree_again_is_only_newer() -> None:
    last = LastTrees()
    first = last.note("a", XML.format("x"), command_id="1")
    began = first.at
    again = last.note("a", XML.format("x"), command_id="2")
    assert again is first
    assert (again.command_id, again.at >= began) == ("1", True)
    assert last.note("a", XML.format("y")) is not first
    assert last.note("a", "\ud800").digest != first.digest  # a device can well send that
    assert first.digest == digest_of(XML.format("x").encode())


def test_age(monkeypatch: pytest.MonkeyPatch) -> None:
    last = LastTrees()
    seen = last.note("a", XML.format("x"))
    assert last.fresh("a", 0) is None
    assert last.fresh("b", 1_000) is None
    monkeypatch.setattr("clawperator.engine.follow.trees.time.time", lambda: seen.at + 0.5)
    assert last.fresh("a", 1_000) is seen
    assert last.fresh("a", 499) is None
    assert seen.facts()["ageMs"] == 500


def test_the_least_recent_are_forgotten() -> None:
    last = LastTrees()
    for number in range(100):
        last.note(str(number), XML.format(number))
    assert last.get("0") is None
    assert last.get("99") is not None


@pytest.mark.parametrize(
    ("envelope", "code"),
    [
        ({"stepResults": [], "error": "no", "errorCode": "SERVICE_UNAVAILABLE"}, ErrorCode.SERVICE_UNAVAILABLE),
        ({"stepResults": [{"data": {"error": "UI_TREE_UNAVAILABLE"}}]}, ErrorCode.UI_TREE_UNAVAILABLE),
        ({"stepResults": [{"data": {"error": "WHATEVER"}}]}, ErrorCode.UI_TREE_UNAVAILABLE),
        ({}, ErrorCode.UI_TREE_UNAVAILABLE),
    ],
)
def test_no_tree(envelope: dict[str, object], code: ErrorCode) -> None:
    with pytest.raises(EngineError) as raised:
        tree_text(envelope)
    assert raised.value.code is code


async def test_a_view_within_a_budget_names_the_callers_limit() -> None:
    seen = LastTrees().note("a", XML.format("é" * 2_000))
    tree = await seen.read()
    shown = viewed(seen.xml, tree, "interactive", 1_000)
    assert len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()) <= 1_000
    assert "maxBytes" in shown["truncated"]["hint"]
    with pytest.raises(EngineError) as raised:
        viewed(seen.xml, tree, "interactive", 10)
    assert raised.value.details["path"] == "maxBytes"
    assert "maxBytes" in raised.value.message


def test_the_data_of_a_step_stay_with_their_command_only() -> None:
    last = LastTrees()
    seen = last.note("a", XML.format("x"), command_id="1", step={"has_overlay": "true"})
    last.note("a", XML.format("x"), command_id="1")  # the same snapshot, by an event
    assert seen.step == {"has_overlay": "true"}
    last.note("a", XML.format("x"), command_id="2")
    assert seen.step == {}
