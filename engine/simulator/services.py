"""The services that a device offers over adb, whichever socket they are reached by.

``open_service`` turns a service string into a coroutine over a ``Channel``; adbd and the embedded adb server only differ in
what a channel is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from clawperator.engine.simulator.commands.system import BOOT_MS
from clawperator.engine.simulator.commands.toolbox import TOOLBOX
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.interactive import converse
from clawperator.engine.simulator.shell import Shell, Streams
from clawperator.engine.simulator.streams import Input
from clawperator.engine.simulator.sync import SyncService
from clawperator.engine.simulator.terminal import Terminal

FEATURES: Final = ("shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir")


class Channel(Protocol):
    """Both directions of one open service."""

    async def read(self) -> bytes:
        """The next bytes from the host; ``b""`` once it closed."""

    async def write(self, data: bytes) -> None:
        """Wait until the host can take ``data``; raises ConnectionError when it has gone."""


Service = Callable[[Channel], Awaitable[None]]


def features(device: SimulatedDevice) -> tuple[str, ...]:
    """What adb may expect of this device (android-facts 4e): nothing of this before API 24."""
    return FEATURES if device.sdk >= 24 else ()


def banner(device: SimulatedDevice) -> bytes:
    """How a device introduces itself."""
    kind = device.state if device.state in ("recovery", "sideload") else "device"
    names = ("ro.product.name", "ro.product.model", "ro.product.device")
    fields = [f"{name}={device.props.get(name, '')}" for name in names]
    if offered := features(device):
        fields.append("features=" + ",".join(offered))
    return f"{kind}::{';'.join(fields)}{'' if offered else ';'}".encode("utf-8", "surrogateescape")


async def guarded(service: Service, channel: Channel) -> None:
    """Run a service. A host that goes away is an ordinary end; a defect of ours ends this service and is reported."""
    try:
        await service(channel)
    except* ConnectionError:
        pass
    except* Exception as faults:  # noqa: BLE001 - one faulty service must not take the other streams with it
        report = {"message": "a simulated device's service failed", "exception": faults}
        asyncio.get_running_loop().call_exception_handler(report)


def open_service(device: SimulatedDevice, name: str) -> Service | None:
    """The service called ``name``, or None: the device closes the stream at once. Its answer takes the device's round trip."""
    service = _find_service(device, name)
    if service is None:
        return None

    async def serve(channel: Channel) -> None:
        await device.round_trips.wait()
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
    text = _REFUSALS.get(base)
    return None if text is None else _saying(text)


def _shell(device: SimulatedDevice, options: list[str], command: str) -> Service | None:
    """``shell[,v2][,pty|raw][,TERM=…]:COMMAND``; without a command a person at a terminal, or a script on stdin."""
    v2 = "v2" in options
    if v2 and "shell_v2" not in features(device):
        return None
    pty = "pty" in options or ("raw" not in options and (not command or device.sdk < 24))

    async def serve(channel: Channel) -> None:
        terminal = Terminal(channel, v2=v2, pty=pty)
        shell = Shell(device, Streams(terminal.stdin, terminal.stdout, terminal.stderr), TOOLBOX, tty=pty)
        if command:
            status = await shell.run(command)
        elif pty:
            status = await converse(shell, prompt=f"{device.props.get('ro.product.device', '')}:{{cwd}} $ ")
        else:
            status = await shell.run_input()
        await terminal.exit(status)

    return serve


def _exec(device: SimulatedDevice, command: str) -> Service:
    """Bytes as they are, standard error among them, no exit code; a terminal from API 24 on (android-facts 4i)."""

    async def serve(channel: Channel) -> None:
        streams = Streams(Input(channel.read), channel, channel)
        await Shell(device, streams, TOOLBOX, tty=device.sdk >= 24).run(command)

    return serve


def _reboot(device: SimulatedDevice) -> Service:
    async def serve(channel: Channel) -> None:
        del channel
        device.disconnect(BOOT_MS)

    return serve


def _saying(text: str) -> Service:
    async def serve(channel: Channel) -> None:
        await channel.write(text.encode())

    return serve


_REFUSALS: Final = {
    "root": "adbd cannot run as root in production builds\n",
    "unroot": "adbd not running as root\n",
    "remount": 'Not running as root. Try "adb root" first.\n',
    "disable-verity": "verity cannot be disabled/enabled - USER build\n",
    "enable-verity": "verity cannot be disabled/enabled - USER build\n",
}
