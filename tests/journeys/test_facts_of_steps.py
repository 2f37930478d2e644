"""What newer apps say about their steps, as facts of the outcome: waits of open_app, receipts, typed text. All of it is optional."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.executions.outcome import outcome_of
from tests.journeys.conftest import Connect
from tests.journeys.test_operator_generations import OPEN, TAP, plan

SHOP = {"id": "shop", "type": "open_app", "params": {"applicationId": "com.example.shop"}}
FIELD = {"matcher": {"resourceId": "com.example.shop:id/search_src_text"}, "text": "mug"}


@pytest.mark.adb
@pytest.mark.parametrize("generation", ["0.5", "0.9", "0.10", "0.12", "1.0"])
async def test_the_outcome_has_what_the_generation_says(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation})
    outcome = (await bench.engine.execute(plan(OPEN, TAP))).outcome.to_dict()
    opened, tapped = (step.get("facts") for step in outcome["steps"])
    waited = {"navigationElapsedMs": 0, "resolvedPackage": "com.android.settings"}
    assert opened == (None if generation == "0.5" else waited)
    receipt = {"dispatchMethod": "accessibility_action", "dispatchAccepted": True}
    if generation in ("0.5", "0.9"):
        assert tapped is None
    else:
        assert tapped.items() >= receipt.items()
        assert tapped["matchedTarget"]["label"] == "Display"


@pytest.mark.adb
async def test_an_app_that_does_not_come_to_the_front_is_a_failed_step(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(device={"generation": "0.9"})
    monkeypatch.setattr(bench.world.activities, "launch", lambda _: True)
    result = await bench.engine.execute({**plan(SHOP), "timeoutMs": 30_000})
    outcome = result.outcome.to_dict()
    (step,) = outcome["steps"]
    assert (outcome["status"], step["status"], step["code"]) == ("partial", "failed", "NAVIGATION_TIMEOUT")
    assert step["facts"]["lastPackage"] == bench.world.ui.package
    assert step["facts"]["navigationElapsedMs"] >= 15_000


def facts_of(data: dict[str, Any]) -> object:
    result = {"id": "a", "actionType": "enter_text", "success": True, "data": data}
    envelope = {"status": "success", "stepResults": [result]}
    return outcome_of([("a", "enter_text")], (), envelope).steps[0].facts


def test_typed_text_is_told_as_the_app_tells_it() -> None:
    told = {
        "text_entry": "accepted",
        "submission": "unavailable",
        "submit_method": "ime_enter",
        "dispatch_accepted": "false",
    }
    expected = {
        "textEntry": "accepted",
        "submission": "unavailable",
        "submitMethod": "ime_enter",
        "dispatchAccepted": False,
    }
    assert facts_of(told) == expected


NAMES = (
    "navigation_elapsed_ms",
    "resolved_package",
    "dispatch_method",
    "dispatch_accepted",
    "candidate_count",
    "submission",
)


@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.one_of(st.text(max_size=300), st.integers(), st.none(), st.lists(st.text()))
    )
)
def test_hostile_values_are_left_out(data: dict[str, Any]) -> None:
    for value in (facts_of(data) or {}).values():  # type: ignore[attr-defined]
        assert isinstance(value, int) or (value.isascii() and value.isprintable() and len(value) <= 255)
