"""Keys of mode 3: the draft as steps and as JSON, and its run."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "editor": KeyScope("JSON", (
        key("editor.leave", "escape", "leave", "steps", "Close the completions; else back to the steps", show=True, display="esc"),
        key("editor.complete", "ctrl+@,ctrl+space,ctrl+l", "complete", "complete", "Completions for keys, values and types; ⏎ or ⇥ inserts one", show=True, display="^space"),
        key("editor.newline", "enter", "newline", "new line", "New line with the same indentation", display="⏎"),
        key("editor.undo", "ctrl+z", "undo", "undo", "Undo the last edit", show=True, display="^z"),
        key("editor.redo", "ctrl+y", "redo", "redo", "Redo the last undone edit", display="^y"),
        key("editor.up", "up", "cursor_up", "up", "One line up", display="↑"),
        key("editor.down", "down", "cursor_down", "down", "One line down", display="↓"),
        key("editor.left", "left", "cursor_left", "left", "One character to the left", display="←"),
        key("editor.right", "right", "cursor_right", "right", "One character to the right", display="→"),
        key("editor.word_left", "ctrl+left", "cursor_word_left", "word left", "Previous word", display="^←"),
        key("editor.word_right", "ctrl+right", "cursor_word_right", "word right", "Next word", display="^→"),
        key("editor.line_start", "home,ctrl+a", "cursor_line_start", "line start", "Start of the line", display="Home"),
        key("editor.line_end", "end,ctrl+e", "cursor_line_end", "line end", "End of the line", display="End"),
        key("editor.page_up", "pageup", "cursor_page_up", "page up", "One page up", display="PgUp"),
        key("editor.page_down", "pagedown", "cursor_page_down", "page down", "One page down", display="PgDn"),
        key("editor.select_up", "shift+up", "cursor_up(True)", "select up", "Select to the line above", display="⇧↑"),
        key("editor.select_down", "shift+down", "cursor_down(True)", "select down", "Select to the line below", display="⇧↓"),
        key("editor.select_left", "shift+left", "cursor_left(True)", "select left", "Select the previous character", display="⇧←"),
        key("editor.select_right", "shift+right", "cursor_right(True)", "select right", "Select the next character", display="⇧→"),
        key("editor.select_start", "shift+home", "cursor_line_start(True)", "select start", "Select to the start of the line", display="⇧Home"),
        key("editor.select_end", "shift+end", "cursor_line_end(True)", "select end", "Select to the end of the line", display="⇧End"),
        key("editor.select_all", "f7", "select_all", "select all", "Select the whole text", display="F7"),
        key("editor.delete_left", "backspace", "delete_left", "delete left", "Delete the previous character or the selection", display="⌫"),
        key("editor.delete_right", "delete,ctrl+d", "delete_right", "delete", "Delete the next character or the selection", display="del"),
        key("editor.delete_line_start", "ctrl+u", "delete_to_start_of_line", "delete to start", "Delete to the start of the line", display="^u"),
        key("editor.delete_line", "ctrl+k", "delete_to_end_of_line_or_delete_line", "delete to end", "Delete to the end of the line", display="^k"),
        key("editor.copy", "ctrl+c", "copy", "copy", "Copy the selection", display="^c"),
        key("editor.cut", "ctrl+x", "cut", "cut", "Cut the selection", display="^x"),
        key("editor.paste", "ctrl+v", "paste", "paste", "Paste the last copied text", display="^v"),
    )),
    "steps": KeyScope("Run", (
        key("steps.change", "enter", "choose", "change", "Change this step by form", show=True, display="⏎"),
    )),
    "run": KeyScope("Run", (
        key("run.run", "R,ctrl+r", "run_draft", "run", "Run the draft on the device, after showing what is sent", show=True),
        key("run.add", "i", "add_menu", "add step", "Add a step after this one: choose its type, then fill in its form", show=True),
        key("run.edit", "e", "edit_text", "edit JSON", "Edit the draft as JSON", show=True),
        key("run.payload", "v", "payload", "payload", "The payload as it would be sent, with the difference to the draft", show=True),
        key("run.next_problem", "right_square_bracket,ctrl+g", "problem(1)", "next problem", "Next problem", show=True, display="]"),
        key("run.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous problem", display="["),
        key("run.again", "r", "try_again", "try again", "Send again after the device was busy"),
        key("run.stop", "C", "stop_waiting", "stop waiting", "Stop waiting for the result; the device continues", show=True),
        key("run.compare", "c", "compare", "compare", "Compare the last run with the run that it repeats"),
        key("run.save", "ctrl+s", "save_draft", "save", "Save the draft as a payload file", show=True, display="^s"),
        key("run.save_as", "S", "save_draft_as", "save as", "Save the draft under another name"),
        key("run.new", "n", "new_draft", "new", "Begin an empty draft; the old one stays among the recent drafts"),
        key("run.open", "o", "open_draft", "open", "Open a payload file as the draft"),
        key("run.recent", "O", "recent_drafts", "recent", "Recent drafts and payload files"),
        key("run.editor", "E", "external_editor", "$EDITOR", "Edit the payload in $EDITOR"),
        key("run.undo", "u", "undo", "undo", "Undo the last change", show=True),
        key("run.delete", "delete,backspace", "delete_step", "delete", "Delete this step", show=True, display="del"),
        key("run.up", "less_than_sign", "move_step(-1)", "move up", "Move this step up", display="<"),
        key("run.down", "greater_than_sign", "move_step(1)", "move down", "Move this step down", display=">"),
    )),
}
