"""A matcher as the Operator holds it: its fields, and the text that its messages quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.matcher import FIELDS
from clawperator.engine.hierarchy.tree import UiNode, UiTree

_CONTAINS = frozenset({"textContains", "contentDescContains"})


@dataclass(frozen=True, slots=True)
class Query:
    """All given fields must hold. An empty string counts as given (wire.md#payload-parsing-on-the-device): an empty equality never holds, an empty
    containment holds wherever there is something to contain it.
    """

    fields: Mapping[str, str]
    matcher: Matcher | None
    container: Query | None = None
    """From Operator 0.10 on: only strict descendants of its first match are candidates."""
    strict: bool = False
    """Refuse more than one candidate, and more than one container."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Query:
        """From matcher fields by their payload names; order and unknown names do not matter."""
        given = {name: fields[name] for name in FIELDS if name in fields}
        present = {name: value for name, value in given.items() if value}
        return cls(given, Matcher.from_fields(present) if present else None)

    def __str__(self) -> str:
        return "NodeMatcher(" + ", ".join(f"{name}={self.fields.get(name, 'null')}" for name in FIELDS) + ")"

    def find_all(self, tree: UiTree) -> Sequence[UiNode]:
        """Every match in the on-screen tree, in document order (wire.md#tree-used-for-matching)."""
        if any(not value and name not in _CONTAINS for name, value in self.fields.items()):
            return ()
        found = tree.on_screen if self.matcher is None else find_all(tree, self.matcher)
        if self.fields.get("contentDescContains") == "":
            return [node for node in found if node.content_desc]
        return found

    def first(self, tree: UiTree) -> UiNode | None:
        return next(iter(self.find_all(tree)), None)
