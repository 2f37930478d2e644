"""Devices and virtual devices in one list, and one of them in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.format.devices import DeviceSummary
from clawperator.widgets.format.emulators import avd_row, machines_rows
from clawperator.widgets.format.lines import ruled, wrapped
from clawperator.widgets.format.slot import BLANK, Slot, ready
from clawperator.widgets.models.emulators import EmulatorsState

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.emulators.avds import Avd


class AvdKey(NamedTuple):
    """Value of a virtual device's row; never equal to a serial."""

    name: str


class EmulatorList(DeviceList):
    """One list with one cursor. ``words`` stand above the devices, where none is listed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.machines = EmulatorsState.EMPTY
        self.words = ""

    def show_all(
        self,
        devices: Sequence[DeviceEntry],
        chosen: str,
        facts: Mapping[str, DeviceSummary],
        machines: EmulatorsState,
    ) -> None:
        self.machines = machines
        self.show(devices, chosen, facts)
        self.SHOWS_CURSOR = any(not row.quiet for row in self.rows)

    def all_rows(self, facts: Mapping[str, DeviceSummary], width: int) -> Iterator[Slot]:
        for text in self.words.splitlines():
            yield from map(ready, wrapped(text, width, "muted", lead="   "))
        yield from super().all_rows(facts, width)
        yield BLANK
        yield Slot(lambda width: ruled("virtual devices", width, self.symbols.rule), quiet=True)
        machines = self.machines
        for avd in machines.avds:
            yield self._avd_row(avd, machines)
        yield from map(ready, machines_rows(machines, width, self.symbols))

    def _avd_row(self, avd: Avd, machines: EmulatorsState) -> Slot:
        return Slot(
            lambda width: avd_row(avd, machines, width, self.symbols),
            place=AvdKey(avd.name),
            role="" if avd.supported else "warn",
        )

    def action_choose(self) -> None:
        if self.avd is not None:
            self.post_message(self.RowChosen(self, self.cursor))
        else:
            super().action_choose()

    @property
    def avd(self) -> Avd | None:
        """Return the virtual device under the cursor."""
        value = self.value
        return self.machines.avd(value.name) if isinstance(value, AvdKey) else None

    @property
    def serial(self) -> str:
        """Return the serial under the cursor; empty for a stopped virtual device."""
        if (avd := self.avd) is not None:
            run = self.machines.run_of(avd.name)
            return run.serial if run is not None else ""
        return self.device.serial if self.device is not None else ""
