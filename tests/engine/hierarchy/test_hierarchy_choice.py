"""Which nodes an action may take: against a slow reading of the rules, over real captures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.choice import ChoiceError, candidates, finder
from clawperator.engine.hierarchy.explain import explain_tree
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.tree import parse
from tests.engine.hierarchy.choice_oracle import Refused, above, oracle, satisfying
from tests.support import examples, table

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
BUNDLED = tuple(sorted(DATA.glob("*.xml")))
_MOST_NODES = 1_500
YES: st.SearchStrategy[Any] = st.booleans()
_TAKEN = ("resourceId", "role", "textEquals", "textContains", "contentDescEquals", "contentDescContains")


@cache
def captured(path: Path) -> UiTree | None:
    """Return a capture that the slow reading can work on."""
    try:
        tree = parse(path.read_bytes(), recover=True)
    except EngineError:
        return None
    return tree if 1 < len(tree.nodes) <= _MOST_NODES else None


def scalars(data: st.DataObject, node: UiNode) -> dict[str, str]:
    """Draw some fields that ``node`` satisfies; at least one if it has any."""
    text = node.label
    values = {
        "resourceId": node.resource_id,
        "role": node.role,
        "textEquals": text,
        "textContains": text[1:9].swapcase(),
        "contentDescEquals": node.content_desc,
        "contentDescContains": node.content_desc[:7],
    }
    given = [name for name in _TAKEN if values[name].strip()]
    return {name: values[name] for name in data.draw(st.sets(st.sampled_from(given), min_size=1, max_size=2))}


def wanted(data: st.DataObject, tree: UiTree) -> dict[str, Any]:
    """Draw a matcher that a node of the tree satisfies, or nearly."""
    node = data.draw(st.sampled_from(tree.nodes))
    fields: dict[str, Any] = dict(scalars(data, node))
    around = {"ancestor": above(node), "descendant": list(node.descendants)}
    for name, others in around.items():
        if others and data.draw(YES):
            fields[name] = scalars(data, data.draw(st.sampled_from(others)))
    related = {name: value for name, value in fields.items() if isinstance(value, dict)}
    return related if related and data.draw(YES) else fields


def taken(tree: UiTree, matcher: Mapping[str, Any], **limits: Any) -> tuple[str, list[UiNode]]:
    places: dict[str, Any] = {name: finder(limits.pop(name)) for name in ("container", "within") if name in limits}
    try:
        return "", list(candidates(tree, finder(matcher), **places, **limits))
    except ChoiceError as exc:
        return exc.code.value, list(exc.found)


def by_reading(tree: UiTree, matcher: Mapping[str, Any], **limits: Any) -> tuple[str, list[UiNode]]:
    try:
        return "", oracle(tree, matcher, **limits)
    except Refused as exc:
        return exc.code, exc.found


def check(data: st.DataObject, tree: UiTree) -> None:
    matcher = wanted(data, tree)
    limits: dict[str, Any] = {}
    if data.draw(st.booleans()):
        limits["container"] = wanted(data, tree)
    if data.draw(st.booleans()):
        limits["within"] = wanted(data, tree)
    limits["strict"] = data.draw(st.booleans())
    limits["nth"] = data.draw(st.sampled_from([None, 0, 1, 2, 3]))
    assert taken(tree, matcher, **limits) == by_reading(tree, matcher, **limits)
    explained = explain_tree(tree, Matcher.from_fields(matcher))
    assert explained.matches == len(satisfying(tree, matcher))


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from([path for path in BUNDLED if captured(path)]), st.data())
def test_a_choice_is_what_the_rules_say(path: Path, data: st.DataObject) -> None:
    tree = captured(path)
    assert tree is not None
    check(data, tree)


@pytest.mark.ci
def test_over_the_corpus(corpus: Path) -> None:
    paths = [path for path in sorted((corpus / "hierarchies").glob("*.xml")) if captured(path)]
    assert len(paths) > 100

    @settings(max_examples=examples(1_000), deadline=None)
    @given(st.sampled_from(paths), st.data())
    def every(path: Path, data: st.DataObject) -> None:
        tree = captured(path)
        assert tree is not None
        check(data, tree)

    every()


@table("path", BUNDLED, ids=lambda path: path.stem)
def test_what_is_suggested_for_twins_finds_only_one(path: Path) -> None:
    tree = captured(path)
    if tree is None:
        return
    selectors = Selectors(tree)
    for node in tree.on_screen:
        for way in selectors.suggest(node).candidates:
            if way.kind in ("related", "inside"):
                place = None if way.container is None else way.container.to_dict()
                assert oracle(tree, way.matcher.to_dict(), container=place, strict=True) == [node]
