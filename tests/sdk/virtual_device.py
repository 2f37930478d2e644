"""What the emulator becomes: a simulated device behind a console port and an adb port, which announces itself to adb.

``python virtual_device.py <avd name> …``. It ends when its console is told ``kill``, and on SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from pathlib import Path

from clawperator.engine.simulator import run
from clawperator.engine.simulator.adbd import Adbd
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.console import EmulatorConsole
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.scenario import DeviceProfile, Scenario

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.sdk import sdk_world as world

BOOT_PROPERTIES = ("sys.boot_completed", "dev.bootcomplete")
NAME_PROPERTIES = ("ro.boot.qemu.avd_name", "ro.kernel.qemu.avd_name")
PAUSE = 0.02
"""Seconds between two looks at whether a fault is still wanted."""


class Refusing(dict[str, str]):
    """A table of settings that nobody may write."""

    def __setitem__(self, name: str, value: str) -> None:
        raise CommandError("Error while accessing settings provider", 255)


class GuardedConsole(EmulatorConsole):
    """One that asks for the token in the user's home, as the real one does."""

    def answer(self, words: list[str]) -> str:
        if words == ["kill"] and world.fault("kill_refused"):
            return "KO: this emulator stays\r\n"
        if words == ["avd", "name"] and world.fault("nameless"):
            return "KO: no AVD\r\n"
        return super().answer(words)


class BootingAdbd(Adbd):
    """Takes adb servers at once and answers them when Android is far enough: until then adb lists it as offline."""

    def __init__(self, device: SimulatedDevice) -> None:
        super().__init__(device)
        self.up = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._changed.notify()
        await self.up.wait()
        await super()._serve(reader, writer)


def token() -> str:
    """Of the user; made where there is none."""
    path = os.path.expanduser("~/.emulator_console_auth_token")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(12))
    with open(path, encoding="ascii") as stream:
        return stream.read().strip()


async def main(name: str) -> int:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, (lambda: None) if world.fault("ignores_sigterm") else over.set)
    device = create_device(Scenario(speed=0, device=DeviceProfile(avd_name=name, sdk=35)))
    for prop in BOOT_PROPERTIES:
        device.props[prop] = ""
    device.settings["global"].update(development_settings_enabled="0", adb_enabled="0")
    if world.fault("nameless") or world.fault("named_by_console"):
        for prop in NAME_PROPERTIES:
            device.props[prop] = ""

    if world.fault("settings_refused"):
        device.settings["global"] = Refusing(device.settings["global"])

    def kill() -> None:
        if not world.fault("stays"):
            over.set()

    def console(device: SimulatedDevice) -> GuardedConsole:
        return GuardedConsole(device, token=token(), on_kill=kill)

    run.Adbd = BootingAdbd  # type: ignore[attr-defined]
    async with run.Simulation([device], mode="adbd", emulator_pair=True, console=console) as simulation:
        world.record("emulator up", simulation.serials)
        if not world.fault("never_registers"):
            booting = loop.create_task(boot(device, simulation))
            booting.add_done_callback(lambda done: None if done.cancelled() else done.result())
        await over.wait()
    return int(world.fault("dies_booting"))


async def while_wanted(fault: str) -> None:
    """Faults come from a file that a test may change at any time."""
    while world.fault(fault):  # noqa: ASYNC110 - nobody can tell it
        await asyncio.sleep(PAUSE)


async def boot(device: SimulatedDevice, simulation: run.Simulation) -> None:
    """Announced at once, offline for a moment, then a device, then booted."""
    (adbd,) = simulation._daemons
    await simulation.attach(int(os.environ.get("ANDROID_ADB_SERVER_PORT", "5037")))
    await while_wanted("stays_offline")
    if isinstance(adbd, BootingAdbd):
        adbd.up.set()
    await while_wanted("never_boots")
    if world.fault("dies_booting"):
        os.kill(os.getpid(), signal.SIGTERM)
        return
    for prop in BOOT_PROPERTIES:
        device.props[prop] = "1"


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
