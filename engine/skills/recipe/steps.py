"""Step blocks and the actions that they compile to (skills.md#step-block, skills.md#verification, skills.md#compilation)."""

# No postponed annotations: pydantic would have to evaluate them again, which slows commands down.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import InitErrorDetails

from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import MAX_EXECUTION_TIMEOUT_MS, MAX_RETRY_ATTEMPTS_PER_STEP
from clawperator.engine.contracts.strict import Strict, problem
from clawperator.engine.errors import ErrorCode
from clawperator.engine.skills.compiled import STAND_IN
from clawperator.engine.skills.recipe.drafts import ActionDraft, check_draft, sleep
from clawperator.engine.skills.recipe.location import Block, Location
from clawperator.engine.skills.recipe.patterns import pattern_problem
from clawperator.engine.skills.recipe.schema import invalid, read
from clawperator.engine.skills.recipe.selectors import LoweredSelector, lower, lower_container
from clawperator.engine.skills.recipe.templates import check, fill, names, texts

_SELECTING = ("wait_for_node", "click", "scroll_and_click", "read_text", "enter_text")
TYPES = ("open_app", "close_app", *_SELECTING[:4], "snapshot_ui", "sleep", "enter_text")
VERIFYING = ("read_text", "wait_for_node")
_APPS = ("open_app", "close_app")
_TARGETS = {"scroll_and_click": "target"}
"""The name of the matcher parameter, if it is not ``matcher``."""
_RETRIES = {"scroll_and_click": ("scrollRetry", "clickRetry"), "sleep": ()}
_DEFINED = {
    "matcher": "selector",
    "target": "selector",
    "coordinate": "selector",
    "container": "container",
    "retry": "retries",
    "scrollRetry": "retries",
    "clickRetry": "retries",
}
"""Parameters that are defined by keys of the step and not allowed in ``params``."""
CONFIRM = "__confirm"
CHOOSING = ("click", "read_text", "enter_text")
"""Steps whose node the host may choose; steps that wait or scroll on the device need a matcher."""

Pause = Annotated[int, Field(ge=0, le=MAX_EXECUTION_TIMEOUT_MS)]


class Wait(Strict):
    before_ms: Pause = 0
    after_ms: Pause = 0


class Retries(Strict):
    count: Annotated[int, Field(ge=0, le=MAX_RETRY_ATTEMPTS_PER_STEP - 1)]


class Expect(Strict):
    """The expected text: exactly one of the three."""

    equals: Annotated[str, Field(min_length=1)] = ""
    contains: Annotated[str, Field(min_length=1)] = ""
    matches: Annotated[str, Field(min_length=1)] = ""

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if len(cls.known(given)) != 1:
            expected = "one of equals, contains, matches"
            yield problem("rule", f"expect needs exactly {expected}", expected=expected)
        pattern = given.get("matches")
        if isinstance(pattern, str) and (wrong := pattern_problem(fill(pattern, dict.fromkeys(names(pattern), "x")))):
            yield problem("rule", wrong, "matches", expected="a regular expression")


class ConfirmBlock(Strict):
    selector: dict[str, Any]
    type: Literal["wait_for_node", "read_text"] = "wait_for_node"
    expect: Expect | None = None
    retries: Retries | None = None

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if "expect" in given and given.get("type") != "read_text":
            yield problem("rule", "expect requires type: read_text", "expect", expected="type: read_text")


class StepBlock(Strict):
    """A step as written in the file."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
    type: str
    selector: dict[str, Any] | None = None
    container: dict[str, Any] | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    wait: Wait = Wait.model_construct()
    retries: Retries | None = None
    confirm: ConfirmBlock | None = None
    effect: Literal["toggle", "purchase"] | None = None
    selector_mode: Literal["advisory"] | None = None
    optional: bool = False

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        kind, name, params = given.get("type"), given.get("id"), given.get("params")
        if isinstance(name, str) and name.startswith("__"):
            yield problem("rule", "ids that begin with __ are reserved", "id", expected="another first character")
        if kind in _SELECTING and given.get("selector") is None:
            yield problem("rule", f"{kind} needs a selector", "selector", expected="a selector")
        if kind not in _SELECTING and "selector" in given:
            yield problem("rule", f"{kind} takes no selector", "selector", expected="no selector")
        if "container" in given and kind != "scroll_and_click":
            yield problem("rule", "only scroll_and_click has a container", "container", expected="no container")
        if "retries" in given and kind == "sleep":
            yield problem("rule", "a sleep has no retries", "retries", expected="no retries")
        for key in sorted(set(params) & set(_DEFINED)) if isinstance(params, dict) else ():
            yield problem(
                "rule", f"is defined by {_DEFINED[key]}", "params", key, expected=f"the step's key {_DEFINED[key]}"
            )


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One step with its actions in order. ``expect`` is the expected text of its confirmation.

    ``effect`` is the declared one or empty; ``warnings`` are about dropped parts.
    """

    id: str
    type: str
    location: Location
    actions: tuple[ActionDraft, ...]
    confirm_type: str
    expect: Mapping[str, str]
    effect: str
    optional: bool
    warnings: tuple[Mapping[str, Any], ...]

    @property
    def action(self) -> ActionDraft:
        """Return the step's own action."""
        return next(action for action in self.actions if action.id == self.id)

    @property
    def chooses(self) -> bool:
        """Return whether its node is chosen on a snapshot before it runs."""
        return self.action.choice is not None

    @property
    def sleeps(self) -> bool:
        return self.type == "sleep"

    def texts(self) -> Iterator[tuple[Location, str]]:
        """Yield the texts that may contain inputs, with their sites."""
        for action in self.actions:
            yield from action.texts()
        yield from texts(dict(self.expect), self.location.at("confirm", "expect"))


