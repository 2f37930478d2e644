"""The apps of a device that can be opened: their entries as the package manager prints them, and one of them by its name.

Android prints the label of an entry only where the app's manifest has the text itself (``nonLocalizedLabel``); mostly it is a resource
of the APK. ``derived_name`` are words of the application id: "Settings" for ``com.android.settings``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from clawperator.engine.adb.android_user import CURRENT
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode

_SCRIPT = (
    "for k in LAUNCHER LEANBACK_LAUNCHER; do cmd package query-activities "
    f"{CURRENT}"
    ' -a android.intent.action.MAIN -c "android.intent.category.$k" 2>&1; done'
)
"""Without ``--brief``: only the long form has labels. Apps of televisions may have an entry there only."""
_ANSWERED = re.compile(r"^(?:\d{1,9} activities found:|No activities found)", re.MULTILINE | re.ASCII)
_NO_CMD = re.compile(r"\bcmd: (?:inaccessible or )?not found")
_ENTRY = re.compile(r"^ {2}Activity #\d{1,9}:\s*$", re.MULTILINE | re.ASCII)
_LABEL = re.compile(
    r"labelRes=0x([0-9a-f]{1,8}) nonLocalizedLabel=(.*) icon=0x[0-9a-f]{1,8}(?: banner=0x[0-9a-f]{1,8})?", re.ASCII
)
_LEVELS = ("ActivityInfo:", "ApplicationInfo:")
_GENERAL = {"android", "app", "apps", "client", "debug", "dev", "mobile", "release"}
"""Last words of application ids that name no app: ``com.twitter.android``."""
_NEAREST = 3
_MOST_CANDIDATES = 20


class LaunchableApp(NamedTuple):
    """``activity`` is the app's first launcher entry; ``label`` is ``None`` where the device does not state it."""

    application_id: str
    activity: str
    label: str | None

    @property
    def derived_name(self) -> str:
        """Words made of the application id; not what the screen shows."""
        words = self.application_id.split(".")
        while len(words) > 2 and words[-1].lower() in _GENERAL:
            words.pop()
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", words[-1]).split()
        return " ".join(word[:1].upper() + word[1:] for word in spaced) or words[-1]

    def to_dict(self) -> dict[str, Any]:
        return {
            "applicationId": self.application_id,
            "label": self.label,
            "derivedName": self.derived_name,
            "activity": self.activity,
        }

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called, as names are compared."""
        return tuple(_plain(name) for name in (self.label or "", self.derived_name, self.application_id) if name)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


# -- reading


def parse_apps(text: str) -> list[LaunchableApp]:
    """Return the apps of ``cmd package query-activities`` in its long form, each once, in the device's order."""
    found: dict[str, LaunchableApp] = {}
    for block in _ENTRY.split(text)[1:]:
        if (app := _entry(block)) is not None:
            found.setdefault(app.application_id, app)
    return list(found.values())


def _entry(block: str) -> LaunchableApp | None:
    """The app of one entry. The label is that of the entry's filter, else of its activity, else of the application."""
    facts: dict[tuple[int, str], str] = {}
    packages: set[str] = set()
    level = 0
    for line in map(str.strip, block.split("\n")):  # a label may have other line ends
        if level < len(_LEVELS) and line == _LEVELS[level]:
            level += 1
        key, mark, value = line.partition("=")
        if mark and key == "packageName":
            packages.add(value)
        if mark and key in ("name", "packageName", "labelRes"):
            facts.setdefault((level, key), line if key == "labelRes" else value)
    package = facts.get((1, "packageName"), "")
    if len(packages) > 1:  # a label with lines of its own, which name another app
        return None
    if not re.fullmatch(PACKAGE, package, re.ASCII) or len(package) > MAX_MATCHER_VALUE_LENGTH:
        return None
    stated = (_stated(facts[level, "labelRes"]) for level in range(3) if (level, "labelRes") in facts)
    label = next((text for text in stated if text != ""), None)
    return LaunchableApp(package, facts.get((1, "name"), ""), label)


def _stated(line: str) -> str | None:
    """The text of a label; ``None`` for one in the app's resources, empty where there is none."""
    found = _LABEL.fullmatch(line)
    if found is None:
        return None
    text = "" if found[2] == "null" else found[2].strip()[:MAX_MATCHER_VALUE_LENGTH]
    return text or ("" if not found[1].strip("0") else None)


async def launchable_apps(device: AdbDevice) -> list[LaunchableApp]:
    """Return the apps that the current user can open, in one round trip. Raises ``EngineError`` (DEVICE_COMMAND_REFUSED)."""
    done = await device.script(_SCRIPT)
    if not _ANSWERED.search(done.text):
        reason = parse_failure(done.text, done.exit_code or 1) or "the device gave no reason"
        if _NO_CMD.search(done.text):
            reason = "Android before 7.0 does not list them"
        raise EngineError(
            ErrorCode.DEVICE_COMMAND_REFUSED,
            f"{device.serial}: its launcher entries cannot be listed: {reason}",
            hint=refusal_hint(reason) or "Use an application id: `clawperator packages list` lists them.",
        )
    return parse_apps(done.text)


# -- choosing


def search(apps: Iterable[LaunchableApp], text: str) -> list[LaunchableApp]:
    """Return the apps with ``text`` in the label, the derived name or the id, those that are called so first; all for no text."""
    wanted = _plain(text)
    found = [app for app in apps if any(wanted in name for name in app.names)]
    return sorted(found, key=lambda app: wanted not in app.names)


def app_called(apps: Sequence[LaunchableApp], name: str) -> LaunchableApp:
    """Return the one app with this label, derived name or id. Raises ``EngineError`` (APP_NOT_FOUND), also where several have it."""
    found = [app for app in apps if _plain(name) in app.names]
    if len(found) == 1:
        return found[0]
    if found:
        raise EngineError(
            ErrorCode.APP_NOT_FOUND,
            f"{len(found)} apps are called {name!r}",
            hint=f"Give the application id of one: {', '.join(app.application_id for app in found[:_NEAREST])}.",
            details={"name": name, "candidates": [app.to_dict() for app in found[:_MOST_CANDIDATES]]},
        )
    near = nearest(apps, name)
    hint = f"Did you mean '{near[0].application_id}'? " if near else ""
    raise EngineError(
        ErrorCode.APP_NOT_FOUND,
        f"No app that can be opened is called {name!r}",
        hint=f"{hint}`clawperator apps` lists them.",
        details={"name": name, "nearest": [app.to_dict() for app in near]},
    )


def nearest(apps: Sequence[LaunchableApp], name: str) -> list[LaunchableApp]:
    """Return a few apps that ``name`` may mean."""
    by_name = {called: app for app in apps for called in app.names}
    close = (by_name[called] for called in get_close_matches(_plain(name), by_name, _NEAREST))
    return (search(apps, name) or list(dict.fromkeys(close)))[:_NEAREST]
