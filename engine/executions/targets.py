"""The node that a step acted on, and the nearest nodes if none matched. Pure.

A backend that resolves selectors itself reports both (``Trace.taken``, ``Trace.missed``). The Operator's come from the trees in the log: the device does not log the tree on which it matches, nor for most actions the node. But it logs every accessibility event: until the
next event or action, the last tree in the log is the one on the screen.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from clawperator.engine.contracts.issues import Warning_, joined
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import ambiguity
from clawperator.engine.executions.outcome import ExecutionOutcome, OutcomeStep
from clawperator.engine.text.suggestions import command_line

if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Execution
    from clawperator.engine.executions.trace import Trace
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree
    from clawperator.engine.logcat.signals import CapturedHierarchy

SeenAt = tuple[float, "CapturedHierarchy"]
"""The host time of a tree (seconds since the epoch), and the tree."""

StepData = Mapping[str, Mapping[str, str]]
"""The data of steps as the device wrote them, by step id."""
NO_DATA: StepData = {}
_BY_MATCHER = frozenset({"click", "enter_text", "read_text", "wait_for_node"})
_SELECTORS = ("matcher", "target", "container")
_SCROLLING = "scroll_and_click"
_LOOKING = frozenset({"read_text", "wait_for_node"})
_EXPLAINED = (ErrorCode.NODE_NOT_FOUND, ErrorCode.NODE_NOT_CLICKABLE)


@dataclass(frozen=True, slots=True)
class SeenTrees:
    """The complete trees of one run, oldest first, and the screen that each step saw (``ProgressSignal.screen``).

    ``before`` is the newest tree of the log stream before the run.
    """

    of_run: Sequence[SeenAt]
    before: SeenAt | None
    at_start: Mapping[str, int]
    at_end: Mapping[str, int]
    last: int
    taken: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    missed: tuple[float, UiTree] | None = None

    @classmethod
    def of(cls, trace: Trace) -> Self:
        signals = [signal for _, signal in trace.lines]
        return cls(
            [(at, tree) for at, tree in trace.trees if tree.complete],
            trace.tree_before,
            {signal.fields.get("id", ""): signal.screen for signal in signals if signal.kind == "step-start"},
            {signal.fields.get("id", ""): signal.screen for signal in signals if signal.kind == "step-success"},
            signals[-1].screen if signals else -1,
            trace.taken,
            trace.missed,
        )

    @property
    def all(self) -> list[SeenAt]:
        return [*([self.before] if self.before is not None else ()), *self.of_run]

    def of_screen(self, screen: int) -> SeenAt | None:
        """Return the newest tree of that screen."""
        return next((seen for seen in reversed(self.all) if seen[1].screen == screen >= 0), None)


def with_nodes(
    outcome: ExecutionOutcome, execution: Execution, trees: SeenTrees, device_id: str, data: StepData = NO_DATA
) -> tuple[ExecutionOutcome, list[Warning_]]:
    """Return ``outcome`` with the nodes of its steps, ``error.details.nearest`` for a matcher without a match, and
    ``error.details.candidates`` for one with too many.

    Warnings name steps with several matches. Parses trees: do not call it in the event loop if there are any.
    """
    reader = _Reader(outcome, execution, trees)
    warnings: list[Warning_] = []
    steps = []
    for step in outcome.steps:
        target = reader.target(step) if step.status == "done" else None
        steps.append(step if target is None else replace(step, target=target))
        if not _reads_all(execution, step):
            warnings += _first_of_several(execution, step, (target or {}).get("matched", 0), data.get(step.id, {}))
    error, failed = outcome.error, outcome.failed_step
    if error is not None and failed is not None and error["code"] in ambiguity.CODES:
        error = reader.ambiguous(error, failed, data.get(failed.id, {}))
    elif error is not None and failed is not None and error["code"] in _EXPLAINED:
        error = reader.explained(error, failed, device_id)
    return replace(outcome, steps=tuple(steps), error=error), warnings


def wants_nodes(outcome: ExecutionOutcome, execution: Execution, trees: SeenTrees, data: StepData = NO_DATA) -> bool:
    """Return whether ``with_nodes`` can add anything."""
    explained = outcome.error is not None and outcome.error["code"] in (*_EXPLAINED, *ambiguity.CODES)
    return (
        explained
        or any("selection_warning" in each for each in data.values())
        or bool(trees.taken)
        or (bool(trees.all) and any(action.type in _BY_MATCHER for action in execution.actions))
    )


def _first_of_several(
    execution: Execution, step: OutcomeStep, matched: int, data: Mapping[str, str]
) -> Iterator[Warning_]:
    """Warn of several matches: those of a tree that the host knows, else those that the device counted."""
    reported, containers = ambiguity.reported_counts(data)
    params = execution.actions[step.index].params
    name = next((name for name in _SELECTORS if name in params), "")
    for selector, count in {"container": containers, name: matched or reported}.items():
        if count > 1 and selector in params:
            message = f'Step "{step.id}": {count} nodes matched, and the device took the first'
            yield Warning_("MATCHER_AMBIGUOUS", joined("actions", step.index, "params", selector), message)


def _reads_all(execution: Execution, step: OutcomeStep) -> bool:
    return bool(execution.actions[step.index].params.get("all"))


class _Reader:
    def __init__(self, outcome: ExecutionOutcome, execution: Execution, trees: SeenTrees) -> None:
        self._steps = outcome.steps
        self._actions = execution.actions
        self._trees = trees
        self._parsed: dict[str, UiTree | None] = {}

    def target(self, step: OutcomeStep) -> dict[str, Any] | None:
        """Return the node of ``step``, by a tree of the run that agrees with the step's data."""
        if (taken := self._trees.taken.get(step.id)) is not None:
            return dict(taken)
        fields, params = self._fields(step), self._actions[step.index].params
        tried_again = step.retries > 0 and step.type not in _LOOKING
        if not fields or step.type == _SCROLLING or tried_again or params.get("container"):
            return None
        seen = self._seen_by(step)
        tree = self._tree(seen) if seen is not None else None
        if seen is None or tree is None:
            return None
        from clawperator.engine.hierarchy.match import Matcher, find_all

        matcher = Matcher.from_fields(fields)
        found = find_all(tree, matcher)
        if not found or not _agrees(found, step, reads_all=bool(params.get("all"))):
            return None
        target = {**node_facts(found[0]), "matched": len(found)}
        if matcher.role and found[0].role_approximate:
            target["approximate"] = True
        return target | {"tree": self._source(seen, step.started_at)}

    def explained(self, error: Mapping[str, Any], failed: OutcomeStep, device_id: str) -> dict[str, Any]:
        """Return ``error`` with the nearest nodes; without a tree, its hint has the command that finds them."""
        fields = self._fields(failed)
        if not fields:
            return dict(error)
        details: dict[str, Any] = {**error.get("details", {}), "selector": dict(fields)}
        tree, source = self._at_failure(failed)
        if source is not None and tree is not None:
            from clawperator.engine.hierarchy.explain import explain_tree
            from clawperator.engine.hierarchy.matcher import Matcher
            from clawperator.engine.hierarchy.queries import nearest

            found = nearest(explain_tree(tree, Matcher.from_fields(fields)))
            if source["current"] or found["nearest"]:  # an older screen without near matches proves nothing
                details |= {**found, "tree": source}
        if source is not None and source["current"]:
            return {**error, "details": details}
        selector = shlex.quote(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
        command = command_line(f"match --selector {selector} --explain", device_id)
        return {**error, "hint": f"{error['hint']} Find near matches now: {command}", "details": details}

    def ambiguous(self, error: Mapping[str, Any], failed: OutcomeStep, data: Mapping[str, str]) -> dict[str, Any]:
        """Return ``error`` with the nodes that matched: with selectors by a tree that agrees with the device, else as it names them."""
        params, count = self._actions[failed.index].params, ambiguity.reported_count(data)
        tree, source = self._at_failure(failed)
        current = tree is not None and source is not None and source["current"]
        name, found = ambiguity.several(tree, params) if tree is not None and current else ("", ())
        if not name:
            names = ("container",) if error["code"] == ErrorCode.CONTAINER_AMBIGUOUS else _SELECTORS
            name = next((name for name in names if name in params), "")
        details: dict[str, Any] = {**error.get("details", {}), "selector": dict(params.get(name, {}))}
        if tree is not None and source is not None and len(found) > 1 and count in (None, len(found)):
            details |= ambiguity.with_selectors(tree, found, source)
        else:
            details |= {"matches": count} if count is not None else {}
            details["candidates"] = ambiguity.reported_candidates(data)
        return {**error, "details": details}

    def _at_failure(self, failed: OutcomeStep) -> tuple[UiTree | None, dict[str, Any] | None]:
        """Return the tree that ``failed`` saw, or an earlier one, and its origin; ``current`` if nothing has changed since."""
        if self._trees.missed is not None:
            at, tree = self._trees.missed
            return tree, {"stepId": failed.id, "ageMs": _age(at, failed.ended_at), "current": True}
        now = self._trees.of_screen(self._trees.last)
        seen = now or (None if failed.type == _SCROLLING else self._earlier(failed))
        known = self._tree(seen) if seen is not None else None
        if seen is None or known is None:
            return None, None
        return known, self._source(seen, failed.ended_at) | {"current": now is not None}

    def _fields(self, step: OutcomeStep) -> Mapping[str, str]:
        action = self._actions[step.index]
        name = "target" if action.type == _SCROLLING else "matcher"
        return (action.params.get(name) or {}) if action.type in (*_BY_MATCHER, _SCROLLING) else {}

    def _seen_by(self, step: OutcomeStep) -> SeenAt | None:
        """Return a tree of the screen on which ``step`` found its node: at its end if it may have waited for it."""
        screens = self._trees.at_end if step.type in _LOOKING else self._trees.at_start
        return self._trees.of_screen(screens.get(step.id, -1))

    def _earlier(self, step: OutcomeStep) -> SeenAt | None:
        """Return the last snapshot of the run before ``step``, if no step between them acted."""
        own = {tree.step_id: (at, tree) for at, tree in self._trees.of_run}
        for other in reversed(self._steps[: step.index]):
            if other.id in own:
                return own[other.id]
            if other.type not in _LOOKING:
                break
        return None

    def _tree(self, seen: SeenAt) -> UiTree | None:
        from clawperator.engine.hierarchy.tree import parse

        xml = seen[1].xml
        if xml not in self._parsed:
            try:
                self._parsed[xml] = parse(xml, recover=True)
            except EngineError:
                self._parsed[xml] = None
        return self._parsed[xml]

    def _source(self, seen: SeenAt, moment: float) -> dict[str, Any]:
        """Return the origin of a tree, and its age at ``moment``; negative if it was read later."""
        at, tree = seen
        source = {"source": "log"} if seen is self._trees.before else {"stepId": tree.step_id}
        return {**source, "ageMs": _age(at, moment)}


def _age(at: float, moment: float) -> int | None:
    return None if math.isnan(moment) else round((moment - at) * 1000)


def node_facts(node: UiNode) -> dict[str, Any]:
    """Return how a step's target describes ``node``."""
    texts = {"resourceId": node.resource_id, "text": node.label}
    return {**{name: text for name, text in texts.items() if text}, "bounds": list(node.bounds)}


def _agrees(found: Sequence[UiNode], step: OutcomeStep, *, reads_all: bool) -> bool:
    """Return whether the tree agrees with the step's data."""
    data = step.target or {}
    if reads_all:
        return "matched" not in data or data["matched"] == sum(bool(node.label) for node in found)
    taken = {"resourceId": found[0].resource_id, "text": found[0].label}
    return all(taken[name] == data[name] for name in taken.keys() & data.keys())
