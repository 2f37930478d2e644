"""The keys of mode 1: the tree, the node and the workbench."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "node": KeyScope("Node", (
        key("node.copy_value", "enter", "copy_value", "copy value", "Copy the value of this row", show=True, display="⏎"),
        key("node.use", "plus", "use_field", "into matcher", "Put this value into the matcher", show=True, display="+"),
    )),
    "bench": KeyScope("Workbench", (
        key("bench.choose", "enter", "choose", "use", "Use this candidate, edit this field, go to this node", show=True, display="⏎"),
        key("bench.explain", "question_mark", "explain", "why", "Why this candidate ranks here", show=True, display="?"),
        key("bench.clear_field", "delete,backspace", "clear_field", "empty field", "Empty this field of the matcher", display="del"),
        key("bench.next_match", "n", "screen.match(1)", "next match", "Next node that the matcher finds"),
        key("bench.previous_match", "N", "screen.match(-1)", "previous match", "Node before that the matcher finds"),
    )),
    "inspect": KeyScope("Inspect", (
        key("inspect.find", "slash", "find", "find", 'Find nodes: words, #id, @flag, "exact"; tab hides the others', show=True, display="/"),
        key("inspect.matcher", "m", "matcher", "matcher", "Write a matcher and watch it match", show=True),
        key("inspect.act", "a", "act_menu", "act", "Tap, type, read, wait, scroll: with this matcher", show=True),
        key("inspect.insert", "i", "insert_menu", "step", "Append a step to the draft", show=True),
        key("inspect.follow", "f", "follow", "follow", "Keep reading the screen while it changes", show=True),
        key("inspect.snapshot", "r", "snapshot", "snapshot", "Read the screen now", show=True),
        key("inspect.verify", "v", "verify", "verify", "Ask the device whether it finds the node; changes nothing"),
        key("inspect.filter", "backslash", "filter_menu", "filter", "Show only what can be clicked, has text, scrolls …", show=True, display="\\"),
        key("inspect.bench", "w", "bench", "workbench", "Show or hide the workbench"),
        key("inspect.picture", "s", "picture", "screen", "Screen pane: bounds map, picture, off", show=True),
        key("inspect.compare", "c", "compare", "compare", "Compare with an older tree; again: stop comparing"),
        key("inspect.older", "comma", "older", "older tree", "An older snapshot of this device", display=","),
        key("inspect.newer", "full_stop", "newer", "newer tree", "A newer snapshot; at the end back to live", display="."),
    )),
    "tree": KeyScope("Tree", (
        key("tree.bench", "enter", "choose", "bench", "To the workbench for this node", show=True, display="⏎"),
        key("tree.view", "t", "view", "view", "Compact, all nodes, or targets only", show=True),
        key("tree.fold", "space", "fold", "fold", "Fold or unfold this node", show=True, display="␣"),
        key("tree.in", "l,right", "unfold", "unfold", "Unfold, or go to the first child", display="l →"),
        key("tree.out", "h,left", "fold_or_parent", "fold", "Fold, or go to the parent", display="h ←"),
        key("tree.unfold_all", "asterisk", "unfold_subtree", "unfold subtree", "Unfold everything below", display="*"),
        key("tree.fold_all", "minus", "fold_others", "fold others", "Fold all but the way to this node", display="-"),
        key("tree.next_sibling", "J", "sibling(1)", "next sibling", "Next node of the same parent"),
        key("tree.previous_sibling", "K", "sibling(-1)", "previous sibling", "Previous node of the same parent"),
        key("tree.next_hit", "n", "hit(1)", "next hit", "Next node found"),
        key("tree.previous_hit", "N", "hit(-1)", "previous hit", "Previous node found"),
        key("tree.next_change", "right_square_bracket", "change(1)", "next change", "Next node that changed", display="]"),
        key("tree.previous_change", "left_square_bracket", "change(-1)", "previous change", "Previous node that changed", display="["),
    )),
}
