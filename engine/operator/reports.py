"""The results of setup, grants, status and crash log, in the shapes of cli.md#commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawperator.engine.executions.compatibility import Compatibility

UNKNOWN_PACKAGE = "<unknown>"
"""The package in an error before it is known (cli.md#commands)."""


@dataclass(frozen=True, slots=True)
class ListGrant:
    """A component in one of the secure lists. ``already_enabled``: nothing was written. ``error`` is empty when ``ok``."""

    ok: bool
    already_enabled: bool = False
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": self.ok, "alreadyEnabled": self.already_enabled}
        return {**answer, "error": self.error} if self.error else answer


@dataclass(frozen=True, slots=True)
class NotificationGrant:
    """The permission to post notifications. ``skipped``: this Android version does not have it; ``error`` is its message."""

    ok: bool
    skipped: bool = False
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": self.ok, "skipped": self.skipped}
        return {**answer, "error": self.error} if self.error else answer


@dataclass(frozen=True, slots=True)
class Permissions:
    """The three permissions in the order in which they are granted (doctor.md#operator-setup)."""

    accessibility: ListGrant
    notification: NotificationGrant
    notification_listener: ListGrant

    @property
    def ok(self) -> bool:
        return self.accessibility.ok and self.notification.ok and self.notification_listener.ok

    @property
    def error(self) -> str:
        """Return the error of the first failing grant; empty when all succeeded."""
        grants = (self.accessibility, self.notification, self.notification_listener)
        return next((grant.error or "rejected without a reason" for grant in grants if not grant.ok), "")

    @property
    def already_enabled(self) -> bool:
        """Return whether nothing was missing before."""
        listed = self.accessibility.already_enabled and self.notification_listener.already_enabled
        return listed and not self.notification.skipped

    def to_dict(self) -> dict[str, Any]:
        return {
            "accessibility": self.accessibility.to_dict(),
            "notification": self.notification.to_dict(),
            "notificationListener": self.notification_listener.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class GrantReport:
    """The result of ``grant-device-permissions``. ``repaired``: the service was enabled but not running, and was restarted."""

    device_id: str
    package: str
    permissions: Permissions
    round_trip_ms: int = 0
    repaired: bool = False

    @property
    def message(self) -> str:
        if self.repaired:
            return f"The accessibility service of {self.package} was not running. It was restarted and responds"
        had = "already had" if self.permissions.already_enabled else "has"
        return f"{self.package} {had} its permissions and responds"

    def to_dict(self) -> dict[str, Any]:
        return {
            "receiverPackage": self.package,
            **self.permissions.to_dict(),
            "message": self.message,
            "deviceId": self.device_id,
            "repaired": self.repaired,
            "handshake": {"ok": True, "roundTripMs": self.round_trip_ms},
        }


@dataclass(frozen=True, slots=True)
class SetupReport:
    """The result of a successful ``operator setup``. ``apk`` is the path of the installed file.

    ``round_trip_ms`` is the duration of the handshake; ``remark`` why the first snapshot shows nothing, if it does.
    """

    device_id: str
    package: str
    apk: str
    version_name: str
    permissions: Permissions
    round_trip_ms: int = 0
    remark: str = ""

    @property
    def message(self) -> str:
        if self.remark:
            return f"{self.package} is installed and answers, but the screen cannot be read yet: {self.remark}"
        if self.permissions.already_enabled:
            return f"{self.package} is installed. Its permissions were already granted"
        return f"{self.package} is installed and ready. To check everything, run: clawperator doctor"

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "receiverPackage": self.package,
            "install": {"ok": True},
            "permissions": self.permissions.to_dict(),
            "verification": {"ok": True, "packageInstalled": True},
            "message": self.message,
            "deviceId": self.device_id,
            "apk": self.apk,
            "roundTripMs": self.round_trip_ms,
        }
        return {**answer, "apkVersion": self.version_name} if self.version_name else answer


@dataclass(frozen=True, slots=True)
class InstalledVariant:
    """One of the two Operator packages on the device; ``version_name`` '' and ``version_code`` -1 if unreadable."""

    package: str
    version_name: str = ""
    version_code: int = -1

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"package": self.package, "versionName": self.version_name or None}
        return {**answer, "versionCode": self.version_code if self.version_code >= 0 else None}


