"""References: the nodes of one tree by number, each found again on a later tree of the same device. Pure.

The number of a node is its position in the dump. A reference is resolved by the best selector of its node (``selectors``): on another
tree that must find exactly one node with the same class, id, texts and click target, in a list beside the same labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clawperator.engine.contracts.references import Reference
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.choice import rows_of
from clawperator.engine.hierarchy.explain import explain_tree, is_near
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.ranking import THROUGH_CLICKS
from clawperator.engine.hierarchy.selectors import Candidate, Selectors
from clawperator.engine.hierarchy.traits import is_editable, is_target, landing
from clawperator.engine.hierarchy.views import line_of, node_line


class Screen(NamedTuple):
    """A tree and its id."""

    tree: UiTree
    id: str


class Found(NamedTuple):
    """The node of a reference on the present tree, and the matcher that finds it there."""

    node: UiNode
    matcher: Matcher


def referred(reference: Reference, seen: UiTree) -> UiNode:
    """Return the node of ``reference`` on its own tree, ``seen``. Raises ``EngineError`` (REF_UNKNOWN) for a number of no target."""
    node = seen.nodes[reference.number] if reference.number < len(seen.nodes) else None
    if node is None or not seen.is_on_screen(node) or not is_target(node):
        message = f"The tree {reference.tree} has no node e{reference.number} that can be acted on or read"
        raise EngineError(ErrorCode.REF_UNKNOWN, message, details={"ref": str(reference)})
    return node


def resolve(
    reference: Reference, seen: UiTree, now: Screen, *, click: bool, read: bool = False, first: bool = False
) -> Found:
    """Return the node of ``reference``, a node of ``seen``, on the tree ``now``.

    ``click``: a label or a row through which a click reaches the node will do. ``read``: nothing is changed, so its text may
    differ. ``first``: on the same tree, the first of several nodes is found by a matcher. Raises ``EngineError``: REF_UNKNOWN for a number of no target, REF_AMBIGUOUS without a selector of its own, REF_STALE.
    """
    node = referred(reference, seen)
    suggestions = Selectors(seen).suggest(node)
    same_tree = reference.tree == now.id
    way = next((way for way in suggestions.candidates if _serves(way, click=click, first=first and same_tree)), None)
    if way is None:
        raise EngineError(
            ErrorCode.REF_AMBIGUOUS,
            f"No selector finds only the node of {reference}",
            details={
                "ref": str(reference),
                "node": node_line(node),
                **({"point": list(point)} if (point := seen.point_of(node)) else {}),
                "advice": suggestions.advice,
            },
        )
    if same_tree:
        return Found(now.tree.nodes[reference.number], way.matcher)
    found = find_all(now.tree, way.matcher)
    if len(found) == 1 and _is_same(way.found, found[0], read=read):
        on = _on(way, found[0])
        if _beside(way.found, node) == _beside(found[0], on):
            return Found(on, way.matcher)
    raise _stale(reference, node, found, way, now)


def _serves(way: Candidate, *, click: bool, first: bool) -> bool:
    """Return whether the device finds the node by ``way``: among several, it takes the first, which only the same tree shows."""
    own = way.kind in ("direct", "related") or (click and way.kind in THROUGH_CLICKS)
    return own and (way.unique or (first and way.first))


def _is_same(old: UiNode, new: UiNode, *, read: bool) -> bool:
    if not _looks_same(old, new, read=read):
        return False
    before, after = landing(old).on, landing(new).on
    if before is None or after is None:
        return read or before is after
    return _looks_same(before, after, read=read)


def _looks_same(old: UiNode, new: UiNode, *, read: bool) -> bool:
    """Return whether class, id and texts are the same; the text of a field is its content."""
    if (old.cls, old.resource_id, old.content_desc) != (new.cls, new.resource_id, new.content_desc):
        return False
    return old.text == new.text or read or is_editable(old)


def _beside(found: UiNode, node: UiNode) -> Sequence[str]:
    """Return the labels beside ``found`` in the row of a list that ``node`` is in: rows have equal controls, and one may have scrolled in.

    The row is that of the innermost list in which there are such labels.
    """
    for row in rows_of(node):
        labels = [each.label for each in (row, *row.descendants) if each.label and each is not found]
        if labels:
            return labels
    return ()


def _on(way: Candidate, found: UiNode) -> UiNode:
    """Return the node that ``way`` leads to from ``found``."""
    if way.kind in ("direct", "related"):
        return found
    target = landing(found).on or found
    return next((inner for inner in target.descendants if inner.checkable), target) if way.kind == "row" else target


def _stale(reference: Reference, node: UiNode, found: Sequence[UiNode], way: Candidate, now: Screen) -> EngineError:
    near = found or _nearest(now.tree, way.matcher)
    if not near:
        seen = way.found  # a row is known by the label inside it
        near = _nearest(now.tree, Matcher(seen.resource_id, seen.role, seen.label))
    return EngineError(
        ErrorCode.REF_STALE,
        f"The screen no longer has exactly the node of {reference}",
        hint=f"{ErrorCode.REF_STALE.hint} details.nearest has the nodes most like it." if near else None,
        details={
            "ref": str(reference),
            "node": node_line(node),
            "tree": now.id,
            "nearest": [line_of(now.tree, each) for each in near[:3]],
        },
    )


def _nearest(tree: UiTree, matcher: Matcher) -> Sequence[UiNode]:
    return [miss.node for miss in explain_tree(tree, matcher).nearest if is_near(miss)]
