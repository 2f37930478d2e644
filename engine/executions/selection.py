"""Nodes that the host chooses: where the app on the device cannot (``generation.host_chooses``), by position, by row, and by reference.

The host reads the screen and chooses on that tree as a device does that can (``runtime``). An action is then sent with a matcher that
finds only the chosen node there, else with the node's point; what only reads is answered from the tree. The plan is dispatched in parts,
each action once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clawperator.engine.adb.parse import parse_failure
from clawperator.engine.adb.quote import device_script
from clawperator.engine.contracts.actions import HOST_CHOICES
from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.contracts.execution import Action, Execution, is_reference
from clawperator.engine.contracts.generation import POINTS_SINCE, host_chooses, supports
from clawperator.engine.contracts.issues import Warning_, joined
from clawperator.engine.contracts.matcher import RELATIONS, RELATIONS_SINCE
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.contracts.references import Reference, tree_id
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions.ambiguity import several, with_selectors
from clawperator.engine.executions.backend import Outcome
from clawperator.engine.executions.internal_snapshot import snapshot_command, tree_of
from clawperator.engine.executions.keys import ended
from clawperator.engine.executions.outcome import ExecutionOutcome, OutcomeStep, facts_of, outcome_of
from clawperator.engine.executions.run import Finished, close_apps, dispatch
from clawperator.engine.executions.targets import node_facts
from clawperator.engine.executions.touch import tap_point
from clawperator.engine.executions.touch_windows import TOUCH_SCRIPT, touch_windows
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Validated
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.tree import UiNode, UiTree, parse
from clawperator.engine.hierarchy.views import node_line
from clawperator.engine.logcat.signals import CapturedHierarchy
from clawperator.engine.runtime.actions import FIRST_TAKEN, run_plan
from clawperator.engine.runtime.outcome import PlanFailure
from clawperator.engine.runtime.payload import read_payload
from clawperator.engine.runtime.query import Query, no_node
from clawperator.engine.runtime.run import Observer, PlanRun

if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice
    from clawperator.engine.executions.backend import Backend
    from clawperator.engine.executions.command import Command
    from clawperator.engine.executions.finish import RunOptions
    from clawperator.engine.runtime.surface import Surface

_LOOK_MS = 5_000
_LEAST_MS = 1_000
"""The shortest time limit that a device accepts."""
_LONG_MS = "800"
"""Longer than Android's longest usual setting of the touch and hold delay."""
_TARGETS = ("matcher", "target")
_SCROLLS = ("scroll", "scroll_until", "scroll_and_click")
_ANSWERED = (ErrorCode.NODE_NOT_CLICKABLE, ErrorCode.NODE_AMBIGUOUS, ErrorCode.REF_AMBIGUOUS, ErrorCode.REF_STALE)
"""Errors of a choice, which end the step and not the execution."""


async def run_selected(
    backend: Backend, device: AdbDevice, validated: Validated, options: RunOptions, trace: Trace, *, version: str | None
) -> Finished:
    """Run a plan in which the host chooses nodes, on ``device``, whose lock the caller holds. Raises ``EngineError`` as ``dispatch``.

    ``version`` is that of the installed Operator app; ``None`` where the host resolves selectors itself.
    """
    actions = validated.execution.actions
    hosted = [index for index, action in enumerate(actions) if host_chooses(action, version)]
    run = _Selected(backend, device, validated.execution, options, trace, version=version)
    run.closed = await close_apps(device, validated.execution, trace)
    if run.closed:
        trace.fresh = ""
    try:
        async with backend.attached(device, trace):
            for start, end in zip([0, *hosted], [*hosted, len(actions)], strict=True):
                if start < end and not run.over:
                    way = run.choose if start in hosted else run.send
                    await way(start, actions[start:end])
    except (EngineError, asyncio.CancelledError) as exc:
        trace.stopped = run.stopped(exc if isinstance(exc, EngineError) else interruption("sent"))
        raise
    return run.finished()


async def with_candidates(
    backend: Backend, device: AdbDevice, execution: Execution, finished: Finished, trace: Trace
) -> Finished:
    """Return ``finished``, which failed because of several nodes, with a selector for each by a tree of now, if that agrees."""
    error, failed = finished.outcome.error or {}, finished.outcome.failed_step
    details = error.get("details", {})
    if failed is None or "tree" in details:
        return finished
    try:
        tree = await _Screen(backend, device, trace).look()
    except EngineError:
        return finished
    _, found = await asyncio.to_thread(several, tree, execution.actions[failed.index].params)
    if len(found) < 2 or details.get("matches") not in (None, len(found)):
        return finished
    more = await asyncio.to_thread(with_selectors, tree, found, {"current": True, "read": "after"})
    outcome = replace(finished.outcome, error={**error, "details": {**details, **more}})
    return replace(finished, outcome=outcome)


