"""The tree's find line: its syntax and its hits.

It is a filter (``engine/filters/grammar.py``) over nodes: words AND-ed, over label, description, id, class and role,
``key:value`` for attributes, ``!`` negates, ``re:/…/``. In addition, ``#word`` matches ids only, ``@flag`` a flag,
``"exact words"`` the whole label or description.

A word also matches texts that only look like it: characters are compared by their plain forms, and hyphens are ignored
(``wifi`` and ``wi-fi`` match ``Wi‑Fi``). Selectors do not: there, texts are equal or not.

A bare word matches a role only as a prefix of at least three letters; ``container`` and ``unknown``, which half of
every tree is, only when spelled out. ``bounds:540,1200`` matches the nodes at a point, other values part of
``[left,top][right,bottom]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.filters.grammar import Term, Vocabulary, parse_filter
from clawperator.engine.hierarchy.difference import plain
from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.widgets.text.node_names import short_class, short_id
from clawperator.widgets.text.safe import escape

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree

FILTERS = ("click", "text", "input", "scroll", "visible")
"""Flags offered as filters, in display order."""

_ROLE_LETTERS = 3
_EVERYWHERE = frozenset({"container", "unknown"})
_POINT = re.compile(r"(-?\d{1,9}),(-?\d{1,9})")


class Words(NamedTuple):
    """The searchable text of each node: folded, and without differences that cannot be seen."""

    exact: Sequence[str]
    plain: Sequence[str]


_WORDS: WeakKeyDictionary[UiTree, Words] = WeakKeyDictionary()


def words_of(tree: UiTree) -> Words:
    """Return the searchable texts: computed once per tree, some milliseconds per thousand nodes."""
    words = _WORDS.get(tree)
    if words is None:
        exact = _words(tree)
        words = _WORDS[tree] = Words(exact, [_look_of(text) for text in exact])
    return words


def _look_of(text: str) -> str:
    """Return folded text in a form that is equal for texts that look alike."""
    if text.isascii():
        return text.replace("-", "") if "-" in text else text
    return fold(plain(text)).replace("-", "")


def _words(tree: UiTree) -> Sequence[str]:
    """Return label, description, id and class, folded; id and class without their packages."""
    drawn: dict[tuple[str, str], str] = {}
    names = []
    for node in tree.nodes:
        pair = node.resource_id, node.cls
        name = drawn.get(pair)
        if name is None:
            name = drawn[pair] = fold(f"{short_id(pair[0])}\0{short_class(pair[1])}")
        names.append(name)
    columns = zip(tree.folded_labels, tree.folded_descriptions, names, strict=True)
    return [f"{label}\0{description}\0{name}" for label, description, name in columns]


Test: TypeAlias = "Callable[[UiTree, Sequence[int]], Sequence[int]]"
"""Returns which of some positions pass."""


def _flag(holds: Callable[[UiNode], bool]) -> Test:
    def test(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
        nodes = tree.nodes
        return [position for position in positions if holds(nodes[position])]

    return test


def _visible(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
    visible = tree.visible
    return [position for position in positions if visible[position]]


FLAGS: dict[str, Test] = {
    "click": _flag(lambda node: node.clickable),
    "text": _flag(lambda node: bool(node.label)),
    "input": _flag(is_editable),
    "scroll": _flag(lambda node: node.scrollable),
    "visible": _visible,
    "long": _flag(lambda node: node.long_clickable),
    "checked": _flag(lambda node: node.checked),
    "disabled": _flag(lambda node: not node.enabled),
    "focused": _flag(lambda node: node.focused),
    "selected": _flag(lambda node: node.selected),
    "password": _flag(lambda node: node.password),
    "sensitive": _flag(lambda node: node.sensitive),
}
"""Words after ``@``."""

_ATTRIBUTES: dict[str, Callable[[UiNode], str]] = {
    "text": lambda node: node.text,
    "desc": lambda node: node.content_desc,
    "id": lambda node: node.resource_id,
    "class": lambda node: node.cls,
    "package": lambda node: node.package,
    "bounds": lambda node: node.attributes.get("bounds", ""),
}
_STATES: dict[str, Test] = {
    **{name: FLAGS[name] for name in ("checked", "focused", "selected", "password", "sensitive", "visible")},
    "clickable": FLAGS["click"],
    "long-clickable": FLAGS["long"],
    "scrollable": FLAGS["scroll"],
    "checkable": _flag(lambda node: node.checkable),
    "enabled": _flag(lambda node: node.enabled),
    "focusable": _flag(lambda node: node.focusable),
}
"""Keys whose values are ``true`` and ``false``."""

VOCABULARY = Vocabulary(
    (*_ATTRIBUTES, "role", *_STATES),
    {"content-desc": "desc", "description": "desc", "resource-id": "id", "pkg": "package", "bound": "bounds"},
    {key: {"yes": "true", "no": "false"} for key in _STATES},
    fold,
    strict=False,
)


class Find(NamedTuple):
    """A parsed find line: a node is a hit when every test passes. ``problem`` describes the first invalid term."""

    text: str
    tests: tuple[Test, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.tests)

    def positions(self, tree: UiTree) -> Sequence[int]:
        """Return the pre-order positions of the hits, ascending."""
        return self.hits(tree)[0]

    def hits(self, tree: UiTree) -> tuple[Sequence[int], int]:
        """Return the positions, and how many of them match only because characters look alike."""
        found: Sequence[int] = range(len(tree.nodes)) if self.tests else ()
        for test in self.tests:
            found = test(tree, found)
        exact = found
        for test in self.tests:
            if isinstance(test, partial):
                exact = test(tree, exact, plainly=False)
        return found, len(found) - len(exact)


NO_FIND = Find("")


class _Unknown(Exception):  # noqa: N818  # never leaves this module
    """An invalid term; without a test it is ignored."""

    def __init__(self, words: str, test: Test | None = None) -> None:
        super().__init__(words)
        self.test = test


def parse_find(text: str) -> Find:
    """Parse a find line; never fails, ``problem`` describes an invalid term."""
    where = parse_filter(text, VOCABULARY)
    tests: list[Test] = []
    problem = where.problem
    for term in where.terms:
        try:
            test = _test(term)
        except _Unknown as unknown:
            problem = problem or str(unknown)
            test = unknown.test
        if test is not None:
            tests.append(_not(test) if term.negated else test)
    return Find(text, tuple(tests), problem)


def _test(term: Term) -> Test | None:
    value = term.value
    if term.pattern is not None:
        return _matches(term)
    if term.key == "role":
        return _has_role(term)
    if term.key in _STATES:
        return _is(term)
    if term.key == "bounds" and (point := _POINT.fullmatch(value)):
        x, y = int(point[1]), int(point[2])
        return _flag(lambda node: node.bounds.contains(x, y))
    if term.key:
        return _attribute(_ATTRIBUTES[term.key], term.values)
    if term.text.lstrip("!").startswith('"'):
        return _exactly(value)
    if value in ("@", "#"):
        return None
    if value.startswith("@"):
        if value[1:] not in FLAGS:
            raise _Unknown(f"unknown flag {escape(value)}. Flags: {' '.join('@' + name for name in FLAGS)}")
        return FLAGS[value[1:]]
    if value.startswith("#"):
        return _flag(lambda node: value[1:] in fold(node.resource_id))
    return partial(_contains, word=value)


def _attribute(read: Callable[[UiNode], str], values: Sequence[str]) -> Test:
    found: dict[str, bool] = {}  # most values occur many times

    def holds(node: UiNode) -> bool:
        value = read(node)
        if value not in found:
            folded = fold(value)
            found[value] = any(each in folded for each in values)
        return found[value]

    return _flag(holds)


def _not(test: Test) -> Test:
    def negated(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
        found = frozenset(test(tree, positions))
        return [position for position in positions if position not in found]

    return negated


def _is(term: Term) -> Test:
    test = _STATES[term.key]
    if term.value not in ("true", "false"):
        raise _Unknown(f"{term.key}: is true or false")
    return test if term.value == "true" else _not(test)


def _matches(term: Term) -> Test:
    def test(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
        words = words_of(tree).exact
        return [position for position in positions if term.found_in(words[position])]

    return test


def _exactly(value: str) -> Test:
    def test(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
        labels, descriptions = tree.folded_labels, tree.folded_descriptions
        return [at for at in positions if value in (labels[at], descriptions[at])]

    return test


def _has_role(term: Term) -> Test:
    roles = frozenset(name for name in ROLE_NAMES if name.startswith(term.values))
    test = _flag(lambda node: node.role in roles)
    if not roles:
        raise _Unknown(f"unknown role {escape(term.value)}. Roles: {' '.join(ROLE_NAMES)}", test)
    return test


def _contains(tree: UiTree, positions: Sequence[int], word: str, *, plainly: bool = True) -> Sequence[int]:
    """Return which positions hold ``word`` or have the role that it begins."""
    words, nodes, roles = words_of(tree), tree.nodes, _roles_meant(word)
    look = _look_of(word) if plainly else ""
    texts, wanted = (words.plain, look) if look else (words.exact, word)
    return [at for at in positions if wanted in texts[at] or (roles and nodes[at].role in roles)]


def _roles_meant(word: str) -> frozenset[str]:
    if len(word) < _ROLE_LETTERS:
        return frozenset()
    return frozenset(name for name in ROLE_NAMES if name.startswith(word) and (name == word or name not in _EVERYWHERE))
