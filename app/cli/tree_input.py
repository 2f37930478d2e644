"""The UI tree that a command reads: from a saved dump, or the device's current one (one execution)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.cli.command import Answer, Options
from clawperator.app.cli.output import encode
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clawperator.engine.executions.kept_trees import KeptTrees
    from clawperator.engine.hierarchy.match import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree
    from clawperator.engine.hierarchy.references import Screen


_LARGEST_PICTURE = 64 * 1024 * 1024


class LoadedTree(NamedTuple):
    """A tree, the dump that it was parsed from, the source of that, and the warnings about it."""

    tree: UiTree
    xml: str
    source: Mapping[str, str]
    warnings: Sequence[Mapping[str, Any]] = ()
    trees_folder: str = ""

    def matcher(self, fields: Mapping[str, str]) -> Matcher:
        """Return the matcher of ``fields``. Raises ``EngineError`` for a reference that cannot be resolved on the tree."""
        if "ref" not in fields:  # which needs no device
            from clawperator.engine.hierarchy.match import Matcher

            return Matcher.from_fields(fields)
        from clawperator.engine.executions.references import matcher_of

        return matcher_of(fields, *self._place())

    def nodes(self, fields: Mapping[str, str]) -> Sequence[UiNode]:
        """Return the nodes that ``fields`` find. Raises ``EngineError``, also without any."""
        if "ref" not in fields:
            from clawperator.engine.hierarchy.queries import found_by

            return found_by(self.tree, self.matcher(fields))
        from clawperator.engine.executions.references import nodes_of

        return nodes_of(fields, *self._place())

    def _place(self) -> tuple[KeptTrees, str, Screen]:
        """Return where the tree of a reference in ``fields`` is found, and the tree here."""
        if "deviceId" not in self.source:
            raise EngineError(ErrorCode.USAGE, "use --snapshot OR --ref, not both: a reference is to a device's tree")
        from clawperator.engine.contracts.references import tree_id
        from clawperator.engine.executions.kept_trees import KeptTrees
        from clawperator.engine.hierarchy.references import Screen

        screen = Screen(self.tree, tree_id(self.xml))
        return KeptTrees(self.trees_folder), self.source["deviceId"], screen

    def to_dict(self) -> dict[str, Any]:
        """Return how answers describe the tree: ``file``, or ``deviceId`` and ``executionId``, then its size."""
        facts: dict[str, Any] = {**self.source, "package": self.tree.package, "nodes": len(self.tree.nodes)}
        facts["onScreen"] = len(self.tree.on_screen)
        if self.tree.recovered:
            facts["recovered"] = self.tree.recovered
        from clawperator.engine.hierarchy import blind

        return facts | blind.field(self.tree)


def saved(path: str) -> LoadedTree:
    """Return the tree in a file. Raises ``EngineError`` as ``read_dump`` does."""
    from clawperator.engine.follow.saved_dumps import read_dump

    dump = read_dump(path)
    return LoadedTree(dump.readable(), dump.xml, {"file": path})


def with_tree(options: Options, use: Callable[[LoadedTree], Answer]) -> Answer:
    """Call ``use`` with the tree of ``--snapshot``, else with the device's; without a tree, the answer is the failed execution."""
    if options.snapshot is not None:
        return use(saved(_snapshot_path(options)))
    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine.hierarchy.tree import parse

    taken = _execute(SimpleNamespace(**{**vars(options), "raw_envelope": False, "max_snapshot_bytes": None}))
    data = _snapshot_data(taken)
    if data is None:
        taken.status = taken.status if taken.status != "succeeded" else "failed"
        return taken
    source = {key: taken.document[key] for key in ("deviceId", "executionId")}
    xml = data["text"]
    warnings = taken.document.get("warnings", ())
    return use(LoadedTree(parse(xml, recover=True), xml, source, warnings, resolve_settings(options).trees_folder))


