"""The shared log stream against a device that cuts its output anywhere, or makes the reader stumble."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from clawperator.engine.adb.connection import AdbConnection
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.executions.log_stream import DeviceLog
from clawperator.engine.executions.probe import DeviceFacts
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import Signal
from tests.support import patience

FACTS = {"binary": DeviceFacts(34, {}), "text": DeviceFacts(33, {})}


def entry(kind: str, message: str) -> bytes:
    """One log entry of uid 2000 as logcat prints it."""
    if kind == "text":
        return f"      1795186211.048  2000  4242  4242 I clawperator: {message}\n".encode()
    payload = b"\x04clawperator\0" + message.encode() + b"\0"
    return struct.pack("<HHiIIIII", len(payload), 28, 4242, 4242, 1_795_186_211, 48_000_000, 0, 2000) + payload


class NoServer:
    """The adb server of a device that is none."""

    async def connect(self, *, start: bool) -> None:
        raise EngineError(ErrorCode.ADB_SERVER_FAILED, f"there is none to connect to (start={start})")


class Dripping:
    """As much of a device as a log needs: its logcat gives the entries ``size`` bytes at a time, then nothing more."""

    serial = "drip"
    server = NoServer()

    def __init__(self, kind: str, size: int, *after: str) -> None:
        self.kind = kind
        self.size = size
        self.after = after

    @asynccontextmanager
    async def stream(self, script: str) -> AsyncIterator[AsyncIterator[tuple[int, bytes]]]:
        nonce = re.search(r"clawperator-nonce-\w+", script)
        assert nonce is not None
        yield self._drip(b"".join(entry(self.kind, message) for message in ("before", nonce[0], *self.after)))

    async def _drip(self, data: bytes) -> AsyncIterator[tuple[int, bytes]]:
        for at in range(0, len(data), self.size):
            yield 1, data[at : at + self.size]
        await asyncio.Event().wait()


def log_of(device: Any) -> DeviceLog:
    return DeviceLog(device, FACTS[device.kind], EventBus(), uid=10_190, command_id="")


@pytest.mark.parametrize("kind", FACTS)
@pytest.mark.parametrize("size", [1, 7, 40, 130, 10_000])
async def test_wherever_the_stream_is_cut_the_nonce_is_seen(kind: str, size: int) -> None:
    log = log_of(Dripping(kind, size))
    async with asyncio.timeout(patience(1)):
        await log.attach()
    await log.close()


class Listener:
    def __init__(self) -> None:
        self.ended: asyncio.Future[EngineError] = asyncio.get_running_loop().create_future()

    def on_nonce(self, nonce: str) -> None: ...

    def on_signal(self, signal: Signal) -> None: ...

    def on_closed(self, error: EngineError) -> None:
        self.ended.set_result(error)


async def test_a_fault_of_our_own_is_heard_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(_: OperatorLog, entries: Any) -> list[Signal]:
        if any(b"poison" in each.payload for each in entries):
            raise ZeroDivisionError("oops")
        return []

    monkeypatch.setattr(OperatorLog, "feed", stumble)
    log, listener = log_of(Dripping("binary", 1, "poison")), Listener()
    log.listen(listener)
    await log.attach()
    async with asyncio.timeout(patience(5)):
        error = await listener.ended
    assert error.code is ErrorCode.UNKNOWN_RUNTIME_ERROR
    assert isinstance(error.__cause__, ZeroDivisionError)
    await log.close()


async def test_a_cancellation_that_comes_together_with_the_nonce_is_not_lost() -> None:
    """``asyncio.wait_for`` of Python 3.11 drops it: whoever was told to stop then watched for ever."""
    log = log_of(Dripping("binary", 10_000))
    attaching = asyncio.create_task(log.attach())
    await asyncio.sleep(0)
    log._attached.add_done_callback(lambda _: attaching.cancel())
    with pytest.raises(asyncio.CancelledError):
        await attaching
    assert log.closed is None
    assert log._reader is not None
    assert log._reader.done()


async def test_a_close_that_is_cancelled_leaves_no_connection_open() -> None:
    """A task that is cancelled closes its log on the way out, and the end of the console cancels it once more."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        witness = AdbConnection(ours)
        device: Any = Dripping("binary", 10_000)
        device.server = SimpleNamespace(connect=AsyncMock(return_value=witness))
        log = log_of(device)
        await log.attach()
        closing = asyncio.create_task(log.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        assert ours.fileno() == -1
