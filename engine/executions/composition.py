"""Compositions: executions whose steps are dispatched in parts, with a fixed decision of the host between the parts.

A composition is one execution for everything else: validated and admitted as a whole before the device is touched, under one device
lock, with one envelope and one history row. No step that acts is dispatched twice; only steps that look are repeated, until what they
wait for is on the screen. Steps that a decision left out are ``not_run`` in the outcome.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeGuard

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.displays import DISPLAY_CHANGED, FRONT_SCRIPT, GUARD, front_package
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.contracts.actions import HOST_CHOICES, INPUT_ACTIONS
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.references import REFERENCE, Reference, tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.backend import Backend, Outcome
from clawperator.engine.executions.build import NO_LIMITS, Limits
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.keys import ended
from clawperator.engine.executions.outcome import ExecutionOutcome, OutcomeStep, facts_of, step_failure
from clawperator.engine.executions.plan_run import run_held
from clawperator.engine.executions.run import Finished
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Validated, validate
from clawperator.engine.progress import unreported

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.choice import Find
    from clawperator.engine.hierarchy.matcher import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree
    from clawperator.engine.logcat.signals import ProgressSignal

P = ParamSpec("P")

POLL_SECONDS = 0.1
FIRST_LOOK_MS = 3_000
"""Where a snapshot takes seconds: a shorter wait would see nothing."""
_BUSY = (ErrorCode.UI_NOT_IDLE, ErrorCode.EXECUTION_TIMEOUT, ErrorCode.UI_TREE_UNAVAILABLE)
"""Codes of a snapshot of a screen that moves, or that has no window for a moment."""


class StepFailedError(Exception):
    """Ends a composition: ``error`` is why the step failed, or why the next one was not dispatched."""

    def __init__(self, step_id: str, error: EngineError) -> None:
        super().__init__(error.message)
        self.step_id, self.error = step_id, error


class PartFailedError(Exception):
    """Ends a composition whose last part failed on the device: its outcome says why."""


@dataclass(frozen=True, slots=True)
class Composition:
    """``run`` sends the steps of ``actions`` and returns the facts of the result. ``name`` is the command."""

    name: str
    actions: Sequence[Action]
    run: Callable[[Parts], Awaitable[Mapping[str, Any]]]
    timeout_ms: int = build.DEFAULT_TIMEOUT_MS
    source: str = "clawperator-cli"
    command_id: str = ""
    reads_screen: bool = True
    """False where ``wait_front`` is its only snapshot, which a backend with slow snapshots leaves to the window manager."""
    reference: str = ""
    """The reference that stands for its matcher; ``remake`` returns the composition with the matcher that replaces it."""
    remake: Callable[[Mapping[str, str]], Composition] | None = None
    admit: Callable[[Action], None] = lambda _: None
    """Checks an action against the caller's policy; raises ``EngineError``. For what is known only after a snapshot."""

    def __post_init__(self) -> None:
        if not self.command_id:
            object.__setattr__(self, "command_id", build.generated_id(self.name))

    @property
    def head(self) -> dict[str, Any]:
        """Return the parts of the payload by which its progress is followed."""
        return {"commandId": self.command_id, "actions": [{"id": step.id, "type": step.type} for step in self.actions]}

    @property
    def uses_operator(self) -> bool:
        return any(action.type not in INPUT_ACTIONS for action in self.actions)

    def validated(self, *, timeout_ms: object = None) -> Validated:
        """Return the whole plan; the steps of the Operator are validated as ``execute`` does. Raises ``EngineError``."""
        plan = Execution(self.command_id, self.command_id, self.source, self.timeout_ms, tuple(self.actions))
        sent = [
            action for action in plan.actions if action.type not in INPUT_ACTIONS and "appName" not in action.params
        ]
        probe = replace(plan, actions=tuple(sent or [Action("look", "snapshot_ui")]))
        checked = validate(probe.to_payload(), timeout_ms=timeout_ms)
        normal = {action.id: action for action in checked.execution.actions}
        plan = replace(checked.execution, actions=tuple(normal.get(action.id, action) for action in plan.actions))
        # the name also keeps the recorded payload from being dispatched as it stands, without the decisions
        return Validated(plan, {**plan.to_payload(), "composition": self.name}, plan.wire_json(), checked.warnings)

    async def run_held(
        self, backend: Backend, device: AdbDevice, validated: Validated, options: RunOptions, trace: Trace
    ) -> Finished:
        """Run the composition on ``device``, whose lock the caller holds. Raises ``EngineError`` as ``run_held`` does."""
        parts = Parts(backend, device, validated, options, trace, admit=self.admit)
        try:
            async with backend.attached(device, trace):
                facts = await self.run(parts)
        except StepFailedError as exc:
            return parts.failed(exc)
        except PartFailedError:
            return parts.finished()
        except EngineError as exc:
            trace.stopped = parts.stopped(exc)
            raise
        return parts.finished(facts)


