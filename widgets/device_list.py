"""The devices that adb lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.devices import (
    NO_FACTS,
    DeviceSummary,
    device_columns,
    device_row,
    fits_beside,
    right_words,
    state_row,
)
from clawperator.widgets.format.slot import Slot, ready
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.safe import cells

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
        facts: Mapping[str, DeviceSummary] | None = None,
    ) -> None:
        first = not self.devices and self.value is None
        self.devices, self.chosen = devices, chosen
        self.show_folded(partial(self.all_rows, facts or {}))
        if first and chosen:
            self.to_value(chosen)

    def all_rows(self, facts: Mapping[str, DeviceSummary], width: int) -> Iterator[Slot]:
        known = [(device, facts.get(device.serial, NO_FACTS)) for device in self.devices]
        used = max((cells(right_words(each, chosen=device.serial == self.chosen)) for device, each in known), default=0)
        room = device_columns(known, width, used=used and used + 2)
        for device, each in known:
            draw = partial(
                device_row, device, symbols=self.symbols, chosen=device.serial == self.chosen, facts=each, room=room
            )
            yield Slot(draw, device.serial, role="" if device.usable else "warn")
            if not fits_beside(device, width, each):
                yield ready(state_row(device, width, each))

    @property
    def device(self) -> DeviceEntry | None:
        """Return the device under the cursor."""
        return next((device for device in self.devices if device.serial == self.value), None)

    def action_choose(self) -> None:
        if self.device is not None:
            self.post_message(self.DeviceChosen(self.device.serial))