def read_step(block: Block, file: str, application_id: str) -> RecipeStep:
    """Return the step in ``block``. Raises ``EngineError`` (RECIPE_…) with the line and, if known, the step's id."""
    name = block.value.get("id")
    location = Location(file, block, shown(name, 100) if isinstance(name, str) else "")
    _supported(block.value.get("type"), location.at("type"))
    return _Reader(read(StepBlock, block.value, location), location, application_id).step()


def _supported(kind: object, location: Location) -> None:
    """Check the type first: with an unknown type all keys would be reported."""
    if isinstance(kind, str) and kind not in TYPES:
        named = shown(kind)
        hint = suggestion(kind, TYPES) or f"Use one of: {', '.join(TYPES)}."
        message = f"unknown step type '{named}'"
        raise location.error(
            ErrorCode.RECIPE_STEP_UNSUPPORTED, message, hint=hint, type=named, supportedTypes=list(TYPES)
        )


class _Reader:
    def __init__(self, block: StepBlock, location: Location, application_id: str) -> None:
        self._block = block
        self._site = location
        self._application_id = application_id
        self._advisory = block.selector_mode == "advisory"
        self._warnings: list[Mapping[str, Any]] = []

    def step(self) -> RecipeStep:
        block, location = self._block, self._site
        actions = [
            *sleep(f"{block.id}__wait_before", block.wait.before_ms, location.at("wait", "before_ms")),
            self._own(),
            *self._confirm(),
            *sleep(f"{block.id}__wait_after", block.wait.after_ms, location.at("wait", "after_ms")),
        ]
        for action in actions:
            check_draft(action)
        return RecipeStep(
            id=block.id,
            type=block.type,
            location=location,
            actions=tuple(actions),
            confirm_type=block.confirm.type if block.confirm else "",
            expect=self._expect(),
            effect=block.effect or "",
            optional=block.optional,
            warnings=tuple(self._warnings),
        )

    def _own(self) -> ActionDraft:
        block, location = self._block, self._site
        params: dict[str, Any] = {}
        sites: dict[str, Location] = {}
        choice: Mapping[str, Any] | None = None
        if block.type in _APPS:
            params["applicationId"] = self._application_id
        if block.selector is not None:
            target = _TARGETS.get(block.type, "matcher")
            choosing = block.type in CHOOSING
            lowered = lower(block.selector, location.at("selector"), advisory=self._advisory, choosing=choosing)
            matcher, choice = self._lowered(lowered), lowered.choice
            params[target] = STAND_IN if choice else matcher
            sites[target] = location.at("selector")
        if block.container is not None:
            lowered = lower_container(block.container, location.at("container"), advisory=self._advisory)
            if container := self._lowered(lowered):
                params["container"] = container
                sites["container"] = location.at("container")
        params |= self._params()
        sites |= {name: location.at("params", name) for name in block.params}
        for retry in _RETRIES.get(block.type, ("retry",)):
            params |= _retry(retry, block.retries)
            sites[retry] = location.at("retries")
        return ActionDraft(block.id, block.type, params, location, sites, choice)

    def _params(self) -> dict[str, Any]:
        """Return the parameters; those that decide on an action's effect must not contain inputs."""
        location = self._site.at("params")
        for place, text in texts(self._block.params, location):
            check(text, place)
        kind = self._block.params.get("clickType")
        if isinstance(kind, str) and names(kind):
            raise invalid(location.at("clickType"), "must not depend on an input", "a literal value")
        return self._block.params

    def _confirm(self) -> list[ActionDraft]:
        confirm, location = self._block.confirm, self._site.at("confirm")
        if confirm is None:
            return []
        selector = location.at("selector")
        matcher = self._lowered(lower(confirm.selector, selector, advisory=self._advisory))
        params = {"matcher": matcher, **_retry("retry", confirm.retries)}
        return [ActionDraft(f"{self._block.id}{CONFIRM}", confirm.type, params, location, {"matcher": selector})]

    def _expect(self) -> dict[str, str]:
        if self._block.confirm is None or self._block.confirm.expect is None:
            return {}
        expect = self._block.confirm.expect.model_dump(exclude_unset=True)
        for place, text in texts(expect, self._site.at("confirm", "expect")):
            check(text, place)
        return expect

    def _lowered(self, lowered: LoweredSelector) -> dict[str, str]:
        self._warnings += lowered.warnings
        return lowered.matcher


def _retry(name: str, retries: Retries | None) -> dict[str, Any]:
    """Return the retry policy for additional attempts; without jitter, so that runs are comparable."""
    if retries is None:
        return {}
    policy = {
        "maxAttempts": retries.count + 1,
        "initialDelayMs": 500,
        "maxDelayMs": 3000,
        "backoffMultiplier": 2.0,
        "jitterRatio": 0.0,
    }
    return {name: policy}
