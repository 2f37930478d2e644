"""One device behind the adb server: shell, files and installation.

Every command text comes from ``quote``: nothing here adds to it, so nothing here can break its quoting.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing, suppress
from typing import NamedTuple

from clawperator.engine.adb.android_user import CURRENT
from clawperator.engine.adb.connection import AdbConnection, deadline
from clawperator.engine.adb.failures import TransportError, broken, oversized
from clawperator.engine.adb.files import Progress, Source, batches, receive_file, save, send_file, source_size
from clawperator.engine.adb.parse import InstallResult, parse_install_result
from clawperator.engine.adb.protocol import (
    CLOSE_STDIN,
    MAX_OUTPUT,
    SERVICE_LIMIT,
    SERVICE_LIMIT_V1,
    STDERR,
    STDIN,
    STDOUT,
    ShellDecoder,
    encode_text,
    fits,
    open_service,
    shell_packet,
)
from clawperator.engine.adb.quote import device_command
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.adb.sync import FileStat, sync_stat
from clawperator.engine.errors import EngineError, ErrorCode

SHELL_TIMEOUT = 30.0
TRANSFER_TIMEOUT = 300.0
_CLEANING_TIMEOUT = 5.0
_SHELL_V2 = "shell_v2"
_SCRATCH = "/data/local/tmp/clawperator-"
_STDIN_AT_ONCE = 32 * 1024
"""Fits into the socket buffers: more is sent while the output is being read."""


class ShellResult(NamedTuple):
    """A finished command. ``exit_code`` is the program's (128 + signal where one killed it)."""

    stdout: bytes
    stderr: bytes
    exit_code: int

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 become U+FFFD."""
        return self.stdout.decode(errors="replace")

    @property
    def error_text(self) -> str:
        """The error text of the command: stderr, or stdout where stderr is empty (many tools use that)."""
        return (self.stderr.strip() or self.stdout.strip()).decode(errors="replace")

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


class ShellStream:
    """A running device command: iterate ``(STDOUT | STDERR, bytes)`` as they arrive, in large pieces.

    ``exit_code`` is set once the iteration has ended. A stream that ends without an exit code raises
    :class:`TransportError`: the outcome of the command is unknown then.
    """

    def __init__(self, connection: AdbConnection) -> None:
        self._connection = connection
        self._decoder = ShellDecoder()
        self._ready: deque[tuple[int, bytes]] = deque()
        self._limit: int | None = None
        self._taken = 0

    @property
    def exit_code(self) -> int | None:
        return self._decoder.exit_code

    def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        return self

    async def __anext__(self) -> tuple[int, bytes]:
        while not self._ready:
            if self._decoder.exit_code is not None:
                raise StopAsyncIteration
            data = await self._connection.read()
            if not data:
                raise broken("the device's shell ended without an exit code", serial=self._connection.serial)
            self._taken += len(data)  # headers, too: empty packets have no other size
            if self._limit is not None and self._taken > self._limit:
                raise oversized("device shell", self._limit, serial=self._connection.serial)
            self._ready.extend(self._decoder.feed(data))
        return self._ready.popleft()

    async def write(self, data: bytes) -> None:
        """Send to the command's stdin."""
        for at in range(0, len(data), _STDIN_AT_ONCE):
            await self._connection.send(shell_packet(STDIN, data[at : at + _STDIN_AT_ONCE]))

    async def close_stdin(self) -> None:
        """End of the command's input. (Half-closing the socket instead would make adb drop the output, fact 4g.)"""
        await self._connection.send(shell_packet(CLOSE_STDIN))

    async def collect(self, limit: int = MAX_OUTPUT) -> ShellResult:
        """Read to the end; a stream of more than ``limit`` bytes is an error."""
        parts: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        self._limit = limit
        async for channel, data in self:
            parts[channel].append(data)
        exit_code = self.exit_code
        assert exit_code is not None
        return ShellResult(b"".join(parts[STDOUT]), b"".join(parts[STDERR]), exit_code)