def by_reference(make: Callable[P, Composition]) -> Callable[P, Composition]:
    """Decorate a function that makes a composition for a matcher, which may then be a reference."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Composition:
        composed = make(*args, **kwargs)
        given = next((value for value in (*args, *kwargs.values()) if is_reference(value)), None)
        if given is None:
            return composed

        def remake(found: Mapping[str, str]) -> Composition:
            swap: Callable[[Any], Any] = lambda value: found if value is given else value  # noqa: E731 -- used twice
            return make(*map(swap, args), **{name: swap(value) for name, value in kwargs.items()})

        return replace(composed, reference=given["ref"], remake=remake)

    return made


def is_reference(value: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(value, Mapping) and bool(REFERENCE.fullmatch(str(value.get("ref", ""))))


class Parts:
    """Dispatches the parts of one composition and joins their results."""

    def __init__(
        self,
        backend: Backend,
        device: AdbDevice,
        validated: Validated,
        options: RunOptions,
        trace: Trace,
        *,
        admit: Callable[[Action], None],
    ) -> None:
        self.device = device
        self.admit = admit
        self.execution = validated.execution
        self._backend = backend
        self._options = replace(options, max_snapshot_bytes=None)
        self._trace = self._running = trace
        self._display = self._looked_at = ""
        self._steps: dict[str, OutcomeStep] = {}
        self._results: dict[str, dict[str, Any]] = {}
        self._warnings: list[Mapping[str, Any]] = []
        self._selection: Mapping[str, Any] = {}
        self._bad: ExecutionOutcome | None = None
        self._open = 0
        """Parts whose end is not known."""

    # -- dispatching

    def settle(self, step_id: str, params: Mapping[str, Any]) -> None:
        """Give a step the parameters that only a snapshot provides, if the policy allows them. Raises ``EngineError``."""
        actions = [replace(step, params=params) if step.id == step_id else step for step in self.execution.actions]
        for step in actions:
            self.admit(step)
        self.execution = replace(self.execution, actions=tuple(actions))

    async def send(self, *ids: str, limit_ms: float | None = None) -> list[dict[str, Any]]:
        """Dispatch these steps as one plan, within ``limit_ms``; return their results. Ends the composition if one fails."""
        actions = tuple(action for action in self.execution.actions if action.id in ids)
        part = replace(self.execution, actions=actions)
        if limit_ms is not None:
            part = replace(part, timeout_ms=max(1, min(part.timeout_ms, round(limit_ms))))
        validated = Validated(part, {}, part.wire_json(), ())
        with self._trace.part() as trace:
            self._running = trace
            self._open += 1
            finished = await run_held(self._backend, self.device, validated, self._options, trace)
            self._open -= 1
            self._display = trace.display
        self._warnings += finished.warnings
        self._selection = finished.selection or self._selection
        for step in finished.outcome.steps:
            if step.id in ids:
                before = self._steps.get(step.id)
                retries = step.retries if before is None else before.retries + step.retries + 1
                self._steps[step.id] = replace(step, retries=retries)
        results: list[dict[str, Any]] = finished.envelope["stepResults"]
        self._results |= {result["id"]: result for result in results}
        if finished.outcome.status != "succeeded":
            self._bad = finished.outcome
            raise PartFailedError
        return results

    async def look(self, *ids: str, limit_ms: float | None = None) -> UiTree:
        """Dispatch these steps, the last of which is a snapshot, and return its tree."""
        from clawperator.engine.hierarchy.tree import parse

        data = (await self.send(*ids, limit_ms=limit_ms))[-1]["data"]
        self._looked_at = data.pop("text")  # the history keeps the tree
        return await asyncio.to_thread(parse, self._looked_at, recover=True)

    def pick(
        self, tree: UiTree, wanted: Matcher | Mapping[str, Any], *, limits: Limits = NO_LIMITS, container: bool = False
    ) -> UiNode | None:
        """Return the node of the last snapshot, ``tree``, that ``wanted`` means within ``limits``, which may have references to that tree.

        Ends the composition where there is no such node (``hierarchy.choice``).
        """
        from clawperator.engine.executions.ambiguity import refusal
        from clawperator.engine.hierarchy.choice import ChoiceError, candidates
        from clawperator.engine.hierarchy.matcher import Matcher

        fields = wanted.to_dict() if isinstance(wanted, Matcher) else wanted
        places = {name: self._finder(limits[name]) for name in ("container", "within") if limits.get(name)}
        strict, nth = limits.get("strict"), limits.get("nth")
        strict = bool(self._options.strict if strict is None else strict)
        try:
            found = candidates(tree, self._finder(fields), nth=nth, strict=strict, **places)
        except ChoiceError as exc:
            raise StepFailedError(
                "look", refusal(tree, exc, {"matcher": fields, **limits}, container=container)
            ) from exc
        asked = {name: limits[name] for name in HOST_CHOICES if limits.get(name) is not None}
        if found and (asked or is_reference(wanted)):
            row = {"id": "look", "by": "reference" if is_reference(wanted) else "host", "matched": len(found), **asked}
            self._selection = {"by": row["by"], "steps": [row]}
        return next(iter(found), None)

    def _finder(self, fields: Mapping[str, Any]) -> Find:
        """Return what finds the nodes of a matcher, or the one of a reference to the tree of the last snapshot."""
        from clawperator.engine.hierarchy.choice import finder

        if not is_reference(fields):
            return finder(fields)
        reference = Reference.read(fields["ref"])
        if reference.tree != tree_id(self._looked_at):
            message = f"The screen has changed since the view of {reference}, and no selector finds only its node"
            raise StepFailedError("look", EngineError(ErrorCode.REF_STALE, message, details=dict(fields)))
        return lambda tree: tree.nodes[reference.number : reference.number + 1]

    async def send_around(
        self, *ids: str, pause: str, act: Callable[[], Awaitable[object]]
    ) -> tuple[list[dict[str, Any]], bool]:
        """Dispatch these steps as one plan, and call ``act`` once, while the device is in the step ``pause``.

        Return the results, and whether that was in time: where the log shows the pause too late, ``act`` comes after it. It is not
        called if the first step failed, or the plan.
        """
        reached, failed, over = asyncio.Event(), False, False

        def hear(line: ProgressSignal) -> None:
            nonlocal failed, over
            failed = failed or (line.fields.get("id") == ids[0] and bool(step_failure(line.kind, line.fields)))
            if line.kind != "step-start" or failed:
                return
            over = over or reached.is_set()
            if line.fields.get("id") == pause:
                reached.set()

        self._trace.on_note = hear
        plan, wait = asyncio.ensure_future(self.send(*ids)), asyncio.ensure_future(reached.wait())
        try:
            await asyncio.wait({plan, wait}, return_when=asyncio.FIRST_COMPLETED)
            if not reached.is_set():
                results = await plan
                await act()
                return results, False
            try:
                await act()
                in_time = not over
            except StepFailedError:
                await asyncio.wait({plan})
                raise
            return await plan, in_time
        finally:
            self._trace.on_note = unreported
            for task in (plan, wait):
                task.cancel()
            await asyncio.gather(plan, wait, return_exceptions=True)

    def overlook(self, *done: str) -> bool:
        """Return whether these steps are done; the composition then succeeds, and how the other ones ended is unknown."""
        if any(name not in self._steps or self._steps[name].status != "done" for name in done):
            return False
        for name, step in self._steps.items():
            if step.status != "done":
                self._steps[name] = replace(step, status="unknown")
        self._bad = None
        return True

    async def running_tree(self) -> UiTree | None:
        """Return the newest tree of the running plan, if it can be read."""
        from clawperator.engine.hierarchy.tree import parse

        seen = self._running.hierarchies
        try:
            return await asyncio.to_thread(parse, seen[-1].xml, recover=True) if seen else None
        except EngineError:
            return None

    async def act_until(
        self, act: str, step_id: str, holds: Callable[[UiTree], bool], limit_ms: float
    ) -> UiTree | None:
        """Dispatch ``act`` with the snapshot ``step_id``, then as ``look_until``."""
        tree = await self.look(act, step_id)
        return tree if holds(tree) else await self.look_until(step_id, holds, limit_ms)

    async def look_until(self, step_id: str, holds: Callable[[UiTree], bool], limit_ms: float) -> UiTree | None:
        """Repeat the snapshot ``step_id`` until ``holds``; ``None`` if it does not within ``limit_ms``."""
        until, before = time.monotonic() + limit_ms / 1000, len(self._trace.trees)
        while True:
            del self._trace.trees[before:]  # of the repeated snapshots, only the last tree is kept
            tree = await self.look(step_id)
            if holds(tree):
                return tree
            if time.monotonic() + POLL_SECONDS > until:
                return None
            await asyncio.sleep(POLL_SECONDS)

    async def wait_until(self, step_id: str, holds: Callable[[UiTree], bool], limit_ms: float) -> bool:
        """As ``look_until``, for a wait with a limit: where a snapshot takes seconds it ends with the wait, the first after three.

        A screen that does not come to rest meanwhile ends the composition (UI_NOT_IDLE) only if it was never read.
        """
        if not self._backend.look_ms:
            return await self.look_until(step_id, holds, limit_ms) is not None
        until, before, seen = time.monotonic() + limit_ms / 1000, len(self._trace.trees), False
        busy: ExecutionOutcome | None = None
        left = max(limit_ms, FIRST_LOOK_MS)
        while left > 0:
            del self._trace.trees[before:]
            try:
                if holds(await self.look(step_id, limit_ms=left)):
                    return True
                seen = True
            except PartFailedError:
                if self._bad is None or (self._bad.error or {}).get("code") not in _BUSY:
                    raise
                busy, self._bad = self._bad, None
            await asyncio.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
            left = (until - time.monotonic()) * 1000
        if seen:
            return False
        if busy is not None and (busy.error or {}).get("code") == ErrorCode.UI_TREE_UNAVAILABLE:
            self._bad = busy
            raise PartFailedError
        message = f"uiautomator returned no tree within {max(limit_ms, FIRST_LOOK_MS):g} ms: the screen moves, or the device is slow"
        raise StepFailedError(step_id, EngineError(ErrorCode.UI_NOT_IDLE, message))

    async def wait_front(self, step_id: str, package: str, limit_ms: float) -> str:
        """Return the app in front once it is ``package``, at the latest after ``limit_ms``; where a snapshot takes seconds, as the window manager reports it."""
        front = ""

        def there(now: UiTree) -> bool:
            nonlocal front
            front = now.package
            return front == package

        if not self._backend.look_ms:
            await self.look_until(step_id, there, limit_ms)
            return front
        self._trace.dispatched()
        self._trace.enter("run")
        began, until = time.time(), time.monotonic() + limit_ms / 1000
        while (front := front_package((await self.device.script(device_script(FRONT_SCRIPT))).text)) != package:
            self._ran(step_id, began)
            if time.monotonic() + POLL_SECONDS > until:
                return front
            await asyncio.sleep(POLL_SECONDS)
        self._ran(step_id, began)
        self._trace.stale_at = time.monotonic()
        return front

    def _ran(self, step_id: str, began: float, sent: str = "") -> None:
        """Note that a step of the host's own was run, and what it sent to the device."""
        action = next(action for action in self.execution.actions if action.id == step_id)
        index = self.execution.actions.index(action)
        self._steps[step_id] = OutcomeStep(index, step_id, action.type, "done", "", began, time.time())
        data = {"dispatched": sent} if sent else {}
        self._results[step_id] = {"id": step_id, "actionType": action.type, "success": True, "data": data}

    async def shell(
        self, step_id: str, *words: str, secret: bool = False, at_node: bool = False, seconds: float | None = None
    ) -> bool:
        """Run Android's ``input`` with ``words`` as the step. Ends the composition if it refuses; ``secret`` hides the last word.

        It is awaited even if the execution is cancelled; ``seconds`` is its time limit in place of that of the execution.

        Return whether it was sent: not ``at_node`` of a tree that was read when the display was turned otherwise.
        """
        argv = ["input", *words]
        guarded = at_node and bool(self._display)
        script = device_command(argv)
        if guarded:
            script = device_script(GUARD + "input {words}", seen=self._display, words=words)
        if not self._trace.is_divided:
            self._trace.dispatched()
            self._trace.enter("run")
        began = time.time()
        label = device_command([*argv[:-1], HIDDEN] if secret else argv)
        self._open += 1
        self._trace.stale_at = math.inf  # until it has ended
        limit = self.execution.timeout_ms / 1000 if seconds is None else seconds
        sending = self.device.script(script, timeout=limit, label=label)
        done = await ended(sending)
        self._open -= 1
        self._trace.stale_at = time.monotonic()
        if guarded and done.exit_code == DISPLAY_CHANGED:
            return False
        output = f"{done.text}\n{done.error_text}"
        self._ran(step_id, began, " ".join(argv[:-1] if secret else argv))
        if failure := parse_failure(output, done.exit_code):
            reason = "the text was refused" if secret else failure
            code = ErrorCode.TEXT_NOT_DELIVERED if secret else ErrorCode.GESTURE_FAILED
            hint = refusal_hint(output) or ""
            del self._results[step_id]
            raise StepFailedError(step_id, EngineError(code, f"Android's input refused: {reason}", hint=hint))
        self._trace.carried_out[step_id] = began, time.time()
        return True

    # -- the result

    def failed(self, failure: StepFailedError) -> Finished:
        planned = {action.id: (index, action.type) for index, action in enumerate(self.execution.actions)}
        index, kind = planned[failure.step_id]
        step = self._steps.get(failure.step_id) or OutcomeStep(index, failure.step_id, kind)
        step = self._steps[failure.step_id] = replace(step, status="failed", code=failure.error.code.value)
        if (result := self._results.get(failure.step_id)) is not None:
            result["success"] = False
            result["data"] |= {"error": failure.error.code.value, "message": failure.error.message}
        self._bad = ExecutionOutcome("failed", (), step, facts_of(failure.error))
        return self.finished()

    def stopped(self, error: EngineError) -> ExecutionOutcome | None:
        """Return the outcome where ``error`` came between two parts, so that all is known; ``None`` where it ended one."""
        return None if self._open else ExecutionOutcome("failed", self._all_steps(), None, facts_of(error))

    def _all_steps(self) -> tuple[OutcomeStep, ...]:
        return tuple(
            replace(self._steps[action.id], index=index)
            if action.id in self._steps
            else OutcomeStep(index, action.id, action.type, "not_run")
            for index, action in enumerate(self.execution.actions)
        )

    def finished(self, facts: Mapping[str, Any] | None = None) -> Finished:
        """Return the joined envelope and outcome, with ``facts`` as the result of the command."""
        steps, bad = self._all_steps(), self._bad
        for result in self._results.values():
            if result["actionType"] == "snapshot_ui":
                result["data"].pop("text", None)
        envelope: dict[str, Any] = {
            "commandId": self.execution.command_id,
            "taskId": self.execution.task_id,
            "status": "success" if bad is None else "failed",
            "stepResults": [self._results[step.id] for step in steps if step.id in self._results],
            "error": None,
        }
        if bad is None:
            return Finished(
                envelope, ExecutionOutcome("succeeded", steps), self._warnings, facts or {}, selection=self._selection
            )
        error = bad.error or {"code": ErrorCode.UNKNOWN.value, "message": "A step failed"}
        envelope |= {"error": error["message"], "errorCode": error["code"], "errorCodeSource": "host"}
        failed = next((step for step in steps if bad.failed_step and step.id == bad.failed_step.id), None)
        return Finished(envelope, ExecutionOutcome("failed", steps, failed, error), self._warnings)


class ShellBackend:
    """The backend of compositions without the Operator app: every step is a command of the device's shell."""

    name = "shell"
    package = ""
    look_ms = 0

    async def check(self, device: AdbDevice, execution: Execution | None = None) -> Sequence[Mapping[str, str]]:  # noqa: ARG002 -- a backend's form
        return ()

    def attached(self, device: AdbDevice, trace: Trace) -> AbstractAsyncContextManager[object]:  # noqa: ARG002 -- a backend's form
        return nullcontext()

    async def version(self, device: AdbDevice) -> None:  # noqa: ARG002 -- a backend's form
        return None

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        raise NotImplementedError  # compositions without the Operator send it nothing
