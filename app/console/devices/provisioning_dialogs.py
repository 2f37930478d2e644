"""What is asked before virtual devices are worked on: the plan, the name, the yes. The work itself is ``app/console/devices/emulator_controller.py``'s."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.widgets import Label

from clawperator.app.console import navigation
from clawperator.app.console.run.dispatch_dialogs import AskingDialog, Form, QuestionDialog
from clawperator.app.console.screens.live_dialog import DialogText
from clawperator.engine.errors import EngineError
from clawperator.widgets import keys
from clawperator.widgets.format.jobs import job_words, problem_rows
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.key_bar import KeyBar, KeyHint, key_sign
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.app.console.devices.emulator_controller import Emulating
    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.provision import ProvisionPlan


class Wish(NamedTuple):
    """An entry of the palette. ``action`` is the one that a read-only console does not take; empty: it takes it."""

    name: str
    help: str
    run: Callable[[], object]
    action: str = ""


def wishes(console: ConsoleApp) -> Iterator[Wish]:
    """What can be done with virtual devices and the Operator app, from everywhere."""
    session = console.session
    yield Wish(
        "Emulator: provision…", "Reuse, start or create a virtual device", partial(provision, console), "provision"
    )
    for avd in session.machines.avds:
        verb = "stop" if session.machines.run_of(avd.name) is not None else "start"
        name = f"Emulator: {verb} {sentence(avd.name)}" + ("…" if verb == "stop" else "")
        yield Wish(name, "The virtual device", partial(start_or_stop, console, avd), "start_stop")
    yield Wish("Emulator: create…", "A virtual device of your own name", partial(create, console), "create_avd")
    if console.emulating.busy:
        yield Wish("Emulator: cancel", "Running job", partial(cancel, console))
    yield Wish(
        "Operator: set up…",
        "Install the Operator app and grant what it needs",
        partial(set_up, console),
        "operator_setup",
    )


# -- the wishes


def provision(console: ConsoleApp) -> None:
    """Say what would be done, and do it when that is agreed to; while it is at work, show that."""
    emulating = console.emulating
    if emulating.busy:
        navigation.to_job(console)
        return

    def answered(plan: ProvisionPlan | None) -> None:
        if plan is not None:
            _begun(console, emulating.provision(subject=plan.name))

    console.push_screen(PlanDialog(emulating, console.symbols), answered)


def start_or_stop(console: ConsoleApp, avd: Avd) -> None:
    """Start what stands still; stop what runs, after a yes."""
    emulating = console.emulating
    run = console.session.machines.run_of(avd.name)
    if emulating.busy:
        _busy(console)
    elif run is None:
        _begun(console, emulating.start_avd(avd.name))
    else:
        words = f"{sentence(avd.name)} runs as {sentence(run.serial)}. It is shut down, and whatever runs on it ends."

        def answered(yes: bool | None) -> None:
            if yes:
                _begun(console, emulating.stop_avd(avd.name))

        console.push_screen(QuestionDialog("stop a virtual device", words, "stop it", console.symbols), answered)


def create(console: ConsoleApp) -> None:
    """Ask for the name, with what it will be beside it."""
    emulating, machines = console.emulating, console.session.machines
    if emulating.busy:
        _busy(console)
        return

    def answered(answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            _begun(console, emulating.create(answer["name"]))

    taken = frozenset(avd.name for avd in machines.avds)
    console.push_screen(CreateForm(taken, machines.abis, console.symbols), answered)


def delete(console: ConsoleApp, avd: Avd) -> None:
    """Delete it once its name was typed."""
    emulating, machines = console.emulating, console.session.machines
    run = machines.run_of(avd.name)
    if emulating.busy:
        _busy(console)
        return
    if run is not None:
        console.say(Status.WARN, f"{sentence(avd.name)} runs as {sentence(run.serial)}. S stops it first")
        return

    def answered(answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            _begun(console, emulating.delete(avd.name))

    console.push_screen(DeleteForm(avd.name, console.symbols), answered)


def cancel(console: ConsoleApp) -> None:
    if not console.emulating.cancel():
        console.say(Status.IDLE, "No job is running on a virtual device")


def set_up(console: ConsoleApp, serial: str = "") -> None:
    """The Operator app on ``serial``, else on the console's device; while a setup runs, that one."""
    from clawperator.app.console.devices.setup_screen import SetupDialog

    if isinstance(console.screen, SetupDialog):
        return
    session = console.session
    if console.setting_up.busy:
        serial = session.setup.serial
    serial = serial or session.device_id
    device = next((entry for entry in session.devices if entry.serial == serial), None)
    if not console.setting_up.busy and (device is None or not device.usable):
        state = f"is {device.state}" if device is not None else "is not there"
        words = (
            f"{sentence(serial)} {state}: it cannot be set up now" if serial else "No device to set up. D chooses one"
        )
        console.say(Status.WARN, words)
        return
    console.setting_up.look(serial)
    console.push_screen(SetupDialog(console.symbols))


def _begun(console: ConsoleApp, begun: bool) -> None:
    if not begun:
        _busy(console)


