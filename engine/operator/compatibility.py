"""Does the installed Operator speak the contract of this host (doctor contract §6)?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_packages
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.observe.probe import VERSION_NAME, variants
from clawperator.engine.version import CONTRACT_VERSION

ACCEPTED = frozenset({tuple(int(part) for part in CONTRACT_VERSION.split(".")[:2])})
"""``(major, minor)`` of the Operator versions that are wire-compatible with this host."""

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-[A-Za-z0-9]+(?:\.\d+)?)?", re.ASCII)
_VERSION_CODE = re.compile(r"^\s*versionCode=(\d{1,18})\b", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Version:
    major: int
    minor: int
    patch: int
    prerelease: bool

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """``MAJOR.MINOR.PATCH`` with an optional ``-label[.number]``, after dropping one trailing ``-d`` (debug builds)."""
        bare = text.strip().removesuffix("-d")
        match = _VERSION.fullmatch(bare)
        if match is None:
            return None
        return cls(int(match[1]), int(match[2]), int(match[3]), "-" in bare)


@dataclass(frozen=True, slots=True)
class Compatibility:
    """The probe's finding; ``error`` is ``None`` exactly when ``compatible``."""

    package: str
    apk_version: str = ""
    apk_version_code: int | None = None
    error: EngineError | None = None
    remediation: tuple[str, ...] = ()

    @property
    def compatible(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """The answer of ``version --check-compat`` (command line contract §3.1)."""
        answer: dict[str, Any] = {"cliVersion": CONTRACT_VERSION}
        if self.apk_version:
            answer["apkVersion"] = self.apk_version
        if self.apk_version_code is not None:
            answer["apkVersionCode"] = self.apk_version_code
        answer |= {"receiverPackage": self.package, "compatible": self.compatible}
        if self.error is not None:
            answer["error"] = self.error.to_dict()
            answer["remediation"] = list(self.remediation)
        return answer


async def check_compatibility(device: AdbDevice, package: str, *, strict: bool = False) -> Compatibility:
    """Probe ``package`` on ``device``. ``strict`` wants the very same ``MAJOR.MINOR.PATCH``, without prerelease label."""
    missing = await _missing(device, package)
    if missing is not None:
        return missing
    result = await device.shell(["dumpsys", "package", package])
    name = VERSION_NAME.search(result.text)
    if result.exit_code != 0 or name is None:
        error = EngineError(
            ErrorCode.APK_VERSION_UNREADABLE, f"The version of {package} cannot be read from dumpsys package"
        )
        return Compatibility(package, error=error, remediation=_reinstall(package))
    code = _VERSION_CODE.search(result.text)
    apk_version, apk_code = name[1].strip(), int(code[1]) if code else None
    verdict = _judge(apk_version, package, strict=strict)
    if verdict is None:
        return Compatibility(package, apk_version, apk_code)
    outdated = verdict.code is ErrorCode.VERSION_INCOMPATIBLE
    remediation = _upgrade(package, apk_version) if outdated else _reinstall(package)
    return Compatibility(package, apk_version, apk_code, verdict, remediation)


async def _missing(device: AdbDevice, package: str) -> Compatibility | None:
    other = variants(package)[1]
    result = await device.shell(["pm", "list", "packages", package.removesuffix(".dev")])
    if result.exit_code != 0:
        error = EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"The package manager of {device.serial} did not answer",
            details={"exitCode": result.exit_code, "stderr": result.error_text},
        )
        return Compatibility(package, error=error, remediation=("Unlock or reboot the device, then run doctor again.",))
    installed = parse_packages(result.text)
    if package in installed:
        return None
    if other in installed:
        error = EngineError(
            ErrorCode.RECEIVER_VARIANT_MISMATCH,
            f"{package} is not installed, {other} is",
            details={"expected": package, "found": other},
        )
        return Compatibility(package, error=error, remediation=(f"Pass --receiver-package {other}.",))
    error = EngineError(ErrorCode.RECEIVER_NOT_INSTALLED, f"{package} is not installed on {device.serial}")
    return Compatibility(package, error=error, remediation=(f"Install the Operator app {package} on {device.serial}.",))


def _judge(apk_version: str, package: str, *, strict: bool) -> EngineError | None:
    apk, host = Version.parse(apk_version), Version.parse(CONTRACT_VERSION)
    if host is None:
        return EngineError(
            ErrorCode.CLI_VERSION_INVALID, f"The host's own contract version {CONTRACT_VERSION} is no version"
        )
    if apk is None:
        return EngineError(
            ErrorCode.APK_VERSION_INVALID, f"{package} has the version {apk_version}, which is no version"
        )
    fits = apk == host and not apk.prerelease if strict else (apk.major, apk.minor) in ACCEPTED
    if fits:
        return None
    return EngineError(
        ErrorCode.VERSION_INCOMPATIBLE,
        f"{package} {apk_version} does not fit this host's contract {CONTRACT_VERSION}",
        details={"apkVersion": apk_version, "cliVersion": CONTRACT_VERSION, "strict": strict},
    )


def _upgrade(package: str, apk_version: str) -> tuple[str, ...]:
    return (
        f"Upgrade clawperator to a version that speaks the contract of {apk_version}.",
        f"Or install an Operator app {package} of version {CONTRACT_VERSION}.",
    )


def _reinstall(package: str) -> tuple[str, ...]:
    return (f"Reinstall {package}.", f"Look at `adb shell dumpsys package {package}`.")
