"""Replay a recording or a recipe step by step, and stop where the screen differs.

A step runs only if its target is on the screen as it was recorded, and its result is confirmed. A difference is reported with
what was expected, what is on the screen, the nearest candidates, and the step to resume with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.policy import admit_recipe
from clawperator.engine.contracts.envelope import code_of
from clawperator.engine.contracts.limits import EXPECTED_FORMAT
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.build import generated_id
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.steps import budget_ms
from clawperator.engine.hierarchy.match import find_all, find_first
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.progress import unreported
from clawperator.engine.recordings.divergence import expected, nearest, seen
from clawperator.engine.recordings.records import Omission
from clawperator.engine.recordings.replay_script import ReplayScript, ReplayStep
from clawperator.engine.recordings.targets import switch_of
from clawperator.engine.skills.outputs import meets

if TYPE_CHECKING:
    from clawperator.engine.executions.outcome import ExecutionOutcome
    from clawperator.engine.facade import Engine
    from clawperator.engine.hierarchy.nodes import UiTree

SOURCE = "clawperator-replay"
LOOK = "replay_look"
"""The id of the snapshot that ends every execution."""
_PATIENCE = {"maxAttempts": 6, "initialDelayMs": 250, "maxDelayMs": 2_000, "backoffMultiplier": 2.0, "jitterRatio": 0.0}
"""Wait about six seconds for the confirmation of a step."""
_DONE_BUT_UNSEEN = "SNAPSHOT_HIERARCHY_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class StepReport:
    """The result of one step. ``status``: ``done``, or ``missed`` for an optional step that could not be performed."""

    number: int
    id: str
    what: str
    status: str
    duration_ms: float
    outcome: ExecutionOutcome | None = None

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "number": self.number,
            "id": self.id,
            "what": self.what,
            "status": self.status,
            "durationMs": round(self.duration_ms),
        }
        return answer | ({"outcome": self.outcome.to_dict()} if self.outcome is not None else {})


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A completed replay. ``first`` is the number of its first step; ``omitted`` are recorded events that no step repeated."""

    script: ReplayScript
    device_id: str
    first: int
    steps: tuple[StepReport, ...]
    omitted: tuple[Omission, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report; ``ok`` is false and the outcome ``partial`` if events were omitted."""
        answer: dict[str, Any] = {
            "ok": not self.omitted,
            "outcome": {"status": "partial" if self.omitted else "succeeded"},
            "kind": self.script.kind,
            "application": self.script.application_id,
            "deviceId": self.device_id,
            "first": self.first,
            "total": len(self.script.steps),
            "steps": [step.to_dict() for step in self.steps],
        }
        if self.omitted:
            answer["omitted"] = [omission._asdict() for omission in self.omitted]
        return answer | ({"warnings": list(self.script.warnings)} if self.script.warnings else {})


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The device, the Operator app, the timeout of one step, and the options of executions.

    ``allow_partial``: replay also a recording with events that no step repeats.
    """

    device_id: str | None = None
    receiver_package: str | None = None
    timeout_ms: float | None = None
    options: RunOptions = field(default_factory=RunOptions)
    allow_partial: bool = False


async def replay(
    engine: Engine,
    script: ReplayScript,
    on: ReplayOptions | None = None,
    *,
    start: str = "",
    on_step: Callable[[StepReport], object] = unreported,
) -> ReplayReport:
    """Run the steps of ``script`` from ``start`` (an id or a number from 1; '' is the first).

    The device lock is taken for one step at a time. Raises ``EngineError``: REPLAY_DIVERGED with ``details`` ``step``, ``phase``
    (``before``: the step was not performed, ``after``: it was), ``reason``, ``expected``, ``seen``, ``nearest``, ``done`` and
    ``resume`` (the step to resume with, empty after the last); USAGE for an unknown step; CAPABILITY_DENIED, PACKAGE_DENIED, and
    RECORDING_PARSE_FAILED for events from ``start`` on that no step repeats, before the first step; and what ``Engine.execute`` raises, with ``details.step`` and ``details.resume``.
    """
    first = script.position(start)
    if not script.steps:
        hint = "Between `record start` and `record stop`, open an app and use it."
        raise EngineError(ErrorCode.RECORDING_PARSE_FAILED, f"The {script.kind} has no step to replay", hint=hint)
    omitted = _omitted(script, first)
    if omitted and not (on is not None and on.allow_partial):
        raise _incomplete(omitted)
    # the actions of an execution do not reveal a purchase: the script's capabilities do
    with engine.guard.refusals(f"replay a {script.kind}"):
        profile = load_profile(engine.settings)
        admit_recipe(profile, capabilities=script.capabilities, application_id=script.application_id)
    player = _Player(engine, script, on or ReplayOptions())
    reports: list[StepReport] = []
    for number, step in enumerate(script.steps[first:], first + 1):
        began = time.monotonic()
        try:
            status = await player.do(step, number)
        except EngineError as exc:
            exc.details.setdefault("step", step.id)
            exc.details.setdefault("resume", step.id)
            exc.details["done"] = [report.id for report in reports]
            raise
        took = (time.monotonic() - began) * 1000
        reports.append(StepReport(number, step.id, step.what, status, took, player.acted))
        on_step(reports[-1])
    return ReplayReport(script, player.device_id, first + 1, tuple(reports), omitted)


def _omitted(script: ReplayScript, first: int) -> tuple[Omission, ...]:
    """Return the omitted events from the step of index ``first`` on."""
    start = script.steps[first - 1].seq + 1 if first else 0
    return tuple(omission for omission in script.omitted if omission.seq >= start)


def _incomplete(omitted: Sequence[Omission]) -> EngineError:
    events = f"{len(omitted)} events" if len(omitted) > 1 else "an event"
    return EngineError(
        ErrorCode.RECORDING_PARSE_FAILED,
        f"The recording has {events} that no step can repeat. Event {omitted[0].seq}: {omitted[0].reason}",
        hint="Record again, make a recipe with `clawperator record draft` and complete it, or pass --allow-partial to replay the rest.",
        details={"omitted": [omission._asdict() for omission in omitted]},
    )


class _Outcome:
    """A finished execution: whether its steps succeeded, and the screen at its end."""

    def __init__(self, envelope: Mapping[str, Any], whole: ExecutionOutcome) -> None:
        self.whole = whole
        self.error = str(envelope.get("error") or "")
        self.code = str(envelope.get("errorCode") or "")
        self.steps: Sequence[Mapping[str, Any]] = envelope.get("stepResults") or ()
        failed = next((step for step in self.steps if not step["success"] and step["id"] != LOOK), None)
        if failed is not None:
            self.code = code_of(failed["data"])
            self.error = self.error or f"{failed['actionType']} failed: {self.code}"
        self.succeeded = failed is None and (envelope.get("status") == "success" or bool(self.steps))
        self.tree = self._tree()

    def _tree(self) -> UiTree | None:
        text = self.data(LOOK).get("text", "")
        if not text:
            return None
        try:
            return parse(text, recover=True)
        except EngineError:
            return None

    def data(self, step_id: str) -> Mapping[str, str]:
        return next((step["data"] for step in self.steps if step["id"] == step_id), {})

    @property
    def was_done(self) -> bool:
        """Return whether at most the final snapshot failed: the screen may be secure or changing."""
        return self.succeeded or _DONE_BUT_UNSEEN in self.error


class _Player:
    def __init__(self, engine: Engine, script: ReplayScript, on: ReplayOptions) -> None:
        self._engine = engine
        self._script = script
        self._on = replace(on, options=replace(on.options, profile="flat"))
        self._tree: UiTree | None = None
        self.device_id = ""
        self.acted: ExecutionOutcome | None = None
        """The outcome of the last step; ``None`` if it was not started."""

    async def do(self, step: ReplayStep, number: int) -> str:
        self.acted = None
        await self._require_one(step, number)
        await self._require_state(step, number)
        outcome = await self._run(step.actions)
        self.acted = outcome.whole
        if not outcome.was_done:
            if step.optional:
                return "missed"
            raise await self._diverged(step, number, "before", outcome.code, _why(outcome))
        await self._require_sign(step, number)
        await self._require_turned(step, number)
        if step.afterwards and not (waited := await self._run(step.afterwards)).was_done:
            words = f"the step was performed, but the wait after it failed ({waited.error or waited.code})"
            raise await self._diverged(step, number, "after", waited.code, words)
        return "done"

    async def _require_one(self, step: ReplayStep, number: int) -> None:
        """Require a unique target if it was unique when recorded: the device would silently use the first."""
        if step.target is None or not step.only_one:
            return
        for look_again in (self._tree is not None, False):
            if self._tree is None:
                await self._run(())
            if self._tree is None or (found := len(find_all(self._tree, step.target))) < 2:
                return
            if not look_again:
                words = f"{found} elements match the selector, which matched one when it was recorded"
                raise await self._diverged(step, number, "before", "AMBIGUOUS", words, look=False)
            self._tree = None

    async def _require_state(self, step: ReplayStep, number: int) -> None:
        """Require the recorded state of a switch: otherwise the click would undo the change."""
        if step.was_on is None:
            return
        if self._tree is None:
            await self._run(())
        if self._state(step) not in (None, step.was_on):
            words = f"the switch is already {_state(not step.was_on)}; it was {_state(step.was_on)} when recorded"
            raise await self._diverged(step, number, "before", "STATE_DIFFERS", words)

    async def _require_turned(self, step: ReplayStep, number: int) -> None:
        if step.was_on is None or self._state(step) != step.was_on:
            return
        await self._run(())  # the snapshot may have been too early
        if self._state(step) == step.was_on:
            words = f"the click was performed, but the switch is still {_state(step.was_on)}"
            raise await self._diverged(step, number, "after", "STATE_DIFFERS", words)

    def _state(self, step: ReplayStep) -> bool | None:
        """Return whether the step's switch is on in the last snapshot; ``None`` if unknown."""
        node = find_first(self._tree, step.target) if self._tree is not None and step.target is not None else None
        switch = switch_of(node) if node is not None else None
        return switch.checked if switch is not None else None

    async def _require_sign(self, step: ReplayStep, number: int) -> None:
        if step.confirm is None:
            return
        if not step.expect and step.sign is not None and self._tree is not None and find_first(self._tree, step.sign):
            return
        outcome = await self._run([patient(step.confirm)])
        if not outcome.succeeded:
            words = "the step was performed, but the expected element did not appear"
            raise await self._diverged(step, number, "after", outcome.code, words)
        text = outcome.data(str(step.confirm["id"])).get("text", "")
        if not meets(text, step.expect):
            words = "the step was performed, but the text is not the expected one"
            raise await self._diverged(step, number, "after", ErrorCode.VERIFY_FAILED.value, words, read=text)

    async def _run(self, actions: Sequence[Mapping[str, Any]]) -> _Outcome:
        """Run one execution with a final snapshot."""
        steps = [*actions, {"id": LOOK, "type": "snapshot_ui"}]
        command_id = generated_id("replay")
        payload = {
            "commandId": command_id,
            "taskId": command_id,
            "source": SOURCE,
            "expectedFormat": EXPECTED_FORMAT,
            "timeoutMs": budget_ms(steps),
            "mode": self._script.mode,
            "actions": steps,
        }
        self._tree = None
        result = await self._engine.execute(
            payload,
            device_id=self._on.device_id,
            receiver_package=self._on.receiver_package,
            timeout_ms=self._on.timeout_ms,
            options=replace(self._on.options, strict=False),  # the replay judges by its own tree
        )
        self.device_id = result.device_id
        outcome = _Outcome(result.envelope, result.outcome)
        if outcome.code == ErrorCode.SERVICE_UNAVAILABLE:
            raise EngineError(ErrorCode.SERVICE_UNAVAILABLE, outcome.error)
        self._tree = outcome.tree
        return outcome

    async def _diverged(
        self,
        step: ReplayStep,
        number: int,
        phase: str,
        code: str,
        words: str,
        *,
        look: bool = True,
        read: str | None = None,
    ) -> EngineError:
        if look and self._tree is None:
            await self._run(())
        wanted = step.target if phase == "before" else step.sign
        tree = self._tree
        following = self._script.steps[number].id if number < len(self._script.steps) else ""
        details: dict[str, Any] = {
            "step": step.id,
            "number": number,
            "total": len(self._script.steps),
            "phase": phase,
            "reason": code or "UNKNOWN",
            "expected": expected(step, phase),
            "seen": seen(tree, wanted) | ({"text": read} if read is not None else {}),
            "nearest": nearest(tree, wanted, step.others if phase == "before" else ()),
            "resume": step.id if phase == "before" else following,
        }
        if tree is not None and tree.package and step.package and tree.package != step.package and phase == "before":
            words += "; another app is in the foreground"
        message = f"Step {number} of {len(self._script.steps)} ({step.id}: {step.what}): {words}"
        extra: dict[str, Any] = {"deviceId": self.device_id}
        if self.acted is not None:
            extra["outcome"] = self.acted.to_dict()
        return EngineError(ErrorCode.REPLAY_DIVERGED, message, details=details, extra=extra)


def patient(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return the action with the default retry policy, unless it has one."""
    return {**action, "params": {"retry": dict(_PATIENCE), **action.get("params", {})}}


def _state(on: bool | None) -> str:
    return "on" if on else "off"


def _why(outcome: _Outcome) -> str:
    if outcome.code == ErrorCode.NODE_NOT_FOUND:
        return "its target is not on the screen"
    return f"the device could not perform it ({outcome.error or outcome.code})"
