"""The schema of an execution and the validator give the same verdict on payloads of the documented form."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import ALIASES, canonical
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.validate import validate
from clawperator.engine.json_schema import json_schema
from tests.support import examples

SCHEMA = json_schema("execution")
INEXPRESSIBLE = re.compile(
    "used more than once|must not be less than initialDelayMs|params.target and params.matcher differ"
    "|not a valid regex pattern|longer than [0-9]+ character"
)
"""Rules for which JSON Schema has no words; lengths are counted in UTF-16 units."""

_TEXTS = st.sampled_from(["x", "", " ", "a.b", "a b", "x:y", "[", "\x1c", "x" * 512, "x" * 513, "\U0001f600" * 300])
_NUMBERS = st.sampled_from([0, 1, 5, 11, 50, 51, 201, 10_001, 30_000, 30_001, 120_001, -1, 0.5, 1.5, 1.0, 2**31, 1e300])
_OTHERS: st.SearchStrategy[Any] = st.sampled_from([None, True, 7, "7", [], {}])


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that are near to what ``schema`` asks for, on either side of its limits."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if "enum" in schema or "const" in schema:
        near: st.SearchStrategy[Any] = st.sampled_from([*schema.get("enum", [schema.get("const")]), "x"])
    elif schema["type"] == "object":
        near = objects(schema)
    elif schema["type"] == "boolean":
        near = st.booleans()
    else:
        near = _TEXTS if schema["type"] == "string" else _NUMBERS
    return st.one_of(near, near, near, near, near, near, _OTHERS)


def objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: values(field) for name, field in schema["properties"].items()}
    required = set(schema.get("required", ()))
    complete = st.fixed_dictionaries(
        {name: field for name, field in fields.items() if name in required},
        optional={name: field for name, field in fields.items() if name not in required},
    )
    return st.one_of(complete, complete, complete, st.fixed_dictionaries({}, optional=fields))


@st.composite
def actions(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from([*ACTIONS, *ALIASES]))
    params = SCHEMA["$defs"][canonical(name)]["properties"]["params"]
    action = {"id": draw(st.sampled_from(["a", "b", ""])), "type": name}
    return draw(st.one_of(st.just(action), *[objects(params).map(lambda given: {**action, "params": given})] * 9))


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    root = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    return {**root, "timeoutMs": 15_000, "actions": list(steps)}


@given(steps=st.lists(actions(), min_size=1, max_size=2))
@settings(max_examples=examples(200))
@example(steps=[{"id": "a", "type": "scroll_until", "params": {"clickAfter": False}}])
def test_both_give_the_same_verdict(steps: list[dict[str, Any]]) -> None:
    payload = plan(*steps)
    said = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(payload)]
    note(str(said))
    try:
        validate(payload)
    except EngineError as refusal:
        reasons = [issue["message"] for issue in refusal.details["issues"]]
        assert said or all(INEXPRESSIBLE.search(reason) for reason in reasons), reasons
    else:
        assert not said
