"""A snapshot as the panes know it: a tree, where it came from and when. ``Snapshot.EMPTY`` stands for "none yet"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clawperator.engine.hierarchy.diff import NOTHING, Alignment

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One captured tree.

    ``source`` says where it came from: ``r`` (asked here), ``stream`` (seen in the log), ``history`` or ``file``. ``at`` is
    host time in seconds since the epoch. ``name`` is that of the file. ``complete`` is false for a dump whose end never came; ``problem`` then, and for a
    dump that had to be repaired, says what is wrong with it. A snapshot that could not be read at all has no tree.
    ``changes`` compares it with the snapshot whose ``serial`` is ``since`` (0: with none).
    """

    EMPTY: ClassVar[Snapshot]

    serial: int = 0
    device_id: str = ""
    source: str = ""
    command_id: str = ""
    name: str = ""
    at: float = 0.0
    xml: str = ""
    tree: UiTree | None = None
    complete: bool = True
    problem: str = ""
    since: int = 0
    changes: Alignment = NOTHING

    def __bool__(self) -> bool:
        return self.tree is not None

    @property
    def nodes(self) -> Sequence[UiNode]:
        return self.tree.nodes if self.tree is not None else ()


Snapshot.EMPTY = Snapshot()
