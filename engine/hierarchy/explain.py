"""Explain why a matcher finds a node or not: per field for one node, and the nearest nodes of the whole tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.hierarchy.difference import canonical, why_not_contained, why_not_equal
from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.matcher import Matcher, field_holds, field_value, related
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, UiNode, UiTree, is_blank

_NO_FIELD = "the matcher has no field"
_ALIKE = 2
"""The largest distance (``_unlike``) of two texts that are easily confused."""
_ONLY_READ = {
    "hint": "hint",
    "pane-title": "pane title",
    "tooltip-text": "tooltip",
    "state-description": "state description",
    "error": "error message",
}
"""Attributes with texts that people read on the screen and no selector compares."""
_ID_FORM = re.compile(r"(?:(?P<package>[\w.]+):id/|@\+?id/|:?id/|R\.id\.|#)(?P<name>.+)", re.DOTALL)
"""The ways to write an id of an Android resource. Test tags, and ids of web pages, have a name only."""
_NUMBER = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9a-f]*\d)[0-9a-f]{8,}"
    r"|(?<=[:\u00ab])r[0-9a-v]{1,3}(?=[:\u00bb])|\d+"
)
"""What differs between two ids that a framework generates."""


@dataclass(frozen=True, slots=True)
class FieldResult:
    """One field of a matcher against one node."""

    field: str
    """Its name on the wire."""
    wanted: str
    got: str
    ok: bool
    reason: str
    approximate: bool = False
    """The role was guessed from the dump: the device may infer another one."""
    near: bool = False
    """Whether the node's value, or a text that no selector compares, is easily taken for the wanted one."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A matcher against one node."""

    node: UiNode
    fields: tuple[FieldResult, ...]
    off_screen: str
    """Why the device ignores this node; empty when it does not."""

    @property
    def failing(self) -> int:
        """How many fields do not hold."""
        return sum(not field.ok for field in self.fields)

    @property
    def matches(self) -> bool:
        """Whether the device would find this node (if no other one comes first)."""
        return bool(self.fields) and not self.failing and not self.off_screen


@dataclass(frozen=True, slots=True)
class FieldCount:
    """How many of the nodes on screen pass a field alone, and together with the fields before it."""

    field: str
    alone: int
    together: int


@dataclass(frozen=True, slots=True)
class TreeExplanation:
    """A matcher against a whole tree."""

    counts: tuple[FieldCount, ...]
    nearest: tuple[Explanation, ...]
    """The nodes that nearly match: fewest failing fields first, then the smallest distance, then document order."""
    matches: int
    """Matches on screen."""
    off_screen_matches: int
    verdict: str
    """Which field excludes the last nodes ("textEquals removes the last 4"); empty when there are matches."""


def explain(tree: UiTree, node: UiNode, matcher: Matcher) -> Explanation:
    """Each given field with the wanted value, the node's value, and why they match or not."""
    return _explain(tree, node, matcher, _around(tree, matcher))


def explain_tree(tree: UiTree, matcher: Matcher, nearest: int = 3) -> TreeExplanation:
    """Counts per field over the nodes on screen, and the ``nearest`` misses of the whole tree."""
    around = _around(tree, matcher)
    tests: list[_Test | _Relation] = [
        *(_Test(tree, field, wanted) for field, wanted in matcher.fields().items()),
        *around,
    ]
    on_screen = tree.on_screen_indexes
    before = len(on_screen)
    left = on_screen
    counts: list[FieldCount] = []
    emptied = ""
    for test in tests:
        holds = test.holds
        left = [index for index in left if holds[index]]
        counts.append(FieldCount(test.field, sum(map(holds.__getitem__, on_screen)), len(left)))
        if before and not left:
            emptied = f"{test.field} removes the last {before}"
        before = len(left)
    failing = _failing(tests)
    off_screen = sum(not failed and not seen for failed, seen in zip(failing, tree.visible, strict=False))
    return TreeExplanation(
        counts=tuple(counts),
        nearest=tuple(_explain(tree, node, matcher, around) for node in _nearest(tree, tests, failing, nearest)),
        matches=before if tests else 0,
        off_screen_matches=off_screen,
        verdict=_verdict(tree, matches=before, off_screen=off_screen, emptied=emptied) if tests else _NO_FIELD,
    )


def _explain(tree: UiTree, node: UiNode, matcher: Matcher, around: Sequence[_Relation]) -> Explanation:
    results = [_explain_field(node, field, wanted) for field, wanted in matcher.fields().items()]
    results += [relation.explained(node) for relation in around]
    return Explanation(node, tuple(results), off_screen_reason(tree, node))


def is_near(miss: Explanation) -> bool:
    """Whether a field holds, or is similar."""
    return any(field.ok or field.near for field in miss.fields)


