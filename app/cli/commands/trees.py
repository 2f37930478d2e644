"""``match``, ``suggest`` and ``diff``: questions about a UI tree, answered on this machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag
from clawperator.app.cli.looking import add_snapshot_flag, saved, with_tree
from clawperator.app.cli.output import Answer
from clawperator.app.cli.selectors import add_selector_flags, checked_matcher, selector
from clawperator.app.cli.values import integer, invalid
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from clawperator.app.cli.arguments import Parser
    from clawperator.app.cli.looking import Look
    from clawperator.engine.hierarchy.explain import Explanation, TreeExplanation
    from clawperator.engine.hierarchy.match import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

T = TypeVar("T")

_MOST = 1_000_000
_POINT = re.compile(r"\s*(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})\s*")
_PATH = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})*")


class Match(Command):
    usage = "(--selector <json> | --text <s> | --id <s> | …) [--snapshot <file|->] [options]"
    notes = (
        "Matches by the device's rules: all fields, only nodes on screen, in document order; the first is what an action\n"
        "takes. Nothing found is an answer too (count 0, exit code 0) and explains itself. What the dump does not tell, roles\n"
        "and visibility, is inferred from it: where that decides, the answer says approximate."
    )
    examples = (
        """--selector '{"textEquals":"Save"}'""",
        "--text-contains save --role button --snapshot screen.xml",
        "--id com.example:id/save --explain --output pretty",
        "--text OK --snapshot - < screen.xml",
    )

    def configure(self, parser: Parser) -> None:
        add_selector_flags(parser)
        add_snapshot_flag(parser)
        add_history_flag(parser)
        parser.switch("--explain", about="count field by field and show what nearly matches, also where something does")
        parser.value("--limit", metavar="<n>", about="list at most n nodes (default 20)")

    def run(self, options: Namespace) -> Answer:
        found = checked_matcher(options)
        if found is None:
            raise _needs(self, "--selector <json> or selector flags")
        limit = _limit(options, 20)
        matcher, warnings = found
        return with_tree(options, lambda look: _matches(look, matcher, warnings, limit=limit, explain=options.explain))


class Suggest(Command):
    usage = "(--at <x>,<y> | --node <path> | --selector <json> | --text <s> | …) [--snapshot <file|->] [options]"
    notes = (
        "Ranks the selectors that address one node, best first: unique ones, then the most stable and smallest. The node is the\n"
        "smallest one at a point in pixels, the one with a path (as match and inspect ui show them), or the first that a selector\n"
        "finds. A selector of kind tap-through finds a label in the node, one of kind container needs a scroll in its container."
    )
    examples = (
        "--at 540,1200",
        "--text Save --snapshot screen.xml",
        "--node 0/0/2 --limit 3 --output pretty",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--at", metavar="<x>,<y>", about="the node at a point of the screen, in pixels")
        parser.value("--node", metavar="<path>", about="the node with this path, such as 0/0/2")
        add_selector_flags(parser)
        add_snapshot_flag(parser)
        add_history_flag(parser)
        parser.value("--limit", metavar="<n>", about="list at most n selectors (default 10)")

    def run(self, options: Namespace) -> Answer:
        ways = [options.at is not None, options.node is not None, selector(options) is not None]
        if not any(ways):
            raise _needs(self, "--at <x>,<y>, --node <path> or a selector")
        if sum(ways) > 1:
            raise invalid("use --at OR --node OR a selector, not several")
        limit = _limit(options, 10)
        if options.at is not None:
            point = _point(options.at)
            return with_tree(options, lambda look: _suggestions(look, [_node_at(look.tree, *point)], limit))
        if options.node is not None:
            path = _node_path(options.node)
            return with_tree(options, lambda look: _suggestions(look, [_node_by_path(look.tree, path)], limit))
        found = checked_matcher(options)
        assert found is not None
        return with_tree(options, lambda look: _suggestions(look, _found(look.tree, found[0]), limit))


class Diff(Command):
    usage = "<old> <new> [--limit <n>] [options]"
    notes = (
        "Compares two saved dumps node by node, in document order: added and removed subtrees, changed attributes with their old\n"
        "and new values, and nodes that moved by themselves. One of the two may be - (stdin). Differences are an answer: exit code 0."
    )
    examples = ("before.xml after.xml", "before.xml - --output pretty < after.xml")

    def configure(self, parser: Parser) -> None:
        parser.word("old", about="the earlier dump, or -")
        parser.word("new", about="the later dump, or -")
        parser.files |= {"old", "new"}
        parser.value("--limit", metavar="<n>", about="list at most n changes (default 200)")

    def run(self, options: Namespace) -> Answer:
        if options.old is None or options.new is None:
            raise _needs(self, "<old> <new>: two saved dumps")
        if options.old == options.new == "-":
            raise EngineError(ErrorCode.USAGE, "only one of the two dumps can come from stdin")
        limit = _limit(options, 200)
        return _changes(saved(options.old), saved(options.new), limit)


def _needs(command: Command, what: str) -> EngineError:
    example = f"clawperator {command.words} {command.examples[0]}"
    return EngineError(ErrorCode.USAGE, f"{command.words} requires {what}", extra={"example": example})


def _limit(options: Namespace, default: int) -> int:
    return integer("--limit", options.limit, 1, _MOST) or default


def _cut(items: Sequence[T], limit: int) -> tuple[Sequence[T], dict[str, Any]]:
    """The items to list, and the record for the answer where that is not all of them."""
    if len(items) <= limit:
        return items, {}
    hint = f"The rest is not listed: ask with --limit {len(items)} for all."
    return items[:limit], {"truncated": {"shown": limit, "total": len(items), "hint": hint}}


# -- match


def _matches(
    look: Look, matcher: Matcher, warnings: Sequence[Mapping[str, Any]], *, limit: int, explain: bool
) -> Answer:
    from clawperator.engine.hierarchy.match import explain_tree, find_all
    from clawperator.engine.hierarchy.traits import summary

    tree = look.tree
    found = find_all(tree, matcher)
    off_screen = [node for node in find_all(tree, matcher, on_screen_only=False) if not tree.is_on_screen(node)]
    shown, truncated = _cut(found, limit)
    document: dict[str, Any] = {"ok": True, "snapshot": look.to_dict(), "selector": matcher.fields()}
    document |= {"count": len(found), "offScreen": len(off_screen)}
    if reasons := list(_approximations(tree, matcher, found, off_screen)):
        document |= {"approximate": True, "approximateBecause": reasons}
    document |= truncated
    document["matches"] = [summary(node) | ({"taken": True} if node is found[0] else {}) for node in shown]
    if warned := [*look.warnings, *warnings, *_ambiguity(found)]:
        document["warnings"] = warned
    if explain or not found:
        document["explain"] = _explained(explain_tree(tree, matcher))
    return Answer(document, view="matches")


def _ambiguity(found: Sequence[UiNode]) -> Iterator[dict[str, str]]:
    if len(found) > 1:
        message = f"{len(found)} nodes match: the device takes the first and does not say so"
        yield {"code": "MATCHER_AMBIGUOUS", "path": "selector", "message": message}


def _approximations(
    tree: UiTree, matcher: Matcher, found: Sequence[UiNode], off_screen: Sequence[UiNode]
) -> Iterator[str]:
    """What the dump does not tell and the answer depends on."""
    from clawperator.engine.hierarchy.nodes import NO_BOUNDS

    if matcher.role and any(node.role_approximate for node in found or tree.on_screen):
        yield "roles are inferred from the dump: the device may see other ones"
    if guessed := sum("visible-to-user" not in node.attributes for node in off_screen):
        yield f"{guessed} of the matches count as off the screen because of bounds in the dump"
    if guessed := sum(node.bounds is NO_BOUNDS for node in found):
        yield f"{guessed} of the matches count as on screen although the dump does not tell their bounds"


def _explained(explanation: TreeExplanation) -> dict[str, Any]:
    return {
        "verdict": explanation.verdict,
        "fields": [{"field": c.field, "alone": c.alone, "together": c.together} for c in explanation.counts],
        "nearest": [_miss(miss) for miss in explanation.nearest],
    }


def _miss(miss: Explanation) -> dict[str, Any]:
    from clawperator.engine.hierarchy.traits import summary

    fields = [{"field": f.field, "ok": f.ok, "wanted": f.wanted, "got": f.got, "reason": f.reason} for f in miss.fields]
    answer: dict[str, Any] = {"node": summary(miss.node), "fields": fields}
    return {**answer, "offScreen": miss.off_screen} if miss.off_screen else answer


# -- suggest


def _suggestions(look: Look, nodes: Sequence[UiNode], limit: int) -> Answer:
    """About the first of ``nodes``; the others are named."""
    from clawperator.engine.hierarchy.selectors import suggest
    from clawperator.engine.hierarchy.traits import summary

    answer = suggest(look.tree, nodes[0])
    candidates, truncated = _cut(answer.candidates, limit)
    document: dict[str, Any] = {"ok": True, "snapshot": look.to_dict(), "node": summary(answer.node)}
    if not look.tree.is_on_screen(answer.node):
        document["node"]["onScreen"] = False
    if len(nodes) > 1:
        others, cut = _cut(nodes[1:], limit)
        document["others"] = {"count": len(nodes) - 1, **cut, "paths": [node.path for node in others]}
    document |= truncated
    document["candidates"] = [candidate.to_dict() for candidate in candidates]
    if answer.advice:
        document["advice"] = answer.advice
    if look.warnings:
        document["warnings"] = list(look.warnings)
    return Answer(document, view="suggestions")


def _point(text: str) -> tuple[int, int]:
    found = _POINT.fullmatch(text)
    if found is None:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            "--at must be <x>,<y>: two whole numbers of pixels",
            hint="For example --at 540,1200.",
            details={"path": "--at"},
        )
    return int(found[1]), int(found[2])


def _node_at(tree: UiTree, x: int, y: int) -> UiNode:
    from clawperator.engine.hierarchy.selectors import node_at

    if tree.nodes and not tree.screen.contains(x, y):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"--at {x},{y} is outside the screen of {tree.screen.width}x{tree.screen.height} pixels",
            hint="",
            details={"path": "--at", "screen": [tree.screen.width, tree.screen.height]},
        )
    node = node_at(tree, x, y)
    if node is None:
        raise _nothing(tree, f"No node of the UI tree is at {x},{y}")
    return node


def _node_path(text: str) -> str:
    path = text.strip()
    if not _PATH.fullmatch(path):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            "--node must be a path: positions from the root down, such as 0/0/2",
            hint="match and inspect ui --view interactive show the paths of nodes.",
            details={"path": "--node"},
        )
    return path


def _node_by_path(tree: UiTree, path: str) -> UiNode:
    from clawperator.engine.hierarchy.selectors import node_by_path

    node = node_by_path(tree, path)
    if node is not None:
        return node
    above = path
    while above and node_by_path(tree, above) is None:
        above = above.rpartition("/")[0]
    raise _nothing(tree, f"No node of the UI tree has the path {path}", **({"deepest": above} if above else {}))


def _found(tree: UiTree, matcher: Matcher) -> Sequence[UiNode]:
    """The nodes that the selector finds; off-screen ones only where there are no others."""
    from clawperator.engine.hierarchy.match import explain_tree, find_all

    nodes = find_all(tree, matcher) or find_all(tree, matcher, on_screen_only=False)
    if not nodes:
        raise _nothing(tree, "No node of the UI tree matches the selector", **_explained(explain_tree(tree, matcher)))
    return nodes


def _nothing(tree: UiTree, message: str, **details: Any) -> EngineError:
    if not tree.nodes:
        return EngineError(ErrorCode.NODE_NOT_FOUND, "The UI tree has no nodes")
    hint = "The tree may be older than the screen: look again, or correct what you look for."
    return EngineError(ErrorCode.NODE_NOT_FOUND, message, hint=hint, details=details)


# -- diff


def _changes(old: Look, new: Look, limit: int) -> Answer:
    from clawperator.engine.hierarchy.diff import KINDS, compare

    changes = compare(old.tree, new.tree)
    shown, truncated = _cut(changes, limit)
    document: dict[str, Any] = {"ok": True, "old": old.to_dict(), "new": new.to_dict(), "equal": not changes}
    document["counts"] = {kind: sum(change.kind == kind for change in changes) for kind in KINDS}
    document |= truncated
    document["changes"] = [change.to_dict() for change in shown]
    return Answer(document, view="changes")
