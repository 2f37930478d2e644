"""The JSON reader for payloads: one meaning per document, or a refusal that says where."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import parse_json
from tests.support import table


@table(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("{", "Expecting property name enclosed in double quotes (line 1, column 2)"),
        ('{"a":1,\n  "b" 2}', "Expecting ':' delimiter (line 2, column 7)"),
        ("[1] x", "Extra data (line 1, column 5)"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[Infinity]", "Infinity is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ('{"a":{"b":1,"c":2,"b":3}}', "the key 'b' appears twice in one object"),
        ("[" * 65 + "]" * 65, "nested more than 64 levels deep"),
        ("[" * 100_000, "nested more than 64 levels deep"),
        ('{"a":' * 100_000, "nested more than 64 levels deep"),
        ("[" + "9" * 5000 + "]", "a number has too many digits"),
        (b'{"a":"\xff"}', "not UTF-8 at byte 6"),
    ],
)
def test_doubtful_documents_are_refused_with_the_place(text: str | bytes, reason: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse_json(text)
    error = caught.value
    assert error.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert error.message == f"Invalid JSON: {reason}"
    assert (error.details["path"], error.details["reason"]) == ("", reason)


@pytest.mark.parametrize("text", ['\ufeff{"a":"\ufeff"}', b'\xef\xbb\xbf{"a":"\xef\xbb\xbf"}'])
def test_a_byte_order_mark_is_no_part_of_a_document(text: str | bytes) -> None:
    assert parse_json(text) == {"a": "\ufeff"}
    with pytest.raises(EngineError):
        parse_json("\ufeff\ufeff{}")


def test_the_doubled_key_is_named() -> None:
    with pytest.raises(EngineError) as caught:
        parse_json('{"mode":1,"mode":1}')
    assert caught.value.details["invalidKeys"] == ["mode"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"timeoutMs":1e400}', "timeoutMs"),
        ('{"actions":[{},{"params":{"durationMs":-1e400,"x":1e999}}]}', "actions.1.params.durationMs"),
        ("[1, [2, 1e999]]", "1.1"),
    ],
)
def test_a_number_that_is_too_large_names_its_path(text: str, path: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse_json(text)
    error = caught.value
    assert (error.details["path"], f"`{path}`" in error.message, "details.path" in error.hint) == (path, True, True)
    assert "too large" in error.details["reason"]


@pytest.mark.parametrize("text", ['{"a":[1,2.5,"\\u00e9"]}', b'{"a":[1,2.5,"\xc3\xa9"]}'])
def test_sound_documents_are_read(text: str | bytes) -> None:
    assert parse_json(text) == {"a": [1, 2.5, "é"]}


def test_numbers_are_exact_and_depth_up_to_the_bound_is_fine() -> None:
    assert parse_json("[9007199254740993, 1.0]") == [9007199254740993, 1.0]
    parse_json("[" * 64 + "]" * 64)


@given(st.text() | st.binary())
def test_any_input_is_read_or_refused(text: str | bytes) -> None:
    with suppress(EngineError):
        json.dumps(parse_json(text), allow_nan=False)
