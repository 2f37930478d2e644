"""Keys of the stream."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "stream": KeyScope("Stream", (
        key("stream.fold", "space", "unfold", "lines", "Show or hide the live lines of this execution", show=True, display="␣"),
        key("stream.follow", "f", "follow", "follow", "Follow the newest row", show=True),
        key("stream.pause", "p", "pause", "pause", "Pause the view while lines keep arriving", show=True),
        key("stream.view", "t", "view", "view", "Executions, envelopes, Operator log, device log", show=True),
        key("stream.filter", "slash", "screen.find", "filter", 'Filter: words, "two words", cmd: src: status: code: tag: age:<5m re:/…/, ! for not', show=True, display="/"),
        key("stream.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next row that needs attention, or bookmark", show=True, display="]"),
        key("stream.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous row that needs attention, or bookmark", display="["),
        key("stream.only", "equals_sign", "only", "only this", "Show only the command of this row; again: show all", show=True, display="="),
        key("stream.bookmark", "b", "bookmark", "bookmark", "Bookmark this row; ] and [ stop at bookmarks"),
        key("stream.times", "d", "times", "times", "Time format: clock, since the previous row, since the start"),
        key("stream.export", "x", "screen.export", "export", "Export rows, the whole buffer or this execution to a file"),
        key("stream.rerun", "R", "screen.rerun", "run again", "Run the same payload again, with a new commandId"),
        key("stream.edit", "e", "screen.edit", "edit", "Load the payload into the draft"),
        key("stream.insert", "i", "screen.insert", "to draft", "Add the steps of this run to the draft"),
        key("stream.compare", "c", "screen.compare", "compare", "Compare with the run that this one repeats, or with the previous one of its task"),
        key("stream.right", "l,right", "sideways(1)", "right", "Expand; in a log: scroll right", display="l →"),
        key("stream.left", "h,left", "sideways(-1)", "left", "Collapse; in a log: scroll left", display="h ←"),
    )),
}
