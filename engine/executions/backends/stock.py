"""The stock backend: the Operator's action semantics over what every Android has behind adb; no app of ours is needed.

Its price: ``uiautomator`` unbinds all accessibility services while it runs, the Operator's among them (android-facts 7e). So a plan that
reads the screen is refused while the Operator's service is bound, unless the caller allows it; afterwards the service is awaited.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import NamedTuple

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.adb.android_user import CURRENT
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.parse import parse_sdk
from clawperator.engine.adb.quote import device_script
from clawperator.engine.adb.secure_list import contains, entries
from clawperator.engine.adb.shell_session import ShellSession, open_shell, require_sessions
from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.limits import FOLLOW_SOURCE, GESTURES
from clawperator.engine.contracts.operator_identity import service_of, variants
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.backends.stock_dumps import Dumps, dump_file, end_dump, held_by_other
from clawperator.engine.executions.backends.stock_surface import StockSurface
from clawperator.engine.executions.backends.stock_text import cut_short, typed_pieces
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.log_events import LogEventPublisher
from clawperator.engine.executions.targets import node_facts
from clawperator.engine.executions.trace import Trace
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.signals import CapturedHierarchy, EnvelopeSignal, HierarchySignal, ProgressSignal
from clawperator.engine.runtime.actions import run_plan
from clawperator.engine.runtime.outcome import ActionResult, PlanOutcome
from clawperator.engine.runtime.payload import PayloadError, read_payload
from clawperator.engine.runtime.plan import OperatorPlan
from clawperator.engine.runtime.run import Observer, PlanRun
from clawperator.engine.verbs.catalogue import VERBS

_REBIND_SECONDS = 5.0
_REBIND_POLL_SECONDS = 0.1
_NO_TREE = "the screen moves, or the device is slow"
_END_SECONDS = 1.0
"""For ending what a cancelled plan has started on the device."""
_WITHOUT_TREE = frozenset(
    {"open_app", "open_uri", "close_app", "press_key", "sleep", "take_screenshot", "doctor_ping", *GESTURES}
)
"""Actions that never read the screen, beside a click at a coordinate and a wait for an app."""
_NEEDS_APP = {name: verb.app_only for name, verb in VERBS.items() if verb.app_only}
"""What adb's shell cannot do, and why."""
_STATE = (
    f'echo "sdk=$(getprop ro.build.version.sdk)"; echo "on=$(settings get {CURRENT} secure accessibility_enabled)"; '
    f'echo "listed=$(settings get {CURRENT} secure enabled_accessibility_services)"; dumpsys accessibility'
)
_SDK, _ON, _LISTED = (re.compile(rf"^{name}=(.*)$", re.MULTILINE) for name in ("sdk", "on", "listed"))


class _State(NamedTuple):
    """The API level, the Operator's service that is switched on, and whether it runs: ``None`` where Android does not show it.

    ``running`` names the services that run; ``held``: another program holds UiAutomation.
    """

    sdk: int
    service: str = ""
    bound: bool | None = False
    running: tuple[str, ...] = ()
    held: bool = False


class _Session:
    """One shell of a device, shared by the runs of one execution; another one after a script that did not end."""

    def __init__(self, device: AdbDevice, trace: Trace, *, compressed: bool) -> None:
        self._device, self._shells = device, AsyncExitStack()
        self._shell: ShellSession | None = None
        self._trace = trace
        self.dumps = Dumps(dump_file(), compressed=compressed)
        self.has_dumped = False

    def forget_old_dumps(self, part: Trace) -> None:
        """Forget what was seen before the host itself acted, or waited, in this execution or in this part of it."""
        last = self.dumps.last
        if last is not None and last.at <= max(self._trace.stale_at, part.stale_at):
            self.dumps.forget()

    async def shell(self) -> ShellSession:
        if self._shell is None or self._shell.over:
            await self.close()
            self._shell = await self._shells.enter_async_context(open_shell(self._device))
        return self._shell

    async def close(self) -> None:
        """Close the shell, and end on the device the dump that its last script has left."""
        shell, self._shell = self._shell, None
        await self._shells.aclose()
        if shell is not None and shell.over:
            with suppress(EngineError):
                await self._device.script(end_dump(self.dumps.file), timeout=_END_SECONDS)


