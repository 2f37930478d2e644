"""Install an APK on a device and explain the package manager's errors (doctor.md#operator-setup)."""

from __future__ import annotations

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import InstallResult, refusal_hint
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.apk import ApkFacts
from clawperator.engine.progress import StageProgress
from clawperator.engine.text.suggestions import adb_line

INSTALL_SECONDS = 180.0
EXIT_REFUSED = 1
"""The exit code of ``adb install`` when the package manager rejects the APK."""
_LONGEST_ERROR = 2_000
_DEVICE_ERRORS = frozenset(
    {
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.NO_DEVICES,
        ErrorCode.DEVICE_UNAUTHORIZED,
        ErrorCode.DEVICE_OFFLINE,
        ErrorCode.ADB_SERVER_FAILED,
    }
)
"""Errors of a device that is gone or unusable, which are raised unchanged: nothing was installed."""

_UNINSTALL = "Uninstall the installed app first (its data is lost): {uninstall}"
_ADVICE: dict[str, tuple[str, str]] = {
    "UPDATE_INCOMPATIBLE": ("the installed app is signed with another key", _UNINSTALL),
    "SHARED_USER_INCOMPATIBLE": ("the installed app is signed with another key", _UNINSTALL),
    "INCONSISTENT_CERTIFICATES": ("the installed app is signed with another key", _UNINSTALL),
    "UID_CHANGED": ("the device has data of a previous installation", _UNINSTALL),
    "ALREADY_EXISTS": ("the app is already installed", _UNINSTALL),
    "DUPLICATE_PACKAGE": ("the app is already installed", _UNINSTALL),
    "VERSION_DOWNGRADE": ("a newer version is installed", f"Install a newer APK. {_UNINSTALL}"),
    "PERMISSION_MODEL_DOWNGRADE": ("a newer version is installed", f"Install a newer APK. {_UNINSTALL}"),
    "INSUFFICIENT_STORAGE": ("the device's storage is full", "Free storage on the device, then run setup again."),
    "DEXOPT": ("the device could not compile the app", "Free storage on the device, then run setup again."),
    "MEDIA_UNAVAILABLE": ("the device's storage is not available", "Check the device's storage, then run setup again."),
    "CONTAINER_ERROR": ("the device's storage is not available", "Check the device's storage, then run setup again."),
    "NO_MATCHING_ABIS": (
        "its native code{abis} is for another CPU architecture",
        "Use the APK for this device's CPU architecture, or the universal APK.",
    ),
    "CPU_ABI_INCOMPATIBLE": (
        "its native code{abis} is for another CPU architecture",
        "Use the APK for this device's CPU architecture, or the universal APK.",
    ),
    "OLDER_SDK": (
        "the device's Android version is too old{min_sdk}",
        "Use a device with a newer Android version, or an older APK.",
    ),
    "DEPRECATED_SDK_VERSION": (
        "the APK targets an Android version that this device no longer supports",
        "Use a newer APK.",
    ),
    "NEWER_SDK": ("the APK supports only older Android versions", "Use a newer APK."),
    "USER_RESTRICTED": (
        "the device does not allow the installation",
        "Unlock the device and confirm its dialog. If the developer options have 'Install via USB', switch it on.",
    ),
    "VERIFICATION_FAILURE": (
        "the device's app verification rejected it",
        "Unlock the device and confirm its dialog, or switch off 'Verify apps over USB' in the developer options.",
    ),
    "VERIFICATION_TIMEOUT": (
        "the device's app verification timed out",
        "Unlock the device and confirm its dialog, or switch off 'Verify apps over USB' in the developer options.",
    ),
    "ABORTED": (
        "it was cancelled on the device",
        "Unlock the device and confirm its dialog. Without one, see 'Verify apps over USB' and 'Install via USB' in the developer options.",
    ),
    "TEST_ONLY": ("it is a test-only build", "Use a release APK."),
    "NO_CERTIFICATES": ("it is not signed", "Use a release APK."),
    "INVALID_APK": ("the device reports a damaged APK", "Download the APK again."),
    "NOT_APK": ("the device reports that the file is not an APK", "Download the APK again."),
    "BAD_MANIFEST": ("the device cannot read its manifest", "Download the APK again."),
    "MANIFEST_MALFORMED": ("the device cannot read its manifest", "Download the APK again."),
    "UNEXPECTED_EXCEPTION": ("the device cannot parse it", "Download the APK again."),
    "CONFLICTING_PROVIDER": (
        "another app has the same content provider",
        "Uninstall the other variant of the Operator app first.",
    ),
    "MISSING_FEATURE": ("the device lacks a required feature", "Use another device."),
    "MISSING_SHARED_LIBRARY": ("the device lacks a required library", "Use another device."),
    "INTERNAL_ERROR": ("the device's package manager failed", "Reboot the device, then run setup again."),
}
"""The end of Android's constant → meaning and hint, with ``{uninstall}``, ``{abis}`` and ``{min_sdk}`` to fill in."""
_TEXTS = (
    ("can't find service", "INTERNAL_ERROR"),
    ("is the system running", "INTERNAL_ERROR"),
    ("not enough space", "INSUFFICIENT_STORAGE"),
    ("no space left", "INSUFFICIENT_STORAGE"),
    ("user restricted", "USER_RESTRICTED"),
    ("canceled by user", "USER_RESTRICTED"),
)
"""Texts of errors without a constant."""


