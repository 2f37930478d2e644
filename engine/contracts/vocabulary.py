"""Translate pydantic's errors into the contract's messages and order (execution.md#validation)."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.contracts.issues import Issue, joined, shown
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.contracts.strict import RULES
from clawperator.engine.contracts.values import COLOR, SESSION_ID, SHOWN_TEXT

_JSON_NAMES = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
_EXPECTED = {
    "string_type": "a string",
    "bool_type": "a boolean",
    "int_type": "a number",
    "float_type": "a number",
    "finite_number": "a number",
    "list_type": "an array",
    "dict_type": "an object",
}
"""Errors of type, with the type that was expected."""
_FORM = {
    "missing": "is missing",
    "string_unicode": "must not contain unpaired surrogates",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
    "too_short": "must not be empty",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "int_from_float": "must be a whole number",
}
"""What follows the name of the field."""
_PATTERNS = {
    PACKAGE: "be an Android package name",
    SESSION_ID: "consist of A-Z, a-z, 0-9, _ and -",
    COLOR: "be a color: #RRGGBB or #AARRGGBB",
    SHOWN_TEXT: "have no control characters but line feed and tab",
}
_OWN_WORDS = {
    "enter_text params.text missing": "enter_text requires non-empty params.text",
    "take_screenshot params.path blank": "take_screenshot params.path must be a non-empty string",
    "sleep params.durationMs missing": "sleep requires params.durationMs >= 0",
    "sleep params.durationMs low": "sleep requires params.durationMs >= 0",
    "sleep params.durationMs high": "sleep.durationMs must not exceed 120000 ms",
    "wait_for_navigation params.timeoutMs missing": "wait_for_navigation requires params.timeoutMs > 0",
    "wait_for_navigation params.timeoutMs low": "wait_for_navigation requires params.timeoutMs > 0",
    "wait_for_navigation params.timeoutMs high": "wait_for_navigation params.timeoutMs must not exceed 30000",
}
"""Messages of their own for some actions."""
_HINTS = {
    "press_key params.key": "The verb `input key` presses any other key, such as ENTER.",
    "open_app params.applicationId": "`clawperator apps` lists the application ids of apps by their names.",
}
"""Hints about values of some parameters."""
_PLAIN_RANGES = ("settleDelayMs", "maxDurationMs")
"""Parameters whose ranges are printed without "an integer"."""
_WITH_TEXT = ("rule", "needed")
"""Errors raised by the models with complete messages."""
_PARAM_DEPTH = 4
"""The length of ``actions.N.params.name``."""


class UnsupportedType(Issue):
    """An unknown action type: the one issue with an error code of its own."""

    __slots__ = ()


def issues(errors: list[ErrorDetails], payload: object) -> list[Issue]:
    """Convert pydantic's ``errors`` about ``payload`` to issues in the order of execution.md#validation.

    A verb that is no action of a plan has arguments of its own: they are no issues.
    """
    verbs = {error["loc"][:2] for error in errors if error["type"] == "unsupported" and error["ctx"]["verb"]}
    known = [error for error in errors if error["loc"][:2] not in verbs or error["loc"][2:3] != ("params",)]
    return [_issue(error, payload) for error in sorted(known, key=_place)]


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether JSON calls ``value`` a number; Python's booleans and NaN are none. Safe for integers of any size."""
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _place(error: ErrorDetails) -> tuple[int, int, bool]:
    """Form before rules, unsupported types after all actions, then what follows the actions in the root."""
    loc = error["loc"]
    index = loc[1] if len(loc) > 1 and isinstance(loc[1], int) else -1
    if _is_rule(error):
        return 3, index, error["type"] != "needed"
    if error["type"] == "unsupported":
        return 1, index, True
    return (2 if loc in ((), ("mode",)) else 0), index, True


def _is_rule(error: ErrorDetails) -> bool:
    """In the root and in an action, only blank names and relations are no matter of form; of parameters, much is."""
    kind, loc = error["type"], error["loc"]
    if kind == "missing":
        return len(loc) == _PARAM_DEPTH and loc[2] == "params"
    return kind in RULES and (len(loc) >= _PARAM_DEPTH or kind in ("string_pattern_mismatch", *_WITH_TEXT))


def _issue(error: ErrorDetails, payload: Any) -> Issue:
    context, loc = error.get("ctx", {}), error["loc"]
    if error["type"] in ("unsupported", *_WITH_TEXT):
        message = context["text"]
    elif _is_rule(error) and len(loc) >= _PARAM_DEPTH:
        message = _broken_rule(error, canonical(payload["actions"][loc[1]]["type"]))
    else:
        message = f"{f'`{joined(*loc)}`' if loc else 'The payload'} {_bad_form(error)}"
    make = UnsupportedType if error["type"] == "unsupported" else Issue
    hint = context.get("hint", "") or next(
        (hint for name, hint in _HINTS.items() if message.startswith(f"{name} ")), ""
    )
    return make(joined(*loc), message, context.get("keys", ()), hint)


def _bad_form(error: ErrorDetails) -> str:
    """The problem with the value and the expected form, to follow the name of the field."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind in ("form", "unknown_keys"):
        return str(context["text"])
    if kind in _EXPECTED:
        if _EXPECTED[kind] == "a number" and is_number(value):
            return "must be a finite number"
        return f"must be {_EXPECTED[kind]}, not {_received(value)}"
    if kind == "string_pattern_mismatch":
        return "must not be blank"
    if kind == "literal_error":
        given = f"'{shown(value)}'" if isinstance(value, str) else _received(value)
        return f"must be {context['expected']}, not {given}"
    return _FORM[kind].format(**context)


def _broken_rule(error: ErrorDetails, action_type: str) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    field = _field(action_type, error["loc"][3:])
    label = f"{action_type} {joined(*error['loc'][2:])}"
    blank = isinstance(value, str) and not value.strip()
    if kind == "missing" or (blank and field.is_required()):
        return _OWN_WORDS.get(f"{label} missing", label.replace(" ", " requires ", 1))
    if kind == "literal_error":
        words = context["expected"].replace(" or ", ", ").replace("'", "")
        return f"{label} must be one of: {words}"
    if kind == "string_pattern_mismatch":
        usual = "not be blank" if blank else _PATTERNS[context["pattern"]]
        return _OWN_WORDS.get(f"{label} blank", f"{label} must {usual}")
    if kind == "fault":
        return f"{label} {context['text']}"
    side = {"greater_than_equal": "low", "less_than_equal": "high"}.get(kind, "")
    return _OWN_WORDS.get(f"{label} {side}", f"{label} must be {_range(field, error)}")


def _field(action_type: str, names: tuple[int | str, ...]) -> FieldInfo:
    model: Any = ACTIONS[action_type]
    for name in names[:-1]:
        model = model.model_fields[name].annotation
    field: FieldInfo = model.model_fields[names[-1]]
    return field


def _range(field: FieldInfo, error: ErrorDetails) -> str:
    low, high = (next(getattr(m, side) for m in field.metadata if hasattr(m, side)) for side in ("ge", "le"))
    plain = error["loc"][-1] in _PLAIN_RANGES and error["type"] != "int_from_float"
    return f"{'an integer ' if field.annotation is int and not plain else ''}in [{low}, {high}]"


def _received(value: object) -> str:
    """The JSON name for the type of ``value``; Python's name for other types."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return "null" if value is None else _JSON_NAMES.get(type(value), type(value).__name__)
