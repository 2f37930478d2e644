"""The device of the console: chosen once for all modes, by itself where there is only one."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.app.console.bridge import Bridge
from clawperator.app.console.console import Console
from clawperator.app.console.console_engine import known_aliases
from clawperator.app.console.empty_states import device_state, start_state
from clawperator.app.console.screens import menu
from clawperator.app.console.session import Facet
from clawperator.widgets.models.status import Status


class DeviceSelection:
    """Selects the device of ``console`` and makes ``bridge`` observe it."""

    def __init__(self, console: Console, bridge: Bridge) -> None:
        self._console = console
        self._bridge = bridge
        self._asked = False
        self._problem = ""

    def automatic(self) -> Facet:
        """Select the wanted or the only usable device; ask once where there are several; never change a selection.

        Report when the selected device disconnects; when it returns, read its screen and run the checks again.
        """
        console, session = self._console, self._console.session
        if session.offline:
            return Facet.NOTHING
        if session.device_id:
            return self._observe()
        for serial, alias in known_aliases(console.engine).items():
            if alias == session.wanted_device:
                session.wanted_device = serial
        if choice := session.choice():
            self.use(choice)
            return Facet.EVERYTHING
        self._check_without()
        if session.usable and not self._asked:
            self._asked = True
            if not session.wanted_device:
                self.action_choose_device()
            elif (state := start_state(session)) is not None:
                console.say(state.status, state.reason)
        return Facet.NOTHING

    def _check_without(self) -> None:
        """Run the checks: they say why there is no device, and what to do."""
        session, state = self._console.session, start_state(self._console.session)
        before, self._problem = self._problem, state.reason if state is not None else ""
        if self._problem != before and not session.remote:
            self._bridge.doctor.rerun()

    def _observe(self) -> Facet:
        """Report a change of the selected device's presence."""
        session, state = self._console.session, device_state(self._console.session)
        before, self._problem = self._problem, state.reason if state is not None else ""
        if self._problem == before:
            return Facet.NOTHING
        if self._problem:
            session.say(Status.WARN, self._problem)
        else:
            session.say(Status.OK, f"{session.device_id} is connected again")
            self._bridge.first_look()
        return Facet.NOTICE

    def action_choose_device(self) -> None:
        """Open the device picker."""
        from clawperator.app.console.screens.dialogs import DeviceDialog

        menu.ask(self._console, DeviceDialog(self._console.session), self.choose)

    def choose(self, serial: str) -> None:
        """Select a device that the user pointed at, if it is usable."""
        console = self._console
        device = next((entry for entry in console.session.devices if entry.serial == serial), None)
        if device is not None and device.usable:
            self.use(serial)
            console.say(Status.OK, f"The console uses {serial} now")
        elif device is not None:
            console.say(Status.WARN, f"{serial} cannot be used: {device.state}")

    def use(self, serial: str) -> None:
        """Make ``serial`` the device of all modes: follow its log, take a snapshot, run the checks."""
        session = self._console.session
        if serial == session.device_id:
            return
        session.device_id, session.offline, session.tree_problem, self._problem = serial, False, "", ""
        session.backend = self._console.engine.backend_of(serial)
        self._bridge.use_device(serial)
        self._bridge.first_look()
        self._console.show(Facet.EVERYTHING)

    def open_files(self, paths: Sequence[str]) -> None:
        """Show saved dumps instead of the device; selecting a device ends that."""
        self._console.session.leave_device()
        self._bridge.use_device("")
        self._bridge.open_files(paths)
        self._console.action_mode("inspect")
        self._console.show(Facet.EVERYTHING)
