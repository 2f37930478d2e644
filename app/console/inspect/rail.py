"""The left column of mode 1: the devices, and a summary of Doctor's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

from clawperator.app.console.empty_states import no_device_state
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.format.checks import tally_line
from clawperator.widgets.format.devices import DISCONNECTED, DeviceSummary
from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_widget import AppValues
from clawperator.widgets.pane import Pane
from clawperator.widgets.text.times import age

if TYPE_CHECKING:
    from clawperator.app.console.session import Session


_AGE_STEP = 5
"""In seconds: to draw the age every second was a fifth of what an idle console costs."""


class Rail(AppValues, Vertical):
    """A pane of each."""

    def __init__(self) -> None:
        self._devices = DeviceList(id="devices")
        self._devices_pane = Pane("devices", self._devices, id="devices-pane")
        self._doctor = DoctorPanel(id="doctor", summary=True)
        self._doctor_pane = Pane("doctor", self._doctor, id="doctor-pane")
        super().__init__(self._devices_pane, self._doctor_pane, id="rail")

    def draw_devices(self, session: Session) -> None:
        state = no_device_state(session)
        self._devices.empty_text = (
            "Saved dumps:\nno device." if session.offline else f"{state.reason}." if state else ""
        )
        facts = dict.fromkeys(session.silent, DeviceSummary(silent=True))
        away, _ = session.left.get(session.device_id, (None, 0.0))
        devices = session.devices if away is None else (*session.devices, away._replace(state=DISCONNECTED))
        self._devices.show(devices, session.device_id, facts=facts)
        note = Line()
        if session.adb_problem:
            note.add("list unavailable", "warn")
        elif session.devices:
            note.add(f"{len(session.usable)} of {len(session.devices)} usable")
        self._devices_pane.note(note)

    def draw_doctor(self, session: Session) -> None:
        self._doctor.show(session.report)
        self.draw_ages(session)

    def draw_ages(self, session: Session) -> None:
        """Show the result of the checks and its age."""
        line = Line().add(f"old {self.symbols.dot} " if session.report_is_old else "", "stale")
        line.extend(tally_line(session.report, self.symbols))
        if session.report.ended:
            passed = session.clock.now() - session.report.ended
            line.add(f" {self.symbols.dot} {age(passed - passed % _AGE_STEP)}")
        self._doctor_pane.note(line)
