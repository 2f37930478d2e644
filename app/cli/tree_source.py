"""The UI tree that a command is about: from a saved dump, or as the device shows it now (one execution)."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.cli.output import Answer, encode
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.hierarchy.nodes import UiTree


class Look(NamedTuple):
    """A tree, the dump it was read from, where that came from, and what was remarkable on the way."""

    tree: UiTree
    xml: str
    source: Mapping[str, str]
    warnings: Sequence[Mapping[str, Any]] = ()

    def to_dict(self) -> dict[str, Any]:
        """How answers name the tree: ``file`` or ``deviceId`` and ``executionId``, then what it is."""
        facts: dict[str, Any] = {**self.source, "package": self.tree.package, "nodes": len(self.tree.nodes)}
        facts["onScreen"] = len(self.tree.on_screen)
        return {**facts, "recovered": self.tree.recovered} if self.tree.recovered else facts


def add_snapshot_flag(parser: Parser) -> None:
    parser.value(
        "--snapshot",
        metavar="<file|->",
        about="read a saved dump or result instead of a device (- is stdin)",
        file=True,
    )


def saved(path: str) -> Look:
    """The tree in a file; raises ``EngineError`` where there is none (``engine/follow/saved_dumps.py``)."""
    from clawperator.engine.follow.saved_dumps import read_dump

    dump = read_dump(path)
    return Look(dump.readable(), dump.xml, {"file": path})


def with_tree(options: Namespace, use: Callable[[Look], Answer]) -> Answer:
    """What ``use`` answers about the tree of ``--snapshot``, else about the device's.

    Where the device gives no tree, the answer is the failed execution.
    """
    if options.snapshot is not None:
        return use(saved(snapshot_path(options)))
    from clawperator.app.cli.execution import execute
    from clawperator.engine.executions.build import snapshot
    from clawperator.engine.hierarchy.tree import parse

    taken = execute(snapshot(), Namespace(**{**vars(options), "raw_envelope": False, "max_snapshot_bytes": None}))
    data = _snapshot_data(taken)
    if data is None:
        return Answer(taken.document, view="execution", failed=True)
    source = {key: taken.document[key] for key in ("deviceId", "executionId")}
    return use(Look(parse(data["text"], recover=True), data["text"], source, taken.document.get("warnings", ())))


def viewed(options: Namespace, name: str) -> Answer:
    """The view called ``name`` of a saved dump, or in place of the text in the execution of a snapshot.

    Raises ``EngineError``: EXECUTION_VALIDATION_FAILED for a ``--max-bytes`` that is no number or too small for this tree.
    """
    from clawperator.engine.hierarchy.tree import parse
    from clawperator.engine.hierarchy.views import MIN_BYTES, Budget, view

    most = integer("--max-bytes", options.max_bytes, MIN_BYTES, 2**31)
    budget = Budget(most, _encoded_size) if most is not None else None
    if options.snapshot is not None:
        look = saved(snapshot_path(options))
        document = {"ok": True, "snapshot": look.source, "view": view(look.tree, name, look.xml, budget)}
        return Answer(document, view="tree_view")
    from clawperator.app.cli.execution import execute
    from clawperator.engine.executions.build import snapshot

    taken = execute(snapshot(), options)
    if (data := _snapshot_data(taken)) is not None:
        xml = data.pop("text")
        data["view"] = view(parse(xml, recover=True), name, xml, budget)
    return taken


def _encoded_size(value: Any) -> int:
    """How many bytes a value takes in the documents that we print."""
    return len(encode({"": value})) - len('{"":}')


def snapshot_path(options: Namespace) -> str:
    """The value of ``--snapshot``, which no device has a part in."""
    for flag, value in (("--device-id", options.device_id), ("--receiver-package", options.receiver_package)):
        if value is not None:
            raise EngineError(ErrorCode.USAGE, f"use --snapshot OR {flag}, not both")
    path: str = options.snapshot
    return path


def _snapshot_data(taken: Answer) -> dict[str, Any] | None:
    """The data of the one step of a snapshot's execution, where it holds a tree."""
    steps: Sequence[Mapping[str, Any]] = taken.document["envelope"].get("stepResults") or ()
    return next((step["data"] for step in steps if isinstance(step["data"].get("text"), str)), None)
