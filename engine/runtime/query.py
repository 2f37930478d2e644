"""A matcher as the Operator holds it: its fields, and the text that its messages quote."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from clawperator.engine.errors import ErrorCode
from clawperator.engine.hierarchy.choice import ChoiceError, candidates
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
    within: Query | None = None
    """Of the host: only nodes in it or in its row are candidates."""
    nth: int | None = None
    """Of the host: the position of the only candidate."""
    index: int | None = None
    """Of the host: the node at this position of the tree, in place of fields."""

    @classmethod
    def of(cls, fields: Mapping[str, str], around: Mapping[str, Query] | None = None) -> Query:
        """From matcher fields by their payload names, and relations if the Operator knows them; order and unknown names do not matter."""
        given = {name: fields[name] for name in FIELDS if name in fields}
        present = {name: value for name, value in given.items() if value}
        others: dict[str, Any] = {name: query.matcher for name, query in (around or {}).items()}
        matcher = replace(Matcher.from_fields(present), **others) if present or others else None
        return cls(given, matcher, around)

    @property
    def is_limited(self) -> bool:
        """Whether not every match may be taken."""
        return self.strict or self.nth is not None or self.container is not None or self.within is not None

    def __str__(self) -> str:
        words = [f"{name}={self.fields.get(name, 'null')}" for name in FIELDS]
        if self.around is not None:
            words += [f"{name}={self.around.get(name, 'null')}" for name in RELATIONS]
        return f"NodeMatcher({', '.join(words)})"

    def find_all(self, tree: UiTree, *, everything: bool = False) -> Sequence[UiNode]:
        """Every match in the on-screen tree, in document order (wire.md#tree-used-for-matching); ``everything``: in the whole one."""
        if self.index is not None:
            return tree.nodes[self.index : self.index + 1]
        parts = (self, *(self.around or {}).values())
        if any(not value and name not in _CONTAINS for part in parts for name, value in part.fields.items()):
            return ()
        if self.matcher is None:
            found = tree.nodes if everything else tree.on_screen
        else:
            found = find_all(tree, self.matcher, on_screen_only=not everything)
        if self.fields.get("contentDescContains") == "":
            return [node for node in found if node.content_desc]
        return found

    def first(self, tree: UiTree) -> UiNode | None:
        return next(iter(self.find_all(tree)), None)

    def candidates(self, tree: UiTree) -> Sequence[UiNode]:
        """The nodes that may be taken (``hierarchy.choice``). Raises ``PlanFailure`` without a container, and for several nodes if strict."""
        container = self.container.find_all if self.container is not None else None
        within = self.within.find_all if self.within is not None else None
        try:
            return candidates(tree, self.find_all, container=container, within=within, nth=self.nth, strict=self.strict)
        except ChoiceError as exc:
            if exc.code is ErrorCode.CONTAINER_NOT_FOUND:
                missing = self.container if exc.parameter == "container" else self.within
                raise PlanFailure(f"Container not found for {missing}", final=self.strict, tree=tree) from exc
            if exc.code is ErrorCode.NODE_NOT_FOUND:
                raise no_node(f"{self}, nth={self.nth}") from exc
            raise _several(tree, exc.found, exc.code) from exc

    def candidates_so_far(self, tree: UiTree) -> Sequence[UiNode]:
        """The same while scrolling, which has its own words for a container that is not there."""
        if self.container is not None and self.container.first(tree) is None:
            return ()
        return self.candidates(tree)


def one_of(tree: UiTree, found: Sequence[UiNode], code: ErrorCode, *, strict: bool) -> None:
    """Raise ``PlanFailure`` for several nodes where ``strict`` allows one."""
    if strict and len(found) > 1:
        raise _several(tree, found, code)


def _several(tree: UiTree, found: Sequence[UiNode], code: ErrorCode) -> PlanFailure:
    data = {"candidate_count": str(len(found)), "candidates": query_result(found, _MOST_CANDIDATES)}
    return PlanFailure(f"{code.value}: resolved {len(found)} candidates", data, final=True, tree=tree)


def no_node(matcher: object) -> PlanFailure:
    return PlanFailure(f"No UI node found matching criteria: {matcher}")


def query_result(
    found: Sequence[UiNode], limit: int, *, on_screen: Collection[int] = (), complete: bool = False
) -> str:
    """Return the Operator's JSON text about nodes (operator-0.10, query result); the texts are cut unless ``complete``."""
    longest = None if complete else _LONGEST_TEXT
    shown = [
        node_summary(node, longest=longest, on_screen=node.index in on_screen or not complete) for node in found[:limit]
    ]
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    answer = {"schemaVersion": 1, "snapshotId": str(uuid4()), "capturedAt": now, "totalMatches": len(found)}
    answer |= {"returnedCount": len(shown), "truncated": len(shown) < len(found), "nodes": shown}
    return as_json(answer)


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _state(node: UiNode, name: str) -> bool | None:
    """Return a state of a node; ``None`` where its tree does not have it."""
    return None if name not in node.attributes else node.attributes[name] == "true"


def node_summary(node: UiNode, *, longest: int | None = _LONGEST_TEXT, on_screen: bool = True) -> dict[str, object]:
    """Return one node of a query result."""
    path = node.path.replace("/", ".")
    return {
        "nodePath": path,
        "parentPath": path.rpartition(".")[0] or None,
        "resourceId": node.resource_id or None,
        "className": node.cls,
        "role": node.role,
        "label": node.label[:longest],
        "contentDescription": node.content_desc[:longest] or None,
        "bounds": dict(zip(("left", "top", "right", "bottom"), map(float, node.bounds), strict=True)),
        "visibleToUser": _state(node, "visible-to-user"),
        "onScreen": on_screen,
        **{
            name: _state(node, name)
            for name in ("enabled", "clickable", "checkable", "checked", "selected", "scrollable")
        },
        "accessibilityDataSensitive": _state(node, "accessibility-data-sensitive"),
    }