class _Selected:
    """The parts of one plan, joined."""

    def __init__(
        self,
        backend: Backend,
        device: AdbDevice,
        execution: Execution,
        options: RunOptions,
        trace: Trace,
        *,
        version: str | None,
    ) -> None:
        self._backend, self._device, self._execution, self._options = backend, device, execution, options
        self._trace, self._version = trace, version
        self.closed: Mapping[str, bool] = {}
        """The apps that the host has closed."""
        self._sending: Sequence[str] = ()
        """The steps of a part that was sent and whose end is not known."""
        self._until = time.monotonic() + execution.timeout_ms / 1000
        self._screen = _Screen(backend, device, trace)
        self._ran: list[tuple[int, Finished]] = []
        self._rows: list[dict[str, Any]] = []
        self._warnings: list[Mapping[str, Any]] = []
        self._firsts: dict[str, int] = {}
        """By step id: of how many nodes the first was taken."""

    @property
    def over(self) -> bool:
        """Whether the plan has ended; a step that only fails for itself lets it go on."""
        return any(finished.outcome.status not in ("succeeded", "partial") for _, finished in self._ran)

    async def send(
        self, start: int, actions: Sequence[Action], *, chosen: Chosen | None = None, through: Backend | None = None
    ) -> Finished:
        """Dispatch ``actions``, the first of which is about the node ``chosen``."""
        left_ms = max(_LEAST_MS, round((self._until - time.monotonic()) * 1000))
        plan = replace(self._execution, actions=tuple(actions))
        plan = plan.with_timeout(min(plan.timeout_ms, left_ms))
        part, done = Validated(plan, {}, plan.wire_json(), ()), self._trace.carried_out
        with self._trace.part() as trace:
            trace.carried_out |= {action.id: done[action.id] for action in actions if action.id in done}
            if chosen is not None and chosen.node is not None:
                facts = {**node_facts(chosen.node), "matched": chosen.matched}
                trace.taken[actions[0].id] = {**facts, "tree": {"stepId": actions[0].id}}
            self._sending = [action.id for action in actions]
            finished = await dispatch(
                through or self._backend, self._device, part, self._options, trace, closed=self.closed
            )
            self._sending = ()
        self._ran.append((start, finished))
        return finished

    async def choose(self, start: int, actions: Sequence[Action]) -> None:
        """Choose the node of the first of ``actions``, then dispatch all; none of them if there is no such node."""
        action, rest = actions[0], actions[1:]
        searches = action.type in _SCROLLS[1:] and action.params.get("strict") and _target(action)
        if action.type in OBSERVING:
            await self._read(start, action)
        elif action.type in _SCROLLS and "container" not in action.params and not searches:
            rest = (_without(action, "strict"), *rest)
            start -= 1
        elif (chosen := await self._chosen(start, action)) is not None:
            by_shell = "coordinate" in chosen.action.params and not supports(self._version, POINTS_SINCE)
            if searches:
                await self._search(start, action, chosen.action)
            elif by_shell:
                await self.send(start, [chosen.action], chosen=chosen, through=_Tap(self._backend, chosen.action))
            else:
                await self.send(start, (chosen.action, *rest), chosen=chosen)
                return
        if rest and not self.over:
            await self.send(start + 1, rest)

    async def _chosen(self, start: int, action: Action) -> Chosen | None:
        """Return the action as it is sent; ``None`` where there is no node, which is then its result."""
        if action.type in _SCROLLS and "container" not in action.params:
            return Chosen(action, None, 0, {})
        try:
            chosen = await self._choose(action)
        except PlanFailure as exc:
            await self._refuse(start, action, str(exc), exc.data)
            return None
        except EngineError as exc:
            if exc.code not in _ANSWERED:
                raise
            await self._refuse(start, action, exc.message, {}, exc)
            return None
        self._note(start, action, chosen.matched, chosen.way)
        return chosen

    async def _choose(self, action: Action) -> Chosen:
        """Look until there is a node, as often as the action's retries say, and return the action that takes only that."""
        scrolls = action.type in _SCROLLS
        name = "container" if scrolls else "matcher"
        planned: Any = self._plan(action).steps[0].action
        planned = getattr(planned, "scroll", planned)
        query: Query = replace(planned.container, strict=planned.strict) if scrolls else planned.matcher
        screen = self._screen.of(action)

        async def attempt() -> Sequence[UiNode]:
            found = query.candidates(await screen.look())
            if not found:
                raise PlanFailure(f"Container not found for {query}") if scrolls else no_node(query)
            return found

        found = await PlanRun(cast("Surface", screen), _Clock()).stage("", "", planned.retry, attempt, lambda _: {})
        assert screen.tree is not None
        node, tree = found[0], screen.tree
        exact = await asyncio.to_thread(_exact, tree, node, action, name, self._version)
        if exact is None:
            exact = {"coordinate": await self._point(action, node, tree)}
        dropped = (name, *HOST_CHOICES, *(() if scrolls else ("container", "strict")))
        kept = {key: value for key, value in action.params.items() if key not in dropped}
        way = {"selector" if key == name else "point" if key == "coordinate" else key: exact[key] for key in exact}
        way.pop("strict", None)
        return Chosen(replace(action, params={**kept, **exact}), node, len(found), way)

    async def _point(self, action: Action, node: UiNode, tree: UiTree) -> Mapping[str, int]:
        """Return the point of a click on a node that no matcher singles out. Raises ``EngineError`` for what takes no point."""
        how = action.params.get("clickType")
        if action.type != "click" or how == "focus":
            raise _unaddressable(action, node, tree)
        windows = touch_windows((await self._device.script(device_script(TOUCH_SCRIPT))).text)
        x, y = tap_point(tree, node, windows, long=how == "long_click")
        return {"x": x, "y": y}

    async def _search(self, start: int, action: Action, scrolling: Action) -> None:
        """Scroll until the app finds a node, without a click, then choose among those on screen, and click it if that is asked for."""
        clicks = action.params.get("clickAfter", action.type == "scroll_and_click")
        scrolling = _without(scrolling, "strict")
        if clicks:
            scrolling = replace(scrolling, params={**scrolling.params, "clickAfter": False})
        searched = await self.send(start, [scrolling])
        if searched.outcome.status != "succeeded":
            return
        asked = {"matcher": _target(action), "strict": True, "retry": {"maxAttempts": 1}}
        if clicks and "clickType" in action.params:
            asked["clickType"] = action.params["clickType"]
        kind = "click" if clicks else "wait_for_node"
        await self.choose(start, [Action(action.id, kind, asked)])
        self._ran.remove((start, searched))  # one step to the caller
        for result in self._ran[-1][1].envelope["stepResults"]:
            result["data"] = {**searched.envelope["stepResults"][0].get("data", {}), **result["data"]}

    async def _read(self, start: int, action: Action) -> None:
        """Carry out an action that only reads, on trees that the host reads."""
        screen, seen = self._screen.of(action), _Taken()
        run = PlanRun(cast("Surface", screen), _Clock(), generation="0.10", observer=seen)
        try:
            done = await run_plan(run, self._plan(action))
        except EngineError as exc:
            if exc.code not in _ANSWERED:
                raise
            await self._refuse(start, action, exc.message, {}, exc)
            return
        if done.reason:
            await self._refuse(start, action, done.reason, done.failed_data)
            return
        result = StepResult(action.id, action.type, done.records[0].outcome.success, done.records[0].outcome.data)
        chosen = Chosen(action, seen.node, seen.matched, {}) if seen.node is not None else None
        await self.send(start, [action], chosen=chosen, through=_Answer(self._backend, result))
        self._note(start, action, seen.matched, {"answered": True})

    def _plan(self, action: Action) -> Any:
        """Return ``action`` as the device reads it, with the positions of references in the tree in their place."""
        params = {
            name: {"index": Reference.read(value["ref"]).number} if is_reference(value) else value
            for name, value in action.params.items()
        }
        alone = replace(self._execution, actions=(replace(action, params=params),))
        return read_payload(alone.wire_json(), "0.10", host=True)

    async def _refuse(
        self, start: int, action: Action, reason: str, data: Mapping[str, str], error: EngineError | None = None
    ) -> None:
        """Let ``action`` fail as on a device that can choose, without sending it."""
        code = (derived_code(reason) if error is None else error.code) or ErrorCode.UNKNOWN
        result = StepResult(action.id, action.type, False, {**data, "error": reason, "errorCode": code.value})
        answer = _Answer(self._backend, result, self._screen.tree, error)
        await self.send(start, [action], through=answer)
        self._rows.append({"id": action.id, "by": _by(action)})

    def _note(self, start: int, action: Action, matched: int, way: Mapping[str, Any]) -> None:
        """Say in the answer how the node of ``action`` was chosen, and warn of the first of several."""
        asked = {name: action.params[name] for name in HOST_CHOICES if name in action.params}
        self._rows.append({"id": action.id, "by": _by(action), "matched": matched, **asked, **way})
        if matched > 1 and not action.params.get("all"):
            self._firsts[action.id] = matched
            message = f'Step "{action.id}": {matched} nodes matched, and the host took the first'
            path = joined("actions", start, "params", "matcher")
            self._warnings.append(Warning_("MATCHER_AMBIGUOUS", path, message).to_dict())

    def steps(self) -> tuple[OutcomeStep, ...]:
        """Return the steps of the plan as far as they are known."""
        steps = {start + step.index: step for start, part in self._ran for step in part.outcome.steps}
        planned = enumerate(self._execution.steps)
        return tuple(
            replace(steps[at], index=at, type=kind) if at in steps else OutcomeStep(at, name, kind, "not_run")
            for at, (name, kind) in planned
        )

    def stopped(self, error: EngineError) -> ExecutionOutcome:
        """Return the outcome where ``error`` ended the plan: only of the part that was on its way the end is not known."""
        trace = self._trace
        seen = outcome_of(self._execution.steps, trace.live_lines, error=error, carried_out=trace.carried_out).steps
        shown = {step.id: step for step in seen if step.id in self._sending}
        steps = tuple(shown.get(step.id, step) for step in self.steps())
        return ExecutionOutcome("unknown" if shown else "failed", steps, None, facts_of(error))

    def finished(self) -> Finished:
        """Return the one result of all parts."""
        every = self.steps()
        results = {result["id"]: result for _, each in self._ran for result in each.envelope["stepResults"]}
        for step in every:
            if step.id in results:
                results[step.id]["actionType"] = step.type
            if (count := self._firsts.get(step.id)) and step.status == "done":
                warning = FIRST_TAKEN % count
                results[step.id]["data"]["selection_warning"] = warning
                step.facts = {**(step.facts or {}), "selectionWarning": warning}
        worst = ("unknown", "failed", "partial", "succeeded")
        start, part = min(self._ran, key=lambda ran: worst.index(ran[1].outcome.status))
        bad = part.outcome
        failed = every[start + bad.failed_step.index] if bad.failed_step is not None else None
        warnings = [warning for _, each in self._ran for warning in each.warnings] + self._warnings
        chosen = {"by": self._rows[0]["by"], "steps": self._rows} if self._rows else {}
        envelope = {**part.envelope, "stepResults": [*results.values()]}
        return Finished(envelope, ExecutionOutcome(bad.status, every, failed, bad.error), warnings, selection=chosen)


