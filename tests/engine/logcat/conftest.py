"""Log records as a device writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

Record = Callable[..., bytes]


def make_record(
    message: bytes,
    *,
    tag: bytes = b"E",
    level: int = 4,
    pid: int = 8123,
    tid: int = 8190,
    uid: int = 10234,
    seconds: int = 1_700_000_000,
    nanoseconds: int = 5,
    log: int = 0,
    version: int = 4,
) -> bytes:
    payload = bytes((level,)) + tag + b"\0" + message + b"\0"
    extra = {1: b"", 2: struct.pack("<I", uid), 3: struct.pack("<I", log), 4: struct.pack("<II", log, uid)}[version]
    header = struct.pack("<HHiIII", len(payload), 20 + len(extra), pid, tid, seconds, nanoseconds)
    return header + extra + payload


@pytest.fixture(scope="session")
def record() -> Record:
    """Makes one record of ``logcat -B`` from the layout in Android's ``logger.h``."""
    return make_record
