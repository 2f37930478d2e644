"""Compatibility of the installed Operator app (doctor.md#versions)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from clawperator.engine.adb.android_user import pm
from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import (
    package_manager_failure,
    parse_dumpsys_version,
    parse_packages,
    parse_user_states,
    refusal_hint,
)
from clawperator.engine.contracts.generation import is_newer
from clawperator.engine.contracts.operator_identity import listed_as, variants
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.version import OPERATOR_RANGES, OPERATOR_RELEASES, __version__

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-[A-Za-z0-9]+(?:\.\d+)?)?", re.ASCII)
_PAIR = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
_LONGEST_QUOTE = 1_000


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
    """The result of the check; ``error`` is ``None`` if compatible."""

    package: str
    apk_version: str = ""
    apk_version_code: int | None = None
    error: EngineError | None = None
    remediation: tuple[str, ...] = ()

    @property
    def compatible(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer of ``version --check-compat`` (cli.md#commands)."""
        answer: dict[str, Any] = {"cliVersion": __version__}
        if self.apk_version:
            answer["apkVersion"] = self.apk_version
        if self.apk_version_code is not None:
            answer["apkVersionCode"] = self.apk_version_code
        answer |= {"receiverPackage": self.package, "compatible": self.compatible}
        if self.error is not None:
            answer["error"] = self.error.to_dict()
            answer["remediation"] = list(self.remediation)
        return answer


async def check_compatibility(
    device: AdbDevice, package: str, *, strict: bool = False, accepted: Collection[str] = ()
) -> Compatibility:
    """Read ``package`` on ``device`` in one round trip; arguments and result as those of ``judge``.

    Raises ``EngineError`` where the device cannot be reached.
    """
    commands = (pm("list packages", listed_as(package)), ["dumpsys", "package", package])
    listed, dump = await run_commands(device, commands)
    return judge(package, listed, dump, strict=strict, accepted=accepted)


def judge(
    package: str, listed: BatchOutput, dump: BatchOutput, *, strict: bool = False, accepted: Collection[str] = ()
) -> Compatibility:
    """Return the compatibility of ``package`` from fetched texts (doctor.md#versions, steps 1 to 8). Pure.

    ``listed`` is the output of ``pm list packages`` for the release id, ``dump`` that of ``dumpsys package PACKAGE``. ``strict``
    requires exactly the tested release of a generation (``OPERATOR_RELEASES``). ``accepted`` are additional compatible
    ``major.minor`` (``Settings.accepted_versions``); other entries are ignored.
    """
    if Version.parse(__version__) is None:
        message = f"Clawperator's own version is invalid: {__version__}"
        return Compatibility(
            package, error=EngineError(ErrorCode.CLI_VERSION_INVALID, message), remediation=("Reinstall clawperator.",)
        )
    missing = _missing(package, listed, dump)
    if missing is not None:
        return missing
    version = parse_dumpsys_version(dump.text, package)
    if not dump.ok or not version.name:
        error = EngineError(
            ErrorCode.APK_VERSION_UNREADABLE, f"The version of {package} cannot be read from dumpsys package"
        )
        return Compatibility(package, error=error, remediation=_reinstall(package))
    code = version.code if version.code >= 0 else None
    verdict = refusal(version.name, package, strict=strict, accepted=accepted)
    if verdict is None:
        return Compatibility(package, version.name, code)
    outdated = verdict.code is ErrorCode.VERSION_INCOMPATIBLE
    remediation = _upgrade(package, version.name) if outdated else _reinstall(package)
    return Compatibility(package, version.name, code, verdict, remediation)


def absence(package: str, dump: str, where: str = "") -> str:
    """Return the sentence about an app that the current user does not have; ``dump`` is ``dumpsys package`` of it."""
    users = [user for user, state in parse_user_states(dump, package).items() if "installed=true" in state]
    words = f"{package} is not installed{where}"
    if not users:
        return words
    return f"{words} for the Android user in the foreground, only for user {' and user '.join(map(str, users))}"


