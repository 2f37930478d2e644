"""Trees → hierarchy XML, byte for byte the way the Operator writes it (wire.md#hierarchy-xml).

Anything with ``.attributes`` and ``.children`` is a node here: a parsed ``UiNode`` as well as a screen of the simulator.
``render_node`` makes such a node from a mapping::

    button = render_node({"text": "OK", "class": "android.widget.Button", "clickable": True, "bounds": "[0,0][90,40]"})
    xml = hierarchy_xml(render_node({"class": "android.widget.FrameLayout"}, [button]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

DECLARATION = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"

STRING_ATTRIBUTES = ("text", "resource-id", "class", "package", "content-desc")
FLAG_ATTRIBUTES = (
    "checkable",
    "checked",
    "clickable",
    "enabled",
    "focusable",
    "focused",
    "scrollable",
    "long-clickable",
    "password",
    "selected",
)
ATTRIBUTES = ("index", *STRING_ATTRIBUTES, *FLAG_ATTRIBUTES, "bounds")
"""The Operator's attributes in its order; it writes all of them on every node."""

_DEFAULTS = dict.fromkeys(FLAG_ATTRIBUTES, "false") | {"enabled": "true", "bounds": "[0,0][0,0]"}
_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "'": "&apos;", "<": "&lt;", ">": "&gt;"})


class Renderable(Protocol):
    """A node that can be written: attribute values are str, bool, int or a four-number bounds tuple."""

    @property
    def attributes(self) -> Mapping[str, object]: ...
    @property
    def children(self) -> Sequence[Renderable]: ...


class RenderNode(NamedTuple):
    """The simplest ``Renderable``."""

    attributes: Mapping[str, object]
    children: Sequence[Renderable] = ()


def render_node(attributes: Mapping[str, object], children: Iterable[Renderable] = ()) -> RenderNode:
    """A node to write. Names are those of the dump (``resource-id``, ``content-desc``); what is absent gets the empty
    value (strings ``""``, flags ``false`` but ``enabled``, bounds ``[0,0][0,0]``, index the position among siblings).
    """
    return RenderNode(attributes, tuple(children))


def hierarchy_xml(root: Renderable, rotation: int = 0) -> str:
    """The dump of one window: declaration, ``<hierarchy rotation=…>``, one root ``node``, a line feed at the end."""
    return nodes_xml([root], rotation=rotation)


def nodes_xml(roots: Iterable[Renderable], *, rotation: int = 0, extras: bool = False) -> str:
    """The same with 0…n roots; ``extras`` keeps attributes the Operator does not write, after its own."""
    lines = [DECLARATION, f'<hierarchy rotation="{rotation}">']
    lines.extend(_lines(roots, 1, extras=extras))
    lines.append("</hierarchy>\n")
    return "\n".join(lines)


def node_xml(node: Renderable, *, extras: bool = True) -> str:
    """One node with its subtree as a fragment, for copying: not indented at the top, no line feed at the end."""
    return "\n".join(_lines([node], 0, extras=extras))


def _lines(roots: Iterable[Renderable], depth: int, *, extras: bool) -> Iterable[str]:
    """Document order without recursion: dumps may be thousands of levels deep."""
    levels = [enumerate(roots)]
    while levels:
        position, node = next(levels[-1], (0, None))
        indent = "  " * (depth + len(levels) - 1)
        if node is None:
            levels.pop()
            if levels:
                yield f"{indent[2:]}</node>"
        elif node.children:
            yield f"{indent}<node {_attributes(node.attributes, position, extras=extras)}>"
            levels.append(enumerate(node.children))
        else:
            yield f"{indent}<node {_attributes(node.attributes, position, extras=extras)} />"


def written(attributes: Mapping[str, object], position: int, *, extras: bool = False) -> dict[str, str]:
    """A node's attributes as the Operator would write them, in its order, not escaped; with ``extras`` also those it does not write."""
    found = attributes.get
    values = {
        name: value if type(value := found(name)) is str else _value(value, name, position) for name in ATTRIBUTES
    }
    if extras and attributes.keys() - values.keys():
        values |= {name: _value(value, name, position) for name, value in attributes.items() if name not in values}
    return values


def _attributes(attributes: Mapping[str, object], position: int, *, extras: bool) -> str:
    values = written(attributes, position, extras=extras)
    # Most values are plain words, and checking that is cheaper than translating them.
    return " ".join(
        [f'{name}="{value if value.isalnum() else value.translate(_ESCAPES)}"' for name, value in values.items()]
    )


def _value(value: object, name: str, position: int) -> str:
    match value:
        case str():
            return value
        case None:
            return str(position) if name == "index" else _DEFAULTS.get(name, "")
        case bool():
            return "true" if value else "false"
        case (left, top, right, bottom):
            return f"[{left},{top}][{right},{bottom}]"
        case _:
            return str(value)