@dataclass(frozen=True, slots=True)
class OperatorStatus:
    """The state of the Operator app ``package`` on a device.

    ``listed``: its service is in the secure list; ``enabled``: and accessibility is switched on; ``bound``: the service is
    running; ``listener``: the notification listener is in its list; each ``None`` if unknown. ``notifications`` is ``None`` on Android versions without that permission. ``suspended``: a
    test client holds UiAutomation, which stops accessibility services.
    """

    device_id: str
    package: str
    installed: tuple[InstalledVariant, ...]
    compatibility: Compatibility
    listed: bool | None = False
    enabled: bool | None = False
    bound: bool | None = None
    suspended: bool | None = False
    notifications: bool | None = None
    listener: bool | None = False

    @property
    def ready(self) -> bool:
        """Return whether the app is supported and enabled, and its service is not known to be stopped."""
        return self.compatibility.compatible and self.enabled is True and self.bound is not False

    @property
    def message(self) -> str:
        """Return the most important problem with the next step."""
        if self.compatibility.error is not None:
            steps = " ".join(self.compatibility.remediation[:1])
            return f"{self.compatibility.error.message}. {steps}".strip()
        if self.enabled is None:
            return "The accessibility settings cannot be read. `clawperator doctor` checks whether the app responds."
        if not self.enabled:
            return f"The accessibility service is switched off. Run: clawperator grant-device-permissions{self._of()}"
        if self.bound is False and self.suspended:
            return "Another program holds UiAutomation, which stops the accessibility service. `clawperator doctor` names it."
        if self.bound is False:
            return f"The accessibility service is switched on but not running. Run: clawperator grant-device-permissions --force{self._of()}"
        return (
            f"{self.package} is ready"
            if self.bound
            else f"{self.package} is enabled. To check that it responds, run: clawperator doctor"
        )

    def _of(self) -> str:
        return f" --device-id {self.device_id} --receiver-package {self.package}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "deviceId": self.device_id,
            "receiverPackage": self.package,
            "ready": self.ready,
            "installed": [variant.to_dict() for variant in self.installed],
            "compatibility": self.compatibility.to_dict(),
            "accessibility": {"listed": self.listed, "enabled": self.enabled, "bound": self.bound},
            "uiAutomationHeld": self.suspended,
            "notification": {"granted": self.notifications},
            "notificationListener": {"listed": self.listener},
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class CrashReport:
    """One recorded crash. ``at`` is the device's local time, as recorded.

    ``kind`` is ``java`` or ``native``, ``source`` ``crash-buffer`` or ``dropbox``; ``pid`` is 0 if unknown. ``cut`` counts
    lines that were omitted at the end.
    """

    at: str
    kind: str
    source: str
    process: str
    pid: int
    summary: str
    lines: tuple[str, ...]
    cut: int = 0

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "at": self.at,
            "kind": self.kind,
            "source": self.source,
            "process": self.process,
            "pid": self.pid or None,
            "summary": self.summary,
            "lines": list(self.lines),
        }
        return {**answer, "cutLines": self.cut} if self.cut else answer


@dataclass(frozen=True, slots=True)
class CrashLog:
    """Crashes of the Operator app, newest first; ``left_out`` counts older ones beyond the line limit.

    ``trouble`` maps a source that could not be read to its error.
    """

    device_id: str
    packages: tuple[str, ...]
    crashes: tuple[CrashReport, ...]
    left_out: int = 0
    trouble: Mapping[str, str] | None = None

    @property
    def message(self) -> str:
        if not self.crashes:
            return f"The device has recorded no crash of {' or '.join(self.packages)}"
        plural = "" if len(self.crashes) == 1 else "es"
        more = f", {self.left_out} older omitted" if self.left_out else ""
        return f"{len(self.crashes)} crash{plural}, the newest first{more}"

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "deviceId": self.device_id,
            "packages": list(self.packages),
            "crashes": [crash.to_dict() for crash in self.crashes],
            "count": len(self.crashes),
            "leftOut": self.left_out,
            "message": self.message,
        }
        return {**answer, "trouble": dict(self.trouble)} if self.trouble else answer