def off_screen_reason(tree: UiTree, node: UiNode) -> str:
    """Why the device's tree lacks this node; empty when it does not."""
    if tree.is_on_screen(node):
        return ""
    root = next(reversed([node, *node.ancestors]))
    if not tree.is_on_screen(root):
        return f"in another window ({tree.window(node).get('title') or 'without a title'}), not the active one"
    dropped = next(
        candidate
        for candidate in (*reversed(list(node.ancestors)), node)
        if not tree.is_on_screen(candidate)
    )  # fmt: skip
    if dropped is node:
        return _dropped_because(tree, node)
    kin = "parent" if dropped is node.parent else "ancestor"
    return f"its {kin} {_name(dropped)} is off the screen: {_dropped_because(tree, dropped)}"


def _verdict(tree: UiTree, *, matches: int, off_screen: int, emptied: str) -> str:
    if matches:
        return ""
    if off_screen:
        return f"all matches are off the screen: {off_screen}"
    if emptied.startswith("resourceId ") and not any(map(tree.resource_ids.__getitem__, tree.on_screen_indexes)):
        return f"{emptied}: no node has an id, as in games, Flutter, and Compose without testTagsAsResourceId"
    return emptied if tree.on_screen else "nothing is on the screen"


def _dropped_because(tree: UiTree, node: UiNode) -> str:
    attributes = node.attributes
    if attributes.get("visible-to-user") == "false" or attributes.get("displayed") == "false":
        return "not visible to the user"
    if node.bounds.empty and node.bounds is not NO_BOUNDS:
        return f"its bounds {node.bounds} are empty"
    return f"its bounds {node.bounds} lie outside the screen {tree.screen.width}x{tree.screen.height}"


def _name(node: UiNode) -> str:
    return node.cls.rpartition(".")[2] or "node"


class _Test:
    """One field against all nodes, by the columns of the tree: it runs over 5,000 nodes on every key press."""

    def __init__(self, tree: UiTree, field: str, wanted: str) -> None:
        self.field = field
        self.values = _column(tree, field)
        self._wanted = wanted
        self._read: Sequence[bool] = ()
        if self.values is not tree.resource_ids and field != "role":
            self._read = [
                any(map(node.attributes.get, _ONLY_READ)) and bool(_only_read(node, field, wanted))
                for node in tree.nodes
            ]
        self._seen: dict[str, int] = {}
        if field.endswith("Contains"):
            part = fold(wanted)
            folded = tree.folded_labels if field.startswith("text") else tree.folded_descriptions
            self.holds: Sequence[bool] = [part in value for value in folded]
        else:
            whole = fold(wanted) if field == "role" else wanted
            self.holds = [value == whole for value in self.values]

    def unlikeness(self, index: int) -> int:
        """The distance: 0 where the test holds or for a typing mistake, up to 4 for nothing in common."""
        if self.holds[index] or (self._read and self._read[index]):
            return 0
        value = self.values[index]
        known = self._seen.get(value)
        if known is None:
            known = self._seen[value] = _distance(self.field, self._wanted, value)
        return known


class _Relation:
    """A relation against all nodes: it holds or not, and nothing is similar."""

    def __init__(self, tree: UiTree, name: str, other: Matcher) -> None:
        self.field = name
        self._wanted = " ".join(f"{field}={value}" for field, value in other.flat().items())
        self.holds = related(tree, name, other)

    def unlikeness(self, index: int) -> int:
        return 0 if self.holds[index] or self.field == "container" else 4  # the same node elsewhere is the nearest

    def explained(self, node: UiNode) -> FieldResult:
        ok, where = self.holds[node.index], "above it" if self.field == "ancestor" else "on screen inside it"
        reason = f"{'a' if ok else 'no'} node {where} matches"
        if self.field == "container":
            reason = f"it is {'' if ok else 'not '}inside the first node on screen that matches"
            reason = reason if any(self.holds) else "no node on screen matches that has nodes inside"
        return FieldResult(self.field, self._wanted, "", ok, reason)


def _around(tree: UiTree, matcher: Matcher) -> list[_Relation]:
    return [_Relation(tree, name, other) for name, other in matcher.places().items()]


def _column(tree: UiTree, field: str) -> Sequence[str]:
    match field:
        case "resourceId":
            return tree.resource_ids
        case "role":
            return tree.roles
        case "textEquals" | "textContains":
            return tree.labels
        case _:
            return tree.descriptions


def _failing(tests: Sequence[_Test | _Relation]) -> Sequence[int]:
    """How many tests each node fails; empty without any test."""
    if not tests:
        return ()
    return [len(tests) - sum(held) for held in zip(*(test.holds for test in tests), strict=True)]


def _nearest(tree: UiTree, tests: Sequence[_Test | _Relation], failing: Sequence[int], count: int) -> list[UiNode]:
    """The nearest misses. Distances are computed for the best candidates only."""
    if count < 1:
        return []
    distances = [failed + 1 - seen for failed, seen in zip(failing, tree.visible, strict=False)]
    closest = nsmallest(count, filter(None, distances))
    if not closest:
        return []
    threshold = closest[-1]
    ranked = (
        (distance, sum(test.unlikeness(index) for test in tests), index)
        for index, distance in enumerate(distances)
        if 0 < distance <= threshold
    )
    return [tree.nodes[index] for *_, index in nsmallest(count, ranked)]


