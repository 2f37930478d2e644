"""Payloads as models: an action and an execution, each parameter checked by the model of its action's type."""

# ruff: noqa: N815 - fields are named as JSON names them
# No postponed annotations here: pydantic would evaluate every string again, which noticeably slows down each command.

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo, create_model
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError

from clawperator.engine.contracts import limits
from clawperator.engine.contracts.actions import ACTIONS, COMPOSITIONS, INPUT_ACTIONS, Params
from clawperator.engine.contracts.aliases import ALIASES, IMPLIED_PARAMS, canonical, spelled
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.strict import Strict, none_of, problem
from clawperator.engine.contracts.values import NOT_BLANK, SINCE, Id, Units, Whole, click_word
from clawperator.engine.verbs import FIRST_GENERATION


def _supported(name: str) -> str:
    if canonical(name) not in ACTIONS:
        alone = name in (*COMPOSITIONS, *INPUT_ACTIONS)
        hint = "It is a verb of its own, outside of a plan." if alone else suggestion(name, (*ACTIONS, *ALIASES))
        context = {"text": f"Unsupported action type: {shown(name)}", "hint": hint, "verb": alone}
        raise PydanticCustomError("unsupported", "{text}", context)
    return name


def _of_its_type(params: object, info: ValidationInfo) -> Params:
    """Validate ``params`` by the model of the action's type, built on demand; without a type, check their form only."""
    model = ACTIONS[canonical(info.data["type"])] if "type" in info.data else Params
    return model.model_validate(params, context=info.context)


TypeName = Annotated[str, Field(min_length=1), Units(limits.MAX_ACTION_TYPE_LENGTH), AfterValidator(_supported)]
Source = Annotated[str, Field(min_length=1, pattern=NOT_BLANK), Units(limits.MAX_SOURCE_LENGTH)]


def _finite(value: object) -> object:
    """An infinite time is out of range, as a very large one is."""
    return int(math.copysign(2**62, value)) if isinstance(value, float) and math.isinf(value) else value


class PayloadStep(Strict):
    """One action of any type."""

    id: Id = Field(description="Identifies the step in the result; unique in the plan.")
    type: TypeName
    params: Annotated[Params, PlainValidator(_of_its_type)] = Field(default_factory=dict, validate_default=True)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        """Refuse parameters that contradict those implied by an alias."""
        raw, params = given.get("type"), given.get("params")
        if not isinstance(raw, str) or not isinstance(params, dict):
            return
        for name, implied in IMPLIED_PARAMS.get(spelled(raw), {}).items():
            value = params.get(name, implied)
            if isinstance(value, str) and click_word(value) != implied:
                message = f"{spelled(raw)} means params.{name} '{implied}', not '{shown(value)}'"
                yield problem("rule", message, "params", name)


class PayloadPlan(Strict):
    """A plan; at most 64000 bytes of compact JSON."""

    commandId: Id = Field(description="Identifies this command; unpredictable ids cannot be forged.")
    taskId: Id = Field(description="The task that the command belongs to; any name.")
    source: Source = Field(description="The sender of the command; any name.")
    expectedFormat: Literal["android-ui-automator"]
    timeoutMs: Annotated[Whole, BeforeValidator(_finite)] = Field(
        ge=limits.MIN_EXECUTION_TIMEOUT_MS,
        le=limits.MAX_EXECUTION_TIMEOUT_MS,
        description="Time limit of the whole plan on the device, in milliseconds; sleeps count.",
    )
    actions: list[PayloadStep] = Field(
        min_length=1,
        max_length=limits.MAX_EXECUTION_ACTIONS,
        description="The steps in order, with unique ids.",
        json_schema_extra={"uniqueItems": True},  # as near as JSON Schema comes to unique ids
    )
    mode: Literal["artifact_compiled", "direct"] = Field(
        "direct", description="Whether the plan was compiled from a skill's artifact."
    )

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        if isinstance(name := given.get("composition"), str):
            hint = f"`clawperator {shown(name)}` recorded it, and decides between its steps: run that command again."
            yield problem("unknown_keys", "has an unknown key: 'composition'", keys=("composition",), hint=hint)
            given = {key: value for key, value in given.items() if key != "composition"}
        yield from super().other_keys(given)

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """With no more actions than are allowed: pydantic would report nothing else about too long a list."""
        actions = given.get("actions")
        short = {"actions": actions[: limits.MAX_EXECUTION_ACTIONS]} if isinstance(actions, list) else {}
        return super().known(given) | short

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        actions = given.get("actions")
        if not isinstance(actions, list):
            return
        if len(actions) > limits.MAX_EXECUTION_ACTIONS:
            yield problem("form", f"must not have more than {limits.MAX_EXECUTION_ACTIONS} elements", "actions")
        seen: set[str] = set()
        for index, action in enumerate(actions[: limits.MAX_EXECUTION_ACTIONS]):
            name = action.get("id") if isinstance(action, dict) else None
            if not isinstance(name, str):
                continue
            if name in seen:
                text = f"Action id '{shown(name, limits.MAX_ID_LENGTH)}' is used more than once"
                yield problem("rule", text, "actions", index, "id")
            seen.add(name)


def _contradiction(alias: str) -> JsonDict:
    """What ``PayloadStep.problems`` refuses of an alias, as a JSON Schema."""
    implied = IMPLIED_PARAMS[alias]
    others: JsonDict = {name: {"not": {"const": value}} for name, value in implied.items()}
    return {"properties": {"type": {"const": alias}, "params": {"required": list(implied), "properties": others}}}


@cache
def step_model(name: str) -> type[PayloadStep]:
    """The model of an action of the type ``name``, under all of its names."""
    params = ACTIONS[name]
    names = (name, *(alias for alias, meant in ALIASES.items() if meant == name != alias))
    needed = params.one_of or any(field.is_required() for field in params.model_fields.values())
    extra: JsonDict = {SINCE: params.since} if params.since != FIRST_GENERATION else {}
    if contradictions := [_contradiction(each) for each in names if each in IMPLIED_PARAMS]:
        extra |= none_of(*contradictions)
    return create_model(
        name,
        __base__=PayloadStep,
        __doc__=params.__doc__,
        __cls_kwargs__={"json_schema_extra": extra},
        type=(Literal[names], ...),  # type: ignore[arg-type]  # a type made at run time
        params=(params, Field() if needed else Field(default_factory=params)),
    )


@cache
def action_type() -> Any:
    """Any action: the union of the models of all types, discriminated by ``type``.

    Validation uses one type's model at a time, because building them all takes too long for a command.
    """
    description = "One step of a plan; `type` determines the allowed `params`."
    models = tuple(step_model(name) for name in ACTIONS)
    return Annotated[Union[models], Field(discriminator="type", description=description)]  # noqa: UP007 - made at run time


@cache
def execution_type() -> type[PayloadPlan]:
    """A plan of ``action_type()``: the whole contract as one model."""
    actions: Any = (list[action_type()], PayloadPlan.model_fields["actions"])  # type: ignore[misc]  # a type made at run time
    return create_model("execution", __base__=PayloadPlan, __doc__=PayloadPlan.__doc__, actions=actions)
