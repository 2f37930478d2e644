"""A matcher that comes alone."""

from __future__ import annotations

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.matcher_check import checked_matcher
from tests.support import table


def test_a_matcher() -> None:
    assert checked_matcher({"textEquals": "x", "role": ""}).fields() == {"textEquals": "x"}


@table("fields", [None, {}, "x", {"text": "x"}, {"textEquals": 7}, {"textEquals": ""}])
def test_what_is_none(fields: object) -> None:
    with pytest.raises(EngineError) as raised:
        checked_matcher(fields, "wanted")
    assert raised.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert raised.value.details["path"].startswith("wanted")
    assert all(issue["path"].startswith("wanted") for issue in raised.value.details["issues"])
