"""The variables of a compilation: a flat JSON object of strings, numbers and booleans (skills.md#json-templates)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clawperator.engine.contracts.issues import shown
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.stable_ids import Scalar

MAX_VARS = 256 * 1024
"""Characters of ``--vars``; more than fits into an execution."""
_SHOWN = 2_000
_KEY_SHOWN = 64


def parse_vars(text: str | None) -> dict[str, Scalar]:
    """Return the variables of ``--vars``, if any. Raises ``COMPILE_VARS_PARSE_FAILED`` with ``details.varsJson``."""
    if not text:
        return {}
    if len(text) > MAX_VARS:
        raise _refusal(f"longer than {MAX_VARS} characters", varsJson=shown(text, _SHOWN))
    try:
        value = parse_json(text)
    except EngineError as exc:
        raise _refusal(str(exc.details["reason"]), varsJson=shown(text, _SHOWN)) from exc
    if not isinstance(value, dict):
        raise _refusal("the root is not an object", varsJson=shown(text, _SHOWN))
    try:
        return checked(value)
    except EngineError as exc:
        exc.details["varsJson"] = shown(text, _SHOWN)
        raise


def checked(variables: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return the variables if all are scalars. Raises ``COMPILE_VARS_PARSE_FAILED`` with ``details.variable``."""
    for name, value in variables.items():
        if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
            named = shown(str(name), _KEY_SHOWN)
            raise _refusal(f"{named} is not a string, number or boolean", variable=named)
    return dict(variables)


def _refusal(reason: str, **details: Any) -> EngineError:
    hint = 'Pass one JSON object of strings, numbers and booleans, such as {"NAME":"value"}, quoted for the shell.'
    return EngineError(
        ErrorCode.COMPILE_VARS_PARSE_FAILED, "Invalid --vars JSON", hint=hint, details={**details, "reason": reason}
    )
