"""A captured tree with its source and time. ``TreeSnapshot.EMPTY`` means none yet."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from clawperator.engine.hierarchy.align import NOTHING, Alignment
from clawperator.engine.hierarchy.tree import parse

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSnapshot:
    """One captured tree.

    ``source`` is ``r`` (this console), ``stream`` (seen in the log), ``history`` or ``file``; ``name`` is the file's.
    ``at`` is host time in seconds since the epoch. ``complete`` is false for a truncated dump; ``problem`` says what is
    wrong with a dump. An unreadable snapshot has no tree.

    ``changes`` compare it with the snapshot whose ``serial`` is ``since`` (0: none); while they are ``coming``, the
    same snapshot follows with them. A ``packed`` one has its dump compressed, and neither ``xml`` nor ``tree``.
    """

    EMPTY: ClassVar[TreeSnapshot]

    serial: int = 0
    device_id: str = ""
    source: str = ""
    command_id: str = ""
    step_id: str = ""
    name: str = ""
    at: float = 0.0
    xml: str = ""
    tree: UiTree | None = None
    complete: bool = True
    problem: str = ""
    since: int = 0
    changes: Alignment = NOTHING
    coming: bool = False
    packed: bytes = b""
    packed_nodes: int = 0
    packed_package: str = ""

    def __bool__(self) -> bool:
        return self.tree is not None

    @property
    def readable(self) -> bool:
        """Return whether there is a tree, packed or not."""
        return self.tree is not None or bool(self.packed)

    @property
    def node_count(self) -> int:
        return len(self.nodes) or self.packed_nodes

    @property
    def package(self) -> str:
        return self.tree.package if self.tree is not None else self.packed_package

    @property
    def nodes(self) -> Sequence[UiNode]:
        return self.tree.nodes if self.tree is not None else ()


TreeSnapshot.EMPTY = TreeSnapshot()


def pack(snapshot: TreeSnapshot) -> TreeSnapshot:
    """Compress the dump to a fiftieth of the memory; slow, for a worker thread."""
    return replace(
        snapshot,
        xml="",
        tree=None,
        changes=NOTHING,
        since=0,
        coming=False,
        packed=zlib.compress(snapshot.xml.encode("utf-8", "surrogatepass"), 1),
        packed_nodes=snapshot.node_count,
        packed_package=snapshot.package,
    )


def unpack(snapshot: TreeSnapshot) -> TreeSnapshot:
    """Parse the packed dump; slow, for a worker thread."""
    xml = zlib.decompress(snapshot.packed).decode("utf-8", "surrogatepass")
    return replace(snapshot, xml=xml, tree=parse(xml, recover=True), packed=b"")
