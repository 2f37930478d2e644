"""Rank the matchers that address a node, with counts on this tree and on recent ones and the reasons for each rank.

The values are the node's own; all sets of up to three fields are tried (more where fewer are not unique) and the minimal
unique ones kept. For a clickable node without a unique matcher, a label inside it can be tapped instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from clawperator.engine.hierarchy.explain import off_screen_reason
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.postings import Postings, Test, postings_anywhere, postings_of
from clawperator.engine.hierarchy.ranking import (
    BY_RELATION,
    Field,
    RankedMatcher,
    ambiguity,
    fields_of,
    reasons,
    sets_of,
)
from clawperator.engine.hierarchy.traits import CLICK_ANCESTORS, landing
from clawperator.engine.hierarchy.volatility import is_localised

__all__ = ["Candidate", "Selectors", "Suggestions", "node_at", "node_by_path", "suggest"]

_USUAL_FIELDS = 3
_AMBIGUOUS_KEPT = 2
_TAP_THROUGH_KEPT = 2
_LABELS_TRIED = 40
_TWINS_TRIED = 200
"""A node with as many twins has no relation that a person would name."""
_EXACT_TEXTS = ("textEquals", "contentDescEquals")
_STEP = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to address a node."""

    matcher: Matcher
    kind: str
    """``direct``; ``tap-through``: finds a label in a clickable node, a tap on which reaches the node; ``row``: finds the row
    of a switch, a tap on which toggles it; ``container``: the matcher as target of a scroll in ``container``; ``related``: with a
    node above or inside it; ``inside``: the matcher in ``container``.
    """
    matches: int
    """On-screen matches on this tree."""
    first: bool
    """Whether the first match, the one the device takes, is ``found``."""
    found: UiNode
    """The node that the matcher finds: the node itself, the label inside it, or its row."""
    container: Matcher | None
    flags: tuple[str, ...]
    """``vol`` the value looks volatile, ``loc`` likely localised, ``≈`` role inferred, ``case`` another value differs by
    letter case only, ``%`` unsafe sign, ``off`` off the screen, ``1st`` the first of several matches.
    """
    seen: tuple[int, ...]
    """On-screen matches on each recent tree, newest first; empty for what is not unique now."""
    why: tuple[str, ...]
    """Sentences that explain the rank, without text from the device."""

    @property
    def unique(self) -> bool:
        return self.matches == 1 and self.first

    @property
    def steady(self) -> int:
        """On how many of the recent trees it had exactly one match."""
        return sum(count == 1 for count in self.seen)

    def to_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        answer: dict[str, Any] = {
            "selector": self.matcher.to_dict(),
            "kind": self.kind,
            "matches": self.matches,
            "unique": self.unique,
            "first": self.first,
            "flags": list(self.flags),
            "seen": list(self.seen),
            "why": list(self.why),
        }
        if self.container is not None:
            answer["container"] = self.container.to_dict()
        return answer


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The ways to address one node, best first."""

    node: UiNode
    candidates: tuple[Candidate, ...]
    advice: str
    """Why no matcher is unique by the values of the node itself, and the alternatives; empty when one is."""

    @property
    def best(self) -> Candidate | None:
        return self.candidates[0] if self.candidates else None


class Selectors:
    """The ranked matchers of any node of one tree; keep it as long as the tree is in use."""

    def __init__(self, tree: UiTree, recent: Sequence[UiTree] = ()) -> None:
        """``recent``: earlier trees of the same screen, newest first."""
        self._tree = tree
        self._recent = tuple(recent)
        self._containers: dict[int, Matcher | None] = {}

    def suggest(self, node: UiNode) -> Suggestions:
        """All candidates for ``node``, which must be of this tree."""
        candidates = tuple(self._candidate(way) for way in self._ways(node))
        by_itself = candidates[0].unique and candidates[0].kind not in BY_RELATION
        advice = "" if by_itself else self._advice(node, candidates)
        return Suggestions(node, candidates, advice)

    def best(self, node: UiNode) -> Matcher | None:
        """The matcher of the first suggestion if that is unique by the values of its own node, else None."""
        way = self.best_way(node)
        return way.matcher if way is not None else None

    def best_way(self, node: UiNode) -> RankedMatcher | None:
        """The same with its rank."""
        if not self._tree.is_on_screen(node):
            return None
        return next(iter(self._unique(node, all_of_them=bool(self._recent))), None)

    @cached_property
    def _on_screen(self) -> Postings:
        return postings_of(self._tree)

    @cached_property
    def _anywhere(self) -> Postings:
        """Off-screen nodes are counted among all nodes, as they would be on screen after scrolling."""
        return postings_anywhere(self._tree)

    @cached_property
    def _earlier(self) -> Sequence[Postings]:
        return [postings_of(tree) for tree in self._recent]

    def _ways(self, node: UiNode) -> list[RankedMatcher]:
        """Unique ones, then those that find others too; never empty."""
        ways = self._unique(node, all_of_them=True)
        if ways and (container := self._container(node)) is not None:
            ways.append(ways[0]._replace(kind="container", container=container))
        if not ways and self._tree.is_on_screen(node):
            ways = self._by_relation(node)
        # A role alone is not specific, so it is used only where there is nothing else.
        return [*ways, *self._ambiguous(node)] or [self._by_role(node)]

    def _unique(self, node: UiNode, *, all_of_them: bool) -> list[RankedMatcher]:
        """Best first. Ties are broken by the recent trees; without any, the first found is the best."""
        enough = None if all_of_them else 1
        ways = [
            RankedMatcher("direct", fields, node, 1, first=True) for fields in islice(self._unique_sets(node), enough)
        ]
        if not ways and node.clickable:
            ways = self._through_labels(node)
        named = node.label or (ways and _is_own(node.resource_id))
        row = self._through_row(node) if node.checkable and not named else []
        return [*row, *sorted((way._replace(seen=self._seen(way)) for way in ways), key=RankedMatcher.order)]

    def _unique_sets(self, node: UiNode) -> Iterator[tuple[Field, ...]]:
        return (fields for fields, hits in self._trials(node) if len(hits) == 1)

    def _ambiguous(self, node: UiNode) -> list[RankedMatcher]:
        """The best few that find others too; those that find this node first come first. Fields that exclude no other node are
        left out.
        """
        ways = [
            RankedMatcher("direct", fields, node, len(hits), min(hits) == node.index)
            for fields, hits in self._trials(node)
            if len(hits) > 1
        ]
        kept: list[RankedMatcher] = []
        for way in sorted(ways, key=lambda way: not way.first):
            if not any(way.matches == less.matches and set(less.fields) <= set(way.fields) for less in kept):
                kept.append(way)
        return kept[:_AMBIGUOUS_KEPT]

    def _trials(self, node: UiNode) -> Iterator[tuple[tuple[Field, ...], frozenset[int]]]:
        """Sets of the node's fields, best first, with the matching nodes; no subset of them is unique. More fields than usual are
        tried where the usual number is not enough.
        """
        postings, fields = self._postings(node), fields_of(node)
        unique: list[set[Field]] = []
        for smallest, largest in ((1, _USUAL_FIELDS), (_USUAL_FIELDS + 1, len(fields))):
            for chosen in sets_of(fields, smallest, largest):
                if any(part.issubset(chosen) for part in unique):
                    continue
                if chosen[0].test[0] == "role":
                    if not postings.is_lone(node.role):
                        continue
                    hits = frozenset([node.index])
                else:
                    hits = postings.hits([field.test for field in chosen])
                if len(hits) == 1:
                    unique.append(set(chosen))
                yield chosen, hits
            if unique:
                break

    def _by_relation(self, node: UiNode) -> list[RankedMatcher]:
        """The first unique way of each kind of relation, for a node that shares all its values with others on the screen."""
        found: list[RankedMatcher] = []
        for way in self._ambiguous(node) or [self._by_role(node)]:
            others = self._on_screen.hits(way.tests) - {node.index}
            if len(others) < _TWINS_TRIED:
                unique = way._replace(matches=1, first=True)
                relation = self._relation(node, others)
                if relation is not None:
                    found.append(unique._replace(kind="related", relation=relation))
                elif (place := self._place(node, others)) is not None:
                    found.append(unique._replace(kind="inside", container=place))
            if found:
                break
        return found

    def _relation(self, node: UiNode, others: Collection[int]) -> tuple[str, Matcher] | None:
        """A node above or inside ``node`` that none of the ``others`` has."""
        nodes = self._tree.nodes
        for above in node.ancestors:
            for test in _steady_tests(above):
                holders = self._anywhere.hits([test])
                if not any(up.index in holders for other in others for up in nodes[other].ancestors):
                    return "ancestor", Matcher.from_fields(dict([test]))
        for inner in islice((inner for inner in node.descendants if self._tree.is_on_screen(inner)), _LABELS_TRIED):
            for test in _steady_tests(inner):
                holders = self._on_screen.hits([test])
                if not any(other < at < nodes[other].end for other in others for at in holders):
                    return "descendant", Matcher.from_fields(dict([test]))
        return None

    def _place(self, node: UiNode, others: Collection[int]) -> Matcher | None:
        """What finds only the nearest node around ``node`` that is around none of the ``others``, and can be found."""
        for scope in node.ancestors:
            if any(scope.index < other < scope.end for other in others):
                return None
            if not self._tree.is_on_screen(scope):
                continue
            for fields in islice(self._unique_sets(scope), 1):
                return Matcher.from_fields(dict(field.test for field in fields))
            for way in self._ambiguous(scope) or [self._by_role(scope)]:
                twins = self._on_screen.hits(way.tests) - {scope.index}
                if len(twins) < _TWINS_TRIED and (relation := self._relation(scope, twins)) is not None:
                    return way._replace(relation=relation).matcher
        return None

    def _by_role(self, node: UiNode) -> RankedMatcher:
        fields = fields_of(node)[-1:]
        hits = self._postings(node).hits([fields[0].test])
        return RankedMatcher("direct", fields, node, len(hits), min(hits) == node.index)

    def _postings(self, node: UiNode) -> Postings:
        return self._on_screen if self._tree.is_on_screen(node) else self._anywhere

    def _through_labels(self, node: UiNode) -> list[RankedMatcher]:
        """The best unique ways to labels inside, a tap on which reaches ``node``."""
        found = [
            RankedMatcher("tap-through", fields, label, 1, first=True)
            for label in self._labels_inside(node)
            for fields in islice(self._unique_sets(label), 1)
        ]
        return sorted(found, key=RankedMatcher.order)[:_TAP_THROUGH_KEPT]

    def _through_row(self, node: UiNode) -> list[RankedMatcher]:
        """The ways to the clickable row in which ``node`` is the only checkable one."""
        row = landing(node).on
        if row is None or row is node or sum(inner.checkable for inner in row.descendants) > 1:
            return []
        return [way._replace(kind="row") for way in self._unique(row, all_of_them=True)]

    def _labels_inside(self, node: UiNode) -> Iterator[UiNode]:
        """The first labels whose nearest clickable ancestor is ``node``, within the distance that a click searches; none off the
        screen unless ``node`` is.
        """
        inside, on_screen = node.descendants, self._tree.is_on_screen(node)
        position = tried = 0
        while position < len(inside) and tried < _LABELS_TRIED:
            inner = inside[position]
            if (
                inner.clickable
                or inner.depth - node.depth > CLICK_ANCESTORS
                or self._tree.is_on_screen(inner) != on_screen
            ):
                position = inner.end - node.index - 1
                continue
            position += 1
            if inner.label:
                tried += 1
                yield inner

    def _container(self, node: UiNode) -> Matcher | None:
        """The nearest scrollable ancestor on screen with a unique matcher."""
        for ancestor in node.ancestors:
            if not ancestor.scrollable or not self._tree.is_on_screen(ancestor):
                continue
            if ancestor.index not in self._containers:
                singled_out = (
                    RankedMatcher("direct", fields, ancestor, 1, first=True) for fields in self._unique_sets(ancestor)
                )
                self._containers[ancestor.index] = next((way.matcher for way in singled_out), None)
            if (matcher := self._containers[ancestor.index]) is not None:
                return matcher
        return None

    def _seen(self, way: RankedMatcher) -> tuple[int, ...]:
        return tuple(len(postings.hits(way.tests)) for postings in self._earlier)

    def _candidate(self, way: RankedMatcher) -> Candidate:
        on_screen = self._tree.is_on_screen(way.found)
        matches, first = (way.matches, way.first) if on_screen else (len(self._on_screen.hits(way.tests)), False)
        flags = tuple(self._flags(way))
        return Candidate(
            matcher=way.matcher,
            kind=way.kind,
            matches=matches,
            first=first,
            found=way.found,
            container=way.container,
            flags=flags,
            seen=way.seen,
            why=tuple(reasons(way, matches, flags)),
        )

    def _flags(self, way: RankedMatcher) -> Iterator[str]:
        tests = way.tests
        if any(field.volatile for field in way.fields):
            yield "vol"
        if any(is_localised(*test) for test in tests):
            yield "loc"
        if any(name == "role" for name, _ in tests) and way.found.role_approximate:
            yield "≈"
        if any(name in _EXACT_TEXTS and self._on_screen.differs_by_case(name, value) for name, value in tests):
            yield "case"
        if any("%" in value for _, value in tests):
            yield "%"
        if not self._tree.is_on_screen(way.found):
            yield "off"
        elif way.first and way.matches > 1:
            yield "1st"

    def _advice(self, node: UiNode, candidates: Sequence[Candidate]) -> str:
        if reason := off_screen_reason(self._tree, node):
            scroll = any(candidate.kind == "container" for candidate in candidates)
            how = "scroll its container to it" if scroll else "scroll to it"
            return f"The device ignores this node: {reason}. Bring it into view first: {how}."
        fields = fields_of(node)
        sharing = len(self._on_screen.hits([field.test for field in fields]))
        return ambiguity(node, fields, sharing, first=any(candidate.first for candidate in candidates))


def _steady_tests(node: UiNode) -> list[Test]:
    """The exact values of a node, those that are likely to change last."""
    exact = [field for field in fields_of(node) if field.test[0] not in ("role", "textContains", "contentDescContains")]
    return [field.test for field in sorted(exact, key=lambda field: field.risky)]


def _is_own(resource_id: str) -> bool:
    """Whether an id is of the app: one of the framework is in every row of its kind."""
    return bool(resource_id) and not resource_id.startswith("android:")


def suggest(tree: UiTree, node: UiNode, recent: Sequence[UiTree] = ()) -> Suggestions:
    """Return ``Selectors(tree, recent).suggest(node)``, for a single use."""
    return Selectors(tree, recent).suggest(node)


def node_at(tree: UiTree, x: int, y: int) -> UiNode | None:
    """The smallest on-screen node at a point in pixels, of equally large ones the last in document order (the innermost,
    or what is drawn on top); None outside the screen and where nothing is.
    """
    if not tree.screen.contains(x, y):
        return None
    visible = tree.visible_bounds
    here = (node for node in tree.on_screen if node.bounds.contains(x, y) and visible[node.index].contains(x, y))
    return min(here, key=lambda node: (node.bounds.width * node.bounds.height, -node.index), default=None)


def node_by_path(tree: UiTree, path: str) -> UiNode | None:
    """The node of ``UiNode.path``: positions among siblings from the root down, as ``0/2/1``; None where no node has it."""
    level: Sequence[UiNode] = tree.roots
    node = None
    for step in path.split("/"):
        if not _STEP.fullmatch(step) or int(step) >= len(level):
            return None
        node = level[int(step)]
        level = node.children
    return node
