"""Lint the blocks of a recipe (skills.md#lints). Pure.

The lints use the blocks instead of the validated model, so that they also work for a recipe with errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.config.policy import PURCHASE_RISK, Profile, capabilities_of
from clawperator.engine.skills.recipe.rules import capabilities_of_step
from clawperator.engine.skills.recipe.selectors import FIELDS, LITERAL_ANNOTATED, TEXTS
from clawperator.engine.skills.recipe.templates import names

if TYPE_CHECKING:
    from clawperator.engine.skills.recipe.location import Block
    from clawperator.engine.skills.recipe.model import Recipe
    from clawperator.engine.skills.recipe.source import Source

STALE_DAYS = 180
_MARKED_PERSONAL = ("USER_SPECIFIC", "VARIABLE")
_CLICKS = ("click", "scroll_and_click")
_WAITS = ("wait_for_node", "sleep")
_OPENS, _CLOSES = "open_app", "close_app"
_PERSONAL = re.compile(
    r"(?:^|_)(?:(?:first|last|full|nick|user|sur|contact|device|room|home|person|owner|friend|family|account|street)?name|person|"
    r"people|user|owner|friend|family|contact|recipient|sender|customer|guest|label|address|street|city|zip|postcode|"
    r"location|home|room|account|login|email|e_?mail|mail|phone|mobile|number|iban|card|birthday|birth_?date)s?(?:_|$)"
)
_PLACEHOLDER = re.compile(r"<[^<>]{0,80}>")
_RECOMMENDED = (
    ("compatibility", "min_version_code"),
    ("compatibility", "max_version_code"),
    ("tested_on", "device_model"),
    ("tested_on", "locale"),
    ("tested_on", "last_verified_at"),
    ("known_quirks",),
    ("failure_modes",),
    ("maintainers",),
    ("tags",),
    ("risk_level",),
)


class LintMessage(NamedTuple):
    """One finding; the message contains no text of the recipe except key names."""

    line: int
    code: str
    message: str


def remarks(source: Source, recipe: Recipe | None, profile: Profile, today: date) -> Iterator[LintMessage]:
    """Yield all findings in the blocks of a recipe; ``recipe`` is its model, if it is valid."""
    head = source.frontmatter
    for line in source.stray:
        yield LintMessage(line, "L-STRAY-BLOCK", "this yaml block belongs to no step and is ignored")
    yield from _defaults(head)
    yield from _missing(head)
    yield from _unused(recipe) if recipe else ()
    yield from _stale(head, today)
    yield from _capabilities(head, _used(recipe) if recipe else None, profile)
    yield from _opening(source)
    for _, block in source.steps:
        for place, selector in _selectors(block):
            yield from _selector(block, place, selector)
        if block.value.get("type") in _CLICKS and _is_text_only(block.value.get("selector")):
            message = "the click is matched by text only: it breaks when language or wording change"
            yield LintMessage(block.line_of("selector"), "L-NO-RESOURCE-ID", message)


# -- front matter


def _defaults(head: Block) -> Iterator[LintMessage]:
    inputs = head.value.get("inputs")
    for index, item in enumerate(inputs if isinstance(inputs, list) else ()):
        if not isinstance(item, dict):
            continue
        default = item.get("default")
        personal = _PERSONAL.search(str(item.get("name", "")).lower())
        if personal and isinstance(default, str) and default and not _PLACEHOLDER.fullmatch(default):
            line = head.line_of("inputs", index, "default")
            yield LintMessage(
                line, "L-INPUT-DEFAULT-PII", "the default may be personal data: leave it empty, or use a <placeholder>"
            )


def _unused(recipe: Recipe) -> Iterator[LintMessage]:
    named = {name for step in recipe.steps for _, text in step.texts() for name in names(text)}
    for index, item in enumerate(recipe.inputs):
        if item.name not in named:
            line = recipe.source.frontmatter.line_of("inputs", index)
            yield LintMessage(line, "L-INPUT-UNUSED", f"no step uses the input {item.name}")


def _missing(head: Block) -> Iterator[LintMessage]:
    lacking = [".".join(path) for path in _RECOMMENDED if _get(head.value, path) in (None, "")]
    if lacking:
        yield LintMessage(head.line, "L-MISSING-RECOMMENDED", f"recommended keys are missing: {', '.join(lacking)}")


def _stale(head: Block, today: date) -> Iterator[LintMessage]:
    text = _get(head.value, ("tested_on", "last_verified_at"))
    try:
        verified = datetime.fromisoformat(text).date() if isinstance(text, str) else None
    except ValueError:
        return  # reported by the schema
    if verified is not None and (today - verified).days > STALE_DAYS:
        line = head.line_of("tested_on", "last_verified_at")
        yield LintMessage(line, "L-STALE", f"last verified {(today - verified).days} days ago, on {verified}")


def _capabilities(head: Block, used: set[str] | None, profile: Profile) -> Iterator[LintMessage]:
    listed = head.value.get("capabilities")
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(name, str):
            continue
        line = head.line_of("capabilities", index)
        if used is not None and name not in used:
            yield LintMessage(line, "L-CAP-UNUSED", f"no step needs the capability {name}")
        if name == PURCHASE_RISK and head.value.get("risk_level") == "low":
            yield LintMessage(line, "L-CAP-COMBO", "purchase_risk requires a risk_level above low")
        elif not profile.allows_capability(name):
            yield LintMessage(
                line, "L-CAP-COMBO", f"the policy profile '{profile.name}' does not allow the capability {name}"
            )
    package = head.value.get("application_id")
    if isinstance(package, str) and not profile.allows_package(package):
        message = f"the policy profile '{profile.name}' does not allow this application"
        yield LintMessage(head.line_of("application_id"), "L-CAP-COMBO", message)


def _used(recipe: Recipe) -> set[str]:
    """Return the capabilities that the steps need, including those of injected actions."""
    injected = capabilities_of(_OPENS, {}) if _injects(recipe.source.frontmatter) else frozenset[str]()
    return {*injected, *(capability for step in recipe.steps for capability, _ in capabilities_of_step(step))}


def _injects(head: Block) -> bool:
    return head.value.get("session_policy") == "fresh" and head.value.get("fresh_start_injected") is not False


# -- steps


def _opening(source: Source) -> Iterator[LintMessage]:
    head = source.frontmatter
    just_opened = _injects(head) and not _positive(head.value, "settle", "after_open_ms")
    for _, block in source.steps:
        kind = block.value.get("type")
        if just_opened and kind not in (*_WAITS, _OPENS, _CLOSES) and not _positive(block.value, "wait", "before_ms"):
            message = "the first step after opening the app does not wait: the screen may not be ready"
            yield LintMessage(block.line_of("type"), "L-NO-WAIT-AFTER-OPEN", message)
        just_opened = kind == _OPENS and not _positive(block.value, "wait", "after_ms")


def _selector(block: Block, place: tuple[str | int, ...], selector: Mapping[str, Any]) -> Iterator[LintMessage]:
    if "index_in_parent" in selector:
        message = "the position among siblings changes with the content: match by id or text"
        yield LintMessage(block.line_of(*place, "index_in_parent"), "L-INDEX-TARGET", message)
    for key, value in selector.items():
        if key not in FIELDS or not isinstance(value, str):
            continue
        line = block.line_of(*place, key)
        if "%" in value:
            yield LintMessage(line, "L-PERCENT", f"the Operator app fails on % in {key}")
        if key in TEXTS and selector.get("annotation") in _MARKED_PERSONAL and not names(value):
            message = f"{key} is annotated {selector['annotation']} but is a literal text: use an input"
            yield LintMessage(line, LITERAL_ANNOTATED, message)


def _selectors(block: Block) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield every selector of a step with its path, including nested ones."""
    for place in (("selector",), ("container",), ("confirm", "selector")):
        yield from _nested(place, _get(block.value, place))


def _nested(place: tuple[str | int, ...], value: object) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    if not isinstance(value, dict):
        return
    yield place, value
    for key in ("any_of", "all_of"):
        parts = value.get(key)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            yield from _nested((*place, key, index), part)


def _is_text_only(selector: object) -> bool:
    keys = {key for _, part in _nested((), selector) for key in part}
    return not keys.isdisjoint(TEXTS) and keys.isdisjoint({"resource_id", "class"})


def _positive(value: object, *path: str) -> bool:
    found = _get(value, path)
    return isinstance(found, int) and found > 0


def _get(value: object, path: tuple[str | int, ...]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
