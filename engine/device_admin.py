"""Apps and state of one device: one command of its shell each, as the caller's policy allows, under the device lock where it acts."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from clawperator.engine.adb.android_user import pm, settings
from clawperator.engine.adb.batch import run_commands, run_scripts
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.displays import DISPLAY_SCRIPT, MAIN_DISPLAY, parse_displays
from clawperator.engine.adb.parse import (
    parse_failure,
    parse_getprop,
    parse_packages,
    parse_sdk,
    parse_wm_density,
    refusal_hint,
)
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.policy import SETUP_OPERATOR, Subject
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.doctor import device_health
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import apps as launcher_apps
from clawperator.engine.executions import probe
from clawperator.engine.executions.force_stop import require_package
from clawperator.engine.executions.shell_input import parse_screen_size
from clawperator.engine.guard import Guard
from clawperator.engine.logcat.users import IDS_PER_USER
from clawperator.engine.operator import installation
from clawperator.engine.operator.apk import read_apk
from clawperator.engine.text.numbers import whole_number
from clawperator.engine.verbs.catalogue import LOG_LINES, ROTATIONS

_TURNS = {degrees: str(turns) for turns, degrees in enumerate(ROTATIONS[:-1])}
"""Degrees → Android's ``user_rotation``."""
_FRONT = re.compile(r"\b(?:topResumedActivity|mResumedActivity|mFocusedApp)[=:].*?\bu\d+ ([\w.]+)/([\w.$]+)", re.ASCII)
_TURN = re.compile(r"\b(?:mCurrentRotation|mRotation|rotation)=(?:ROTATION_)?(\d{1,3})\b", re.ASCII)
_POSTURE = re.compile(r"\bname='([A-Z][A-Z_]{0,40})'", re.ASCII)
"""The state of a foldable device, such as OPENED, in ``cmd device_state state`` (Android 12 and later)."""
_LINES = "cur=|otation=|ResumedActivity|mFocusedApp"
_PROCESSES = (
    "echo $(am get-current-user 2>/dev/null); "
    'for p in $(pidof {package}); do echo "$p $(stat -c %u /proc/$p 2>/dev/null)"; done'
)
"""Prints the current user, and each process of an app with its uid: an app can run for several users."""
_PERMISSION = re.compile(r"[A-Za-z0-9_.]{1,255}")


