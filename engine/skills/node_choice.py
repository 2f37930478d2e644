"""Resolve the selector of a step on a new snapshot, where a matcher cannot express it, and return a matcher for the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.explain import explain_tree, is_near
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher, field_holds, field_value
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.queries import miss
from clawperator.engine.hierarchy.ranking import THROUGH_CLICKS
from clawperator.engine.hierarchy.selectors import suggest
from clawperator.engine.hierarchy.traits import summary
from clawperator.engine.skills.recipe.selectors import FIELDS, ROLES, simple_name

_SHOWN: Final = 3
_INFERRED: Final = "≈"


def choose(tree: UiTree, selector: Mapping[str, Any], action: Mapping[str, Any]) -> Matcher:
    """Return a matcher for the only node on screen that matches ``selector`` of a recipe.

    Raises NODE_NOT_FOUND (``details.{matches, nearest}``), RECIPE_SELECTOR_UNSUPPORTED for several nodes
    (``details.{matches, found}``), or if no matcher is unique for the node (``details.found``).
    """
    found = [node for node in tree.on_screen if _satisfies(node, selector)]
    if not found:
        raise EngineError(
            ErrorCode.NODE_NOT_FOUND,
            "No node on screen matches the selector of the step",
            hint="Add a wait_for_node before the step, or correct its selector.",
            details={"matches": 0, "nearest": list(_nearest(tree, selector))},
        )
    if len(found) > 1:
        raise _refusal(f"{len(found)} nodes on screen match the selector; it must match one", found)
    for candidate in suggest(tree, found[0]).candidates:
        direct = candidate.kind == "direct" or (candidate.kind in THROUGH_CLICKS and _taps(action))
        if direct and candidate.unique and _INFERRED not in candidate.flags:
            return candidate.matcher
    raise _refusal("One node on screen matches the selector, but no matcher of the Operator app identifies it", found)


def _taps(action: Mapping[str, Any]) -> bool:
    """Return whether ``action`` is a plain click, which may target a label inside the node."""
    return action["type"] == "click" and "clickType" not in action["params"]


def _satisfies(node: UiNode, selector: Mapping[str, Any]) -> bool:
    return all(_holds(node, key, wanted) for key, wanted in selector.items())


def _holds(node: UiNode, key: str, wanted: Any) -> bool:
    match key:
        case "all_of":
            return all(_satisfies(node, part) for part in wanted)
        case "any_of":
            return any(_satisfies(node, part) for part in wanted)
        case "class":
            # compare class names: the roles of a dump are inferred
            name = simple_name(node.cls)
            return wanted in (node.cls, name) or (name in ROLES and ROLES[name] == ROLES.get(simple_name(wanted)))
        case "clickable" | "enabled" | "selected":
            return getattr(node, key) is wanted
        case "index_in_parent":
            # the index in the dump counts siblings that the dump omits
            return (node.attributes.get("index") or node.path.rpartition("/")[2]) == str(wanted)
        case "annotation":
            return True
        case _:
            return field_holds(FIELDS[key], wanted, field_value(node, FIELDS[key]))


def _nearest(tree: UiTree, selector: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield nodes that match the texts but not the other keys, else those that nearly match the texts."""
    matcher = Matcher.from_fields({FIELDS[key]: wanted for key, wanted in selector.items() if key in FIELDS})
    if not matcher:
        return
    with_texts = find_all(tree, matcher)
    for node in with_texts[:_SHOWN]:
        keys = [key for key in selector if key != "annotation"]
        fields = [{"field": key, "ok": _holds(node, key, selector[key]), "wanted": selector[key]} for key in keys]
        yield {"node": summary(node), "fields": fields}
    if not with_texts:
        yield from (miss(near) for near in explain_tree(tree, matcher).nearest[:_SHOWN] if is_near(near))


def _refusal(message: str, found: list[UiNode]) -> EngineError:
    hint = "No action was performed. Add a resource_id or a text that only this node has to the selector."
    details = {"matches": len(found), "found": [summary(node) for node in found[:_SHOWN]]}
    return EngineError(ErrorCode.RECIPE_SELECTOR_UNSUPPORTED, message, hint=hint, details=details)
