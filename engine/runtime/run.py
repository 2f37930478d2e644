"""Carrying out a plan step by step: retries, progress, and the two styles of failure (wire.md#actions-and-how-they-fail)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime import retry as presets
from clawperator.engine.runtime.outcome import ActionResult, PlanFailure, StepReport
from clawperator.engine.runtime.plan import Generation, PlanStep, at_least
from clawperator.engine.runtime.query import as_json, node_summary
from clawperator.engine.runtime.retry import RetryPolicy
from clawperator.engine.runtime.surface import Clock, Surface

_T = TypeVar("_T")
TREE_UNAVAILABLE = "UI tree not available"


class Observer:
    """Events of a plan while it runs. All methods do nothing; override as needed.

    Stages are the waiting and acting parts of a step; the ids are those of wire.md#log-lines. ``data`` values are text.
    """

    def step_start(self, step_id: str, action_type: str) -> None: ...

    def step_done(self, step_id: str, action_type: str, outcome: ActionResult) -> None: ...

    def took(self, node: UiNode, matched: int | None) -> None:
        """``node`` is the one that the step uses; ``matched`` nodes satisfied its selector, ``None`` without one."""

    def missed(self, tree: UiTree) -> None:
        """The step's selectors matched nothing in ``tree``, or more than they may."""

    def stage_start(self, stage: str, label: str) -> None: ...

    def stage_retry(self, stage: str, attempt: int, attempts: int, delay_ms: int) -> None: ...

    def stage_success(self, stage: str, data: Mapping[str, str]) -> None: ...

    def stage_failure(self, stage: str, reason: str) -> None: ...


@dataclass(slots=True)
class PlanRun:
    """One plan's surroundings."""

    surface: Surface
    clock: Clock
    generation: Generation = "0.5"
    observer: Observer = field(default_factory=Observer)
    chance: Callable[[], float] = field(default_factory=lambda: Random(0).random)
    rested: bool = False
    """Each snapshot takes seconds and shows a screen at rest: at once after it, another one adds nothing."""
    before_step: Callable[[PlanStep], Awaitable[None]] | None = None
    """Awaited as each step begins."""
    until: float = math.inf
    """When the plan's time is over, by ``clock``."""
    step_id: str = ""
    """Of the step that is being carried out."""
    matched: int = 0
    """The largest number of nodes of which the running step took the first."""
    receipt: dict[str, str] = field(default_factory=dict)
    """What the running step has acted on, and how (operator-0.10, receipts)."""
    reports: list[StepReport] = field(default_factory=list)
    """Of the steps of the plan that were carried out."""

    @property
    def modern(self) -> bool:
        """Whether the semantics of 0.3.2 and later apply."""
        return self.generation != "0.3"

    @property
    def has_receipts(self) -> bool:
        return at_least(self.generation, "0.10")

    def took(self, node: UiNode, matched: int | None) -> None:
        """Note the node that the running step uses, one of ``matched``."""
        self.matched = max(self.matched, matched or 0)
        self.observer.took(node, matched)
        if self.has_receipts and matched is not None:
            self.receipt |= {"matched_target": as_json(node_summary(node)), "candidate_count": str(matched)}

    def acted(self, method: str, node: UiNode | None = None, *, accepted: bool = True, **more: str) -> None:
        """Note how the running step acts, and on which node."""
        if self.has_receipts:
            target = {"target": as_json(node_summary(node))} if node is not None else {}
            how = {"dispatch_method": method, "dispatch_accepted": "true" if accepted else "false"}
            self.receipt |= {**target, **how, **more}

    async def tree(self, *, waits: bool = False) -> UiTree:
        """The window's tree. Raises ``PlanFailure`` when there is none: where snapshots take seconds, a final one unless the step ``waits``."""
        tree = await self.surface.dump()
        if tree is None:
            raise PlanFailure(TREE_UNAVAILABLE, final=self.rested and not waits)
        return tree

    async def stage(
        self,
        stage: str,
        label: str,
        policy: RetryPolicy,
        attempt: Callable[[], Awaitable[_T]],
        data_of: Callable[[_T], Mapping[str, str]],
    ) -> _T:
        """Call ``attempt`` until it raises neither ``PlanFailure`` nor ``StepFailure``, as often as ``policy`` allows.

        ``data_of`` turns its result into what is logged of it.
        """
        observer = self.observer
        if self.rested and policy is presets.UI_READINESS:
            policy = presets.RESTED
        observer.stage_start(stage, label)
        for number in range(1, policy.max_attempts + 1):
            try:
                result = await attempt()
            except (PlanFailure, StepFailure) as exc:
                if number == policy.max_attempts or (isinstance(exc, PlanFailure) and exc.final):
                    observer.stage_failure(stage, str(exc))
                    raise
                delay_ms = policy.delay_ms(number, self.chance)
                observer.stage_retry(stage, number + 1, policy.max_attempts, delay_ms)
                await self.clock.sleep(delay_ms / 1000)
            else:
                observer.stage_success(stage, data_of(result))
                return result
        raise AssertionError("a policy allows at least one attempt")


class StepFailure(Exception):  # noqa: N818 - the contract's word, beside PlanFailure
    """An attempt that may be repeated and at last becomes a failed step, not a failed plan."""

    def __init__(self, outcome: ActionResult) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome
