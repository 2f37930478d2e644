"""Read the output of ``compile-artifact``, to execute a compiled artifact from a file."""

# ruff: noqa: N815 - fields are named as JSON names them

# No postponed annotations: pydantic would have to evaluate them again, which slows commands down.

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import InitErrorDetails

from clawperator.engine.config.policy import Profile, admit_recipe
from clawperator.engine.contracts.issues import joined
from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.engine.contracts.strict import Strict, problem, unknown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import MAX_ISSUES, validate
from clawperator.engine.skills.compiled import STAND_IN, Choice, Compiled, Confirm, with_matcher
from clawperator.engine.skills.recipe.model import Capability, DeclaredOutput
from clawperator.engine.skills.recipe.selectors import KEYS
from clawperator.engine.skills.recipe.steps import CHOOSING, Expect
from clawperator.engine.skills.recipe.yaml_bounded import MAX_DEPTH

_MOST = 50
"""Executions of one artifact, by the limit on actions of a recipe."""
_HINT = "Pass the complete output of `clawperator skills compile-artifact`."


class _Recipe(Strict):
    id: str
    version: str
    type: str


class _Confirm(Strict):
    stepId: str
    actionId: str
    type: str
    expect: Expect | None = None


_Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MATCHER_VALUE_LENGTH)]
_Parts = Annotated[list["_Selector"], Field(min_length=1)]


class _Selector(Strict):
    resource_id: _Text = ""
    text_equals: _Text = ""
    text_contains: _Text = ""
    content_desc_equals: _Text = ""
    content_desc_contains: _Text = ""
    class_: Annotated[_Text, Field(alias="class")] = ""
    clickable: bool = False
    enabled: bool = False
    selected: bool = False
    index_in_parent: Annotated[int, Field(ge=0)] = 0
    any_of: _Parts = Field(default_factory=list)
    all_of: _Parts = Field(default_factory=list)
    annotation: str = ""

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in given.items() if key in KEYS}

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        return unknown(given, dict.fromkeys(KEYS))

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if not given.keys() - {"annotation"}:
            yield problem("rule", "a selector needs a condition")


class _Choice(Strict):
    stepId: str
    selector: _Selector


class _Document(Strict):
    execution: dict[str, Any] | None = None
    executions: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=_MOST)] | None = None
    optional: list[str] = Field(default_factory=list)
    recipe: _Recipe | None = None
    capabilities: list[Capability] = Field(default_factory=list)
    outputs: list[DeclaredOutput] = Field(default_factory=list)
    confirms: list[_Confirm] = Field(default_factory=list)
    choices: list[_Choice] = Field(default_factory=list)
    warnings: list[dict[str, Any]] = Field(default_factory=list)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("execution") is None and given.get("executions") is None:
            yield problem("needed", "execution or executions is required", "execution")


def read_compiled(document: object, *, timeout_ms: object = None) -> Compiled:
    """Return the compiled artifact in ``document`` with validated executions, each with ``timeout_ms`` if given.

    Raises ``EXECUTION_VALIDATION_FAILED`` with ``details.path``, and what ``validate`` raises.
    """
    try:
        read = _Document.model_validate(document)
    except ValidationError as exc:
        found = [
            {"path": joined(*error["loc"]), "message": error.get("ctx", {}).get("text", error["msg"])}
            for error in exc.errors(include_url=False, include_input=False)
        ]
        first, details = found[0], {"path": found[0]["path"], "issues": found[:MAX_ISSUES]}
        message = f"{first['path'] or 'the compiled artifact'}: {first['message']}"
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=_HINT, details=details) from None
    executions = read.executions if read.executions is not None else [read.execution or {}]
    choices = [Choice(one.stepId, one.selector.model_dump(exclude_unset=True, by_alias=True)) for one in read.choices]
    checked = []
    for number, execution in enumerate(executions):
        try:
            checked.append(_checked(execution, choices, timeout_ms))
        except EngineError as exc:
            place = "execution" if read.executions is None else f"executions.{number}"
            exc.details["path"] = joined(place, str(exc.details.get("path", "")))
            raise
    _check_choices(choices, checked)
    confirms = [
        Confirm(one.stepId, one.actionId, one.type, one.expect.model_dump(exclude_unset=True) if one.expect else {})
        for one in read.confirms
    ]
    return Compiled(
        skill_id="",
        artifact="",
        executions=tuple(checked),
        optional=tuple(read.optional),
        recipe=read.recipe.model_dump() if read.recipe else None,
        capabilities=tuple(read.capabilities),
        outputs=tuple(one.compiled() for one in read.outputs),
        confirms=tuple(confirms),
        warnings=tuple(read.warnings),
        choices=tuple(choices),
    )


def _checked(execution: dict[str, Any], choices: list[Choice], timeout_ms: object) -> dict[str, Any]:
    """Return ``execution`` as a payload, without the matcher of a choice."""
    actions = execution.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else None
    if not isinstance(first, dict) or not isinstance(first.get("params", {}), dict):
        first = {}
    if not any(choice.step_id == first.get("id") for choice in choices):
        return validate(execution, timeout_ms=timeout_ms).execution.to_payload()
    standing_in = validate(with_matcher(execution, STAND_IN), timeout_ms=timeout_ms)
    return with_matcher(standing_in.execution.to_payload(), None)


def _check_choices(choices: list[Choice], executions: list[dict[str, Any]]) -> None:
    firsts = {execution["actions"][0]["id"]: execution["actions"][0]["type"] for execution in executions}
    for index, choice in enumerate(choices):
        level = [choice.selector]
        for _ in range(MAX_DEPTH):
            level = [part for inner in level for key in ("all_of", "any_of") for part in inner.get(key, ())]
        if level:
            path = f"choices.{index}.selector"
            message = f"{path}: more than {MAX_DEPTH} levels of all_of and any_of"
            raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=_HINT, details={"path": path})
        if firsts.get(choice.step_id) not in CHOOSING:
            path = f"choices.{index}.stepId"
            message = f"{path}: no execution begins with this step, or its type is not one of {', '.join(CHOOSING)}"
            raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=_HINT, details={"path": path})


def checked(compiled: Compiled) -> dict[str, Any]:
    """Return the JSON result of validating a compiled artifact."""
    answer: dict[str, Any] = {"ok": True, "validated": True, "executions": list(compiled.executions)}
    return answer | remarks(compiled)


def remarks(compiled: Compiled) -> dict[str, Any]:
    """Return choices and warnings of a compiled artifact as JSON data, if any."""
    choices = {"choices": [choice.to_dict() for choice in compiled.choices]} if compiled.choices else {}
    return choices | ({"warnings": list(compiled.warnings)} if compiled.warnings else {})


def admit_compiled(profile: Profile, compiled: Compiled) -> None:
    """Raise ``CAPABILITY_DENIED`` for a declared capability that the policy denies: actions do not reveal a purchase."""
    recipe_id = (compiled.recipe or {}).get("id", "")
    admit_recipe(profile, capabilities=compiled.capabilities, application_id="", recipe_id=recipe_id)
