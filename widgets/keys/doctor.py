"""Keys of the doctor."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "checks": KeyScope("Doctor", (
        key("checks.fix", "F", "fix", "fix", "Fix this check after showing the commands; without a fix of its own: fix all that can be fixed", show=True),
        key("checks.setup", "o", "app.operator_setup", "operator", "Set up the Operator app on this device", show=True),
        key("checks.stop", "C", "stop_checks", "stop", "Stop the running checks or fix", show=True),
        key("checks.again", "v", "check_again", "recheck", "Run only this check again", show=True),
        key("checks.watch", "w", "watch", "watch", "Run the checks whenever a device connects, disconnects or changes; again: stop watching", show=True),
        key("checks.full", "f", "full_run", "full run", "Run all checks, then build, install and start the app and run the smoke test"),
        key("checks.run", "r", "run_doctor", "run again", "Run the checks again"),
        key("checks.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next check that does not pass", display="]"),
        key("checks.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous check that does not pass", display="["),
    )),
    "doctor": KeyScope("Doctor", (
        key("doctor.run", "r", "run_doctor", "run again", "Run the checks again", show=True),
        key("doctor.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next check that does not pass", show=True, display="]"),
        key("doctor.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous check that does not pass", display="["),
        key("doctor.open", "enter", "choose", "open", "Show this check in full: meaning, fix, evidence", show=True, display="⏎"),
    )),
}
