"""Keys of fields, menus and dialogs."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "field": KeyScope("Dialog", (
        key("field.leave", "escape", "leave", "leave", "Clear the field and close it", show=True, display="esc"),
        key("field.keep", "enter,down", "keep", "keep", "Apply and return to the pane", show=True, display="⏎"),
    )),
    "find": KeyScope("Dialog", (
        key("find.hide", "tab", "hide", "hide others", "Hide nodes that do not match, or show them dimmed", show=True, display="⇥"),
    )),
    "matcher": KeyScope("Dialog", (
        key("matcher.complete", "tab", "complete", "complete", "Insert the completion; in a field: next field", show=True, display="⇥"),
        key("matcher.previous", "shift+tab", "previous", "previous field", "Previous field", display="⇧⇥"),
    )),
    "dialog": KeyScope("Dialog", (
        key("dialog.close", "escape,q", "close", "close", "Close", show=True, display="esc"),
    )),
    "menu": KeyScope("Dialog", (
        key("menu.choose", "enter", "choose", "choose", "Choose the selected entry", show=True, display="⏎"),
        key("menu.down", "down", "move(1)", "down", "Next entry", display="↓"),
        key("menu.up", "up", "move(-1)", "up", "Previous entry", display="↑"),
        key("menu.close", "escape", "close", "close", "Close", show=True, display="esc"),
    )),
    "palette": KeyScope("Dialog", (
        key("palette.choose", "enter", "choose", "run", "Run the selected command", show=True, display="⏎"),
        key("palette.down", "down", "list('cursor_down')", "down", "Next command", display="↓"),
        key("palette.up", "up", "list('cursor_up')", "up", "Previous command", display="↑"),
        key("palette.page_down", "pagedown", "list('page_down')", "page down", "One page down", display="PgDn"),
        key("palette.page_up", "pageup", "list('page_up')", "page up", "One page up", display="PgUp"),
        key("palette.top", "ctrl+home,shift+home", "list('first')", "top", "First command", display="^Home"),
        key("palette.bottom", "ctrl+end,shift+end", "list('last')", "bottom", "Last command", display="^End"),
        key("palette.close", "escape", "close", "close", "Close", show=True, display="esc"),
    )),
    "step_form": KeyScope("Dialog", (
        key("step_form.pick", "ctrl+o", "pick", "pick in tree", "Choose the node of this selector in the tree", show=True, display="^o"),
        key("step_form.close", "escape", "close", "back", "Close without changing the draft", show=True, display="esc"),
    )),
    "dispatch": KeyScope("Dialog", (
        key("dispatch.go", "enter", "go", "send", "Send it to the device", show=True, display="⏎"),
        key("dispatch.close", "escape,q", "close", "back", "Close without sending", show=True, display="esc"),
    )),
    "sending": KeyScope("Dialog", (
        key("sending.refresh", "r", "refresh", "refresh first", "Read the screen again before it is sent"),
        key("sending.payload", "v", "payload", "payload", "Show or hide the equivalent command and the payload"),
    )),
    "confirm": KeyScope("Dialog", (
        key("confirm.yes", "y,enter", "answer(True)", "yes", "Yes", show=True, display="⏎"),
        key("confirm.no", "n,escape,q", "answer(False)", "no", "No", show=True, display="esc"),
    )),
}
