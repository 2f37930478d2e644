"""The inputs that a skill's script declares, and what its caller gives (skills.md#inputs-of-a-script)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine import EngineError
from clawperator.engine.skills.script_inputs import script_arguments, script_inputs
from tests.support import table


def skill(inputs: Any) -> dict[str, Any]:
    return {"id": "a.b", "contract": {"inputs": inputs}}


ROOM = skill({"unit_name": "string", "count": "integer?", "mode": "cool|heat"})


@table(
    ("schema", "kind", "required", "values"),
    [
        ("string", "string", True, ()),
        ("text to send", "string", True, ()),
        ("integer?", "integer", False, ()),
        ("int, optional", "integer", False, ()),
        ("number (default 20)", "number", False, ()),
        ("bool", "boolean", True, ()),
        ("cool|heat", "string", True, ("cool", "heat")),
        ("enum: 'cool' | 'heat'", "string", True, ("cool", "heat")),
        ("string|null", "string", False, ()),
        ("string | number", "string", True, ()),
        ("which room?", "", True, ()),
        ('{"type": "integer"}', "integer", True, ()),
        ('{"enum": [1, true]}', "", True, ("1", "true")),
        ('{"type": "string", "default": ""}', "string", False, ()),
        ("{", "", True, ()),
        ("", "", True, ()),
    ],
)
def test_schema_texts(schema: str, kind: str, required: bool, values: tuple[str, ...]) -> None:
    (found,) = script_inputs(skill({"a_b": schema}))
    assert (found.type, found.required, found.values, found.flag) == (kind, required, values, "--a-b")


@table(
    ("inputs", "args", "words"),
    [
        ({"unit_name": "k", "mode": "cool"}, [], ["--mode", "cool", "--unit-name", "k"]),
        (
            {"unit_name": "k", "mode": "cool", "count": 3},
            ["x"],
            ["--count", "3", "--mode", "cool", "--unit-name", "k", "x"],
        ),
        ({}, ["7", "heat", "kitchen"], ["7", "heat", "kitchen"]),
        ({}, ["heat", "kitchen"], ["heat", "kitchen"]),  # the optional one is left out
        ({}, ["other", "7", "heat", "kitchen"], ["other", "7", "heat", "kitchen"]),
        ({"mode": "cool"}, ["kitchen"], ["--mode", "cool", "kitchen"]),
        ({}, ["--mode=cool", "--unit_name", "k"], ["--mode=cool", "--unit_name", "k"]),
        ({}, ["--speed", "9", "--mode", "cool", "k"], ["--speed", "9", "--mode", "cool", "k"]),
    ],
)
def test_what_the_script_gets(inputs: dict[str, Any], args: list[str], words: list[str]) -> None:
    assert script_arguments(ROOM, inputs, args) == words


@table(
    ("inputs", "args", "code", "name"),
    [
        ({}, [], "SKILL_INPUT_MISSING", "mode"),
        ({"mode": "cool"}, [], "SKILL_INPUT_MISSING", "unit_name"),
        ({}, ["--mode"], "SKILL_INPUT_MISSING", "mode"),
        ({"mode": "dry", "unit_name": "k"}, [], "SKILL_INPUT_INVALID", "mode"),
        ({"mode": "cool", "unit_name": " "}, [], "SKILL_INPUT_INVALID", "unit_name"),
        ({"mode": "cool", "unit_name": None}, [], "SKILL_INPUT_INVALID", "unit_name"),
        ({"mode": "cool", "unit_name": ["k"]}, [], "SKILL_INPUT_INVALID", "unit_name"),
        ({"mode": "cool", "unit_name": "k", "count": "x"}, [], "SKILL_INPUT_INVALID", "count"),
        ({"mode": "cool", "unit_name": "k", "count": "٣"}, [], "SKILL_INPUT_INVALID", "count"),
        ({"mode": "cool", "unit_name": "k", "count": 1.5}, [], "SKILL_INPUT_INVALID", "count"),
        ({"mode": "cool", "unitname": "k"}, [], "SKILL_INPUT_INVALID", "unitname"),
        ({"mode": "cool"}, ["--mode", "cool", "k"], "SKILL_INPUT_INVALID", "mode"),
        ({}, ["7", "dry", "k"], "SKILL_INPUT_INVALID", "mode"),
    ],
)
def test_what_is_refused_before_the_run(inputs: dict[str, Any], args: list[str], code: str, name: str) -> None:
    with pytest.raises(EngineError) as refused:
        script_arguments(ROOM, inputs, args)
    assert (refused.value.code, refused.value.details["input"]) == (code, name)
    assert [each["name"] for each in refused.value.details["inputs"]] == ["count", "mode", "unit_name"]


@given(st.lists(st.text(max_size=8)))
def test_without_declared_inputs_every_argument_is_passed_on(args: list[str]) -> None:
    assert script_arguments({"id": "a.b"}, {}, args) == args
    with pytest.raises(EngineError, match="has no input x"):
        script_arguments({"id": "a.b"}, {"x": "1"}, args)


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=5)
)
def test_any_contract_can_be_read(contract: Any) -> None:
    for entry in ({"contract": contract}, skill(contract), skill({"a": contract})):
        for each in script_inputs(entry):
            each.problem("x")


@given(st.text() | st.sampled_from(["{}", "[]", '{"type": []}', '{"enum": {}}', "|", "enum", "null"]), st.text())
def test_any_schema_text_and_value(schema: str, value: str) -> None:
    (found,) = script_inputs(skill({"a": schema}))
    assert isinstance(found.problem(value), str)