class StockBackend:
    """Runs plans through adb's shell. ``package`` is the Operator app whose service is looked after, if it is installed."""

    name = "stock"
    look_ms = 15_000
    """``uiautomator`` waits up to ten seconds for a screen that moves; cut off, it would go on and refuse the next one."""

    def __init__(
        self, bus: EventBus, *, package: str, allow_unbind: bool, input_method: str = "", compressed: bool = False
    ) -> None:
        self._bus = bus
        self.package = package
        self._services = [service_of(name) for name in variants(package)]
        self._allow_unbind = allow_unbind
        self._method = input_method
        self._compressed = compressed
        self._before = _State(0)
        """The state before the dispatch."""
        self._session: _Session | None = None

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]:
        """Look at what is bound, before the dispatch.

        Raises ``EngineError``: EXECUTION_ACTION_UNSUPPORTED for recordings, TEXT_NOT_DELIVERED for text that cannot be typed,
        BACKEND_UNAVAILABLE before Android 7 and where another program holds UiAutomation, UNBIND_REQUIRED where the plan would unbind
        the Operator's service.
        """
        actions = () if execution is None else execution.actions
        untypable = [error for action in actions if (error := _refusal(action)) is not None]
        if untypable and not self._method:
            raise untypable[0]
        await require_sessions(device)
        if untypable:
            await self._require_method(device)
        if execution is not None and not any(map(_reads_screen, actions)):
            return ()
        self._before = before = await self._state(device)
        if before.held:
            raise held_by_other()
        if before.bound is not False and not self._allow_unbind:
            raise EngineError(
                ErrorCode.UNBIND_REQUIRED,
                f"Reading the screen of {device.serial} with uiautomator would unbind the Operator's accessibility service",
                details={"service": before.service},
            )
        if before.bound is False and before.running:
            named = ", ".join(before.running)
            message = f"uiautomator pauses these accessibility services while it reads the screen: {named}"
            return ({"code": "SERVICES_PAUSED", "path": "", "message": message},)
        return ()

    async def _require_method(self, device: AdbDevice) -> None:
        """Raise ``EngineError`` (TEXT_NOT_DELIVERED) if the input method is not one of those that are enabled."""
        if self._method not in (await device.script(device_script("ime list -s"))).text.split():
            words = f"The input method {self._method} is not enabled on {device.serial}; nothing was sent"
            hint = f"Install it and run: adb shell ime enable {self._method}"
            raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, words, hint=hint)

    async def _state(self, device: AdbDevice) -> _State:
        """Read the state of ``device``. Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE)."""
        done = await device.script(device_script(_STATE))
        sdk, on, listed = (match[1].strip() if (match := key.search(done.text)) else "" for key in (_SDK, _ON, _LISTED))
        if not (api := parse_sdk(sdk)):
            words = f"{device.serial} did not report its Android version"
            raise EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, words, details={"exitCode": done.exit_code})
        found, count = parse_accessibility(done.text), len([entry for entry in entries(listed) if entry])
        state = _State(
            api,
            running=tuple(service.label or service.component for service in found.bound),
            held=found.ui_automation,
        )
        for service in self._services if on == "1" else ():
            if contains(listed, service) and (bound := found.is_bound(service, count)) is not False:
                return state._replace(service=service, bound=bound)
        return state

    @asynccontextmanager
    async def attached(self, device: AdbDevice, trace: Trace) -> AsyncIterator[None]:
        """Share one shell between the runs of an execution; at its end await the Operator's service, with a warning in ``trace``."""
        if self._session is not None:
            yield
            return
        self._session = session = _Session(device, trace, compressed=self._compressed)
        cancelled = False
        try:
            yield
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            self._session = None
            await session.close()
            if session.has_dumped and self._before.service and not cancelled:
                trace.warnings.append(await self._rebound(device))

    async def _rebound(self, device: AdbDevice) -> Mapping[str, str]:
        """Wait until the Operator's service is bound again; return the warning that says so."""
        began = time.monotonic()
        before, back = self._before, False
        try:
            async with asyncio.timeout(_REBIND_SECONDS):
                while not (back := _is_back(await self._state(device), before)):  # noqa: ASYNC110 -- the device sends no event
                    await asyncio.sleep(_REBIND_POLL_SECONDS)
        except (TimeoutError, EngineError):
            pass
        ms, service = round((time.monotonic() - began) * 1000), before.service
        if back:
            message = f"uiautomator unbound the Operator's service {service}; it was bound again after {ms} ms"
            return {"code": "SERVICE_REBOUND", "path": "", "message": message}
        message = f"uiautomator unbound the Operator's service {service}, and it is not bound after {ms} ms: run `clawperator doctor`"
        return {"code": "SERVICE_NOT_REBOUND", "path": "", "message": message}

    async def version(self, device: AdbDevice) -> None:  # noqa: ARG002 -- a backend's form
        return None

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        trace.enter("attach")
        async with self.attached(device, trace):
            assert self._session is not None
            return await self._run(self._session, device, command, trace)

    async def _run(self, session: _Session, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        try:
            plan = read_payload(command.wire, "1.0", host=True)
        except PayloadError as exc:
            raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, f"The plan cannot be run: {exc}") from exc
        progress = _Progress(self._bus, device.serial, plan, trace)
        await session.shell()
        session.forget_old_dumps(trace)
        by_host = command.source == FOLLOW_SOURCE
        surface = StockSurface(
            session.shell, progress.on_tree, self._before.sdk, session.dumps, self._method, by_host=by_host
        )
        trace.dispatched()
        trace.enter("run")
        counts = {"timeoutMs": str(plan.timeout_ms), "actionCount": str(len(plan.steps))}
        progress.note("start", taskId=plan.task_id, source=plan.source, **counts)
        run = PlanRun(surface, _Clock(session.dumps), observer=progress, before_step=surface.begin, rested=True)
        try:
            async with asyncio.timeout(plan.timeout_ms / 1000):
                outcome, code = await run_plan(run, plan), None
            if outcome.failed_step and surface.read_nothing:
                code = ErrorCode.UI_NOT_IDLE
                outcome = PlanOutcome(
                    (), f"{outcome.reason}; uiautomator returned no tree: {_NO_TREE}", outcome.failed_step
                )
        except TimeoutError:
            words = f"Agent command timed out after {plan.timeout_ms}ms{cut_short(*surface.typed)}"
            outcome, code = PlanOutcome((), words), None
        except TransportError as exc:
            exc.message = f"The connection to the device broke: {exc.message}"
            exc.hint = "Take a snapshot when the device is back: the plan may have acted."
            raise
        except EngineError as exc:
            outcome, code, trace.refusal = PlanOutcome((), exc.message, run.step_id), exc.code, exc
        finally:
            session.has_dumped = session.has_dumped or surface.has_dumped
            trace.before_acting, trace.display = surface.first, surface.display or ""
        progress.note("failure" if outcome.reason else "success", reason=outcome.reason)
        envelope = _envelope(plan, outcome, surface, code)
        progress.answered(envelope)
        trace.enter("")
        return Outcome(envelope, tuple(trace.hierarchies))