def viewed(options: Options, name: str) -> Answer:
    """Return the view called ``name`` of a saved dump, or in place of the text in the execution of a snapshot.

    Raises ``EngineError``: EXECUTION_VALIDATION_FAILED for a ``--max-bytes`` that is no number or too small for this tree.
    """
    from clawperator.engine.hierarchy.blind import facts_of_step
    from clawperator.engine.hierarchy.tree import parse
    from clawperator.engine.hierarchy.views import MIN_BYTES, Budget, view

    most = integer("--max-bytes", options.max_bytes, MIN_BYTES, 2**31)
    budget = Budget(most, _encoded_size) if most is not None else None
    if options.snapshot is not None:
        loaded = saved(_snapshot_path(options))
        document = {"ok": True, "snapshot": loaded.source, "view": view(loaded.tree, name, loaded.xml, budget)}
        return Answer(document, view="trees.tree_view")
    from clawperator.app.cli.execution import shortened
    from clawperator.engine.contracts.references import tree_id

    taken = _execute(SimpleNamespace(**{**vars(options), "brief": False}))
    if (data := _snapshot_data(taken)) is not None:
        xml = data.pop("text")
        if options.if_changed == tree_id(xml):
            return Answer({"ok": True, "unchanged": True, "tree": options.if_changed}, view="trees.unchanged_tree")
        data["view"] = view(parse(xml, recover=True), name, xml, budget, facts_of_step(data))
    return shortened(taken, options)


def snapshot_with_blind(options: Options) -> Answer:
    """Return the execution of a snapshot with its whole text, and what that cannot show in ``data.blind``."""
    taken = _execute(SimpleNamespace(**{**vars(options), "brief": False}))
    if not getattr(options, "raw_envelope", False):
        from clawperator.engine.hierarchy.blind import add_to

        add_to(taken.document["envelope"])
    from clawperator.app.cli.execution import shortened

    return shortened(taken, options)


def annotated(payload: object, options: Options) -> Answer:
    """Return the execution of a screenshot on which the references of the tree of the same moment are drawn."""
    from clawperator.app.cli.execution import execute, shortened

    taken = execute(payload, SimpleNamespace(**{**vars(options), "brief": False, "then": "full"}))
    document: dict[str, Any] = dict(taken.document)
    steps, then = document["envelope"].get("stepResults"), document.get("then", {})
    if not (steps and "path" in steps[0]["data"] and "text" in then):
        return shortened(taken, options)
    from clawperator.engine.executions.annotate import annotate
    from clawperator.engine.files.regular import read_file, write_file
    from clawperator.engine.hierarchy.blind import Facts
    from clawperator.engine.hierarchy.tree import parse
    from clawperator.engine.hierarchy.views import view

    path, xml = steps[0]["data"]["path"], then.pop("text")
    tree = parse(xml, recover=True)
    drawn = annotate(read_file(path, _LARGEST_PICTURE), tree)
    write_file(path, drawn.png, replace=True)
    steps[0]["data"]["annotated"] = drawn.boxes
    facts = Facts(black=drawn.black, blank=drawn.blank, settled=then["settled"])
    document["then"] = then | view(tree, "interactive", xml, facts=facts)
    if then["changed"] is not False or not then["settled"]:
        message = "The screen changed while the screenshot was taken: boxes and references may not match the picture."
        warning = {"code": "SCREEN_CHANGED", "path": "stepResults.0", "message": message}
        document["warnings"] = [*document.get("warnings", ()), warning]
    taken.document = taken.data = document
    return shortened(taken, options)


def _execute(options: Options) -> Answer:
    from clawperator.app.cli.execution import execute
    from clawperator.engine.executions.build import snapshot

    return execute(snapshot(), options)


def _encoded_size(value: Any) -> int:
    """The size of a value in bytes, in the documents of stdout."""
    return len(encode({"": value})) - len('{"":}')


def _snapshot_path(options: Options) -> str:
    """The value of ``--snapshot``, which excludes the flags about a device."""
    for flag, value in (("--device-id", options.device_id), ("--receiver-package", options.receiver_package)):
        if value is not None:
            raise EngineError(ErrorCode.USAGE, f"use --snapshot OR {flag}, not both")
    path: str = options.snapshot
    return path


def _snapshot_data(taken: Answer) -> dict[str, Any] | None:
    """The data of a snapshot's one step, if it has a tree."""
    steps: Sequence[Mapping[str, Any]] = taken.document["envelope"].get("stepResults") or ()
    return next((step["data"] for step in steps if isinstance(step["data"].get("text"), str)), None)
