"""The devices that adb sees, and one of them in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.folded import FoldedText
from clawperator.widgets.format.devices import device_detail, device_row
from clawperator.widgets.format.lines import Row
from clawperator.widgets.row_list import ListRow, RowList

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.engine.adb.parse import DeviceEntry


class DeviceList(RowList):
    """One row per device, pushed by the adb server; enter makes it the console's device."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("devices")]

    EMPTY = "No device yet.\nPlug in a phone with USB debugging,\nor start an emulator."

    class DeviceChosen(Message):
        """``serial`` is to be the device of the console."""

        def __init__(self, serial: str) -> None:
            super().__init__()
            self.serial = serial

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.devices: Sequence[DeviceEntry] = ()
        self.chosen = ""

    def show(self, devices: Sequence[DeviceEntry], chosen: str, busy: Mapping[str, str] | None = None) -> None:
        """``busy`` names, by serial, who holds a device."""
        self.devices, self.chosen = devices, chosen
        locks = busy or {}
        first = not self.rows
        self.show_rows(self._row(device, locks.get(device.serial, "")) for device in devices)
        if first and chosen:
            self.to_device(chosen)

    def _row(self, device: DeviceEntry, lock: str) -> ListRow:
        chosen = device.serial == self.chosen
        return ListRow(
            lambda width: device_row(device, width, self.symbols, chosen=chosen, lock=lock),
            value=device.serial,
            role="" if device.usable else "warn",
        )

    def to_device(self, serial: str) -> None:
        place = next((index for index, device in enumerate(self.devices) if device.serial == serial), None)
        if place is not None:
            self.move_to(place)

    @property
    def device(self) -> DeviceEntry | None:
        """The device under the cursor."""
        return next((device for device in self.devices if device.serial == self.value), None)

    def action_choose(self) -> None:
        if self.device is not None:
            self.post_message(self.DeviceChosen(self.device.serial))


class DeviceDetail(FoldedText):
    """One device in full, with the steps for a state that cannot be used."""

    EMPTY = "Choose a device."

    def show(self, device: DeviceEntry | None, *, chosen: bool = False) -> None:
        self._device, self._chosen = device, chosen
        self.fold()

    _device: DeviceEntry | None = None
    _chosen = False

    def folded(self, width: int) -> Iterable[Row]:
        return () if self._device is None else device_detail(self._device, width, self.symbols, chosen=self._chosen)
