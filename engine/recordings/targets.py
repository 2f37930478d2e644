"""How a recipe addresses a node: the ranked matchers of its screen, in the recipe's selector language (skills.md#selector). Pure.

A way that needs no text of a person comes before one that does, whatever its rank; what is left of such texts is an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.postings import postings_of
from clawperator.engine.hierarchy.selectors import Candidate, Selectors
from clawperator.engine.hierarchy.traits import landing
from clawperator.engine.recordings.inputs import RecordedInputs, escaped
from clawperator.engine.recordings.records import Click

_WAYS_KEPT = 3
_SIGNS_WEIGHED = 60
_FRAMEWORK_ID, _NO_ID = 0.5, 1.5
"""How much a sign is worse for having an id that every app has, or none; 1 is for each other screen that shows it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a step is about. ``fields`` are a matcher's, by wire name, their values templates (``templates.py``)."""

    fields: Mapping[str, str]
    cls: str = ""
    """The class that stands for the role among the fields; empty where there is none."""
    others: tuple[Mapping[str, str], ...] = ()
    """Further ways to the same node, best first."""
    unique: bool = True
    """Whether exactly one node had it when it was recorded."""
    volatile: bool = False
    """Whether the value looks like a counter, a price, a time: it may be another one at the next run."""


class TargetFinder:
    """Finds the matchers of nodes for the steps of one recording, and the inputs that they need."""

    def __init__(self, inputs: RecordedInputs, expressible: Callable[[str], str]) -> None:
        """``expressible``: the role that a class stands for in a recipe, empty for none."""
        self._inputs = inputs
        self._expressible = expressible

    def target(
        self, tree: UiTree, node: UiNode, recent: Sequence[UiTree] = (), *, exactly: bool = False
    ) -> Target | None:
        """How to reach ``node`` of ``tree``; ``exactly`` the node itself, not by a label in it. ``None``: no way at all."""
        suggested = Selectors(tree, recent).suggest(node).candidates
        ways = [
            way
            for way in suggested
            if way.kind == "direct" or (way.kind == "tap-through" and not exactly)
            if way.unique or way.first
            if "off" not in way.flags and self._can_say(way.matcher, way.found)
        ]
        if not ways:
            return None
        # of labels in it, the first is what people call a row by: the rest are its details
        ways.sort(key=lambda way: (not way.unique, self._personal(way.matcher), _fleeting(way), way.found.index))
        best = ways[0]
        return Target(
            self._fields(best.matcher),
            self._class(best.matcher, best.found),
            tuple(islice(self._others(ways), _WAYS_KEPT)),
            unique=best.unique,
            volatile="vol" in best.flags,
        )

    def _others(self, ways: Sequence[Candidate]) -> Iterator[Mapping[str, str]]:
        """All but the first, and no second one that says the same by another field."""
        said = {tuple(ways[0].matcher.fields().values())}
        for way in ways[1:]:
            values = tuple(way.matcher.fields().values())
            if values not in said and way.unique and not way.matcher.role and not self._personal(way.matcher):
                said.add(values)
                yield self._fields(way.matcher)

    def container(self, tree: UiTree, node: UiNode) -> Target | None:
        """The nearest thing around ``node`` that scrolls, where a matcher singles it out."""
        for way in Selectors(tree).suggest(node).candidates:
            if way.container is not None:
                found = find_all(tree, way.container)[0]
                if self._can_say(way.container, found):
                    return Target(self._fields(way.container), self._class(way.container, found))
        return None

    def of_event(self, click: Click) -> Target | None:
        """How to reach what was clicked where no screen shows it: by what the event itself says."""
        fields = {"resourceId": click.resourceId, "textEquals": click.text, "contentDescEquals": click.contentDesc}
        matcher = Matcher.from_fields({name: value for name, value in fields.items() if value and value.strip()})
        if not matcher or not all(fits(value) for value in matcher.fields().values()):
            return None
        if matcher.text_equals and matcher.content_desc_equals:  # one of them is enough, and the label is the text
            matcher = Matcher(resource_id=matcher.resource_id, text_equals=matcher.text_equals)
        return Target(self._fields(matcher), unique=False)

    def appeared(self, after: UiTree, before: UiTree | None, elsewhere: Iterable[UiTree] = ()) -> Target | None:
        """What is on the screen ``after`` that was not ``before``: the sign that is most its own and least likely to change, and no person's."""
        news = self._news(after, before)
        if not news:
            return None
        others = list(elsewhere)
        best = min(news, key=lambda way: _as_sign(way, others))
        return Target(self._fields(best.matcher), self._class(best.matcher, best.found), volatile="vol" in best.flags)

    def _news(self, after: UiTree, before: UiTree | None) -> list[Candidate]:
        known = {(node.resource_id, node.label) for node in before.on_screen} if before is not None else set()
        selectors = Selectors(after)
        found: list[Candidate] = []
        for node in after.on_screen:
            if (node.resource_id, node.label) in known or not (node.resource_id or node.label):
                continue
            for way in selectors.suggest(node).candidates:
                if way.kind != "direct" or not way.unique or not self._can_say(way.matcher, node):
                    continue
                if self._personal(way.matcher):
                    continue
                if before is None or not _shows(before, way.matcher):
                    found.append(way)
                    break
            if len(found) >= _SIGNS_WEIGHED:
                break
        return found

    def _personal(self, matcher: Matcher) -> bool:
        return any(self._inputs.is_personal(value) for value in matcher.fields().values())

    def _fields(self, matcher: Matcher) -> dict[str, str]:
        return {
            name: escaped(value) if name in ("resourceId", "role") else self._inputs.template(value)
            for name, value in matcher.fields().items()
        }

    def _class(self, matcher: Matcher, node: UiNode) -> str:
        return node.cls if matcher.role else ""

    def _can_say(self, matcher: Matcher, node: UiNode) -> bool:
        """Whether the recipe's language has words for it: a role is said by a class that maps to it, ids hold no names."""
        if matcher.role and self._expressible(node.cls) != matcher.role:
            return False
        return not self._inputs.is_personal(matcher.resource_id) and all(
            fits(value) for value in matcher.fields().values()
        )


