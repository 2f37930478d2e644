"""Map a shell service's three streams to one channel: as shell v2 packets or plain, raw or through a PTY."""

from __future__ import annotations

from typing import Final

from clawperator.engine.adb.protocol import CLOSE_STDIN, EXIT, STDERR, STDIN, STDOUT, shell_packet
from clawperator.engine.simulator.streams import Channel, InputStream, Sink

MAX_PACKET: Final = 65536
_HEADER: Final = 5


class _Packets:
    """One outgoing channel of shell v2."""

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel, self._number = channel, number

    async def write(self, data: bytes) -> None:
        if len(data) <= MAX_PACKET:
            await self._channel.write(shell_packet(self._number, data))
            return
        pieces = (data[start : start + MAX_PACKET] for start in range(0, len(data), MAX_PACKET))
        await self._channel.write(b"".join(shell_packet(self._number, piece) for piece in pieces))


class _Lines:
    """A PTY's output: every LF becomes CR LF."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def write(self, data: bytes) -> None:
        await self._sink.write(data.replace(b"\n", b"\r\n"))


class Terminal:
    """The ends of one service. ``pty``: standard error joins standard output, LF becomes CR LF."""

    def __init__(self, channel: Channel, *, v2: bool, pty: bool) -> None:
        self._channel = channel
        self._v2 = v2
        self._received = b""
        plain: Sink = _Packets(channel, STDOUT) if v2 else channel
        self.stdout: Sink = _Lines(plain) if pty else plain
        self.stderr: Sink = _Packets(channel, STDERR) if v2 and not pty else self.stdout
        self.stdin = InputStream(self._packet if v2 else channel.read)

    async def exit(self, status: int) -> None:
        if self._v2:
            await self._channel.write(shell_packet(EXIT, bytes((status & 0xFF,))))

    async def _packet(self) -> bytes:
        """The next bytes for standard input; ``b""`` at close-stdin. Window sizes are ignored."""
        while True:
            size = int.from_bytes(self._received[1:_HEADER], "little") + _HEADER
            if len(self._received) >= max(size, _HEADER):
                number, data = self._received[0], self._received[_HEADER:size]
                self._received = self._received[size:]
                if number == CLOSE_STDIN or (number == STDIN and data):
                    return data
            elif piece := await self._channel.read():
                self._received += piece
            else:
                return b""
