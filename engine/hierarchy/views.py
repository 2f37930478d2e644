"""Compact views of a tree for callers with limited space: whole, as the nodes to act on and read, as an outline, as changes.

Every view is JSON data: ``view`` (its name), ``tree`` (the id of the dump), ``package`` in the foreground, ``screen``
``[width, height]`` in pixels, ``recovered`` where the dump was damaged, ``blind`` where something is not in the tree (``blind``), and

* **full**: ``text``, the dump itself.
* **compact**: ``lines``, the tree on screen as one text, one node a line, indented by depth: ``role ref id=… @x,y can state: text``, with
  ``hint: …`` or ``desc: …`` where there is no text, and ``(desc: …)`` after one that it differs from. A node that can be acted on has ``ref``
  and, where a part is visible, its point (``UiTree.point_of``): it can be clicked unless ``scroll`` stands there alone, or ``no-click``, and
  ``checked`` or ``unchecked`` can be toggled. Without a point all its actions are there. A line without a role is a label, or without a text a container. Containers without text, id of
  the app and action are omitted, those that hold one line as well, pictures without text and action too, and counted (``folded``).
* **interactive**: ``lines``, only the nodes that can be acted on or read, not indented, all with ``ref``. The selector of a node is its id;
  without an id its text; without both its description; else ``by`` says which: ``by text`` or ``by id+text`` of the line, ``by {…}`` a
  selector, ``by e25`` that of another node on which a click reaches this one, as ``by click {…}``, ``by ref`` none that is short. A ``~`` marks a
  role that was inferred, so that the device may see another.
* **diff**: the compact view where that is smaller or a budget cuts it; else ``lines`` are a unified diff (``line_diff``) that turns the
  lines of the compact view of the tree ``from`` into those of this one. Only with that view at hand it says anything about lines that it
  does not contain. It is never truncated.

An id is written without ``package:id/`` of the package of most ids, which is ``package``, or else ``ids`` in the head, unless another
id of the tree is that word. In texts, what would end a line or reorder it is escaped with a backslash, and so is a backslash; in a word blanks
and a colon at its end, too.

``ref`` is the number of the node: ``e12`` of the tree ``7f3a1b2c`` is ``e12@7f3a1b2c``. A ``Budget`` limits the encoded size. Nodes beyond it
are left out at the end, and ``truncated`` is added.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.references import tree_id
from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy import blind
from clawperator.engine.hierarchy.line_diff import line_diff
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, UiNode, UiTree, is_blank
from clawperator.engine.hierarchy.serialise import RenderNode, node_xml, nodes_xml
from clawperator.engine.hierarchy.traits import abilities, is_plain, is_target, kind, states, texts

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.selectors import Selectors

VIEWS = ("full", "interactive", "compact")
MIN_BYTES = 512
"""Smallest budget: room for the head and the ``truncated`` record."""

_NO_FACTS = blind.Facts()
_UNSAFE = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What ends a line somewhere, or reorders it."""
_UNSAFE_WORD = re.compile(rf"{_UNSAFE.pattern}|\s|:$")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MORE = re.compile(r" \((?=(?:desc|hint): )")
_CLASS = re.compile(r"[A-Z]\w*|node", re.ASCII)
_STATES = {("checked", False): "unchecked", ("enabled", False): "disabled"}
_ID = re.compile(r"[^:/\s]+")
_FIELDS = {"resourceId": "id", "role": "role", "textEquals": "text", "contentDescEquals": "desc"}
"""Fields of a selector → their names in a line."""
_LONGEST_SELECTOR = 80
Ids = Callable[[str], str]
"""How an id is written."""


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
            return _listed(_head(tree, name, tree_id(xml), facts), _targets(tree), budget)
        case _:
            return _listed(_compact_head(tree, tree_id(xml), facts), _outline(tree), budget)


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
        diff = {**head, "view": "diff", "from": tree_id(before), "lines": "\n".join(hunks)}
        size = budget.size if budget is not None else json_size
        most = size({**head, "lines": "\n".join(lines)})
        if size(diff) <= (most if budget is None else min(most, budget.max_bytes)):
            return diff
    return _listed(head, lines, budget)


