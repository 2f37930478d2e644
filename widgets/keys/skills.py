"""The keys of the skills."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "skills": KeyScope("Skills", (
        key("skills.run", "R", "run_skill", "run", "Run the skill under the cursor, after a look at what it is given", show=True),
        key("skills.find", "slash", "find", "search", "Search: words in id, summary, app and keywords", show=True, display="/"),
        key("skills.insert", "i", "insert_skill", "to draft", "Compile one of its artifacts, look at the plan, and make it the draft", show=True),
        key("skills.edit", "E", "edit_skill", "$EDITOR", "Edit the recipe, else SKILL.md, or the file of the finding under the cursor, in the program that EDITOR names"),
        key("skills.lint", "v", "lint_skill", "lint", "Hold its files against the rules", show=True),
        key("skills.cancel", "C", "cancel_skill", "cancel", "Stop the skill that runs, and all that it started; or the sync", show=True),
        key("skills.view", "t", "view", "view", "Output or lint in the third pane", show=True),
        key("skills.sync", "U", "sync_skills", "sync", "Fetch the skills of the repository, after asking for the ref", show=True),
        key("skills.refresh", "r", "look_again", "look again", "Read the registry and the skill's files again"),
        key("skills.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next skill that failed last, finding, or line that means something", display="]"),
        key("skills.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "The one before", display="["),
    )),
    "skill_list": KeyScope("Skills", (
        key("skill_list.open", "enter", "choose", "card", "This skill in full", show=True, display="⏎"),
    )),
    "skill_form": KeyScope("Dialog", (
        key("skill_form.close", "escape", "close", "back", "Run nothing", show=True, display="esc"),
    )),
    "skill_output": KeyScope("Output", (
        key("skill_output.follow", "f", "follow", "follow", "To the newest line, and stay with it", show=True),
    )),
}