def _busy(console: ConsoleApp) -> None:
    job = console.emulating.job
    words = sentence(job_words(job)) if job is not None else "another wish"
    console.say(Status.WAITING, f"Busy {words}. C in 7 cancels it")


# -- the dialogs


_MEANING = {
    "reuse": "Nothing is downloaded and nothing is started; its developer settings are switched on.",
    "start": "It may take 60 s until adb sees it and 180 s more until it has booted.",
    "create": "The download can be large and take up to half an hour; then it is started and booted.",
}


class PlanDialog(AskingDialog):
    """What provisioning would do, asked while the dialog is open already. Answers the plan that was agreed to."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "provision"

    def __init__(self, emulating: Emulating, symbols: Symbols) -> None:
        super().__init__("provision a virtual device", symbols)
        self._emulating = emulating
        self.plan: ProvisionPlan | None = None
        self.problem: EngineError | None = None

    def compose_question(self) -> ComposeResult:
        yield DialogText(self._rows, id="plan")

    def on_mount(self) -> None:
        super().on_mount()
        self._show_keys()
        self.run_worker(self._ask(), name="plan", exit_on_error=True)

    async def _ask(self) -> None:
        try:
            self.plan = await self._emulating.plan()
        except EngineError as exc:
            self.problem = exc
        self._show_keys()
        self.query_one("#plan", DialogText).redraw()

    def _show_keys(self) -> None:
        pairs = [("escape", "esc", "back")] if self.problem else [("enter", "⏎", self.GO), ("escape", "esc", "back")]
        self.query_one(KeyBar).show(
            [
                KeyHint(key, key, key_sign(sign, key, self._symbols), label, key == "escape" or self.plan is not None)
                for key, sign, label in pairs
            ]
        )

    def _rows(self, width: int) -> Iterator[Row]:
        if self.problem is not None:
            sign = self._symbols.sign(Status.FAILED)
            for index, text in enumerate(wrap(self.problem.message, max(10, width - 5), limit=6)):
                yield Row(
                    Line(width).add(f" {sign} " if not index else " " * (len(sign) + 2), "fail").add(text, "text")
                )
            yield from problem_rows(self.problem.code.value, self.problem.hint, width, self._symbols)
        elif self.plan is None:
            yield Row(Line(width).add(" Looking at what there is…", "muted"))
        else:
            words = self.plan.summary[:1].upper() + self.plan.summary[1:]
            for text in wrap(f"{words.rstrip('.')}.", max(10, width - 2), limit=8):
                yield Row(Line(width).add(" ").add(text, "strong"))
            yield Row(Line(width))
            for text in wrap(_MEANING.get(self.plan.kind, ""), max(10, width - 2), limit=4):
                yield Row(Line(width).add(" ").add(text, "text"))
            for text in wrap(
                "C cancels it at any time and says what is left. Other modes stay free.", max(10, width - 2)
            ):
                yield Row(Line(width).add(" ").add(text, "muted"))
        yield Row(Line(width))

    def action_go(self) -> None:
        if self.plan is not None:
            self.dismiss(self.plan)


class DeleteForm(Form):
    """Answers when the name was typed."""

    GO = "delete"

    def __init__(self, name: str, symbols: Symbols) -> None:
        super().__init__("delete a virtual device", symbols)
        self._name_to_type = name
        self.PROMPT = (
            f"{sentence(name)} and everything on it is deleted for good: apps, accounts, data. The system image stays.\n\n"
            "Type its name:"
        )

    def problem(self, text: str) -> str:
        return "" if text.strip() == self._name_to_type else "This is not its name. Nothing was deleted."

    def answer(self, text: str) -> dict[str, Any]:
        return {"name": text.strip()}


class CreateForm(Form):
    """The name of a new virtual device; the rest is what is supported."""

    GO = "create"
    PROMPT = "Name:"

    def __init__(self, taken: frozenset[str], abis: tuple[str, ...], symbols: Symbols) -> None:
        from clawperator.engine.emulators.avds import DEFAULT_NAME

        super().__init__("create a virtual device", symbols)
        self._taken = taken
        self._abis = abis
        names = (DEFAULT_NAME, *(f"{DEFAULT_NAME}-{number}" for number in range(2, 100)))
        self.VALUE = next((name for name in names if name not in taken), "")

    def compose_more(self) -> ComposeResult:
        from clawperator.engine.emulators import avds

        made = avds.recipe(avds.DEFAULT_NAME, self._abis or ("arm64-v8a",))
        rows = (("API level", str(avds.API_LEVEL)), ("device profile", made.profile), ("system image", made.image))
        yield Label("")
        for name, value in rows:
            yield Label(f"{name:<15} {sentence(value)}", markup=False)
        yield Label("")
        yield Label(
            "What is supported; the image is downloaded where it is missing, and its licences are accepted.",
            markup=False,
        )

    def problem(self, text: str) -> str:
        from clawperator.engine.emulators.avds import is_name

        name = text.strip()
        if not is_name(name):
            return "Use letters, digits, dots, dashes and underscores, with no dash in front."
        return f"There is one called {name} already." if name in self._taken else ""

    def answer(self, text: str) -> dict[str, Any]:
        return {"name": text.strip()}
