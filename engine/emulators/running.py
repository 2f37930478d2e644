"""Running emulators: those in adb's list, their AVD names, and whether they have booted (emulators.md#which-avds-are-supported)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.presence import DeviceEntry, DeviceState
from clawperator.engine.adb.quote import device_command
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.emulators import console
from clawperator.engine.emulators.avds import Avd, read_avd
from clawperator.engine.emulators.limits import Limits
from clawperator.engine.errors import EngineError

UNKNOWN_NAME = "unknown"
BOOT_PROPERTIES = ("sys.boot_completed", "dev.bootcomplete")
NAME_PROPERTIES = ("ro.boot.qemu.avd_name", "ro.kernel.qemu.avd_name")
"""Asked in this order, before the console (android-facts 5d)."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class RunningEmulator:
    """One running emulator; ``unsupported_reasons`` are those of its AVD, all four for an unknown AVD."""

    avd_name: str
    serial: str
    booted: bool
    unsupported_reasons: tuple[str, ...] = ()

    @property
    def supported(self) -> bool:
        return not self.unsupported_reasons

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.started(),
            "supported": self.supported,
            "unsupportedReasons": list(self.unsupported_reasons),
        }

    def started(self) -> dict[str, Any]:
        """Return the JSON result of a start (emulators.md#limits)."""
        return {"type": "emulator", "avdName": self.avd_name, "serial": self.serial, "booted": self.booted}


class Scanner:
    """Finds emulators through adb. ``home`` is the folder of the AVD files."""

    def __init__(
        self, server: AdbServer, env: Mapping[str, str], home: str, supported_abis: Sequence[str], limits: Limits
    ) -> None:
        self.server = server
        self._env = env
        self._home = home
        self._abis = supported_abis
        self._limits = limits

    async def running(self) -> tuple[RunningEmulator, ...]:
        """Return every emulator that takes commands, in adb's order."""
        serials = ready(await self.server.devices(timeout=self._limits.device))
        return tuple(await asyncio.gather(*map(self.emulator, serials)))

    async def emulator(self, serial: str) -> RunningEmulator:
        """Return the emulator with this ``serial``; never fails."""
        name, booted = await self._identity(serial)
        reasons = (read_avd(self._home, name, self._abis) if name else Avd("")).unsupported_reasons
        return RunningEmulator(name or UNKNOWN_NAME, serial, booted, reasons)

    async def booted(self, serial: str) -> bool:
        """Return whether both boot properties are set; an emulator that does not answer has not booted."""
        return (await self._properties(serial, BOOT_PROPERTIES)) == ["1", "1"]

    async def named(self, name: str) -> tuple[str, bool] | None:
        """Return the serial of the AVD ``name`` and whether it takes commands; ``None`` if it is not running.

        A booting emulator is offline in adb's list, but its console tells its name.
        """
        entries = await self.server.devices(timeout=self._limits.device)
        for serial in ready(entries):
            if (await self._identity(serial))[0] == name:
                return serial, True
        for serial in waiting(entries):
            if await self._console_name(serial) == name:
                return serial, False
        return None

    async def find(self, entries: Iterable[DeviceEntry], name: str) -> str:
        """Return the first serial of the list that takes commands and runs the AVD ``name``; '' for none."""
        for serial in ready(entries):
            if (await self._identity(serial))[0] == name:
                return serial
        return ""

    async def lists(self) -> AsyncGenerator[tuple[DeviceEntry, ...]]:
        """Yield adb's device list at every change, and again after ``poll`` seconds without a change."""
        async with aclosing(self.server.track_devices(reconnect=True)) as pushed:
            latest: tuple[DeviceEntry, ...] | None = None
            coming = asyncio.ensure_future(anext(pushed))
            try:
                while True:
                    done, _ = await asyncio.wait({coming}, timeout=self._limits.poll)
                    if done:
                        latest = coming.result()
                        coming = asyncio.ensure_future(anext(pushed))
                    if latest is not None:
                        yield latest
            finally:
                coming.cancel()
                with suppress(asyncio.CancelledError, EngineError, StopAsyncIteration):
                    await coming

    async def _identity(self, serial: str) -> tuple[str, bool]:
        """Return the AVD's name ('' if unknown) and whether it has booted; one round trip if the device answers."""
        answers = await self._properties(serial, (*NAME_PROPERTIES, *BOOT_PROPERTIES))
        names, booted = answers[: len(NAME_PROPERTIES)], answers[len(NAME_PROPERTIES) :] == ["1", "1"]
        name = next((name for name in names if name), "") or await self._console_name(serial)
        return name[:_LONGEST_NAME], booted

    async def _console_name(self, serial: str) -> str:
        with suppress(EngineError):
            return await console.avd_name(serial, self._env, timeout=self._limits.device)
        return ""

    async def _properties(self, serial: str, names: Sequence[str]) -> list[str]:
        """Return the trimmed values of properties; empty unless the device answers with one line each."""
        script = "; ".join(device_command(["getprop", name]) for name in names)
        with suppress(EngineError):
            done = await AdbDevice(self.server, serial).script(script, timeout=self._limits.device)
            lines = done.text.removesuffix("\n").split("\n")
            if len(lines) == len(names):
                return [line.strip() for line in lines]
        return []


def ready(entries: Iterable[DeviceEntry]) -> list[str]:
    """Return the serials of emulators that take commands, in adb's order."""
    return [entry.serial for entry in entries if entry.is_emulator and entry.usable]


def waiting(entries: Iterable[DeviceEntry]) -> list[str]:
    """Return the serials of emulators that are booting or have lost their connection."""
    return [entry.serial for entry in entries if entry.is_emulator and entry.state == DeviceState.OFFLINE]
