"""Facts about a device: Android's API level and the installed Operator apps, read in one round trip and cached."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple
from weakref import WeakSet

from clawperator.engine.adb.android_user import pm, settings
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_package_uids, parse_sdk
from clawperator.engine.adb.phones import IDENTITY_SCRIPT, booting, identity_of, without_identity
from clawperator.engine.contracts.operator_identity import (
    OPERATOR_PACKAGES,
    brand_of,
    listed_as,
    preferred,
    variants,
)
from clawperator.engine.errors import EngineError, ErrorCode

REMEMBER_SECONDS = 60.0
VERSION_NAME = re.compile(r"^\s*versionName=(.+)$", re.MULTILINE)
"""The version in the text of ``dumpsys package``; the first one counts (doctor.md#versions)."""


class DeviceFacts(NamedTuple):
    """``sdk`` is Android's API level; ``packages`` maps the installed Operator apps to their uid (-1: unknown).

    ``listed`` is false if the package manager did not answer: what is installed is then unknown. ``services`` are the enabled
    accessibility services, read where apps of both brands are installed.
    """

    sdk: int
    packages: Mapping[str, int]
    listed: bool = True
    services: tuple[str, ...] = ()

    def preferred(self, package: str) -> str:
        """Return the app to use where none was chosen (``operator_identity.preferred``)."""
        return preferred(package, self.packages, self.services)

    def uid_of(self, package: str) -> int | None:
        """Return the uid whose log lines are accepted: that of ``package``, else of its other build."""
        found = (self.packages.get(name, -1) for name in variants(package)[:2])
        return next((uid for uid in found if uid >= 0), None)

    @property
    def binary_log(self) -> bool:
        """Whether ``logcat -B`` can be read live: from API 24, except API 33, which does not flush it."""
        return self.sdk >= 24 and self.sdk != 33


_PROBES: WeakSet[Probe] = WeakSet()


class Probe:
    """Reads each device at most once per minute; call ``forget`` when something changed there."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, DeviceFacts]] = {}
        self._versions: dict[tuple[str, str], str] = {}
        _PROBES.add(self)

    async def facts(self, device: AdbDevice, package: str, *, any_app: bool = False) -> DeviceFacts:
        """Return what is installed; ``any_app``: an app in place of ``package`` will do.

        Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE) for an answer that cannot be parsed.
        """
        key = (device.serial, package)
        known = self._known.get(key)
        if (
            known is not None
            and self._clock() - known[0] < REMEMBER_SECONDS
            and (any_app or package in known[1].packages)
        ):
            return known[1]
        self._versions.pop(key, None)
        facts = await ask(device, package)
        if package in facts.packages or (any_app and facts.packages):
            self._known[key] = (self._clock(), facts)
        return facts

    async def phone(self, device: AdbDevice, package: str) -> str:
        """Return the identity of the phone, which is read with the facts about ``package`` unless that is empty.

        Raises ``EngineError`` (DEVICE_BOOTING) while Android is starting.
        """
        phones = device.server.phones
        if package and phones.known(device.serial, device.transport_id) is None:
            await self.facts(device, package, any_app=True)
        return await phones.of(device, booted=True)

    async def app(self, device: AdbDevice, package: str, *, chosen: bool) -> tuple[str, DeviceFacts]:
        """Return the Operator app to use, ``package`` itself if it was ``chosen``, and what is installed. Raises as ``facts``."""
        facts = await self.facts(device, package, any_app=not chosen)
        return package if chosen else facts.preferred(package), facts

    async def apk_version(self, device: AdbDevice, package: str) -> str:
        """Return ``versionName`` of an installed package; empty if it cannot be read."""
        key = (device.serial, package)
        if key not in self._versions:
            result = await device.shell(["dumpsys", "package", package])
            name = VERSION_NAME.search(result.text)
            self._versions[key] = name[1].strip() if name else ""
        return self._versions[key]

    def forget(self, serial: str) -> None:
        self.keep_only({known for known, _ in (*self._known, *self._versions)} - {serial})

    def keep_only(self, serials: Collection[str]) -> None:
        """Forget every other device: a serial that disappears may return as another device."""
        for known in (self._known, self._versions):
            for key in [key for key in known if key[0] not in serials]:
                del known[key]


def forget(serial: str) -> None:
    """Make every probe of this process forget the device: an app was installed there."""
    for probe in list(_PROBES):
        probe.forget(serial)


async def ask(device: AdbDevice, package: str) -> DeviceFacts:
    """Read the facts and, in the same round trip, which phone this is (``adb.phones``)."""
    base = listed_as(package)
    script = f"getprop ro.build.version.sdk; {IDENTITY_SCRIPT}; {pm('list packages', '-U', base)}"
    result = await device.script(script)
    if (starts := booting(result.text, device.serial)) is not None:
        raise starts
    first, _, rest = without_identity(result.text).partition("\n")
    if not (sdk := parse_sdk(first)):
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"{device.serial} did not report its Android version",
            details={"exitCode": result.exit_code, "stderr": result.stderr.decode(errors="replace").strip()},
        )
    device.server.phones.learn(device.serial, device.transport_id, identity_of(result.text, device.serial))
    if result.exit_code != 0 and "package:" not in rest:
        # Android before 8 does not know -U: log entries are then accepted by pid.
        result = await device.script(pm("list packages", base))
        rest = result.text
    packages = {name: uid for name, uid in parse_package_uids(rest).items() if name in variants(package)}
    answered = result.exit_code == 0 and ("package:" in rest or not rest.strip())
    return DeviceFacts(sdk, packages, answered or bool(packages), await _enabled(device, packages))


async def _enabled(device: AdbDevice, packages: Collection[str]) -> tuple[str, ...]:
    """Return the enabled accessibility services; nothing where at most one brand is installed: there is no choice."""
    if len({brand_of(name) for name in packages if name in OPERATOR_PACKAGES}) < 2:
        return ()
    from clawperator.engine.adb.accessibility import full_component
    from clawperator.engine.adb.secure_list import entries

    listed = await device.shell(settings("get", "secure", "enabled_accessibility_services"))
    return tuple(map(full_component, entries(listed.text.strip())))
