"""Prefix menus: the second keys of ``a``, ``i``, ``y`` and ``g``."""

from __future__ import annotations

from string import ascii_letters
from typing import TYPE_CHECKING

from clawperator.engine.verbs import catalogue
from clawperator.widgets.keys.table import MenuItem

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERBS = (
    MenuItem("t", "tap", "tap", "Tap the node or its clickable ancestor"),
    MenuItem("l", "long_press", "long press", "Long-press the node"),
    MenuItem("f", "focus", "focus", "Set the input focus to the node"),
    MenuItem("r", "read", "read text", "Read the node's text"),
    MenuItem("w", "wait", "wait for", "Wait until the node is on screen"),
    MenuItem("e", "enter_text", "enter text…", "Replace the text of the field"),
    MenuItem("s", "scroll_to", "scroll to and tap", "Scroll its container until the node is on screen, then tap it"),
    MenuItem("d", "scroll_down", "scroll down", "Scroll the nearest container down"),
    MenuItem("u", "scroll_up", "scroll up", "Scroll the nearest container up"),
    MenuItem("k", "press_key", "press a key…", "Back, home or recents"),
    MenuItem("o", "open_app", "open app…", "Open an app by package name"),
)
"""Actions on a node: at once (``a``) or as a step of the draft (``i``)."""


def _step_types() -> Iterator[MenuItem]:
    """Yield the action types of the catalogue; one without a key of its own gets the first free letter of its name."""
    verbs = [verb for verb in catalogue.VERBS.values() if verb.of == "action"]
    taken = {verb.key for verb in verbs}
    for verb in verbs:
        key = verb.key or next(letter for letter in f"{verb.name}{ascii_letters}" if letter not in {*taken, "_"})
        taken.add(key)
        yield MenuItem(key, verb.name, verb.name, verb.summary)


MENUS: dict[str, tuple[MenuItem, ...]] = {
    "act": _VERBS,
    "insert": (
        *_VERBS,
        MenuItem("z", "sleep", "sleep…", "Wait for a number of milliseconds"),
        MenuItem("n", "snapshot", "snapshot", "Read the UI tree"),
        MenuItem("p", "screenshot", "screenshot", "Take a screenshot"),
    ),
    "add_step": tuple(_step_types()),
    "press": (
        MenuItem("b", "back", "back", "The back key"),
        MenuItem("h", "home", "home", "The home key"),
        MenuItem("r", "recents", "recents", "The recents key"),
    ),
    "stop": (
        MenuItem("k", "keep", "keep waiting", "The result is shown when it arrives"),
        MenuItem("s", "stop", "stop waiting", "The device continues; a late result is still shown"),
        MenuItem("F", "force_stop", "stop and force-stop", "Stop waiting and force-stop the target app"),
    ),
    "filter": (
        MenuItem("c", "click", "clickable", "Nodes that can be clicked"),
        MenuItem("t", "text", "has text", "Nodes with text or a content description"),
        MenuItem("e", "input", "editable", "Text fields"),
        MenuItem("s", "scroll", "scrollable", "Containers that scroll"),
        MenuItem("v", "visible", "visible on screen", "Nodes on screen; matching ignores the others"),
        MenuItem("x", "none", "no filter", "Show all nodes"),
    ),
    "copy": (
        MenuItem("y", "matcher", "matcher", "The matcher as one line of JSON"),
        MenuItem("j", "json", "JSON, pretty", "The matcher, the payload or the envelope as indented JSON"),
        MenuItem("c", "command", "command line", "The equivalent clawperator command"),
        MenuItem("s", "step", "action step", "One action of an execution, with this matcher"),
        MenuItem("e", "execution", "whole execution", "A payload for clawperator execute"),
        MenuItem("P", "python", "Python snippet", "The equivalent program with the engine's API"),
        MenuItem("T", "pytest", "pytest test", "A test that runs it and asserts that it succeeded"),
        MenuItem("r", "recipe", "recipe step", "A step block of a skill's recipe"),
        MenuItem("u", "ui_selector", "UiAutomator2", "A UiSelector, also for Appium's -android uiautomator"),
        MenuItem("X", "xpath", "XPath", "For Appium and for dumps"),
        MenuItem("t", "label", "label", "The text or content description of the node"),
        MenuItem("i", "id", "id", "The full resource id of the node, or the commandId"),
        MenuItem("p", "path", "path", "Its position in the tree, such as 0/2/1"),
        MenuItem("b", "bounds", "bounds", "[left,top][right,bottom]"),
        MenuItem("n", "node", "node XML", "This node with its subtree, as in the dump"),
        MenuItem("x", "snapshot", "snapshot XML", "The whole dump"),
        MenuItem("l", "line", "line", "This row as text, or the raw line"),
        MenuItem("exclamation_mark", "notice", "last notice", "The last notice with its code"),
    ),
    "export": (
        MenuItem("s", "shown", "visible rows", "The rows of this view after filtering"),
        MenuItem("r", "ring", "whole buffer", "Every log line in the buffer"),
        MenuItem("e", "execution", "this execution", "With its steps, envelope and log lines"),
        MenuItem("f", "file", "visible rows to…", "The rows of this view, to a file that you name"),
    ),
    "go": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("d", "devices", "devices", "The devices pane"),
        MenuItem("h", "doctor", "doctor", "The doctor pane"),
        MenuItem("t", "tree", "tree", "The tree"),
        MenuItem("n", "node", "node", "The attributes of the node"),
        MenuItem("w", "bench", "workbench", "Candidates, matcher, why it does not match"),
        MenuItem("s", "stream", "stream", "The stream"),
        MenuItem("p", "parent", "parent", "The parent of this node"),
        MenuItem("m", "match", "first match", "The node that the device takes for this matcher"),
        MenuItem("l", "steps", "steps", "The steps of the draft"),
        MenuItem("e", "json", "JSON", "The draft as JSON"),
        MenuItem("o", "problems", "problems", "Problems of the draft"),
        MenuItem("r", "timeline", "last run", "The last run of the draft"),
        MenuItem("f", "fixes", "fix log", "Fixes that ran, with their output"),
    ),
    "go_devices": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("d", "devices", "devices", "Devices and virtual devices"),
        MenuItem("n", "node", "card", "Details of the selected device"),
        MenuItem("p", "job", "progress", "The running or last job, with the tool output"),
    ),
    "go_skills": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "skills", "skills", "The list of skills"),
        MenuItem("n", "card", "card", "Details of the selected skill"),
        MenuItem("o", "output", "output", "Output of the running or last skill"),
        MenuItem("l", "lint", "lint", "Lint findings"),
    ),
    "go_stream": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "stream", "stream", "Executions or log lines"),
        MenuItem("n", "detail", "detail", "Details of the execution"),
    ),
    "go_history": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "runs", "runs", "Past runs"),
        MenuItem("n", "run", "run", "Details of the run"),
        MenuItem("t", "tree", "tree", "The tree at the selected event"),
    ),
}