def _head(tree: UiTree, name: str, tree_name: str, facts: blind.Facts) -> dict[str, Any]:
    head: dict[str, Any] = {"view": name, "tree": tree_name, "package": tree.package}
    if name != "full" and (owner := _owner(tree)) != tree.package:
        head["ids"] = owner
    head["screen"] = [tree.screen.width, tree.screen.height]
    if tree.recovered:
        head["recovered"] = tree.recovered
    return head | blind.field(tree, facts)


def _compact_head(tree: UiTree, tree_name: str, facts: blind.Facts) -> dict[str, Any]:
    return {**_head(tree, "compact", tree_name, facts), "folded": len(_folded(tree))}


def json_size(value: Any) -> int:
    """The size of a value in UTF-8, for a ``Budget``; lone surrogates, which UTF-8 cannot hold, count as escapes."""
    text = json.dumps({"": value}, ensure_ascii=False, separators=(",", ":"))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = len(json.dumps({"": value}, separators=(",", ":")))
    return size - len('{"":}')


def as_text(tree: UiTree) -> str:
    """The ``compact`` outline as one text, without references, each line with its role and whole id."""
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


def _targets(tree: UiTree) -> Iterator[str]:
    from clawperator.engine.hierarchy.selectors import Selectors

    selectors, ids = Selectors(tree), _short_ids(tree)
    for node in tree.on_screen:
        if is_target(node):
            by = _way(node, selectors, ids)
            yield node_line(node, tree.point_of(node), numbered=True, ids=ids, by=by)


def _way(node: UiNode, selectors: Selectors, ids: Ids) -> str:
    """How to select a node, if not by its first field."""
    way = selectors.best_way(node)
    if way is None:
        return "by ref"
    fields, click = way.matcher.fields(), ""
    if way.kind != "direct":
        other = selectors.best_way(way.found) if is_target(way.found) else None
        if other is not None and other.kind == "direct" and other.matcher == way.matcher:
            return f"by e{way.found.index}"
        click = "click "
    desc = "" if is_blank(node.content_desc) else node.content_desc
    shown = {"id": node.resource_id, **texts(node), "desc": desc, "role": kind(node)}
    own = [name for field, name in _FIELDS.items() if field in fields and fields[field] == shown.get(name)]
    guessed = "~" if way.matcher.role and node.role_approximate else ""
    if not click and len(own) == len(fields):
        usual = next((name for name in ("id", "text", "desc") if shown.get(name)), "")
        return "" if own == [usual] else f"by {guessed}{'+'.join(own)}"
    if "resourceId" in fields:
        fields["resourceId"] = ids(fields["resourceId"])
    whole = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if len(whole) > _LONGEST_SELECTOR:
        return "by ref"
    return f"by {guessed}{click}{_UNSAFE_JSON.sub(_escaped_json, whole)}"


_UNSAFE_JSON = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves of ``_UNSAFE``."""


def _escaped_json(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _outline(tree: UiTree, *, numbered: bool = True) -> Iterator[str]:
    levels: dict[int, int] = {}
    folded, ids = _folded(tree), _short_ids(tree) if numbered else None
    for node in tree.on_screen:
        level = levels[node.parent.index] if node.parent is not None else 0
        levels[node.index] = level
        if node.index not in folded:
            levels[node.index] = level + 1
            yield " " * level + node_line(node, tree.point_of(node), numbered=numbered, ids=ids)


def _folded(tree: UiTree) -> set[int]:
    """The nodes on screen that the outline omits."""
    folded: set[int] = set()
    shown: dict[int, int] = {}
    for node in reversed([*tree.on_screen]):
        inside = shown.get(node.index, 0)
        if _folds(node, inside):
            folded.add(node.index)
        else:
            inside = 1
        if node.parent is not None:
            shown[node.parent.index] = shown.get(node.parent.index, 0) + inside
    return folded


def _folds(node: UiNode, inside: int) -> bool:
    """Whether a node with that many lines directly ``inside`` has none of its own."""
    if is_plain(node):
        return True
    if is_target(node) or states(node):
        return False
    return node.role in ("icon", "image") or (inside == 1 and node.role in ("container", "unknown"))


def _owner(tree: UiTree) -> str:
    """The package of most ids on screen, the one in the foreground if there are none; Android's own do not count."""
    counts = Counter(node.resource_id.partition(":id/")[0] for node in tree.on_screen if ":id/" in node.resource_id)
    del counts["android"]
    return max(counts, key=lambda package: (counts[package], package == tree.package), default=tree.package)


