"""Write the plan of a recording as a Markdown recipe to be completed by hand (skills.md#recipes). Pure and deterministic.

Texts of the device are written as double-quoted YAML or as code spans, so that they cannot begin a step or a heading.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clawperator.engine.contracts.limits import MAX_EXECUTION_ACTIONS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.recordings.inputs import escaped
from clawperator.engine.recordings.plan import Plan, PlannedStep
from clawperator.engine.recordings.planner import plan
from clawperator.engine.recordings.records import Recording
from clawperator.engine.recordings.targets import Target
from clawperator.engine.skills.blocked_terms import BlockedTerms
from clawperator.engine.skills.recipe.selectors import FIELDS, ROLES
from clawperator.engine.skills.recipe.steps import TYPES
from clawperator.engine.skills.recipe.templates import names

_KEYS = {field: key for key, field in FIELDS.items()}
_CAPABILITIES = {
    "open_app": ("navigate",),
    "wait_for_node": ("observe",),
    "click": ("click",),
    "scroll_and_click": ("navigate", "click"),
    "enter_text": ("type_text",),
    "press_key": ("click",),
}
_EFFECTS = {"toggle": "toggle", "purchase": "purchase_risk"}
_ORDER = ("observe", "navigate", "click", "long_click", "type_text", "toggle", "purchase_risk")
_FRESH_ACTIONS = 2
_UNKNOWN_API = 1


@dataclass(frozen=True, slots=True)
class RecipeMetadata:
    """What a recording does not contain. An empty ``recipe_id`` is derived from the application id."""

    recipe_id: str = ""
    app_version: str = ""
    app_version_code: int = 0
    android_api: int = 0


@dataclass(frozen=True, slots=True)
class RecipeDraft:
    """A draft with its plan, which has only the inputs in use, its steps, and warnings."""

    text: str
    recipe_id: str
    plan: Plan
    steps: tuple[PlannedStep, ...]
    warnings: tuple[str, ...]


def planned(recording: Recording, blocked: BlockedTerms | None = None) -> Plan:
    """Return the plan of a recording with selectors for recipes; ``blocked`` terms become inputs."""
    return plan(recording, lambda cls: ROLES.get(cls.rpartition(".")[2], ""), blocked)


def draft(
    recording: Recording, facts: RecipeMetadata | None = None, blocked: BlockedTerms | None = None
) -> RecipeDraft:
    """Return a recipe that compiles and repeats the recorded actions.

    Raises ``EngineError``: RECORDING_PARSE_FAILED without any action that a recipe can repeat, RECIPE_LIMIT_EXCEEDED above the
    limit of an execution.
    """
    facts = facts or RecipeMetadata()
    made = planned(recording, blocked)
    warnings = list(made.warnings)
    steps = tuple(_kept(made, warnings))
    if not steps or not made.application_id:
        hint = "Between `record start` and `record stop`, open an app and use it."
        raise EngineError(
            ErrorCode.RECORDING_PARSE_FAILED, "The recording contains no action that a recipe can repeat", hint=hint
        )
    actions = sum(1 + (step.confirm is not None) for step in steps) + _FRESH_ACTIONS * made.fresh
    if actions > MAX_EXECUTION_ACTIONS:
        raise EngineError(
            ErrorCode.RECIPE_LIMIT_EXCEEDED,
            f"The recording makes {actions} actions; an execution has at most {MAX_EXECUTION_ACTIONS}",
            hint="Split it into several recordings.",
            details={"limit": MAX_EXECUTION_ACTIONS, "actual": actions},
        )
    recipe_id = facts.recipe_id or f"{made.application_id}.recorded"
    body = "\n".join(_steps(made, steps))
    used = set(_inputs(steps))
    made = replace(made, inputs=tuple(each for each in made.inputs if each.name in used))
    head = "\n".join([*_frontmatter(made, steps, recipe_id, facts), *_prose(made, warnings, facts)])
    return RecipeDraft(f"{head}\n{body}\n", recipe_id, made, steps, tuple(warnings))


def _kept(made: Plan, warnings: list[str]) -> Iterator[PlannedStep]:
    """Yield the steps that a recipe can express, without the start of the app, which is part of the session."""
    for number, step in enumerate(made.steps):
        if step.kind == "open_app" and number == 0 and made.fresh:
            continue
        if step.kind == "press_key" and (step.key != "back" or step.stand_in is None or step.confirm is None):
            warnings.append(f"seq {step.seq}: the {step.key} key was omitted: recipes cannot press it")
            continue
        yield step


def _inputs(steps: Iterable[PlannedStep]) -> Iterator[str]:
    """Yield the inputs that the steps use."""
    for step in steps:
        yield from names(step.text)
        for target in (_target(step), step.container, step.confirm):
            for value in target.fields.values() if target is not None else ():
                yield from names(value)


# -- front matter


def _frontmatter(made: Plan, steps: Sequence[PlannedStep], recipe_id: str, facts: RecipeMetadata) -> Iterator[str]:
    kind = "action" if any(step.kind == "enter_text" or step.effect for step in steps) else "flow"
    needed = capabilities(made, steps)
    risky = "purchase_risk" in needed
    yield "---"
    yield f"recipe_id: {quoted(recipe_id)}"
    yield "recipe_version: 0.1.0"
    yield f"recipe_type: {kind}"
    yield f"application_id: {quoted(made.application_id)}"
    summary = f"Recorded: {_count(len(steps), 'step')} in {made.application_id}"
    yield f"summary: {quoted(summary[:200])}"
    yield f"frameworks: [{', '.join(made.frameworks)}]"
    yield f"session_policy: {'fresh' if made.fresh else 'resume_ok'}"
    yield f"app_build: {{version_name: {quoted(facts.app_version or 'unknown')}, version_code: {facts.app_version_code}}}"
    yield "tested_on:"
    yield f"  android_api: {facts.android_api or _UNKNOWN_API}"
    if made.started_at:
        yield f"  last_verified_at: {quoted(_moment(made.started_at))}"
    yield f"capabilities: [{', '.join(needed)}]"
    yield f"risk_level: {'high' if risky else 'medium' if kind == 'action' else 'low'}"
    yield "tags: [recorded, draft]"
    if made.inputs:
        yield "inputs:"
        yield from (f'  - {{name: {each.name}, type: string, required: true, default: ""}}' for each in made.inputs)
    else:
        yield "inputs: []"
    yield "outputs: []"
    yield "---"


def capabilities(made: Plan, steps: Sequence[PlannedStep]) -> list[str]:
    """Return the capabilities that ``steps`` need (policy.md#capabilities)."""
    needed = {"navigate"} if made.fresh else set[str]()
    for step in steps:
        needed.update(_CAPABILITIES[step.kind])
        if step.effect:
            needed.add(_EFFECTS[step.effect])
        if step.confirm is not None:
            needed.add("observe")
    return [name for name in _ORDER if name in needed]


def _moment(milliseconds: int) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds // 1000))
    except (OverflowError, ValueError, OSError):  # an invalid clock
        return "1970-01-01T00:00:00Z"


def _prose(made: Plan, warnings: Sequence[str], facts: RecipeMetadata) -> Iterator[str]:
    yield ""
    yield f"# {_code(made.application_id)}, as recorded"
    yield ""
    yield "This is a draft that repeats the recorded actions. Review every step before you use it."
    if not made.fresh:
        yield "The recording started inside the app: open the same screen first."
    missing = [
        name for name, value in (("app_build", facts.app_version), ("tested_on", facts.android_api)) if not value
    ]
    tasks = [f"fill in `{name}` in the front matter" for name in missing]
    tasks += [f"the input `{each.name}` {each.why}: describe the expected format" for each in made.inputs]
    if tasks or warnings:
        yield ""
        yield "To do:"
        yield ""
        yield from (f"- {task}" for task in tasks)
        yield from (f"- event {warning.removeprefix('seq ')}" for warning in warnings)


# -- steps


def _steps(made: Plan, steps: Iterable[PlannedStep]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield ""
        yield f"## Step {number}: {step.id.replace('_', ' ')}"
        yield ""
        yield from _remarks(step)
        yield "```yaml"
        yield from _block(made, step)
        yield "```"


def _remarks(step: PlannedStep) -> Iterator[str]:
    target = _target(step)
    notes = [f"Check: {note}." for note in step.notes]
    if step.kind == "press_key":
        notes.append(f"Check: the {step.key} key was pressed; judging by its name, this button does the same.")
    if target is not None:
        notes += [f"Other selector: {_code(_selector_text(Target(fields)))}" for fields in target.others]
    yield from (f"- {note}" for note in notes)
    if notes:
        yield ""


def _target(step: PlannedStep) -> Target | None:
    return step.stand_in if step.kind == "press_key" else step.target


def _block(made: Plan, step: PlannedStep) -> Iterator[str]:
    kind = "click" if step.kind == "press_key" else step.kind
    yield f"id: {step.id}"
    yield f"type: {kind}"
    if step.effect:
        yield f"effect: {step.effect}"
    if (target := _target(step)) is not None:
        yield f"selector: {_selector_text(target)}"
    if step.container is not None:
        yield f"container: {_selector_text(step.container)}"
    if params := _params(made, step):
        yield f"params: {{{', '.join(f'{key}: {quoted(value)}' for key, value in params.items())}}}"
    if step.confirm is not None:
        yield f"confirm: {{type: wait_for_node, selector: {_selector_text(step.confirm)}}}"


def _params(made: Plan, step: PlannedStep) -> Mapping[str, str]:
    if step.kind == "enter_text":
        return {"text": step.text}
    if step.kind == "scroll_and_click":
        return {"direction": step.direction}
    if step.kind == "open_app" and step.package != made.application_id:
        return {"applicationId": step.package}
    return {}


def step_block(action: Mapping[str, Any]) -> str:
    """Return an action of an execution as a recipe's step (skills.md#step-block).

    Raises ``ValueError`` with the reason where a recipe cannot say it.
    """
    kind = str(action["type"])
    if kind not in TYPES:
        raise ValueError(f"a recipe has no step {kind}")
    lines, params = [f"id: {action['id']}", f"type: {kind}"], dict[str, Any]()
    for name, value in action.get("params", {}).items():
        if name in ("matcher", "target", "container"):
            lines.append(f"{name if name == 'container' else 'selector'}: {_selector_text(_target_of(value))}")
        elif isinstance(value, str):
            params[name] = escaped(value)
        elif isinstance(value, bool | int):
            params[name] = value
        else:
            raise ValueError(f"a recipe cannot express {name} of {kind}")
    if params:
        written = (f"{name}: {quoted(value)}" for name, value in params.items())
        lines.append(f"params: {{{', '.join(written)}}}")
    return "\n".join(["```yaml", *lines, "```", ""])


def _target_of(matcher: Mapping[str, str]) -> Target:
    role = matcher.get("role", "")
    cls = next((name for name, same in ROLES.items() if same == role), "")
    if role and not cls:
        raise ValueError(f"a recipe has no word for the role {role}: choose a selector without it")
    return Target({name: escaped(value) for name, value in matcher.items()}, cls)


def _selector_text(target: Target) -> str:
    """Return a selector as a flow mapping, annotated USER_SPECIFIC if it needs an input, STRUCTURAL if it is an id."""
    words = [f"{_KEYS[name]}: {quoted(value)}" for name, value in target.fields.items() if name != "role"]
    if target.cls:
        words.insert(0, f"class: {quoted(target.cls)}")
    texts = [value for name, value in target.fields.items() if name not in ("resourceId", "role")]
    if texts and all(names(value) for value in texts):
        words.append("annotation: USER_SPECIFIC")
    elif [*target.fields] == ["resourceId"]:
        words.append("annotation: STRUCTURAL")
    return f"{{{', '.join(words)}}}"


def quoted(text: object) -> str:
    """Return a one-line scalar for JSON and YAML, texts double-quoted, with invisible characters as escapes."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escape(each) for each in written)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _code(text: str) -> str:
    """Return a code span that the text cannot close."""
    return f"`{''.join(each if each.isprintable() and each != '`' else _escape(each) for each in text)}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
