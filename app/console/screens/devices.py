"""Mode 7: everything that adb sees, and what to do about what cannot be used."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.screens.tree_area import no_device_words
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.widgets.device_list import DeviceDetail, DeviceList
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.status import Status
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.pane import Pane


class DevicesScreen(TwoPaneScreen):
    """The list, pushed by the adb server, and one device."""

    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id",)
    PLACES: ClassVar[dict[str, str]] = {"devices": "#list", "node": "#detail"}

    def compose_body(self) -> ComposeResult:
        with Container(id="panes", classes="-beside"):
            yield Pane("devices", DeviceList(id="list"), id="list-pane")
            yield Pane("device", DeviceDetail(id="detail"), id="detail-pane")
        yield InfoLine(id="summary")

    @property
    def devices(self) -> DeviceList:
        return self.query_one("#list", DeviceList)

    def draw(self, changed: Facet) -> None:
        if changed & (Facet.DEVICES | Facet.LOCKS):
            session = self.session
            busy = {serial: str(lock.get("commandId") or "busy") for serial, lock in session.locks.items()}
            self.devices.empty_text = no_device_words(session.adb_problem, known=session.devices_known)
            self.devices.show(session.devices, session.device_id, busy)
            self.show_detail()
            self.show_place()
            self._draw_summary()

    def show_detail(self) -> None:
        device = self.devices.device
        chosen = device is not None and device.serial == self.session.device_id
        self.query_one("#detail", DeviceDetail).show(device, chosen=chosen)

    def _draw_summary(self) -> None:
        session, symbols = self.session, self.console.symbols
        summary = self.query_one("#summary", InfoLine)
        line = Line(summary.width).add(" ")
        if session.adb_problem:
            line.add(f"{Status.FAILED.sign(ascii_only=symbols.ascii)} ", "fail").device(
                f"adb: {session.adb_problem}", "fail"
            )
        else:
            odd = len(session.devices) - len(session.usable)
            line.add(f"{len(session.usable)} usable", "strong").add(f"   {odd} not" if odd else "", "warn")
        summary.show(Row(line, Line().add("pushed by adb ", "faint")))

    @on(DeviceList.DeviceChosen)
    def _odd_device_chosen(self, message: DeviceList.DeviceChosen) -> None:
        """A device that cannot be used opens its steps instead."""
        device = self.devices.device
        if device is not None and not device.usable:
            message.stop()
            self._open_detail()

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        device = self.devices.device
        if device is not None:
            things["id"] = Copyable("the serial", lambda: device.serial)
        return things