class PlainStream(ShellStream):
    """A ``ShellStream`` for devices without shell v2 (API 23 and less): one channel, no exit code, no stdin.

    It uses ``exec:``, which such devices run without a terminal, so that line ends stay unchanged.
    """

    async def __anext__(self) -> tuple[int, bytes]:
        if data := await self._connection.read():
            return STDOUT, data
        raise StopAsyncIteration

    async def write(self, data: bytes) -> None:
        raise _no_input(len(data))

    async def close_stdin(self) -> None:
        """There is nothing to close."""

    async def collect(self, limit: int = MAX_OUTPUT) -> ShellResult:
        """Standard output and stderr together; the exit code is read from the line that :func:`_with_exit_code` makes."""
        output = await self._connection.read_all(limit)
        stdout, marker, code = output.rpartition(_EXIT_MARKER)
        code = code.strip()
        if not marker or not code.isdigit() or len(code) > _LONGEST_EXIT_CODE:
            raise broken("the device's shell ended without an exit code", serial=self._connection.serial)
        return ShellResult(stdout, b"", int(code))


_EXIT_MARKER = b"clawperator-exit:"
_LONGEST_ANSWER = 64 * 1024
"""Bytes of the package manager's output for an installation."""
_LONGEST_EXIT_CODE = 3


def _with_exit_code(script: str) -> str:
    """Use a subshell, so that neither ``exit`` nor ``exec`` in the script skips the report."""
    return f"( {script}\n); echo {_EXIT_MARKER.decode()}$?"


