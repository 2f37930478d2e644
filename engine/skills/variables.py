"""The variables of a compilation, the ids made from them, and scalars as text (skills.md#json-templates)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from clawperator.engine.contracts.issues import shown
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode

Scalar = str | int | float | bool

COMMAND_ID = "COMMAND_ID"
TASK_ID = "TASK_ID"
"""Variables by which callers may choose the ids of the execution."""

_DIGITS = 12
_SURROGATE = re.compile("[\ud800-\udfff]")
_POSITIONAL = (1e-7, 1e21)
"""The range in which JavaScript writes numbers without an exponent."""

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


def stable_ids(identity: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return ``COMMAND_ID`` and ``TASK_ID``: those of ``chosen``, else hashes of ``identity`` as compact JSON."""
    text = json.dumps(identity, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    made = {COMMAND_ID: f"cmd-{digest}", TASK_ID: f"task-{digest}"}
    return {name: chosen.get(name, made[name]) for name in made}


def in_order(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping sorted by UTF-16 code units, as JavaScript sorts."""
    return dict(sorted(texts.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass")))


def text_of(value: Scalar) -> str:
    """Return a scalar as JavaScript's ``String()`` does, so that 3.0 and 3 are equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if value == 0:
        return "0"
    low, high = _POSITIONAL
    if low <= abs(value) < high:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