class DeviceAdmin:
    """``resolve`` finds the device, ``hold`` takes its lock. All methods return JSON data with ``deviceId`` and raise ``EngineError``.

    What changes the Operator app needs ``setup_operator``: it could switch off what the policy relies on.
    """

    def __init__(
        self,
        resolve: Callable[[], Awaitable[AdbDevice]],
        hold: Callable[[AdbDevice], AbstractAsyncContextManager[object]],
        guard: Guard,
    ) -> None:
        self._resolve, self._hold, self._guard = resolve, hold, guard

    # -- apps

    async def apps(self, *, search: str = "") -> dict[str, Any]:
        """Return the apps that can be opened; those with ``search`` in the label, the derived name or the id."""
        self._guard.permit("observe", "list the packages of a device")
        device = await self._resolve()
        found = launcher_apps.search(await launcher_apps.launchable_apps(device), search)
        return _answer(device, apps=[app.to_dict() for app in found])

    async def install(self, path: str) -> dict[str, Any]:
        """Install or update the app of an APK file on this host."""
        self._guard.permit("app", "install an app")
        try:
            apk = await asyncio.to_thread(lambda: read_apk(os.path.abspath(os.path.expanduser(path))))
        except EngineError as exc:
            missing = exc.code is ErrorCode.OPERATOR_APK_NOT_FOUND
            code = ErrorCode.FILE_NOT_READABLE if missing else ErrorCode.ANDROID_INSTALL_FAILED
            hint = None if missing else "Pass the path of an APK file."
            raise EngineError(code, exc.message, hint=hint, details={"file": path}) from exc
        async with self._changing(f"install {apk.package}", apk.package) as device:
            try:
                done = await device.install(apk.path, timeout=installation.INSTALL_SECONDS)
            finally:
                probe.forget(device.serial)
            if not done.ok:
                refused = installation.refusal(done, apk, device.serial)
                raise EngineError(
                    ErrorCode.ANDROID_INSTALL_FAILED, refused.message, hint=refused.hint, details=refused.details
                )
            return _answer(device, package=apk.package, version=apk.version_name, installed=True)

    async def uninstall(self, package: str, *, keep_data: bool = False) -> dict[str, Any]:
        """Uninstall an app. One of the system's is refused, as ``pm`` refuses it for all users: for one user it would not."""
        uninstall = pm("uninstall", *(["-k"] if keep_data else []), require_package(package))
        system = f"{pm('list packages', '-s', package)} | {device_command(['grep', '-qxF', f'package:{package}'])}"
        script = f"if {system}; then echo 'Failure [it is an app of the system]'; else {uninstall}; fi"
        return await self._pm(package, "uninstall", script, uninstalled=True)

    async def clear(self, package: str) -> dict[str, Any]:
        """Delete the data of an app."""
        return await self._pm(package, "clear the data of", pm("clear", require_package(package)), cleared=True)

    async def permission(self, verb: str, package: str, permission: str) -> dict[str, Any]:
        """``grant`` or ``revoke`` a runtime permission; a name without a dot is one of ``android.permission``."""
        if not _PERMISSION.fullmatch(permission):
            raise EngineError(
                ErrorCode.EXECUTION_VALIDATION_FAILED, "permission is not a valid name", details={"path": "permission"}
            )
        name = permission if "." in permission else f"android.permission.{permission}"
        change = pm(verb, require_package(package), name)
        return await self._pm(package, f"{verb} permissions of", change, permission=name, granted=verb == "grant")

    async def _pm(self, package: str, what: str, change: str, **facts: Any) -> dict[str, Any]:
        async with self._changing(f"{what} {package}", package) as device:
            listed, done = await run_commands(device, [pm("list packages", package), change])
            probe.forget(device.serial)
            if listed.ok and package not in parse_packages(listed.text):
                raise _refused(device, f"{package} is not installed", hint="Check `clawperator packages list`.")
            if not done.ok or done.text.lstrip().startswith(("Failure", "Failed", "Error")) or "Exception" in done.text:
                raise _refused(device, f"Android refused to {what} {package}", output=done.text)
            return _answer(device, package=package, **facts)

    # -- the device's state

    async def info(self, *keys: str) -> dict[str, Any]:
        """Return ``keys`` of what is known of the device, or everything; read in one round trip."""
        self._guard.permit("observe", "read the state of a device")
        return await _state(await self._resolve(), keys)

    async def rotate(self, to: str) -> dict[str, Any]:
        """Fix the rotation at ``to`` degrees, or leave it to the sensor (``auto``)."""
        async with self._changing("rotate the device", capability="input") as device:
            fixed = settings("put", "system", "accelerometer_rotation", "1" if to == "auto" else "0")
            turned = [] if to == "auto" else [settings("put", "system", "user_rotation", _TURNS[to])]
            for done in await run_commands(device, [fixed, *turned]):
                if not done.ok:
                    raise _refused(device, "the settings were not changed", output=done.text)
            return await _state(device, ("width", "height", "rotation"))

    async def wake(self) -> dict[str, Any]:
        """Switch the screen on; the answer says whether the device is locked."""
        async with self._changing("wake the device", capability="input") as device:
            await device.shell(["input", "keyevent", "KEYCODE_WAKEUP"])
            return await _state(device, ("screen", "locked", "hint"))

    async def reset(self) -> dict[str, Any]:
        """Put a simulated device back into the state in which it started; others have no such program, and are refused."""
        async with self._changing("reset a simulated device") as device:
            done = await device.shell(["clawperator-sim", "reset"])
            probe.forget(device.serial)
            if not done.ok:
                hint = "`clawperator app clear` deletes the data of one app."
                raise _refused(device, "it is not a simulated device, and nothing was changed", hint=hint)
            return _answer(device, reset=True)

    async def logs(self, *, lines: int = LOG_LINES, package: str = "") -> dict[str, Any]:
        """Return the last lines of the main log, of one running app if ``package`` is given."""
        self._guard.permit("observe", "read the log of a device")
        device, of_app = await self._resolve(), list[str]()
        if package:
            done = await device.script(device_script(_PROCESSES, package=require_package(package)))
            if not (pid := _pid_of_current_user(done.text)):
                raise _refused(device, f"{package} is not running")
            of_app = [f"--pid={pid}"]
        done = await device.shell(["logcat", "-d", "-v", "threadtime", "-t", str(lines), *of_app])
        if not done.ok:
            raise _refused(device, "logcat was refused", output=done.error_text)
        found = [line for line in done.text.splitlines() if not line.startswith("---------")]
        return _answer(device, lines=found[-lines:])

    @asynccontextmanager
    async def _changing(self, what: str, package: str = "", *, capability: str = "app") -> AsyncIterator[AdbDevice]:
        """Check and record ``what``, and hold the device."""
        needed = SETUP_OPERATOR if package in OPERATOR_PACKAGES else capability
        self._guard.permit(needed, what)
        with self._guard.refusals(what):
            profile = load_profile(self._guard.settings)
            if package and not profile.allows_package(package):
                raise Subject(profile, "", "", "").denied(ErrorCode.PACKAGE_DENIED, "package", package, "package")
        device = await self._resolve()
        with self._guard.acting(needed, what, device_id=device.serial):
            async with self._hold(device):
                yield device