async def install(device: AdbDevice, apk: ApkFacts, stage: StageProgress, *, seconds: float = INSTALL_SECONDS) -> None:
    """Install ``apk``, replacing an installed version, and report how much was sent.

    A cancelled installation leaves nothing behind: the device abandons a session whose data ends early.

    Raises ``EngineError``: OPERATOR_INSTALL_FAILED with ``install`` in ``extra``; transport errors if the device is gone.
    """

    def sent(size: int) -> None:
        fraction = size / apk.size if apk.size else 1.0
        message = "installing on the device" if size >= apk.size else ""
        stage.update(message, min(fraction, 1.0))

    try:
        result = await device.install(apk.path, progress=sent, timeout=seconds)
    except EngineError as exc:
        if exc.code in _DEVICE_ERRORS:
            raise
        raise _failed(
            exc.message, exc.message, hint="Check the connection to the device, then run setup again."
        ) from exc
    if not result.ok:
        raise refusal(result, apk, device.serial)


def refusal(result: InstallResult, apk: ApkFacts, serial: str) -> EngineError:
    """Return the package manager's error with its meaning and a hint."""
    reason, advice = _advice(result)
    advice = refusal_hint(f"{result.code} {result.message}") or advice
    uninstall = adb_line(serial, "uninstall", apk.package)
    abis = f" ({', '.join(apk.abis)})" if apk.abis else ""
    min_sdk = f": it needs API level {apk.min_sdk}" if apk.min_sdk else ""
    reported = ": ".join(dict.fromkeys(text for text in (result.code, result.message) if text))[:_LONGEST_ERROR]
    meaning = reason.format(abis=abis, min_sdk=min_sdk)
    message = f"{apk.package} was not installed: {f'{meaning} ({reported})' if meaning else reported}"
    return _failed(message, reported, hint=advice.format(uninstall=uninstall), code=result.code, exit_code=EXIT_REFUSED)


def _advice(result: InstallResult) -> tuple[str, str]:
    short = result.code.removeprefix("INSTALL_").removeprefix("PARSE_").removeprefix("FAILED_")
    if short in _ADVICE:
        return _ADVICE[short]
    reported = result.message.lower()
    known = next((name for words, name in _TEXTS if words in reported), "")
    return _ADVICE.get(known, ("", "Check the device's storage and screen, then run setup again."))


def _failed(message: str, reported: str, *, hint: str, code: str = "", exit_code: int | None = None) -> EngineError:
    phase: dict[str, object] = {"ok": False, "error": reported}
    if exit_code is not None:
        phase["exitCode"] = exit_code
    details = {"installCode": code} if code else None
    return EngineError(ErrorCode.OPERATOR_INSTALL_FAILED, message, hint=hint, details=details, extra={"install": phase})