class _Clock:
    """The host's clock; what was seen before a wait is out of date after it."""

    def __init__(self, dumps: Dumps) -> None:
        self._dumps = dumps

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        self._dumps.forget()
        await asyncio.sleep(seconds)


def _is_back(now: _State, before: _State) -> bool:
    """Return whether the Operator's service runs again; where Android prints labels only, as many services as before must."""
    return now.service == before.service and (now.bound is True or len(now.running) >= max(1, len(before.running)))


def _refusal(action: Action) -> EngineError | None:
    """Return why keys cannot type the text of an action. Raises ``EngineError`` (EXECUTION_ACTION_UNSUPPORTED) for what only the app can do."""
    if (why := _NEEDS_APP.get(action.type)) is not None:
        message = f"{action.type} needs the Operator app, which {why}"
        hint = "Use the operator backend."
        details = {"actionId": action.id, "actionType": action.type}
        raise EngineError(ErrorCode.EXECUTION_ACTION_UNSUPPORTED, message, hint=hint, details=details)
    if action.type == "enter_text" and isinstance(text := action.params.get("text"), str):
        try:
            typed_pieces(text)
        except EngineError as exc:
            return exc
    return None


def _reads_screen(action: Action) -> bool:
    if action.type == "click":
        return "coordinate" not in action.params
    if action.type == "wait_for_navigation":
        return "expectedNode" in action.params
    return action.type not in _WITHOUT_TREE and not action.type.startswith("input_")


