"""Stopping the app of an abandoned plan.

A plan on the device cannot be cancelled (execution.md#one-execution-per-device); without its app, its next steps find no nodes.
"""

from __future__ import annotations

import re

from clawperator.engine.adb.android_user import am
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import refusal_hint
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode


def require_package(package: str) -> str:
    """Return ``package``. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) if it is not an Android package name."""
    if len(package) <= 255 and re.fullmatch(PACKAGE, package, re.ASCII):
        return package
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        "package must be an Android package name",
        hint="Use an application id such as com.android.settings; `clawperator packages list` lists them.",
        details={"path": "package", "reason": f"got {package[:255]!r}"},
    )


async def force_stop(device: AdbDevice, package: str) -> None:
    """Stop every process of ``package``, without the device lock: the abandoned plan may hold it.

    Raises ``EngineError``: EXECUTION_VALIDATION_FAILED for an invalid package name, DEVICE_SHELL_UNAVAILABLE if the device
    refuses, and errors of the connection.
    """
    result = await device.shell(am("force-stop", require_package(package)))
    if result.exit_code != 0:
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"{device.serial} did not stop {package}",
            hint=refusal_hint(result.error_text),
            details={"package": package, "exitCode": result.exit_code, "stderr": result.error_text},
        )
