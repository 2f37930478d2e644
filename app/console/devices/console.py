"""What the devices mode uses of the app."""

from __future__ import annotations

from typing import Protocol

from clawperator.app.console.console import Console
from clawperator.app.console.devices.emulator_controller import EmulatorController
from clawperator.app.console.devices.setup_controller import SetupController


class DevicesConsole(Console, Protocol):
    """A console that manages virtual devices and the Operator app."""

    @property
    def emulators(self) -> EmulatorController: ...
    @property
    def operator_setup(self) -> SetupController: ...
    def use_device(self, serial: str) -> None: ...
