"""The keys of devices, virtual devices and the Operator's setup."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "devices": KeyScope("Devices", (
        key("devices.use", "enter", "choose", "use", "Make this the device of the console", show=True, display="⏎"),
    )),
    "emulators": KeyScope("Devices", (
        key("emulators.provision", "P", "provision", "provision", "Get a running virtual device, after a look at the plan; while that runs: show it", show=True),
        key("emulators.start_stop", "S", "start_stop", "start/stop", "Start the virtual device under the cursor, or stop it after asking", show=True),
        key("emulators.cancel", "C", "cancel_job", "cancel", "Cancel what is at work, and say what it left behind", show=True),
        key("emulators.setup", "o", "operator_setup", "operator", "Set up the Operator app on the device under the cursor", show=True),
        key("emulators.create", "n", "create_avd", "new", "Create a virtual device", show=True),
        key("emulators.delete", "delete", "delete_avd", "delete", "Delete the virtual device under the cursor, after its name was typed", show=True, display="del"),
        key("emulators.refresh", "r", "look_again", "look again", "Ask again which virtual devices there are, and what runs"),
        key("emulators.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next row that needs attention", display="]"),
        key("emulators.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Row before that needs attention", display="["),
    )),
    "job": KeyScope("At work", (
        key("job.fold", "space", "fold", "output", "Show or hide what the tool said in this stage", show=True, display="␣"),
        key("job.fold_all", "minus", "fold_all", "fold all", "Hide all output; again: as it was", display="-"),
        key("job.next_failure", "right_square_bracket", "attention(1)", "next failure", "Stage that failed", display="]"),
        key("job.previous_failure", "left_square_bracket", "attention(-1)", "previous failure", "Stage before that failed", display="["),
    )),
    "setup": KeyScope("Operator setup", (
        key("setup.install", "enter", "choose", "install", "Install this file and grant what it needs; on the last row: name a file", show=True, display="⏎"),
        key("setup.cancel", "C", "cancel_setup", "cancel", "Cancel the setup that runs", show=True),
        key("setup.refresh", "r", "look_again", "look again", "Ask the device and the downloads folder again", show=True),
    )),
}
