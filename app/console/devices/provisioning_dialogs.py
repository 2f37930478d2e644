"""Questions before jobs on virtual devices: the plan, the name, the confirmation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.widgets import Label

from clawperator.app.console.devices.console import DevicesConsole
from clawperator.app.console.navigation import EmulatorJobPlace
from clawperator.app.console.screens.forms import Form, QuestionDialog
from clawperator.app.console.screens.live_dialog import AskingDialog
from clawperator.app.console.screens.menu import PaletteEntry, ask
from clawperator.engine.errors import EngineError
from clawperator.widgets import keys
from clawperator.widgets.format.jobs import job_words, problem_rows
from clawperator.widgets.format.lines import Line, Row, sentence, wrapped
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText

if TYPE_CHECKING:
    from clawperator.app.console.devices.emulator_controller import EmulatorController
    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.provision import ProvisionPlan


def palette_entries(console: DevicesConsole) -> Iterator[PaletteEntry]:
    """Yield the palette's commands for virtual devices and the Operator app."""
    session, why_not = console.session, console.why_not
    run = partial(provision, console)
    yield PaletteEntry("Emulator: provision…", "Reuse, start or create a virtual device", run, why_not("provision"))
    for avd in session.machines.avds:
        verb = "stop" if session.machines.run_of(avd.name) is not None else "start"
        name = f"Emulator: {verb} {sentence(avd.name)}" + ("…" if verb == "stop" else "")
        run = partial(start_or_stop, console, avd)
        yield PaletteEntry(name, "The virtual device", run, why_not("start_stop"))
    run = partial(create, console)
    yield PaletteEntry("Emulator: create…", "Create a virtual device", run, why_not("create_avd"))
    if console.emulators.busy:
        yield PaletteEntry("Emulator: cancel", "Cancel the running job", partial(cancel, console))
    run = partial(pair, console)
    yield PaletteEntry("Device: pair over Wi-Fi…", "Show a QR code for the phone to scan", run, why_not("pair"))
    run = partial(set_up, console)
    words = "Install the Operator app and grant its permissions"
    yield PaletteEntry("Operator: set up…", words, run, why_not("operator_setup"))


def provision(console: DevicesConsole) -> None:
    """Show the plan and start it when confirmed; show the running job instead where there is one."""
    emulators = console.emulators
    if emulators.busy:
        console.go_to(EmulatorJobPlace())
        return

    ask(console, PlanDialog(emulators), lambda plan: _begun(console, emulators.provision(subject=plan.name)))


def pair(console: DevicesConsole) -> None:
    """Offer a QR code to a phone."""
    from clawperator.app.console.devices.pair_dialog import PairDialog

    console.push_screen(PairDialog(console.engine))


def start_or_stop(console: DevicesConsole, avd: Avd) -> None:
    """Start a stopped virtual device; stop a running one after confirmation."""
    emulators = console.emulators
    run = console.session.machines.run_of(avd.name)
    if emulators.busy:
        _busy(console)
    elif run is None:
        _begun(console, emulators.begin_job("start", avd.name))
    else:
        words = f"{sentence(avd.name)} runs as {sentence(run.serial)}. It will be shut down, and everything that runs on it ends."
        dialog = QuestionDialog("stop a virtual device", words, "stop it")
        ask(console, dialog, lambda _: _begun(console, emulators.begin_job("stop", avd.name)))


def create(console: DevicesConsole) -> None:
    """Ask for the name, and show the other properties."""
    emulators, machines = console.emulators, console.session.machines
    if emulators.busy:
        _busy(console)
        return

    form = CreateForm(frozenset(avd.name for avd in machines.avds), machines.abis)
    ask(console, form, lambda name: _begun(console, emulators.begin_job("create", name)))


def delete(console: DevicesConsole, avd: Avd) -> None:
    """Delete it once its name was typed."""
    emulators, machines = console.emulators, console.session.machines
    run = machines.run_of(avd.name)
    if emulators.busy:
        _busy(console)
    elif run is not None:
        console.say(Status.WARN, f"{sentence(avd.name)} runs as {sentence(run.serial)}. S stops it first")
    else:
        ask(console, DeleteForm(avd.name), lambda name: _begun(console, emulators.begin_job("delete", name)))


def cancel(console: DevicesConsole) -> None:
    if not console.emulators.cancel():
        console.say(Status.IDLE, "No virtual device job is running")


def set_up(console: DevicesConsole, serial: str = "") -> None:
    """Open the setup dialog for ``serial``, else for the console's device; while a setup runs, for its device."""
    from clawperator.app.console.devices.setup_screen import SetupDialog

    if isinstance(console.screen, SetupDialog):
        return
    session = console.session
    if console.operator_setup.busy:
        serial = session.setup.serial
    serial = serial or session.device_id
    device = next((entry for entry in session.devices if entry.serial == serial), None)
    if not console.operator_setup.busy and (device is None or not device.usable):
        state = f"is {device.state}" if device is not None else "is not there"
        words = (
            f"{sentence(serial)} {state}: it cannot be set up now" if serial else "No device to set up. D chooses one"
        )
        console.say(Status.WARN, words)
        return
    console.operator_setup.look(serial)
    console.push_screen(SetupDialog())


