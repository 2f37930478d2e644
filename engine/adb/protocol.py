"""The adb smart-socket protocol without any I/O.

Requests are *conversations*: generators that yield either bytes to send or the number of bytes they need next, and return
their result. The asyncio client (``connection.py``) and the blocking reader (``blocking.py``) both drive them.

>>> conversation = query("host:version")
>>> next(conversation)
b'000chost:version'

The second half splits the stream of a device's shell into its channels; file transfer is in ``sync``.
"""

from __future__ import annotations

from collections import namedtuple
from struct import Struct

from clawperator.engine.adb.failures import broken, refusal
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.numbers import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import TypeVar

    T = TypeVar("T")
    Conversation = Generator[bytes | int, bytes, T]

DEFAULT_PORT = 5037
LOOPBACK = "127.0.0.1"

SERVICE_LIMIT = 65_535
SERVICE_LIMIT_V1 = 4_095
"""Longest service string, its closing NUL included, for devices with and without shell v2 (API 24+ and API 23 or less).

A longer one does not fail: it aborts the user's adb server (platform fact 4j).
"""

MAX_OUTPUT = 2 * 1024 * 1024
"""Bytes of one command's output that are kept, the headers of its packets included: far above any list or dump of a sane device.

A reader that splits them into short lines needs thirty times as much memory."""


# -- where the server is -----------------------------------------------------------------------------------------------


class Address(namedtuple("Address", "host port path", defaults=(LOOPBACK, DEFAULT_PORT, ""))):  # noqa: PYI024 - as in presence.py
    """Where the adb server listens: TCP ``host``/``port``, or a Unix socket ``path`` (leading NUL: abstract)."""

    __slots__ = ()

    host: str
    port: int
    path: str

    @property
    def is_numeric(self) -> bool:
        """Whether ``host`` is an IPv4 address, so that no resolver (an import and a thread) is needed."""
        return self.host.isascii() and self.host.replace(".", "").isdigit()

    @property
    def is_local(self) -> bool:
        """Whether a server may be started there: on this machine."""
        return bool(self.path) or self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        if self.path:
            return f"localabstract:{self.path[1:]}" if self.path[0] == "\0" else f"localfilesystem:{self.path}"
        return f"tcp:[{self.host}]:{self.port}" if ":" in self.host else f"tcp:{self.host}:{self.port}"


def server_address(env: Mapping[str, str]) -> Address:
    """The address that adb uses: ``ADB_SERVER_SOCKET``, else ``ANDROID_ADB_SERVER_ADDRESS`` and ``…_PORT``.

    Raises ``EngineError`` ADB_SERVER_FAILED for an invalid value.
    """
    spec = env.get("ADB_SERVER_SOCKET", "")
    if spec:
        return _parse_socket_spec(spec)
    port = env.get("ANDROID_ADB_SERVER_PORT") or str(DEFAULT_PORT)
    host = env.get("ANDROID_ADB_SERVER_ADDRESS") or LOOPBACK
    return Address(_plain_host(host), _port(port, "ANDROID_ADB_SERVER_PORT"))


def _parse_socket_spec(spec: str) -> Address:
    kind, _, rest = spec.partition(":")
    if kind == "tcp" and rest:
        host, _, port = rest.rpartition(":")
        return Address(_plain_host(host) if host else LOOPBACK, _port(port, "ADB_SERVER_SOCKET"))
    if kind in ("local", "localfilesystem") and rest:
        return Address(path=rest)
    if kind == "localabstract" and rest:
        return Address(path="\0" + rest)
    raise _bad_address("ADB_SERVER_SOCKET", spec)


def _plain_host(host: str) -> str:
    """Numeric for this machine, so that no resolver (and no thread) is needed; brackets of IPv6 removed."""
    return LOOPBACK if host == "localhost" else host.removeprefix("[").removesuffix("]")


def _port(text: str, variable: str) -> int:
    port = whole_number(text, digits=5) or 0
    if not 0 < port <= 65_535:
        raise _bad_address(variable, text)
    return port


def unreachable(address: Address, reason: str) -> EngineError:
    """No adb server listens at ``address``."""
    elsewhere = "Check ADB_SERVER_SOCKET, or ANDROID_ADB_SERVER_ADDRESS and ANDROID_ADB_SERVER_PORT."
    return EngineError(
        ErrorCode.ADB_SERVER_FAILED,
        f"no adb server listens at {address}: {reason}",
        hint="" if address.is_local else elsewhere,
        details={"address": str(address), "reason": reason},
    )


def _bad_address(variable: str, value: str) -> EngineError:
    return EngineError(
        ErrorCode.ADB_SERVER_FAILED,
        f"{variable} names no adb server address: {value!r}",
        hint=f"Correct or unset it: {variable}={'tcp:localhost:' if variable == 'ADB_SERVER_SOCKET' else ''}{DEFAULT_PORT}.",
    )


# -- requests ----------------------------------------------------------------------------------------------------------