def _missing(package: str, listed: BatchOutput, dump: BatchOutput) -> Compatibility | None:
    if not listed.ok:
        hint = refusal_hint(listed.text)
        error = EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            package_manager_failure(listed.text, listed.exit_code),
            hint=hint,
            details={"exitCode": listed.exit_code, "stderr": listed.text.strip()[:_LONGEST_QUOTE]},
        )
        remedy = hint or "Unlock or reboot the device, then run the doctor again."
        return Compatibility(package, error=error, remediation=(remedy,))
    installed = parse_packages(listed.text)
    if package in installed:
        return None
    other = next((name for name in variants(package)[1:] if name in installed), None)
    if other is not None:
        error = EngineError(
            ErrorCode.RECEIVER_VARIANT_MISMATCH,
            f"{other} is installed instead of {package}",
            details={"expected": package, "found": other},
        )
        return Compatibility(package, error=error, remediation=(f"Pass --receiver-package {other}.",))
    error = EngineError(ErrorCode.RECEIVER_NOT_INSTALLED, absence(package, dump.text, " on the device"))
    remediation = (f"Install the Operator app {package}: clawperator operator setup --apk <path>",)
    return Compatibility(package, error=error, remediation=remediation)


def refusal(apk_version: str, package: str, *, strict: bool = False, accepted: Collection[str]) -> EngineError | None:
    """Return why a version of the app is not supported (APK_VERSION_INVALID, VERSION_INCOMPATIBLE); ``None`` for one that is."""
    apk = Version.parse(apk_version)
    if apk is None:
        return EngineError(ErrorCode.APK_VERSION_INVALID, f"{package} has an invalid version: {apk_version[:80]}")
    if strict:
        fits = not apk.prerelease and f"{apk.major}.{apk.minor}.{apk.patch}" in OPERATOR_RELEASES.values()
    else:
        pair = apk.major, apk.minor
        fits = pair in _pairs(accepted) or any(first <= pair <= last for first, last in OPERATOR_RANGES)
    if fits:
        return None
    return EngineError(
        ErrorCode.VERSION_INCOMPATIBLE,
        f"{package} {apk_version} is not supported: clawperator {__version__} supports Operator {_supported(strict=strict)}",
        details={
            "apkVersion": apk_version,
            "cliVersion": __version__,
            "supported": list(OPERATOR_RELEASES.values() if strict else OPERATOR_RELEASES),
            "strict": strict,
        },
    )


def newer_words(apk_version: str, package: str) -> str:
    """Return the sentence about a version that is newer than all supported ones; empty for another one."""
    if not is_newer(apk_version):
        return ""
    return f"{package} {apk_version} is newer than what clawperator {__version__} knows: Operator {_supported(strict=False)}"


def _supported(*, strict: bool) -> str:
    """Return the supported releases in words: ``0.3, 0.5 to 0.12, 1.0 to 1.1``."""
    if strict:
        return ", ".join(OPERATOR_RELEASES.values())
    names = (("{}.{}".format(*first), "{}.{}".format(*last)) for first, last in OPERATOR_RANGES)
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in names)


def _pairs(accepted: Collection[str]) -> frozenset[tuple[int, int]]:
    found = (_PAIR.fullmatch(text.strip()) for text in accepted)
    return frozenset((int(match[1]), int(match[2])) for match in found if match)


def _upgrade(package: str, apk_version: str) -> tuple[str, ...]:
    return (
        f"Upgrade clawperator to a version that supports Operator {apk_version}.",
        f"Or install {package} of a supported version ({_supported(strict=False)}): clawperator operator setup --apk <path>",
    )


def _reinstall(package: str) -> tuple[str, ...]:
    return (f"Reinstall {package}.", f"Check `adb shell dumpsys package {package}`.")
