"""The one thing that can be done about a plan that nobody waits for any more: stop the app that it works in.

The device cannot be told to stop a plan (execution.md#one-execution-per-device). Without its app the plan's next steps find nothing.
"""

from __future__ import annotations

import re

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode


async def force_stop(device: AdbDevice, package: str) -> None:
    """Stop every process of ``package``, past the device's lock: whoever holds it may be why.

    Raises ``EngineError``: EXECUTION_VALIDATION_FAILED for what is no package name, DEVICE_SHELL_UNAVAILABLE where the
    device refuses, and what the connection raises.
    """
    if re.fullmatch(PACKAGE, package, re.ASCII) is None:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            "package must be an Android package name",
            details={"path": "package", "reason": f"got {package[:255]!r}"},
        )
    result = await device.shell(["am", "force-stop", package])
    if result.exit_code != 0:
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"{device.serial} did not stop {package}",
            details={"package": package, "exitCode": result.exit_code, "stderr": result.error_text},
        )
