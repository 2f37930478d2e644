"""adb's sync service (file transfer) without any I/O: conversations like those of ``protocol``, and packets."""

from __future__ import annotations

from typing import NamedTuple

from clawperator.engine.adb.failures import broken
from clawperator.engine.adb.protocol import encode_text
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.adb.protocol import Conversation

SYNC_CHUNK = 64 * 1024
SYNC_MAX_PATH = 1024


class FileStat(NamedTuple):
    """Mode (type and permission bits), size in bytes (modulo 2³² on the wire) and mtime (epoch seconds); zeros if absent."""

    mode: int
    size: int
    mtime: int

    @property
    def exists(self) -> bool:
        return self.mode != 0

    @property
    def is_dir(self) -> bool:
        return self.mode & 0o170000 == 0o040000


def sync_packet(identifier: bytes, argument: bytes | int = b"") -> bytes:
    """Four letters, then a u32: a number (DONE's mtime) or the length of the bytes that follow."""
    if isinstance(argument, int):
        return identifier + argument.to_bytes(4, "little")
    return identifier + len(argument).to_bytes(4, "little") + argument


def sync_request(identifier: bytes, path: str, suffix: str = "") -> bytes:
    """A request about ``path``; raises EXECUTION_VALIDATION_FAILED where the device would not accept it."""
    data = encode_text(path + suffix)
    if not path or "\0" in path or len(data) > SYNC_MAX_PATH:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"a device path has 1 to {SYNC_MAX_PATH} bytes and no NUL",
            details={"path": path[:200]},
        )
    return sync_packet(identifier, data)


def sync_stat(path: str, serial: str = "") -> Conversation[FileStat]:
    yield sync_request(b"STAT", path)
    yield from _expect_sync(b"STAT", serial)
    numbers = yield 12
    return FileStat(*(int.from_bytes(numbers[at : at + 4], "little") for at in (0, 4, 8)))


def sync_next_chunk(serial: str = "") -> Conversation[int]:
    """After RECV: the size of the next piece of the file, 0 at its end."""
    identifier = yield from _sync_identifier(serial)
    size = int.from_bytes((yield 4), "little")
    if identifier == b"DONE":
        return 0
    if identifier != b"DATA" or size > SYNC_CHUNK:
        raise broken(f"adb sync: unexpected response {identifier!r}", serial=serial)
    return size


def sync_finish(serial: str = "") -> Conversation[None]:
    """Read the device's confirmation after DONE of a SEND. Raises ``EngineError`` with its reason."""
    yield from _expect_sync(b"OKAY", serial)
    yield 4


def _expect_sync(wanted: bytes, serial: str) -> Conversation[None]:
    identifier = yield from _sync_identifier(serial)
    if identifier != wanted:
        raise broken(f"adb sync: unexpected response {identifier!r}", serial=serial)


def _sync_identifier(serial: str) -> Conversation[bytes]:
    """Return the four letters of the next response. Raises ``EngineError`` for FAIL."""
    identifier = yield 4
    if identifier == b"FAIL":
        size = int.from_bytes((yield 4), "little")
        reason = (yield min(size, SYNC_CHUNK)) if size else b""
        raise sync_refusal(reason.decode(errors="replace"), serial)
    return identifier


def sync_refusal(reason: str, serial: str) -> EngineError:
    """The device would not read or write a file."""
    return EngineError(
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        f"file transfer refused by the device: {reason or 'no reason given'}",
        hint="Check the path, its permissions and the free space on the device.",
        details={"deviceId": serial, "reason": reason},
    )
