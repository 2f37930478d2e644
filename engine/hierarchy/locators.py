"""Locators of other tools for a node that a matcher finds: UiSelector and XPath. Pure.

On the node's tree they find exactly this node, by the matcher's fields and, where these match more nodes, by a number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree, is_blank

_METHODS = {"resource-id": "resourceId", "text": "text", "content-desc": "description"}
_LAST_UNIT = 0xFFFF


class _Condition(NamedTuple):
    """A test of an attribute; ``part``: it contains the value, whatever the letter case."""

    attribute: str
    value: str
    part: bool


class Locators:
    """``node`` is one that ``matcher`` finds in ``tree``. Raises ``ValueError`` with the reason if no form can say it."""

    def __init__(self, tree: UiTree, node: UiNode, matcher: Matcher) -> None:
        if matcher.role:
            raise ValueError("only the Operator knows roles: choose a selector without one")
        if not matcher.fields():
            raise ValueError("only the Operator knows relations: choose a selector with a field")
        self._tree, self._node = tree, node
        self._conditions = [*_conditions(node, matcher)]

    def ui_selector(self) -> str:
        """Return Java for UiAutomator 2, and for Appium's ``-android uiautomator``. It sees the nodes on screen."""
        calls = "".join(map(_call, self._conditions))
        seen = [index for index in self._alike if self._tree.visible[index]]
        return f"new UiSelector(){calls}" + (f".instance({seen.index(self._node.index)})" if len(seen) > 1 else "")

    def xpath(self) -> str:
        """Return XPath 1.0 for dumps and Appium's page source, which have all nodes.

        Raises ``ValueError`` for invisible characters, which it cannot escape.
        """
        values = "".join(condition.value for condition in self._conditions)
        if hidden := next((each for each in values if not each.isprintable()), ""):
            raise ValueError(f"XPath has no escapes, and the text contains U+{ord(hidden):04X}")
        path = f"//*[{' and '.join(map(_predicate, self._conditions))}]"
        return path if len(self._alike) == 1 else f"({path})[{self._alike.index(self._node.index) + 1}]"

    @cached_property
    def _alike(self) -> Sequence[int]:
        """The positions of all nodes for which the conditions hold, from the tree's columns."""
        tree = self._tree
        found: Sequence[int] = range(len(tree.nodes))
        for attribute, value, part in self._conditions:
            column = tree.resource_ids if attribute == "resource-id" else tree.labels
            if attribute == "content-desc":
                column = tree.folded_descriptions if part else tree.descriptions
            elif part:
                column = tree.folded_labels
            wanted = fold(value) if part else value
            found = [index for index in found if (wanted in column[index] if part else wanted == column[index])]
            if attribute == "text":  # a label is the text unless that is blank
                found = [index for index in found if not is_blank(tree.nodes[index].text)]
        return found


def _conditions(node: UiNode, matcher: Matcher) -> Iterator[_Condition]:
    label = "content-desc" if is_blank(node.text) else "text"
    for field, value in matcher.fields().items():
        attribute = "resource-id" if field == "resourceId" else label if field.startswith("text") else "content-desc"
        yield _Condition(attribute, value, field.endswith("Contains"))


def _call(condition: _Condition) -> str:
    method = _METHODS[condition.attribute]
    if condition.part:
        return f".{method}Matches({_java(f'(?siu).*{_pattern(condition.value)}.*')})"
    return f".{method}({_java(condition.value)})"


def _java(text: str) -> str:
    """Return a string literal with invisible characters as escapes."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in written)


def _pattern(text: str) -> str:
    return "".join(
        f"\\{each}" if each.isascii() and each.isprintable() and not each.isalnum() else each for each in text
    )


def _predicate(condition: _Condition) -> str:
    name = f"@{condition.attribute}"
    if not condition.part:
        return f"{name}={_literal(condition.value)}"
    wanted = fold(condition.value)
    pairs = [(other, each) for each in dict.fromkeys(wanted) for other in _other_cases().get(each, ())]
    if pairs:
        others, folded = ("".join(column) for column in zip(*pairs, strict=True))
        name = f"translate({name},{_literal(others)},{_literal(folded)})"
    return f"contains({name},{_literal(wanted)})"


def _literal(text: str) -> str:
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    parts = ",'\"',".join(f'"{part}"' for part in text.split('"'))
    return f"concat({parts})"


@cache
def _other_cases() -> dict[str, list[str]]:
    """Return the characters that ``fold`` makes equal to each folded one, some milliseconds on first use."""
    others: dict[str, list[str]] = {}
    every = "".join(map(chr, range(_LAST_UNIT + 1)))
    for character, folded in zip(every, fold(every), strict=True):
        if character != folded:
            others.setdefault(folded, []).append(character)
    return others
