"""Infer semantic roles from a dump as the Operator infers them from the live node (wire.md#roles).

The Operator also uses collection info, headings, orientation and screen-reader focus, which its dump does not contain.
Rules that need them are guessed from geometry and neighbours or skipped, and the role is then marked *approximate*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol

from clawperator.engine.contracts.roles import ROLE_NAMES

_LAYOUT = "layout"
_RECYCLER = "recycler"
_CLASS_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("viewpager",), "pager"),
    (("button",), "button"),
    (("edittext", "textinputedittext", "autocompletetextview"), "textfield"),
    (("switch",), "switch"),
    (("checkbox",), "checkbox"),
    (("recyclerview",), _RECYCLER),
    (("listview",), "list"),
    (("gridview",), "grid"),
    (("toolbar",), "toolbar"),
    (("tablayout", "bottomnavigationview"), "tabbar"),
    (("imageview",), "image"),
    (("chip",), "chip"),
    (("linearlayout", "framelayout", "constraintlayout", "coordinatorlayout"), _LAYOUT),
)
"""Rules 2 to 14 and 17: fragments of the lower-case class name → role, first hit wins."""

_TAB_CLASSES = ("tablayout", "bottomnavigationview")
_TAB_IDS = ("tab", "navigation", "bottom")
_ITEM_HOLDERS = ("recyclerview", "listview", "gridview")
_LONG_TEXT = 20


class _Corner(Protocol):
    @property
    def left(self) -> int: ...
    @property
    def top(self) -> int: ...


class _Node(Protocol):
    """The properties of a ``UiNode`` that decide its role."""

    @property
    def attributes(self) -> Mapping[str, str]: ...
    @property
    def parent(self) -> _Node | None: ...
    @property
    def children(self) -> Sequence[_Node]: ...
    @property
    def cls(self) -> str: ...
    @property
    def resource_id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def effectively_clickable(self) -> bool: ...
    @property
    def bounds(self) -> _Corner: ...


class Role(NamedTuple):
    """A role name, and whether the device may infer another one from facts that the dump does not contain."""

    name: str
    approximate: bool


_EXACT = {name: Role(name, approximate=False) for name in ROLE_NAMES}
_GUESS = {name: Role(name, approximate=True) for name in ROLE_NAMES}


def infer(node: _Node) -> Role:
    """The role of one node: a few dictionary look-ups; class rules are cached per class name."""
    parent = node.parent
    label = node.label
    if label and parent is not None and _holds_tabs(parent.cls, parent.resource_id):
        return _EXACT["tab"]
    by_class = _class_role(node.cls)
    if by_class == "image":
        return _EXACT["icon" if node.effectively_clickable else "image"]
    if by_class == _RECYCLER:
        return _GUESS["grid" if _side_by_side(node.children) else "list"]
    if by_class and by_class != _LAYOUT:
        return _EXACT[by_class]
    return _without_widget_class(node, parent, label, is_layout=by_class == _LAYOUT)


def _without_widget_class(node: _Node, parent: _Node | None, label: str, *, is_layout: bool) -> Role:
    """Rules 15 to 20. *Clickable* is the derived property of wire.md#tree-used-for-matching, which counts three ancestors."""
    heading = node.attributes.get("heading") == "true"
    if parent is not None and _holds_items(parent.cls):
        name = "listitem"
    elif label and heading:
        name = "title"
    elif is_layout:
        name = "container"
    elif not label:
        name = "unknown"
    elif node.effectively_clickable:
        name = "text" if " " in label and len(label) > _LONG_TEXT else "button"
    elif parent is not None and "toolbar" in parent.cls.lower():
        name = "title"
    else:
        name = "label" if node.attributes.get("screen-reader-focusable") == "true" else "text"
    return _GUESS[name]


@lru_cache(maxsize=2048)
def _class_role(cls: str) -> str:
    lowered = cls.lower()
    for fragments, role in _CLASS_RULES:
        if any(fragment in lowered for fragment in fragments):
            return role
    return ""


@lru_cache(maxsize=2048)
def _holds_tabs(cls: str, resource_id: str) -> bool:
    lowered, lowered_id = cls.lower(), resource_id.lower()
    return any(name in lowered for name in _TAB_CLASSES) or any(name in lowered_id for name in _TAB_IDS)


@lru_cache(maxsize=2048)
def _holds_items(cls: str) -> bool:
    """Whether a view gives its children collection-item info."""
    lowered = cls.lower()
    return any(name in lowered for name in _ITEM_HOLDERS)


def _side_by_side(children: Sequence[_Node]) -> bool:
    """Whether some children are on one line: the layout then reports more than one column (a horizontal list too)."""
    for left, right in pairwise(children):
        if left.bounds.top == right.bounds.top and left.bounds.left != right.bounds.left:
            return True
    return False
