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
_INSPECT = Binding.Group("Inspect")
_NODE = Binding.Group("Node")
_BENCH = Binding.Group("Workbench")
_STREAM = Binding.Group("Stream")
_DETAIL = Binding.Group("Detail")
_RUN = Binding.Group("Run")
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
        _key(
            "node.use",
            "plus",
            "use_field",
            "into matcher",
            "Put this value into the matcher",
            _NODE,
            show=True,
            display="+",
        ),
    ),
    "bench": (
        _key(
            "bench.choose",
            "enter",
            "choose",
            "use",
            "Use this candidate, edit this field, go to this node",
            _BENCH,
            show=True,
            display="⏎",
        ),
        _key(
            "bench.explain",
            "question_mark",
            "explain",
            "why",
            "Why this candidate ranks here",
            _BENCH,
            show=True,
            display="?",
        ),
        _key(
            "bench.clear_field",
            "delete,backspace",
            "clear_field",
            "empty field",
            "Empty this field of the matcher",
            _BENCH,
            display="del",
        ),
        _key("bench.next_match", "n", "screen.match(1)", "next match", "Next node that the matcher finds", _BENCH),
        _key(
            "bench.previous_match",
            "N",
            "screen.match(-1)",
            "previous match",
            "Node before that the matcher finds",
            _BENCH,
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
    "run": (
        _key(
            "run.run",
            "R",
            "run_draft",
            "run",
            "Run the draft on the device, after a look at what is sent",
            _RUN,
            show=True,
        ),
        _key(
            "run.payload", "v", "payload", "payload", "The draft, or the payload as it would be sent", _RUN, show=True
        ),
        _key("run.save", "ctrl+s", "save_draft", "save", "Save the draft as a payload file", _RUN, show=True),
        _key("run.open", "o", "open_draft", "open", "Open a payload file as the draft", _RUN),
        _key("run.undo", "u", "undo", "undo", "Undo the last change", _RUN, show=True),
        _key(
            "run.delete",
            "delete,backspace",
            "delete_step",
            "delete",
            "Delete this step",
            _RUN,
            show=True,
            display="del",
        ),
        _key("run.up", "less_than_sign", "move_step(-1)", "move up", "Move this step up", _RUN, display="<"),
        _key("run.down", "greater_than_sign", "move_step(1)", "move down", "Move this step down", _RUN, display=">"),
        _key(
            "run.next_problem",
            "right_square_bracket",
            "problem(1)",
            "next problem",
            "Next step with a problem",
            _RUN,
            display="]",
        ),
        _key(
            "run.previous_problem",
            "left_square_bracket",
            "problem(-1)",
            "previous problem",
            "Step before with a problem",
            _RUN,
            display="[",
        ),
        _key("run.stop", "C", "stop_waiting", "stop waiting", "Stop waiting for the result; the device goes on", _RUN),
    ),
    "inspect": (
        _key(
            "inspect.find",
            "slash",
            "find",
            "find",
            'Find nodes: words, #id, @flag, "exact"; tab hides the others',
            _INSPECT,
            show=True,
            display="/",
        ),
        _key("inspect.matcher", "m", "matcher", "matcher", "Write a matcher and watch it match", _INSPECT, show=True),
        _key(
            "inspect.act",
            "a",
            "act_menu",
            "act",
            "Tap, type, read, wait, scroll: with this matcher",
            _INSPECT,
            show=True,
        ),
        _key("inspect.insert", "i", "insert_menu", "step", "Append a step to the draft", _INSPECT, show=True),
        _key(
            "inspect.follow", "f", "follow", "follow", "Keep reading the screen while it changes", _INSPECT, show=True
        ),
        _key("inspect.snapshot", "r", "snapshot", "snapshot", "Read the screen now", _INSPECT, show=True),
        _key(
            "inspect.verify",
            "v",
            "verify",
            "verify",
            "Ask the device whether it finds the node; changes nothing",
            _INSPECT,
        ),
        _key(
            "inspect.filter",
            "backslash",
            "filter_menu",
            "filter",
            "Show only what can be clicked, has text, scrolls …",
            _INSPECT,
            show=True,
            display="\\",
        ),
        _key("inspect.bench", "w", "bench", "workbench", "Show or hide the workbench", _INSPECT),
        _key("inspect.picture", "s", "picture", "screen", "Screen pane: bounds map, picture, off", _INSPECT, show=True),
        _key(
            "inspect.compare", "c", "compare", "compare", "Compare with an older tree; again: stop comparing", _INSPECT
        ),
        _key(
            "inspect.older", "comma", "older", "older tree", "An older snapshot of this device", _INSPECT, display=","
        ),
        _key(
            "inspect.newer",
            "full_stop",
            "newer",
            "newer tree",
            "A newer snapshot; at the end back to live",
            _INSPECT,
            display=".",
        ),
    ),
    "tree": (
        _key("tree.bench", "enter", "choose", "bench", "To the workbench for this node", _TREE, show=True, display="⏎"),
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
        _key("app.run", "3", "mode('run')", "Run", "The draft: steps to save, check and run", _EVERYWHERE),
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
    "find": (
        _key(
            "find.hide",
            "tab",
            "hide",
            "hide others",
            "Hide what is not found, or show it dimmed",
            _DIALOG,
            show=True,
            display="⇥",
        ),
    ),
    "matcher": (
        _key(
            "matcher.complete",
            "tab",
            "complete",
            "complete",
            "Take the completion; in a field: to the next field",
            _DIALOG,
            show=True,
            display="⇥",
        ),
        _key("matcher.previous", "shift+tab", "previous", "field before", "To the field before", _DIALOG, display="⇧⇥"),
    ),
    "dialog": (_key("dialog.close", "escape,q", "close", "close", "Close", _DIALOG, show=True, display="esc"),),
    "menu": (
        _key("menu.choose", "enter", "choose", "choose", "The entry with the cursor", _DIALOG, show=True, display="⏎"),
        _key("menu.down", "down", "move(1)", "down", "Next entry", _DIALOG, display="↓"),
        _key("menu.up", "up", "move(-1)", "up", "Entry before", _DIALOG, display="↑"),
        _key("menu.close", "escape", "close", "close", "Close", _DIALOG, show=True, display="esc"),
    ),
    "dispatch": (
        _key("dispatch.go", "enter", "go", "run", "Send it", _DIALOG, show=True, display="⏎"),
        _key("dispatch.close", "escape,q", "close", "back", "Send nothing", _DIALOG, show=True, display="esc"),
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


_VERBS = (
    MenuItem("t", "tap", "tap", "Click the node, or its clickable ancestor"),
    MenuItem("l", "long_press", "long press", "Long click on the node"),
    MenuItem("f", "focus", "focus", "Give the node the input focus"),
    MenuItem("r", "read", "read text", "Read the node's text"),
    MenuItem("w", "wait", "wait for", "Wait until the node is on screen"),
    MenuItem("e", "enter_text", "enter text…", "Replace the text of the field"),
    MenuItem("s", "scroll_to", "scroll to and tap", "Scroll its container until it is on screen, then click it"),
    MenuItem("d", "scroll_down", "scroll down", "Show what is further down in the nearest container"),
    MenuItem("u", "scroll_up", "scroll up", "Show what is further up in the nearest container"),
    MenuItem("k", "press_key", "press a key…", "Back, home or recents"),
    MenuItem("o", "open_app", "open app…", "Open an app by its package"),
)
"""What can be done with a node: at once (``a``) or as a step of the draft (``i``)."""

MENUS: dict[str, tuple[MenuItem, ...]] = {
    "act": _VERBS,
    "insert": (
        *_VERBS,
        MenuItem("z", "sleep", "sleep…", "A pause of some milliseconds"),
        MenuItem("n", "snapshot", "snapshot", "Read the UI tree"),
        MenuItem("p", "screenshot", "screenshot", "Take a picture of the screen"),
    ),
    "press": (
        MenuItem("b", "back", "back", "The back key"),
        MenuItem("h", "home", "home", "The home key"),
        MenuItem("r", "recents", "recents", "The recents key"),
    ),
    "filter": (
        MenuItem("c", "click", "clickable", "Nodes that can be clicked"),
        MenuItem("t", "text", "has text", "Nodes with a text or a description"),
        MenuItem("e", "input", "editable", "Fields to type into"),
        MenuItem("s", "scroll", "scrollable", "Containers that scroll"),
        MenuItem("v", "visible", "visible on screen", "Nodes that matching looks at"),
        MenuItem("x", "none", "no filter", "Show everything again"),
    ),
    "copy": (
        MenuItem("y", "matcher", "matcher", "The matcher as JSON, in one line"),
        MenuItem("j", "json", "JSON, pretty", "The matcher, the payload or the envelope as indented JSON"),
        MenuItem("c", "command", "command line", "The clawperator command that does the same"),
        MenuItem("s", "step", "action step", "One action of an execution, with this matcher"),
        MenuItem("e", "execution", "whole execution", "A payload for clawperator execute"),
        MenuItem("P", "python", "Python snippet", "A program that does the same through the engine"),
        MenuItem("t", "label", "label", "The text or description of the node"),
        MenuItem("i", "id", "resource id, commandId", "The full id of the node, or of the execution"),
        MenuItem("p", "path", "path", "Its position in the tree, such as 0/2/1"),
        MenuItem("b", "bounds", "bounds", "[left,top][right,bottom]"),
        MenuItem("n", "node", "node XML", "This node and all below it, as in the dump"),
        MenuItem("x", "snapshot", "snapshot XML", "The whole dump"),
        MenuItem("l", "line", "line", "This row as text, or the raw line"),
        MenuItem("exclamation_mark", "notice", "last notice", "The last notice with its code"),
    ),
    "go": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("d", "devices", "devices", "The devices pane"),
        MenuItem("h", "doctor", "doctor", "The doctor pane"),
        MenuItem("t", "tree", "tree", "The tree"),
        MenuItem("n", "node", "node", "The attributes of the node"),
        MenuItem("w", "bench", "workbench", "Candidates, matcher, why not"),
        MenuItem("s", "stream", "stream", "The stream"),
        MenuItem("p", "parent", "parent", "The parent of this node"),
        MenuItem("m", "match", "first match", "The node that the device takes for the matcher"),
    ),
}

_KEY_SIGNS = {"exclamation_mark": "!", "question_mark": "?", "slash": "/", "backslash": "\\"}


def bindings(scope: str) -> tuple[Binding, ...]:
    """The bindings of one scope, in table order."""
    return _TABLE[scope]


def scopes() -> Iterator[tuple[str, tuple[Binding, ...]]]:
    """All scopes with their bindings."""
    yield from _TABLE.items()


def rank(binding_id: str | None) -> int:
    """The place of a binding in key bar and help: the foremost ones, then in table order."""
    return _RANKS.get(binding_id or "", len(_RANKS))


def sign(key: str) -> str:
    """How a key is written on screen."""
    return _KEY_SIGNS.get(key, key)


_FOREMOST = ("tree.bench", "inspect.find", "inspect.matcher", "screen.copy")
"""The keys of mode 1 that everybody needs; in the table's own order a small screen would cut some of them off."""


def _in_order() -> Iterator[str]:
    for scope, rows in _TABLE.items():
        if scope == "inspect":
            yield from _FOREMOST
        yield from (str(binding.id) for binding in rows if binding.id not in _FOREMOST)


_RANKS = {binding_id: index for index, binding_id in enumerate(_in_order())}
