"""Every command: its words, its class, and one line about it. ``command.load`` imports the module of the one that is called."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS: dict[str, tuple[str, str]] = {
    "devices": ("devices:Devices", "List the devices that adb reports, in any state"),
    "devices pair": ("wireless:Pair", "Pair with a device over Wi-Fi, using a code or a QR code"),
    "devices connect": ("wireless:Connect", "Connect to a device over the network"),
    "devices disconnect": ("wireless:Disconnect", "Disconnect network devices"),
    "packages list": ("packages:ListPackages", "List the application ids installed on a device"),
    "execute": ("execute:Execute", "Run one execution payload on a device"),
    "execute best-effort": ("execute:BestEffort", "Reserved for goals without a plan (not implemented)"),
    "observe snapshot": ("observe:Snapshot", "Read the UI tree of the screen"),
    "observe screenshot": ("observe:Screenshot", "Take a screenshot"),
    "inspect ui": ("observe:Snapshot", "Read the UI tree of the screen (the same as observe snapshot)"),
    "match": ("trees:Match", "Show which nodes a selector matches, on the device or in a saved dump"),
    "suggest": ("trees:Suggest", "Rank the selectors that match a node"),
    "diff": ("trees:Diff", "Compare two saved dumps"),
    "action open-app": ("action:OpenApp", "Open an app by its application id"),
    "action open-uri": ("action:OpenUri", "Open a URI with the app that handles it"),
    "action click": ("action:Click", "Click a node or a point on the screen"),
    "action read": ("action:Read", "Read a node's text"),
    "action type": ("action:Type", "Enter text into a field"),
    "action wait": ("action:Wait", "Wait until a node is on screen"),
    "action press-key": ("action:PressKey", "Press back, home or recents"),
    "action scroll": ("action:Scroll", "Scroll once"),
    "action scroll-until": ("action:ScrollUntil", "Scroll until a node is on screen or the end is reached"),
    "action scroll-and-click": ("action:ScrollAndClick", "Scroll to a node and click it"),
    "set": ("verbs:Set", "Switch a node on or off, or set a field's text, only if it differs, and verify"),
    "submit": ("verbs:Submit", "Press Enter in the focused field, and verify that something changed"),
    "input key": ("verbs:InputKey", "Press any key through Android's input"),
    "input text": ("verbs:InputText", "Type into the focused field through Android's input"),
    "input tap": ("verbs:InputTap", "Tap a node or a point through Android's input"),
    "input long-press": ("verbs:InputLongPress", "Hold a node or a point through Android's input"),
    "input swipe": ("verbs:InputSwipe", "Swipe from a node or a point through Android's input"),
    "input drag": ("verbs:InputDrag", "Drag from a node or a point through Android's input"),
    "app install": ("device:AppInstall", "Install or update an app from an APK file"),
    "app uninstall": ("device:AppUninstall", "Uninstall an app"),
    "app clear": ("device:AppClear", "Delete the data of an app"),
    "app start": ("flat:Open", "Open an app or a URI (the same as open)"),
    "app stop": ("flat:Close", "Stop an app (the same as close)"),
    "app current": ("device:AppCurrent", "Show the app in front"),
    "app permissions": ("device:AppPermissions", "Grant an app a permission, or revoke it"),
    "device info": ("device:Info", "Show model, Android version, screen and the app in front"),
    "device size": ("device:Size", "Show the size, density and rotation of the screen"),
    "device rotate": ("device:Rotate", "Fix the rotation of the screen, or leave it to the sensor"),
    "device wake": ("device:Wake", "Switch the screen on"),
    "device unlock-hint": ("device:UnlockHint", "Show whether the screen is off or locked, and what to do"),
    "device logs": ("device:DeviceLogs", "Show the last lines of the device's log"),
    "exec": ("flat:Exec", "Run one execution payload, in the flat profile"),
    "snapshot": ("flat:Snapshot", "Read the UI tree of the screen, in the flat profile"),
    "screenshot": ("flat:Screenshot", "Take a screenshot, in the flat profile"),
    "click": ("flat:Click", "Click a node or a point on the screen (also: tap)"),
    "read": ("flat:Read", "Read a node's text"),
    "read-value": ("flat:ReadValue", "Read the value beside a label (also: read-kv)"),
    "type": ("flat:Type", "Enter text into a field (also: fill)"),
    "wait": ("flat:Wait", "Wait until a node is on screen"),
    "wait-for-nav": ("flat:WaitForNav", "Wait for another app or node (also: wait-for-navigation)"),
    "open": ("flat:Open", "Open an app or a URI (also: open-uri, open-url)"),
    "close": ("flat:Close", "Stop an app (also: close-app)"),
    "press": ("flat:Press", "Press back, home or recents (also: press-key)"),
    "back": ("flat:Back", "Press back"),
    "scroll": ("flat:Scroll", "Scroll once"),
    "scroll-until": ("flat:ScrollUntil", "Scroll until a node is on screen"),
    "scroll-and-click": ("flat:ScrollAndClick", "Scroll to a node and click it, in the flat profile"),
    "sleep": ("flat:Sleep", "Pause on the device"),
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
    "skills install-hook": ("skills_lint:InstallHook", "Install a git hook that rejects personal literals"),
    "policy show": ("policy:Show", "Show the effective policy and its source"),
    "policy check": ("policy:Check", "Check a payload against the policy, without a device"),
    "policy schema": ("schema:PolicySchema", "Print the JSON Schema of the policy file"),
    "watch": ("watch:Watch", "Stream executions and UI trees of a device as JSON Lines"),
    "lock status": ("lock:LockStatus", "Show which devices are locked, and by which process"),
    "history list": ("history:ListRuns", "List recorded runs, newest first"),
    "history show": ("history:Show", "Show one run: payload, steps, log lines, envelope, UI trees"),
    "history export": ("history:Export", "Export runs as JSON Lines, or one run as a ZIP file"),
    "history audit": ("history:Audit", "List requests to devices, their callers and their outcomes"),
    "history prune": ("history:Prune", "Delete old runs"),
    "doctor": ("doctor:Doctor", "Check the host, the device and the Operator app, and suggest fixes"),
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
    "console": ("console:Console", "Open the console (the default on a terminal)"),
    "demo": ("demo:Demo", "Try Clawperator on a simulated device, without a phone or adb"),
    "sim": ("sim:Sim", "Run simulated devices for any adb client"),
    "warm start": ("warm:Start", "Keep a loaded process, so that commands start at once"),
    "warm stop": ("warm:Stop", "Stop the warm process"),
    "warm status": ("warm:Status", "Show whether a warm process runs, and for how long"),
    "completion": ("completion:Completion", "Print a shell's completion script"),
    "help": ("help:Help", "Show help for a command"),
}
"""Command words → (``module:class`` under ``commands``, summary), in the order of the help text."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Observe": ("observe", "inspect", "match", "suggest", "diff", "watch"),
    "Act": ("execute", "action", "set", "submit", "input", "record"),
    "Skills": ("skills",),
    "Devices": ("devices", "device", "app", "packages", "doctor", "lock"),
    "Operator app": ("operator", "grant-device-permissions"),
    "Emulators": ("emulator", "provision"),
    "History and reports": ("history", "logs", "report"),
    "Console and servers": ("console", "serve", "mcp"),
    "Policy and settings": ("policy", "config"),
    "Develop": ("demo", "sim", "schema", "version", "warm", "completion", "help"),
}
"""Sections of the help → first words of commands. Those in no section are the short forms of the flat profile."""

