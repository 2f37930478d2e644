"""The tree's find line: what to look for, and which nodes it finds.

Words are AND-ed and ignore case, over label, description, id and class. ``#word`` looks at ids only, ``@flag`` at a flag,
``"exact words"`` at the whole label or description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.nodes import short_class, short_id

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode

FLAGS: dict[str, Callable[[UiNode], bool]] = {
    "click": lambda node: node.clickable,
    "long": lambda node: node.long_clickable,
    "scroll": lambda node: node.scrollable,
    "input": lambda node: "EditText" in node.cls,
    "checked": lambda node: node.checked,
    "disabled": lambda node: not node.enabled,
    "focused": lambda node: node.focused,
    "selected": lambda node: node.selected,
    "password": lambda node: node.password,
}
"""Words after ``@``."""

_TERM = re.compile(r'"([^"]*)"?|(\S+)')


class Find(NamedTuple):
    """A parsed find line: a node is found when every test holds. ``problem`` names a term that means nothing."""

    text: str
    tests: tuple[Callable[[UiNode], bool], ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.tests)

    def matches(self, node: UiNode) -> bool:
        return all(test(node) for test in self.tests)

    def positions(self, nodes: Sequence[UiNode]) -> list[int]:
        """Pre-order positions of the nodes found, ascending."""
        return [node.index for node in nodes if self.matches(node)] if self.tests else []


NO_FIND = Find("")


def parse_find(text: str) -> Find:
    """Read a find line; never fails, an unknown flag is named in ``problem``."""
    tests: list[Callable[[UiNode], bool]] = []
    problem = ""
    for match in _TERM.finditer(text):
        exact, word = match.groups()
        if exact is not None:
            if exact:
                tests.append(_exactly(exact))
        elif word.startswith("@") and len(word) > 1:
            flag = FLAGS.get(word[1:].lower())
            if flag is None:
                problem = f"no flag {word}: {' '.join('@' + name for name in FLAGS)}"
            else:
                tests.append(flag)
        elif word.startswith("#") and len(word) > 1:
            tests.append(_id_contains(word[1:].lower()))
        elif word not in "@#":
            tests.append(_contains(word.lower()))
    return Find(text, tuple(tests), problem)


def _exactly(value: str) -> Callable[[UiNode], bool]:
    return lambda node: value in (node.text, node.content_desc)


def _id_contains(value: str) -> Callable[[UiNode], bool]:
    return lambda node: value in node.resource_id.lower()


def _contains(value: str) -> Callable[[UiNode], bool]:
    # Of id and class only the part that is drawn counts: every class has "widget" in its package.
    return lambda node: (
        value in node.text.lower()
        or value in node.content_desc.lower()
        or value in short_id(node.resource_id).lower()
        or value in short_class(node.cls).lower()
    )