def _begun(console: DevicesConsole, begun: bool) -> None:
    if not begun:
        _busy(console)


def _busy(console: DevicesConsole) -> None:
    job = console.emulators.job
    words = sentence(job_words(job)) if job is not None else "with another job"
    console.say(Status.WAITING, f"Busy {words}. Press C in Devices to cancel it")


# -- the dialogs


_MEANING = {
    "reuse": "Nothing is downloaded and nothing is started; its developer settings are enabled.",
    "start": "It may take 60 s until adb sees it and 180 s more until it has booted.",
    "create": "The download can be large and take up to half an hour; then it is started and booted.",
}


class PlanDialog(AskingDialog):
    """Shows what provisioning would do, queried while the dialog is open. Answers the plan that was confirmed."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "provision"

    def __init__(self, emulators: EmulatorController) -> None:
        super().__init__("provision a virtual device")
        self._emulating = emulators
        self.plan: ProvisionPlan | None = None
        self.problem: EngineError | None = None

    def compose_question(self) -> ComposeResult:
        yield WrappedText(self._rows, id="plan")

    def on_mount(self) -> None:
        self._show_keys()
        self.run_worker(self._ask(), name="plan", exit_on_error=True)

    async def _ask(self) -> None:
        try:
            self.plan = await self._emulating.plan()
        except EngineError as exc:
            self.problem = exc
        self._show_keys()
        self.query_one("#plan", WrappedText).fold()

    def _show_keys(self) -> None:
        go = () if self.problem else (("enter", self.GO),)
        self.show_keys(*go, ("escape", "back"), dimmed="" if self.plan is not None else "enter")

    def _rows(self, width: int) -> Iterator[Row]:
        if self.problem is not None:
            lead = f" {self.symbols.sign(Status.FAILED)} "
            yield from wrapped(self.problem.message, width, lead=lead, lead_role="fail", limit=6)
            yield from problem_rows(self.problem.code.value, self.problem.hint, width, self.symbols)
        elif self.plan is None:
            yield Row(Line(width).add(" Checking virtual devices…", "muted"))
        else:
            words = self.plan.summary[:1].upper() + self.plan.summary[1:]
            yield from wrapped(f"{words.rstrip('.')}.", width, "strong", limit=8)
            yield Row(Line(width))
            yield from wrapped(_MEANING.get(self.plan.kind, ""), width, limit=4)
            words = "C cancels it at any time and reports what remains. Other modes stay usable."
            yield from wrapped(words, width, "muted")
        yield Row(Line(width))

    def action_go(self) -> None:
        if self.plan is not None:
            self.dismiss(self.plan)


class DeleteForm(Form):
    """Answers when the name was typed."""

    def __init__(self, name: str) -> None:
        words = (
            f"{sentence(name)} and everything on it (apps, accounts, data) is deleted permanently. The system image stays.\n\n"
            "Type its name:"
        )
        wrong = "The name does not match. Nothing was deleted."
        super().__init__(
            "delete a virtual device", words, lambda text: "" if text.strip() == name else wrong, go="delete"
        )


class CreateForm(Form):
    """Asks for the name of a new virtual device; the other values are fixed."""

    def __init__(self, taken: frozenset[str], abis: tuple[str, ...]) -> None:
        from clawperator.engine.emulators.avds import DEFAULT_NAME

        names = (DEFAULT_NAME, *(f"{DEFAULT_NAME}-{number}" for number in range(2, 100)))
        free = next((name for name in names if name not in taken), "")
        super().__init__("create a virtual device", "Name:", partial(_name_problem, taken), go="create", value=free)
        self._abis = abis

    def compose_more(self) -> ComposeResult:
        from clawperator.engine.emulators import avds

        made = avds.recipe(avds.DEFAULT_NAME, self._abis or ("arm64-v8a",))
        rows = (("API level", str(avds.API_LEVEL)), ("device profile", made.profile), ("system image", made.image))
        yield Label("")
        for name, value in rows:
            yield Label(f"{name:<15} {sentence(value)}", markup=False)
        yield Label("")
        yield Label(
            "These are the supported values. A missing image is downloaded, and its licences are accepted.",
            markup=False,
        )


def _name_problem(taken: frozenset[str], text: str) -> str:
    from clawperator.engine.emulators.avds import is_name

    name = text.strip()
    if not is_name(name):
        return "Use letters, digits, dots, dashes and underscores, and no dash at the start."
    return f"A virtual device named {name} already exists." if name in taken else ""
