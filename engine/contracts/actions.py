"""The action types, one model of parameters each (execution.md#actions, wire.md#payload-parsing-on-the-device), made from the catalogue of verbs.

Here is what one parameter alone does not say: rules between parameters, with their words.
"""

# No postponed annotations here: pydantic would evaluate every string again, which noticeably slows down each command.

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler, ValidationError, create_model
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from clawperator.engine.contracts.aliases import spelled
from clawperator.engine.contracts.matcher import NodeMatcher
from clawperator.engine.contracts.pattern import pattern_complaint
from clawperator.engine.contracts.strict import ABSENT, RULES, Strict, again, none_of, problem, unknown
from clawperator.engine.contracts.values import NOT_BLANK, field, type_of
from clawperator.engine.verbs import FIRST_GENERATION, Verb
from clawperator.engine.verbs.catalogue import VERBS, named

HOST_CHOICES = ("nth", "within")
"""Parameters by which the host chooses the node, so that no Operator app gets them."""


class Params(Strict):
    """The parameters of any action. All action types accept the whole vocabulary (execution.md#actions).

    ``since`` is the first Operator version with the action type; one of the parameters ``one_of`` is required.
    ``host_only`` parameters are not sent. ``background``: the app needs neither its accessibility service nor a lit screen.
    ``refused`` is what ``problems`` refuses, as JSON Schemas, except what JSON Schema cannot express: a ``target`` that differs
    from ``matcher``, an invalid ``validatorPattern``, a gesture that ends where it starts.
    """

    name: ClassVar[str] = ""
    since: ClassVar[str] = FIRST_GENERATION
    background: ClassVar[bool] = False
    one_of: ClassVar[tuple[str, ...]] = ()
    refused: ClassVar[tuple[JsonDict, ...]] = ()
    host_only: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        """Check parameters that the action does not use for their form only; report those outside the vocabulary."""
        unused = {key: value for key, value in given.items() if key in VOCABULARY and key not in cls.model_fields}
        if unused:
            try:
                _vocabulary().model_validate(unused)
            except ValidationError as exc:
                yield from (again(error) for error in exc.errors(include_url=False) if error["type"] not in RULES)
        for name in HOST_CHOICES:
            if name in unused:  # without it another node would be taken
                yield problem("rule", f"params.{name} is not supported by this action", name)
        yield from unknown(given, VOCABULARY)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        answer = handler(schema)
        none: JsonDict = {"properties": dict.fromkeys(cls.one_of, ABSENT)}
        if refused := [*([none] if cls.one_of else []), *cls.refused]:
            handler.resolve_ref_schema(answer).update(none_of(*refused))
        return answer


class _Click(Params):
    refused = (
        {"required": ["matcher", "coordinate"], "properties": {"matcher": {}, "coordinate": {}}},
        {"required": ["coordinate", "clickType"], "properties": {"coordinate": {}, "clickType": {"const": "focus"}}},
        {"required": ["coordinate", "container"], "properties": {"coordinate": {}, "container": {}}},
        {"required": ["coordinate", "strict"], "properties": {"coordinate": {}, "strict": {"const": True}}},
        {"required": ["coordinate", "nth"], "properties": {"coordinate": {}, "nth": {}}},
        {"required": ["coordinate", "within"], "properties": {"coordinate": {}, "within": {}}},
    )

    @classmethod
    def problems(cls, given: Mapping[str, Any], context: object) -> Iterator[InitErrorDetails]:
        if "matcher" not in given and "coordinate" not in given:
            if context == "flat":
                yield problem("needed", "click requires params.matcher or params.coordinate")
            else:
                yield problem("needed", "click requires params.matcher", "matcher")
        if "matcher" in given and "coordinate" in given:
            yield problem("rule", "click params.matcher and params.coordinate are mutually exclusive")
        if "coordinate" in given and _word(given.get("clickType")) == "focus":
            yield problem("rule", "click params.coordinate does not support clickType='focus'", "clickType")
        for name in ("container", *HOST_CHOICES):
            if "coordinate" in given and name in given:
                yield problem("rule", f"click params.coordinate does not support params.{name}", name)
        if "coordinate" in given and given.get("strict") is True:
            yield problem("rule", "click params.coordinate does not support strict=true", "strict")


class _ReadText(Params):
    refused = (
        {
            "required": ["validator"],
            "properties": {"validator": {"const": "regex"}, "validatorPattern": {"not": {"pattern": NOT_BLANK}}},
        },
    )

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        pattern = given.get("validatorPattern", "")
        if _word(given.get("validator")) != "regex" or not isinstance(pattern, str):
            return
        if not pattern.strip():
            message = "read_text with validator='regex' requires params.validatorPattern"
            yield problem("rule", message, "validatorPattern")
        elif pattern_complaint(pattern):
            message = "read_text params.validatorPattern is not a valid regex pattern"
            yield problem("rule", message, "validatorPattern")


