"""Choose selectors for recorded nodes that a recipe can express (skills.md#selector). Pure.

Selectors without personal texts come first; remaining personal texts become inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.postings import postings_of
from clawperator.engine.hierarchy.ranking import THROUGH_CLICKS
from clawperator.engine.hierarchy.selectors import Candidate, Selectors
from clawperator.engine.hierarchy.traits import landing
from clawperator.engine.recordings.inputs import RecordedInputs, escaped
from clawperator.engine.recordings.records import Click

_WAYS_KEPT = 3
_SIGNS_WEIGHED, _SIGNS_TRIED = 60, 300
_FRAMEWORK_ID, _NO_ID = 0.5, 1.5
"""Penalties of a confirmation with a framework id, or without an id; each other screen that shows it counts 1."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a step. ``fields`` are those of a matcher by wire name, their values templates (``inputs.py``)."""

    fields: Mapping[str, str]
    cls: str = ""
    """The class that expresses the role among the fields; empty without a role."""
    others: tuple[Mapping[str, str], ...] = ()
    """Alternative selectors of the same node, best first."""
    unique: bool = True
    """Whether exactly one node matched when it was recorded."""
    volatile: bool = False
    """Whether the value looks like a counter, a price or a time, and may change between runs."""


class TargetFinder:
    """Finds selectors for the steps of one recording, and the inputs that they need."""

    def __init__(self, inputs: RecordedInputs, expressible: Callable[[str], str]) -> None:
        """``expressible`` returns the role that a class has in a recipe, or ''."""
        self._inputs = inputs
        self._expressible = expressible

    def target(
        self, tree: UiTree, node: UiNode, recent: Sequence[UiTree] = (), *, exactly: bool = False
    ) -> Target | None:
        """Return the target for ``node``, if any; ``exactly``: not by a label inside it."""
        suggested = Selectors(tree, recent).suggest(node).candidates
        ways = [
            way
            for way in suggested
            if way.kind == "direct" or (way.kind in THROUGH_CLICKS and not exactly)
            if way.unique or way.first
            if "off" not in way.flags and self._can_say(way.matcher, way.found)
        ]
        if not ways:
            return None
        # of several labels, the first is usually the title of a row
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
        """Yield all selectors but the first, without those that have the same values in other fields."""
        seen = {tuple(ways[0].matcher.fields().values())}
        for way in ways[1:]:
            values = tuple(way.matcher.fields().values())
            if values not in seen and way.unique and not way.matcher.role and not self._personal(way.matcher):
                seen.add(values)
                yield self._fields(way.matcher)

    def container(self, tree: UiTree, node: UiNode) -> Target | None:
        """Return the nearest scrollable container of ``node`` that has a selector."""
        for way in Selectors(tree).suggest(node).candidates:
            if way.container is not None:
                found = find_all(tree, way.container)[0]
                if self._can_say(way.container, found):
                    return Target(self._fields(way.container), self._class(way.container, found))
        return None

    def of_event(self, click: Click) -> Target | None:
        """Return the target of a click without a snapshot, from the event alone."""
        fields = {"resourceId": click.resourceId, "textEquals": click.text, "contentDescEquals": click.contentDesc}
        matcher = Matcher.from_fields({name: value for name, value in fields.items() if value and value.strip()})
        if not matcher or not all(fits(value) for value in matcher.fields().values()):
            return None
        if matcher.text_equals and matcher.content_desc_equals:  # one is enough, and the text is the label
            matcher = Matcher(resource_id=matcher.resource_id, text_equals=matcher.text_equals)
        return Target(self._fields(matcher), unique=False)

    def appeared(self, after: UiTree, before: UiTree | None, elsewhere: Iterable[UiTree] = ()) -> Target | None:
        """Return the best confirmation on the screen ``after`` that was not on ``before``, as a target."""
        best = self.sign(after, before, elsewhere)
        if best is None:
            return None
        return Target(self._fields(best.matcher), self._class(best.matcher, best.found), volatile="vol" in best.flags)

    def sign(self, after: UiTree, before: UiTree | None, elsewhere: Iterable[UiTree] = ()) -> Candidate | None:
        """Return the best confirmation on the screen ``after`` that was not on ``before``: distinctive, stable, not personal."""
        others = list(elsewhere)
        return min(self._news(after, before), key=lambda way: _as_sign(way, others), default=None)

    def _news(self, after: UiTree, before: UiTree | None) -> list[Candidate]:
        known = {(node.resource_id, node.label) for node in before.on_screen} if before is not None else set()
        selectors = Selectors(after)
        found: list[Candidate] = []
        new = (
            node
            for node in after.on_screen
            if (node.resource_id, node.label) not in known and (node.resource_id or node.label)
        )
        for node in islice(new, _SIGNS_TRIED):
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
        """Return whether a recipe can express the matcher: a role needs a class that maps to it, ids must not be personal."""
        if matcher.role and self._expressible(node.cls) != matcher.role:
            return False
        return not self._inputs.is_personal(matcher.resource_id) and all(
            fits(value) for value in matcher.fields().values()
        )


def _as_sign(way: Candidate, others: Sequence[UiTree]) -> tuple[object, ...]:
    """Return a sort key, best first: an app id that few other screens have is better than a text, which is often data."""
    resource_id = way.matcher.resource_id
    elsewhere = sum(_shows(tree, way.matcher) for tree in others)
    doubt = _FRAMEWORK_ID if resource_id.startswith("android:") else 0.0 if resource_id else _NO_ID
    return (_fleeting(way), elsewhere + doubt, len(way.matcher.fields()), way.found.index)


def _shows(tree: UiTree, matcher: Matcher) -> bool:
    """Return whether ``find_all`` would match, using the index: every candidate is checked in many trees."""
    fields = matcher.fields()
    tests = sorted(fields.items(), key=lambda test: test[0] == "role")
    return bool(postings_of(tree).hits(tests))


def _fleeting(way: Candidate) -> bool:
    return "vol" in way.flags or "%" in way.flags


def fits(value: str) -> bool:
    """Return whether UTF-8 can encode ``value``, which has no lone surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in value)


def lands_on(node: UiNode) -> UiNode:
    """Return the node that receives a click on ``node``."""
    return landing(node).on or node


def switch_of(node: UiNode) -> UiNode | None:
    """Return the switch that a click on ``node`` toggles, if any; radio buttons are not switches."""
    return next((each for each in inside(lands_on(node)) if each.checkable and "RadioButton" not in each.cls), None)


def inside(node: UiNode) -> Iterator[UiNode]:
    """Yield a node and its descendants."""
    yield node
    yield from node.descendants
