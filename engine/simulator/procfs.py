"""The processes of a device, and the current content of ``/proc``, as far as host tools read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from clawperator.engine.simulator.android_users import IDS_PER_USER
from clawperator.engine.simulator.filesystem import user_name
from clawperator.engine.simulator.platform import Platform

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


CPUS: Final = 4
TICKS: Final = 100
"""Clock ticks in a second."""
ROOT_MOUNT: Final = 30
TOTAL_KB: Final = 2_019_384
FREE_KB: Final = 611_204


def kernel_release(device: Platform) -> str:
    return f"6.1.{device.sdk}-android"


def proc_files(device: Platform) -> dict[str, str]:
    """Every file's text, by its path below ``/proc``."""
    seconds = (device.log.now_ns() - device.log.started_ns) / 1e9
    files = {
        "self/mountinfo": f"{ROOT_MOUNT} 1 253:5 / / ro,relatime master:1 - ext4 /dev/block/dm-5 ro,seclabel\n",
        "sys/kernel/random/boot_id": f"{device.boot_id}\n",
        "cpuinfo": "\n".join(_cpu(number) for number in range(CPUS)),
        "loadavg": "0.10 0.08 0.05 1/812 4711\n",
        "meminfo": _meminfo(),
        "stat": _stat(seconds),
        "uptime": f"{seconds:.2f} {seconds * CPUS * 0.9:.2f}\n",
        "version": f"Linux version {kernel_release(device)} (build@simulator) #1 SMP PREEMPT\n",
    }
    for row in processes(device):
        stat = _process_stat(row, seconds)
        files |= {
            f"{row.pid}/cmdline": (row.command or row.name).replace(" ", "\0") + "\0",
            f"{row.pid}/comm": f"{row.name[-15:]}\n",
            f"{row.pid}/stat": stat,
            f"{row.pid}/status": f"Name:\t{row.name[-15:]}\nState:\tS (sleeping)\nPid:\t{row.pid}\nPPid:\t{row.parent}\n",
            f"{row.pid}/task/{row.pid}/stat": stat,
        }
    return files


def _cpu(number: int) -> str:
    return f"processor\t: {number}\nvendor_id\t: AuthenticAMD\nmodel name\t: Android virtual processor\ncpu MHz\t\t: 2000.000\n"


def _meminfo() -> str:
    rows = {"MemTotal": TOTAL_KB, "MemFree": FREE_KB, "MemAvailable": FREE_KB * 2, "Buffers": 8_132, "Cached": 702_116}
    return "".join(f"{name + ':':<15} {kilobytes:>8} kB\n" for name, kilobytes in rows.items())


def _stat(seconds: float) -> str:
    """Each processor is busy for a tenth of its time."""
    busy, idle = int(seconds * TICKS * 0.05), int(seconds * TICKS * 0.9)
    one = f"{busy} 0 {busy} {idle} 0 0 0 0 0 0"
    total = f"{busy * CPUS} 0 {busy * CPUS} {idle * CPUS} 0 0 0 0 0 0"
    rows = [f"cpu  {total}", *(f"cpu{number} {one}" for number in range(CPUS)), "processes 4711", "procs_running 1"]
    return "".join(f"{row}\n" for row in rows)


def _process_stat(row: ProcessRow, seconds: float) -> str:
    times = f"{int(seconds)} {int(seconds / 2)}"
    head = f"{row.pid} ({row.name[-15:]}) S {row.parent} {row.parent} 0 0 -1 1077936448 1000 0 0 0"
    return f"{head} {times} 0 0 20 0 1 0 100 14336000000 24000 18446744073709551615{' 0' * 27}\n"
