"""Read the state of the Operator app on a device in one round trip: installed, granted, enabled, bound."""

from __future__ import annotations

import re
from collections.abc import Collection

from clawperator.engine.adb import secure_list
from clawperator.engine.adb.accessibility import full_component, parse_accessibility
from clawperator.engine.adb.android_user import settings
from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_dumpsys_version, parse_sdk, parse_user_states
from clawperator.engine.contracts.operator_identity import (
    OPERATOR_PACKAGES,
    RELEASE_PACKAGE,
    listener_of,
    preferred,
    service_of,
)
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.compatibility import judge
from clawperator.engine.operator.grants import LISTENERS, POST_NOTIFICATIONS, SERVICES, SWITCH, settings_value
from clawperator.engine.operator.package_choice import installed, list_command
from clawperator.engine.operator.reports import InstalledVariant, OperatorStatus

_GRANTED = re.compile(rf"^\s*{re.escape(POST_NOTIFICATIONS)}: granted=(true|false)\b", re.MULTILINE)
_REQUESTED = re.compile(rf"^\s*{re.escape(POST_NOTIFICATIONS)}\s*$", re.MULTILINE)
_FIRST_WITH_RIGHT = 33


async def status(device: AdbDevice, package: str, *, accepted: Collection[str] = ()) -> OperatorStatus:
    """Return the state of ``package``; '' is the app that executions use if none is chosen, of both builds the release one.

    Raises ``EngineError``: DEVICE_SHELL_UNAVAILABLE if the device or its package manager does not answer.
    """
    known = tuple(dict.fromkeys([*([package] if package else []), *OPERATOR_PACKAGES]))
    listed, sdk, services, switch, listeners, dump, *dumps = await run_commands(
        device,
        [
            list_command(package),
            ("getprop", "ro.build.version.sdk"),
            settings("get", "secure", SERVICES),
            settings("get", "secure", SWITCH),
            settings("get", "secure", LISTENERS),
            ("dumpsys", "accessibility"),
            *(("dumpsys", "package", name) for name in known),
        ],
    )
    found = installed(listed, device.serial)
    texts = dict(zip(known, dumps, strict=True))
    present = tuple(name for name in known if name in found)
    entries, on = _value(services), _value(switch)
    enabled_services = secure_list.entries(entries or "")
    default = present[0] if present else RELEASE_PACKAGE
    chosen = package or preferred(default, present, set(map(full_component, enabled_services)))
    compatibility = judge(chosen, listed, texts[chosen], accepted=accepted)
    variants = tuple(_variant(name, texts[name]) for name in present)
    if chosen not in present:
        return OperatorStatus(device.serial, chosen, variants, compatibility)
    state = parse_accessibility(dump.text)
    in_list = _has(entries, service_of(chosen))
    enabled = None if None in (in_list, on) else bool(in_list) and (on or "").strip() == "1"
    count = len([entry for entry in enabled_services if entry.strip()])
    return OperatorStatus(
        device.serial,
        chosen,
        variants,
        compatibility,
        listed=in_list,
        enabled=enabled,
        bound=False if enabled is False else state.is_bound(service_of(chosen), count),
        suspended=state.ui_automation if state.known else None,
        notifications=_may_notify(texts[chosen].text, chosen, state.user, sdk.text),
        listener=_has(_value(listeners), listener_of(chosen)),
    )


def _value(answer: BatchOutput) -> str | None:
    """Return the setting; ``None`` if it cannot be read."""
    try:
        return settings_value(answer)
    except EngineError:
        return None


def _has(entries: str | None, entry: str) -> bool | None:
    return None if entries is None else secure_list.contains(entries, entry)


def _variant(package: str, dump: BatchOutput) -> InstalledVariant:
    version = parse_dumpsys_version(dump.text, package)
    return InstalledVariant(package, version.name[:200], version.code)


def _may_notify(dump: str, package: str, user: int, sdk: str) -> bool | None:
    """Return whether the app may post notifications for ``user``; ``None`` before Android 13, and if the dump does not say."""
    if parse_sdk(sdk) < _FIRST_WITH_RIGHT:
        return None
    granted = _GRANTED.search(parse_user_states(dump, package).get(user, dump))
    if granted is not None:
        return granted[1] == "true"
    return False if _REQUESTED.search(dump) else None
