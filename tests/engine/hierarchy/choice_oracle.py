"""Who is meant by a selector, word by word and slowly: nothing here is shared with the product but the parsed nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clawperator.engine.hierarchy.nodes import UiNode, UiTree

SCALARS = ("resourceId", "role", "textEquals", "textContains", "contentDescEquals", "contentDescContains")


class Refused(Exception):  # noqa: N818 -- a verdict, no failure
    """The code, and the nodes of which one would have to be taken."""

    def __init__(self, code: str, found: list[UiNode]) -> None:
        super().__init__(code)
        self.code, self.found = code, found


def oracle(
    tree: UiTree,
    matcher: Mapping[str, Any],
    *,
    container: Mapping[str, Any] | None = None,
    within: Mapping[str, Any] | None = None,
    nth: int | None = None,
    strict: bool = False,
) -> list[UiNode]:
    found = satisfying(tree, matcher)
    if container is not None:
        places = satisfying(tree, container)
        if not places:
            raise Refused("CONTAINER_NOT_FOUND", [])
        if strict and len(places) > 1:
            raise Refused("CONTAINER_AMBIGUOUS", places)
        found = [node for node in found if places[0] in above(node)]
    if within is not None:
        places = satisfying(tree, within)
        if len(places) != 1:
            raise Refused("CONTAINER_AMBIGUOUS" if places else "CONTAINER_NOT_FOUND", places)
        found = of_row(found, places[0])
    if nth is not None:
        if found and nth >= len(found):
            raise Refused("NODE_NOT_FOUND", found)
        return found[nth : nth + 1]
    if strict and len(found) > 1:
        raise Refused("NODE_AMBIGUOUS", found)
    return found


def of_row(found: list[UiNode], place: UiNode) -> list[UiNode]:
    path = [place, *above(place)]
    lists = [node for node in path[1:] if node.scrollable or node.role in ("list", "grid")]
    most = path[:-1] or path  # below the root
    if lists:
        rows = path[: path.index(lists[0])]
        while len(rows) > 1 and rows[-1].parent is not None and "ScrollView" in rows[-1].parent.cls:
            rows.pop()  # the one child of a ScrollView holds the rows
        most = rows
    for scope in most:
        inside = [node for node in found if scope in above(node) and node is not place]
        if inside:
            return inside
    return []


def satisfying(tree: UiTree, matcher: Mapping[str, Any]) -> list[UiNode]:
    eligible = [node for node in tree.nodes if tree.is_on_screen(node)]
    found = [node for node in eligible if holds(node, matcher)]
    if "ancestor" in matcher:
        found = [node for node in found if any(holds(up, matcher["ancestor"]) for up in above(node))]
    if "descendant" in matcher:
        inner = [node for node in eligible if holds(node, matcher["descendant"])]
        found = [node for node in found if any(node in above(each) for each in inner)]
    return found


def above(node: UiNode) -> list[UiNode]:
    path = []
    while node.parent is not None:
        node = node.parent
        path.append(node)
    return path


def holds(node: UiNode, fields: Mapping[str, Any]) -> bool:
    text, description = node.attributes.get("text", ""), node.attributes.get("content-desc", "")
    label = text if not blank(text) else "" if blank(description) else description
    tests: dict[str, Callable[[str], bool]] = {
        "resourceId": lambda wanted: wanted == node.attributes.get("resource-id", ""),
        "role": lambda wanted: wanted.lower() == node.role,
        "textEquals": lambda wanted: wanted == label,
        "textContains": lambda wanted: contains(label, wanted),
        "contentDescEquals": lambda wanted: wanted == description,
        "contentDescContains": lambda wanted: contains(description, wanted),
    }
    return all(tests[name](fields[name]) for name in SCALARS if name in fields)


def blank(text: str) -> bool:
    return all(sign.isspace() and sign != "\x85" for sign in text)


def contains(text: str, part: str) -> bool:
    """Java's ``contains`` without case: character by character."""
    starts = range(len(text) - len(part) + 1)
    return any(all(alike(text[at + n], sign) for n, sign in enumerate(part)) for at in starts)


def alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if ord(one) > 0xFFFF or ord(other) > 0xFFFF:
        return False
    ups = [sign.upper() if len(sign.upper()) == 1 else sign for sign in (one, other)]
    return ups[0] == ups[1] or ups[0].lower()[0] == ups[1].lower()[0]
