"""Keys of the skills."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "skills": KeyScope("Skills", (
        key("skills.run", "R", "run_skill", "run", "Run the selected skill, after asking for its inputs", show=True),
        key("skills.find", "slash", "find", "search", "Search: words in id, summary, app and keywords", show=True, display="/"),
        key("skills.insert", "i", "insert_skill", "to draft", "Compile an artifact, show the plan and make it the draft", show=True),
        key("skills.edit", "E", "edit_skill", "$EDITOR", "Edit the recipe, SKILL.md or the file of the selected finding in $EDITOR"),
        key("skills.lint", "v", "lint_skill", "lint", "Check its files with the linter", show=True),
        key("skills.cancel", "C", "cancel_skill", "cancel", "Stop the running skill with its processes, or the sync", show=True),
        key("skills.view", "t", "view", "view", "Output or lint in the third pane", show=True),
        key("skills.sync", "U", "sync_skills", "sync", "Fetch skills from the repository, after asking for the ref", show=True),
        key("skills.refresh", "r", "look_again", "refresh", "Read the registry and the skill's files again"),
        key("skills.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next failed skill, finding or marked line", display="]"),
        key("skills.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous failed skill, finding or marked line", display="["),
    )),
    "skill_list": KeyScope("Skills", (
        key("skill_list.open", "enter", "choose", "card", "Details of this skill", show=True, display="⏎"),
    )),
    "skill_form": KeyScope("Dialog", (
        key("skill_form.close", "escape", "close", "back", "Close without running", show=True, display="esc"),
    )),
    "skill_output": KeyScope("Output", (
        key("skill_output.follow", "f", "follow", "follow", "Jump to the newest line and follow", show=True),
    )),
}
