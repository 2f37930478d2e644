"""Which envelopes are acceptable, and what becomes of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.envelope import Envelope, StepResult, parse_envelope
from tests.support import table

DEMO = (
    '{"commandId":"demo-1","taskId":"demo","status":"success","stepResults":'
    '[{"id":"s1","actionType":"sleep","success":true,"data":{"duration_ms":"250"}}],"error":null}'
)


def changed(**changes: Any) -> str:
    raw = json.loads(DEMO) | changes
    return json.dumps({key: value for key, value in raw.items() if value is not ...})


def step(**changes: Any) -> str:
    raw = {"id": "s1", "actionType": "read_text", "success": True} | changes
    return changed(stepResults=[{key: value for key, value in raw.items() if value is not ...}])


def test_a_success_is_read_and_written_back() -> None:
    envelope = parse_envelope(DEMO)
    assert envelope == Envelope("demo-1", "demo", "success", (StepResult("s1", "sleep", True, {"duration_ms": "250"}),))
    assert json.dumps(envelope.to_dict(), separators=(",", ":")) == DEMO


def test_a_failure_is_read_and_written_back() -> None:
    text = changed(status="failed", stepResults=[], error="down", errorCode="SERVICE_UNAVAILABLE")
    assert parse_envelope(text).to_dict() == json.loads(text)


@pytest.mark.parametrize("data", [..., None, [], "x", 7])
def test_data_that_is_no_object_is_no_data(data: object) -> None:
    assert parse_envelope(step(data=data)).to_dict()["stepResults"][0]["data"] == {}


@table(
    ("raw", "text"),
    [
        ('"plain"', "plain"),
        ("12345678901234567890.10", "12345678901234567890.10"),
        ("1e2", "1e2"),
        ("-0", "-0"),
        ("true", "true"),
        ("null", "null"),
        ('{"b":[1.50,"ü",{"c":null}]}', '{"b":[1.50,"ü",{"c":null}]}'),
        ("[ 1 , 2 ]", "[1,2]"),
        ('"7"', "7"),
    ],
)
def test_data_values_are_text_with_the_digits_they_came_with(raw: str, text: str) -> None:
    source = step(data={"v": "@"}).replace('"@"', raw)
    assert dict(parse_envelope(source).step_results[0].data) == {"v": text}


def test_unknown_fields_are_ignored_and_non_ascii_kept() -> None:
    source = DEMO.replace('"error":null', '"error":null,"zusatz":{"ü":1}').replace("demo-1", "dé-1")
    assert parse_envelope(source).command_id == "dé-1"


@table(
    ("text", "reason"),
    [
        ("[]", "not an object"),
        ("", "Expecting value"),
        (DEMO[:-1], "Expecting"),
        (DEMO + "x", "Extra data"),
        (changed(commandId=...), "commandId is not a string"),
        (changed(commandId=7), "commandId is not a string"),
        (changed(taskId=None), "taskId is not a string"),
        (changed(status="done"), "status is 'done'"),
        (changed(status=...), "status is not a string"),
        (changed(stepResults=...), "stepResults is not an array"),
        (changed(stepResults={}), "stepResults is not an array"),
        (changed(stepResults=["x"]), "stepResults[0] is not an object"),
        (changed(error=...), "error is missing"),
        (changed(error=3), "error is not a string"),
        (changed(errorCode=3), "errorCode is not a string"),
        (step(id=3), "stepResults[0].id is not a string"),
        (step(actionType=...), "stepResults[0].actionType is not a string"),
        (step(success="true"), "stepResults[0].success is not a boolean"),
        (step(success=1), "stepResults[0].success is not a boolean"),
        (DEMO.replace("null", "NaN"), "NaN is not JSON"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_anything_else_is_malformed_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_envelope(text)
    assert reason in str(caught.value)


def test_an_explicit_null_error_code_is_none() -> None:
    assert parse_envelope(changed(errorCode=None)).error_code is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_every_data_value_survives_as_text(data: dict[str, Any]) -> None:
    got = parse_envelope(step(data=data)).step_results[0].data
    assert list(got) == list(data)
    assert all(
        got[key] == value if isinstance(value, str) else json.loads(got[key]) == value for key, value in data.items()
    )


@given(st.text() | json_values.map(json.dumps))
def test_no_text_raises_anything_but_value_errors(text: str) -> None:
    try:
        parse_envelope(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - whatever it was