class Chosen(NamedTuple):
    """An action as it is sent, its node, how many could be taken, and what finds it."""

    action: Action
    node: UiNode | None
    matched: int
    way: Mapping[str, Any]


class _Screen:
    """The screen of a device, as far as the runtime needs it to choose."""

    def __init__(self, backend: Backend, device: AdbDevice, trace: Trace) -> None:
        self._backend, self._device, self._trace = backend, device, trace
        self._expected: Sequence[Reference] = ()
        self.tree: UiTree | None = None

    def of(self, action: Action) -> _Screen:
        """Prepare for the choice of ``action``, whose references must be of the tree on the screen."""
        values = (value for value in action.params.values() if is_reference(value))
        self._expected, self.tree = [Reference.read(value["ref"]) for value in values], None
        return self

    async def look(self) -> UiTree:
        """Return the tree; the one that was read for this plan, if nothing was sent since. Raises ``EngineError``."""
        trace, xml = self._trace, self._trace.fresh
        trace.fresh = ""
        if not xml:
            trace.dispatched()
            trace.enter("look")
            limit_ms = max(_LOOK_MS, self._backend.look_ms)
            xml = tree_of(await self._backend.run(self._device, snapshot_command(limit_ms), Trace()))
            trace.trees.append((time.time(), CapturedHierarchy("choice", xml, complete=True)))
        if stale := next((each for each in self._expected if each.tree != tree_id(xml)), None):
            message = f"The screen has changed since the view of {stale}, and no selector finds only its node"
            raise EngineError(ErrorCode.REF_STALE, message, details={"ref": str(stale), "tree": tree_id(xml)})
        self.tree = await asyncio.to_thread(parse, xml, recover=True)
        return self.tree

    async def dump(self) -> UiTree | None:
        return await self.look()

    async def foreground(self) -> str:
        return (await self.look()).package


