"""The trees of a run: stored once by digest, which replaces them in the envelope. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clawperator.engine.contracts.limits import RENDERED_FORMATS
from clawperator.engine.history.compression import digest
from clawperator.engine.history.records import TreeRecord
from clawperator.engine.logcat.signals import CapturedHierarchy
from clawperator.engine.text.sensitive import hide_sensitive

TREE = "tree"
"""The key of a step's data for the digest of a tree, in place of ``text``."""


def keep_trees(
    seen: Sequence[tuple[float, CapturedHierarchy]], envelope: Mapping[str, Any] | None, ended_at: float
) -> tuple[tuple[TreeRecord, ...], dict[str, Any] | None]:
    """Return the trees of the log, untruncated, without sensitive texts, and ``envelope`` with digests for trees.

    Some Operator versions write a tree into the envelope itself; its time is ``ended_at``.
    """
    texts = [hide_sensitive(tree.xml) for _, tree in seen]
    trees = [
        TreeRecord(tree.step_id, at, digest(text), len(text), tree.complete, text)
        for (at, tree), text in zip(seen, texts, strict=True)
    ]
    if envelope is None:
        return tuple(trees), None
    steps: list[Mapping[str, Any]] = []
    for step in envelope["stepResults"]:
        data = step["data"]
        if step["actionType"] == "snapshot_ui" and (text := data.get("text")):
            if data.get("actual_format") in RENDERED_FORMATS:
                name = _rendered_from(step["id"], trees)
            elif not (name := _name_of(text := hide_sensitive(text), step["id"], trees)):
                name = digest(text)
                trees.append(TreeRecord(step["id"], ended_at, name, len(text), "truncated" not in data, text))
            if name:  # else only a rendering is left of a tree in the envelope
                data = {key: value for key, value in data.items() if key != "text"} | {TREE: name}
        steps.append({**step, "data": data})
    return tuple(trees), {**envelope, "stepResults": steps}


def _rendered_from(step_id: str, trees: Sequence[TreeRecord]) -> str:
    """Return the digest of the step's tree, else of the last one; empty without trees."""
    own = [tree for tree in trees if tree.step_id == step_id] or trees
    return own[-1].digest if own else ""


def _name_of(text: str, step_id: str, trees: Sequence[TreeRecord]) -> str:
    """Return the digest of the tree that begins with ``text``, but for a node that is cut off; empty if none does."""
    beginning = text[: text.rfind("<")] if "<" in text else text
    fitting = [tree for tree in trees if tree.text.startswith(beginning)]
    own = [tree for tree in fitting if tree.step_id == step_id]
    return next((tree.digest for tree in own or fitting), "")
