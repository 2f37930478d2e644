"""Keys that work everywhere: moving, panes, modes."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "pane": KeyScope("Navigation", (
        key("pane.choose", "enter", "choose", "open", "Open", show=True, display="⏎"),
        key("pane.down", "j,down", "move(1)", "down", "One row down", display="j ↓"),
        key("pane.up", "k,up", "move(-1)", "up", "One row up", display="k ↑"),
        key("pane.half_down", "ctrl+d", "page(0.5)", "half page down", "Half a page down"),
        key("pane.half_up", "ctrl+u", "page(-0.5)", "half page up", "Half a page up"),
        key("pane.page_down", "pagedown,ctrl+f", "page(1)", "page down", "One page down", display="PgDn"),
        key("pane.page_up", "pageup,ctrl+b", "page(-1)", "page up", "One page up", display="PgUp"),
        key("pane.top", "home", "top", "top", "First row", display="Home g g"),
        key("pane.bottom", "end,G", "bottom", "bottom", "Last row", display="End G"),
    )),
    "screen": KeyScope("Everywhere", (
        key("screen.copy", "y", "copy_menu", "copy", "Copy from the selected row", show=True),
        key("screen.go", "g", "go_menu", "go", "Go to a pane, the first row or the parent", show=True),
        key("screen.zoom", "z", "zoom", "zoom", "Show only this pane, or all panes again", show=True),
        key("screen.narrower", "left_curly_bracket", "share(-1)", "narrower", "Make this pane smaller", display="{"),
        key("screen.wider", "right_curly_bracket", "share(1)", "wider", "Make this pane larger", display="}"),
        key("screen.next_pane", "tab", "app.focus_next", "next pane", "Next pane", display="⇥"),
        key("screen.previous_pane", "shift+tab", "app.focus_previous", "previous pane", "Previous pane", display="⇧⇥"),
        key("screen.escape", "escape", "escape", "back", "Leave the field, close the drawer, clear search and marks", display="esc"),
    )),
    "app": KeyScope("Everywhere", (
        key("app.device", "D", "choose_device", "device", "Choose the device", show=True),
        key("app.palette", "colon,ctrl+p", "command_palette", "palette", "Every command by name", show=True, display=":"),
        key("app.backend", "B", "choose_backend", "backend", "Reach the device through the Operator app, or without one"),
        key("app.inspect", "1", "mode('inspect')", "Inspect", "The screen of the device as a tree"),
        key("app.stream", "2", "mode('stream')", "Stream", "Live executions and log"),
        key("app.run", "3", "mode('run')", "Run", "The draft: write, validate and run it"),
        key("app.history", "4", "mode('history')", "History", "Past runs with their timelines"),
        key("app.skills", "5", "mode('skills')", "Skills", "Search, read, lint and run skills"),
        key("app.doctor", "6", "mode('doctor')", "Doctor", "Check the setup of host and device"),
        key("app.devices", "7", "mode('devices')", "Devices", "Devices and virtual devices"),
        key("app.record", "I", "record", "record", "Record: each action that succeeds becomes a step of the draft, with a wait for its effect; again: stop"),
        key("app.notices", "exclamation_mark", "notices", "notices", "Notices of this session", display="!"),
        key("app.back", "q", "leave_mode", "back", "Previous mode; from Inspect: quit"),
        key("app.quit", "ctrl+q", "quit", "quit", "Quit the console"),
        key("app.suspend", "ctrl+z", "suspend_process", "suspend", "Suspend to the shell; fg resumes"),
        key("app.help", "question_mark", "help", "keys", "Keys of the focused pane", show=True, display="?"),
    )),
}