class AdbDevice:
    """A device by serial. Holds no connection; errors as in :class:`~clawperator.engine.adb.server.AdbServer`."""

    def __init__(self, server: AdbServer, serial: str, transport_id: int = 0) -> None:
        if not serial:
            raise ValueError("a device needs a serial")
        self.server = server
        self.serial = serial
        self.transport_id = transport_id
        """Of the device list or of the newest connection; 0 if it is not known."""

    def __repr__(self) -> str:
        return f"AdbDevice({self.serial!r})"

    async def features(self, *, timeout: float | None = SHELL_TIMEOUT) -> frozenset[str]:
        """The features of the device's daemon: ``shell_v2``, ``cmd``, ``abb_exec`` and more; empty on old Android."""
        async with deadline(timeout, "adb features", serial=self.serial):
            connection, features = await self._select()
            connection.close()
            return features

    # -- commands ------------------------------------------------------------------------------------------------------

    async def shell(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = SHELL_TIMEOUT,
        limit: int = MAX_OUTPUT,
    ) -> ShellResult:
        """Run one program, each argument arriving unchanged. A non-zero exit code is a result, not an error."""
        return await self.script(device_command(argv), stdin=stdin, timeout=timeout, limit=limit)

    async def script(
        self,
        script: str,
        *,
        stdin: bytes = b"",
        timeout: float | None = SHELL_TIMEOUT,
        limit: int = MAX_OUTPUT,
        label: str = "",
    ) -> ShellResult:
        """Run shell text made by ``quote.device_script`` (or ``device_command``) and collect at most ``limit`` bytes of output.

        Text that is too long for a service string is sent to the stdin of ``sh``; then ``stdin`` must be empty, and the
        programs in it must not read their input. ``label`` replaces it in the log, where it contains secrets.
        """
        with self.server.trace.of(label or script, self.serial) as call:
            result = await self._script(script, stdin, timeout, limit)
            call.exit_code = result.exit_code
            return result

    async def _script(self, script: str, stdin: bytes, timeout: float | None, limit: int) -> ShellResult:
        async with deadline(timeout, "device shell", serial=self.serial):
            connection, features = await self._select()
            with closing(connection):
                if _SHELL_V2 in features:
                    stream, given = await self._open_v2(connection, script, stdin)
                    return await _exchange(stream, given, limit)
                stream = await self._open_v1(connection, _with_exit_code(script), stdin)
                return await stream.collect(limit)

    @asynccontextmanager
    async def stream(
        self, script: str, *, stdin: bytes | None = b"", timeout: float | None = SHELL_TIMEOUT
    ) -> AsyncIterator[ShellStream]:
        """Run shell text and read its output while it runs; leaving the block closes it (SIGHUP to its ``sh``).

        ``timeout`` covers the opening alone. ``stdin=None`` leaves the input open for :meth:`ShellStream.write`. The last program
        of the script must be started with ``exec``, or it survives the SIGHUP (fact 4h).
        """
        with self.server.trace.of(script, self.serial) as call:
            async with deadline(timeout, "device shell", serial=self.serial):
                connection, features = await self._select()
                try:
                    stream = await self._open_stream(connection, features, script, stdin)
                except BaseException:
                    connection.close()
                    raise
            with closing(connection):
                yield stream
            call.exit_code = stream.exit_code

    async def exec_out(
        self, argv: Sequence[str], *, timeout: float | None = SHELL_TIMEOUT, limit: int = MAX_OUTPUT
    ) -> bytes:
        """Raw output of a program (stdout and stderr together), no exit code: what ``adb exec-out`` gives."""
        command = device_command(argv)
        with self.server.trace.of(command, self.serial):
            async with deadline(timeout, "device exec", serial=self.serial):
                connection, features = await self._select()
                with closing(connection):
                    await self._request(connection, features, f"exec:{command}")
                    return await connection.read_all(limit)

    async def _select(self) -> tuple[AdbConnection, frozenset[str]]:
        """A connection to the device and the device's features. The caller closes it."""
        connection, transport_id = await self.server.select(self.serial)
        self.transport_id = transport_id
        try:
            return connection, await self.server.device_features(self.serial, transport_id)
        except BaseException:
            connection.close()
            raise

    async def _request(self, connection: AdbConnection, features: frozenset[str], service: str) -> None:
        await connection.run(open_service(service, serial=self.serial, limit=_limit(features)))

    async def _open_stream(
        self, connection: AdbConnection, features: frozenset[str], script: str, stdin: bytes | None
    ) -> ShellStream:
        if _SHELL_V2 not in features:
            return await self._open_v1(connection, script, stdin)
        stream, given = await self._open_v2(connection, script, stdin or b"")
        if given:
            await stream.write(given)
        if stdin is not None:
            await stream.close_stdin()
        return stream

    async def _open_v2(self, connection: AdbConnection, script: str, stdin: bytes) -> tuple[ShellStream, bytes]:
        """Start a shell. Also return what to send to its stdin: ``stdin``, or the script itself where it is too long."""
        service = f"shell,v2,raw:{script}"
        if not fits(service):
            if stdin:
                raise EngineError(
                    ErrorCode.PAYLOAD_TOO_LARGE, "a device command of this length cannot have input as well"
                )
            service, stdin = "shell,v2,raw:sh", encode_text(f"{script}\n")
        await connection.run(open_service(service, serial=self.serial))
        return ShellStream(connection), stdin

    async def _open_v1(self, connection: AdbConnection, script: str, stdin: bytes | None) -> ShellStream:
        if stdin:
            raise _no_input(len(stdin))
        service = f"exec:{script}"
        if not fits(service, SERVICE_LIMIT_V1):
            path = f"{_SCRATCH}{secrets.token_hex(8)}.sh"
            await self.push(encode_text(script), path, mode=0o600)
            service = f"exec:sh {path}; r=$?; rm -f {path}; exit $r"
        await connection.run(open_service(service, serial=self.serial, limit=SERVICE_LIMIT_V1))
        return PlainStream(connection)

    # -- files ---------------------------------------------------------------------------------------------------------

    async def push(
        self,
        source: Source,
        remote: str,
        *,
        mode: int = 0o644,
        mtime: int | None = None,
        progress: Progress | None = None,
        timeout: float | None = TRANSFER_TIMEOUT,
    ) -> int:
        """Write a file on the device; the number of bytes sent.

        ``mtime`` in epoch seconds, default now. The device takes the owner's bits of ``mode`` and derives the others.
        """
        async with self._sync("push", remote, timeout) as connection:
            stamp = int(time.time()) if mtime is None else mtime
            return await send_file(connection, source, remote, mode=mode, mtime=stamp, progress=progress)

    async def pull(self, remote: str, *, limit: int = MAX_OUTPUT, timeout: float | None = SHELL_TIMEOUT) -> bytes:
        """Read a device file. Raises ``OversizedError`` beyond ``limit`` bytes."""
        async with (
            self._sync("pull", remote, timeout) as connection,
            aclosing(receive_file(connection, remote, limit)) as pieces,
        ):
            return b"".join([piece async for piece in pieces])

    async def pull_to(
        self,
        remote: str,
        target: str | os.PathLike[str],
        *,
        limit: int,
        progress: Progress | None = None,
        timeout: float | None = TRANSFER_TIMEOUT,
    ) -> int:
        """Save a device file as ``target`` and return the number of bytes; ``target`` is replaced only when it is complete.

        Raises ``EngineError`` beyond ``limit`` bytes, and where the device sends nothing for ``SHELL_TIMEOUT``.
        """
        async with (
            self._sync("pull", remote, timeout) as connection,
            aclosing(receive_file(connection, remote, limit, progress, patience=SHELL_TIMEOUT)) as pieces,
        ):
            return await save(pieces, target)

    async def stat(self, remote: str, *, timeout: float | None = SHELL_TIMEOUT) -> FileStat:
        """Stat the file itself (links are not followed); all zeros, ``exists`` false, where there is none."""
        async with self._sync("stat", remote, timeout) as connection:
            return await connection.run(sync_stat(remote, self.serial))

    @asynccontextmanager
    async def _sync(self, what: str, remote: str, timeout: float | None) -> AsyncIterator[AdbConnection]:
        with self.server.trace.of(f"{what} {remote}", self.serial):
            async with deadline(timeout, f"adb {what}", serial=self.serial):
                connection, _ = await self.server.select(self.serial)
                with closing(connection):
                    await connection.run(open_service("sync:", serial=self.serial))
                    yield connection

    # -- installation --------------------------------------------------------------------------------------------------

    async def install(
        self,
        source: Source,
        *,
        reinstall: bool = True,
        progress: Progress | None = None,
        timeout: float | None = TRANSFER_TIMEOUT,
    ) -> InstallResult:
        """Install an APK; the package manager's refusal is a result with Android's own code, not an error."""
        flags = ["-r"] if reinstall else []
        with self.server.trace.of(" ".join(["install", *flags]), self.serial):
            async with deadline(timeout, "adb install", serial=self.serial):
                connection, features = await self._select()
                with closing(connection):
                    if not features & {"cmd", "abb_exec"}:
                        return await self._install_pushed(source, flags, progress)
                    size = await asyncio.to_thread(source_size, source)
                    await self._request(connection, features, _install_service(features, flags, size))
                    return await _stream_apk(connection, source, size, progress)

    async def _install_pushed(self, source: Source, flags: Sequence[str], progress: Progress | None) -> InstallResult:
        """Install on API 23 and less: copy to the device, ``pm install``, and remove the copy in any case."""
        path = f"{_SCRATCH}{secrets.token_hex(8)}.apk"
        try:
            await self.push(source, path, progress=progress, timeout=None)
            done = await self.shell(["pm", "install", *flags, path], timeout=None)
        finally:
            with suppress(EngineError):
                await self.shell(["rm", "-f", path], timeout=_CLEANING_TIMEOUT)
        return parse_install_result(done.text)


