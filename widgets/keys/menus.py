"""The prefix menus: the second keys of ``a``, ``i``, ``y`` and ``g``."""

from __future__ import annotations

from clawperator.widgets.keys.table import MenuItem

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
    "stop": (
        MenuItem("k", "keep", "keep waiting", "The result is shown when it comes"),
        MenuItem("s", "stop", "stop waiting", "The device goes on; a late result is shown"),
        MenuItem("F", "force_stop", "stop and force-stop", "Stop waiting, and end the app that the plan works in"),
    ),
    "two_drafts": (
        MenuItem("k", "later", "decide later", "Nothing is written until then"),
        MenuItem("l", "load", "load the other", "This draft is put away; u brings it back"),
        MenuItem("o", "overwrite", "overwrite it", "This draft replaces what the other console wrote"),
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
    "export": (
        MenuItem("s", "shown", "what is shown", "The rows of this view, as the filter leaves them"),
        MenuItem("r", "ring", "the whole ring", "Every log line that is kept"),
        MenuItem("e", "execution", "this execution", "With its steps, its envelope and its log lines"),
        MenuItem("f", "file", "what is shown, to…", "The rows of this view, to a file of your choice"),
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
        MenuItem("l", "steps", "steps", "The steps of the draft"),
        MenuItem("e", "json", "JSON", "The draft as JSON"),
        MenuItem("o", "problems", "problems", "What is wrong with the draft"),
        MenuItem("r", "timeline", "timeline", "The last run of the draft"),
        MenuItem("f", "fixes", "fix log", "What fixes ran, and what they said"),
    ),
    "go_devices": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("d", "devices", "devices", "Devices and virtual devices"),
        MenuItem("n", "node", "card", "The device under the cursor in full"),
        MenuItem("p", "job", "progress", "What is at work, or was last, with what the tools said"),
    ),
    "go_skills": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "skills", "skills", "The list of skills"),
        MenuItem("n", "card", "card", "The skill under the cursor in full"),
        MenuItem("o", "output", "output", "What the skill that runs, or ran last, prints"),
        MenuItem("l", "lint", "lint", "What lint found"),
    ),
    "go_stream": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "stream", "stream", "The executions, or the log"),
        MenuItem("n", "detail", "detail", "The execution in full"),
    ),
    "go_history": (
        MenuItem("g", "top", "top", "First row"),
        MenuItem("s", "runs", "runs", "The list of past runs"),
        MenuItem("n", "run", "run", "The run in full"),
        MenuItem("t", "tree", "tree", "The tree of the moment"),
    ),
}
