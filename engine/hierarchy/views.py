"""Compact views of a tree for callers with limited space: whole, as the nodes to act on and read, as an outline, as changes.

Every view is JSON data: ``view`` (its name), ``tree`` (the id of the dump), ``package`` in the foreground, ``screen``
``[width, height]`` in pixels, ``recovered`` where the dump was damaged, ``blind`` where something is not in the tree (``blind``), and

* **full**: ``text``, the dump itself.
* **interactive**: ``nodes``, only those on screen that can be acted on or read, each with ``ref``, ``path``, ``role`` (``traits.kind``),
  the texts (``traits.texts``), ``at`` (``UiTree.point_of``, in pixels), ``can``, the state (``traits.states``), and a ready ``selector``; ``id``
  only where the selector does not contain it. A selector whose ``kind`` is ``tap-through`` finds a label inside the node, one whose
  kind is ``row`` the row around it: a click there reaches it. One that is ``approximate`` has an inferred role.
  Where no selector is unique it is null; ``why`` is the reason.
* **compact**: ``lines``, the tree on screen, one node each, indented by depth: ``role ref id=… @x,y can state: text``, with ``hint: …`` or
  ``desc: …`` where there is no text. Nodes that can be acted on have ``ref`` and their point. Containers without text, id of the app and action
  are omitted, pictures without text and action and counted (``folded``).
* **diff**: the compact view where that is smaller or a budget cuts it; else ``lines`` are a unified diff (``line_diff``) that turns the
  lines of the compact view of the tree ``from`` into those of this one. Only with that view at hand it says anything about lines that it
  does not contain. It is never truncated.

``ref`` is the number of the node: ``e12`` of the tree ``7f3a1b2c`` is ``e12@7f3a1b2c``. A ``Budget`` limits the encoded size. Nodes beyond it
are left out at the end, and ``truncated`` is added.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.references import tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy import blind
from clawperator.engine.hierarchy.line_diff import line_diff
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, UiNode, UiTree
from clawperator.engine.hierarchy.serialise import RenderNode, node_xml, nodes_xml
from clawperator.engine.hierarchy.traits import abilities, is_plain, is_target, kind, states, texts

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.selectors import Candidate

VIEWS = ("full", "interactive", "compact")
MIN_BYTES = 512
"""Smallest budget: room for the head and the ``truncated`` record."""

_NO_FACTS = blind.Facts()
_ONE_LINE = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ONE_WORD = _ONE_LINE | {ord(" "): "\\x20", ord("\t"): "\\t"}


class Budget(NamedTuple):
    """At most ``max_bytes`` by ``size``, which returns the size of a JSON value in the caller's encoding.

    ``name`` is the caller's name for the limit. The encoding must be compact (no blanks) and encode each character by itself.
    """

    max_bytes: int
    size: Callable[[Any], int]
    name: str = "--max-bytes"


def view(
    tree: UiTree, name: str, xml: str, budget: Budget | None = None, facts: blind.Facts = _NO_FACTS
) -> dict[str, Any]:
    """The view called ``name`` (of ``VIEWS``) of a tree and of the dump that it was read from.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where not even an empty view fits the budget.
    """
    match name:
        case "full":
            return _full(tree, _head(tree, name, tree_id(xml), facts), xml, budget)
        case "interactive":
            return _listed(_head(tree, name, tree_id(xml), facts), "nodes", _targets(tree), budget)
        case _:
            return _listed(_compact_head(tree, tree_id(xml), facts), "lines", _outline(tree), budget)


def changes(
    old: UiTree | None,
    tree: UiTree,
    before: str,
    after: str,
    budget: Budget | None = None,
    *,
    facts: blind.Facts = _NO_FACTS,
) -> dict[str, Any]:
    """The diff view of ``tree`` against ``old``, and of their dumps; the compact one if that is smaller or there is no ``old``.

    A diff is whole: beyond the budget, the answer is the beginning of the compact view. Raises as ``view``.
    """
    head, lines = _compact_head(tree, tree_id(after), facts), [*_outline(tree)]
    if old is not None:
        hunks = [*line_diff([*_outline(old)], lines)]
        diff = {**head, "view": "diff", "from": tree_id(before), "lines": hunks}
        size = budget.size if budget is not None else json_size
        most = size({**head, "lines": lines})
        if size(diff) <= (most if budget is None else min(most, budget.max_bytes)):
            return diff
    return _listed(head, "lines", lines, budget)


def _head(tree: UiTree, name: str, tree_name: str, facts: blind.Facts) -> dict[str, Any]:
    head: dict[str, Any] = {"view": name, "tree": tree_name, "package": tree.package}
    head["screen"] = [tree.screen.width, tree.screen.height]
    if tree.recovered:
        head["recovered"] = tree.recovered
    return head | blind.field(tree, facts)


def _compact_head(tree: UiTree, tree_name: str, facts: blind.Facts) -> dict[str, Any]:
    return {**_head(tree, "compact", tree_name, facts), "folded": sum(map(_folds, tree.on_screen))}


def json_size(value: Any) -> int:
    """The size of a value in UTF-8, for a ``Budget``; lone surrogates, which UTF-8 cannot hold, count as escapes."""
    text = json.dumps({"": value}, ensure_ascii=False, separators=(",", ":"))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = len(json.dumps({"": value}, separators=(",", ":")))
    return size - len('{"":}')


def as_text(tree: UiTree) -> str:
    """The ``compact`` outline as one text, without references."""
    return "\n".join(_outline(tree, numbered=False))


def as_json(tree: UiTree) -> str:
    """The whole tree as compact JSON text: package, screen, rotation, and the nested ``nodes``.

    A node has ``class``, ``bounds`` and ``children``, and of its texts and states those that are there. Raises ``RecursionError``
    for a tree that is too deep for JSON parsers.
    """
    roots: list[dict[str, Any]] = []
    lists: dict[int, list[dict[str, Any]]] = {}
    for node in tree.nodes:
        own = (("resourceId", node.resource_id), ("text", node.text), ("contentDesc", node.content_desc))
        entry: dict[str, Any] = {"class": node.cls, **{key: value for key, value in own if value}}
        if node.bounds is not NO_BOUNDS:
            entry["bounds"] = list(node.bounds)
        entry |= dict.fromkeys(abilities(node), True) | states(node)
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
            way = selectors.best_way(node)
            selector = way.matcher.fields() if way is not None else None
            entry: dict[str, Any] = {"ref": f"e{node.index}", "path": _path(node, positions), "role": kind(node)}
            entry |= texts(node)
            if node.resource_id and "resourceId" not in (selector or {}):
                entry["id"] = node.resource_id
            if point := tree.point_of(node):
                entry["at"] = list(point)
            if can := abilities(node):
                entry["can"] = can
            entry |= states(node) | {"selector": selector}
            if way is None:
                says = (node.resource_id, node.label, node.content_desc, node.role)
                if says not in reasons:
                    reasons[says] = _why_none(selectors.suggest(node).candidates)
                entry["why"] = reasons[says]
            elif way.kind != "direct":
                entry["kind"] = way.kind
                if way.kind == "row":
                    entry["why"] = "a click on its row toggles it"
            elif way.matcher.role and node.role_approximate:
                entry["approximate"] = True
            yield entry


def _why_none(candidates: Sequence[Candidate]) -> str:
    """A short form of the reasons of ``suggest``."""
    return f"{candidates[0].matches} nodes have the same texts and id" if candidates else "it has no text and no id"


def _outline(tree: UiTree, *, numbered: bool = True) -> Iterator[str]:
    levels: dict[int, int] = {}
    for node in tree.on_screen:
        level = levels[node.parent.index] if node.parent is not None else 0
        levels[node.index] = level
        if not _folds(node):
            levels[node.index] = level + 1
            yield " " * level + node_line(node, tree.point_of(node), numbered=numbered)


def _folds(node: UiNode) -> bool:
    return is_plain(node) or (node.role in ("icon", "image") and not (is_target(node) or states(node)))


def line_of(tree: UiTree, node: UiNode) -> str:
    """One node of ``tree``, as a line of its compact view; without a reference where it is not on screen."""
    return node_line(node, tree.point_of(node), numbered=tree.is_on_screen(node))


def node_line(node: UiNode, point: tuple[int, int] | None = None, *, numbered: bool = False) -> str:
    """One node of the compact view: fields without blanks, then its texts up to the end of the line.

    A node that can be acted on has its ``point`` and, if ``numbered``, its reference: both mean its own tree only.
    """
    words = [kind(node).translate(_ONE_WORD)]
    can = abilities(node)
    if can and numbered:
        words.append(f"e{node.index}")
    if node.resource_id:
        words.append(f"id={node.resource_id.translate(_ONE_WORD)}")
    if can and point:
        words.append("@{},{}".format(*point))
    words += can
    words += (
        name if value and name != "checked" else f"{name}:{str(value).lower()}" for name, value in states(node).items()
    )
    line, own = " ".join(words), [(name, text.translate(_ONE_LINE)) for name, text in texts(node).items()]
    if own:
        (name, first), *others = own
        line += f": {first}" if name == "text" else f" {name}: {first}"
        line += "".join(f" ({name}: {value})" for name, value in others)
    return line


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
