"""The devices that adb lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.devices import NO_FACTS, DeviceSummary, device_row, fits_beside, state_row
from clawperator.widgets.row_list import ListRow, RowList, ready

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry


class DeviceList(RowList):
    """One row per device, updated by the adb server; enter selects the console's device."""

    BINDINGS = keys.binding_list("devices")

    EMPTY = "No devices.\nConnect a phone with USB debugging,\nor start an emulator."

    @dataclass(eq=False)
    class DeviceChosen(Message):
        """Use ``serial`` as the device of the console."""

        serial: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.devices: Sequence[DeviceEntry] = ()
        self.chosen = ""

    def show(
        self,
        devices: Sequence[DeviceEntry],
        chosen: str,
        busy: Mapping[str, str] | None = None,
        facts: Mapping[str, DeviceSummary] | None = None,
    ) -> None:
        """``busy`` maps serials to lock holders; ``facts`` are the last doctor findings."""
        first = not self.devices and self.value is None
        self.devices, self.chosen = devices, chosen
        self.show_folded(partial(self.all_rows, busy or {}, facts or {}))
        if first and chosen:
            self.to_value(chosen)

    def all_rows(
        self,
        busy: Mapping[str, str],
        facts: Mapping[str, DeviceSummary],
        width: int,
    ) -> Iterator[ListRow]:
        for device in self.devices:
            known = facts.get(device.serial, NO_FACTS)
            yield self._row(device, busy.get(device.serial, ""), known)
            if not fits_beside(device, width, known):
                yield ready(state_row(device, width, known))

    def _row(self, device: DeviceEntry, lock: str, facts: DeviceSummary) -> ListRow:
        chosen = device.serial == self.chosen
        return ListRow(
            lambda width: device_row(device, width, self.symbols, chosen=chosen, lock=lock, facts=facts),
            value=device.serial,
            role="" if device.usable else "warn",
        )

    @property
    def device(self) -> DeviceEntry | None:
        """Return the device under the cursor."""
        return next((device for device in self.devices if device.serial == self.value), None)

    def action_choose(self) -> None:
        if self.device is not None:
            self.post_message(self.DeviceChosen(self.device.serial))
