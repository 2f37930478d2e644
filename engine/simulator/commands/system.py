"""Properties, settings, services, processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from clawperator.engine.simulator import dumpsys as dumps
from clawperator.engine.simulator.android_users import CURRENT, OWNER, without_user
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.activity import activity
from clawperator.engine.simulator.commands.packages import package_service
from clawperator.engine.simulator.commands.screen import input_method, input_service, window_manager
from clawperator.engine.simulator.process import Command, Process, Service, command_of
from clawperator.engine.simulator.procfs import ProcessRow, processes
from clawperator.engine.simulator.profile import settings as initial_settings

NAMESPACES: Final = ("system", "secure", "global")


async def getprop(process: Process) -> int:
    """``getprop [NAME [DEFAULT]]``."""
    _, words = process.options("TZ")
    props = process.device.props
    if words:
        await process.out((props.get(words[0], "") or (words[1] if len(words) > 1 else "")) + "\n")
    else:
        await process.lines(f"[{name}]: [{value}]" for name, value in sorted(props.items()))
    return 0


async def setprop(process: Process) -> int:
    if len(process.arguments) != 2:
        raise CommandError('setprop: Needs 2 arguments (see "setprop --help")')
    name, value = process.arguments
    if name.startswith("ro."):
        raise CommandError(f"Failed to set property '{name}' to '{value}'.\nSee dmesg for error reason.")
    process.device.props[name] = value
    return 0


async def settings_service(process: Process, words: list[str]) -> int:
    """``settings [--user U] get|put|delete|list NAMESPACE …``."""
    user, words = without_user(words, OWNER)
    users = process.device.users
    user = users.current if user == CURRENT else max(user, OWNER)
    if user in users.closed:
        users.require(user)
    verb, namespace, *rest = [*words, "", ""][: max(2, len(words))]
    if verb not in ("get", "put", "delete", "list", "reset"):
        raise CommandError(f"Invalid command: {verb}", 255)
    if namespace not in NAMESPACES:
        raise CommandError(f"Invalid namespace '{namespace}'", 255)
    tables = process.device.settings
    if user != users.current and namespace != "global":
        tables = process.device.settings_of_others.setdefault(user, initial_settings())
    table = tables.setdefault(namespace, {})
    if verb == "list":
        await process.lines(f"{name}={value}" for name, value in sorted(table.items()))
    elif verb == "get":
        await process.out(table.get(_argument(rest), "null") + "\n")
    elif verb == "put":
        name = _argument(rest)
        refused = process.device.scenario.of_device("settings_refused")
        if refused is not None and name in refused.names:
            raise CommandError(refused.stderr, 255)
        table[name] = _argument(rest[1:])
        process.device.accessibility.settings_written()
    elif verb == "delete":
        await process.out(f"Deleted {int(table.pop(_argument(rest), None) is not None)} rows\n")
        process.device.accessibility.settings_written()
    return 0


def _argument(words: list[str]) -> str:
    if not words:
        raise CommandError("Bad arguments", 255)
    return words[0]


async def dumpsys(process: Process) -> int:
    """``dumpsys [-t SECONDS] [-l] [SERVICE [ARGUMENTS]]``."""
    options, words = process.options("+lt:T:", ("priority=", "proto", "skip="))
    if "l" in options or not words:
        await process.lines(["Currently running services:", *(f"  {name}" for name in SERVICES)])
        return 0
    if words[0] in SERVICES and words[0] not in dumps.DUMPS:
        return 0  # its dump is empty
    await process.out(dumps.dumpsys(process.device, words[0], words[1:]))
    return 0


async def cmd(process: Process) -> int:
    """``cmd SERVICE …``, from API 24 on."""
    if process.device.sdk < 24:
        missing = "inaccessible or not found" if process.device.sdk >= 29 else "not found"
        raise CommandError(f"/system/bin/sh: cmd: {missing}", 127)
    words = process.arguments
    if words[:1] == ["-w"]:  # waits for a missing service: all are present
        words = words[1:]
    if not words:
        raise CommandError(
            "cmd: No service specified; use -l to list all running services. Use -w to start and wait.", 20
        )
    if words[0] == "-l":
        await process.lines(["Currently running services:", *(f"  {name}" for name in SERVICES)])
        return 0
    service = words[0]
    handler = _SHELLS.get(service)
    if handler is not None:
        return await handler(process, words[1:])
    if service in SERVICES:  # a service without a shell (android-facts 8b)
        raise CommandError("No shell command implementation.", 0)
    raise CommandError(f"cmd: Can't find service: {service}", 20)


async def _status_bar(_process: Process, _words: list[str]) -> int:
    return 0


async def simulator(process: Process) -> int:
    """``clawperator-sim reset``: what no phone has, the state that the scenario describes."""
    if process.arguments != ["reset"]:
        raise CommandError("usage: clawperator-sim reset", 2)
    process.device.reset()
    return 0


async def reboot(process: Process) -> int:
    """Drop the transport until the device has booted."""
    process.device.reboot()
    return 0


# -- processes


_PS_HELP: Final = """usage: ps [-Aefw] [-o FIELD,] [-p PID,] [-u USER,]

