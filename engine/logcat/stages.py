"""Stage names of the Operator (wire.md#log-lines), and the actions that they serve."""

from __future__ import annotations

import re
from typing import Any

_TYPES = {
    "openApp": "open_app",
    "openUri": "open_uri",
    "pause": "sleep",
    "logUiTree": "snapshot_ui",
    "waitForNode": "wait_for_node",
    "getText": "read_text",
    "getValidatedText": "read_text",
    "click": "click",
    "enterText": "enter_text",
    "scrollUntil": "scroll_and_click",
    "scrollOnce": "scroll",
}


def type_of_stage(stage: str) -> str:
    """The action type of a stage such as ``openApp:com.example`` or ``click(NodeMatcher(…))``; empty for an unknown one."""
    return _TYPES.get(stage.partition("(")[0].partition(":")[0], "")


_VALUES = {"open_app": "applicationId", "open_uri": "uri"}
"""The parameter behind the colon of a stage."""


def action_of_stage(stage: str) -> dict[str, Any]:
    """Return type and parameters of the action, as far as a stage has them; empty for an unknown one."""
    kind = type_of_stage(stage)
    if not kind:
        return {}
    if fields := fields_in_words(stage):
        return {"type": kind, "params": {"matcher": fields}}
    return {"type": kind, "params": {_VALUES[kind]: stage.partition(":")[2]}} if kind in _VALUES else {"type": kind}


_MATCHER = re.compile(r"NodeMatcher\((resourceId=.*?, contentDescContains=.*?)(, ancestor=.*?, descendant=.*?)?\)")
"""From Operator 0.10 on it ends with the relations."""
_NO_RELATION = ", ancestor=null, descendant=null"
_FIELD_EDGE = re.compile(r", (?=(?:role|textEquals|textContains|contentDescEquals|contentDescContains)=)")


def brief(text: str) -> str:
    """Return text with the Operator's matchers without unset fields, for display only.
    ``click(NodeMatcher(resourceId=null, role=null, textEquals=OK, …))`` → ``click(textEquals=OK)``.
    """
    return _MATCHER.sub(_set_fields, text) if "NodeMatcher(" in text else text


def fields_in_words(text: str) -> dict[str, str]:
    """Return the set fields of the first matcher in an Operator text; empty without one, and for one with relations."""
    found = _MATCHER.search(text)
    if found is not None and found[2] not in (None, _NO_RELATION):
        return {}
    fields = (field.partition("=") for field in _FIELD_EDGE.split(found[1])) if found is not None else ()
    return {name: value for name, _, value in fields if value not in ("", "null")}


def _set_fields(match: re.Match[str]) -> str:
    fields = [field for field in _FIELD_EDGE.split(match[1]) if not field.endswith("=null")]
    return ", ".join(fields) + ("" if match[2] in (None, _NO_RELATION) else match[2])
