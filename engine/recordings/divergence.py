"""Describe how the screen differs from the recorded one when a replay stops. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clawperator.engine.hierarchy.explain import Explanation, explain_tree
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.traits import summary
from clawperator.engine.recordings.replay_script import ReplayStep

CANDIDATES = 3
_LABELS = 12
_LABEL_LENGTH = 80


def expected(step: ReplayStep, phase: str) -> dict[str, Any]:
    """Return what the step requires, or its expected result."""
    if phase == "after":
        found = {"selector": step.sign.fields()} if step.sign is not None else {}
        return {**found, **({"text": dict(step.expect)} if step.expect else {})}
    answer: dict[str, Any] = {"action": step.type}
    if step.package:
        answer["package"] = step.package
    if step.target is not None:
        answer["selector"] = step.target.fields()
    return answer


def seen(tree: UiTree | None, wanted: Matcher | None) -> dict[str, Any]:
    """Return a summary of the screen: the app, the number of nodes, the matches, and the first labels."""
    if tree is None:
        return {"problem": "the UI tree is unavailable: the screen is off, secure or changing"}
    labels = dict.fromkeys(node.label[:_LABEL_LENGTH] for node in tree.on_screen if node.label)
    answer: dict[str, Any] = {"package": tree.package, "onScreen": len(tree.on_screen)}
    if wanted is not None:
        answer["matches"] = len(find_all(tree, wanted))
    return {**answer, "labels": list(labels)[:_LABELS]}


def nearest(tree: UiTree | None, wanted: Matcher | None, others: Sequence[Matcher] = ()) -> list[dict[str, Any]]:
    """Return up to three candidates, best first, each with the reason and a selector if it has one.

    Matches come first, then matches of alternative selectors, then nodes that fail the fewest fields.
    """
    if tree is None or wanted is None:
        return []
    selectors = Selectors(tree)
    found: dict[int, dict[str, Any]] = {}
    for node in find_all(tree, wanted):
        found.setdefault(node.index, _candidate(selectors, node, {"why": "it matches, as do others"}))
    for other in others:
        for node in find_all(tree, other):
            words = "another recorded selector matches it"
            found.setdefault(node.index, _candidate(selectors, node, {"why": words, "by": other.fields()}))
    for miss in explain_tree(tree, wanted, CANDIDATES).nearest:
        found.setdefault(miss.node.index, _candidate(selectors, miss.node, _reasons(miss)))
    return list(found.values())[:CANDIDATES]


def _candidate(selectors: Selectors, node: UiNode, why: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"node": summary(node)}
    if (best := selectors.best(node)) is not None:
        answer["selector"] = best.fields()
    return {**answer, **why}


def _reasons(miss: Explanation) -> dict[str, Any]:
    failing = [f"{each.field}: {each.reason}" for each in miss.fields if not each.ok]
    return {"why": "; ".join([*failing, *([miss.off_screen] if miss.off_screen else [])])}
