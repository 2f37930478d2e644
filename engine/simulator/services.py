"""The services that a device offers over adb, whichever socket they are reached by.

``open_service`` turns a service string into a coroutine over a ``Channel``; adbd and the embedded adb server only differ in
what a channel is.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from clawperator.engine.adb.protocol import CLOSE_STDIN, EXIT, STDERR, STDIN, STDOUT, shell_packet
from clawperator.engine.simulator.commands.activity import ACTIVITY
from clawperator.engine.simulator.commands.basic import BASIC
from clawperator.engine.simulator.commands.files import FILES
from clawperator.engine.simulator.commands.logs import LOGS
from clawperator.engine.simulator.commands.packages import PACKAGES
from clawperator.engine.simulator.commands.screen import KEYBOARD, SCREEN
from clawperator.engine.simulator.commands.system import SYSTEM
from clawperator.engine.simulator.commands.text import TEXT
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.filesystem import ROOT_UID, SHELL_UID
from clawperator.engine.simulator.interactive import run_interactive
from clawperator.engine.simulator.render import SRGB, render_rgba
from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.streams import Channel, InputStream, Sink, Streams
from clawperator.engine.simulator.sync import SyncService

FEATURES: Final = ("shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir")
TOOLBOX: Final = {**ACTIVITY, **BASIC, **FILES, **KEYBOARD, **LOGS, **PACKAGES, **SCREEN, **SYSTEM, **TEXT}
"""Every program of the device, by name."""

Service = Callable[[Channel], Awaitable[None]]


def features(device: SimulatedDevice) -> tuple[str, ...]:
    """What adb may expect of this device (android-facts 4e): nothing of this before API 24."""
    return FEATURES if device.sdk >= 24 else ()


def banner(device: SimulatedDevice) -> bytes:
    """The device's identification in CNXN."""
    kind = device.state if device.state in ("recovery", "sideload") else "device"
    names = ("ro.product.name", "ro.product.model", "ro.product.device")
    fields = [f"{name}={device.props.get(name, '')}" for name in names]
    if offered := features(device):
        fields.append("features=" + ",".join(offered))
    return f"{kind}::{';'.join(fields)}{'' if offered else ';'}".encode("utf-8", "surrogateescape")


async def guarded(service: Service, channel: Channel) -> None:
    """Run a service. A disconnecting host ends it silently; an exception ends it and is reported."""
    try:
        await service(channel)
    except* ConnectionError:
        pass
    except* Exception as faults:  # noqa: BLE001 - one faulty service must not take the other streams with it
        report = {"message": "a simulated device's service failed", "exception": faults}
        asyncio.get_running_loop().call_exception_handler(report)


def open_service(device: SimulatedDevice, name: str) -> Service | None:
    """The service called ``name``, or None, which closes the stream. Its response is delayed by the device's round trip."""
    service = _find_service(device, name)
    if service is None:
        return None

    async def serve(channel: Channel) -> None:
        await device.round_trips.wait()
        await device.pauses.at(f"service {name}")
        await service(channel)

    return serve


def _find_service(device: SimulatedDevice, name: str) -> Service | None:
    kind, _, rest = name.partition(":")
    base, *options = kind.split(",")
    if base == "shell":
        return _shell(device, options, rest)
    if base == "exec":
        return _exec(device, rest)
    if base == "sync":
        return lambda channel: SyncService(device, channel).run()
    if base == "reboot":
        return _reboot(device)
    if base == "framebuffer":
        return _framebuffer(device)
    if base == "reverse":
        return _respond(device.reverses.answer(rest))
    if base in ("root", "unroot"):
        return _restart(device, as_root=base == "root")
    return None


def _shell(device: SimulatedDevice, options: list[str], command: str) -> Service | None:
    """``shell[,v2][,pty|raw][,TERM=…]:COMMAND``; without a command an interactive shell, or a script on stdin."""
    v2 = "v2" in options
    if v2 and "shell_v2" not in features(device):
        return None
    pty = "pty" in options or ("raw" not in options and (not command or device.sdk < 24))

    async def serve(channel: Channel) -> None:
        terminal = Terminal(channel, v2=v2, pty=pty)
        streams = Streams(terminal.stdin, terminal.stdout, terminal.stderr)
        shell = Shell(device, streams, TOOLBOX, uid=device.shell_uid, tty=pty)
        if command:
            status = await shell.run(command)
        elif pty:
            sign = "$" if device.shell_uid else "#"
            status = await run_interactive(shell, prompt=f"{device.props.get('ro.product.device', '')}:{{cwd}} {sign} ")
        else:
            status = await shell.run_input()
        await terminal.exit(status)

    return serve


def _exec(device: SimulatedDevice, command: str) -> Service:
    """Raw bytes with standard error, no exit code; a terminal from API 24 on (android-facts 4i)."""

    async def serve(channel: Channel) -> None:
        streams = Streams(InputStream(channel.read), channel, channel)
        await Shell(device, streams, TOOLBOX, uid=device.shell_uid, tty=device.sdk >= 24).run(command)

    return serve


def _reboot(device: SimulatedDevice) -> Service:
    async def serve(_channel: Channel) -> None:
        device.reboot()

    return serve


def _framebuffer(device: SimulatedDevice) -> Service:
    """``framebuffer:``: a header (with a colour space from API 26 on) and the pixels as RGBA."""

    async def serve(channel: Channel) -> None:
        (width, height), pixels = render_rgba(device.ui)
        space = (SRGB,) if device.sdk >= 26 else ()
        channels = (0, 8, 16, 8, 8, 8, 24, 8)  # offset and length in bits: red, blue, green, alpha
        head = (1 + len(space), 32, *space, len(pixels), width, height, *channels)
        await channel.write(struct.pack(f"<{len(head)}I", *head) + pixels)

    return serve


def _restart(device: SimulatedDevice, *, as_root: bool) -> Service:
    """``root:`` and ``unroot:``: adbd starts again as another user, where the build allows it."""
    if not device.debuggable:
        return _respond(b"adbd cannot run as root in production builds\n" if as_root else b"adbd not running as root\n")
    if as_root == (device.shell_uid == ROOT_UID):
        return _respond(b"adbd is already running as root\n" if as_root else b"adbd not running as root\n")

    async def serve(channel: Channel) -> None:
        await channel.write(f"restarting adbd as {'' if as_root else 'non '}root\n".encode())
        device.spawn(device.restart_adbd(ROOT_UID if as_root else SHELL_UID))

    return serve


def _respond(data: bytes) -> Service:
    async def serve(channel: Channel) -> None:
        await channel.write(data)

    return serve


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
