"""``match``, ``suggest`` and ``diff``: questions about a UI tree, answered on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.selectors import add_selector_flags, checked_matcher, selector
from clawperator.app.cli.parsing.values import integer, invalid
from clawperator.app.cli.tree_source import add_snapshot_flag, saved, with_tree
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.app.cli.tree_source import Look
    from clawperator.engine.hierarchy.match import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode


class Match(Command):
    usage = "(--selector <json> | --text <s> | --id <s> | …) [--snapshot <file|->] [options]"
    notes = (
        "Matches with the device's rules: all fields, only nodes on screen, in document order; an action uses the first\n"
        "match. Without matches, count is 0, the exit code is 0, and the result explains why. Roles and visibility are not in\n"
        "the dump and are inferred from it: if they affect the matches, the result is marked approximate."
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
        parser.switch("--explain", about="show counts per field and near matches even if nodes match")
        parser.value("--limit", metavar="<n>", about="list at most n nodes [20]")

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
        "Ranks the selectors for one node, best first: unique ones, then the most stable and shortest. The node is the\n"
        "smallest one at a point in pixels, the one with a path (as shown by match and inspect ui), or the first match of a selector.\n"
        "A selector of kind tap-through matches a label in the node; one of kind container requires scrolling in its container."
    )
    examples = (
        "--at 540,1200",
        "--text Save --snapshot screen.xml",
        "--node 0/0/2 --limit 3 --output pretty",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--at", metavar="<x>,<y>", about="use the node at this point, in pixels")
        parser.value("--node", metavar="<path>", about="use the node with this path, such as 0/0/2")
        add_selector_flags(parser)
        add_snapshot_flag(parser)
        add_history_flag(parser)
        parser.value("--limit", metavar="<n>", about="list at most n selectors [10]")

    def run(self, options: Namespace) -> Answer:
        ways = [options.at is not None, options.node is not None, selector(options) is not None]
        if not any(ways):
            raise _needs(self, "--at <x>,<y>, --node <path> or a selector")
        if sum(ways) > 1:
            raise invalid("use --at OR --node OR a selector, not several")
        limit = _limit(options, 10)
        from clawperator.engine.hierarchy.questions import at_point, found_by, read_path, read_point, with_path

        if options.at is not None:
            point = read_point(options.at, "--at")
            return with_tree(options, lambda look: _suggestions(look, [at_point(look.tree, *point, "--at")], limit))
        if options.node is not None:
            path = read_path(options.node, "--node")
            return with_tree(options, lambda look: _suggestions(look, [with_path(look.tree, path)], limit))
        found = checked_matcher(options)
        assert found is not None
        return with_tree(options, lambda look: _suggestions(look, found_by(look.tree, found[0]), limit))


class Diff(Command):
    usage = "<old> <new> [--limit <n>] [options]"
    notes = (
        "Compares two saved dumps node by node, in document order: added and removed subtrees, changed attributes with their old\n"
        "and new values, and moved nodes. One of the files may be - (stdin). The exit code is 0 even if the files differ."
    )
    examples = ("before.xml after.xml", "before.xml - --output pretty < after.xml")

    def configure(self, parser: Parser) -> None:
        parser.word("old", about="earlier dump, or -")
        parser.word("new", about="later dump, or -")
        parser.files |= {"old", "new"}
        parser.value("--limit", metavar="<n>", about="list at most n changes [200]")

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
    return integer("--limit", options.limit, 1, 1_000_000) or default


def _matches(
    look: Look, matcher: Matcher, warnings: Sequence[Mapping[str, Any]], *, limit: int, explain: bool
) -> Answer:
    from clawperator.engine.hierarchy.questions import matches

    found = matches(look.tree, matcher, limit=limit, explain=explain, name="--limit")
    explanation = found.pop("explain", None)
    warned = [*look.warnings, *warnings, *found.pop("warnings", ())]
    document: dict[str, Any] = {"ok": True, "snapshot": look.to_dict(), **found}
    if warned:
        document["warnings"] = warned
    if explanation is not None:
        document["explain"] = explanation
    return Answer(document, view="matches")


def _suggestions(look: Look, nodes: Sequence[UiNode], limit: int) -> Answer:
    from clawperator.engine.hierarchy.questions import suggestions

    document = {"ok": True, "snapshot": look.to_dict(), **suggestions(look.tree, nodes, limit=limit, name="--limit")}
    if look.warnings:
        document["warnings"] = list(look.warnings)
    return Answer(document, view="suggestions")


def _changes(old: Look, new: Look, limit: int) -> Answer:
    from clawperator.engine.hierarchy.diff import KINDS, compare
    from clawperator.engine.hierarchy.questions import cut

    changes = compare(old.tree, new.tree)
    shown, truncated = cut(changes, limit, "--limit")
    document: dict[str, Any] = {"ok": True, "old": old.to_dict(), "new": new.to_dict(), "equal": not changes}
    document["counts"] = {kind: sum(change.kind == kind for change in changes) for kind in KINDS}
    document |= truncated
    document["changes"] = [change.to_dict() for change in shown]
    return Answer(document, view="changes")
