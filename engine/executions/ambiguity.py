"""Several nodes for one selector: what the device says about them, which is untrusted text, and selectors for each. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.numbers import whole_number

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.choice import ChoiceError
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

CODES = (ErrorCode.NODE_AMBIGUOUS, ErrorCode.CONTAINER_AMBIGUOUS)
"""What ``strict`` refuses (Operator 0.10 and later)."""
MOST = 10
"""Candidates that an error lists."""
_LONGEST = 512
_COUNTS = re.compile(r"target: ([0-9]{1,9})(?:, container: ([0-9]{1,9}))?")
_MATCHERS = ("matcher", "target", "container", "within")
_SIDES = ("left", "top", "right", "bottom")
_TEXTS = {"resourceId": "resourceId", "role": "role", "label": "text", "contentDescription": "contentDesc"}
"""The texts of a node of a query result, and our names for them."""


def reported_counts(data: Mapping[str, str]) -> tuple[int, int]:
    """Return how many targets and containers a step that took the first one had, by its ``selection_warning``; 0 if unknown."""
    found = _COUNTS.search(data.get("selection_warning", ""))
    return (whole_number(found[1]) or 0, whole_number(found[2] or "") or 0) if found else (0, 0)


def reported_count(data: Mapping[str, str]) -> int | None:
    """Return ``candidate_count``, if it is a number."""
    return whole_number(data.get("candidate_count", ""))


def reported_candidates(data: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the nodes in ``candidates``, as far as they are ones; without selectors, which need a whole tree."""
    try:
        answer = json.loads(data.get("candidates", ""))
    except (ValueError, RecursionError):
        return []
    nodes = answer.get("nodes") if isinstance(answer, dict) else None
    return [node for raw in nodes[:MOST] if (node := _reported_node(raw))] if isinstance(nodes, list) else []


def _reported_node(raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict):
        return {}
    node = {
        ours: text[:_LONGEST] for theirs, ours in _TEXTS.items() if isinstance(text := raw.get(theirs), str) and text
    }
    bounds = raw.get("bounds")
    sides: list[Any] = [bounds.get(side) for side in _SIDES] if isinstance(bounds, dict) else []
    if sides and all(isinstance(side, int | float) and abs(side) < 1e9 for side in sides):  # neither inf nor nan is
        return {**node, "bounds": [round(side) for side in sides]}
    return node


def candidates(tree: UiTree, found: Sequence[UiNode]) -> list[dict[str, Any]]:
    """Return the first nodes of ``found`` with a ``selector`` for each, and a ``container`` it needs; ``unique`` if they find no other node."""
    from clawperator.engine.hierarchy.ranking import BY_RELATION
    from clawperator.engine.hierarchy.selectors import Selectors
    from clawperator.engine.hierarchy.traits import summary

    selectors, listed = Selectors(tree), []
    for node in found[:MOST]:
        best = selectors.suggest(node).best
        way: dict[str, Any] = {}
        if best is not None and best.kind in ("direct", *BY_RELATION):
            way = {"selector": best.matcher.to_dict(), "unique": best.unique}
            if best.container is not None:
                way["container"] = best.container.to_dict()
        listed.append(summary(node) | way)
    return listed


def several(tree: UiTree, params: Mapping[str, Any]) -> tuple[str, Sequence[UiNode]]:
    """Return which matcher of an action finds several nodes of ``tree`` where one is wanted, and these; no nodes if none does."""
    from clawperator.engine.hierarchy.choice import ChoiceError, finder
    from clawperator.engine.hierarchy.choice import candidates as choose

    finders = {name: finder(params[name]) for name in _MATCHERS if name in params and "ref" not in params[name]}
    name = next((name for name in ("matcher", "target", "container") if name in finders), "")
    if not name:
        return "", ()
    places = {place: finders[place] for place in ("container", "within") if place in finders and place != name}
    try:
        choose(tree, finders[name], container=places.get("container"), within=places.get("within"), strict=True)
    except ChoiceError as exc:
        return name if exc.code is ErrorCode.NODE_AMBIGUOUS else exc.parameter, exc.found
    return name, ()


def with_selectors(tree: UiTree, found: Sequence[UiNode], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of an error about several nodes of ``tree``, which is from ``source``."""
    return {"matches": len(found), "candidates": candidates(tree, found), "tree": dict(source)}


def refusal(tree: UiTree, error: ChoiceError, asked: Mapping[str, Any], *, container: bool) -> EngineError:
    """Return why the host took no node of ``tree`` for ``asked``, a matcher and its limits, in the words of all choices.

    ``container``: the matcher is that of one to look in.
    """
    from clawperator.engine.executions.failure_words import sentence

    count, code = len(error.found), error.code
    if container and code is ErrorCode.NODE_AMBIGUOUS:
        code = ErrorCode.CONTAINER_AMBIGUOUS
    words = "" if count and code in CODES else sentence(code, asked)
    words = words or f"{count} nodes on screen match the {error.parameter}; nothing was sent"
    listed = {"matches": count, "candidates": candidates(tree, error.found)} if count else {}
    return EngineError(code, words, details={"parameter": error.parameter, **listed})
