"""Every command: its words, where it lives, and one line about it. Modules are imported when their command is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clawperator.app.cli.command import Command

COMMANDS: dict[str, tuple[str, str]] = {
    "devices": ("devices:Devices", "List the devices that adb knows, in every state"),
    "devices pair": ("wireless:Pair", "Pair with a device over Wi-Fi, by code or QR code"),
    "devices connect": ("wireless:Connect", "Connect to a device over the network"),
    "devices disconnect": ("wireless:Disconnect", "End connections over the network"),
    "packages list": ("packages:ListPackages", "List the application ids installed on a device"),
    "execute": ("execute:Execute", "Run one execution payload on a device"),
    "execute best-effort": ("execute:BestEffort", "Reserved: reach a goal without a plan"),
    "observe snapshot": ("observe:Snapshot", "Read the UI tree of the screen"),
    "observe screenshot": ("observe:Screenshot", "Save a picture of the screen"),
    "inspect ui": ("observe:Snapshot", "Read the UI tree of the screen (the same as observe snapshot)"),
    "match": ("trees:Match", "Show which nodes a selector finds, on the device or in a saved dump"),
    "suggest": ("trees:Suggest", "Rank the selectors that address a node"),
    "diff": ("trees:Diff", "Compare two saved dumps"),
    "action open-app": ("action:OpenApp", "Open an app by its application id"),
    "action open-uri": ("action:OpenUri", "Open a URI with the app that handles it"),
    "action click": ("action:Click", "Click a node, or a point of the screen"),
    "action read": ("action:Read", "Read a node's text"),
    "action type": ("action:Type", "Put text into a field"),
    "action wait": ("action:Wait", "Wait until a node is on screen"),
    "action press-key": ("action:PressKey", "Press back, home or recents"),
    "action scroll": ("action:Scroll", "Scroll once"),
    "action scroll-until": ("action:ScrollUntil", "Scroll until a node is on screen or nothing moves any more"),
    "action scroll-and-click": ("action:ScrollAndClick", "Scroll to a node and click it"),
    "exec": ("flat:Exec", "Run one execution payload, in the flat profile"),
    "snapshot": ("flat:Snapshot", "Read the UI tree of the screen, in the flat profile"),
    "screenshot": ("flat:Screenshot", "Save a picture of the screen, in the flat profile"),
    "click": ("flat_actions:Click", "Click a node, or a point of the screen (also: tap)"),
    "read": ("flat_actions:Read", "Read a node's text"),
    "read-value": ("flat_actions:ReadValue", "Read the value beside a label (also: read-kv)"),
    "type": ("flat_actions:Type", "Put text into a field (also: fill)"),
    "wait": ("flat_actions:Wait", "Wait until a node is on screen"),
    "wait-for-nav": ("flat_actions:WaitForNav", "Wait for another app or node (also: wait-for-navigation)"),
    "open": ("flat_actions:Open", "Open an app or a URI (also: open-uri, open-url)"),
    "close": ("flat_actions:Close", "Stop an app (also: close-app)"),
    "press": ("flat_actions:Press", "Press back, home or recents (also: press-key)"),
    "back": ("flat_actions:Back", "Press back"),
    "scroll": ("flat_actions:Scroll", "Scroll once"),
    "scroll-until": ("flat_actions:ScrollUntil", "Scroll until a node is on screen"),
    "scroll-and-click": ("flat_actions:ScrollAndClick", "Scroll to a node and click it, in the flat profile"),
    "sleep": ("flat_actions:Sleep", "Let the device wait"),
    "record start": ("recording:Start", "Begin to record what is done on the device"),
    "record stop": ("recording:Stop", "End the recording"),
    "record pull": ("recording:Pull", "Fetch a recording from the device"),
    "record parse": ("recording:Parse", "Make a step log of a recording"),
    "record draft": ("recording:Draft", "Make a recipe draft of a recording"),
    "record replay": (
        "recording:Replay",
        "Do again what was recorded, step by step, and stop where the screen differs",
    ),
    "skills list": ("skills:List", "List the skills of the registry"),
    "skills get": ("skills:Get", "Show one skill's entry"),
    "skills search": ("skills:Search", "Find skills by app, intent or keyword"),
    "skills compile-artifact": ("skills_compile:CompileArtifact", "Compile a skill's artifact into an execution"),
    "skills run": ("skills_run:Run", "Run a skill: its script, or one of its artifacts"),
    "skills validate": ("skills:Validate", "Check the files of a skill, or of all"),
    "skills lint": ("skills_lint:Lint", "Look for what should not stand in a recipe"),
    "skills new": ("skills:New", "Begin a new skill"),
    "skills index": ("skills:Index", "Write the registry and its indexes anew from the skills' folders, or check them"),
    "skills ci": ("skills_lint:Ci", "Every check that a repository of skills should pass"),
    "skills install": ("skills_sync:Install", "Fetch the skills repository"),
    "skills update": ("skills_sync:Update", "Bring the skills up to date"),
    "skills sync": ("skills_sync:Sync", "Bring the skills to a chosen ref"),
    "skills install-hook": ("skills_lint:InstallHook", "Let git refuse commits with personal literals"),
    "policy show": ("policy:Show", "Show what the policy allows, and where it comes from"),
    "policy check": ("policy:Check", "Hold a payload against the policy; touch no device"),
    "policy schema": ("policy:Schema", "Print the JSON Schema of the policy file"),
    "watch": ("watch:Watch", "Follow a device: executions and UI trees as they happen, one JSON document per line"),
    "lock status": ("lock:LockStatus", "Show which devices are taken, and by whom"),
    "history list": ("history:ListRuns", "List what ran on the devices, newest first"),
    "history show": ("history:Show", "Show one run: payload, steps, live lines, envelope, UI trees"),
    "history export": ("history:Export", "Write runs as JSON Lines, or one run as a ZIP"),
    "history audit": ("audit:Audit", "List who asked what of which device, and what was refused"),
    "history prune": ("history:Prune", "Remove old runs"),
    "doctor": ("doctor:Doctor", "Check host, device and Operator app, and say what to do"),
    "operator setup": ("operator:Setup", "Install the Operator app, grant what it needs, and verify it"),
    "operator install": ("operator:Setup", "Install the Operator app (the same as operator setup)"),
    "operator fetch": ("operator:Fetch", "Fetch the Operator's APK from a file or over https, and verify it"),
    "operator status": ("operator:Status", "Show what is installed, granted, enabled and bound"),
    "operator crash-log": ("operator:CrashLog", "Fetch what the device wrote down about crashes of the Operator app"),
    "grant-device-permissions": ("operator:Grant", "Give the Operator app its permissions again"),
    "emulator list": ("emulator:ListAvds", "List the virtual devices of this computer, and which are supported"),
    "emulator inspect": ("emulator:Inspect", "Show one virtual device, and why it is not supported"),
    "emulator create": ("emulator:Create", "Create a virtual device, with its system image"),
    "emulator start": ("emulator:Start", "Start a virtual device and wait until it has booted"),
    "emulator stop": ("emulator:Stop", "Stop a running virtual device"),
    "emulator delete": ("emulator:Delete", "Delete a virtual device"),
    "emulator status": ("emulator:Status", "List the virtual devices that run"),
    "emulator provision": ("emulator:Provision", "Get a running supported one: reuse, else start, else create"),
    "provision emulator": ("emulator:Provision", "Get a running virtual device (the same as emulator provision)"),
    "version": ("version:Version", "Print versions, or check that host and Operator app fit together"),
    "schema": ("schema:Schema", "Print the JSON Schema of a contract"),
    "config path": ("config:ConfigPath", "Show where settings, themes, history, drafts and locks are kept"),
    "config show": ("config:ConfigShow", "Show every setting, and whether flag, environment, file or default chose it"),
    "config check": ("config:ConfigCheck", "Check the settings file, line by line"),
    "config schema": ("config:ConfigSchema", "Print the JSON Schema of the settings file"),
    "logs": ("logs:Logs", "Print today's log file, then follow it"),
    "report": ("report:Report", "Make a bundle for a bug report, without what is private"),
    "serve": ("serve:Serve", "Serve HTTP and server-sent events"),
    "mcp": ("mcp:Mcp", "Serve the Model Context Protocol, for agents"),
    "console": ("console:Console", "Open the console (also: no command at all, on a terminal)"),
    "demo": ("demo:Demo", "Try everything on a simulated device, without a phone and without adb"),
    "sim": ("sim:Sim", "Offer simulated devices to any adb client"),
    "completion": ("completion:Completion", "Print a shell's completion script"),
    "help": ("help:Help", "Explain a command"),
}
"""Command words → (``module:class`` under ``commands``, summary), in the order of the help text."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Look": ("observe", "inspect", "match", "suggest", "diff", "watch"),
    "Act": ("execute", "action", "record"),
    "Skills": ("skills",),
    "Devices": ("devices", "packages", "doctor", "lock"),
    "Operator app": ("operator", "grant-device-permissions"),
    "Emulators": ("emulator", "provision"),
    "History and reports": ("history", "logs", "report"),
    "Console and servers": ("console", "serve", "mcp"),
    "Policy and settings": ("policy", "config"),
    "Develop": ("demo", "sim", "schema", "version", "completion", "help"),
}
"""The first words of commands, by the sections of the help. Those in no section are the short forms of the flat profile."""

GROUPS: dict[str, str] = {
    "packages": "packages list [--third-party]",
    "observe": "observe snapshot|screenshot [options]",
    "inspect": "inspect ui [options]",
    "action": (
        "action open-app|open-uri|click|read|wait|type|press-key|scroll|scroll-until|scroll-and-click [options]"
    ),
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
}
"""Words that need a second one → the form that USAGE errors quote."""


def load(words: str) -> Command:
    """The command object for words of ``COMMANDS``."""
    from importlib import import_module

    module, _, name = COMMANDS[words][0].partition(":")
    command: Command = getattr(import_module(f"clawperator.app.cli.commands.{module}"), name)(words)
    return command


def subcommands(group: str) -> Iterator[str]:
    """The second words of a group, in table order."""
    for words in COMMANDS:
        first, _, rest = words.partition(" ")
        if first == group and rest:
            yield rest


def first_words() -> list[str]:
    """Every word that a command line may begin with, once, in table order."""
    return list(dict.fromkeys(words.partition(" ")[0] for words in COMMANDS))
