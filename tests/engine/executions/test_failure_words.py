"""Errors about selectors as sentences."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.executions.failure_words import in_words, selector_words, sentence
from clawperator.engine.executions.outcome import ExecutionOutcome, OutcomeStep
from tests.support import table

KOTLIN = "NodeMatcher(resourceId=null, role=null, textEquals=Nope, textContains=null, contentDescEquals=null, contentDescContains=null)"
NOPE = {"textEquals": "Nope"}


@table(
    ("code", "params", "words"),
    [
        ("NODE_NOT_FOUND", {"matcher": NOPE}, 'no node with text "Nope"'),
        ("NODE_NOT_FOUND", {"target": {"resourceId": "a", "role": "button"}}, 'no node with id "a" and role "button"'),
        (
            "NODE_NOT_FOUND",
            {"matcher": {"textContains": "x", "ancestor": {"role": "list"}}, "container": {"resourceId": "c"}},
            'no node with text containing "x" and an ancestor with role "list" in the container with id "c"',
        ),
        ("WAIT_TIMEOUT", {"matcher": NOPE, "timeoutMs": 500}, 'no node with text "Nope" appeared within 500 ms'),
        ("TARGET_NOT_FOUND", {"target": NOPE}, 'no node with text "Nope" was reached by scrolling'),
        ("CONTAINER_NOT_FOUND", {"container": NOPE}, 'no container with text "Nope"'),
        ("CONTAINER_NOT_FOUND", {"target": NOPE}, "no scrollable container on the screen"),
        ("NODE_AMBIGUOUS", {"matcher": NOPE}, 'several nodes with text "Nope"'),
        ("NODE_NOT_FOUND", {"matcher": NOPE, "nth": 0}, 'no node with text "Nope"'),
        ("NODE_NOT_FOUND", {"matcher": NOPE, "nth": 9}, 'fewer than 10 nodes with text "Nope"'),
        (
            "NODE_NOT_FOUND",
            {"matcher": NOPE, "within": {"textEquals": "#3"}},
            'no node with text "Nope" in the row of the node with text "#3"',
        ),
        ("CONTAINER_NOT_FOUND", {"matcher": NOPE, "within": {"textEquals": "#3"}}, 'no container with text "#3"'),
        ("CONTAINER_AMBIGUOUS", {"matcher": NOPE, "within": {"textEquals": "#3"}}, 'several containers with text "#3"'),
        (
            "NAVIGATION_TIMEOUT",
            {"expectedPackage": "a.b", "expectedNode": NOPE, "timeoutMs": 1000},
            'a.b or a node with text "Nope" did not appear within 1000 ms',
        ),
        ("NODE_NOT_FOUND", {"coordinate": {"x": 1, "y": 2}}, ""),
        ("ACTION_FAILED", {"matcher": NOPE}, ""),
        ("NO_CODE_OF_OURS", {"matcher": NOPE}, ""),
    ],
)
def test_sentences(code: str, params: dict[str, Any], words: str) -> None:
    assert sentence(code, params) == words


def said(code: str, message: str, data: dict[str, str], params: dict[str, Any]) -> dict[str, Any]:
    step = OutcomeStep(0, "s", "click", "failed", code)
    outcome = ExecutionOutcome("failed", (step,), step, {"code": code, "message": message})
    execution = Execution("c", "t", "test", 10_000, (Action("s", "click", params),))
    error = in_words(outcome, execution, {"s": data}).error
    assert error is not None
    return dict(error)


def test_the_devices_words_stay_in_the_details() -> None:
    device = f"No UI node found matching criteria: {KOTLIN}"
    expected = {"code": "NODE_NOT_FOUND", "message": 'no node with text "Nope"', "details": {"deviceMessage": device}}
    assert said("NODE_NOT_FOUND", device, {}, {"matcher": NOPE}) == expected
    flat = said("NODE_NOT_FOUND", "Step s (click) failed: NODE_NOT_FOUND", {"error": device}, {"matcher": NOPE})
    assert flat == expected


def test_a_matcher_in_other_words_of_the_device_is_replaced() -> None:
    found = said("OTHER", f"Cannot act on {KOTLIN} now", {}, {"matcher": NOPE})
    assert found["message"] == 'Cannot act on node with text "Nope" now'


def test_a_step_that_only_repeats_its_code_gets_the_devices_reason() -> None:
    found = said("ACTION_FAILED", "Step s (click) failed: ACTION_FAILED", {"error": "It is grey"}, {})
    assert found["message"] == "It is grey"


def test_what_cannot_be_said_better_stays() -> None:
    assert said("OTHER", "Something else", {}, {}) == {"code": "OTHER", "message": "Something else"}


@given(st.dictionaries(st.sampled_from(["textEquals", "resourceId", "role"]), st.text(min_size=1), min_size=1))
def test_each_field_is_in_the_words_whatever_it_holds(fields: dict[str, str]) -> None:
    words = selector_words(fields)
    assert words.count(" and ") >= len(fields) - 1
    assert "NodeMatcher" not in words or any("NodeMatcher" in value for value in fields.values())
