"""``match``, ``suggest`` and ``diff``: queries about a UI tree."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, SNAPSHOT_FLAG, limit_flag
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.selectors import CHOICE_FLAGS, SELECTOR_FLAGS, checked_fields, used
from clawperator.app.cli.parsing.values import invalid
from clawperator.app.cli.tree_input import saved, with_tree
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clawperator.app.cli.tree_input import LoadedTree
    from clawperator.engine.hierarchy.nodes import UiNode

_MOST = 1_000_000
_PLACE_FLAGS = (
    Flag("--at", "<x>,<y>", "use the node at this point, in pixels"),
    Flag("--node", "<path>", "use the node with this path, such as 0/0/2"),
)


class Match(Command):
    usage = "(--selector <json> | --text <s> | --id <s> | …) [--snapshot <file|->] [options]"
    notes = (
        "Matches with the device's rules: all fields, only nodes on screen, in document order; an action uses the first\n"
        "match. Without matches, count is 0, the exit code is 0, and the result explains why. Roles and visibility are not in\n"
        "the dump and are inferred from it: if they affect the matches, the result is marked approximate."
    )
    examples = (
        "--text Save",
        "--text-contains save --role button --snapshot screen.xml",
        "--id com.example:id/save --explain --output pretty",
        "--text Like --container-id com.example.feed:id/post_card --nth 1",
        "--text OK --snapshot - < screen.xml",
    )
    flags = (
        *SELECTOR_FLAGS,
        *CHOICE_FLAGS,
        SNAPSHOT_FLAG,
        HISTORY_FLAG,
        switch("--explain", "show counts per field and near matches even if nodes match"),
        limit_flag("nodes", 20, _MOST),
    )

    def run(self, options: Options) -> Answer:
        found = checked_fields(options)
        if found is None:
            raise self.missing("--selector <json> or selector flags")
        return with_tree(options, lambda loaded: _matches(loaded, *found, limit=options.limit, explain=options.explain))


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
    flags = (
        *_PLACE_FLAGS,
        *SELECTOR_FLAGS,
        SNAPSHOT_FLAG,
        HISTORY_FLAG,
        limit_flag("selectors", 10, _MOST),
    )

    def run(self, options: Options) -> Answer:
        given = (used(options, flags) for flags in (_PLACE_FLAGS[:1], _PLACE_FLAGS[1:], SELECTOR_FLAGS))
        ways = [way for way in given if way]
        if not ways:
            raise self.missing("--at <x>,<y>, --node <path> or a selector")
        if len(ways) > 1:
            raise invalid(f"use {' OR '.join(ways)}, not several")
        from clawperator.engine.hierarchy.queries import at_point, read_path, read_point, with_path

        if options.at is not None:
            point = read_point(options.at, "--at")
            return with_tree(
                options, lambda loaded: _suggestions(loaded, [at_point(loaded.tree, *point, "--at")], options.limit)
            )
        if options.node is not None:
            path = read_path(options.node, "--node")
            return with_tree(
                options, lambda loaded: _suggestions(loaded, [with_path(loaded.tree, path)], options.limit)
            )
        found = checked_fields(options)
        assert found is not None
        return with_tree(options, lambda loaded: _suggestions(loaded, loaded.nodes(found[0]["matcher"]), options.limit))


class Diff(Command):
    usage = "<old> <new> [--limit <n>] [options]"
    notes = (
        "Compares two saved dumps node by node, in document order: added and removed subtrees, changed attributes with their old\n"
        "and new values, and nodes that moved independently of their parent. One of the files may be - (stdin). The exit code is 0 even if the\n"
        "files differ."
    )
    examples = ("before.xml after.xml", "before.xml - --output pretty < after.xml")
    flags = (
        Word("old", "earlier dump, or -", file=True),
        Word("new", "later dump, or -", file=True),
        limit_flag("changes", 200, _MOST),
    )

    def run(self, options: Options) -> Answer:
        if options.old is None or options.new is None:
            raise self.missing("<old> <new>: two saved dumps")
        if options.old == options.new == "-":
            raise EngineError(ErrorCode.USAGE, "only one of the two dumps can come from stdin")
        return _changes(saved(options.old), saved(options.new), options.limit)


def _matches(
    loaded: LoadedTree,
    asked: Mapping[str, Any],
    warnings: Sequence[Mapping[str, Any]],
    *,
    limit: int,
    explain: bool,
) -> Answer:
    from clawperator.engine.hierarchy.queries import matches

    matchers: dict[str, Any] = {
        name: loaded.matcher(asked[name]) for name in ("matcher", "container", "within") if name in asked
    }
    others = {name: asked[name] for name in ("nth", "strict") if name in asked}
    found = matches(loaded.tree, **matchers, **others, limit=limit, explain=explain, name="--limit")
    explanation = found.pop("explain", None)
    warned = [*loaded.warnings, *warnings, *found.pop("warnings", ())]
    document: dict[str, Any] = {"ok": True, "snapshot": loaded.to_dict(), **found}
    if warned:
        document["warnings"] = warned
    if explanation is not None:
        document["explain"] = explanation
    return Answer(document, view="trees.matches")


def _suggestions(loaded: LoadedTree, nodes: Sequence[UiNode], limit: int) -> Answer:
    from clawperator.engine.hierarchy.queries import suggestions

    document = {
        "ok": True,
        "snapshot": loaded.to_dict(),
        **suggestions(loaded.tree, nodes, limit=limit, name="--limit"),
    }
    if loaded.warnings:
        document["warnings"] = list(loaded.warnings)
    return Answer(document, view="trees.suggestions")


def _changes(old: LoadedTree, new: LoadedTree, limit: int) -> Answer:
    from clawperator.engine.hierarchy.diff import KINDS, compare
    from clawperator.engine.hierarchy.queries import cut

    changes = compare(old.tree, new.tree)
    shown, truncated = cut(changes, limit, "--limit")
    document: dict[str, Any] = {"ok": True, "old": old.to_dict(), "new": new.to_dict(), "equal": not changes}
    document["counts"] = {kind: sum(change.kind == kind for change in changes) for kind in KINDS}
    document |= truncated
    document["changes"] = [change.to_dict() for change in shown]
    return Answer(document, view="trees.changes")
