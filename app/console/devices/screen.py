"""Mode 7: devices, virtual devices, and the job on them."""

from __future__ import annotations

import shlex
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Click

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.devices import provisioning_dialogs
from clawperator.app.console.devices.console import DevicesConsole
from clawperator.app.console.devices.known import KnownDevices
from clawperator.app.console.empty_states import device_state, no_device_state
from clawperator.app.console.navigation import Destination, EmulatorJobPlace
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.folding import fold
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.emulator_list import EmulatorList
from clawperator.widgets.format.devices import NO_FACTS, DeviceSummary, device_detail, device_words
from clawperator.widgets.format.emulators import avd_detail
from clawperator.widgets.format.jobs import job_line
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.job_pane import JobPane
from clawperator.widgets.line_widget import OneLineWidget
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.row_panes import WrappedText

if TYPE_CHECKING:
    from clawperator.engine.emulators.avds import Avd


class JobLine(OneLineWidget):
    """The running job in one line; a click opens it."""

    _job: Job | None = None

    def show(self, job: Job | None) -> None:
        self._job = job
        self.refresh()

    def line_row(self, width: int) -> Row:
        return job_line(self._job, self.clock.now(), width, self.symbols) if self._job is not None else Row(Line())

    async def on_click(self, event: Click) -> None:
        event.stop()
        await self.app.run_action("show_job")


