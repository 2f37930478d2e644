"""The fields and relations of a NodeMatcher, and the device's test for each (wire.md#matcher)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.nodes import UiNode, UiTree

_NAMES = {
    "resourceId": "resource_id",
    "role": "role",
    "textEquals": "text_equals",
    "textContains": "text_contains",
    "contentDescEquals": "content_desc_equals",
    "contentDescContains": "content_desc_contains",
}
FIELDS = tuple(_NAMES)
"""Names on the wire, in the contract's order."""
RELATIONS = ("ancestor", "descendant")
"""Matchers of other nodes, above it and inside it; they have fields only."""
PLACES = (*RELATIONS, "container")


@dataclass(frozen=True, slots=True)
class Matcher:
    """All given fields must hold; an empty string is a field not given, as empty ones never reach the device.

    A matcher without any field matches nothing (the device refuses it).
    """

    resource_id: str = ""
    role: str = ""
    text_equals: str = ""
    text_contains: str = ""
    content_desc_equals: str = ""
    content_desc_contains: str = ""
    ancestor: Matcher | None = None
    descendant: Matcher | None = None
    container: Matcher | None = None
    """Only strict descendants of its first match count. Actions have it as a parameter of its own: it is not in ``to_dict``."""

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """From wire names (``{"resourceId": …}``); ValueError names a field that does not exist."""
        unknown = [name for name in fields if name not in _NAMES and name not in RELATIONS]
        if unknown:
            raise ValueError(f"unknown matcher field: {unknown[0]}")
        given: dict[str, Any] = {
            name: cls.from_fields(value) if name in RELATIONS else value for name, value in fields.items()
        }
        return cls(**{_NAMES.get(name, name): value for name, value in given.items()})

    def fields(self) -> dict[str, str]:
        """The given fields by wire name, in the contract's order."""
        values = ((name, getattr(self, attribute)) for name, attribute in _NAMES.items())
        return {name: value for name, value in values if value}

    def relations(self) -> dict[str, Matcher]:
        """The given relations by wire name."""
        around = {name: getattr(self, name) for name in RELATIONS}
        return {name: matcher for name, matcher in around.items() if matcher}

    def to_dict(self) -> dict[str, Any]:
        """Fields and relations as JSON data."""
        return {**self.fields(), **{name: matcher.fields() for name, matcher in self.relations().items()}}

    def places(self) -> dict[str, Matcher]:
        """The given relations and the container by name."""
        return self.relations() | ({"container": self.container} if self.container else {})

    def flat(self) -> dict[str, str]:
        """The fields by wire name, those of another node behind its place: ``descendant.textEquals``."""
        others = ((name, other.flat()) for name, other in self.places().items())
        return self.fields() | {f"{name}.{field}": value for name, flat in others for field, value in flat.items()}

    @classmethod
    def from_flat(cls, flat: Mapping[str, str]) -> Self:
        """The reverse of ``flat``; an empty value is a field not given."""
        below = {name: _below(name, flat) for name in PLACES}
        others: dict[str, Any] = {name: cls.from_flat(fields) for name, fields in below.items() if any(fields.values())}
        return replace(cls.from_fields({name: value for name, value in flat.items() if "." not in name}), **others)

    def __bool__(self) -> bool:
        return bool(self.fields() or self.relations())


def _below(name: str, flat: Mapping[str, str]) -> dict[str, str]:
    return {field[len(name) + 1 :]: value for field, value in flat.items() if field.startswith(f"{name}.")}


def field_value(node: UiNode, field: str) -> str:
    """The value that the device compares a field with: the label for the text fields, not the ``text`` attribute."""
    match field:
        case "resourceId":
            return node.resource_id
        case "role":
            return node.role
        case "textEquals" | "textContains":
            return node.label
        case _:
            return node.content_desc


def field_holds(field: str, wanted: str, got: str) -> bool:
    """Test one field; ``got`` is from ``field_value``. The role's name and *contains* ignore letter case."""
    if field.endswith("Contains"):
        return bool(got) and fold(wanted) in fold(got)
    if field == "role":
        return fold(wanted) == fold(got)
    return wanted == got


def related(tree: UiTree, name: str, other: Matcher, *, on_screen_only: bool = True) -> Sequence[bool]:
    """Return for each node whether ``other`` finds a strict ``ancestor`` (on screen or not) or ``descendant`` of it; or, as
    its ``container``, whether the first node on screen that ``other`` finds is around it.

    A descendant must be on screen if ``on_screen_only``. Nodes are in document order, so that one pass is enough.
    """
    nodes = tree.nodes
    holds = [False] * len(nodes)
    if name == "container":
        first = next(iter(found_indexes(tree, other)), None)
        place = range(0) if first is None else range(first + 1, nodes[first].end)
        return [index in place for index in range(len(nodes))]
    if name == "ancestor":
        end = 0
        matching = set(narrow(tree, other, range(len(nodes))))
        for index, node in enumerate(nodes):
            holds[index] = index < end
            if index in matching:
                end = max(end, node.end)
        return holds
    candidates: Iterable[int] = tree.on_screen_indexes if on_screen_only else range(len(nodes))
    matching = set(narrow(tree, other, candidates))
    following = len(nodes)  # the next matching node after the current one
    for index in range(len(nodes) - 1, -1, -1):
        holds[index] = following < nodes[index].end
        if index in matching:
            following = index
    return holds


def found_indexes(tree: UiTree, matcher: Matcher, *, on_screen_only: bool = True) -> Iterable[int]:
    """Return the positions of all matches, in document order."""
    found = narrow(tree, matcher, tree.on_screen_indexes if on_screen_only else range(len(tree.nodes)))
    for name, other in matcher.places().items():
        holds = related(tree, name, other, on_screen_only=on_screen_only)
        found = [index for index in found if holds[index]]
    return found


def narrow(tree: UiTree, matcher: Matcher, indexes: Iterable[int]) -> Iterable[int]:
    """Test field by field over the tree's columns; the role last, because it is the slowest."""
    if wanted := matcher.resource_id:
        column = tree.resource_ids
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := matcher.text_equals:
        column = tree.labels
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := matcher.content_desc_equals:
        column = tree.descriptions
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := fold(matcher.text_contains):
        column = tree.folded_labels
        indexes = [index for index in indexes if wanted in column[index]]
    if wanted := fold(matcher.content_desc_contains):
        column = tree.folded_descriptions
        indexes = [index for index in indexes if wanted in column[index]]
    if wanted := fold(matcher.role):
        nodes = tree.nodes
        indexes = [index for index in indexes if nodes[index].role == wanted]
    return indexes
