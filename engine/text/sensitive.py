"""Texts of nodes that their app marks as sensitive (Android 14 and later): what is kept, logged or streamed does not show them. Pure.

The caller's own answer, and the tree that the console shows, keep them. A mark stands in trees as the attribute
``accessibility-data-sensitive``, in the nodes of receipts and queries as ``accessibilityDataSensitive`` (wire.md#hierarchy-xml).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

HIDDEN = "[sensitive text]"
"""Stands for the text of such a node."""
MARK = "accessibility-data-sensitive"
_KEY = "accessibilityDataSensitive"
_MARKED = re.compile(rf"""\b{MARK}\s*=\s*["']true["']""")
_NODE = re.compile(r"""<[A-Za-z](?:[^<>"']|"[^"]*"?|'[^']*'?)*+>?""")
"""A tag, also one that is cut off."""
TEXT_ATTRIBUTE = r"\b(text|content-desc|hint|tooltip-text|state-description|pane-title|error)"
"""Pattern of an attribute with a text of the screen, in a tree."""
_TEXT = re.compile(TEXT_ATTRIBUTE + r"""(\s*=\s*)("[^"]+"?|'[^']+'?)""")
_TEXT_KEYS = frozenset(("label", "text", "contentDescription", "contentDesc", "hint", "value"))
_TREE = re.compile(r"<node|<hierarchy|hierarchy_xml")
_DATA = re.compile(r'"(?:data|text|query|target)"\s*:')


def hide_sensitive(text: str) -> str:
    """Return a tree, a part of one, or JSON text with nodes, without the texts of sensitive nodes."""
    if MARK in text:
        text = _NODE.sub(_hidden_node, text)
    if _KEY not in text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return (
        text if isinstance(value, str) else json.dumps(hide_in_data(value), ensure_ascii=False, separators=(",", ":"))
    )


def _hidden_node(found: re.Match[str]) -> str:
    tag = found[0]
    if tag.endswith(">") and not _MARKED.search(tag):
        return tag
    return _TEXT.sub(rf'\1\2"{HIDDEN}"', tag)  # of one that is cut off, the mark may be missing


def sensitive_texts(tree: str) -> Iterator[str]:
    """Yield the texts of the sensitive nodes of a tree, which renderings of it show as well."""
    for tag in _NODE.findall(tree) if MARK in tree else ():
        if _MARKED.search(tag):
            from html import unescape

            yield from (unescape(value.strip("\"'")) for _, _, value in _TEXT.findall(tag))


def hide_in_data(value: Any) -> Any:
    """Return JSON data without such texts."""
    match value:
        case str():
            return hide_sensitive(value)
        case Mapping():
            marked = value.get(_KEY) in (True, "true")
            return {
                name: HIDDEN if marked and name in _TEXT_KEYS and item and isinstance(item, str) else hide_in_data(item)
                for name, item in value.items()
            }
        case list() | tuple():
            return [hide_in_data(item) for item in value]
    return value


def hide_in_raw(raw: str) -> str:
    """Return a result as the device wrote it, readable or not, without them; of one that cannot be read, with a tree, only its beginning."""
    if MARK not in raw and _KEY not in raw and not _TREE.search(raw):
        return raw
    head, brace, rest = raw.partition("{")
    try:
        value = json.loads(brace + rest)
    except (ValueError, RecursionError):
        data = _DATA.search(raw)
        return raw[: data.start() if data else len(head)] + HIDDEN
    shown = hide_in_data(value)
    return raw if shown == value else head + json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
