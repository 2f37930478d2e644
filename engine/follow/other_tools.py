"""UI trees as other tools print them: XML inside a JSON text (Appium's answer, its log), and trees in JSON (Maestro). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from clawperator.engine.hierarchy.serialise import RenderNode, nodes_xml

_QUOTED = re.compile(r'"(?:\s|\\[nrt])*(?:<|\\u003[cC])(?:\?xml|hierarchy|displays|node)\b')
_OBJECT = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_JSON = json.JSONDecoder(strict=False)
_MOST = 16 * 1024 * 1024
"""Characters of a tree in JSON: its objects take many times that."""
_OPENINGS = 20
"""How many lines before the tree may look like its beginning."""
_NAMES = {
    "resourceid": "resource-id",
    "contentdescription": "content-desc",
    "contentdesc": "content-desc",
    "accessibilitytext": "content-desc",
    "classname": "class",
    "packagename": "package",
    "hinttext": "hint",
    "longclickable": "long-clickable",
}
"""Other names of the attributes of a dump, without letter case, hyphens and underscores."""
_NUMBERS = re.compile(r"-?\d{1,9}")
_LARGEST = 10**9


def document(text: str) -> tuple[str, str] | None:
    """Return the hierarchy XML of another tool's output, and a note about where it was; ``None`` without any."""
    if (quoted := _QUOTED.search(text)) is not None and (found := _decoded(text, quoted.start())) is not None:
        return (found, "the XML inside a JSON text was read") if str(found).rstrip().endswith(">") else None
    if len(text) > _MOST:
        return None
    for opening in islice(_OBJECT.finditer(text), _OPENINGS):
        roots = [node for node in _listed(_decoded(text, opening.end() - 1)) if _is_node(node)]
        try:
            if nodes := [_node(root) for root in roots]:
                return nodes_xml(nodes, extras=True), "a tree in JSON was read"
        except RecursionError:
            return None
    return None


def _decoded(text: str, start: int) -> Any:
    try:
        return _JSON.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_node(value: Any) -> bool:
    return isinstance(value, Mapping) and (isinstance(value.get("attributes"), Mapping) or "bounds" in value)


def _node(value: Mapping[str, Any]) -> RenderNode:
    inner = value.get("attributes")
    own = dict(_attributes(value.items()))
    if isinstance(inner, Mapping):
        own |= dict(_attributes(inner.items()))
    children = [_node(child) for child in _listed(value.get("children", [])) if isinstance(child, Mapping)]
    return RenderNode(own, children)


def _attributes(items: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, object]]:
    for name, value in items:
        known = _NAMES.get(re.sub("[-_]", "", name).lower(), name)
        if known == "bounds":
            if len(numbers := _rectangle(value)) == 4:
                yield "bounds", "[{},{}][{},{}]".format(*numbers)
        elif isinstance(value, str | bool | int) and re.fullmatch(r"[A-Za-z][\w-]*", known, re.ASCII):
            yield known, value


def _rectangle(value: Any) -> Sequence[object]:
    """Return left, top, right, bottom of a text, a list, or a mapping of edges or of a corner with width and height."""
    if not isinstance(value, Mapping):
        return _NUMBERS.findall(value if isinstance(value, str) else str(value))
    if {"x", "y", "width", "height"} <= value.keys():
        left, top, width, height = (value[name] for name in ("x", "y", "width", "height"))
        whole = all(isinstance(number, int) and abs(number) < _LARGEST for number in (left, top, width, height))
        return (left, top, left + width, top + height) if whole else ()
    return _NUMBERS.findall(str([value.get(side) for side in ("left", "top", "right", "bottom")]))
