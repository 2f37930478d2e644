"""An execution in a few words, for a row of a list: ``2/3 click "Wi-Fi"``, ``not found``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clawperator.engine.errors import ErrorCode

_MATCHERS = ("matcher", "target", "labelMatcher", "expectedNode")
_QUOTED = ("textEquals", "textContains", "contentDescEquals", "contentDescContains")
_VALUES = ("applicationId", "uri", "key", "direction", "expectedPackage", "path")
"""Parameters that say what an action does. What is typed is not among them: it may be a password."""
_MOST = 8
_LONGEST = 200

_RESULTS: Mapping[str, str] = {
    ErrorCode.NODE_NOT_FOUND: "not found",
    ErrorCode.NODE_NOT_CLICKABLE: "not clickable",
    ErrorCode.CONTAINER_NOT_FOUND: "no container",
    ErrorCode.CONTAINER_NOT_SCROLLABLE: "does not scroll",
    ErrorCode.EXECUTION_TIMEOUT: "out of time",
    ErrorCode.RESULT_ENVELOPE_TIMEOUT: "no result",
    ErrorCode.RESULT_ENVELOPE_MALFORMED: "unreadable result",
    ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT: "device busy",
    ErrorCode.EXECUTION_VALIDATION_FAILED: "invalid payload",
    ErrorCode.EXECUTION_ACTION_UNSUPPORTED: "unknown action",
    ErrorCode.LOGCAT_UNAVAILABLE: "log lost",
    ErrorCode.RECEIVER_NOT_INSTALLED: "no Operator",
    ErrorCode.SERVICE_UNAVAILABLE: "no accessibility service",
    ErrorCode.SECURITY_BLOCK_DETECTED: "secure screen",
}


LOST = "ran, result lost"


def result_words(code: str, outcome: Mapping[str, Any] | None = None) -> str:
    """Return a code in words: ``not found``; codes without words of their own are written in lower case.

    ``outcome``: of a result in chunk records that did not arrive whole, it says that the plan ran.
    """
    if "transport" in (((outcome or {}).get("error") or {}).get("details") or ()):
        return LOST
    return _RESULTS.get(code) or code.lower().replace("_", " ")


def short_source(source: str) -> str:
    """Return the source without the product's name: ``cli``, ``console``."""
    return source.removeprefix("clawperator-")


def selector_words(fields: Mapping[str, Any]) -> str:
    """Return the most specific field of a selector: ``"Wi-Fi"``, ``#title``, ``role button``."""
    quoted = next((fields[name] for name in _QUOTED if fields.get(name)), "")
    if quoted:
        return f'"{quoted}"'
    name = str(fields.get("resourceId") or "").rpartition("/")[2]
    return f"#{name}" if name else f"role {fields['role']}" if fields.get("role") else ""


def action_words(action: Mapping[str, Any]) -> str:
    """Return type and target of an action: ``click "Wi-Fi"``, ``open_app com.android.settings``, ``sleep 2 s``."""
    params = action.get("params")
    params = params if isinstance(params, Mapping) else {}
    matcher: Mapping[str, Any] = next((params[name] for name in _MATCHERS if isinstance(params.get(name), Mapping)), {})
    slept = params.get("durationMs")
    parts = (
        str(action.get("type") or ""),
        selector_words(matcher),
        *(str(params[name]) for name in _VALUES if params.get(name)),
        f"{slept / 1000:g} s" if isinstance(slept, int | float) else "",
    )
    return " ".join(filter(None, parts))


def headline(
    payload: Mapping[str, Any] | None, outcome: Mapping[str, Any] | None, steps: Iterable[tuple[str, str]] = ()
) -> str:
    """Return the action that failed; of a run without a failure all its actions, else the types of ``steps``."""
    given = payload.get("actions") if payload is not None else None
    actions = [action for action in given if isinstance(action, Mapping)] if isinstance(given, list | tuple) else []
    actions = actions or [{"id": name, "type": kind} for name, kind in steps]
    failed = ((outcome or {}).get("failedStep") or {}).get("id")
    named = [action for action in actions if failed is not None and action.get("id") == failed] or actions
    return ", ".join(filter(None, map(action_words, named[:_MOST])))[:_LONGEST]
