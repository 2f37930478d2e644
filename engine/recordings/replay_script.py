"""The steps of a replay, from the plan of a recording or from a compiled recipe. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from clawperator.engine.contracts.limits import DEFAULT_MODE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.recordings.plan import Plan, PlannedStep
from clawperator.engine.recordings.recipe_draft import capabilities
from clawperator.engine.recordings.records import Omission
from clawperator.engine.recordings.targets import Target
from clawperator.engine.skills.recipe.templates import fill

if TYPE_CHECKING:
    from clawperator.engine.skills.compiled import Compiled

FRESH = "open"
"""The step that makes a recipe's session fresh."""
_BEFORE, _AFTER = "__wait_before", "__wait_after"


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step: its ``actions``, the action ``confirm`` that checks its ``sign``, and ``afterwards``, which only waits.

    ``seq`` is the number of its event in the recording. ``was_on`` is the previous state of the switch in ``target``. ``only_one``: exactly one node matched ``target`` when it was
    recorded, unknown for a recipe. ``expect`` is the expected text of ``confirm``.
    """

    id: str
    type: str
    what: str
    actions: tuple[Mapping[str, Any], ...]
    seq: int = 0
    package: str = ""
    target: Matcher | None = None
    only_one: bool = False
    others: tuple[Matcher, ...] = ()
    confirm: Mapping[str, Any] | None = None
    sign: Matcher | None = None
    expect: Mapping[str, str] = field(default_factory=dict)
    afterwards: tuple[Mapping[str, Any], ...] = ()
    was_on: bool | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ReplayScript:
    """All steps. ``mode`` is that of the executions (execution.md#payload); ``capabilities`` are the required ones.

    ``omitted`` are recorded events that no step repeats, ``warnings`` are about doubtful ones.
    """

    kind: Literal["recording", "recipe"]
    application_id: str
    steps: tuple[ReplayStep, ...]
    capabilities: tuple[str, ...] = ()
    mode: str = DEFAULT_MODE
    omitted: tuple[Omission, ...] = ()
    warnings: tuple[str, ...] = ()

    def position(self, start: str) -> int:
        """Return the index of a step by id or by number from 1. Raises ``EngineError`` (USAGE)."""
        ids = [step.id for step in self.steps]
        if not start:
            return 0
        if start in ids:
            return ids.index(start)
        if start.isascii() and start.isdigit() and len(start) < 10 and 1 <= int(start) <= len(ids):
            return int(start) - 1
        raise EngineError(
            ErrorCode.USAGE,
            f"Unknown step: {start[:100]!r}",
            hint="Use one of the ids in details.steps.",
            details={"steps": ids},
        )


# -- of a recording


def script_of_plan(plan: Plan, values: Mapping[str, str]) -> ReplayScript:
    """Return the steps of a recording with ``values`` for its inputs, whose defaults are the recorded texts.

    Raises ``EngineError``: RECIPE_INPUT_UNDECLARED; RECIPE_INPUT_MISSING for a password, which is not recorded.
    """
    known = {each.name: each.value for each in plan.inputs}
    unknown = [name for name in values if name not in known]
    if unknown:
        raise EngineError(
            ErrorCode.RECIPE_INPUT_UNDECLARED,
            f"The recording has no input {unknown[0][:100]!r}",
            details={"input": unknown[0][:100], "inputs": list(known)},
        )
    chosen = {**known, **values}
    if missing := next((name for name, value in chosen.items() if not value), ""):
        raise EngineError(
            ErrorCode.RECIPE_INPUT_MISSING,
            f"The recording does not contain the value of {missing}: the device hid it",
            hint="Pass it with --vars.",
            details={"input": missing},
        )
    steps = tuple(_of_planned(step, chosen) for step in plan.steps)
    needed = tuple(capabilities(plan, plan.steps))
    return ReplayScript("recording", plan.application_id, steps, needed, omitted=plan.omitted, warnings=plan.warnings)


def _of_planned(step: PlannedStep, values: Mapping[str, str]) -> ReplayStep:
    def matcher(target: Target | None) -> Matcher | None:
        return Matcher.from_fields(_filled(target.fields, values)) if target is not None else None

    target, sign = matcher(step.target), matcher(step.confirm)
    actions = tuple(_actions(step, target, matcher(step.container), fill(step.text, values)))
    others = step.target.others if step.target is not None else ()
    return ReplayStep(
        id=step.id,
        type=step.kind,
        what=step.key or (f"{step.kind} {step.package}" if step.kind == "open_app" else step.kind),
        actions=actions,
        seq=step.seq,
        package=step.package,
        target=target,
        only_one=step.kind in ("click", "enter_text") and step.target is not None and step.target.unique,
        others=tuple(Matcher.from_fields(_filled(fields, values)) for fields in others),
        confirm=_wait(f"{step.id}__confirm", sign) if sign is not None else None,
        sign=sign,
        was_on=step.was_on,
    )


def _filled(fields: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    return {name: fill(value, values) for name, value in fields.items()}


def _actions(
    step: PlannedStep, target: Matcher | None, container: Matcher | None, text: str
) -> Iterator[dict[str, Any]]:
    fields = target.fields() if target is not None else {}
    if step.kind == "open_app":
        application = {"applicationId": step.package}
        yield {"id": f"{step.id}__close", "type": "close_app", "params": application}
        yield {"id": step.id, "type": "open_app", "params": application}
        return
    scrolled: dict[str, Any] = {"target": fields, "direction": step.direction}
    if container is not None:
        scrolled["container"] = container.fields()
    params: Mapping[str, dict[str, Any]] = {
        "click": {"matcher": fields},
        "wait_for_node": {"matcher": fields},
        "scroll_and_click": scrolled,
        "enter_text": {"matcher": fields, "text": text},
        "press_key": {"key": step.key},
    }
    yield {"id": step.id, "type": step.kind, "params": params[step.kind]}


def _wait(action_id: str, sign: Matcher) -> dict[str, Any]:
    return {"id": action_id, "type": "wait_for_node", "params": {"matcher": sign.fields()}}


# -- of a recipe


def script_of_compiled(compiled: Compiled, application_id: str) -> ReplayScript:
    """Return the steps of a compiled recipe, each with the actions generated for it (skills.md#compilation).

    Raises ``EngineError`` (RECIPE_SELECTOR_UNSUPPORTED) for a step whose node is chosen on a snapshot: a replay has matchers alone.
    """
    if compiled.choices:
        step = compiled.choices[0].step_id
        raise EngineError(
            ErrorCode.RECIPE_SELECTOR_UNSUPPORTED,
            f'A replay cannot choose the node of step "{step}", whose selector no matcher expresses',
            hint="Run the recipe with `clawperator skills run --artifact`, or use a selector that the device can match.",
            details={"steps": [choice.step_id for choice in compiled.choices]},
        )
    confirms = {confirm.action_id: confirm for confirm in compiled.confirms}
    steps: list[ReplayStep] = []
    waiting: list[Mapping[str, Any]] = []
    for action in (action for execution in compiled.executions for action in execution["actions"]):
        name = str(action["id"])
        if name.endswith(_BEFORE):
            waiting.append(action)
        elif name in confirms:
            sign = _matcher(action)
            steps[-1] = replace(steps[-1], confirm=action, sign=sign, expect=dict(confirms[name].expect))
        elif steps and name == f"{steps[-1].id}{_AFTER}":
            steps[-1] = replace(steps[-1], afterwards=(action,))
        elif name.startswith("__") and steps and steps[-1].id == FRESH:
            steps[-1] = replace(steps[-1], actions=(*steps[-1].actions, action))
        elif name.startswith("__"):
            steps.append(ReplayStep(FRESH, "open_app", f"restart {application_id}", (action,)))
        else:
            steps.append(_of_action(action, waiting, compiled.optional))
            waiting = []
    mode = str(compiled.executions[0]["mode"])
    return ReplayScript("recipe", application_id, tuple(steps), compiled.capabilities, mode)


def _of_action(action: Mapping[str, Any], before: Sequence[Mapping[str, Any]], optional: Sequence[str]) -> ReplayStep:
    kind = str(action["type"])
    return ReplayStep(
        id=str(action["id"]),
        type=kind,
        what=kind,
        actions=(*before, action),
        target=_matcher(action),
        optional=action["id"] in optional,
    )


def _matcher(action: Mapping[str, Any]) -> Matcher | None:
    params = action.get("params", {})
    fields = params.get("matcher") or params.get("target")
    return Matcher.from_fields(fields) if isinstance(fields, Mapping) else None
