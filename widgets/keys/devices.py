"""Keys of devices, virtual devices and the Operator setup."""

from __future__ import annotations

from clawperator.widgets.keys.table import KeyScope, key

# fmt: off
SCOPES: dict[str, KeyScope] = {
    "devices": KeyScope("Devices", (
        key("devices.use", "enter", "choose", "use", "Use this device in the console", show=True, display="⏎"),
    )),
    "emulators": KeyScope("Devices", (
        key("emulators.provision", "P", "provision", "provision", "Start or create a supported virtual device, after showing the plan; while it runs: show progress", show=True),
        key("emulators.start_stop", "S", "start_stop", "start/stop", "Start the selected virtual device; stop it after confirmation", show=True),
        key("emulators.grid", "t", "grid", "grid", "All devices as tiles: app, last step, screen and its age", show=True),
        key("emulators.cancel", "C", "cancel_job", "cancel", "Cancel the running job and report what it left behind", show=True),
        key("emulators.pair", "W", "pair", "pair phone", "Pair a phone over Wi-Fi with a QR code, and connect", show=True),
        key("emulators.setup", "o", "operator_setup", "operator", "Set up the Operator app on the selected device", show=True),
        key("emulators.create", "n", "create_avd", "new", "Create a virtual device", show=True),
        key("emulators.delete", "delete", "delete_avd", "delete", "Delete the selected virtual device after you type its name", show=True, display="del"),
        key("emulators.refresh", "r", "look_again", "refresh", "Refresh the list of virtual devices"),
        key("emulators.next_problem", "right_square_bracket", "problem(1)", "next problem", "Next row that needs attention", display="]"),
        key("emulators.previous_problem", "left_square_bracket", "problem(-1)", "previous problem", "Previous row that needs attention", display="["),
    )),
    "grid": KeyScope("All devices", (
        key("grid.choose", "enter", "choose", "go to", "Use this device in Inspect; one that is not usable: show it in Devices", show=True, display="⏎"),
        key("grid.left", "h,left", "move(-1, 0)", "left", "Previous device", display="h ←"),
        key("grid.down", "j,down", "move(0, 1)", "down", "The device below", display="j ↓"),
        key("grid.up", "k,up", "move(0, -1)", "up", "The device above", display="k ↑"),
        key("grid.right", "l,right", "move(1, 0)", "right", "Next device", display="l →"),
        key("grid.page_down", "pagedown,ctrl+f", "page(1)", "page down", "One page down", display="PgDn"),
        key("grid.page_up", "pageup,ctrl+b", "page(-1)", "page up", "One page up", display="PgUp"),
        key("grid.top", "home", "end(0)", "first", "First device", display="Home"),
        key("grid.bottom", "end,G", "end(-1)", "last", "Last device", display="End G"),
    )),
    "grid_dialog": KeyScope("All devices", (
        key("grid_dialog.read", "r", "read", "read", "Read the screen of this device once", show=True),
        key("grid_dialog.find", "slash", "find", "find", "Show only devices with this in name, app or last step", show=True, display="/"),
    )),
    "job": KeyScope("Progress", (
        key("job.fold", "space", "fold", "output", "Show or hide the tool output of this stage", show=True, display="␣"),
        key("job.fold_all", "minus", "fold_all", "fold all", "Hide all output; again: restore", display="-"),
        key("job.next_failure", "right_square_bracket", "attention(1)", "next failure", "Next failed stage", display="]"),
        key("job.previous_failure", "left_square_bracket", "attention(-1)", "previous failure", "Previous failed stage", display="["),
    )),
    "setup": KeyScope("Operator setup", (
        key("setup.install", "enter", "choose", "install", "Install this file and grant its permissions; on the last row: enter a path", show=True, display="⏎"),
        key("setup.cancel", "C", "cancel_setup", "cancel", "Cancel the running setup", show=True),
        key("setup.refresh", "r", "look_again", "refresh", "Read the device and the downloads folder again", show=True),
    )),
}
