"""Transfer files over adb's sync service, with the conversations of ``sync``.

Files on this machine are read and written in a worker thread, a megabyte at a time, so that a slow disk never stalls the
event loop.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from clawperator.engine.adb.connection import AdbConnection, deadline
from clawperator.engine.adb.failures import TransportError, oversized
from clawperator.engine.adb.sync import (
    SYNC_CHUNK,
    sync_finish,
    sync_next_chunk,
    sync_packet,
    sync_request,
)
from clawperator.engine.errors import EngineError, ErrorCode

Source = bytes | str | os.PathLike[str]
"""Content, or the path of a file on this machine."""
Progress = Callable[[int], None]
"""Called with the number of bytes moved so far, after each batch."""

BATCH = 16 * SYNC_CHUNK


async def batches(source: Source) -> AsyncGenerator[bytes]:
    """The source's bytes in pieces of at most :data:`BATCH`."""
    if isinstance(source, bytes):
        for at in range(0, len(source), BATCH):
            yield source[at : at + BATCH]
        return
    with _disk_errors("read", source):
        stream = await asyncio.to_thread(Path(source).open, "rb")
        with stream:
            while piece := await asyncio.to_thread(stream.read, BATCH):
                yield piece


def source_size(source: Source) -> int:
    if isinstance(source, bytes):
        return len(source)
    with _disk_errors("read", source):
        return Path(source).stat().st_size


@contextmanager
def _disk_errors(verb: str, path: object) -> Iterator[None]:
    """Convert errors of files on this machine, as opposed to the device's own."""
    try:
        yield
    except OSError as exc:
        name = str(path)
        raise EngineError(
            ErrorCode.INVALID_PATH, f"cannot {verb} {name}: {exc.strerror or exc}", details={"path": name}
        ) from exc


async def send_file(
    connection: AdbConnection, source: Source, remote: str, *, mode: int, mtime: int, progress: Progress | None
) -> int:
    """SEND ``source`` to ``remote`` and return the number of bytes sent. Raises ``EngineError`` with the device's reason."""
    await connection.send(sync_request(b"SEND", remote, f",{mode | 0o100000}"))
    sent = 0
    try:
        async for batch in batches(source):
            await connection.send(_data_packets(batch))
            sent += len(batch)
            if progress:
                progress(sent)
        await connection.send(sync_packet(b"DONE", mtime))
    except TransportError:
        await connection.run(sync_finish(connection.serial))  # the device stopped early: its reason is still unread
        raise
    await connection.run(sync_finish(connection.serial))
    return sent


def _data_packets(batch: bytes) -> bytes:
    pieces = (batch[at : at + SYNC_CHUNK] for at in range(0, len(batch), SYNC_CHUNK))
    return b"".join(sync_packet(b"DATA", piece) for piece in pieces)


async def receive_file(
    connection: AdbConnection,
    remote: str,
    limit: int,
    progress: Progress | None = None,
    *,
    patience: float | None = None,
) -> AsyncGenerator[bytes]:
    """RECV ``remote`` in batches, so that a file on disk is written in few steps.

    Raises ``EngineError`` where it is larger than ``limit`` bytes, or no chunk comes for ``patience`` seconds.
    """
    await connection.send(sync_request(b"RECV", remote))
    pending: list[bytes] = []
    waiting = received = 0
    while True:
        async with deadline(patience, "adb pull", serial=connection.serial):
            size = await connection.run(sync_next_chunk(connection.serial))
            if not size:
                break
            pending.append(await connection.exactly(size))
        waiting += size
        if received + waiting > limit:
            raise oversized(f"adb pull {remote}", limit, serial=connection.serial)
        if waiting >= BATCH:
            received += waiting
            yield b"".join(pending)
            pending, waiting = [], 0
            if progress:
                progress(received)
    if pending:
        yield b"".join(pending)
        if progress:
            progress(received + waiting)


async def save(pieces: AsyncIterator[bytes], target: str | os.PathLike[str]) -> int:
    """Write to a temporary file beside ``target`` and rename it, so that a broken transfer changes nothing."""
    path = Path(target)
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    written = 0
    with _disk_errors("write", path):
        stream = await asyncio.to_thread(part.open, "xb")
        try:
            async for piece in pieces:
                written += await asyncio.to_thread(stream.write, piece)
            await asyncio.to_thread(_finish, stream, part, path)
        except BaseException:
            with suppress(OSError):  # a full disk refuses the last bytes again
                stream.close()
            part.unlink(missing_ok=True)
            raise
    return written


def _finish(stream: BinaryIO, part: Path, path: Path) -> None:
    stream.close()
    part.replace(path)
