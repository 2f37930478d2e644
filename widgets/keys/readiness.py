"""The keys of the doctor and of the devices."""

from __future__ import annotations

from clawperator.widgets.keys.table import Scope, key

# fmt: off
SCOPES: dict[str, Scope] = {
    "doctor": Scope("Doctor", (
        key("doctor.run", "r", "run_doctor", "run again", "Run the checks again", show=True),
        key("doctor.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next check that does not pass", show=True, display="]"),
        key("doctor.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous check that does not pass", display="["),
    )),
    "devices": Scope("Devices", (
        key("devices.use", "enter", "choose", "use", "Make this the device of the console", show=True, display="⏎"),
    )),
}
