"""Keys of an execution in full, and of two compared runs."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "detail": KeyScope("Detail", (
        key("detail.next_tab", "l,right", "tab(1)", "next tab", "Steps, trees, envelope, payload, phases, raw", show=True, display="l →"),
        key("detail.fold", "space", "fold", "fold", "Expand or collapse this row", show=True, display="␣"),
        key("detail.next_failure", "right_square_bracket", "attention(1)", "next failure", "Next step that failed", show=True, display="]"),
        key("detail.previous_failure", "left_square_bracket", "attention(-1)", "previous failure", "Previous step that failed", display="["),
        key("detail.explain", "m", "app.explain_failure", "why not", "Why this step found no node: open its matcher in Inspect, on the tree before the failure"),
        key("detail.previous_tab", "h,left", "tab(-1)", "previous tab", "Previous tab", display="h ←"),
        key("detail.fold_all", "minus", "fold_all", "fold all", "Collapse all; again: restore", display="-"),
    )),
    "compare": KeyScope("Compare", (
        key("compare.next_difference", "right_square_bracket", "attention(1)", "next difference", "Next difference", show=True, display="]"),
        key("compare.previous_difference", "left_square_bracket", "attention(-1)", "previous difference", "Previous difference", display="["),
        key("compare.fold", "space", "fold", "fold", "Expand or collapse this section or value", show=True, display="␣"),
        key("compare.fold_all", "minus", "fold_all", "fold all", "Collapse all; again: restore", display="-"),
    )),
}
