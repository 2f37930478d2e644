"""Compress trees that are not shown, and free the memory of the unpacked ones."""

from __future__ import annotations

import asyncio

from clawperator.app.console.console import Console
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.models.snapshot import pack


class TreePacker:
    """Packs what ``console.session`` does not need soon, one run at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._packing = False

    def tick(self) -> None:
        """Start packing where there is something to pack."""
        if self._console.session.far() and not self._packing:
            self._packing = True
            self._console.run_worker(self._pack(), name="packing", exit_on_error=True)

    async def _pack(self) -> None:
        try:
            for trees, snapshot in self._console.session.far():
                packed = await asyncio.to_thread(pack, snapshot)
                if trees.put(packed) and snapshot.tree is not None:
                    self._drop(snapshot.tree)
        finally:
            self._packing = False

    def _drop(self, tree: UiTree) -> None:
        """Free a tree at once if nothing uses it, else leave it to the garbage collection."""
        if any(used is tree for used in self._console.trees_in_use()):
            self._console.session.nodes_dropped += len(tree.nodes)
        else:
            tree.unlink_nodes()
