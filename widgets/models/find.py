"""The tree's search line: its syntax and its hits.

Words are AND-ed and ignore case, over label, description, id, class and role. ``#word`` matches ids only, ``role:word``
the role, ``@flag`` a flag, ``"exact words"`` the whole text or description.

A bare word matches a role only as a prefix of at least three letters; ``container`` and ``unknown``, which half of
every tree is, only when spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from clawperator.engine.contracts.roles import ROLE_NAMES
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
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


_WORDS: WeakKeyDictionary[UiTree, Sequence[str]] = WeakKeyDictionary()


def words_of(tree: UiTree) -> Sequence[str]:
    """Return the searchable text of each node: computed once per tree, some milliseconds per thousand nodes."""
    words = _WORDS.get(tree)
    if words is None:
        words = _WORDS[tree] = _words(tree)
    return words


def _words(tree: UiTree) -> Sequence[str]:
    """Return label, description, id and class, folded; of id and class only the drawn part, because every class has
    "widget" in its package.
    """
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
}
"""Words after ``@``."""


class Find(NamedTuple):
    """A parsed search line: a node is a hit when every test passes. ``problem`` names an invalid term."""

    text: str
    tests: tuple[Test, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.tests)

    def positions(self, tree: UiTree) -> Sequence[int]:
        """Return the pre-order positions of the hits, ascending."""
        found: Sequence[int] = range(len(tree.nodes)) if self.tests else ()
        for test in self.tests:
            found = test(tree, found)
        return found


NO_FIND = Find("")


def parse_find(text: str) -> Find:
    """Parse a search line; never fails, an unknown flag or role is named in ``problem``."""
    tests: list[Test] = []
    problem = ""
    for match in _TERM.finditer(text):
        exact, word = match.groups()
        if exact is not None:
            if exact:
                tests.append(_exactly(exact))
        elif word.startswith("@") and len(word) > 1:
            flag = FLAGS.get(word[1:].lower())
            if flag is not None:
                tests.append(flag)
            else:
                problem = f"unknown flag {escape(word)}. Flags: {' '.join('@' + name for name in FLAGS)}"
        elif word.startswith("#") and len(word) > 1:
            tests.append(_id_contains(word[1:].lower()))
        elif word.lower().startswith("role:"):
            roles = [name for name in ROLE_NAMES if name.startswith(word[5:].lower())]
            tests.append(_has_role(roles))
            problem = problem if roles else f"unknown role {escape(word[5:])}. Roles: {' '.join(ROLE_NAMES)}"
        elif word not in "@#":
            tests.append(_contains(word))
    return Find(text, tuple(tests), problem)


def _exactly(value: str) -> Test:
    return _flag(lambda node: value in (node.text, node.content_desc))


def _id_contains(value: str) -> Test:
    return _flag(lambda node: value in node.resource_id.lower())


def _has_role(roles: Collection[str]) -> Test:
    return _flag(lambda node: node.role in roles)


def _contains(word: str) -> Test:
    wanted = fold(word)
    roles = _roles_meant(wanted)

    def test(tree: UiTree, positions: Sequence[int]) -> Sequence[int]:
        words, nodes = words_of(tree), tree.nodes
        if not roles:
            return [at for at in positions if wanted in words[at]]
        return [at for at in positions if wanted in words[at] or nodes[at].role in roles]

    return test


def _roles_meant(word: str) -> frozenset[str]:
    if len(word) < _ROLE_LETTERS:
        return frozenset()
    return frozenset(name for name in ROLE_NAMES if name.startswith(word) and (name == word or name not in _EVERYWHERE))
