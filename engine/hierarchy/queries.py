"""Queries of a tree with results as JSON data: what a matcher finds, why it finds nothing, how to address a node.

Shared by all front ends. Pure; ``name`` arguments are the caller's name for the value, for error messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.explain import Explanation, TreeExplanation, is_near
from clawperator.engine.hierarchy.match import Matcher, explain_tree, find_all
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, UiNode, UiTree
from clawperator.engine.hierarchy.selectors import node_at, node_by_path, suggest
from clawperator.engine.hierarchy.traits import summary

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.choice import ChoiceError

T = TypeVar("T")

_POINT = re.compile(r"\s*(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})\s*")
_PATH = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})*")


def cut(items: Sequence[T], limit: int, name: str) -> tuple[Sequence[T], dict[str, Any]]:
    """The items to list, and the record for the result where some are left out."""
    if len(items) <= limit:
        return items, {}
    hint = f"The rest is not listed. Use {name} {len(items)} for all."
    return items[:limit], {"truncated": {"shown": limit, "total": len(items), "hint": hint}}


def matches(
    tree: UiTree,
    matcher: Matcher,
    *,
    limit: int,
    explain: bool = False,
    name: str = "limit",
    container: Matcher | None = None,
    within: Matcher | None = None,
    nth: int | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """What ``matcher`` finds on screen within what limits it, by the rules of actions (``choice``); the
    reason where it finds nothing, or always with ``explain``.

    Keys: ``count``, ``offScreen``, ``matches`` (one is ``taken``), and where they apply ``refused`` (the error of an action),
    ``approximate``, ``approximateBecause``, ``truncated``, ``warnings``, ``explain``.
    """
    from clawperator.engine.hierarchy.choice import ChoiceError, candidates  # not needed for the console's first frame

    places = {place: each for place, each in (("container", container), ("within", within)) if each is not None}
    finders: dict[str, Any] = {place: partial(find_all, matcher=each) for place, each in places.items()}
    choose = partial(candidates, tree, partial(find_all, matcher=matcher), **finders)
    matcher = replace(matcher, container=container)
    found: Sequence[UiNode] = ()
    refused: ChoiceError | None = None
    try:
        found = choose()
        taken = next(iter(choose(nth=nth, strict=strict)), None)
    except ChoiceError as exc:
        taken, refused = None, exc
    off_screen = [node for node in find_all(tree, matcher, on_screen_only=False) if not tree.is_on_screen(node)]
    shown, truncated = cut(found, limit, name)
    answer: dict[str, Any] = {"selector": matcher.to_dict()}
    answer |= {place: each.to_dict() for place, each in places.items()} | ({} if nth is None else {"nth": nth})
    answer |= {"count": len(found), "offScreen": len(off_screen)}
    if reasons := list(_approximations(tree, matcher, found, off_screen)):
        answer |= {"approximate": True, "approximateBecause": reasons}
    answer |= truncated
    answer["matches"] = [summary(node) | ({"taken": True} if node is taken else {}) for node in shown]
    if refused is not None:
        message = f"{len(refused.found) or 'no'} nodes on screen match the {refused.parameter}"
        if refused.parameter == "nth":
            message = f"only {len(found)} nodes match"
        answer["refused"] = {"code": refused.code.value, "parameter": refused.parameter, "message": message}
    elif len(found) > 1 and nth is None:
        message = f"{len(found)} nodes match: the device uses the first without a warning"
        answer["warnings"] = [{"code": "MATCHER_AMBIGUOUS", "path": "selector", "message": message}]
    if explain or not found:
        answer["explain"] = _why(tree, matcher, places, refused)
    return answer


def _why(tree: UiTree, matcher: Matcher, places: Mapping[str, Matcher], refused: ChoiceError | None) -> dict[str, Any]:
    """Explain the matcher, or that of the place that is missing or is several."""
    if refused is not None and refused.parameter in places:
        return {"parameter": refused.parameter, **explained(explain_tree(tree, places[refused.parameter]))}
    answer = explained(explain_tree(tree, matcher))
    if "within" in places and not answer["verdict"]:
        answer["verdict"] = "none of the matches is in the row of the node that within finds"
    return answer


def _approximations(
    tree: UiTree, matcher: Matcher, found: Sequence[UiNode], off_screen: Sequence[UiNode]
) -> Iterator[str]:
    """Facts that the result depends on and the dump does not contain."""
    if matcher.role and any(node.role_approximate for node in found or tree.on_screen):
        yield "roles are inferred from the dump: the device may infer other roles"
    if guessed := sum("visible-to-user" not in node.attributes for node in off_screen):
        yield f"{guessed} of the matches count as off the screen because of bounds in the dump"
    if guessed := sum(node.bounds is NO_BOUNDS for node in found):
        yield f"{guessed} of the matches count as on screen although the dump does not contain their bounds"


def explained(explanation: TreeExplanation) -> dict[str, Any]:
    """Field by field, and what nearly matches."""
    return {
        "verdict": explanation.verdict,
        "fields": [{"field": c.field, "alone": c.alone, "together": c.together} for c in explanation.counts],
        "nearest": [miss(near) for near in explanation.nearest],
    }


def nearest(explanation: TreeExplanation) -> dict[str, Any]:
    """The number of matches, and the nodes that are at least similar in one field."""
    near = [miss(each) for each in explanation.nearest if is_near(each)]
    return {"matches": explanation.matches, "nearest": near}


def miss(near: Explanation) -> dict[str, Any]:
    """One node that nearly matches, and field by field the wanted value, its value, and the reason."""
    fields = [{"field": f.field, "ok": f.ok, "wanted": f.wanted, "got": f.got, "reason": f.reason} for f in near.fields]
    answer: dict[str, Any] = {"node": summary(near.node), "fields": fields}
    return {**answer, "offScreen": near.off_screen} if near.off_screen else answer


def suggestions(tree: UiTree, nodes: Sequence[UiNode], *, limit: int, name: str = "limit") -> dict[str, Any]:
    """The selectors of the first of ``nodes``, best first; the others are listed by path.

    Keys: ``node``, ``candidates``, and where they apply ``others``, ``truncated``, ``advice``.
    """
    answer = suggest(tree, nodes[0])
    candidates, truncated = cut(answer.candidates, limit, name)
    document: dict[str, Any] = {"node": summary(answer.node)}
    if not tree.is_on_screen(answer.node):
        document["node"]["onScreen"] = False
    if len(nodes) > 1:
        others, rest = cut(nodes[1:], limit, name)
        document["others"] = {"count": len(nodes) - 1, **rest, "paths": [node.path for node in others]}
    document |= truncated
    document["candidates"] = [candidate.to_dict() for candidate in candidates]
    if answer.advice:
        document["advice"] = answer.advice
    return document


# -- choosing a node


def read_point(text: str, name: str = "at") -> tuple[int, int]:
    """``x,y`` in pixels. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    found = _POINT.fullmatch(text)
    if found is None:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"{name} must be <x>,<y>: two whole numbers of pixels",
            hint=f"For example {name} 540,1200.",
            details={"path": name},
        )
    return int(found[1]), int(found[2])