List processes.

Which processes to show (-pu selections may be comma separated lists):

-A\tAll
-e\tSynonym for -A
-p\tPIDs (--pid)
-u\tOwned by USERs

Output modifiers:

-f\tFull listing (-o USER:12=UID,PID,PPID,C,STIME,TTY,TIME,ARGS=CMD)
-o\tShow FIELDs
"""


async def ps(process: Process) -> int:
    """``ps [-A] [-p PID] [-o FIELDS]``."""
    if process.arguments == ["--help"]:
        await process.out(_PS_HELP)
        return 0
    options, words = process.options("Aefp:o:u:Tw")
    rows = list(processes(process.device))
    own = ProcessRow("shell", process.shell.pid, 411, "sh", process.shell.command_line)
    every = {"A", "e"} & options.keys() or process.device.sdk < 26
    rows = [*rows, own] if every else [own]
    if "p" in options:
        rows = [row for row in [*processes(process.device), own] if str(row.pid) in options["p"].split(",")]
    if words and process.device.sdk < 26:
        rows = [row for row in rows if words[0] in row.name]
    if "o" in options:
        return await _columns(process, rows, options["o"])
    head = "USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME"
    await process.lines(
        [
            head,
            *(
                f"{r.user:<12} {r.pid:>5} {r.parent:>5} {14_000_000:>7} {96_000:>6} 0                   0 S {r.name}"
                for r in rows
            ),
        ]
    )
    return 0


async def _columns(process: Process, rows: list[ProcessRow], names: str) -> int:
    fields: dict[str, Callable[[ProcessRow], object]] = {
        "USER": lambda row: row.user,
        "PID": lambda row: row.pid,
        "PPID": lambda row: row.parent,
        "NAME": lambda row: row.name,
        "ARGS": lambda row: row.command or row.name,
        "CMD": lambda row: row.name,
    }
    chosen = [name.strip().upper() for name in names.split(",")]
    if unknown := [name for name in chosen if name not in fields]:
        raise CommandError(f"ps: Unknown field '{unknown[0]}'")
    await process.lines([" ".join(chosen), *(" ".join(str(fields[name](row)) for name in chosen) for row in rows)])
    return 0


async def pidof(process: Process) -> int:
    _, names = process.options("so:x")
    found = [str(row.pid) for row in processes(process.device) if row.name in process.require(names)]
    if found:
        await process.out(" ".join(found) + "\n")
    return int(not found)


async def kill(process: Process) -> int:
    """End a ``uiautomator dump``; other processes of the caller do not outlive their command."""
    _, words = process.options("ls:0123456789")
    own = {row.pid for row in processes(process.device)}
    for word in words:
        if word.isdigit() and (dump := process.device.dumps.get(int(word))) is not None:
            dump.cancel()
            continue
        reason = "Operation not permitted" if word.isdigit() and int(word) in own else "No such process"
        raise CommandError(f"/system/bin/sh: kill: {word}: {reason}")
    return 0


_SHELLS: Final[dict[str, Service]] = {
    "activity": activity,
    "input": input_service,
    "input_method": input_method,
    "package": package_service,
    "settings": settings_service,
    "statusbar": _status_bar,
    "window": window_manager,
}
SERVICES: Final = tuple(sorted({*dumps.DUMPS, *_SHELLS, "clipboard"}))
"""All services that can be dumped or called; the clipboard is one that cannot (android-facts 8b)."""

SYSTEM: Final[dict[str, Command]] = {
    "clawperator-sim": simulator,
    "cmd": cmd,
    "dumpsys": dumpsys,
    "getprop": getprop,
    "kill": kill,
    "pidof": pidof,
    "ps": ps,
    "reboot": reboot,
    "setprop": setprop,
    "settings": command_of(settings_service),
}
