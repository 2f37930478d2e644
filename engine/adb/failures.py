"""Map adb's error texts to error codes.

Everything raises ``EngineError``. Three subclasses exist because callers handle them differently: after a broken
conversation (:class:`TransportError`) the outcome of a command is unknown, one of those exceeded our own deadline
(:class:`AdbTimeoutError`), and an output was too large to keep (:class:`OversizedError`).
"""

from __future__ import annotations

from clawperator.engine.errors import EngineError, ErrorCode


class TransportError(EngineError):
    """The device or the adb server disconnected during a request: what the device has done is unknown."""


class AdbTimeoutError(TransportError):
    """Our deadline passed first; the connection has been closed."""


class OversizedError(EngineError):
    """The device's output exceeds the limit; repeating the request would fail again."""


# In order of precedence: "device unauthorized" texts also mention servers, "more than one device" names emulators.
_KNOWN = (
    ("more than one", ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED),
    ("no such device", ErrorCode.DEVICE_NOT_FOUND),
    ("no devices", ErrorCode.NO_DEVICES),
    ("no emulators found", ErrorCode.NO_DEVICES),
    ("device unauthorized", ErrorCode.DEVICE_UNAUTHORIZED),
    ("device still authorizing", ErrorCode.DEVICE_UNAUTHORIZED),
    ("device offline", ErrorCode.DEVICE_OFFLINE),
    ("device still connecting", ErrorCode.DEVICE_OFFLINE),
    ("insufficient permissions", ErrorCode.ADB_NO_USB_PERMISSIONS),
    ("no permissions", ErrorCode.ADB_NO_USB_PERMISSIONS),
)


def refusal(text: str, *, serial: str = "") -> EngineError:
    """The error for a ``FAIL`` response. Unknown text is DEVICE_SHELL_UNAVAILABLE with a ``serial``, else ADB_SERVER_FAILED."""
    words = " ".join(text.split())
    lowered = words.lower()
    code = next((code for part, code in _KNOWN if part in lowered), None)
    if code is None and "device" in lowered and "not found" in lowered:
        code = ErrorCode.DEVICE_NOT_FOUND
    if code is None:
        code = ErrorCode.DEVICE_SHELL_UNAVAILABLE if serial else ErrorCode.ADB_SERVER_FAILED
    details = {"deviceId": serial, "adb": words} if serial else {"adb": words}
    return EngineError(code, f"adb: {words or 'refused without a reason'}", details=details)


def broken(what: str, *, serial: str = "") -> TransportError:
    """The connection ended before the response did."""
    code = ErrorCode.DEVICE_SHELL_UNAVAILABLE if serial else ErrorCode.ADB_SERVER_FAILED
    return TransportError(code, what, details={"deviceId": serial} if serial else None)


def oversized(what: str, limit: int, *, serial: str) -> OversizedError:
    """The device sends more than ``limit`` bytes of output."""
    size = f"{limit // 2**20} MiB" if limit >= 2**20 else f"{limit} bytes"
    return OversizedError(
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        f"{what}: the device's output is larger than {size}",
        details={"deviceId": serial, "limit": limit},
    )


def timed_out(what: str, seconds: float, *, serial: str = "") -> AdbTimeoutError:
    code = ErrorCode.DEVICE_SHELL_UNAVAILABLE if serial else ErrorCode.ADB_SERVER_FAILED
    details: dict[str, object] = {"deviceId": serial} if serial else {}
    details["timeoutMs"] = round(seconds * 1000)
    return AdbTimeoutError(code, f"{what}: no answer within {seconds:g} s", details=details)
