"""The nodes that an action may take: those that its matcher finds, and what limits them (wire.md#matcher). Pure.

``container``: strict descendants of its first match. ``within``: those inside its only match, else those in the smallest part of the
row around it that has any. ``nth``: of what is left, the one at this position from 0. ``strict``: one node, and one container.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from clawperator.engine.errors import ErrorCode
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.nodes import UiNode, UiTree

Find = Callable[[UiTree], Sequence[UiNode]]
"""Returns the nodes of a tree on screen that satisfy a matcher, in document order."""
_LISTS = ("list", "grid")


class ChoiceError(Exception):
    """No node can be taken: ``code`` is CONTAINER_NOT_FOUND, CONTAINER_AMBIGUOUS, NODE_NOT_FOUND or NODE_AMBIGUOUS.

    ``found`` are the nodes of which one would have to be taken; ``parameter`` names the matcher.
    """

    def __init__(self, code: ErrorCode, found: Sequence[UiNode], parameter: str) -> None:
        super().__init__(f"{code.value}: resolved {len(found)} candidates")
        self.code, self.found, self.parameter = code, found, parameter


def candidates(
    tree: UiTree,
    find: Find,
    *,
    container: Find | None = None,
    within: Find | None = None,
    nth: int | None = None,
    strict: bool = False,
) -> Sequence[UiNode]:
    """Return the nodes that an action may take, the first of which it does; empty where nothing matches.

    Raises ``ChoiceError``; NODE_NOT_FOUND only for a position behind the last node.
    """
    found = find(tree)
    if container is not None:
        found = inside(found, _place(tree, container, "container", strict=strict))
    if within is not None:
        found = _in_row(found, _place(tree, within, "within", strict=True))
    if nth is not None:
        if found and nth >= len(found):
            raise ChoiceError(ErrorCode.NODE_NOT_FOUND, found, "nth")
        return found[nth : nth + 1]
    if strict and len(found) > 1:
        raise ChoiceError(ErrorCode.NODE_AMBIGUOUS, found, "matcher")
    return found


def finder(fields: Mapping[str, Any]) -> Find:
    """Return what finds the nodes of a matcher, which is given as JSON data."""
    return partial(_find, matcher=Matcher.from_fields(fields))


def _find(tree: UiTree, matcher: Matcher) -> Sequence[UiNode]:
    return find_all(tree, matcher)


def inside(found: Sequence[UiNode], place: UiNode) -> Sequence[UiNode]:
    """Return the strict descendants of ``place`` among ``found``."""
    return [node for node in found if place.index < node.index < place.end]


def _place(tree: UiTree, find: Find, parameter: str, *, strict: bool) -> UiNode:
    places = find(tree)
    if not places:
        raise ChoiceError(ErrorCode.CONTAINER_NOT_FOUND, (), parameter)
    if strict and len(places) > 1:
        raise ChoiceError(ErrorCode.CONTAINER_AMBIGUOUS, places, parameter)
    return places[0]


def _in_row(found: Sequence[UiNode], place: UiNode) -> Sequence[UiNode]:
    others = [node for node in found if node is not place]
    return next(filter(None, (inside(others, scope) for scope in _scopes(place))), ())


def _scopes(place: UiNode) -> Iterator[UiNode]:
    """Yield ``place`` and what is around it, up to its row; outside of lists up to what is below the root."""
    row = next(rows_of(place), None)
    scope: UiNode | None = place
    while scope is not None and (scope.parent is not None or scope is place):
        yield scope
        if scope is row:
            return
        scope = scope.parent


def rows_of(node: UiNode) -> Iterator[UiNode]:
    """Yield the row that ``node`` is in, of each list above it, the innermost list first."""
    row = node
    for above in node.ancestors:
        if above.scrollable or above.role in _LISTS:
            yield row
        if above.parent is None or "ScrollView" not in above.parent.cls:  # its child holds the rows
            row = above
