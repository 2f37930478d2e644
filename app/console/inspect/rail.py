"""The left column of mode 1: the devices, and a summary of Doctor's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.containers import Vertical

from clawperator.app.console.empty_states import no_device_state
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.format.checks import tally_line
from clawperator.widgets.format.devices import DeviceSummary
from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.pane import Pane
from clawperator.widgets.text.times import age

if TYPE_CHECKING:
    from clawperator.app.console.console import Console


class Rail(Vertical):
    """Draws the session's devices and report."""

    def __init__(self) -> None:
        self._devices = DeviceList(id="devices")
        self._devices_pane = Pane("devices", self._devices, id="devices-pane")
        self._doctor = DoctorPanel(id="doctor", summary=True)
        self._doctor_pane = Pane("doctor", self._doctor, id="doctor-pane")
        super().__init__(self._devices_pane, self._doctor_pane, id="rail")

    @property
    def console(self) -> Console:
        return cast("Console", self.app)

    def draw_devices(self) -> None:
        session = self.console.session
        state = no_device_state(session)
        self._devices.empty_text = (
            "Saved dumps:\nno device." if session.offline else f"{state.reason}." if state else ""
        )
        facts = dict.fromkeys(session.silent, DeviceSummary(silent=True))
        self._devices.show(session.devices, session.device_id, facts=facts)
        note = Line()
        if session.adb_problem:
            note.add("list unavailable", "warn")
        elif session.devices:
            note.add(f"{len(session.usable)} of {len(session.devices)} usable")
        self._devices_pane.note(note)

    def draw_doctor(self) -> None:
        self._doctor.show(self.console.session.report)
        self.draw_ages()
        self._doctor_pane.badge(self._verdict_words(self._doctor_pane.size.width - 12))

    def draw_ages(self) -> None:
        """Show the result of the checks and its age."""
        session, symbols = self.console.session, self.console.symbols
        line = tally_line(session.report, symbols)
        if session.report.ended:
            line.add(f" {symbols.dot} {age(session.clock.now() - session.report.ended)}")
        if session.report_is_old:
            line.add(" old", "stale")
        self._doctor_pane.note(line)

    def _verdict_words(self, width: int) -> str:
        report = self.console.session.report
        if report.running or not report.checks or report.verdict().ready:
            return ""
        summary = report.verdict().summary
        return summary if len(summary) <= width else summary.partition(":")[0]

    @on(LinePane.RowChosen, "#doctor")
    def _check_chosen(self) -> None:
        self.console.action_mode("doctor")
