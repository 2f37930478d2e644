"""Input-only names of action types; the canonical name is what is stored, sent and logged (execution.md#other-spellings)."""

from __future__ import annotations

from typing import Any

ALIAS_TABLE_VERSION = 1

ALIASES = {
    "tap": "click",
    "press": "click",  # not press_key
    "long_press": "click",
    "wait_for": "wait_for_node",
    "find": "wait_for_node",
    "find_node": "wait_for_node",
    "read": "read_text",
    "snapshot": "snapshot_ui",
    "screenshot": "take_screenshot",
    "capture_screenshot": "take_screenshot",
    "type_text": "enter_text",
    "text_entry": "enter_text",
    "input_text": "enter_text",
    "open_url": "open_uri",
    "key_press": "press_key",
    "sleep": "sleep",
    "on_screen_log_set": "set_on_screen_log",
    "on_screen_log_clear": "clear_on_screen_log",
}

IMPLIED_PARAMS: dict[str, dict[str, Any]] = {"long_press": {"clickType": "long_click"}}
"""Parameters that an alias implies; an explicit other value is an error."""


def spelled(name: str) -> str:
    """How an action type is looked up: trimmed, lower case, otherwise exactly as given."""
    return name.strip().lower()


def canonical(name: str) -> str:
    """The canonical type behind ``name``; a name that is no alias comes back as it is looked up, known or not."""
    return ALIASES.get(spelled(name), spelled(name))
