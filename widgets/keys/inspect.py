"""Keys of mode 1: tree, node and workbench."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "node": KeyScope("Node", (
        key("node.copy_value", "enter", "copy_value", "copy value", "Copy the value of this row", show=True, display="⏎"),
        key("node.use", "plus", "use_field", "add to matcher", "Add this value to the matcher", show=True, display="+"),
    )),
    "bench": KeyScope("Workbench", (
        key("bench.choose", "enter", "choose", "use", "Use this candidate, edit this field, or go to this node", show=True, display="⏎"),
        key("bench.explain", "space", "explain", "why", "Show or hide why this candidate ranks here", show=True, display="␣"),
        key("bench.clear_field", "delete,backspace", "clear_field", "clear field", "Clear this field of the matcher", display="del"),
        key("bench.next_match", "n", "screen.match(1)", "next match", "Next match of the matcher"),
        key("bench.previous_match", "N", "screen.match(-1)", "previous match", "Previous match of the matcher"),
    )),
    "inspect": KeyScope("Inspect", (
        key("inspect.pick", "p", "pick_selector", "use selector", "Use this selector in the form of the step that waits for it", show=True),
        key("inspect.find", "slash", "find", "find", 'Find nodes: words, #id, @flag, "exact"; tab hides the others', show=True, display="/"),
        key("inspect.matcher", "m", "matcher", "matcher", "Write a matcher with a live match count", show=True),
        key("inspect.act", "a", "act_menu", "act", "Tap, type, read, wait or scroll with this matcher", show=True),
        key("inspect.insert", "i", "insert_menu", "step", "Add a step to the draft", show=True),
        key("inspect.follow", "f", "follow_screen", "follow", "Follow the screen: read it again while it changes; a shown picture is live", show=True),
        key("inspect.snapshot", "r", "snapshot", "snapshot", "Take a snapshot of the screen now", show=True),
        key("inspect.fix", "F", "fix", "fix", "Fix why the device is not ready, after showing the commands"),
        key("inspect.setup", "o", "app.operator_setup", "operator", "Set up the Operator app on this device"),
        key("inspect.verify", "v", "verify", "verify", "Check on the device that the matcher finds the node; no side effect"),
        key("inspect.filter", "backslash", "filter_menu", "filter", "Show only clickable nodes, nodes with text, scrollable nodes …", show=True, display="\\"),
        key("inspect.bench", "w", "bench", "workbench", "Show or hide the workbench"),
        key("inspect.picture", "s", "picture", "screen", "Screen pane: bounds map, screenshot, off", show=True),
        key("inspect.blind", "b", "blind_spots", "blind spots", "What this tree cannot show, how sure that is, and what could show it"),
        key("inspect.compare", "c", "compare", "compare", "Compare with an older tree, side by side; while comparing: show both sides again. esc stops"),
        key("inspect.older", "comma", "older", "older tree", "Older snapshot of this device", display=","),
        key("inspect.newer", "full_stop", "newer", "newer tree", "Newer snapshot; after the newest: live", display="."),
    )),
    "screen_view": KeyScope("Screen", (
        key("screen_view.tap", "enter", "tap", "tap", "Tap the chosen node on the device, after confirmation", show=True, display="⏎"),
    )),
    "tree": KeyScope("Tree", (
        key("tree.bench", "enter", "choose", "bench", "Open the workbench for this node", show=True, display="⏎"),
        key("tree.view", "t", "view", "view", "Compact, all nodes, or targets only", show=True),
        key("tree.fold", "space", "fold", "fold", "Collapse or expand this node", show=True, display="␣"),
        key("tree.in", "l,right", "unfold", "expand", "Expand, or go to the first child", display="l →"),
        key("tree.out", "h,left", "fold_or_parent", "collapse", "Collapse, or go to the parent", display="h ←"),
        key("tree.unfold_all", "asterisk", "unfold_subtree", "expand subtree", "Expand the subtree", display="*"),
        key("tree.fold_all", "minus", "fold_others", "collapse others", "Collapse all but the path to this node", display="-"),
        key("tree.next_sibling", "J", "sibling(1)", "next sibling", "Next sibling"),
        key("tree.previous_sibling", "K", "sibling(-1)", "previous sibling", "Previous sibling"),
        key("tree.next_hit", "n", "hit(1)", "next hit", "Next hit of the search"),
        key("tree.previous_hit", "N", "hit(-1)", "previous hit", "Previous hit of the search"),
        key("tree.next_change", "right_square_bracket", "change(1)", "next change", "Next node that changed", display="]"),
        key("tree.previous_change", "left_square_bracket", "change(-1)", "previous change", "Previous node that changed", display="["),
    )),
}
