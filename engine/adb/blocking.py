"""One-shot adb requests without an event loop, for commands that must start in milliseconds.

The same conversations as in the asyncio client, over one blocking socket. Starting a server, which needs a subprocess, is
imported only when nothing listens.
"""

from __future__ import annotations

import os
import socket
from time import monotonic

from clawperator.engine.adb.failures import broken, oversized, timed_out
from clawperator.engine.adb.presence import parse_devices
from clawperator.engine.adb.protocol import (
    CLOSE_STDIN,
    MAX_OUTPUT,
    SERVICE_LIMIT_V1,
    STDERR,
    STDOUT,
    ShellDecoder,
    is_unknown_service,
    open_service,
    query,
    select_device,
    select_device_v1,
    server_address,
    shell_packet,
    unreachable,
)
from clawperator.engine.errors import EngineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self, TypeVar

    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.adb.protocol import Conversation

    T = TypeVar("T")

_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_READ = 64 * 1024


def devices(env: Mapping[str, str] | None = None, *, timeout: float = 10.0, start: bool = True) -> list[DeviceEntry]:
    """The adb server's device list. Unless ``start`` is false, a local server is started where none listens.

    Errors as in ``AdbServer``.
    """
    with _Line(os.environ if env is None else env, timeout, start=start) as line:
        return parse_devices(line.run(query("host:devices-l")))


def shell(
    serial: str, command: str | Sequence[str], *, env: Mapping[str, str] | None = None, timeout: float = 30.0
) -> tuple[bytes, bytes, int]:
    """Run one program, or shell text, on a device with shell v2 (API 24+): ``(stdout, stderr, exit code)``.

    The device's features are not requested, so the command must be short enough for any device.
    """
    from clawperator.engine.adb.quote import device_command

    text = command if isinstance(command, str) else device_command(command)
    with _Line(os.environ if env is None else env, timeout, serial) as line:
        line.select()
        line.run(open_service(f"shell,v2,raw:{text}", serial=serial, limit=SERVICE_LIMIT_V1))
        line.send(shell_packet(CLOSE_STDIN))
        return line.collect()


class _Line:
    """A connection with one deadline for everything."""

    def __init__(self, env: Mapping[str, str], timeout: float, serial: str = "", *, start: bool = True) -> None:
        self._env = env
        self._start = start
        self._timeout = timeout
        self._serial = serial
        self._end = monotonic() + timeout
        self._ahead = b""
        self._address = server_address(env)
        self._sock = self._connect_or_start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._sock.close()

    def _connect_or_start(self) -> socket.socket:
        try:
            return self._connect()
        except (ConnectionRefusedError, FileNotFoundError) as exc:
            if not (self._start and self._address.is_local):
                raise unreachable(self._address, exc.strerror or str(exc)) from exc
        except OSError as exc:
            raise unreachable(self._address, exc.strerror or str(exc)) from exc
        from clawperator.engine.adb.binary import start_server_blocking  # subprocess is for this path only

        start_server_blocking(self._address, self._env, self._left())
        try:
            return self._connect()
        except OSError as exc:
            raise unreachable(self._address, exc.strerror or str(exc)) from exc

    def _connect(self) -> socket.socket:
        address = self._address
        if not (address.path or address.is_numeric):
            return socket.create_connection((address.host, address.port), self._left())
        sock = socket.socket(socket.AF_UNIX if address.path else socket.AF_INET)
        try:
            sock.settimeout(self._left())
            sock.connect(address.path or (address.host, address.port))
        except BaseException:
            sock.close()
            raise
        return sock

    def select(self) -> None:
        """Select the device, as on an old server if necessary."""
        try:
            self.run(select_device(self._serial))
        except EngineError as error:
            if not is_unknown_service(error):
                raise
            self._sock.close()
            self._sock = self._connect_or_start()
            self.run(select_device_v1(self._serial))

    def run(self, talk: Conversation[T]) -> T:
        try:
            step = next(talk)
            while True:
                if isinstance(step, bytes):
                    self.send(step)
                    step = next(talk)
                else:
                    step = talk.send(self._exactly(step))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def collect(self) -> tuple[bytes, bytes, int]:
        """All output of a shell v2 stream and its exit code."""
        decoder = ShellDecoder()
        parts: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        data, self._ahead = self._ahead, b""
        size = len(data)
        while True:
            for channel, piece in decoder.feed(data):
                parts[channel].append(piece)
            if size > MAX_OUTPUT:
                raise oversized("device shell", MAX_OUTPUT, serial=self._serial)
            if decoder.exit_code is not None:
                return b"".join(parts[STDOUT]), b"".join(parts[STDERR]), decoder.exit_code
            data = self._receive()
            size += len(data)  # headers, too: empty packets have no other size
            if not data:
                raise broken("the device's shell ended without an exit code", serial=self._serial)

    def send(self, data: bytes) -> None:
        try:
            self._sock.settimeout(self._left())
            self._sock.sendall(data)
        except TimeoutError as exc:
            raise self._too_late() from exc
        except OSError as exc:
            raise broken(f"the adb server stopped accepting data: {exc}", serial=self._serial) from exc

    def _exactly(self, size: int) -> bytes:
        while len(self._ahead) < size:
            data = self._receive()
            if not data:
                raise broken("the adb server closed the connection before it had answered", serial=self._serial)
            self._ahead += data
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    def _receive(self) -> bytes:
        try:
            self._sock.settimeout(self._left())
            data = self._sock.recv(_READ)
            if _QUICKACK is not None and not self._address.path:  # not sticky: see connection.py
                self._sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
        except TimeoutError as exc:
            raise self._too_late() from exc
        except OSError as exc:
            raise broken(f"the connection to the adb server broke: {exc}", serial=self._serial) from exc
        return data

    def _left(self) -> float:
        """Seconds until the deadline; never 0, which would mean "non-blocking" to a socket."""
        left = self._end - monotonic()
        if left <= 0:
            raise self._too_late()
        return left

    def _too_late(self) -> EngineError:
        return timed_out("adb", self._timeout, serial=self._serial)
