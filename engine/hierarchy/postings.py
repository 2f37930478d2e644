"""An inverted index of a tree: the nodes with a value, so that counting a matcher needs no walk over the tree.

Each column is made on first access. The results equal those of ``match.find_all`` (wire.md#matcher).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice
from typing import TypeAlias
from weakref import WeakKeyDictionary

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.nodes import UiNode, UiTree

Test: TypeAlias = tuple[str, str]
"""One field of a matcher: its name on the wire, and the wanted value."""

_FEW = 64
"""Below this number of nodes, a result is faster to compute than to cache."""
_SEARCHED = frozenset({"textContains", "contentDescContains"})

_ON_SCREEN: WeakKeyDictionary[UiTree, Postings] = WeakKeyDictionary()
_ANYWHERE: WeakKeyDictionary[UiTree, Postings] = WeakKeyDictionary()


def postings_of(tree: UiTree) -> Postings:
    """The index over the nodes on screen, cached as long as the tree exists."""
    postings = _ON_SCREEN.get(tree)
    if postings is None:
        postings = _ON_SCREEN[tree] = Postings(tree.nodes, tree.on_screen_indexes)
    return postings


def postings_anywhere(tree: UiTree) -> Postings:
    """The same over all nodes, on screen or not."""
    if len(tree.on_screen_indexes) == len(tree.nodes):
        return postings_of(tree)
    postings = _ANYWHERE.get(tree)
    if postings is None:
        postings = _ANYWHERE[tree] = Postings(tree.nodes, range(len(tree.nodes)))
    return postings


class Postings:
    """``hits`` of one or more tests as positions in ``UiTree.nodes``; a role comes last, because it is the slowest.

    Refers to the nodes but not to the tree, which it must not keep alive.
    """

    def __init__(self, nodes: Sequence[UiNode], indexes: Sequence[int]) -> None:
        self._nodes = nodes
        self._indexes = indexes
        self._single: dict[Test, frozenset[int]] = {}
        self._joint: dict[tuple[Test, ...], frozenset[int]] = {}
        self._lone: dict[str, bool] = {}

    def hits(self, tests: Sequence[Test]) -> frozenset[int]:
        """The nodes for which all of one or more tests hold."""
        if len(tests) == 1:
            return self._one(tests[0])
        key = tuple(tests)
        if (known := self._joint.get(key)) is not None:
            return known
        rest, (field, wanted) = self.hits(tests[:-1]), tests[-1]
        if field == "role" and not self._knows_roles:  # a few nodes are no reason to infer the roles of all
            role, nodes = fold(wanted), self._nodes
            found, effort = frozenset([index for index in rest if nodes[index].role == role]), len(rest)
        else:
            found = rest & self._one(tests[-1])
            effort = len(found)
        if effort > _FEW:
            self._joint[key] = found
        return found

    @property
    def _knows_roles(self) -> bool:
        return "_roles" in vars(self)

    def is_lone(self, role: str) -> bool:
        """Whether fewer than two nodes have a role, which the first two nodes often show."""
        lone = self._lone.get(role)
        if lone is None:
            nodes = self._nodes
            holders = (index for index in self._indexes if nodes[index].role == role)
            lone = self._lone[role] = len(list(islice(holders, 2))) < 2
        return lone

    def differs_by_case(self, field: str, value: str) -> bool:
        """Whether another value of this field would be equal but for letter case."""
        texts = self._labels if field == "textEquals" else self._descriptions
        return texts.spellings(fold(value)) > 1

    def _one(self, test: Test) -> frozenset[int]:
        found = self._single.get(test)
        if found is None:
            found = self._look_up(*test)
            if len(found) > _FEW or test[0] in _SEARCHED:
                self._single[test] = found
        return found

    def _look_up(self, field: str, wanted: str) -> frozenset[int]:
        match field:
            case "resourceId":
                return frozenset(self._ids.holders(wanted))
            case "role":
                return frozenset(self._roles.holders(fold(wanted)))
            case "textEquals":
                return frozenset(self._labels.holders(wanted))
            case "textContains":
                return self._labels.containing(fold(wanted))
            case "contentDescEquals":
                return frozenset(self._descriptions.holders(wanted))
            case _:
                return self._descriptions.containing(fold(wanted))

    def prepare(self) -> None:
        """Make the indexes of all fields now, to run in a thread in advance."""
        _ = self._ids, self._roles
        self._labels.prepare()
        self._descriptions.prepare()

    @cached_property
    def _attributes(self) -> Sequence[Mapping[str, str]]:
        nodes = self._nodes
        return [nodes[index].attributes for index in self._indexes]

    @cached_property
    def _ids(self) -> _Column:
        return _Column([seen.get("resource-id", "") for seen in self._attributes], self._indexes)

    @cached_property
    def _roles(self) -> _Column:
        nodes = self._nodes
        return _Column([nodes[index].role for index in self._indexes], self._indexes)

    @cached_property
    def _descriptions(self) -> _Column:
        return _Column([seen.get("content-desc", "") for seen in self._attributes], self._indexes)

    @cached_property
    def _labels(self) -> _Column:
        labels = [seen.get("text") or seen.get("content-desc", "") for seen in self._attributes]
        if any(label.isspace() for label in set(labels)):  # blank ones do not count; they are rare
            labels = [self._nodes[index].label for index in self._indexes]
        return _Column(labels, self._indexes)


class _Column:
    """One field of all nodes. Most values occur once, so two dictionaries made in one step find those."""

    def __init__(self, values: Sequence[str], indexes: Sequence[int]) -> None:
        self._values = values
        self._indexes = indexes
        self._last = dict(zip(values, indexes, strict=True))
        self._last.pop("", None)

    def holders(self, value: str) -> Sequence[int]:
        """The nodes with exactly this value."""
        last = self._last.get(value)
        if last is None:
            return ()
        return (last,) if self._first[value] == last else self._all[value]

    @cached_property
    def _first(self) -> Mapping[str, int]:
        return dict(zip(reversed(self._values), reversed(self._indexes), strict=True))

    @cached_property
    def _all(self) -> Mapping[str, Sequence[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for index, value in zip(self._indexes, self._values, strict=True):
            found[value].append(index)
        return found

    @cached_property
    def _distinct(self) -> Sequence[str]:
        return tuple(self._last)

    @cached_property
    def _starts(self) -> Sequence[int]:
        """Start of each value in ``_joined``, and the end."""
        return [0, *accumulate(len(value) + 1 for value in self._distinct)]

    @cached_property
    def _joined(self) -> str:
        return fold_long("\n".join(self._distinct))

    def prepare(self) -> None:
        _ = self._first, self._starts, self._joined

    def containing(self, wanted: str) -> frozenset[int]:
        """The nodes whose value contains ``wanted``, which is folded."""
        return frozenset(index for at in self._search(wanted) for index in self.holders(self._distinct[at]))

    def spellings(self, wanted: str) -> int:
        """The number of values that fold to ``wanted``; folding keeps lengths."""
        starts = self._starts
        return sum(starts[holder + 1] - starts[holder] - 1 == len(wanted) for holder in self._search(wanted))

    def _search(self, wanted: str) -> Iterator[int]:
        """The values that contain ``wanted``, by one search through all of them."""
        joined, starts = self._joined, self._starts
        position = joined.find(wanted)
        while position >= 0:
            holder = bisect_right(starts, position) - 1
            if position + len(wanted) < starts[holder + 1]:
                yield holder
                position = joined.find(wanted, starts[holder + 1])
            else:  # it contains a line feed, so it spans two values
                position = joined.find(wanted, position + 1)


def fold_long(text: str) -> str:
    """``fold(text)``, ten times faster where ``text`` is long: by distinct character."""
    folded = (
        text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    )  # bytes: ASCII letters alone
    for character in set(folded):
        if not character.isascii() and (other := fold(character)) != character:
            folded = folded.replace(character, other)
    return folded
