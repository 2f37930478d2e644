"""One way to address a node: its fields, its rank, and the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.engine.hierarchy.postings import Test
from clawperator.engine.hierarchy.volatility import fits, stable_run, why_volatile

_STABILITY = ("resourceId", "contentDescEquals", "textEquals", "textContains", "contentDescContains", "role")
_INPUT_ROLE = 0.5
"""An input without an id is best identified as the only input: its rank is between those of id and description."""
THROUGH_CLICKS = ("tap-through", "row")
"""Kinds of selectors that only a click carries to the node itself."""
BY_RELATION = ("related", "inside")
"""Kinds of selectors that need a node around the one they find."""
_KINDS = ("direct", *THROUGH_CLICKS, "container", *BY_RELATION)

_STRENGTHS = {
    "resourceId": "an id survives translation and rewording",
    "contentDescEquals": "a description rarely changes, but is translated",
    "textEquals": "the exact text changes with the language and with rewording",
    "textContains": "this part of the text is more stable than the rest, but is translated",
    "contentDescContains": "this part of the description is more stable than the rest, but is translated",
    "role": "a role is shared by all elements of its kind",
}
_INPUT = "an input without an id is best identified as the only input on the screen"
_FLAGS = {
    "≈": "the role is inferred from the dump: the device may infer another one",
    "case": "another value on the screen differs by letter case only",
    "%": "a percent sign hides the reason of a failure, and two can crash the Operator",
}
_REACHES = {
    "tap-through": "finds only a label inside, a tap on which reaches this node",
    "row": "finds only the row of this node, or a label in it: a tap on it toggles the node",
    "related": "finds only this node, by another one above or inside it; the host does that for an Operator before 0.10",
    "inside": "finds only this node in the container; the host does that for an Operator before 0.10",
}
_NAMES = {"resourceId": "id", "contentDescEquals": "description", "textEquals": "text", "textContains": "text"}


class Field(NamedTuple):
    """One test that the node passes."""

    test: Test
    rank: float
    """Stability; 0 is best."""
    volatile: str
    """Why the value is likely to change; empty when it is not."""

    @property
    def risky(self) -> bool:
        return bool(self.volatile) or "%" in self.test[1]


class RankedMatcher(NamedTuple):
    """A candidate without its explanation."""

    kind: str
    fields: tuple[Field, ...]
    found: UiNode
    matches: int
    """Among the nodes on screen; for a node that is not, among all."""
    first: bool
    seen: tuple[int, ...] = ()
    container: Matcher | None = None
    relation: tuple[str, Matcher] | None = None
    """``ancestor`` or ``descendant``."""

    @property
    def weakest(self) -> Field:
        return max(self.fields, key=lambda field: field.rank)

    @property
    def tests(self) -> Sequence[Test]:
        return [field.test for field in self.fields]

    @property
    def matcher(self) -> Matcher:
        around = {} if self.relation is None else {self.relation[0]: self.relation[1].fields()}
        return Matcher.from_fields(dict(self.tests) | around)

    def order(self) -> tuple[object, ...]:
        """Sort key of unique matchers, best first; no two for one node are equal."""
        return (
            _KINDS.index(self.kind),
            any(field.risky for field in self.fields),
            self.weakest.rank,
            len(self.fields),
            -sum(count == 1 for count in self.seen),
            [field.rank for field in self.fields],
            self.found.index,
        )


def fields_of(node: UiNode) -> tuple[Field, ...]:
    """The fields that find the node, the role last; values that no matcher may contain are left out."""
    label, description = node.label, node.content_desc
    values = {
        "resourceId": node.resource_id,
        "contentDescEquals": description,
        "textEquals": label,
        "textContains": stable_run(label),
        "contentDescContains": stable_run(description),
        "role": node.role,
    }
    return tuple(
        Field((name, value), _rank(node, name), why_volatile(node, name, value))
        for name, value in values.items()
        if fits(value)
    )


def sets_of(fields: Sequence[Field], smallest: int, largest: int) -> Iterator[tuple[Field, ...]]:
    """The sets of this size in order of rank, each after all of its subsets."""
    traits = tuple((field.rank, field.risky) for field in fields)
    for positions in _ranked_sets(traits, smallest, largest):
        yield tuple([fields[position] for position in positions])


@lru_cache(maxsize=512)
def _ranked_sets(traits: tuple[tuple[float, bool], ...], smallest: int, largest: int) -> Sequence[tuple[int, ...]]:
    """Positions of fields; cached, as few combinations of traits occur."""

    def order(positions: tuple[int, ...]) -> tuple[object, ...]:
        ranks = [traits[position][0] for position in positions]
        return any(traits[position][1] for position in positions), max(ranks), len(ranks), ranks

    sizes = range(smallest, largest + 1)
    return sorted(chain.from_iterable(combinations(range(len(traits)), size) for size in sizes), key=order)


def _rank(node: UiNode, name: str) -> float:
    only_input = name == "role" and node.role == "textfield" and not node.resource_id
    return _INPUT_ROLE if only_input else _STABILITY.index(name)


def reasons(way: RankedMatcher, matches: int, flags: Sequence[str]) -> Iterator[str]:
    """The reasons for the candidate's rank, most important first; ``matches`` counts those on screen."""
    yield _reach(way, matches, flags)
    strength = _INPUT if way.weakest.rank == _INPUT_ROLE else _STRENGTHS[way.weakest.test[0]]
    together = f"needs {len(way.fields)} fields together, the weakest counts: " if len(way.fields) > 1 else ""
    yield together + strength
    yield from dict.fromkeys(f"the value has {field.volatile}" for field in way.fields if field.volatile)
    yield from (_FLAGS[flag] for flag in flags if flag in _FLAGS)
    if way.seen:
        once = sum(count == 1 for count in way.seen)
        yield f"{once} of the last {len(way.seen)} trees had exactly one"


def _reach(way: RankedMatcher, matches: int, flags: Sequence[str]) -> str:
    if "off" in flags:
        others = f"finds {matches} other nodes on the screen" if matches else "finds nothing on the screen now"
        return f"{others}: the node itself is off the screen"
    if matches > 1:
        taken = (
            "this is the first, the one the device takes" if way.first else "the device takes the first, another one"
        )
        return f"finds {matches} nodes; {taken}"
    if way.kind == "container":
        return "finds only this node, and can look for it by scrolling the container"
    return _REACHES.get(way.kind, "finds only this node")


def ambiguity(node: UiNode, fields: Sequence[Field], sharing: int, *, first: bool) -> str:
    """Explain that ``sharing`` nodes have all these values, which of them the device takes, and the alternatives."""
    names = list(dict.fromkeys(_NAMES[field.test[0]] for field in fields if field.test[0] in _NAMES))
    role = f"role {node.role} ≈" if node.role_approximate else f"role {node.role}"
    what = f"the same {', '.join(names)} and {role}" if names else f"the {role}"
    hint = " (no selector compares its hint)" if node.attributes.get("hint") else ""
    has = "" if names else f"No usable id, text or description{hint}, and "
    return (
        f"{has}{sharing} nodes share {what}; the device takes the first, {'this one for now' if first else 'another one'}. "
        "Alternatives: ask the app team for a unique id or content description; open the screen by deep link; "
        "scroll and read the list."
    )
