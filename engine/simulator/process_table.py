"""The processes of a simulated device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from clawperator.engine.simulator.android_users import IDS_PER_USER
from clawperator.engine.simulator.platform import Platform
from clawperator.engine.simulator.users import user_name

FIRST_APP_PID: Final = 2_100
CLIENT_PID: Final = 4_711
_LAUNCHER: Final = "app_process /system/bin com.android.commands.uiautomator.Launcher"


class ProcessRow(NamedTuple):
    user: str
    pid: int
    parent: int
    name: str
    command: str = ""
    """Its command line; empty: the name."""


def processes(device: Platform) -> Iterator[ProcessRow]:
    """The processes: a few daemons, apps with a window, and the Operator unless it is stopped."""
    yield ProcessRow("root", 1, 0, "init")
    yield ProcessRow("logd", 182, 1, "logd")
    yield ProcessRow("shell", 411, 1, "adbd")
    yield ProcessRow("root", 320, 1, "zygote64")
    yield ProcessRow("system", 601, 320, "system_server")
    held = device.scenario.of_device("ui_automation_held")
    if held is not None:
        name = held.command.partition(" ")[0].rpartition("/")[2]
        yield ProcessRow(held.user, CLIENT_PID, 1, name, held.command)
    if device.accessibility.dumping:
        yield ProcessRow("shell", next(iter(device.dumps), CLIENT_PID + 1), 411, "app_process", f"{_LAUNCHER} dump")
    base = device.users.current * IDS_PER_USER
    for name, pid in device.operator_pids.items():
        package = device.packages[name]
        if not package.stopped:
            yield ProcessRow(user_name(base + package.uid), pid, 320, name)
    shown = {task.app.package for task in device.ui.tasks}
    for number, package in enumerate(device.packages.values()):
        if package.name in shown or package.name == "com.android.systemui":
            yield ProcessRow(user_name(base + package.uid), FIRST_APP_PID + 7 * number, 320, package.name)


def pid_of(device: Platform, name: str) -> int:
    """The pid of the process called ``name``; 0 if there is none."""
    return next((row.pid for row in processes(device) if row.name == name), 0)
