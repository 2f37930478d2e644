"""Read the recorded crashes of the Operator app: logcat's crash buffer and the drop box, in one round trip."""

from __future__ import annotations

from dataclasses import replace

from clawperator.engine.adb.batch import BatchOutput, run_scripts
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.quote import device_script
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.crash_parser import from_dropbox, from_log, merged, of_packages
from clawperator.engine.operator.reports import CrashLog, CrashReport
from clawperator.engine.text.numbers import whole_number

MAX_LINES = 100_000
_LOG_LINES = "8000"
_DROP_BYTES = "600000"
"""Read from the end of the drop box, where the newest crashes are."""
_LOG = "logcat -b crash -d -t {lines} -v threadtime -v year || logcat -b crash -d -t {lines} -v threadtime"
"""Android before 7 does not support ``-v year``."""
_DROP = "dumpsys dropbox --print {tag} | tail -c {size}"
_TAGS = ("data_app_crash", "data_app_native_crash")
_LONGEST_TROUBLE = 500


async def crash_log(device: AdbDevice, package: str, *, lines: int = 200) -> CrashLog:
    """Return the crashes of ``package``, '' for both Operator apps, newest first.

    The reports have at most ``lines`` lines in all: the newest crash is cut, older ones are omitted.

    Raises ``EngineError``: DEVICE_SHELL_UNAVAILABLE if neither source can be read.
    """
    packages = (package,) if package else OPERATOR_PACKAGES
    log, year, *drops = await run_scripts(
        device,
        [
            device_script(_LOG, lines=_LOG_LINES),
            device_script("date {format}", format="+%Y"),
            *(device_script(_DROP, tag=tag, size=_DROP_BYTES) for tag in _TAGS),
        ],
    )
    trouble = _trouble(log, drops[0])
    if len(trouble) == 2:
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE, f"The crash logs of {device.serial} cannot be read", details=trouble
        )
    dropped = [report for drop in drops for report in from_dropbox(drop.text)]
    found = merged(of_packages(from_log(log.data), packages), of_packages(dropped, packages), _year(year.text))
    shown = _within(found, max(1, min(lines, MAX_LINES)))
    return CrashLog(device.serial, packages, shown, len(found) - len(shown), trouble)


def _trouble(log: BatchOutput, drop: BatchOutput) -> dict[str, str]:
    """Return the errors by source. The exit code of the drop box is that of ``tail``, so its output is checked."""
    trouble: dict[str, str] = {}
    if not log.ok:
        trouble["crash-buffer"] = log.text.strip()[:_LONGEST_TROUBLE] or f"exit code {log.exit_code}"
    head = drop.text[:_LONGEST_TROUBLE].strip()
    if not drop.ok or head.startswith(("Can't find service", "Permission Denial")):
        trouble["dropbox"] = head or f"exit code {drop.exit_code}"
    return trouble


def _year(text: str) -> int:
    return whole_number(text.strip(), digits=4) or 1


def _within(found: list[CrashReport], room: int) -> tuple[CrashReport, ...]:
    shown: list[CrashReport] = []
    for report in found:
        if room <= 0:
            break
        lines = report.lines[:room]
        shown.append(replace(report, lines=lines, cut=len(report.lines) - len(lines)))
        room -= len(lines)
    return tuple(shown)
