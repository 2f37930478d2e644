"""The values behind payloads: executions, actions, matchers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.matcher import FIELDS, NodeMatcher
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.validate import validate


def test_a_payload_and_its_value_are_two_sides_of_one_thing() -> None:
    execution = Execution("c", "t", "s", 1000, (Action("a", "sleep", {"durationMs": 1}), Action("b", "snapshot_ui")))
    payload = execution.to_payload()
    assert payload["actions"][1] == {"id": "b", "type": "snapshot_ui"}
    assert validate(payload).execution == execution
    assert execution.with_timeout(2000).timeout_ms == 2000


def test_a_matcher_holds_every_field_and_shows_the_ones_that_say_something() -> None:
    full: dict[str, Any] = {field: field.upper() for field in FIELDS}
    assert NodeMatcher(**full).fields() == full
    assert NodeMatcher(textContains="x", role="").fields() == {"textContains": "x"}
    assert NodeMatcher(role="x") == NodeMatcher.model_validate({"role": "x", "textEquals": ""})
    with pytest.raises(ValidationError, match="at least one field"):
        NodeMatcher()


def test_a_code_of_the_device_s_own_is_simply_not_known() -> None:
    assert ErrorCode.known("NODE_NOT_FOUND") is ErrorCode.NODE_NOT_FOUND
    assert ErrorCode.known("VENDOR_THING") is None
