"""Which matcher found nothing: by the payload, else by the device's own words."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.matcher import FIELDS
from clawperator.engine.logcat.stages import brief, fields_in_words
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.failed_matcher import unfound, unfound_step
from clawperator.widgets.models.status import Status
from tests.support import table
from tests.widgets.invented_runs import NOT_FOUND, plan_failed, success


def failed(code: str, params: Any, *, message: str = "") -> ExecutionState:
    payload = {"actions": [{"id": "a", "type": "click", "params": params}]}
    steps = [StepState("z", "sleep", Status.OK), StepState("a", "click", Status.FAILED, math.nan, math.nan, code=code)]
    return ExecutionState("c", "phone", 1, 0.0, payload=payload, steps=steps, message=message)


@table(
    ("code", "params", "fields"),
    [
        ("NODE_NOT_FOUND", {"matcher": {"role": "button", "textEquals": "OK"}}, {"role": "button", "textEquals": "OK"}),
        (
            "NODE_NOT_FOUND",
            {"target": {"textEquals": "OK"}, "container": {"resourceId": "x"}},
            {"textEquals": "OK", "container.resourceId": "x"},
        ),
        (
            "CONTAINER_NOT_FOUND",
            {"target": {"textEquals": "OK"}, "container": {"resourceId": "x"}},
            {"resourceId": "x"},
        ),
        ("CONTAINER_NOT_FOUND", {"target": {"textEquals": "OK"}}, {}),
        ("NODE_NOT_FOUND", {"matcher": {"nonsense": "OK", "role": 7}}, {}),
        ("NODE_NOT_FOUND", ["matcher"], {}),
    ],
)
def test_the_payload_names_it(code: str, params: Any, fields: dict[str, str]) -> None:
    execution = failed(code, params)
    step = unfound_step(execution)
    assert step is not None
    assert step.id == "a"
    assert unfound(execution, step) == fields


def test_other_failures_are_none_of_it() -> None:
    assert unfound_step(failed("NAVIGATION_TIMEOUT", {"matcher": {"role": "button"}})) is None
    assert unfound(success(), unfound_step(success())) == {}


def test_of_a_plan_that_ended_with_it_the_device_says_it_too() -> None:
    execution = plan_failed()
    execution.payload = None
    assert unfound(execution, unfound_step(execution)) == {"textEquals": "Bluetooth"}
    assert fields_in_words(NOT_FOUND.replace("Bluetooth", "a, b=c")) == {"textEquals": "a, b=c"}


RELATED = ", ancestor=NodeMatcher(resourceId=null, role=list, contentDescContains=null), descendant=null)"


@pytest.mark.parametrize(
    ("ending", "fields", "shown"),
    [
        (")", {"textEquals": "Bluetooth"}, ": textEquals=Bluetooth"),
        (", ancestor=null, descendant=null)", {"textEquals": "Bluetooth"}, ": textEquals=Bluetooth"),
        (RELATED, {}, ": textEquals=Bluetooth, ancestor="),
    ],
)
def test_relations_in_the_device_s_words(ending: str, fields: dict[str, str], shown: str) -> None:
    """From Operator 0.10 on each matcher ends with them; one that has some is more than its fields."""
    words = NOT_FOUND.removesuffix(")") + ending
    assert fields_in_words(words) == fields
    assert shown in brief(words)
    assert "null" not in brief(words) or fields == {}
    params = {"matcher": {"textEquals": "Bluetooth", "ancestor": {"role": "list"}}, "container": {"resourceId": "x"}}
    execution = failed("NODE_NOT_FOUND", params)
    wanted = {"textEquals": "Bluetooth", "ancestor.role": "list", "container.resourceId": "x"}
    assert unfound(execution, unfound_step(execution)) == wanted


@given(
    st.text() | st.text(alphabet="NodeMatcher(resourceId=, contentDescContains)null").map(NOT_FOUND.__add__), st.text()
)
def test_no_words_of_a_device_break_it(words: str, value: str) -> None:
    assert isinstance(fields_in_words(words), dict)
    found = fields_in_words(NOT_FOUND.replace("Bluetooth", value))
    assert set(found) <= {"resourceId", *FIELDS}
