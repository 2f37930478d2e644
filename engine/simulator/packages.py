"""Installed packages, and the package manager's texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

FIRST_APP_UID = 10_000


@dataclass(slots=True)
class SimulatedPackage:
    """One installed package. ``permissions`` are granted; ``stopped`` ones receive no broadcast until they are started."""

    name: str
    uid: int
    version_name: str = "1.0"
    version_code: int = 1
    system: bool = False
    enabled: bool = True
    stopped: bool = False
    permissions: set[str] = field(default_factory=set)
    requested: tuple[str, ...] = ()
    min_sdk: int = 21
    target_sdk: int = 35
    services: tuple[tuple[str, str], ...] = ()
    """Intent action and class of each service that others may bind."""
    users: set[int] | None = None
    """The Android users for which it is installed; ``None``: all."""

    def is_for(self, user: int) -> bool:
        return self.users is None or user in self.users

    @property
    def path(self) -> str:
        short = self.name.rsplit(".", 1)[-1]
        return f"/system/app/{short}/{short}.apk" if self.system else f"/data/app/~~{short}==/{self.name}-1/base.apk"


def version_code_of(version: str) -> int:
    """The Operator's numbering of its releases: 0.3.1 → 301900; 1 for a version that is no such triple."""
    found = re.match(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", version)
    major, minor, patch = map(int, found.groups()) if found else (0, 0, 0)
    return major * 10_000_000 + minor * 100_000 + patch * 1_000 + 900 if found else 1


def dumpsys_package(package: SimulatedPackage, launcher: str, sdk: int, users: Iterable[int], current: int) -> str:
    """``dumpsys package NAME`` in the order and indentation of the platform; ``launcher`` is the main activity, if any.

    ``current`` is the Android user in the foreground.
    """
    lines: list[str] = []
    if launcher:
        lines += _activity_table(package, launcher)
    if package.services:
        lines += _service_table(package)
    lines += ["Packages:", f"  Package [{package.name}] ({package.uid * 2654435761 % 2**28:07x}):"]
    id_line = f"    userId={package.uid}" if sdk < 34 else f"    appId={package.uid}"
    lines += [id_line, *_version_lines(package)]
    lines += ["    requested permissions:", *(f"      {name}" for name in package.requested)]
    for user in users:
        lines += _user_lines(package, user, current=user == current)
    return "\n".join(lines) + "\n"


def _activity_table(package: SimulatedPackage, launcher: str) -> list[str]:
    return [
        "Activity Resolver Table:",
        "  Non-Data Actions:",
        "      android.intent.action.MAIN:",
        f"        2ed55cc {package.name}/{launcher} filter d44378d",
        '          Action: "android.intent.action.MAIN"',
        '          Category: "android.intent.category.LAUNCHER"',
        "",
    ]


def _service_table(package: SimulatedPackage) -> list[str]:
    lines = ["Service Resolver Table:", "  Non-Data Actions:"]
    for action, name in package.services:
        lines += [
            f"      {action}:",
            f"        6f9e015 {package.name}/{name} filter 2450024",
            f'          Action: "{action}"',
        ]
    return [*lines, ""]


def _version_lines(package: SimulatedPackage) -> list[str]:
    flags = "SYSTEM HAS_CODE" if package.system else "HAS_CODE ALLOW_CLEAR_USER_DATA"
    return [
        f"    codePath={package.path.rpartition('/')[0]}",
        f"    versionCode={package.version_code} minSdk={package.min_sdk} targetSdk={package.target_sdk}",
        f"    versionName={package.version_name}",
        "    splits=[base]",
        f"    flags=[ {flags} ]",
        f"    dataDir=/data/user/0/{package.name}",
    ]


def _user_lines(package: SimulatedPackage, user: int, *, current: bool) -> list[str]:
    """The state of ``package`` for a user; permissions are granted to the one in the foreground."""
    there, stopped = str(package.is_for(user)).lower(), str(package.stopped).lower()
    state = f"installed={there} hidden=false suspended=false stopped={stopped}"
    lines = [f"    User {user}: ceDataInode=525404 {state} notLaunched=false enabled={0 if package.enabled else 2}"]
    lines.append("      runtime permissions:")
    granted = ((name, current and name in package.permissions) for name in package.requested)
    return [*lines, *(f"        {name}: granted={str(yes).lower()}" for name, yes in granted)]
