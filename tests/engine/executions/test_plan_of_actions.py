"""A plan of actions only: ids and the other fields are filled in, what is there stays, and everything else is refused as before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine import Engine, EngineError, Settings
from clawperator.engine.executions.build import completed
from clawperator.engine.executions.validate import validate
from tests.support import examples, table

LOOK, HOME = {"type": "snapshot_ui"}, {"type": "press_key", "params": {"key": "home"}}
WHOLE = {
    "commandId": "c",
    "taskId": "t",
    "source": "s",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5_000,
    "actions": [{"id": "a", **LOOK}],
}
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_a_list_and_an_object_are_the_same_plan() -> None:
    for plan in ([LOOK, HOME], {"actions": [LOOK, HOME]}):
        checked = validate(completed(plan))
        assert [action.id for action in checked.execution.actions] == ["s1", "s2"]
        assert not checked.warnings
        assert checked.payload["taskId"] == checked.payload["commandId"]
        assert (checked.payload["source"], checked.payload["timeoutMs"]) == ("clawperator-execute", 30_000)


def test_a_whole_payload_is_the_same_afterwards() -> None:
    assert completed(WHOLE) == WHOLE
    assert list(completed(WHOLE)) == list(WHOLE)  # type: ignore[call-overload]  # it is a mapping


def test_the_wire_of_a_whole_payload_is_byte_for_byte_the_same() -> None:
    assert validate(completed(WHOLE)).wire == validate(WHOLE).wire


def test_ids_stay_unique() -> None:
    given_ids = [{**LOOK, "id": "s1"}, LOOK, {**LOOK, "id": "s2"}, LOOK]
    ids = [action["id"] for action in completed(given_ids)["actions"]]  # type: ignore[index]  # it is a mapping
    assert ids == ["s1", "s2x", "s2", "s4"]


@table(
    ("plan", "path"),
    [
        ([], "actions"),
        ({"actions": []}, "actions"),
        (["snapshot_ui"], "actions.0"),
        ([[LOOK]], "actions.0"),
        ([LOOK, None], "actions.1"),
        ({"actions": "snapshot_ui"}, "actions"),
        ({"actions": [LOOK], "timeout": 5}, ""),
        ({"actions": [LOOK], "commandId": None}, "commandId"),
        ({"actions": [LOOK], "source": " "}, "source"),
        ([{**LOOK, "id": ""}], "actions.0.id"),
        ([{"type": "fly"}], "actions.0.type"),
        ({}, "commandId"),
        ({"commandId": "c"}, "taskId"),
        ({"steps": [LOOK]}, "commandId"),
        (LOOK, "actions"),
    ],
)
def test_what_is_no_plan_is_refused(plan: object, path: str) -> None:
    with pytest.raises(EngineError) as refused:
        validate(completed(plan))
    assert refused.value.details["path"] == path, refused.value


FIELDS = ["commandId", "taskId", "source", "timeoutMs", "actions", "x"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON).map(lambda fields: {"actions": 1, **fields}))
def test_what_a_caller_says_is_not_replaced(plan: dict[str, Any]) -> None:
    payload: Any = completed(plan)
    assert {name: payload[name] for name in plan if name != "actions"} == {
        n: v for n, v in plan.items() if n != "actions"
    }
    assert payload.keys() >= WHOLE.keys()


@given(JSON)
def test_anything_is_a_plan_or_a_refusal(value: object) -> None:
    try:
        validate(completed(value))
    except EngineError as refused:
        assert refused.code.value in ("EXECUTION_VALIDATION_FAILED", "EXECUTION_ACTION_UNSUPPORTED")  # noqa: PT017 -- it need not be refused


def test_generated_ids_differ() -> None:
    assert len({completed([LOOK])["commandId"] for _ in range(examples(100))}) == examples(100)  # type: ignore[index]  # a mapping


async def test_python_takes_it_too() -> None:
    async with Engine(Settings()) as engine:
        assert engine.validate([LOOK]).execution.actions[0].id == "s1"
