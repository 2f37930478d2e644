"""``am`` and ``cmd activity``, ``monkey``."""

from __future__ import annotations

from typing import Final

from clawperator.engine.simulator.android_users import CURRENT, EVERY, without_user
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.intents import FROM_SHELL, RECEIVER_FOREGROUND, Intent, parse_intent
from clawperator.engine.simulator.process import Command, Process, Service, command_of

SETTINGS_PACKAGE: Final = "com.android.settings"


async def activity(process: Process, words: list[str]) -> int:
    """``am VERB …`` or ``cmd activity VERB …``."""
    verb, *rest = words or [""]
    handler = _VERBS.get(verb)
    if handler is None:
        raise CommandError(f"Unknown command: {verb}\nActivity manager (activity) commands:\n  help", 255)
    return await handler(process, rest)


async def _broadcast(process: Process, words: list[str]) -> int:
    """Print and exit the same whether or not there is a receiver (wire.md#broadcast, android-facts 6c)."""
    user, words = without_user(words, EVERY)
    user = process.device.users.require(user) if user != EVERY else EVERY
    intent = parse_intent(words)
    foreground = RECEIVER_FOREGROUND if "--receiver-foreground" in intent.switches else 0
    extras = {key: _clean(value) for key, value in intent.extras.items()}
    package = intent.package or intent.component.partition("/")[0] or None
    text = f"Broadcasting: {intent.describe(flags=FROM_SHELL | foreground | _flags(intent))}\n"
    result = await process.device.broadcast(intent.action, package, extras, user)
    await process.out(f"{text}Broadcast completed: result={result}\n")
    return 0


def _flags(intent: Intent) -> int:
    try:
        return int(intent.flags, 0) & 0xFFFFFFFF if intent.flags else 0
    except ValueError as exc:
        raise CommandError(f"Error: Bad number: {intent.flags}", 255) from exc


def _clean(value: str) -> str:
    """Decode as Java does, with replacement characters for invalid UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _start(process: Process, words: list[str]) -> int:
    user, words = without_user(words, CURRENT)
    process.device.users.require(user)
    intent = parse_intent(words)
    package = intent.package
    if intent.action.startswith("android.settings.") and not (intent.component or package):
        package = SETTINGS_PACKAGE
    if "-S" in intent.switches and (target := intent.component.partition("/")[0] or package):
        process.device.force_stop(target)
    if not (intent.component or intent.data or package):
        shown = intent.describe()
        return await _start_failed(
            process, f"Starting: {shown}\nError: Activity not started, unable to resolve {shown}", 1
        )
    before = process.device.log.now_ns()
    try:
        text = process.device.activities.start(component=intent.component, uri=intent.data, package=package)
    except CommandError as exc:
        return await _start_failed(process, exc.message, exc.status)
    await process.out(f"Starting: {intent.describe()}\n" + text.partition("\n")[2])
    if "-W" in intent.switches:
        await process.device.activities.launched()
        took = (process.device.log.now_ns() - before) // 1_000_000
        name = intent.component or package
        rows = ("Status: ok", "LaunchState: COLD", f"Activity: {name}", f"TotalTime: {took}", f"WaitTime: {took + 3}")
        await process.lines([*rows, "Complete"])
    return 0


async def _start_failed(process: Process, text: str, status: int) -> int:
    """Print the intent to standard output and the reason to standard error."""
    head, _, rest = text.partition("\n")
    await process.out(f"{head}\n")
    raise CommandError(rest, status)


async def _force_stop(process: Process, words: list[str]) -> int:
    user, words = without_user(words, EVERY)
    if user == EVERY or process.device.users.require(user) == process.device.users.current:
        process.device.force_stop(_last(words))
    return 0


async def _current_user(process: Process, _words: list[str]) -> int:
    if process.device.sdk < 24:
        raise CommandError("Error: unknown command 'get-current-user'", 1)
    await process.out(f"{process.device.users.current}\n")
    return 0


def _last(words: list[str]) -> str:
    """The package operand of a verb; options (``--user 0``) precede it."""
    if not words:
        raise CommandError("Error: Argument expected\n", 255)
    return words[-1]


async def monkey(process: Process) -> int:
    """``monkey -p PACKAGE [-c CATEGORY] 1``: starts an app by its package alone, as many scripts do."""
    options, _ = process.options("+p:c:v", ("pct-syskeys=", "throttle=", "ignore-crashes"))
    package = options.get("p", "")
    await process.out(f"  bash arg: -p\n  bash arg: {package}\n")
    try:
        process.device.activities.start(package=package)
    except CommandError as exc:
        raise CommandError("** No activities found to run, monkey aborted.", 252) from exc
    await process.out(
        "Events injected: 1\n## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)\n"
    )
    return 0


_VERBS: Final[dict[str, Service]] = {
    "broadcast": _broadcast,
    "force-stop": _force_stop,
    "get-current-user": _current_user,
    "start": _start,
    "start-activity": _start,
}

ACTIVITY: Final[dict[str, Command]] = {"am": command_of(activity), "monkey": monkey}
