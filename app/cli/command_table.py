"""Every command: its words, its class, and one line about it. ``command.load`` imports the module of the one that is called."""

from __future__ import annotations

from clawperator.engine.verbs import READS
from clawperator.engine.verbs.catalogue import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def _verb(handler: str, name: str) -> tuple[str, str]:
    """Return the row of a command with a class of its own for a verb of the catalogue."""
    return handler, VERBS[name].summary


COMMANDS: dict[str, tuple[str, str]] = {
    "devices": ("devices:Devices", "List the devices that adb reports, in any state"),
    "devices pair": ("wireless:Pair", "Pair with a device over Wi-Fi, using a code or a QR code"),
    "devices connect": ("wireless:Connect", "Connect to a device over the network"),
    "devices disconnect": ("wireless:Disconnect", "Disconnect network devices"),
    "packages list": ("packages:ListPackages", "List the application ids installed on a device"),
    "apps": ("device:Apps", "List the apps that can be opened, with their labels"),
    "execute": ("execute:Execute", "Run one execution payload on a device"),
    "execute best-effort": ("execute:BestEffort", "Reserved for goals without a plan (not implemented)"),
    "observe snapshot": ("observe:Snapshot", "Read the UI tree of the screen"),
    "observe screenshot": ("observe:Screenshot", "Take a screenshot"),
    "inspect ui": ("observe:Snapshot", "Read the UI tree of the screen (the same as observe snapshot)"),
    "match": ("trees:Match", "Show which nodes a selector matches, on the device or in a dump"),
    "suggest": ("trees:Suggest", "Rank the selectors that match a node"),
    "diff": ("trees:Diff", "Compare two saved dumps"),
    "action open-app": ("action:OpenApp", "Open an app by its application id"),
    "action open-uri": ("action:OpenUri", "Open a URI with the app that handles it"),
    "action click": _verb("action:Click", "click"),
    "action read": _verb("action:Read", "read_text"),
    "action wait": _verb("action:Wait", "wait_for_node"),
    "action type": _verb("action:Type", "enter_text"),
    "action press-key": _verb("action:PressKey", "press_key"),
    "action scroll": _verb("action:Scroll", "scroll"),
    "action scroll-until": _verb("action:ScrollUntil", "scroll_until"),
    "action scroll-and-click": _verb("action:ScrollAndClick", "scroll_and_click"),
    "set": ("verbs:Set", "Switch a node on or off, or set a field's text, only if it differs, and verify"),
    "submit": _verb("verbs:Submit", "submit"),
    "input key": _verb("verbs:InputKey", "input_key"),
    "input text": _verb("verbs:InputText", "input_text"),
    "input tap": _verb("verbs:InputTap", "input_tap"),
    "input long-press": _verb("verbs:InputLongPress", "input_long_press"),
    "input swipe": _verb("verbs:InputSwipe", "input_swipe"),
    "input drag": _verb("verbs:InputDrag", "input_drag"),
    "app install": _verb("device:AppInstall", "app_install"),
    "app uninstall": _verb("device:AppUninstall", "app_uninstall"),
    "app clear": _verb("device:AppClear", "app_clear"),
    "app start": ("flat:Open", "Open an app or a URI (the same as open)"),
    "app stop": ("flat:Close", "Stop an app (the same as close)"),
    "app current": ("device:AppCurrent", "Show the app in front"),
    "app permissions": ("device:AppPermissions", "Grant an app a permission, or revoke it"),
    "device info": _verb("device:Info", "device_info"),
    "device size": ("device:Size", "Show the size, density and rotation of the screen"),
    "device rotate": _verb("device:Rotate", "device_rotate"),
    "device wake": _verb("device:Wake", "device_wake"),
    "device unlock-hint": ("device:UnlockHint", "Show whether the screen is off or locked, and what to do"),
    "device logs": _verb("device:DeviceLogs", "device_logs"),
    "exec": ("flat:Exec", "Run one execution payload, in the flat profile"),
    **{verb.command: ("verb:VerbCommand", verb.summary) for verb in VERBS.values() if verb.of == "action"},
    "snapshot": ("flat:Snapshot", "Read the UI tree of the screen"),
    "screenshot": ("flat:Screenshot", "Take a screenshot"),
    "click": _verb("flat:Click", "click"),
    "read": _verb("flat:Read", "read_text"),
    "read-value": _verb("flat:ReadValue", "read_key_value_pair"),
    "type": _verb("flat:Type", "enter_text"),
    "wait": _verb("flat:Wait", "wait_for_node"),
    "wait-for-nav": _verb("flat:WaitForNav", "wait_for_navigation"),
    "open": ("flat:Open", "Open an app or a URI"),
    "close": _verb("flat:Close", "close_app"),
    "press": _verb("flat:Press", "press_key"),
    "back": ("flat:Back", "Press back"),
    "scroll": _verb("flat:Scroll", "scroll"),
    "scroll-until": _verb("flat:ScrollUntil", "scroll_until"),
    "scroll-and-click": _verb("flat:ScrollAndClick", "scroll_and_click"),
    "sleep": _verb("flat:Sleep", "sleep"),
    "toast": ("verb:Toast", "Show a short message on the screen, or remove it"),
    "record start": ("recording:Start", "Start recording user actions on the device"),
    "record stop": ("recording:Stop", "Stop the recording"),
    "record pull": ("recording:Pull", "Fetch a recording from the device"),
    "record parse": ("recording:Parse", "Create a step log from a recording"),
    "record draft": ("recording:Draft", "Create a recipe draft from a recording"),
    "record replay": (
        "recording:Replay",
        "Replay a recording step by step, and stop where the screen differs",
    ),
    "skills list": ("skills:List", "List the skills in the registry"),
    "skills get": ("skills:Get", "Show a skill's registry entry"),
    "skills search": ("skills:Search", "Find skills by app, intent or keyword"),
    "skills for-app": ("skills:ForApp", "List the skills for one app"),
    "skills compile-artifact": ("skills_compile:CompileArtifact", "Compile a skill's artifact into an execution"),
    "skills run": ("skills_run:Run", "Run a skill: its script, or one of its artifacts"),
    "skills validate": ("skills:Validate", "Validate the files of one skill or of all skills"),
    "skills lint": ("skills_lint:Lint", "Find personal literals, blocked terms and bad practice in recipes"),
    "skills new": ("skills:New", "Create a new skill"),
    "skills index": ("skills:Index", "Regenerate or check the registry and its indexes"),
    "skills ci": ("skills_lint:Ci", "Run all checks for a skills repository"),
    "skills install": ("skills_sync:Install", "Fetch the skills repository"),
    "skills update": ("skills_sync:Update", "Update the skills repository"),
    "skills sync": ("skills_sync:Sync", "Check out a branch, tag or commit of the skills repository"),
    "policy show": ("policy:Show", "Show the effective policy and its source"),
    "policy check": ("policy:Check", "Check a payload against the policy, without a device"),
    "policy schema": ("schema:PolicySchema", "Print the JSON Schema of the policy file"),
    "watch": ("watch:Watch", "Stream executions and UI trees of a device as JSON Lines"),
    "lock status": ("device:LockStatus", "Show which devices are locked, and by which process"),
    "history list": ("history:ListRuns", "List recorded runs, newest first"),
    "history show": ("history:Show", "Show one run: payload, steps, log lines, envelope, UI trees"),
    "history export": ("history:Export", "Export runs as JSON Lines, or one run as a ZIP file"),
    "history audit": ("history:Audit", "List requests to devices, their callers and their outcomes"),
    "history prune": ("history:Prune", "Delete old runs"),
    "doctor": ("doctor:Doctor", "Check host, device and Operator app, and suggest fixes"),
    "operator setup": ("operator:Setup", "Install the Operator app, grant its permissions and verify it"),
    "operator install": ("operator:Setup", "Install the Operator app (the same as operator setup)"),
    "operator fetch": ("operator:Fetch", "Copy or download the Operator APK and verify its digest"),
    "operator status": ("operator:Status", "Show the Operator app's version, permissions and service state"),
    "operator crash-log": ("operator:CrashLog", "Show crash reports of the Operator app from the device"),
    "grant-device-permissions": ("operator:Grant", "Grant the Operator app's permissions again"),
    "emulator list": ("emulator:ListAvds", "List the virtual devices on this computer and whether they are supported"),
    "emulator inspect": ("emulator:Inspect", "Show one virtual device and whether it is supported"),
    "emulator create": ("emulator:Create", "Create a virtual device, and install its system image if needed"),
    "emulator start": ("emulator:Start", "Start a virtual device and wait until it has booted"),
    "emulator stop": ("emulator:Stop", "Stop a running virtual device"),
    "emulator delete": ("emulator:Delete", "Delete a virtual device"),
    "emulator status": ("emulator:Status", "List running virtual devices"),
    "emulator provision": ("emulator:Provision", "Reuse, start or create a supported virtual device"),
    "provision emulator": (
        "emulator:Provision",
        "Reuse, start or create a virtual device (the same as emulator provision)",
    ),
    "version": ("version:Version", "Print versions, or check host and Operator app compatibility"),
    "schema": ("schema:Schema", "Print the JSON Schema of a contract"),
    "config path": ("config:ConfigPath", "Show the paths of settings, themes, history, drafts and locks"),
    "config show": ("config:ConfigShow", "Show every setting and its source: flag, environment, file or default"),
    "config check": ("config:ConfigCheck", "Validate the settings file"),
    "config schema": ("schema:SettingsSchema", "Print the JSON Schema of the settings file"),
    "logs": ("logs:Logs", "Print today's log file and follow it"),
    "report": ("report:Report", "Create a bug report bundle without private data"),
    "serve": ("servers:Serve", "Start the HTTP server with server-sent events"),
    "mcp": ("servers:Mcp", "Start the MCP server for agents"),
    "fleet join": ("fleet:Join", "Offer the devices of this host to a fleet of hosts, through NATS"),
    "fleet devices": ("fleet:Devices", "List the devices that the hosts of a fleet offer"),
    "console": ("console:Console", "Open the console (the default on a terminal)"),
    "demo": ("demo:Demo", "Try Clawperator on a simulated device, without a phone or adb"),
    "sim": ("sim:Sim", "Run simulated devices for any adb client"),
    "sim reset": ("device:Reset", "Put a simulated device back into the state in which it started"),
    "warm start": ("warm:Start", "Keep a loaded process, so that commands start at once"),
    "warm stop": ("warm:Stop", "Stop the warm process"),
    "warm status": ("warm:Status", "Show whether a warm process runs, and for how long"),
    "completion": ("completion:Completion", "Print a shell's completion script"),
    "guide": ("help:Guide", "Show the loop for agents on one page"),
    "explain": ("help:Explain", "Explain an error code (the same as help errors)"),
    "help": ("help:Help", "Show help for a command"),
}
"""Command words → (``module:class`` under ``commands``, summary), in the order of the help text."""
for _other in (verb for verb in VERBS.values() if verb.also):
    _handler, _summary = COMMANDS[_other.command]
    COMMANDS[_other.command] = _handler, f"{_summary} (also: {', '.join(_other.also)})"


