"""The keys of the doctor."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "checks": KeyScope("Doctor", (
        key("checks.fix", "F", "fix", "fix", "Fix this check, after a look at the commands; where it offers none: all that can be fixed", show=True),
        key("checks.stop", "C", "stop_checks", "stop", "Stop the checks, or the fix that runs", show=True),
        key("checks.again", "v", "check_again", "recheck", "Make this check again, and no other", show=True),
        key("checks.watch", "w", "watch", "watch", "Check by itself whenever a device comes, goes or changes; again: stop that", show=True),
        key("checks.full", "f", "full_run", "full run", "All checks and more: build, install and start the app, then the smoke test"),
        key("checks.run", "r", "run_doctor", "run again", "Run the checks again"),
        key("checks.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next check that does not pass", display="]"),
        key("checks.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous check that does not pass", display="["),
    )),
    "doctor": KeyScope("Doctor", (
        key("doctor.run", "r", "run_doctor", "run again", "Run the checks again", show=True),
        key("doctor.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next check that does not pass", show=True, display="]"),
        key("doctor.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous check that does not pass", display="["),
        key("doctor.open", "enter", "choose", "open", "This check in full: what it means, and what to do", show=True, display="⏎"),
    )),
}
