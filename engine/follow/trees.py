"""The last tree of each device, and its views, cached for repeated requests."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.envelope import code_of
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.blind import facts_of_step
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.hierarchy.views import Budget, json_size, view

if TYPE_CHECKING:
    from clawperator.engine.events.types import ExecutionFinished
    from clawperator.engine.hierarchy.nodes import UiTree

_KEPT = 64


def digest_of(data: bytes) -> str:
    """Return an id of a tree's text."""
    return hashlib.sha256(data).hexdigest()[:32]


@dataclass(slots=True)
class SeenTree:
    """One tree: ``at`` is its time in seconds since the epoch. It is parsed on the first ``read``."""

    xml: str
    digest: str
    at: float
    command_id: str = ""
    tree: UiTree | None = None
    step: Mapping[str, Any] = field(default_factory=dict)
    """The other data of the snapshot's step, if an execution of this program read it: the one with the command id ``step_of``."""
    step_of: str = ""

    async def read(self) -> UiTree:
        if self.tree is None:
            self.tree = await asyncio.to_thread(parse, self.xml, recover=True)
        return self.tree

    def facts(self) -> dict[str, Any]:
        """Return ``digest``, its beginning ``tree``, ``at`` and ``ageMs`` for answers about the tree."""
        age = max(0, round((time.time() - self.at) * 1000))
        return {"digest": self.digest, "tree": self.id, "at": round(self.at, 3), "ageMs": age}

    @property
    def id(self) -> str:
        """The id of the tree, as in views."""
        return self.digest[:8]


class LastTrees:
    """The last tree by serial; the least recently seen ones are dropped."""

    def __init__(self) -> None:
        self._trees: OrderedDict[str, SeenTree] = OrderedDict()

    def note(self, serial: str, xml: str, *, command_id: str = "", step: Mapping[str, Any] | None = None) -> SeenTree:
        """Note a complete tree of the device; for an equal one only the time changes."""
        digest = digest_of(xml.encode("utf-8", "surrogatepass"))
        last = self._trees.pop(serial, None)
        if last is None or last.digest != digest:
            last = SeenTree(xml, digest, time.time(), command_id)
        else:
            last.at = time.time()
        if step is not None or command_id != last.step_of:
            last.step, last.step_of = step or {}, command_id
        self._trees[serial] = last
        if len(self._trees) > _KEPT:
            self._trees.popitem(last=False)
        return last

    def executed(self, event: ExecutionFinished) -> None:
        """Drop the tree of a device on which an execution may have acted, unless it was read after that: it shows the screen before."""
        last = self._trees.get(event.device_id or "")
        if last is None or not event.dispatched or not isinstance(event.payload, Mapping):
            return
        if all(action["type"] in OBSERVING for action in event.payload["actions"]):
            return
        results = event.result.get("envelope", {}).get("stepResults", ())
        if results and results[-1]["actionType"] == "snapshot_ui" and results[-1]["success"]:
            return
        if event.result.get("then", {}).get("tree") != last.id:
            del self._trees[event.device_id or ""]

    def get(self, serial: str) -> SeenTree | None:
        return self._trees.get(serial)

    def fresh(self, serial: str, max_age_ms: int) -> SeenTree | None:
        """Return the last tree if it is not older than ``max_age_ms``."""
        seen = self._trees.get(serial)
        if seen is None or not max_age_ms or (time.time() - seen.at) * 1000 > max_age_ms:
            return None
        return seen


def tree_text(envelope: Mapping[str, Any]) -> str:
    """Return the tree in a snapshot's envelope. Raises ``EngineError`` (UI_TREE_UNAVAILABLE, or the device's code) without one."""
    steps = envelope.get("stepResults") or [{"data": {}}]
    text = steps[0]["data"].get("text")
    if isinstance(text, str):
        return text
    found = envelope.get("errorCode") or code_of(steps[0].get("data") or {})
    code = ErrorCode.known(found) or ErrorCode.UI_TREE_UNAVAILABLE
    raise EngineError(code, envelope.get("error") or f"The device returned no tree: {code.value}")


def viewed(
    xml: str, tree: UiTree, name: str, max_bytes: int | None, step: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the view ``name`` of a tree, truncated between two nodes to ``max_bytes`` of compact JSON.

    ``step`` is the data of the snapshot's step, if known.
    """
    budget = Budget(max_bytes, json_size, "maxBytes") if max_bytes is not None else None
    return view(tree, name, xml, budget, facts_of_step(step or {}))
