"""``match``, ``suggest`` and ``diff``: questions about a UI tree, answered on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag
from clawperator.app.cli.looking import add_snapshot_flag, saved, with_tree
from clawperator.app.cli.output import Answer
from clawperator.app.cli.selectors import add_selector_flags, checked_matcher, selector
from clawperator.app.cli.values import integer, invalid
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from clawperator.app.cli.arguments import Parser
    from clawperator.app.cli.looking import Look
    from clawperator.engine.hierarchy.match import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode


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