class _Clock:
    """The host's clock."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Taken(Observer):
    node: UiNode | None = None
    matched = 0

    def took(self, node: UiNode, matched: int | None) -> None:
        self.node, self.matched = node, matched or 0


class _Host:
    """What the host does itself, in place of ``backend``."""

    def __init__(self, backend: Backend) -> None:
        self.name, self.package, self.look_ms = backend.name, backend.package, backend.look_ms
        self.attached, self.check, self.version = backend.attached, backend.check, backend.version


class _Tap(_Host):
    """A click at a point through Android's own ``input``, for an app that cannot."""

    def __init__(self, backend: Backend, click: Action) -> None:
        super().__init__(backend)
        self._click = click

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:
        x, y = (str(self._click.params["coordinate"][axis]) for axis in "xy")
        words = (
            ["tap", x, y] if self._click.params.get("clickType") != "long_click" else ["swipe", x, y, x, y, _LONG_MS]
        )
        trace.dispatched()
        trace.enter("run")
        done = await ended(device.shell(["input", *words], timeout=command.timeout_ms / 1000))
        data = {"click_types": self._click.params.get("clickType", "click"), "dispatched": f"input {' '.join(words)}"}
        if failure := parse_failure(f"{done.text}\n{done.error_text}", done.exit_code):
            data |= {"error": f"Android's input refused: {failure}", "errorCode": ErrorCode.GESTURE_FAILED.value}
        return _answered(command, StepResult(self._click.id, "click", not failure, data))


