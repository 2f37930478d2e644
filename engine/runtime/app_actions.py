"""What the Operator app alone can do: toasts, its on-screen log, notifications and media sessions (operator-0.10, actions).

Their parameters are exact: the app does not answer a payload with others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from clawperator.engine.verbs.catalogue import VERBS, named

_MILLIS = 30_000


class WholeNumber(NamedTuple):
    """From ``low`` to ``high``; required without a ``default``."""

    low: int
    high: int
    default: int | None = None


class Text(NamedTuple):
    """A text that matches ``pattern``; required without a ``default``."""

    longest: int
    pattern: str = r"(?s).*\S.*"
    default: str | None = None


Spec = Mapping[str, WholeNumber | Text]
_SHOWN = Text(2_048, r"(?=[\s\S]*\S)[^\x00-\x08\x0b-\x1f\x7f-\x9f]*")
_OPTIONAL_SHOWN = _SHOWN._replace(default="")
_SIDE = Text(8, "left|right", "left")
_COLOR = Text(9, "#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})")
_LIST: Spec = {
    "applicationId": Text(512, default=""),
    "limit": WholeNumber(1, 100, 25),
    "maxTextChars": WholeNumber(1, 1_024, 256),
}
_WAIT: Spec = {"waitTimeoutMs": WholeNumber(0, _MILLIS, 0)}
_SESSION: Spec = {"applicationId": Text(512, default=""), "mediaSessionId": Text(128, default="")}
_KEY: Spec = {"notificationKey": Text(4_096)}
SPECS: Mapping[str, Spec] = {
    "show_toast": {"text": _SHOWN, "duration": Text(8, "short|long", "short")},
    "cancel_toast": {},
    "set_on_screen_log": {
        "text": _OPTIONAL_SHOWN,
        "template": _OPTIONAL_SHOWN,
        "anchor": _SIDE,
        "textAlign": _SIDE,
        "topOffsetDp": WholeNumber(0, 1_000, 8),
        "edgeOffsetDp": WholeNumber(0, 1_000, 8),
        "widthDp": WholeNumber(80, 600, 280),
        "fontSizeSp": WholeNumber(8, 24, 12),
        "textColor": _COLOR._replace(default="#FFFFFFFF"),
        "backgroundColor": _COLOR._replace(default="#B3000000"),
        "ttlMs": WholeNumber(1_000, 3_600_000, 300_000),
    },
    "clear_on_screen_log": {},
    "list_notifications": _LIST,
    "list_media_sessions": _LIST,
    "dismiss_notification": {**_KEY, **_WAIT},
    "invoke_notification_action": {**_KEY, "actionId": Text(128)},
    "get_media_status": _SESSION,
    "media_pause": {**_SESSION, **_WAIT},
    "media_play": {**_SESSION, **_WAIT},
    "media_seek": {
        **_SESSION,
        **_WAIT,
        "positionMs": WholeNumber(0, 2**53 - 1),
        "positionToleranceMs": WholeNumber(0, 60_000, 1_000),
    },
    "observe_media": {"durationMs": WholeNumber(1, _MILLIS)},
}
ONE_OF: Mapping[str, tuple[str, ...]] = {name: VERBS[name].one_of for name in SPECS if VERBS[name].one_of}
"""Exactly one of the two must be given."""
BACKGROUND = frozenset(named(background=True))
"""A plan of these alone needs neither the accessibility service nor a lit screen."""


def values_of(name: str, given: Mapping[str, Any], is_number: type) -> dict[str, Any] | str:
    """Return the values of all parameters, or why the app refuses them; ``is_number`` is the type of a JSON number."""
    spec = SPECS[name]
    if others := given.keys() - spec.keys():
        return f"unknown parameter: {min(others)}"
    if name in ONE_OF and len(given.keys() & set(ONE_OF[name])) != 1:
        return f"exactly one of {' and '.join(ONE_OF[name])} is required"
    values: dict[str, Any] = {}
    for key, form in spec.items():
        value = given.get(key, form.default)
        if value is None:
            return f"{key} is required"
        if key in given and isinstance(form, WholeNumber):
            whole = float(str(value)) if isinstance(value, is_number) else float("nan")
            if not (whole.is_integer() and form.low <= whole <= form.high):
                return f"{key} must be an integer in {form.low}..{form.high}"
            value = int(whole)
        elif key in given and isinstance(form, Text):
            plain = isinstance(value, str) and not isinstance(value, is_number)
            if not plain or len(value) > form.longest or not re.fullmatch(form.pattern, value):
                return f"{key} is not valid"
        values[key] = value
    return values