def _as_sign(way: Candidate, others: Sequence[UiTree]) -> tuple[object, ...]:
    """Ascending is best first. An id of the app's own that few other screens have is the best sign; a text is data, often."""
    resource_id = way.matcher.resource_id
    elsewhere = sum(_shows(tree, way.matcher) for tree in others)
    doubt = _FRAMEWORK_ID if resource_id.startswith("android:") else 0.0 if resource_id else _NO_ID
    return (_fleeting(way), elsewhere + doubt, len(way.matcher.fields()), way.found.index)


def _shows(tree: UiTree, matcher: Matcher) -> bool:
    """As ``find_all`` says it, from the index: every sign is looked up in many trees."""
    fields = matcher.fields()
    tests = sorted(fields.items(), key=lambda test: test[0] == "role")
    return bool(postings_of(tree).hits(tests))


def _fleeting(way: Candidate) -> bool:
    return "vol" in way.flags or "%" in way.flags


def fits(value: str) -> bool:
    """Whether UTF-8 can carry it: a lone surrogate, which JSON may hold, has no bytes."""
    return not any("\ud800" <= each <= "\udfff" for each in value)


def lands_on(node: UiNode) -> UiNode:
    """What takes a click on ``node``."""
    return landing(node).on or node


def switch_of(node: UiNode) -> UiNode | None:
    """What a click on ``node`` turns on or off, if anything; a radio button is chosen, not turned."""
    return next((each for each in inside(lands_on(node)) if each.checkable and "RadioButton" not in each.cls), None)


def inside(node: UiNode) -> Iterator[UiNode]:
    """A node and everything in it."""
    yield node
    yield from node.descendants