def read_path(text: str, name: str = "node") -> str:
    """Validate a node's path, such as ``0/0/2``. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    path = text.strip()
    if not _PATH.fullmatch(path):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"{name} must be a path: positions from the root down, such as 0/0/2",
            hint="match and inspect ui --view interactive show the paths of nodes.",
            details={"path": name},
        )
    return path


def at_point(tree: UiTree, x: int, y: int, name: str = "at") -> UiNode:
    """The smallest node there. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED, NODE_NOT_FOUND)."""
    if tree.nodes and not tree.screen.contains(x, y):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"{name} {x},{y} is outside the screen of {tree.screen.width}x{tree.screen.height} pixels",
            hint="Give a point of the screen, in pixels.",
            details={"path": name, "screen": [tree.screen.width, tree.screen.height]},
        )
    node = node_at(tree, x, y)
    if node is None:
        raise _nothing(tree, f"No node of the UI tree is at {x},{y}")
    return node


def with_path(tree: UiTree, path: str) -> UiNode:
    """Raises ``EngineError`` (NODE_NOT_FOUND), with ``details.deepest`` where a part of the path exists."""
    node = node_by_path(tree, path)
    if node is not None:
        return node
    above = path
    while above and node_by_path(tree, above) is None:
        above = above.rpartition("/")[0]
    raise _nothing(tree, f"No node of the UI tree has the path {path}", **({"deepest": above} if above else {}))


def found_by(tree: UiTree, matcher: Matcher) -> Sequence[UiNode]:
    """The nodes that ``matcher`` finds; off-screen ones only where there are no others.

    Raises ``EngineError`` (NODE_NOT_FOUND), with the explanation as its details.
    """
    nodes = find_all(tree, matcher) or find_all(tree, matcher, on_screen_only=False)
    if not nodes:
        raise _nothing(tree, "No node of the UI tree matches the selector", **explained(explain_tree(tree, matcher)))
    return nodes


def _nothing(tree: UiTree, message: str, **details: Any) -> EngineError:
    if not tree.nodes:
        return EngineError(ErrorCode.NODE_NOT_FOUND, "The UI tree has no nodes")
    hint = "The tree may be outdated: take a new snapshot, or correct the request."
    return EngineError(ErrorCode.NODE_NOT_FOUND, message, hint=hint, details=details)