GROUPS: dict[str, str] = {
    "packages": "packages list [--third-party]",
    "observe": "observe snapshot|screenshot [options]",
    "inspect": "inspect ui [options]",
    "action": (
        "action open-app|open-uri|click|read|wait|type|press-key|scroll|scroll-until|scroll-and-click [options]"
    ),
    "app": "app install|uninstall|clear|start|stop|current|permissions [options]",
    "device": "device info|size|rotate|wake|unlock-hint|logs [options]",
    "input": "input key|text|tap|long-press|swipe|drag [options]",
    "operator": "operator setup|install|fetch|status|crash-log [options]",
    "emulator": "emulator list|inspect|create|start|stop|delete|status|provision [options]",
    "provision": "provision emulator [options]",
    "lock": "lock status [--device-id <serial>]",
    "history": "history list|show|export|audit|prune [options]",
    "record": "record start|stop|pull|parse|draft|replay [options]",
    "skills": (
        "skills list|get|search|compile-artifact|run|validate|lint|new|index|ci|install|update|sync|install-hook [options]"
    ),
    "policy": "policy show|check|schema [options]",
    "config": "config path|show|check|schema [options]",
    "warm": "warm start|stop|status [options]",
}
"""Words that require a second one → the form that USAGE errors quote."""


def subcommands(group: str) -> Iterator[str]:
    """Yield the second words of a group, in table order."""
    for words in COMMANDS:
        first, _, rest = words.partition(" ")
        if first == group and rest:
            yield rest


def first_words() -> list[str]:
    """Return every first word of a command once, in table order."""
    return list(dict.fromkeys(words.partition(" ")[0] for words in COMMANDS))