async def _state(device: AdbDevice, keys: tuple[str, ...]) -> dict[str, Any]:
    dumps = (MAIN_DISPLAY, "dumpsys activity activities")  # long: only the lines that are read
    scripts = [device_script(f"{dump} | grep -E {{lines}}", lines=_LINES) for dump in dumps]
    scripts += map(device_script, (DISPLAY_SCRIPT, "cmd device_state state"))
    commands = (["getprop"], ["wm", "size"], ["wm", "density"], *device_health.SCREEN)
    window, activity, displays, posture, props, size, density, power, policy = await run_scripts(
        device, [*scripts, *map(device_command, commands)]
    )
    fold = _POSTURE.search(posture.text)
    prop = parse_getprop(props.text)
    width, height = parse_screen_size(f"{window.text}\n{size.text}", device.serial)
    turn, top = _TURN.search(window.text), _FRONT.search(window.text) or _FRONT.search(activity.text)
    screen = device_health.screen(power, policy, device.serial)
    evidence = screen.evidence or {}
    steps = [step.value for step in screen.fix] or list(screen.guidance)
    facts = {
        "model": prop.get("ro.product.model", ""),
        "manufacturer": prop.get("ro.product.manufacturer", ""),
        "android": prop.get("ro.build.version.release", ""),
        "sdk": parse_sdk(prop.get("ro.build.version.sdk", "")),
        "abi": prop.get("ro.product.cpu.abi", ""),
        "locale": prop.get("persist.sys.locale") or prop.get("ro.product.locale", ""),
        "width": width,
        "height": height,
        "density": parse_wm_density(density.text),
        "rotation": None if turn is None else int(turn[1]) if int(turn[1]) > 3 else int(turn[1]) * 90,
        "displays": [display.to_dict() for display in parse_displays(displays.text)],
        "fold": fold[1] if fold else None,
        "screen": evidence.get("wakefulness", "unknown"),
        "locked": evidence.get("locked"),
        "hint": " ".join([screen.summary + ".", *steps]) if steps else "",
        "app": top[1] if top else None,
        "activity": top[2] if top else None,
    }
    return _answer(device, **{key: facts[key] for key in keys or facts})


def _pid_of_current_user(text: str) -> int:
    """Return the pid in the output of ``_PROCESSES``: that of the current user, else the first; 0 without one."""
    first, *rest = text.splitlines() or [""]
    user = whole_number(first.strip()) or 0
    found = [(whole_number(pid) or 0, whole_number(uid)) for pid, _, uid in (line.partition(" ") for line in rest)]
    own = (pid for pid, uid in found if uid is not None and uid // IDS_PER_USER == user)
    return next(own, found[0][0] if found else 0)


def _answer(device: AdbDevice, **facts: Any) -> dict[str, Any]:
    return {"ok": True, "deviceId": device.serial, **facts}


def _refused(device: AdbDevice, message: str, *, output: str | None = None, hint: str | None = None) -> EngineError:
    """``output`` is what the device printed, which names the reason and decides the hint."""
    if output is not None:
        reason = parse_failure(output, 1) if output.strip() else "the device gave no reason"
        message, hint = f"{message}: {reason}", hint or refusal_hint(reason)
    return EngineError(ErrorCode.DEVICE_COMMAND_REFUSED, f"{device.serial}: {message}", hint=hint)
