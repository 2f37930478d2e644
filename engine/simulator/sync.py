"""The device's end of adb's file transfer: STAT, LIST, SEND, RECV and their second versions."""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from clawperator.engine.adb.sync import SYNC_CHUNK, SYNC_MAX_PATH, sync_packet
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.filesystem import Stat
from clawperator.engine.simulator.streams import Channel, InputStream

MAX_FILE: Final = 128 * 1024 * 1024
_STAT = struct.Struct("<3I")
_STAT_V2 = struct.Struct("<IQQIIIIQqqq")
_NO_STAT: Final = Stat(0, 0, 0, 0, 0)


class _Ended(Exception):  # noqa: N818 - the host closed, or sent an unknown request
    """The conversation is over."""


class SyncService:
    """One ``sync:`` stream: requests one after the other until QUIT."""

    def __init__(self, device: SimulatedDevice, channel: Channel) -> None:
        self._files = device.files
        self._uid = device.shell_uid
        self._channel = channel
        self._input = InputStream(channel.read)

    async def run(self) -> None:
        handlers: dict[bytes, Callable[[str], Awaitable[None]]] = {
            b"STAT": self._stat,
            b"LIST": self._list,
            b"SEND": self._send,
            b"RECV": self._receive,
            b"STA2": lambda path: self._stat_v2(b"STA2", path, follow=True),
            b"LST2": lambda path: self._stat_v2(b"LST2", path, follow=False),
            b"LIS2": self._list_v2,
        }
        try:
            while (request := await self._exactly(8))[:4] in handlers:
                await handlers[request[:4]](await self._path(request))
        except _Ended:
            pass

    async def _path(self, request: bytes) -> str:
        size = int.from_bytes(request[4:], "little")
        if size > SYNC_MAX_PATH:
            await self._fail("path too long")
            raise _Ended
        return (await self._exactly(size)).decode("utf-8", "surrogateescape")

    async def _exactly(self, size: int) -> bytes:
        data = await self._input.exactly(size)
        if len(data) < size:
            raise _Ended
        return data

    async def _fail(self, reason: str) -> None:
        await self._channel.write(sync_packet(b"FAIL", reason.encode("utf-8", "surrogateescape")))

    # -- queries

    def _look(self, path: str, *, follow: bool) -> tuple[int, Stat]:
        """An errno (0 = success) and the stat."""
        try:
            return 0, self._files.stat(path, follow=follow, uid=self._uid)
        except OSError as exc:
            return exc.errno or 5, _NO_STAT

    async def _stat(self, path: str) -> None:
        _, info = self._look(path, follow=False)
        await self._channel.write(b"STAT" + _pack(info))

    async def _stat_v2(self, name: bytes, path: str, *, follow: bool) -> None:
        await self._channel.write(name + _pack_v2(*self._look(path, follow=follow)))

    async def _list(self, path: str) -> None:
        rows = [b"DENT" + _pack(info) + len(name).to_bytes(4, "little") + name for name, _, info in self._entries(path)]
        await self._channel.write(b"".join(rows) + b"DONE" + bytes(_STAT.size + 4))

    async def _list_v2(self, path: str) -> None:
        rows = [
            b"DNT2" + _pack_v2(error, info) + len(name).to_bytes(4, "little") + name
            for name, error, info in self._entries(path)
        ]
        await self._channel.write(b"".join(rows) + b"DONE" + bytes(_STAT_V2.size + 4))

    def _entries(self, path: str) -> list[tuple[bytes, int, Stat]]:
        """Name, errno and stat of a folder's entries; nothing for what cannot be listed."""
        try:
            names = self._files.list(path, uid=self._uid)
        except OSError:
            return []
        return [
            (name.encode("utf-8", "surrogateescape"), *self._look(posixpath.join(path, name), follow=False))
            for name in (".", "..", *names)
        ]

    # -- contents

    async def _send(self, path_and_mode: str) -> None:
        """DATA… DONE(mtime) → OKAY, or FAIL after everything was read."""
        path, _, mode = path_and_mode.rpartition(",")
        data = bytearray()
        problem = "" if path and mode.isdigit() and len(mode) < 9 else "missing , in ID_SEND"
        while (head := await self._exactly(8))[:4] == b"DATA":
            size = int.from_bytes(head[4:], "little")
            if size > SYNC_CHUNK:
                await self._fail("oversize data message")
                raise _Ended
            data += await self._exactly(size)
            if len(data) > MAX_FILE:
                problem = "No space left on device"
                data.clear()
        if head[:4] != b"DONE":
            await self._fail("invalid data message")
            raise _Ended
        problem = problem or self._store(path, int(mode), bytes(data), int.from_bytes(head[4:], "little"))
        await (self._fail(problem) if problem else self._channel.write(sync_packet(b"OKAY", 0)))

    def _store(self, path: str, mode: int, data: bytes, mtime: int) -> str:
        """Write the file; return the error text, or ""."""
        permissions = mode & 0o777 | (mode & 0o700) >> 3 | (mode & 0o400) >> 6
        try:
            self._files.write(path, data, parents=True, mode=permissions, mtime=mtime, uid=self._uid)
        except OSError as exc:
            return f"couldn't create file: {exc.strerror}"
        return ""

    async def _receive(self, path: str) -> None:
        try:
            data = self._files.read(path, uid=self._uid)
        except OSError as exc:
            await self._fail(f"open failed: {exc.strerror}")
            return
        pieces = (data[at : at + SYNC_CHUNK] for at in range(0, len(data), SYNC_CHUNK))
        await self._channel.write(b"".join(sync_packet(b"DATA", piece) for piece in pieces) + sync_packet(b"DONE", 0))


def _pack(info: Stat) -> bytes:
    return _STAT.pack(info.mode, info.size & 0xFFFFFFFF, info.mtime & 0xFFFFFFFF)


def _pack_v2(error: int, info: Stat) -> bytes:
    links = 0 if error else 1
    times = (info.mtime,) * 3
    return _STAT_V2.pack(error, 0, 0, info.mode, links, info.uid, info.gid, info.size, *times)