def encode_text(text: str) -> bytes:
    """UTF-8, with undecodable bytes from device names restored. Raises EXECUTION_VALIDATION_FAILED."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as exc:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, "text for the device contains a lone surrogate"
        ) from exc


def fits(service: str, limit: int = SERVICE_LIMIT) -> bool:
    """Whether ``service`` and its closing NUL fit into ``limit`` bytes."""
    return len(encode_text(service)) + 1 <= limit


def encode_request(service: str, limit: int = SERVICE_LIMIT) -> bytes:
    """Four hexadecimal digits of length, then the service string. Raises PAYLOAD_TOO_LARGE beyond ``limit``."""
    if not fits(service, limit):
        raise EngineError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"an adb request is larger than the {limit} bytes that this device takes",
            details={"limit": limit},
        )
    data = encode_text(service)
    return b"%04x%s" % (len(data), data)


def open_service(service: str, *, serial: str = "", limit: int = SERVICE_LIMIT) -> Conversation[None]:
    """Request a service and wait for its OKAY; the server loses a second request that is sent earlier (fact 4b)."""
    yield encode_request(service, limit)
    yield from expect_okay(serial)


def expect_okay(serial: str = "") -> Conversation[None]:
    status = yield 4
    if status == b"OKAY":
        return
    if status == b"FAIL":
        reason = yield from read_text()
        raise refusal(reason, serial=serial)
    sent = repr(status.decode("ascii", "backslashreplace"))
    raise broken(f"the response begins with {sent} instead of OKAY or FAIL: this is not an adb server", serial=serial)


def read_text() -> Conversation[str]:
    """Return a block with four hexadecimal digits of length before it.

    Raises ``EngineError`` for a ``FAIL`` instead, by which servers from 36 on refuse a pairing after the OKAY.
    """
    digits = yield 4
    refused = digits == b"FAIL"
    if refused:
        digits = yield 4
    try:
        size = int(digits, 16)
    except ValueError:
        size = -1
    if size < 0 or not digits.isalnum():  # int() would also take "+1", " 1" and "1_0"
        raise broken(f"adb server: unexpected length {digits!r}")
    data = (yield size) if size else b""
    text = data.decode(errors="replace")
    if refused:
        raise refusal(text)
    return text


def query(service: str, *, serial: str = "") -> Conversation[str]:
    """Request a host service that returns one block of text."""
    yield from open_service(service, serial=serial)
    return (yield from read_text())


def transport_id_of(serial: str) -> str:
    """Return the number in ``transport_id:N``, empty for any other serial."""
    kind, _, number = serial.partition(":")
    known = kind in ("transport_id", "transport-id") and number.isascii() and number.isdigit() and len(number) < 19
    return number if known else ""


def select_device(serial: str) -> Conversation[int]:
    """Point this connection at a device; the transport id changes with each reconnect (platform-tools 29+).

    ``serial`` may be ``transport_id:N`` or, as adb itself understands it, ``usb:PATH``.
    """
    if number := transport_id_of(serial):
        yield from open_service(f"host:transport-id:{number}", serial=serial)
        return int(number)
    yield from open_service(f"host:tport:serial:{serial}", serial=serial)
    data = yield 8
    return int.from_bytes(data, "little")


def select_device_v1(serial: str) -> Conversation[None]:
    """Point this connection at a device, without a transport id: for adb servers older than platform-tools 29."""
    yield from open_service(f"host:transport:{serial}", serial=serial)


def is_unknown_service(error: EngineError) -> bool:
    """Whether an adb server refused ``host:tport`` because it is too old."""
    return "unknown host service" in str(error.details.get("adb", ""))


# -- shell v2 (fact 4f) ------------------------------------------------------------------------------------------------

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = 0, 1, 2, 3, 4
_LAST_CHANNEL = 5  # window size, which devices never send
_HEADER = Struct("<BI")
_MAX_PACKET = 16 * 1024 * 1024


def shell_packet(channel: int, data: bytes = b"") -> bytes:
    """One packet: u8 channel, u32 little-endian length, data."""
    return _HEADER.pack(channel, len(data)) + data


class ShellDecoder:
    """Splits a shell v2 stream into its channels, whatever the boundaries of the reads.

    ``exit_code`` stays ``None`` until the exit packet came: a stream that ends before it broke.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._channel = STDOUT
        self._left = 0
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """``(STDOUT | STDERR, bytes)`` in order, adjacent packets of one channel joined; partial packets are returned, too.

        Empty packets leave nothing behind, however many there are.
        """
        if self._rest:
            data, self._rest = self._rest + data, b""
        runs: list[tuple[int, list[bytes]]] = []
        pieces: list[bytes] = []
        channel, left, latest = self._channel, self._left, -1  # locals: a busy log is tens of thousands of packets
        at, end = 0, len(data)
        while at < end:
            if not left:
                if end - at < _HEADER.size:
                    self._rest = data[at:]
                    break
                channel, left = _HEADER.unpack_from(data, at)
                at += _HEADER.size
                if left > _MAX_PACKET or channel > _LAST_CHANNEL:
                    raise broken("the device's shell stream is damaged")
            stop = min(at + left, end)
            piece = data[at:stop]
            left -= stop - at
            at = stop
            if channel == STDOUT or channel == STDERR:  # noqa: PLR1714, SIM109 - a tuple is slower than the two comparisons
                if channel != latest:
                    pieces, latest = [], channel
                    runs.append((channel, pieces))
                pieces.append(piece)
            elif channel == EXIT and piece:
                self.exit_code = piece[0]
        self._channel, self._left = channel, left
        return [(name, joined) for name, parts in runs if (joined := b"".join(parts))]
