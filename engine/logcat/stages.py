"""Stage names of the Operator (wire.md#log-lines) and the action types that they serve."""

from __future__ import annotations

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
