"""What panes show without a tree or a device: the reason, what to do, and the keys. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.adb.mdns import is_network_serial
from clawperator.engine.errors import ErrorCode
from clawperator.widgets.format.checks import fix_text, shell_text
from clawperator.widgets.format.devices import words_for
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.format.start_state import StartState
from clawperator.widgets.models.doctor_report import DoctorReport
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.session import Session
    from clawperator.engine.adb.presence import DeviceEntry

NO_DEVICE_HERE = "This console shows saved dumps: it has no device"
NEEDS_SETUP = (ErrorCode.RECEIVER_NOT_INSTALLED.value, ErrorCode.RECEIVER_VARIANT_MISMATCH.value)
"""Codes of checks that the Operator setup fixes."""

_CHOOSE, _DEVICES, _DOCTOR = ("D", "choose a device"), ("7", "devices"), ("6", "all checks")
_READ = ("r", "read the screen again")


def no_device_state(session: Session) -> StartState | None:
    """Return why there is no usable device to choose from; ``None`` where there is one, or one was chosen."""
    if session.adb_problem:
        return _no_list(session)
    if not session.devices_known:
        asked = session.remote or "adb"
        return StartState(Status.WAITING, f"Querying {asked} for devices…")
    if session.device_id or session.usable:
        return None
    if session.devices:
        return _unusable(session.devices)
    if session.remote:
        return StartState(Status.WARN, f"No device at {session.remote}", ["A device is used as soon as it connects."])
    steps = (
        "Plug in a phone with USB debugging on, or connect one in the network: adb connect <address>",
        "Or start a virtual device: press 7, then P.",
        "Or try a simulated device: clawperator demo",
    )
    return StartState(Status.WARN, "No device connected", steps, (_DEVICES,))


def start_state(session: Session) -> StartState | None:
    """Return why the tree pane is empty; ``None`` where the reason is only that no snapshot was taken yet."""
    if session.device_id:
        return device_state(session) or _no_tree(session)
    if (state := no_device_state(session)) is not None:
        return state
    if wanted := [entry for entry in session.devices if entry.is_named(session.wanted_device) and not entry.usable]:
        return _unusable(wanted)._replace(keys=(_CHOOSE, _DEVICES))
    shown = [f"{entry.serial}  {entry.model.replace('_', ' ')}".rstrip() for entry in session.usable[:6]]
    reason = f"{len(session.usable)} devices are usable" if len(shown) > 1 else f"{session.usable[0].serial} is usable"
    if session.wanted_device:
        reason = f"{session.wanted_device} is not connected. {reason}"
    return StartState(Status.WARN, f"{reason}. Choose the one to use", shown if len(shown) > 1 else (), (_CHOOSE,))


def device_state(session: Session) -> StartState | None:
    """Return why the selected device cannot be used now; ``None`` where adb lists it as usable."""
    if not session.gone_since:
        return None
    serial, device = session.device_id, session.device
    keys = (_CHOOSE, _DEVICES) if session.usable else (_DEVICES,)
    if session.adb_problem:
        return _no_list(session)
    if device is not None:
        state = _unusable((device,))
        return state._replace(keys=keys)
    if session.adb_restarted and is_network_serial(serial):
        return StartState(Status.WARN, f"adb restarted; reconnect: adb connect {serial}", (), keys)
    reason = "is not listed: adb restarted" if session.adb_restarted else "is disconnected"
    return StartState(Status.WARN, f"{serial} {reason}", ["It is used again as soon as adb lists it."], keys)


def _no_list(session: Session) -> StartState:
    """Return why the list of devices is unknown."""
    what = "The device list is unavailable" if session.remote else "adb does not respond"
    verdict, report = session.verdict, session.findings.get("")
    if verdict is not None and report is not None and verdict.check_id.startswith("host."):
        state = _not_ready(verdict.summary, report)
        return state._replace(steps=[*state.steps, "The console reconnects by itself."])
    return StartState(
        Status.FAILED,
        f"{what}: {sentence(session.adb_problem).removesuffix('.')}",
        ["The console reconnects by itself."],
        () if session.remote else (_DOCTOR,),
    )


def _unusable(devices: Sequence[DeviceEntry]) -> StartState:
    if len(devices) == 1:
        words, serial = words_for(devices[0]), devices[0].serial
        steps = ([f"adb: {devices[0].detail}"] if devices[0].detail else []) + list(words.steps)
        return StartState(words.status, f"{serial} is {devices[0].state}: {words.next}", steps, (_DEVICES,))
    listed = [f"{entry.serial} is {entry.state}: {words_for(entry).next}" for entry in devices[:6]]
    return StartState(Status.WARN, "No usable device", listed, (_DEVICES,))


def _no_tree(session: Session) -> StartState | None:
    """Return why the usable device has shown no tree."""
    verdict, report = session.verdict, session.findings.get(session.device_id)
    if verdict is not None and not verdict.ready and report is not None:
        return _not_ready(verdict.summary, report)
    if session.lock and not session.trees.shown:
        holder = sentence(str(session.lock.get("commandId") or "another execution"))
        steps = ["The screen is read as soon as it is free."]
        return StartState(Status.WAITING, f"{session.device_id} is busy: {holder}", steps)
    if session.trees.shown:
        steps = ["The screen may be off, locked or changing, or the app may hide it. Wake the device."]
        return StartState(Status.WARN, "The device reports a screen without nodes", steps, (_READ,))
    if session.tree_problem:
        return StartState(Status.FAILED, "The screen could not be read", [session.tree_problem], (_READ, _DOCTOR))
    return None


def _obstacle(report: DoctorReport) -> Mapping[str, Any]:
    """Return the check that decided the verdict, empty if there is none."""
    return report.find(report.verdict().check_id) or {}


def _not_ready(summary: str, report: DoctorReport) -> StartState:
    obstacle = _obstacle(report)
    steps = [str(obstacle.get("detail") or "")]
    keys = [_DOCTOR, _READ] if report.device_id else [_DOCTOR]
    if obstacle.get("code") in NEEDS_SETUP:
        keys.insert(0, ("o", "set up the Operator app"))
    elif shell_text(obstacle):
        fix = obstacle.get("fix") or {}
        keys.insert(0, ("F", f"fix: {fix.get('title') or 'run the commands'}"))
    else:
        steps += fix_text(obstacle).splitlines()
    if report.backend == "operator" and replace(report, backend="stock").verdict().ready:
        keys.insert(1, ("B", "use the stock backend, which needs no app"))
    return StartState(Status.FAILED, summary, [step for step in steps if step], keys)