def _envelope(plan: OperatorPlan, outcome: PlanOutcome, surface: StockSurface, code: ErrorCode | None) -> Envelope:
    """Return the envelope as the Operator forms it: without step results if the plan failed."""
    if not outcome.reason:
        steps = tuple(
            StepResult(record.id, record.action_type, record.outcome.success, _data(record.id, record.outcome, surface))
            for record in outcome.records
        )
        return Envelope(plan.command_id, plan.task_id, "success", steps)
    reason = f"Task execution failed: {outcome.reason}" if outcome.failed_step and code is None else outcome.reason
    return Envelope(plan.command_id, plan.task_id, "failed", error=reason, error_code=code and code.value)


def _data(step_id: str, outcome: ActionResult, surface: StockSurface) -> Mapping[str, str]:
    done = surface.steps[step_id]
    sent = {"dispatched": "; ".join(done.sent)} if done.sent else {}
    return {**outcome.data, **done.facts, **sent}


class _Progress(Observer):
    """Reports a plan's steps as the Operator's log lines would: to the trace, and as events."""

    def __init__(self, bus: EventBus, serial: str, plan: OperatorPlan, trace: Trace) -> None:
        self._events = LogEventPublisher(bus, serial)
        self._bus = bus
        self._id = plan.command_id
        self._trace = trace
        self._step_id = ""

    def note(self, kind: str, **fields: str) -> None:
        text = f"{kind} {' '.join(f'{name}={value}' for name, value in fields.items())}".rstrip()
        signal = ProgressSignal(kind, self._id, fields, text, LogEntry.create(text, tag="clawperator"))
        self._trace.note(signal)
        if self._bus.watched:
            self._events.publish([signal])

    def on_tree(self, step_id: str, xml: str) -> None:
        captured = CapturedHierarchy(step_id, xml, complete=True)
        self._trace.saw(captured)
        if self._bus.watched:
            self._events.publish([HierarchySignal(captured, self._id, LogEntry.create("", tag="clawperator"))])

    def answered(self, envelope: Envelope) -> None:
        if self._bus.watched:
            entry = LogEntry.create("", tag="clawperator")
            self._events.publish([EnvelopeSignal(envelope, self._id, "", "", 1, entry)])

    def step_start(self, step_id: str, action_type: str) -> None:
        self._step_id, self._trace.missed = step_id, None
        self.note("step-start", id=step_id, type=action_type)

    def step_done(self, step_id: str, action_type: str, outcome: ActionResult) -> None:
        data = ", ".join(f"{key}={value}" for key, value in outcome.data.items())
        self.note("step-success", id=step_id, type=action_type, data=f"{{{data}}}")

    def took(self, node: UiNode, matched: int | None) -> None:
        counted = {} if matched is None else {"matched": matched}
        self._trace.taken[self._step_id] = {**node_facts(node), **counted, "tree": {"stepId": self._step_id}}
        self._trace.missed = None

    def missed(self, tree: UiTree) -> None:
        self._trace.missed = time.time(), tree

    def stage_start(self, stage: str, label: str) -> None:
        self.note("stage-start", id=stage, label=label)

    def stage_retry(self, stage: str, attempt: int, attempts: int, delay_ms: int) -> None:
        self.note("stage-retry", id=stage, attempt=f"{attempt}/{attempts}", delayMs=str(delay_ms))

    def stage_success(self, stage: str, data: Mapping[str, str]) -> None:
        self.note("stage-success", id=stage, data=str(dict(data)))

    def stage_failure(self, stage: str, reason: str) -> None:
        self.note("stage-failure", id=stage, reason=reason)
