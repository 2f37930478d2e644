"""Validation of a single matcher by the contract of executions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.errors import EngineError
from clawperator.engine.executions.build import single
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher

_PLACE = "actions.0.params.matcher"
MATCHERS = ("selector", "container", "within")
"""Arguments that choose a node."""


def checked_choice(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``given`` with its matchers checked. Raises as ``checked_fields``."""
    return {**given, **{name: checked_fields(given[name], name) for name in MATCHERS if name in given}}


def checked_matcher(fields: object, name: str = "selector") -> Matcher:
    """Return the matcher of ``fields``, an empty one for a reference. Raises as ``checked_fields``."""
    checked = checked_fields(fields, name)
    return Matcher() if "ref" in checked else Matcher.from_fields(checked)


def checked_fields(fields: object, name: str = "selector") -> Mapping[str, str]:
    """Return the normalised ``fields``. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) with issues below ``name``."""
    try:
        checked = validate(single("match", "wait_for_node", {"matcher": {} if fields is None else fields}))
    except EngineError as exc:
        issues = [
            {key: words.replace(_PLACE, name) for key, words in issue.items()}
            for issue in exc.details.get("issues", ())
        ]
        details = {"path": exc.details.get("path", "").replace(_PLACE, name), "issues": issues}
        message = exc.message.replace(_PLACE, name)
        raise EngineError(exc.code, message, hint=exc.hint, details=details) from exc
    found: Mapping[str, str] = checked.payload["actions"][0]["params"]["matcher"]
    return found