def _distance(field: str, wanted: str, got: str) -> int:
    if field == "resourceId":  # all ids of an app have the same package, so their names are compared
        wanted, got = id_name(wanted), id_name(got)
        if got and _NUMBER.sub("#", wanted) == _NUMBER.sub("#", got):
            return min(1, _unlike(wanted, got))
    return _unlike(canonical(wanted), canonical(got))


def _unlike(wanted: str, got: str) -> int:
    if wanted == got:
        return 0
    if not got:
        return 4
    if wanted in got or got in wanted:
        return 1
    return 2 if wanted[:3] == got[:3] else 3


def id_name(identifier: str) -> str:
    """Return the name in an id, however that is written: ``com.shop:id/cart``, ``@id/cart``, ``R.id.cart`` and ``cart`` have one."""
    form = _ID_FORM.fullmatch(identifier.strip())
    return form["name"] if form else identifier.strip()


def _only_read(node: UiNode, field: str, wanted: str) -> str:
    """Return the attribute with the wanted text that no selector compares; '' without one, and for fields that are no texts."""
    attributes = node.attributes
    if field in ("resourceId", "role") or not wanted.strip():
        return ""
    for name in _ONLY_READ:
        text = attributes.get(name, "")
        if text and (field_holds(field, wanted, text) or canonical(wanted) == canonical(text)):
            return name
    return ""


def _explain_field(node: UiNode, field: str, wanted: str) -> FieldResult:
    got = field_value(node, field)
    ok = field_holds(field, wanted, got)
    if field == "role":
        near = not ok and _distance(field, wanted, got) <= _ALIKE
        return FieldResult(field, wanted, got, ok, _role_reason(node, wanted, ok=ok), node.role_approximate, near)
    if ok:
        reason = "contained" if field.endswith("Contains") else "equal"
        if field.startswith("text") and is_blank(node.text):
            reason += "; the node has no text, so its description is compared"
    elif field == "resourceId":
        reason = _id_reason(wanted, got)
    else:
        reason = _text_reason(node, field, wanted, got)
    near = not ok and (_distance(field, wanted, got) <= _ALIKE or bool(_only_read(node, field, wanted)))
    return FieldResult(field, wanted, got, ok, reason, near=near)


def _text_reason(node: UiNode, field: str, wanted: str, got: str) -> str:
    if name := _only_read(node, field, wanted):
        identifier = f"its id {node.resource_id}, " if node.resource_id else ""
        what = _ONLY_READ[name]
        return f"it is the node's {what}, which no selector compares: use {identifier}its role {node.role} or its point"
    if not got and field.startswith("contentDesc"):
        text = f"; {field.replace('contentDesc', 'text')} would match" if _text_would(node, field, wanted) else ""
        return f"the node has no description; text is compared by textEquals and textContains{text}"
    if not got:
        return "the node has neither text nor description"
    if field.endswith("Contains"):
        return why_not_contained(wanted, got)
    return why_not_equal(wanted, got)


def _text_would(node: UiNode, field: str, wanted: str) -> bool:
    twin = field.replace("contentDesc", "text")
    return field_holds(twin, wanted, field_value(node, twin))


def _id_reason(wanted: str, got: str) -> str:
    if not got:
        return "the node has no resource-id"
    name, shown = id_name(wanted), id_name(got)
    if _NUMBER.sub("#", name) == _NUMBER.sub("#", shown) and name != shown:
        return f"only a number differs, as in generated ids, which change: {why_not_equal(name, shown)}"
    if fold(name) != fold(shown) or wanted.strip() != wanted:
        return why_not_equal(wanted, got)
    case = "" if name == shown else "; letter case differs, too"
    ours, theirs = (form and form["package"] for form in map(_ID_FORM.fullmatch, (wanted, got)))
    if theirs is None:
        return f"the id on the screen has no package: write {got}{case} (a test tag, or an id of a web page)"
    if ours is None:
        return f"short id: write the whole {got}{case}"
    return (
        why_not_equal(wanted, got) if ours == theirs else f"same name in another package, {theirs}: write {got}{case}"
    )


def _role_reason(node: UiNode, wanted: str, *, ok: bool) -> str:
    about = f"{node.role} ≈ (class {_name(node)})" if node.role_approximate else f"{node.role} (class {_name(node)})"
    if ok:
        return f"the role is {about}"
    if "." in wanted or fold(wanted) in {fold(node.cls), fold(_name(node))}:
        return f"a class is never a role: this node's role is {about}"
    if fold(wanted) not in ROLE_NAMES:
        return f"no role has this name: this node's role is {about}"
    return f"the role is {about}"