_reading: dict[str, bool] = {}
"""First words of the catalogue's commands → whether they only read."""
for _other in VERBS.values():
    if COMMANDS.get(_other.command, ("",))[0] == "verb:VerbCommand":
        _first = _other.command.partition(" ")[0]
        _reading[_first] = _reading.get(_first, True) and _other.does == READS

SECTIONS: dict[str, tuple[str, ...]] = {
    "Observe": ("snapshot", "screenshot", "read", "read-value", "wait", "wait-for-nav", "match", "suggest", "diff", "watch", *(first for first, reads in _reading.items() if reads)),
    "Act": (
        *("open", "close", "click", "type", "press", "back", "scroll", "scroll-until", "scroll-and-click", "set", "submit"),
        *("sleep", "execute", "input", "record", "toast", *(first for first, reads in _reading.items() if not reads)),
    ),
    "Devices": ("devices", "apps", "doctor", "device", "app", "packages", "lock", "emulator", "operator"),
    "Skills and history": ("skills", "history", "logs", "report"),
    "Console and servers": ("console", "serve", "mcp", "fleet"),
    "Settings and development": (
        *("demo", "guide", "help", "explain", "completion", "version", "schema", "policy", "config", "sim", "warm"),
    ),
}  # fmt: skip
"""Sections of the help → first words of commands. Those in no section are other forms of the same, for scripts that use them."""

