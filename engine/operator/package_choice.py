"""Choose between the installed Operator apps (doctor.md#operator-setup)."""

from __future__ import annotations

from collections.abc import Collection

from clawperator.engine.adb.android_user import pm
from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.parse import package_manager_failure, parse_packages, refusal_hint
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES, RELEASE_PACKAGE, listed_as, variants
from clawperator.engine.errors import EngineError, ErrorCode

_LONGEST_QUOTE = 1_000


def list_command(package: str = "") -> str:
    """Return the shell text whose output :func:`installed` reads: it lists at least both variants."""
    return pm("list packages", listed_as(package or RELEASE_PACKAGE))


def installed(answer: BatchOutput, serial: str) -> list[str]:
    """Return the listed packages. Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE) if the package manager failed."""
    if not answer.ok:
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"{serial}: {package_manager_failure(answer.text, answer.exit_code)}",
            hint=refusal_hint(answer.text),
            details={"exitCode": answer.exit_code, "stderr": answer.text.strip()[:_LONGEST_QUOTE]},
        )
    return parse_packages(answer.text)


def choose(wanted: str, listed: Collection[str], serial: str) -> str:
    """Return ``wanted`` if it is installed; '' chooses the only installed variant.

    Raises ``EngineError``: RECEIVER_NOT_INSTALLED, or OPERATOR_VERIFY_FAILED if both are installed.
    """
    found = [package for package in OPERATOR_PACKAGES if package in listed]
    if wanted:
        if wanted in listed:
            return wanted
        other = next((name for name in variants(wanted)[1:] if name in listed), None)
        hint = f"Pass --receiver-package {other}, which is installed." if other else None
        raise EngineError(
            ErrorCode.RECEIVER_NOT_INSTALLED,
            f"{wanted} is not installed on {serial}",
            hint=hint,
            details={"installed": found},
        )
    if len(found) > 1:
        raise ambiguous(found, serial)
    if not found:
        message = f"The Operator app is not installed on {serial}"
        raise EngineError(ErrorCode.RECEIVER_NOT_INSTALLED, message, hint="Run `clawperator operator setup`.")
    return found[0]


def ambiguous(found: Collection[str], serial: str) -> EngineError:
    """Return the error for several installed variants."""
    flags = " or ".join(f"--receiver-package {package}" for package in found)
    return EngineError(
        ErrorCode.OPERATOR_VERIFY_FAILED,
        f"Several Operator apps are installed on {serial}: {', '.join(found)}",
        hint=f"Choose one: {flags}.",
        details={"installed": list(found)},
    )
