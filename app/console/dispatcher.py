"""Acting on the device from the console: from a verb and a node to a dispatched execution, and its outcome in one line.

Nothing is sent before the user has seen exactly what would be sent (``verify`` alone changes nothing and asks nobody).
Nothing is ever sent twice: a refusal or a failure is told, and doing it again is the user's own key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.app.console.messages import News, NoticeNews, WorkNews
from clawperator.app.console.run.dispatch_dialogs import AppForm, Dispatch, DispatchDialog, SleepForm, TextForm, UriForm
from clawperator.app.console.run.outcome import ended, refused
from clawperator.app.console.run.stopping import choices, target_app, words_before_stopping
from clawperator.app.console.screens.choice_dialog import ChoiceDialog
from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import snippets
from clawperator.engine.executions.steps import VERBS, execution, step
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock, age

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.app.console.run.draft import DraftKeeper

SETTLE_SECONDS = 0.3
"""Between the end of an action and the look at what it did."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the user points at when something is to be done: a matcher, and what is known of it on the tree shown.

    ``matches`` counts its on-screen matches, of which ``first_name`` is the one that the device takes. ``container`` is for
    scrolling. ``warnings`` are sentences of our own about the node; ``age`` is the tree's in seconds, ``stale`` whether that
    is too old to act without saying so.
    """

    matcher: Matcher
    container: Matcher | None = None
    node_name: str = ""
    matches: int = 0
    first_name: str = ""
    warnings: Sequence[str] = ()
    age: float = 0.0
    stale: bool = False


class Executor(Protocol):
    """The part of the engine that acting needs."""

    async def execute(self, payload: object, *, device_id: str | None = None) -> Any: ...
    async def force_stop(self, package: str, *, device_id: str | None = None) -> None: ...


class Executing:
    """The console's own executions, one at a time.

    ``start`` runs a job under a name, and refuses it while another of that name runs; ``look`` asks for a new tree.
    """

    def __init__(
        self,
        engine: Executor,
        post: Callable[[News], object],
        clock: WallClock,
        start: Callable[[str, Awaitable[None]], bool],
        look: Callable[[], object],
        *,
        settle_seconds: float = SETTLE_SECONDS,
        ended: Callable[[float], object] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self._start = start
        self._look = look
        self._settle_seconds = settle_seconds
        self._ended = ended
        self._job: asyncio.Task[None] | None = None
        self._stopped = False
        self.payload: Mapping[str, Any] | None = None
        """What is being waited for."""
        self.device_id = ""
        self.since = 0.0
        self.refusal: EngineError | None = None
        """Why the last one came to no result."""

    def execute(self, payload: Mapping[str, Any], device_id: str, what: str) -> bool:
        """Send ``payload`` and tell how it ended; false when another one is still waited for. ``what`` is its name in words."""
        return self._start("execution", self._run(payload, device_id, what))

    def stop_waiting(self) -> bool:
        """Give up on the result; whether one was waited for. The device goes on with what it was sent."""
        if self._job is None:
            return False
        self._stopped = True
        self._job.cancel()
        return True

    def force_stop(self, package: str, device_id: str) -> bool:
        """End an app on the device and tell how it went; false when one is being ended already."""
        return self._start("force-stop", self._force_stop(package, device_id))

    async def _force_stop(self, package: str, device_id: str) -> None:
        try:
            await self._engine.force_stop(package, device_id=device_id)
        except EngineError as exc:
            self._post(NoticeNews(refused(f"force-stop {package}", exc, seconds=0.0, now=self._clock.now())))
        else:
            self._post(NoticeNews(Notice(Status.OK, f"{package} was stopped on {device_id}")))

    async def _run(self, payload: Mapping[str, Any], device_id: str, what: str) -> None:
        self._job, self._stopped, self.payload = asyncio.current_task(), False, payload
        began = self.since = self._clock.now()
        self.device_id, self.refusal = device_id, None
        self._post(WorkNews(f"{what}: waiting for the result…", began))
        try:
            answered, notice = await self._outcome(payload, device_id, what, began)
            self._post(NoticeNews(notice))
        except asyncio.CancelledError:
            if self._stopped:
                self._post(NoticeNews(self._no_longer_waiting(payload, what, began)))
            raise
        finally:
            self._job = self.payload = None
            self._post(WorkNews(""))
            self._ended(self._clock.now() - began)
        if answered and payload["actions"][-1]["type"] != "snapshot_ui":
            self._start("settle", self._settle())

    async def _outcome(
        self, payload: Mapping[str, Any], device_id: str, what: str, began: float
    ) -> tuple[bool, Notice]:
        """Whether the device answered, and the outcome in words."""
        try:
            result = await self._engine.execute(payload, device_id=device_id)
        except EngineError as exc:
            now, self.refusal = self._clock.now(), exc
            return False, refused(what, exc, seconds=now - began, now=now)
        return True, ended(payload, what, result.envelope, self._clock.now() - began)

    async def _settle(self) -> None:
        """Look at what was done, once the screen has had time to show it; a plan that ends with a snapshot has shown it."""
        await asyncio.sleep(self._settle_seconds)
        if self.payload is None:
            self._look()

    def _no_longer_waiting(self, payload: Mapping[str, Any], what: str, began: float) -> Notice:
        until = self._clock.time_of_day(began + payload["timeoutMs"] / 1000, tenths=False)
        text = f"No longer waiting for {what}. The device may still act until {until}"
        return Notice(Status.WARN, text, ErrorCode.INTERRUPTED.value)


class Actor:
    """What the keys ``a``, ``i``, ``v``, ``R`` and ``C`` do."""

    def __init__(self, console: ConsoleApp, executing: Executing, drafts: DraftKeeper) -> None:
        self._console = console
        self._executing = executing
        self._drafts = drafts

    @property
    def waiting(self) -> bool:
        """Whether a result is waited for."""
        return self._executing.payload is not None

    @property
    def turned_away(self) -> Mapping[str, Any]:
        """Who had the device when the last execution wanted it, as the refusal says; empty where that was not so."""
        error = self._executing.refusal
        conflict = error is not None and error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        return error.details if error is not None and conflict else {}

    # -- wishes

    def act(self, verb: str, subject: Subject) -> None:
        """Do ``verb`` now: ask what it needs, show what would be sent, send it on ⏎."""
        if self._has_device() and self._may_send([VERBS[verb].type]):
            self._compose(verb, subject, lambda made: self._act_with(verb, subject, made))

    def open(self, verb: str) -> None:
        """Do a verb that is done to no node: whatever it opens is asked for first."""
        self.act(verb, Subject(Matcher()))

    def verify(self, subject: Subject) -> None:
        """Ask the device whether it finds the node; changes nothing, so it is sent at once."""
        self.act("verify", subject)

    def insert(self, verb: str, subject: Subject) -> None:
        """Append ``verb`` as a step to the draft."""
        self._compose(verb, subject, lambda made: self._append(verb, subject, made))

    def run(
        self,
        payload: Mapping[str, Any],
        what: str,
        warnings: Sequence[str] = (),
        sent: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Show ``payload`` as it would be sent, and send it on ⏎; ``sent`` is then called with its command id."""
        ready = self._ready(payload) if self._has_device() else None
        if ready is None:
            return
        normal, advice = ready
        device = self._console.session.device_id
        shown = Dispatch(what, device, snippets.execution_line(normal, device), normal, [*warnings, *advice])

        def answered(yes: bool | None) -> None:
            if yes and self._send(normal, device, what):
                sent(str(normal["commandId"]))

        self._console.push_screen(DispatchDialog(shown, self._console.symbols), answered)

    def stop_waiting(self) -> None:
        """Give up on the result, after saying what that means and what else there is."""
        executing, session = self._executing, self._console.session
        payload, device = executing.payload, executing.device_id
        if payload is None:
            self._console.say(Status.IDLE, "Nothing is being waited for")
            return
        execution = session.log.find(str(payload["commandId"]))
        tree = session.trees_of(device).newest.tree
        package = target_app(payload, tree.package if tree is not None else "")
        words = words_before_stopping(payload, execution, executing.since, session.clock)

        def answered(choice: str | None) -> None:
            if choice in (None, "keep"):
                return
            if not executing.stop_waiting():
                self._console.say(Status.IDLE, "The result came before you stopped waiting")
            if choice == "force_stop":
                executing.force_stop(package, device)

        dialog = ChoiceDialog("stop waiting", words, choices(package), self._console.symbols)
        self._console.push_screen(dialog, answered)

    # -- one verb

    def _compose(self, verb: str, subject: Subject, then: Callable[[dict[str, Any]], object]) -> None:
        """``then`` gets the step of ``verb``, after a form where the verb needs something that no node can say."""
        spec = VERBS[verb]
        if spec.of_node and not subject.matcher:
            self._console.say(Status.WARN, f"{spec.label}: no matcher finds this node. w shows why, m writes one")
            return
        make = partial(step, verb, matcher=subject.matcher or None, container=subject.container)
        symbols = self._console.symbols

        def filled(answer: Mapping[str, Any] | None) -> None:
            if answer is not None:
                then(make(**answer))

        if "text" in spec.needs:
            self._console.push_screen(TextForm(subject.node_name, MAX_MATCHER_VALUE_LENGTH, symbols), filled)
        elif "applicationId" in spec.needs:
            tree = self._console.session.trees.shown.tree
            self._console.push_screen(AppForm(tree.package if tree else "", symbols), filled)
        elif "uri" in spec.needs:
            self._console.push_screen(UriForm(symbols), filled)
        elif "durationMs" in spec.needs:
            self._console.push_screen(SleepForm(symbols), filled)
        else:
            then(make())

    def _act_with(self, verb: str, subject: Subject, made: dict[str, Any]) -> None:
        spec = VERBS[verb]
        what = f"{spec.label} {subject.node_name}".strip() if spec.of_node else spec.label
        payload = execution([made], name=verb.replace("_", "-"))
        if spec.changes:
            self.run(payload, what, list(_doubts(verb, subject)))
        elif (ready := self._ready(payload)) is not None:
            self._send(ready[0], self._console.session.device_id, what)

    def _append(self, verb: str, subject: Subject, made: dict[str, Any]) -> None:
        try:
            count = self._drafts.append(made)
        except ValueError as exc:
            self._console.say(Status.WARN, f"The draft cannot take a step now: {exc}. 3 shows it")
            return
        name = f" {subject.node_name}" if VERBS[verb].of_node else ""
        self._console.say(Status.OK, f"Step {count}: {VERBS[verb].label}{name}. 3 shows the draft")

    # -- sending

    def _has_device(self) -> bool:
        if not self._console.session.device_id:
            self._console.say(Status.WARN, "No device to act on. 7 shows what adb sees, D chooses")
        return bool(self._console.session.device_id)

    def _may_send(self, types: Iterable[str]) -> bool:
        """The one place where a read-only console turns away what would change something; it says so."""
        acting = next((name for name in types if name not in OBSERVING), "")
        if not (acting and self._console.session.read_only):
            return True
        self._console.say(Status.IDLE, f"read-only: started with --read-only. {acting} would act on the device")
        return False

    def _ready(self, payload: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]] | None:
        """The normalised payload and the contract's advice; else the reason why nothing can be sent has been told."""
        try:
            validated = validate(payload)
        except EngineError as exc:
            where = exc.details.get("path")
            self._console.say(Status.FAILED, f"{exc.message}{f' ({where})' if where else ''}", exc.code.value)
            return None
        if not self._may_send(action.type for action in validated.execution.actions):
            return None
        advice = [warning.message for warning in validated.warnings]
        if lock := self._console.session.lock:
            advice.append(f"The device is busy now: {lock.get('commandId') or 'another execution'}")
        return validated.payload, advice

    def _send(self, payload: Mapping[str, Any], device_id: str, what: str) -> bool:
        if self._executing.execute(payload, device_id, what):
            return True
        self._console.say(
            Status.WAITING, "You are already waiting for an execution. Press C to stop waiting. Nothing was sent"
        )
        return False


def first_acting(payload: object) -> str:
    """The canonical type of the first action of ``payload`` that would change something; empty for a plan that only observes,
    and for what is no valid payload: nobody can send that.
    """
    try:
        actions = validate(payload).execution.actions
    except EngineError:
        return ""
    return next((action.type for action in actions if action.type not in OBSERVING), "")


def _doubts(verb: str, subject: Subject) -> Iterator[str]:
    """What speaks against doing it, in sentences."""
    if VERBS[verb].of_node:
        if subject.matches == 0:
            yield "No node on screen matches: the device will look for it for some seconds, then fail"
        elif subject.matches > 1:
            yield f"{subject.matches} nodes match; the first is {subject.first_name}: the device takes that one"
    elif "container" in VERBS[verb].takes and subject.container is None:
        yield "No container is known: the device scrolls the first one on screen"
    yield from subject.warnings
    if subject.stale:
        yield f"This tree is {age(subject.age)} old"