class _Answer(_Host):
    """One step with a ``result`` that the host knows; ``tree`` and ``error`` say why it failed."""

    def __init__(
        self, backend: Backend, result: StepResult, tree: UiTree | None = None, error: EngineError | None = None
    ) -> None:
        super().__init__(backend)
        self._result, self._tree, self._error = result, tree, error

    async def run(self, device: AdbDevice, command: Command, trace: Trace) -> Outcome:  # noqa: ARG002 -- a backend's form
        if not self._result.success and self._tree is not None:
            trace.missed = time.time(), self._tree
        trace.refusal = self._error
        return _answered(command, self._result)


def _answered(command: Command, result: StepResult) -> Outcome:
    """Return the answer to a plan of one step; from Operator 0.10 on, a failed one keeps its data."""
    ids, code = (command.command_id, command.task_id), result.data.get("errorCode")
    if code is None:
        return Outcome(Envelope(*ids, "success", (result,)))
    return Outcome(Envelope(*ids, "failed", (result,), result.data["error"], code))


def _exact(tree: UiTree, node: UiNode, action: Action, name: str, version: str | None) -> dict[str, Any] | None:
    """Return the parameters by which the device takes only ``node`` of ``tree``; ``None`` where no matcher does."""
    modern, asked = supports(version, RELATIONS_SINCE), action.params[name]
    if not is_reference(asked):
        fields = {key: value for key, value in asked.items() if modern or key not in RELATIONS}
        found = find_all(tree, Matcher.from_fields(fields))
        loose = not action.params.get("strict") and "nth" not in action.params and "within" not in action.params
        if len(found) == 1 or (loose and found and found[0] is node and "container" not in action.params):
            sure = {"strict": True} if modern and len(found) == 1 and name == "matcher" else {}
            return {name: fields, **sure}
    ways = Selectors(tree).suggest(node).candidates
    usable = [way for way in ways if way.kind == "direct" or (modern and way.kind == "related")]
    usable.sort(key=lambda way: "≈" in way.flags)
    for way in usable:
        if way.unique:
            return {name: way.matcher.to_dict(), **({"strict": True} if modern and name == "matcher" else {})}
    inside = next((way for way in ways if way.kind == "inside"), None) if modern and name == "matcher" else None
    if inside is not None and inside.container is not None:
        return {name: inside.matcher.to_dict(), "container": inside.container.to_dict(), "strict": True}
    if action.type == "click":
        return None
    first = next((way for way in usable if way.first), None)
    return None if first is None else {name: first.matcher.to_dict()}


def _unaddressable(action: Action, node: UiNode, tree: UiTree) -> EngineError:
    """Return why a node cannot be taken that was chosen: nothing but a point tells it from others."""
    by_reference = is_reference(action.params.get("matcher", action.params.get("container")))
    code, point = ErrorCode.REF_AMBIGUOUS if by_reference else ErrorCode.NODE_AMBIGUOUS, tree.point_of(node)
    details = {"node": node_line(node), **({"point": list(point)} if point else {})}
    message = f"No selector finds only the chosen node, and {action.type} takes no point"
    return EngineError(code, message, hint="Click details.point first, then use input text.", details=details)


def _target(action: Action) -> Mapping[str, Any] | None:
    return next((action.params[name] for name in _TARGETS if name in action.params), None)


def _without(action: Action, name: str) -> Action:
    return replace(action, params={key: value for key, value in action.params.items() if key != name})


def _by(action: Action) -> str:
    return "reference" if any(map(is_reference, action.params.values())) else "host"
