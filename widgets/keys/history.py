"""Keys of mode 4: past runs."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "runs": KeyScope("Runs", (
        key("runs.open", "enter", "choose", "open", "Open this run: steps, log lines and trees over time", show=True, display="⏎"),
        key("runs.mark", "space", "mark", "mark A B", "Mark this run as A, then another as B; again: unmark", show=True, display="␣"),
        key("runs.next_failure", "right_square_bracket", "failure(1)", "next failure", "Next older run that failed", display="]"),
        key("runs.previous_failure", "left_square_bracket", "failure(-1)", "previous failure", "Next newer run that failed", display="["),
    )),
    "history": KeyScope("History", (
        key("history.filter", "slash", "find", "filter", "Filter: words, cmd:, src:, status:, code:, dev:, age:<5m, ! for not", show=True, display="/"),
        key("history.compare", "c", "compare", "compare", "Compare A with B; without marks: with the run that this one repeats", show=True),
        key("history.rerun", "R", "rerun", "run again", "Run the same payload again, with a new commandId", show=True),
        key("history.back", "comma", "moment(-1)", "previous event", "Previous event of this run", show=True, display=","),
        key("history.on", "full_stop", "moment(1)", "next event", "Next event of this run", show=True, display="."),
        key("history.view", "t", "view", "timeline", "Switch between the run as a whole and its timeline", show=True),
        key("history.edit", "e", "edit", "edit", "Load the payload into the draft", show=True),
        key("history.insert", "i", "insert", "to draft", "Add the steps of this run to the draft"),
        key("history.export", "x", "export", "export", "Export this run with its trees to a file", show=True),
        key("history.start", "less_than_sign", "moment_end(-1)", "first event", "First event of this run", display="<"),
        key("history.end", "greater_than_sign", "moment_end(1)", "last event", "Last event of this run", display=">"),
    )),
}