def _short_ids(tree: UiTree) -> Ids:
    """How the ids of a tree are written: without the package that most of them have."""
    prefix = f"{_owner(tree)}:id/"
    others = {node.resource_id for node in tree.nodes if not node.resource_id.startswith(prefix)}

    def written(identifier: str) -> str:
        short = identifier.removeprefix(prefix)
        return short if _ID.fullmatch(short) and short not in others else identifier

    return written


def line_of(tree: UiTree, node: UiNode) -> str:
    """One node of ``tree``, as a line of its compact view with its whole id; without a reference where it is not on screen."""
    return node_line(node, tree.point_of(node), numbered=tree.is_on_screen(node))


def node_line(
    node: UiNode,
    point: tuple[int, int] | None = None,
    *,
    numbered: bool = False,
    ids: Ids | None = None,
    by: str | None = None,
) -> str:
    """One node of a view: words, then its texts up to the end of the line; without ``ids``, alone: with its role and its whole id.

    A node that can be acted on has its ``point`` and, if ``numbered``, its reference: both mean its own tree only. With ``by``,
    of the interactive view, every node has a reference.
    """
    can, own, role = abilities(node), [*texts(node).items()], kind(node)
    words = []
    if ids is None or (not (role == "label" and own) and not (role == "container" and not own and not can)):
        words.append(role if role in _ROLES or _CLASS.fullmatch(role) else f".{_word(role)}")
    if numbered and (can or by is not None):
        words.append(f"e{node.index}")
    if node.resource_id:
        words.append(f"id={_word(ids(node.resource_id) if ids else node.resource_id)}")
    if can and point:
        words.append("@{},{}".format(*point))
    words += _actions(can, role) if point else can
    words += [_STATES.get(state, state[0]) for state in states(node).items()]
    if by:
        words.append(by)
    line = " ".join(words)
    if own:
        (name, first), *others = own
        line += f": {_text(first)}" if name == "text" else f"{' ' if line else ''}{name}: {_text(first)}"
        line += "".join(f" ({name}: {_text(value)})" for name, value in others)
    return line


_ROLES = frozenset(ROLE_NAMES) | {"label"}


def _actions(can: Sequence[str], role: str) -> list[str]:
    """The actions of a node in words, without those that the line implies."""
    words = [word for word in can if word not in ("click", "check") and (word, role) != ("edit", "textfield")]
    if "edit" in can and "click" in can:
        words = [word for word in words if word != "longClick"]
    if "click" in can:
        return ["click", *words] if "scroll" in words else words
    return words if not can or can == ["scroll"] else [*words, "no-click"]


def _text(text: str) -> str:
    return _MORE.sub(r" \\x28", text if _is_plain_text(text) else _UNSAFE.sub(_escaped, text))


def _word(text: str) -> str:
    return _UNSAFE_WORD.sub(_escaped, text)


def _is_plain_text(text: str) -> bool:
    return text.isprintable() and "\\" not in text


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


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


def _listed(head: Mapping[str, Any], lines: Iterable[str], budget: Budget | None) -> dict[str, Any]:
    """A view of ``lines``, as one text; beyond the budget, they are only measured."""
    if budget is None:
        return {**head, "lines": "\n".join(lines)}
    empty = {**head, "lines": ""}
    kept: list[str] = []
    sizes: list[int] = []
    spent, quotes, end = budget.size(empty), budget.size(""), budget.size("\n") - budget.size("")
    for line in lines:
        sizes.append(budget.size(line) - quotes + (end if sizes else 0))
        spent += sizes[-1]
        if spent <= budget.max_bytes:
            kept.append(line)
    return _fitted(empty, "lines", sizes, lambda count: "\n".join(kept[:count]), whole=spent, budget=budget)


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