class DevicesScreen(TwoPaneScreen):
    """The list, the details of one entry, the job."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("emulators")]
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id",)
    GO: ClassVar[str] = "go_devices"
    PLACES: ClassVar[dict[str, str]] = {"devices": "#list", "node": "#detail", "job": "#job"}

    def __init__(self) -> None:
        super().__init__()
        self._facts: dict[str, DeviceSummary] = {}
        self._needle = ""

    @cached_property
    def _known(self) -> KnownDevices:
        return KnownDevices(self.console, lambda: self.show(Facet.DEVICES))

    def compose_body(self) -> ComposeResult:
        with Container(id="panes", classes="-machines"):
            with Pane("devices", EmulatorList(id="list"), id="list-pane"):
                yield FindLine(self._find, placeholder="name, app or last step", back_to="#list", id="find")
            yield Pane("details", WrappedText(id="detail", empty="Select a device."), id="detail-pane")
            yield Pane("job", JobPane(id="job"), id="job-pane")
        yield JobLine(id="job-line")
        yield InfoLine(id="summary")

    @property
    def console(self) -> DevicesConsole:
        return cast("DevicesConsole", self.app)

    def arrive(self, place: Destination) -> None:
        if isinstance(place, EmulatorJobPlace):
            self.go_to("#job")

    @property
    def devices(self) -> EmulatorList:
        return self.query_one("#list", EmulatorList)

    def on_screen_resume(self) -> None:
        self.console.emulators.begin()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & Facet.LOCKS:  # an execution of some program has ended
            # A function: of a coroutine that is replaced before it begins, Python says that it was never awaited.
            read: Any = self._known.read_history
            self.run_worker(read, group="history", exclusive=True, exit_on_error=True)
        if changed & (Facet.DEVICES | Facet.LOCKS | Facet.EMULATORS | Facet.DOCTOR | Facet.TREE | Facet.OTHERS):
            self._draw_devices()
        if changed & Facet.EMULATORS:
            self._draw_job()

    def _draw_devices(self) -> None:
        session, needle = self.session, fold(self._needle)
        self._facts = self._known.summaries()
        devices = [each for each in self._known.devices if needle in fold(device_words(each, self._facts[each.serial]))]
        words = "" if session.devices else self._words_without_devices()
        self.devices.words = "No device matches. esc shows all" if needle and not devices else words
        self.devices.show_all(devices, session.device_id, self._facts, session.machines)
        self.show_detail()
        self.show_place()
        self._draw_summary()

    def _words_without_devices(self) -> str:
        state = device_state(self.session) or no_device_state(self.session)
        return "\n".join((f"{state.reason}.", *state.steps)) if state else ""

    def draw_ages(self) -> None:
        self.query_one("#job", JobPane).tick()
        self.query_one("#job-line", JobLine).refresh()
        self._draw_devices()

    def show_place(self) -> None:
        """Show ``2 of 5``, without headings."""
        rows = [row.place for row in self.devices.rows if not row.quiet]
        place = rows.index(self.devices.value) + 1 if self.devices.value in rows else 0
        self.query_one("#list-pane", Pane).note(Line().add(f"{place:,} of {len(rows):,}" if rows else ""))

    def show_detail(self) -> None:
        detail, pane = self.query_one("#detail", WrappedText), self.devices
        session, symbols = self.session, self.console.symbols
        machines, now = session.machines, session.clock.now()
        if (avd := pane.avd) is not None:
            detail.show_text(lambda width: avd_detail(avd, machines, width, symbols), pane.value)
        elif (device := pane.device) is not None:
            facts, chosen = self._facts.get(device.serial, NO_FACTS), device.serial == session.device_id
            draw = partial(device_detail, device, symbols=symbols, chosen=chosen, facts=facts, now=now)
            detail.show_text(draw, pane.value)
        else:
            detail.show_text(lambda _width: ())

    def _draw_job(self) -> None:
        job = self.session.machines.job
        self.set_class(job is not None, "-job")
        self.query_one("#job", JobPane).show(job)
        self.query_one("#job-line", JobLine).show(job)

    def _draw_summary(self) -> None:
        session, symbols = self.session, self.console.symbols
        summary = self.query_one("#summary", InfoLine)
        line = Line(summary.width).add(" ")
        if session.adb_problem:
            line.add(f"{symbols.sign(Status.FAILED)} ", "fail").device(
                session.adb_problem if session.remote else f"adb: {session.adb_problem}", "fail"
            )
        else:
            odd = len(session.devices) - len(session.usable)
            line.add(f"{len(session.usable)} usable", "strong").add(f"   {odd} not" if odd else "", "warn")
            busy = sum(facts.activity == "busy" for facts in self._facts.values())
            line.add(f"   {busy} busy" if busy else "", "run")
            count, runs = len(session.machines.avds), len(session.machines.running)
            line.add(f"   {count} virtual, {runs} running" if count else "", "muted")
        summary.show(Row(line, Line().add("pushed by the server " if session.remote else "pushed by adb ", "faint")))

    # -- choosing

    @on(DeviceList.DeviceChosen)
    def _odd_device_chosen(self, message: DeviceList.DeviceChosen) -> None:
        """Open the details of a device that cannot be used."""
        device = self.devices.device
        if device is not None and not device.usable:
            message.stop()
            self._open_detail()

    def open_drawer(self, pane: Pane | None) -> None:
        super().open_drawer(pane)
        self.set_class(pane is not None and pane.id == "job-pane", "-at-job")

    def close_drawers(self) -> bool:
        opened = self.has_class("-at-job")
        self.remove_class("-at-job")
        if opened:
            self.set_focus(self.query_one("#list"))
        return super().close_drawers() or opened

    # -- keys

    def action_provision(self) -> None:
        provisioning_dialogs.provision(self.console)

    def action_read_device(self) -> None:
        """Read the screen of the device under the cursor once."""
        serial = self.devices.serial
        if serial in (device.serial for device in self.session.usable):
            self._known.read(serial)
        else:
            self.console.say(Status.IDLE, "No usable device under the cursor to read")

    def action_find(self) -> None:
        self.query_one("#find", FindLine).open()

    def _find(self, text: str) -> None:
        self._needle = text.strip()
        self._draw_devices()

    def clear_pane(self) -> None:
        """Show all devices again."""
        self.query_one("#find", FindLine).value = ""

    def action_pair(self) -> None:
        provisioning_dialogs.pair(self.console)

    def action_start_stop(self) -> None:
        if (avd := self._avd("start or stop")) is not None:
            provisioning_dialogs.start_or_stop(self.console, avd)

    def action_create_avd(self) -> None:
        provisioning_dialogs.create(self.console)

    def action_delete_avd(self) -> None:
        if (avd := self._avd("delete")) is not None:
            provisioning_dialogs.delete(self.console, avd)

    def action_cancel_job(self) -> None:
        provisioning_dialogs.cancel(self.console)

    def action_operator_setup(self) -> None:
        pane = self.devices
        if pane.avd is not None and not pane.serial:
            self.console.say(Status.WARN, f"{sentence(pane.avd.name)} is not running. Press S to start it")
        else:
            provisioning_dialogs.set_up(self.console, pane.serial)

    def action_look_again(self) -> None:
        self.console.emulators.look_again()

    def action_problem(self, step: int) -> None:
        self.devices.to_problem(step)

    def _avd(self, what: str) -> Avd | None:
        """Return the virtual device under the cursor, also of a running emulator; say so where there is none."""
        pane = self.devices
        name = self.session.machines.name_of(pane.serial)
        avd = pane.avd or self.session.machines.avd(name)
        if avd is None:
            self.console.say(Status.IDLE, f"No virtual device under the cursor to {what}. n creates one")
        return avd

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        device, avd = self.devices.device, self.devices.avd
        if device is not None:
            things["id"] = Copyable("the serial", device.serial)
        if avd is not None:
            things["id"] = Copyable("the name", avd.name)
            words = ["clawperator", "emulator", "inspect", avd.name]
            things["command"] = Copyable("the command line", shlex.join(words))
        return things
