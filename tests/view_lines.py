"""Read the lines of views: written from ``docs/reference/execution.md`` (Views), as a client would, not from the product."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_ACTIONS = ("click", "longClick", "scroll", "edit", "no-click")
_STATES = ("checked", "unchecked", "selected", "focused", "disabled", "password", "sensitive")
_FIELDS = {"id": "resourceId", "role": "role", "text": "textEquals", "desc": "contentDescEquals"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|([nrt\\]))")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def lines_of(view: Mapping[str, Any]) -> list[str]:
    text: str = view["lines"]
    return text.split("\n") if text else []


def nodes_of(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes of an interactive or compact view; of the former each with its ``selector``, ``None`` where its reference is it."""
    nodes = [read_line(line) for line in lines_of(view)]
    owner = view.get("ids", view["package"])
    for node in nodes:
        node["short"] = "id" in node and ":" not in node["id"]
        if node["short"]:
            node["id"] = f"{owner}:id/{node['id']}"
    if view["view"] == "interactive":
        by_ref = {node["ref"]: node for node in nodes}
        for node in nodes:
            node["selector"] = _selector(node, owner)
        for node in nodes:
            if (other := by_ref.get(node.get("by", ""))) is not None:
                node |= {"selector": other["selector"], "click": True}
    return nodes


def _selector(node: dict[str, Any], owner: str) -> dict[str, str] | None:
    by = node.get("by", "")
    node["guessed"], by = by.startswith("~"), by.removeprefix("~")
    if by.startswith("click "):
        node["click"], by = True, by.removeprefix("click ")
    if by.startswith("{"):
        fields: dict[str, str] = json.loads(by)
        if "resourceId" in fields and ":" not in fields["resourceId"]:
            fields["resourceId"] = f"{owner}:id/{fields['resourceId']}"
        return fields
    if by == "ref" or re.fullmatch(r"e\d+", by):
        return None
    own = by.split("+") if by else [next(name for name in ("id", "text", "desc") if name in node)]
    return {_FIELDS[name]: str(node.get(name, node.get("text"))) for name in own}


def read_line(line: str) -> dict[str, Any]:
    """Return the parts of a line: ``level``, ``role``, ``ref``, ``id``, ``at``, ``can``, states, ``by`` and texts."""
    node: dict[str, Any] = {"level": len(line) - len(line.lstrip(" "))}
    rest, words, texts = line[node["level"] :], [], ""
    while rest:
        if rest.startswith(": "):
            node["first"], texts, rest = "text", rest[2:], ""
        elif found := re.match(r"(desc|hint): ", rest):
            node["first"], texts, rest = found[1], rest[found.end() :], ""
        elif found := re.match(r"by (~?(?:click )?)(\{)?", rest):
            start, end = found.end(1), len(rest)
            if found[2]:
                _, end = json.JSONDecoder().raw_decode(rest, start)
            else:
                end = re.compile(r"[\w+]*").match(rest, start).end()  # type: ignore[union-attr]  # it matches the empty text
            node["by"], rest = rest[3:end], rest[end:].removeprefix(" ")
        else:
            found = re.match(r"(\S+?)(?:(?=: )| |$)", rest)
            assert found, line
            words.append(found[1])
            rest = rest[found.end() :]
    if first := node.pop("first", None):
        parts = re.split(r" \((desc|hint): ", texts)
        closed = [part if number == 0 else part.removesuffix(")") for number, part in enumerate(parts[::2])]
        node |= {name: _unescaped(part) for name, part in zip((first, *parts[1::2]), closed, strict=True)}
    _words(node, words)
    return node


def _words(node: dict[str, Any], words: list[str]) -> None:
    can = [word for word in words if word in _ACTIONS]
    for word in words:
        if found := re.fullmatch(r"e\d+", word):
            node["ref"] = word
        elif found := re.fullmatch(r"@(-?\d+),(-?\d+)", word):
            node["at"] = [int(found[1]), int(found[2])]
        elif word.startswith("id="):
            node["id"] = _unescaped(word[3:])
        elif word in _STATES:
            name = {"unchecked": "checked", "disabled": "enabled"}.get(word, word)
            node[name] = word not in ("unchecked", "disabled")
        elif word not in _ACTIONS:
            assert "role" not in node, words
            node["role"] = _unescaped(word)
    node.setdefault("role", "label" if {"text", "desc", "hint"} & node.keys() else "container")
    if "at" in node:
        if "no-click" not in can and can != ["scroll"]:
            can.append("click")
        can += ["check"] * ("checked" in node) + ["edit"] * (node["role"] == "textfield")
    node["can"] = {*can} - {"no-click"}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _PLAIN.get(found[3] or "") or chr(int(found[1] or found[2], 16)), text)
