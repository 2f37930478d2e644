"""The promise: where any set of the six fields with a node's full values singles it out, the first suggestion does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.match import FIELDS, Matcher, find_all, matches
from clawperator.engine.hierarchy.matcher import field_holds, field_value
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.tree import UiNode, UiTree, parse
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
LONGEST = 512
SUBSETS = tuple(chain.from_iterable(combinations(FIELDS, size) for size in range(1, len(FIELDS) + 1)))


class Exhaustive:
    """Every set of fields, each field tried on every different value of the screen; one bit per node on it."""

    def __init__(self, tree: UiTree) -> None:
        self.tree = tree
        self.known: dict[tuple[str, str], int] = {}

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, int]]:
        columns: dict[str, dict[str, int]] = {field: {} for field in FIELDS}
        for position, node in enumerate(self.tree.on_screen):
            for field, column in columns.items():
                value = field_value(node, field)
                column[value] = column.get(value, 0) | 1 << position
        return columns

    def passing(self, field: str, wanted: str) -> int:
        if (field, wanted) not in self.known:
            found = 0
            for value, holders in self.columns[field].items():
                if field_holds(field, wanted, value):
                    found |= holders
            self.known[field, wanted] = found
        return self.known[field, wanted]

    def unique(self, node: UiNode) -> bool:
        values = {field: field_value(node, field) for field in FIELDS}
        passing = {
            field: self.passing(field, value)
            for field, value in values.items()
            if value and len(value.encode("utf-16-le")) // 2 <= LONGEST
        }
        for subset in SUBSETS:
            if not all(field in passing for field in subset):
                continue
            found = -1
            for field in subset:
                found &= passing[field]
            if found.bit_count() == 1:
                return True
        return False


def check_promise(tree: UiTree, name: str) -> tuple[int, int]:
    """How many nodes were looked at, and how many of them had a unique set."""
    exhaustive, selectors = Exhaustive(tree), Selectors(tree)
    targets = [node for node in tree.on_screen if node.clickable or node.label]
    addressable = 0
    for node in targets:
        best = selectors.suggest(node).best
        assert best is not None
        exists = exhaustive.unique(node)
        addressable += exists
        if exists:
            assert (best.unique, best.kind, best.found) == (True, "direct", node), (name, node.path, best)
            assert matches(node, best.matcher), (name, node.path, best)
        assert selectors.best(node) == (
            best.matcher if best.unique and not best.matcher.relations() and best.kind != "inside" else None
        ), (name, node.path)
    return len(targets), addressable


@table("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.stem)
def test_bundled_captures_keep_the_promise(path: Path) -> None:
    tree = parse(path.read_bytes())
    targets, addressable = check_promise(tree, path.name)
    assert addressable or not targets


def readable(folder: Path) -> Iterator[tuple[str, UiTree]]:
    for path in sorted(folder.rglob("*.xml")):
        with suppress(EngineError):  # which of them are refused, and why, is said in test_tree_corpus
            yield path.name, parse(path.read_bytes(), recover=True)


@pytest.mark.ci
def test_the_whole_corpus_keeps_the_promise(corpus: Path) -> None:
    totals = [check_promise(tree, name) for name, tree in readable(corpus / "hierarchies")]
    targets, addressable = (sum(column) for column in zip(*totals, strict=True))
    assert len(totals) > 100
    assert targets > 5_000
    assert addressable > targets / 2


def test_the_exhaustive_search_counts_like_the_matcher() -> None:
    """The yardstick itself: its bits are those of ``find_all``."""
    tree = parse((DATA / "nora-chat-chat.xml").read_bytes())
    exhaustive = Exhaustive(tree)
    for node in tree.on_screen:
        for field in FIELDS:
            if value := field_value(node, field):
                found = find_all(tree, Matcher.from_fields({field: value}))
                bits = exhaustive.passing(field, value)
                assert [tree.on_screen[at] for at in range(bits.bit_length()) if bits >> at & 1] == list(found)
