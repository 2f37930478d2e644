"""Compact views of a tree for callers with limited space: whole, as the nodes to act on and read, or as an outline.

Every view is JSON data: ``view`` (its name), ``package`` in the foreground, ``screen`` ``[width, height]`` in pixels,
``recovered`` where the dump was damaged, and

* **full**: ``text``, the dump itself.
* **interactive**: ``nodes``, only those on screen that can be acted on or read, each with ``path``, ``role``, ``label``
  (text, else description), ``desc`` where it differs, ``at`` (the centre in pixels), ``can`` and ``is`` (true flags), and a
  ready ``selector``; ``id`` only where the selector does not contain it. A selector whose ``kind`` is ``tap-through`` finds
  a label inside the node, a click on which reaches it; one that is ``approximate`` has an inferred role.
  Where no selector is unique it is null, and ``why`` is the reason.
* **compact**: ``lines``, the tree on screen, one node each, indented by depth: ``role #id @x,y can-and-is: label``.
  ``#name`` is short for the resource id ``<ids>name``; others are ``id=name``. Unlabelled containers of a single node
  are folded and counted.

A ``Budget`` limits the encoded size. Nodes beyond it are left out at the end, and ``truncated`` is added.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.match import matches
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, UiNode, UiTree
from clawperator.engine.hierarchy.serialise import RenderNode, node_xml, nodes_xml
from clawperator.engine.hierarchy.traits import abilities, is_plain, is_target, states

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.selectors import Candidate

VIEWS = ("full", "interactive", "compact")
MIN_BYTES = 512
"""Smallest budget: room for the head and the ``truncated`` record."""

_LONGEST_PACKAGE = 255
_ONE_LINE = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ONE_WORD = _ONE_LINE | {ord(" "): "\\x20", ord("\t"): "\\t"}


class Budget(NamedTuple):
    """At most ``max_bytes`` by ``size``, which returns the size of a JSON value in the caller's encoding.

    ``name`` is the caller's name for the limit. The encoding must be compact (no blanks) and encode each character by itself.
    """

    max_bytes: int
    size: Callable[[Any], int]
    name: str = "--max-bytes"


def view(tree: UiTree, name: str, xml: str, budget: Budget | None = None) -> dict[str, Any]:
    """The view called ``name`` (of ``VIEWS``) of a tree and of the dump that it was read from.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where not even an empty view fits the budget.
    """
    head: dict[str, Any] = {"view": name, "package": tree.package}
    head["screen"] = [tree.screen.width, tree.screen.height]
    if tree.recovered:
        head["recovered"] = tree.recovered
    match name:
        case "full":
            return _full(tree, head, xml, budget)
        case "interactive":
            return _listed(head, "nodes", _targets(tree), budget)
        case _:
            head["folded"] = sum(1 for node, children in _outlined(tree) if _folds(node, children))
            if ids := _usual_ids(tree):
                head["ids"] = ids
            return _listed(head, "lines", _outline(tree, ids), budget)


def as_text(tree: UiTree) -> str:
    """The ``compact`` outline as one text, with whole resource ids."""
    return "\n".join(_outline(tree, ""))


def as_json(tree: UiTree) -> str:
    """The whole tree as compact JSON text: package, screen, rotation, and the nested ``nodes``.

    A node has ``class``, ``bounds`` and ``children``, and of its texts and states those that are there. Raises ``RecursionError``
    for a tree that is too deep for JSON parsers.
    """
    roots: list[dict[str, Any]] = []
    lists: dict[int, list[dict[str, Any]]] = {}
    for node in tree.nodes:
        texts = (("resourceId", node.resource_id), ("text", node.text), ("contentDesc", node.content_desc))
        entry: dict[str, Any] = {"class": node.cls, **{key: value for key, value in texts if value}}
        if node.bounds is not NO_BOUNDS:
            entry["bounds"] = list(node.bounds)
        entry |= dict.fromkeys((*abilities(node), *states(node)), True)
        entry["children"] = lists[node.index] = []
        (roots if node.parent is None else lists[node.parent.index]).append(entry)
    head = {"package": tree.package, "screen": [tree.screen.width, tree.screen.height], "rotation": tree.rotation}
    return json.dumps({**head, "nodes": roots}, ensure_ascii=False, separators=(",", ":"))


def _targets(tree: UiTree) -> Iterator[dict[str, Any]]:
    from clawperator.engine.hierarchy.selectors import Selectors

    selectors = Selectors(tree)
    positions = _positions(tree)
    reasons: dict[tuple[str, ...], str] = {}
    for node in tree.on_screen:
        if is_target(node):
            matcher = selectors.best(node)
            selector = matcher.fields() if matcher is not None else None
            entry: dict[str, Any] = {"path": _path(node, positions), "role": node.role}
            entry |= _texts(node, selector or {})
            if node.bounds is not NO_BOUNDS:
                entry["at"] = list(node.bounds.center)
            entry |= {key: words for key, words in (("can", abilities(node)), ("is", states(node))) if words}
            entry["selector"] = selector
            if matcher is None:
                says = (node.resource_id, node.label, node.content_desc, node.role)
                if says not in reasons:
                    reasons[says] = _why_none(selectors.suggest(node).candidates)
                entry["why"] = reasons[says]
            elif not matches(node, matcher):
                entry["kind"] = "tap-through"
            elif matcher.role and node.role_approximate:
                entry["approximate"] = True
            yield entry


def _why_none(candidates: Sequence[Candidate]) -> str:
    """A short form of the reasons of ``suggest``."""
    return f"{candidates[0].matches} nodes have the same texts and id" if candidates else "it has no text and no id"


def _texts(node: UiNode, selector: Mapping[str, str]) -> dict[str, str]:
    texts = (
        ("label", node.label),
        ("desc", node.content_desc if node.content_desc != node.label else ""),
        ("id", "" if "resourceId" in selector else node.resource_id),
    )
    return {key: value for key, value in texts if value}


def _usual_ids(tree: UiTree) -> str:
    """The prefix of most resource ids on screen: ``<package>:id/``; empty where they have none."""
    beginnings = Counter(beginning for node in tree.on_screen if (beginning := _id_beginning(node.resource_id)))
    return beginnings.most_common(1)[0][0] if beginnings else ""


def _id_beginning(resource_id: str) -> str:
    package, mark, _ = resource_id.partition(":id/")
    return (package + mark).translate(_ONE_WORD) if mark and len(package) <= _LONGEST_PACKAGE else ""


def _outline(tree: UiTree, ids: str) -> Iterator[str]:
    levels: dict[int, int] = {}
    for node, children in _outlined(tree):
        level = levels[node.parent.index] if node.parent is not None else 0
        folds = _folds(node, children)
        levels[node.index] = level if folds else level + 1
        if not folds:
            yield " " * level + _line(node, ids)


def _outlined(tree: UiTree) -> Iterator[tuple[UiNode, int]]:
    """The nodes on screen, each with its number of children on screen."""
    children = [0] * len(tree.nodes)
    for node in tree.on_screen:
        if node.parent is not None:
            children[node.parent.index] += 1
    return ((node, children[node.index]) for node in tree.on_screen)


def _folds(node: UiNode, children: int) -> bool:
    return children == 1 and is_plain(node)


def _line(node: UiNode, ids: str) -> str:
    """Fields without blanks, then the label up to the end of the line."""
    words = [node.role if node.role != "unknown" else (node.cls.rpartition(".")[2] or node.tag).translate(_ONE_WORD)]
    if resource_id := node.resource_id.translate(_ONE_WORD):
        short = ids and resource_id.startswith(ids)
        words.append(f"#{resource_id.removeprefix(ids)}" if short else f"id={resource_id}")
    if node.bounds is not NO_BOUNDS:
        x, y = node.bounds.center
        words.append(f"@{x},{y}")
    line = " ".join([*words, *abilities(node), *states(node)])
    if not node.label:
        return line
    more = f" ({node.content_desc})" if "desc" in _texts(node, {}) else ""
    return f"{line}: {f'{node.label}{more}'.translate(_ONE_LINE)}"


def _full(tree: UiTree, head: Mapping[str, Any], xml: str, budget: Budget | None) -> dict[str, Any]:
    """The dump. Beyond the budget, a well-formed one of the nodes that fit."""
    answer = {**head, "text": xml}
    if budget is None or (whole := budget.size(answer)) <= budget.max_bytes:
        return answer
    positions = _positions(tree)
    fragments = [budget.size(fragment) - budget.size("") for fragment in _fragments(tree, positions)]

    def written(count: int) -> str:
        return nodes_xml(_pruned(tree, positions, count), rotation=tree.rotation, extras=True)

    return _fitted({**head, "text": written(0)}, "text", fragments, written, whole=whole, budget=budget)


def _listed(head: Mapping[str, Any], key: str, items: Iterable[Any], budget: Budget | None) -> dict[str, Any]:
    """A view that is a list under ``key``; beyond the budget, items are only measured."""
    if budget is None:
        return {**head, key: list(items)}
    empty = {**head, key: []}
    kept: list[Any] = []
    sizes: list[int] = []
    spent = budget.size(empty)
    for item in items:
        sizes.append(budget.size(item) + (1 if sizes else 0))
        spent += sizes[-1]
        if spent <= budget.max_bytes:
            kept.append(item)
    return _fitted(empty, key, sizes, lambda count: kept[:count], whole=spent, budget=budget)


def _fitted(
    empty: Mapping[str, Any], key: str, sizes: Sequence[int], make: Callable[[int], Any], *, whole: int, budget: Budget
) -> dict[str, Any]:
    """All items if they fit, else the longest beginning that fits together with the ``truncated`` record.

    ``sizes`` are the sizes that the items add to the ``empty`` view, ``make`` returns the value of the first ones. ``whole`` is
    the size of the view without a budget. The record is placed before the value.
    """
    ends = [0, *accumulate(sizes)]
    if budget.size(empty) + ends[-1] <= budget.max_bytes:
        return {**empty, key: make(len(sizes))}
    head, nothing = {name: value for name, value in empty.items() if name != key}, empty[key]
    least = 0
    for shown in range(bisect_right(ends, budget.max_bytes) - 1, -1, -1):
        record = {
            "shown": shown,
            "total": len(sizes),
            "maxBytes": budget.max_bytes,
            "bytes": whole,
            "hint": f"The end is missing. Use {budget.name} {whole} for everything.",
        }
        least = budget.size({**head, "truncated": record, key: nothing}) + ends[shown]
        if least <= budget.max_bytes:
            return {**head, "truncated": record, key: make(shown)}
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        f"{budget.name} {budget.max_bytes} is too small for any view of this tree",
        hint=f"Give {budget.name} {least} or more; {whole} show everything.",
        details={"path": budget.name, "least": least, "bytes": whole},
    )


def _positions(tree: UiTree) -> list[int]:
    """The position of each node among its siblings."""
    seen: dict[int, int] = {}
    answer: list[int] = []
    for node in tree.nodes:
        parent = node.parent.index if node.parent is not None else -1
        answer.append(seen.get(parent, 0))
        seen[parent] = answer[-1] + 1
    return answer


def _path(node: UiNode, positions: Sequence[int]) -> str:
    """``UiNode.path`` without building the children of every parent."""
    return "/".join(str(positions[above.index]) for above in (*reversed([*node.ancestors]), node))


def _fragments(tree: UiTree, positions: Sequence[int]) -> Iterator[str]:
    """The text that each node adds to a dump: its line and, for a first child, its parent's closing tag."""
    for node in tree.nodes:
        line = f"{'  ' * (node.depth + 1)}{node_xml(_rendered(node, positions))}\n"
        if node.parent is not None and positions[node.index] == 0:
            line += f"{'  ' * node.depth}</node>"  # its line break is what the opening tag saves by not ending in " />"
        yield line


def _rendered(node: UiNode, positions: Sequence[int], children: Sequence[RenderNode] = ()) -> RenderNode:
    own = {"index": str(positions[node.index]), **node.attributes, "class": node.cls}
    return RenderNode(own, children)


def _pruned(tree: UiTree, positions: Sequence[int], count: int) -> list[RenderNode]:
    """The roots of the first ``count`` nodes."""
    children: dict[int, list[RenderNode]] = {}
    for node in reversed(tree.nodes[:count]):
        inside = children.pop(node.index, [])
        parent = node.parent.index if node.parent is not None else -1
        children.setdefault(parent, []).append(_rendered(node, positions, inside[::-1]))
    return children.get(-1, [])[::-1]
