"""The trees of a run: kept by their digest, and named by it in the envelope instead of standing there once more. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clawperator.engine.contracts.limits import RENDERED_FORMATS
from clawperator.engine.history.compression import digest
from clawperator.engine.history.rows import TreeRow
from clawperator.engine.logcat.signals import CapturedHierarchy

TREE = "tree"
"""The key of a step's data that names a tree by its digest, in place of ``text``."""


def keep_trees(
    seen: Sequence[tuple[float, CapturedHierarchy]], envelope: Mapping[str, Any] | None, ended_at: float
) -> tuple[tuple[TreeRow, ...], dict[str, Any] | None]:
    """The trees that went by in the log, and ``envelope`` with digests for trees.

    Whatever the answer's limit on texts was: the whole tree is kept. Some builds write a tree into the envelope itself; that
    one has been there since ``ended_at``.
    """
    trees = [TreeRow(tree.step_id, at, digest(tree.xml), tree.xml, tree.complete) for at, tree in seen]
    if envelope is None:
        return tuple(trees), None
    steps: list[Mapping[str, Any]] = []
    for step in envelope["stepResults"]:
        data = step["data"]
        if step["actionType"] == "snapshot_ui" and (text := data.get("text")):
            if data.get("actual_format") in RENDERED_FORMATS:
                name = _rendered_from(step["id"], trees)
            elif not (name := _name_of(text, step["id"], trees)):
                name = digest(text)
                trees.append(TreeRow(step["id"], ended_at, name, text, "truncated" not in data))
            if name:  # else only the rendering is left of a tree that the device wrote into the envelope
                data = {key: value for key, value in data.items() if key != "text"} | {TREE: name}
        steps.append({**step, "data": data})
    return tuple(trees), {**envelope, "stepResults": steps}


def _rendered_from(step_id: str, trees: Sequence[TreeRow]) -> str:
    """The digest of the tree of that step, else of the last one; empty where none was seen."""
    own = [tree for tree in trees if tree.step_id == step_id] or trees
    return own[-1].digest if own else ""


def _name_of(text: str, step_id: str, trees: Sequence[TreeRow]) -> str:
    """The digest of the tree that ``text`` is, or the beginning of; empty for none of them."""
    fitting = [tree for tree in trees if tree.text.startswith(text)]
    own = [tree for tree in fitting if tree.step_id == step_id]
    return next((tree.digest for tree in own or fitting), "")