class _ScrollUntil(Params):
    refused = ({"required": ["clickAfter"], "properties": {"clickAfter": {"const": True}, "matcher": ABSENT}},)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("clickAfter") is True and "matcher" not in given:
            yield problem("rule", "scroll_until params.clickAfter=true requires params.matcher", "matcher")


class _ScrollAndClick(Params):
    one_of = ("target", "matcher")

    @classmethod
    def problems(cls, given: Mapping[str, Any], context: object) -> Iterator[InitErrorDetails]:
        if "target" not in given and "matcher" not in given:
            name = "matcher" if context == "flat" else "target"
            yield problem("needed", f"scroll_and_click requires params.{name}", name)
        matchers = [
            NodeMatcher.known(each) for each in (given.get("target"), given.get("matcher")) if isinstance(each, dict)
        ]
        if len(matchers) == 2 and matchers[0] != matchers[1]:
            yield problem("rule", "scroll_and_click params.target and params.matcher differ")


class _WaitForNavigation(Params):
    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if "expectedPackage" not in given and "expectedNode" not in given:
            names = "params.expectedPackage or params.expectedNode"
            yield problem("needed", f"wait_for_navigation requires at least one of {names}")


class _SnapshotUi(Params):
    host_only = frozenset({"format"})


class ExactParams(Params):
    """The parameters of an action that takes no others: the app would not answer."""

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        return unknown(given, cls.model_fields)


class _Gesture(ExactParams):
    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("start") == given.get("end") and isinstance(given.get("start"), dict):
            yield problem("rule", f"{cls.name} params.start and params.end must differ", "end")


class _SetOnScreenLog(ExactParams):
    refused = ({"required": ["text", "template"], "properties": {"text": {}, "template": {}}},)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if len({"text", "template"} & given.keys()) != 1:
            yield problem("needed", "set_on_screen_log requires exactly one of params.text and params.template")


class _GetMediaStatus(ExactParams):
    refused = (
        {"required": ["applicationId", "mediaSessionId"], "properties": {"applicationId": {}, "mediaSessionId": {}}},
    )

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if len({"applicationId", "mediaSessionId"} & given.keys()) != 1:
            yield problem(
                "needed", f"{cls.name} requires exactly one of params.applicationId and params.mediaSessionId"
            )


_RULES: Mapping[str, type[Params]] = {
    "click": _Click,
    "read_text": _ReadText,
    "snapshot_ui": _SnapshotUi,
    "scroll_until": _ScrollUntil,
    "scroll_and_click": _ScrollAndClick,
    "wait_for_navigation": _WaitForNavigation,
    **dict.fromkeys(("swipe", "drag"), _Gesture),
    "set_on_screen_log": _SetOnScreenLog,
    **dict.fromkeys(("get_media_status", "media_pause", "media_play", "media_seek"), _GetMediaStatus),
}


def _model(verb: Verb) -> type[Params]:
    base = _RULES.get(verb.name, ExactParams if verb.exact else Params)
    wire = {param.name: param.wire for param in verb.params if not param.plan}
    one_of = base.one_of or tuple(wire[name] for name in verb.one_of)
    fields: dict[str, Any] = {
        param.wire: (
            NodeMatcher if param.kind == "matcher" else type_of(param),
            field(param, required=param.need and param.wire not in one_of),
        )
        for param in verb.params
    }
    name = verb.name.title().replace("_", "")
    return _with_facts(
        create_model(name, __base__=base, __doc__=verb.about, __module__=__name__, **fields), verb, one_of
    )


def _with_facts(model: type[Params], verb: Verb, one_of: tuple[str, ...]) -> type[Params]:
    model.name, model.since, model.background, model.one_of = verb.name, verb.since, verb.background, one_of
    return model


class _Models(Mapping[str, type[Params]]):
    """The models by name, each made when it is first asked for: a command needs few of them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._made: dict[str, type[Params] | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> type[Params]:
        model = self._made[name]
        if model is None:
            model = self._made[name] = _model(VERBS[name])
        return model

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


ACTIONS: Mapping[str, type[Params]] = _Models(named(of="action"))
"""The action types that callers may send, by canonical name. ``doctor_ping`` is internal and not among them."""
INPUT_ACTIONS = named(of="input")
"""Steps of compositions that Android's ``input`` performs: policies name them, payloads cannot contain them."""
COMPOSITIONS = named(of="composition")
"""Verbs of servers that are no actions of a plan, because the host decides between their steps."""

_SHARED = [(name, param) for name in named(of="action", exact=False) for param in VERBS[name].params]
VOCABULARY: Mapping[str, str] = {param.wire: name for name, param in reversed(_SHARED)}
"""Every parameter name, with the first action type that has it; those of actions that take no others are not shared."""


@cache
def _vocabulary() -> type[Params]:
    fields: dict[str, Any] = {
        name: (ACTIONS[action].model_fields[name].rebuild_annotation(), None) for name, action in VOCABULARY.items()
    }
    return create_model("Vocabulary", __base__=Params, **fields)


def _word(value: object) -> str:
    return spelled(value) if isinstance(value, str) else ""
