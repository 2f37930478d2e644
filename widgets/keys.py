"""Every key of the console, declared once: id, keys, action, label, group and the sentence that explains it.

Bindings, key bar, help, palette and the settings' keymap are made from this table; nobody writes a key anywhere else.
Lower case looks or moves, upper case changes more than the view (but for vim's G, N, J, K). Within a scope the most used
keys come first: that is their order in the key bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual.binding import Binding

_EVERYWHERE = Binding.Group("Everywhere")
_MOVING = Binding.Group("Moving in a pane")
_TREE = Binding.Group("Tree")
_NODE = Binding.Group("Node")
_STREAM = Binding.Group("Stream")
_DETAIL = Binding.Group("Detail")
_DOCTOR = Binding.Group("Doctor")
_DEVICES = Binding.Group("Devices")
_DIALOG = Binding.Group("Dialog")


def _key(  # noqa: PLR0917  # a row of a table: the columns are told by their place
    id: str,  # noqa: A002  # Textual's own name for it
    keys: str,
    action: str,
    label: str,
    tooltip: str,
    group: Binding.Group,
    *,
    show: bool = False,
    display: str | None = None,
    priority: bool = False,
) -> Binding:
    return Binding(
        keys, action, label, show=show, key_display=display, priority=priority, tooltip=tooltip, id=id, group=group
    )


_TABLE: dict[str, tuple[Binding, ...]] = {
    "tree": (
        _key(
            "tree.find",
            "slash",
            "screen.find",
            "find",
            'Find nodes: words, #id, @flag, "exact"',
            _TREE,
            show=True,
            display="/",
        ),
        _key("tree.snapshot", "r", "snapshot", "snapshot", "Read the screen now", _TREE, show=True),
        _key("tree.view", "t", "view", "view", "Compact, all nodes, or targets only", _TREE, show=True),
        _key("tree.fold", "space", "fold", "fold", "Fold or unfold this node", _TREE, show=True, display="␣"),
        _key("tree.in", "l,right", "unfold", "unfold", "Unfold, or go to the first child", _TREE, display="l →"),
        _key("tree.out", "h,left", "fold_or_parent", "fold", "Fold, or go to the parent", _TREE, display="h ←"),
        _key(
            "tree.unfold_all",
            "asterisk",
            "unfold_subtree",
            "unfold subtree",
            "Unfold everything below",
            _TREE,
            display="*",
        ),
        _key(
            "tree.fold_all",
            "minus",
            "fold_others",
            "fold others",
            "Fold all but the way to this node",
            _TREE,
            display="-",
        ),
        _key("tree.next_sibling", "J", "sibling(1)", "next sibling", "Next node of the same parent", _TREE),
        _key(
            "tree.previous_sibling", "K", "sibling(-1)", "previous sibling", "Previous node of the same parent", _TREE
        ),
        _key("tree.next_hit", "n", "hit(1)", "next hit", "Next node found", _TREE),
        _key("tree.previous_hit", "N", "hit(-1)", "previous hit", "Previous node found", _TREE),
        _key(
            "tree.next_change",
            "right_square_bracket",
            "change(1)",
            "next change",
            "Next node that changed",
            _TREE,
            display="]",
        ),
        _key(
            "tree.previous_change",
            "left_square_bracket",
            "change(-1)",
            "previous change",
            "Previous node that changed",
            _TREE,
            display="[",
        ),
        _key("tree.older", "comma", "older", "older tree", "An older snapshot of this device", _TREE, display=","),
        _key(
            "tree.newer",
            "full_stop",
            "newer",
            "newer tree",
            "A newer snapshot; at the end back to live",
            _TREE,
            display=".",
        ),
    ),
    "node": (
        _key(
            "node.copy_value",
            "enter",
            "copy_value",
            "copy value",
            "Copy the value of this row",
            _NODE,
            show=True,
            display="⏎",
        ),
    ),
    "stream": (
        _key(
            "stream.fold",
            "space,l,right",
            "unfold",
            "lines",
            "Show or hide the live lines of this execution",
            _STREAM,
            show=True,
            display="␣",
        ),
        _key("stream.follow", "f", "follow", "follow", "Follow the newest row", _STREAM, show=True),
        _key("stream.pause", "p", "pause", "pause", "Freeze the view while lines keep coming in", _STREAM, show=True),
        _key(
            "stream.view", "t", "view", "view", "Executions, envelopes, Operator's log, whole log", _STREAM, show=True
        ),
        _key(
            "stream.filter",
            "slash",
            "screen.find",
            "filter",
            "Filter: words, cmd:, src:, status:, code:, tag:, ! for not",
            _STREAM,
            show=True,
            display="/",
        ),
        _key(
            "stream.next_problem",
            "right_square_bracket",
            "problem(1)",
            "next problem",
            "Next row that needs attention",
            _STREAM,
            display="]",
        ),
        _key(
            "stream.previous_problem",
            "left_square_bracket",
            "problem(-1)",
            "previous problem",
            "Previous row that needs attention",
            _STREAM,
            display="[",
        ),
        _key(
            "stream.fold_one", "h,left", "fold", "fold", "Hide the live lines of this execution", _STREAM, display="h ←"
        ),
    ),
    "detail": (
        _key(
            "detail.next_tab",
            "l,right",
            "tab(1)",
            "next tab",
            "Steps, envelope, raw",
            _DETAIL,
            show=True,
            display="l →",
        ),
        _key(
            "detail.previous_tab", "h,left", "tab(-1)", "previous tab", "Steps, envelope, raw", _DETAIL, display="h ←"
        ),
    ),
    "doctor": (
        _key("doctor.run", "r", "run_doctor", "run again", "Run the checks again", _DOCTOR, show=True),
        _key(
            "doctor.next_problem",
            "right_square_bracket",
            "problem(1)",
            "next problem",
            "Next check that does not pass",
            _DOCTOR,
            show=True,
            display="]",
        ),
        _key(
            "doctor.previous_problem",
            "left_square_bracket",
            "problem(-1)",
            "previous problem",
            "Previous check that does not pass",
            _DOCTOR,
            display="[",
        ),
    ),
    "devices": (
        _key(
            "devices.use",
            "enter",
            "choose",
            "use",
            "Make this the device of the console",
            _DEVICES,
            show=True,
            display="⏎",
        ),
    ),
    "pane": (
        _key("pane.choose", "enter", "choose", "open", "Open or drill down", _MOVING, show=True, display="⏎"),
        _key("pane.down", "j,down", "move(1)", "down", "One row down", _MOVING, display="j ↓"),
        _key("pane.up", "k,up", "move(-1)", "up", "One row up", _MOVING, display="k ↑"),
        _key("pane.half_down", "ctrl+d", "page(0.5)", "half page down", "Half a page down", _MOVING),
        _key("pane.half_up", "ctrl+u", "page(-0.5)", "half page up", "Half a page up", _MOVING),
        _key("pane.page_down", "pagedown,ctrl+f", "page(1)", "page down", "One page down", _MOVING, display="PgDn"),
        _key("pane.page_up", "pageup,ctrl+b", "page(-1)", "page up", "One page up", _MOVING, display="PgUp"),
        _key("pane.top", "home", "top", "top", "First row", _MOVING, display="Home g g"),
        _key("pane.bottom", "end,G", "bottom", "bottom", "Last row", _MOVING, display="End G"),
    ),
    "screen": (
        _key("screen.copy", "y", "copy_menu", "copy", "Copy something of what has the cursor", _EVERYWHERE, show=True),
        _key("screen.go", "g", "go_menu", "go", "Go to a pane, the top, or the parent", _EVERYWHERE, show=True),
        _key("screen.zoom", "z", "zoom", "zoom", "This pane alone, or all of them again", _EVERYWHERE, show=True),
        _key("screen.next_pane", "tab", "app.focus_next", "next pane", "Next pane", _EVERYWHERE, display="⇥"),
        _key(
            "screen.previous_pane",
            "shift+tab",
            "app.focus_previous",
            "previous pane",
            "Previous pane",
            _EVERYWHERE,
            display="⇧⇥",
        ),
        _key(
            "screen.escape",
            "escape",
            "escape",
            "back",
            "Leave the field, close the drawer, clear find and marks",
            _EVERYWHERE,
            display="esc",
        ),
    ),
    "app": (
        _key("app.device", "D", "choose_device", "device", "Choose the device", _EVERYWHERE, show=True),
        _key(
            "app.palette",
            "colon,ctrl+p",
            "command_palette",
            "palette",
            "Every command by name",
            _EVERYWHERE,
            show=True,
            display=":",
        ),
        _key("app.inspect", "1", "mode('inspect')", "Inspect", "The screen of the device as a tree", _EVERYWHERE),
        _key("app.stream", "2", "mode('stream')", "Stream", "Executions as they happen", _EVERYWHERE),
        _key("app.doctor", "6", "mode('doctor')", "Doctor", "Is everything ready?", _EVERYWHERE),
        _key("app.devices", "7", "mode('devices')", "Devices", "Everything that adb sees", _EVERYWHERE),
        _key(
            "app.notices",
            "exclamation_mark",
            "notices",
            "notices",
            "Past notices of this session",
            _EVERYWHERE,
            display="!",
        ),
        _key("app.back", "q", "leave_mode", "back", "The mode before this one; from Inspect: quit", _EVERYWHERE),
        _key("app.quit", "ctrl+q", "quit", "quit", "Leave the console", _EVERYWHERE),
        _key("app.suspend", "ctrl+z", "suspend_process", "suspend", "To the shell; fg comes back", _EVERYWHERE),
        _key(
            "app.help", "question_mark", "help", "keys", "The keys that work here", _EVERYWHERE, show=True, display="?"
        ),
    ),
    "field": (
        _key(
            "field.leave", "escape", "leave", "leave", "Leave the field and clear it", _DIALOG, show=True, display="esc"
        ),
        _key(
            "field.keep",
            "enter,down",
            "keep",
            "keep",
            "Back to the pane, keeping what was typed",
            _DIALOG,
            show=True,
            display="⏎",
        ),
    ),
    "dialog": (_key("dialog.close", "escape,q", "close", "close", "Close", _DIALOG, show=True, display="esc"),),
    "menu": (
        _key("menu.choose", "enter", "choose", "choose", "The entry with the cursor", _DIALOG, show=True, display="⏎"),
        _key("menu.down", "down", "move(1)", "down", "Next entry", _DIALOG, display="↓"),
        _key("menu.up", "up", "move(-1)", "up", "Entry before", _DIALOG, display="↑"),
        _key("menu.close", "escape", "close", "close", "Close", _DIALOG, show=True, display="esc"),
    ),
    "confirm": (
        _key("confirm.yes", "y,enter", "answer(True)", "yes", "Yes", _DIALOG, show=True, display="⏎"),
        _key("confirm.no", "n,escape,q", "answer(False)", "no", "No", _DIALOG, show=True, display="esc"),
    ),
}


class MenuItem(NamedTuple):
    """The second key of a prefix menu. ``id`` is what the menu answers."""

    key: str
    id: str
    label: str
    tooltip: str


MENUS: dict[str, tuple[MenuItem, ...]] = {
    "copy": (
        MenuItem("t", "label", "label", "The text or description of the node"),
        MenuItem("i", "id", "resource id, commandId", "The full id of the node, or of the execution"),
        MenuItem("p", "path", "path", "Its position in the tree, such as 0/2/1"),
        MenuItem("b", "bounds", "bounds", "[left,top][right,bottom]"),
        MenuItem("n", "node", "node XML", "This node and all below it, as in the dump"),
        MenuItem("x", "snapshot", "snapshot XML", "The whole dump"),
        MenuItem("j", "envelope", "envelope JSON", "The envelope of this execution, pretty"),
        MenuItem("l", "line", "line", "This row as text, or the raw line"),
        MenuItem("exclamation_mark", "notice", "last notice", "The last notice with its code"),
    ),
    "go": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("d", "devices", "devices", "The devices pane"),
        MenuItem("h", "doctor", "doctor", "The doctor pane"),
        MenuItem("t", "tree", "tree", "The tree"),
        MenuItem("n", "node", "node", "The attributes of the node"),
        MenuItem("s", "stream", "stream", "The stream"),
        MenuItem("p", "parent", "parent", "The parent of this node"),
    ),
}

_KEY_SIGNS = {"exclamation_mark": "!", "question_mark": "?", "slash": "/"}


def bindings(scope: str) -> tuple[Binding, ...]:
    """The bindings of one scope, in table order."""
    return _TABLE[scope]


def scopes() -> Iterator[tuple[str, tuple[Binding, ...]]]:
    """All scopes with their bindings."""
    yield from _TABLE.items()


def rank(binding_id: str | None) -> int:
    """Where a binding stands in the table: the order of key bar and help."""
    return _RANKS.get(binding_id or "", len(_RANKS))


def sign(key: str) -> str:
    """How a key is written on screen."""
    return _KEY_SIGNS.get(key, key)


_RANKS = {binding.id: index for index, binding in enumerate(item for rows in _TABLE.values() for item in rows)}