def _no_input(size: int) -> EngineError:
    return EngineError(
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        f"Android before 7.0 takes no input for shell commands, but {size} bytes were given",
    )


def _limit(features: frozenset[str]) -> int:
    return SERVICE_LIMIT if _SHELL_V2 in features else SERVICE_LIMIT_V1


async def _exchange(stream: ShellStream, given: bytes, limit: int) -> ShellResult:
    """Write ``given`` to the command while reading its output: either direction may fill its buffers first."""
    if len(given) <= _STDIN_AT_ONCE:
        await _feed(stream, given)
        return await stream.collect(limit)
    feeding = asyncio.ensure_future(_feed(stream, given))
    try:
        return await stream.collect(limit)
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])


async def _feed(stream: ShellStream, given: bytes) -> None:
    """A command may end without reading all of its input; its output shows why."""
    with suppress(TransportError):
        await stream.write(given)
        await stream.close_stdin()


def _install_service(features: frozenset[str], flags: Sequence[str], size: int) -> str:
    arguments = ["package", "install", *CURRENT.split(), *flags, "-S", str(size)]
    if "abb_exec" in features:
        return "abb_exec:" + "\0".join(arguments)
    return "exec:" + device_command(["cmd", *arguments])


async def _stream_apk(connection: AdbConnection, source: Source, size: int, progress: Progress | None) -> InstallResult:
    """Send exactly ``size`` bytes, then read the package manager's output up to the end of the stream."""
    sent = 0
    answer = bytearray()
    with suppress(TransportError):  # it may close before it has read everything: its output counts
        async with aclosing(batches(source)) as pieces:
            async for piece in pieces:
                await connection.send(piece)
                sent += len(piece)
                if progress:
                    progress(sent)
    with suppress(TransportError):
        while len(answer) < _LONGEST_ANSWER and (data := await connection.read()):
            answer += data
    if not answer:
        raise broken(f"the installation was interrupted after {sent} of {size} bytes", serial=connection.serial)
    return parse_install_result(answer.decode(errors="replace"))
