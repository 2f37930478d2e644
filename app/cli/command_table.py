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
    "snapshot": ("flat:Snapshot", "Read the UI tree of the screen"),
    "screenshot": ("flat:Screenshot", "Take a screenshot"),
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
    "scroll-and-click": ("flat:ScrollAndClick", "Scroll to a node and click it"),
    "sleep": ("flat:Sleep", "Pause on the device"),
    "query": ("app_actions:Query", "List nodes of the screen with their states, as the device sees them"),
    "swipe": ("app_actions:Swipe", "Move a finger from one point of the screen to another"),
    "drag": ("app_actions:Drag", "Hold a finger at a point, then move it to another one"),
    "toast": ("app_actions:Toast", "Show a short message on the screen, or remove it"),
    "on-screen-log set": ("app_actions:SetOnScreenLog", "Show a panel with text over all apps"),
    "on-screen-log clear": ("app_actions:ClearOnScreenLog", "Remove the panel"),
    "notifications list": ("app_actions:ListNotifications", "List the notifications of all apps"),
    "notifications dismiss": ("app_actions:DismissNotification", "Dismiss a notification"),
    "notifications action": ("app_actions:InvokeNotificationAction", "Press a button of a notification"),
    "media list": ("app_actions:ListMedia", "List the media sessions of all apps"),
    "media status": ("app_actions:MediaStatus", "Show the state of a media session"),
    "media observe": ("app_actions:ObserveMedia", "Record changes of media sessions for some time"),
    "media pause": ("app_actions:MediaPause", "Pause a media session"),
    "media play": ("app_actions:MediaPlay", "Start or resume a media session"),
    "media seek": ("app_actions:MediaSeek", "Move a media session to a position"),
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
    "lock status": ("lock:LockStatus", "Show which devices are locked, and by which process"),
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

SECTIONS: dict[str, tuple[str, ...]] = {
    "Observe": ("snapshot", "screenshot", "read", "read-value", "query", "wait", "wait-for-nav", "match", "suggest", "diff", "watch"),
    "Act": (
        *("open", "close", "click", "type", "press", "back", "scroll", "scroll-until", "scroll-and-click", "set", "submit", "swipe"),
        *("drag", "sleep", "execute", "input", "record", "toast", "on-screen-log", "notifications", "media"),
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
    "on-screen-log": "on-screen-log set|clear [options]",
    "notifications": "notifications list|dismiss|action [options]",
    "media": "media list|status|observe|pause|play|seek [options]",
    "operator": "operator setup|install|fetch|status|crash-log [options]",
    "emulator": "emulator list|inspect|create|start|stop|delete|status|provision [options]",
    "provision": "provision emulator [options]",
    "lock": "lock status [--device-id <serial>]",
    "history": "history list|show|export|audit|prune [options]",
    "record": "record start|stop|pull|parse|draft|replay [options]",
    "skills": (
        "skills list|get|search|for-app|compile-artifact|run|validate|lint|new|index|ci|install|update|sync [options]"
    ),
    "policy": "policy show|check|schema [options]",
    "config": "config path|show|check|schema [options]",
    "fleet": "fleet join|devices <nats://host:port> [options]",
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


def other_forms() -> list[str]:
    """Return the commands that are in no section of the help."""
    known = {word for words in SECTIONS.values() for word in words}
    return [words for words in COMMANDS if words.partition(" ")[0] not in known]
