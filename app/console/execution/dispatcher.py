"""From a verb and a node to a dispatched execution.

Nothing is sent before the user has confirmed exactly what is sent (``verify`` changes nothing and needs no
confirmation). Nothing is sent twice: after a refusal or a failure the user repeats it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.app.console.console import Console
from clawperator.app.console.execution.controller import ExecutionController
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.recorder import ActionRecorder
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.screens.menu import ChoiceDialog, ask
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import snippets
from clawperator.engine.executions.steps import SOURCE, VERBS, execution, step
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.execution.dispatch_dialogs import Dispatch
    from clawperator.engine.config.settings_file import Confirm
    from clawperator.engine.executions.composition import Composition
    from clawperator.engine.executions.shell_input import Point


class Dispatcher:
    """Implements the keys ``a``, ``i``, ``v``, ``R`` and ``C``."""

    def __init__(
        self,
        console: Console,
        executing: ExecutionController,
        drafts: DraftKeeper,
        recorder: ActionRecorder,
        confirm: Confirm,
    ) -> None:
        self._console = console
        self._executing = executing
        self._drafts = drafts
        self._recorder = recorder
        self.confirm = confirm
        """When ``run`` asks first; ``doubtful``: where ``facts`` has a warning."""

    @property
    def waiting(self) -> bool:
        """Whether a result is pending."""
        return self._executing.payload is not None

    @property
    def refusal_details(self) -> Mapping[str, Any]:
        """Details of the conflict that refused the last execution; empty where there was none."""
        error = self._executing.refusal
        conflict = error is not None and error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        return error.details if error is not None and conflict else {}

    # -- requests

    def act(self, verb: str, subject: Subject) -> None:
        """Run ``verb``: ask for its values, show what would be sent, send it on ⏎."""
        if self._has_device() and self._may_send([VERBS[verb].type]):
            self._compose(verb, subject, lambda made: self._act_with(verb, subject, made))

    def open(self, verb: str) -> None:
        """Run a verb that has no node."""
        self.act(verb, Subject(Matcher()))

    def verify(self, subject: Subject) -> None:
        """Ask the device whether it finds the node; this changes nothing, so it is sent at once."""
        self.act("verify", subject)

    def insert(self, verb: str, subject: Subject) -> None:
        """Append ``verb`` to the draft as a step."""
        self._compose(verb, subject, lambda made: self._append(verb, subject, made))

    def run(
        self,
        payload: Mapping[str, Any],
        what: str,
        warnings: Sequence[str] = (),
        sent: Callable[[str], object] = lambda _: None,
        *,
        action: Mapping[str, Any] | None = None,
        subject: Subject | None = None,
    ) -> None:
        """Show ``payload`` as it would be sent, and send it on ⏎; then call ``sent`` with its command id.

        ``action`` is recorded. Nothing is asked where the setting ``confirm`` says so.
        """
        from clawperator.app.console.execution.dispatch_dialogs import Dispatch

        ready = self._ready(payload) if self._has_device() else None
        if ready is None:
            return
        normal, advice = ready
        device = self._console.session.device_id
        shown = Dispatch(what, device, snippets.execution_line(normal, device), normal, [*warnings, *advice], subject)

        def answered(name: str) -> None:
            if self._send(normal, device, name, action):
                sent(str(normal["commandId"]))

        self._ask(shown, answered)

    def _ask(self, shown: Dispatch, answered: Callable[[str], None]) -> None:
        """Show what would be sent, unless the setting ``confirm`` says otherwise."""
        from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog, facts

        doubtful = any(status is Status.WARN for status, _ in facts(shown))
        if self.confirm == "always" or (self.confirm == "doubtful" and doubtful):
            ask(self._console, DispatchDialog(shown, self._console), answered)
        else:
            answered(shown.what)

    def swipe(self, start: Point, end: Point, doubts: Sequence[str] = ()) -> None:
        """Swipe from one point of the screen to another through Android's ``input``, on ⏎."""
        from clawperator.app.console.execution.dispatch_dialogs import Dispatch
        from clawperator.engine.executions.shell_input import gesture

        session = self._console.session
        if not self._has_device() or not self._may_send(["input_swipe"]):
            return
        across, down = end[0] - start[0], end[1] - start[1]
        way = ("right" if across > 0 else "left") if abs(across) > abs(down) else "down" if down > 0 else "up"
        what = f"swipe {way} from {start[0]},{start[1]} to {end[0]},{end[1]}"
        made = replace(gesture("swipe", start, to=end), source=SOURCE)
        points = ("--at", f"{start[0]},{start[1]}", "--to", f"{end[0]},{end[1]}")
        command = shlex.join(["clawperator", "input", "swipe", *points, "--device", session.device_id])
        outdated = session.outdated(session.trees.shown)
        notes = [*doubts, *([f"The tree is out of date: {outdated}"] if outdated else []), *self._busy()]
        if self._recorder.on:
            notes.append("It is not recorded: nothing there scrolls this way, and a draft has no swipes between points")
        payload = made.validated().payload
        device = session.device_id

        def answered(name: str) -> None:
            self._send(payload, device, f"{name}, not recorded" if self._recorder.on else name, None, made)

        self._ask(Dispatch(what, device, command, payload, notes), answered)

    def stop_waiting(self) -> None:
        """Ask whether to stop waiting, after explaining what that means."""
        from clawperator.app.console.execution.stopping import choices, target_app, words_before_stopping

        executing, session = self._executing, self._console.session
        payload, device = executing.payload, executing.device_id
        if payload is None:
            self._console.say(Status.IDLE, "No execution is pending")
            return
        execution = session.log.find(str(payload["commandId"]), device)
        tree = session.trees_of(device).newest.tree
        package = target_app(payload, tree.package if tree is not None else "")
        words = words_before_stopping(payload, execution, executing.since, session.clock)

        def answered(choice: str) -> None:
            if choice == "keep":
                return
            if not executing.stop_waiting():
                self._console.say(Status.IDLE, "The result arrived before you stopped waiting")
            if choice == "force_stop":
                executing.force_stop(package, device)

        ask(self._console, ChoiceDialog("stop waiting", words, choices(package)), answered)

    # -- one verb

    def _compose(self, verb: str, subject: Subject, then: Callable[[dict[str, Any]], object]) -> None:
        """Call ``then`` with the step of ``verb``, after a form where it needs values that no node supplies."""
        from clawperator.app.console.execution.dispatch_dialogs import VALUES, TextForm

        spec = VERBS[verb]
        if spec.of_node and not subject.matcher:
            self._console.say(
                Status.WARN, f"{spec.label}: no selector matches this node. Press w for the reason, m to write one"
            )
            return
        make = partial(step, verb, matcher=subject.matcher or None, container=subject.container)
        value = next((VALUES[name] for name in spec.needs if name in VALUES), None)
        if "text" in spec.needs:
            ask(self._console, TextForm(subject.node_name), lambda answer: then(make(**answer)))
        elif value is not None:
            form = value.form(self._console.session.trees.shown.package if "applicationId" in spec.needs else "")
            ask(self._console, form, lambda text: then(make(**{value.argument: value.read(text)})))
        else:
            then(make())

    def _act_with(self, verb: str, subject: Subject, made: dict[str, Any]) -> None:
        spec = VERBS[verb]
        what = f"{spec.label} {subject.node_name}".strip() if spec.of_node else spec.label
        if spec.changes:
            about = spec.of_node or "container" in spec.takes
            self.perform(made, what, subject=subject if about else None)
            return
        kept = step("wait", matcher=subject.matcher) if verb == "verify" else made
        if (ready := self._ready(execution([made], name=verb))) is not None:
            self._send(ready[0], self._console.session.device_id, what, kept)

    def perform(
        self, action: Mapping[str, Any], what: str, doubts: Sequence[str] = (), subject: Subject | None = None
    ) -> None:
        """Run one step on ⏎, after showing it; while recording, add it to the draft when it has succeeded."""
        payload = execution([action], name=str(action["id"]).replace("_", "-"))
        self.run(payload, what, doubts, action=action, subject=subject)

    def _append(self, verb: str, subject: Subject, made: dict[str, Any]) -> None:
        try:
            count = self._drafts.append(made)
        except ValueError as exc:
            self._console.say(Status.WARN, f"The step was not added: {exc}. Press 3 to open the draft")
            return
        name = f" {subject.node_name}" if VERBS[verb].of_node else ""
        self._console.say(Status.OK, f"Step {count}: {VERBS[verb].label}{name}. Press 3 to open the draft")

    # -- sending

    def _has_device(self) -> bool:
        if not self._console.session.device_id:
            self._console.say(Status.WARN, "No device is selected. 7 lists the devices, D chooses one")
        return bool(self._console.session.device_id)

    def _may_send(self, types: Iterable[str]) -> bool:
        """Refuse actions that change something in a read-only console, with a notice."""
        acting = next((name for name in types if name not in OBSERVING), "")
        if not (acting and self._console.session.read_only):
            return True
        self._console.say(
            Status.IDLE, f"Read-only: {acting} would act on the device, and this console was started with --read-only"
        )
        return False

    def _ready(self, payload: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
        """Return the normalised payload and warnings; ``None`` where nothing can be sent, with a notice."""
        from clawperator.engine.executions.validate import validate

        try:
            validated = validate(payload)
        except EngineError as exc:
            where = exc.details.get("path")
            self._console.say(Status.FAILED, f"{exc.message}{f' ({where})' if where else ''}", exc.code.value)
            return None
        if not self._may_send(action.type for action in validated.execution.actions):
            return None
        return validated.payload, [*(warning.message for warning in validated.warnings), *self._busy()]

    def _busy(self) -> list[str]:
        """Return who holds the device; not this console, whose snapshots end before the user answers."""
        lock = self._console.session.lock
        if not lock or lock.get("pid") == os.getpid():
            return []
        return [f"The device is busy now: {lock.get('commandId') or 'another execution'}"]

    def _send(
        self,
        payload: Mapping[str, Any],
        device_id: str,
        what: str,
        action: Mapping[str, Any] | None,
        composed: Composition | None = None,
    ) -> bool:
        done = self._recorder.recorded(action, what, device_id)
        if self._executing.execute(payload, device_id, what, done, composed):
            return True
        self._console.say(Status.WAITING, "You are already waiting for an execution. C stops waiting. Nothing was sent")
        return False


def first_acting(payload: object) -> str:
    """Return the type of the first action that changes something; empty without one and for an invalid payload."""
    from clawperator.engine.executions.validate import validate

    try:
        actions = validate(payload).execution.actions
    except EngineError:
        return ""
    return next((action.type for action in actions if action.type not in OBSERVING), "")


class ExecutionConsole(Console, Protocol):
    """A console that sends executions and keeps a draft."""

    dispatcher: Dispatcher
    drafts: DraftKeeper
