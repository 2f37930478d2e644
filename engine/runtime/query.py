"""A matcher as the Operator holds it: its fields, and the text that its messages quote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime.outcome import PlanFailure

_MOST_CANDIDATES = 10
_LONGEST_TEXT = 512
_CONTAINS = frozenset({"textContains", "contentDescContains"})


@dataclass(frozen=True, slots=True)
class Query:
    """All given fields must hold. An empty string counts as given (wire.md#payload-parsing-on-the-device): an empty equality never holds, an empty
    containment holds wherever there is something to contain it.
    """

    fields: Mapping[str, str]
    matcher: Matcher | None
    around: Mapping[str, Query] | None = None
    """Relations, from Operator 0.10 on."""
    container: Query | None = None
    """From Operator 0.10 on: only strict descendants of its first match are candidates."""
    strict: bool = False
    """Refuse more than one candidate, and more than one container."""

    @classmethod
    def of(cls, fields: Mapping[str, str], around: Mapping[str, Query] | None = None) -> Query:
        """From matcher fields by their payload names, and relations if the Operator knows them; order and unknown names do not matter."""
        given = {name: fields[name] for name in FIELDS if name in fields}
        present = {name: value for name, value in given.items() if value}
        others: dict[str, Any] = {name: query.matcher for name, query in (around or {}).items()}
        matcher = replace(Matcher.from_fields(present), **others) if present or others else None
        return cls(given, matcher, around)

    def __str__(self) -> str:
        words = [f"{name}={self.fields.get(name, 'null')}" for name in FIELDS]
        if self.around is not None:
            words += [f"{name}={self.around.get(name, 'null')}" for name in RELATIONS]
        return f"NodeMatcher({', '.join(words)})"

    def find_all(self, tree: UiTree) -> Sequence[UiNode]:
        """Every match in the on-screen tree, in document order (wire.md#tree-used-for-matching)."""
        parts = (self, *(self.around or {}).values())
        if any(not value and name not in _CONTAINS for part in parts for name, value in part.fields.items()):
            return ()
        found = tree.on_screen if self.matcher is None else find_all(tree, self.matcher)
        if self.fields.get("contentDescContains") == "":
            return [node for node in found if node.content_desc]
        return found

    def first(self, tree: UiTree) -> UiNode | None:
        return next(iter(self.find_all(tree)), None)

    def candidates(self, tree: UiTree) -> Sequence[UiNode]:
        """Every match: inside the container, if there is one. Raises ``PlanFailure`` without a container, or for several nodes if strict."""
        found = self.find_all(tree)
        if self.container is not None:
            containers = self.container.find_all(tree)
            if not containers:
                raise PlanFailure(f"Container not found for {self.container}", final=self.strict)
            one_of(tree, containers, "CONTAINER_AMBIGUOUS", strict=self.strict)
            found = [node for node in found if containers[0].index < node.index < containers[0].end]
        one_of(tree, found, "NODE_AMBIGUOUS", strict=self.strict)
        return found

    def candidates_so_far(self, tree: UiTree) -> Sequence[UiNode]:
        """The same while scrolling, which has its own words for a container that is not there."""
        if self.container is not None and self.container.first(tree) is None:
            return ()
        return self.candidates(tree)


def one_of(tree: UiTree, found: Sequence[UiNode], code: str, *, strict: bool) -> None:
    """Raise ``PlanFailure`` for several nodes where ``strict`` allows one."""
    if strict and len(found) > 1:
        data = {"candidate_count": str(len(found)), "candidates": query_result(found, _MOST_CANDIDATES)}
        raise PlanFailure(f"{code}: resolved {len(found)} candidates", data, final=True, tree=tree)


def query_result(found: Sequence[UiNode], limit: int) -> str:
    """Return the Operator's JSON text about nodes (operator-0.10, query result)."""
    shown = [_node_summary(node) for node in found[:limit]]
    answer = {"schemaVersion": 1, "totalMatches": len(found), "returnedCount": len(shown)}
    return json.dumps({**answer, "truncated": len(shown) < len(found), "nodes": shown}, separators=(",", ":"))


def _node_summary(node: UiNode) -> dict[str, object]:
    path = node.path.replace("/", ".")
    return {
        "nodePath": path,
        "parentPath": path.rpartition(".")[0] or None,
        "resourceId": node.resource_id or None,
        "className": node.cls,
        "role": node.role,
        "label": node.label[:_LONGEST_TEXT],
        "contentDescription": node.content_desc[:_LONGEST_TEXT] or None,
        "bounds": dict(zip(("left", "top", "right", "bottom"), map(float, node.bounds), strict=True)),
        "enabled": node.enabled,
        "clickable": node.clickable,
    }