SHOWN = (
    *("snapshot", "screenshot", "read", "wait", "match", "suggest"),
    *("open", "click", "type", "press", "scroll", "set", "execute"),
    *("devices", "apps", "doctor", "operator setup"),
    *("skills list", "skills run", "history list", "report", "console", "serve", "mcp", "demo", "guide"),
)  # fmt: skip
"""Commands with a row in the full help, which names the others."""


_SECOND: dict[str, list[str]] = {}
for _words in COMMANDS:
    _first, _, _rest = _words.partition(" ")
    _SECOND.setdefault(_first, []).extend([_rest] if _rest else ())


def subcommands(group: str) -> Iterator[str]:
    """Yield the second words of a group, in table order."""
    yield from _SECOND.get(group, ())


def first_words() -> list[str]:
    """Return every first word of a command once, in table order."""
    return [*_SECOND]


GROUPS: dict[str, str] = {
    **{first: f"{first} {'|'.join(second)} [options]" for first, second in _SECOND.items() if first not in COMMANDS},
    "packages": "packages list [--third-party]",
    "lock": "lock status [--device-id <serial>]",
    "fleet": "fleet join|devices <nats://host:port> [options]",
}
"""Words that require a second one → the form that USAGE errors quote."""


def other_forms() -> list[str]:
    """Return the commands that are in no section of the help."""
    known = {word for words in SECTIONS.values() for word in words}
    return [words for words in COMMANDS if words.partition(" ")[0] not in known]
