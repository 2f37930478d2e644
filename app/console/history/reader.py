"""Reads the history for mode 4: pages of runs, one run in full, the trees of its moments."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from clawperator.app.console.console_engine import HistoryEngine
from clawperator.app.console.execution.rerun import recorded_run
from clawperator.app.console.trees import read_tree
from clawperator.engine.errors import EngineError
from clawperator.engine.filters.grammar import NO_FILTER, Filter, Term
from clawperator.engine.hierarchy.align import align
from clawperator.widgets.models.run_diff import TreeCounts, tree_counts
from clawperator.widgets.models.snapshot import TreeSnapshot

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunRecord, RunSummary

Place: TypeAlias = "tuple[RunRecord, int]"
"""A tree by the run that holds it and its position there."""

FIRST_PAGE = 200
PAGE = 1_000
"""Runs per read: first about a screenful, then as many as one query should return."""
MOST_RENEWED = 2_000
_RUNS_KEPT = 4
_TREES_KEPT = 8
_OLDER_READ = 50
"""Runs searched for the previous one of the same task: a filter also finds parts of names."""


@dataclass(frozen=True, slots=True)
class Page:
    """The newest runs that match ``where``, ``total`` of ``all``.

    Where none match, ``unmatched`` is a term that matches nothing alone. ``problem`` says why nothing could be read.
    """

    where: Filter = NO_FILTER
    runs: Sequence[RunSummary] = ()
    total: int = 0
    all: int = 0
    unmatched: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RunTree:
    """A tree, the one it is compared with, and the number of changes. ``problem`` says why there is no tree."""

    snapshot: TreeSnapshot = TreeSnapshot.EMPTY
    before: TreeSnapshot = TreeSnapshot.EMPTY
    counts: TreeCounts | None = None
    problem: str = ""


class HistoryReader:
    """``history`` is ``None`` while it is disabled: then nothing is read. ``dropped`` gets the node counts of discarded trees."""

    def __init__(self, history: HistoryEngine | None, dropped: Callable[[int], object]) -> None:
        self.history = history
        self._dropped = dropped
        self._version = -1
        self._serial = 0
        self._records: OrderedDict[int, tuple[RunRecord, int]] = OrderedDict()
        """The runs read last, each with the version of the history at that time."""
        self._trees: OrderedDict[tuple[int, int, str], TreeSnapshot] = OrderedDict()

    # -- the list

    async def page(self, where: Filter) -> Page:
        """Return the first page of the runs that match ``where``."""
        history = self._reader
        try:
            self._version = await history.version()
            runs = await history.runs(where, limit=FIRST_PAGE)
            total = len(runs) if len(runs) < FIRST_PAGE else await history.count(where)
            everything = await history.count(NO_FILTER) if where else total
            unmatched = await self._unmatched_term(where) if where and not runs and everything else ""
        except EngineError as exc:
            return Page(where, problem=words_of(exc))
        return Page(where, runs, total, everything, unmatched)

    async def _unmatched_term(self, where: Filter) -> str:
        """Return the first term that matches nothing, even alone."""
        for term in where.terms:
            if not await self._reader.count(replace(where, terms=(term,))):
                return term.text
        return ""

    async def older(self, where: Filter, before: int) -> Sequence[RunSummary]:
        """Return ``PAGE`` runs older than number ``before``, or all; raises ``EngineError``."""
        return await self._reader.runs(where, limit=PAGE, before=before)

    async def newer(self, page: Page, *, at_least: int) -> Page | None:
        """Return the newest runs again if the history changed; at least ``at_least`` of them.

        ``at_least`` includes the oldest shown run that is running: its process may have died.
        """
        history, where = self._reader, page.where
        try:
            if at_least:
                await history.mark_interrupted()
            version = await history.version()
            if version == self._version and not page.problem:
                return None
            total = await history.count(where)
            everything = await history.count(NO_FILTER) if where else total
            wanted = min(MOST_RENEWED, max(FIRST_PAGE, at_least) + max(0, total - page.total))
            runs = await history.runs(where, limit=wanted)
            self._version = version
        except EngineError as exc:
            return replace(page, problem=words_of(exc))
        return Page(where, runs, max(total, len(runs)), everything, page.unmatched)

    # -- one run

    async def record(self, run: RunSummary) -> RunRecord:
        """Return a run in full; raises ``EngineError``."""
        known = self._records.get(run.number)
        if known is not None and unchanged(known[0].summary, run) and not self.outdated(known[0]):
            self._records.move_to_end(run.number)
            return known[0]
        version = self._version
        record = await self._reader.find(run.number)
        self._records[run.number] = record, version
        if len(self._records) > _RUNS_KEPT:
            self._records.popitem(last=False)
        return record

    def outdated(self, record: RunRecord) -> bool:
        """Return whether a late result of a run without one may have been recorded since it was read."""
        if (
            record.summary.status not in ("failed", "interrupted")
            or record.envelope is not None
            or record.late is not None
        ):
            return False
        known = self._records.get(record.summary.number)
        return known is None or known[1] != self._version

    async def find(self, command_id: str, at: float = math.nan) -> RunRecord:
        """Return the run of that command that began ``at``, else the newest one; raises ``EngineError``."""
        return await recorded_run(self._reader, command_id, at)

    async def before(self, run: RunSummary) -> RunSummary | None:
        """Return the previous run of the same task, or of the same source without a task; raises ``EngineError``."""
        key, value = ("task", run.task_id) if run.task_id else ("src", run.source)
        if not value:
            return None
        where = Filter(value, (Term(False, key, value.casefold(), text=value),))
        older = await self._reader.runs(where, limit=_OLDER_READ, before=run.number)
        return next((other for other in older if (other.task_id, other.source) == (run.task_id, run.source)), None)

    # -- trees

    async def last_tree(self, record: RunRecord) -> TreeSnapshot:
        """Return the last tree of a run; raises ``EngineError``."""
        return await self._snapshot(record, len(record.trees) - 1)

    async def tree(self, old: Place | None, new: Place) -> RunTree:
        """Return a tree, with the changes since another one."""
        try:
            before = await self._snapshot(*old) if old is not None else TreeSnapshot.EMPTY
        except EngineError:
            before = TreeSnapshot.EMPTY  # then the changes are unknown
        try:
            snapshot = await self._snapshot(*new)
        except EngineError as exc:
            return RunTree(problem=words_of(exc))
        if before.tree is None or snapshot.tree is None:
            return RunTree(snapshot)
        changes = await asyncio.to_thread(align, before.tree, snapshot.tree)
        counts = await asyncio.to_thread(tree_counts, before.tree, snapshot.tree)
        return RunTree(replace(snapshot, changes=changes, since=before.serial), before, counts)

    async def differences(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], TreeCounts]:
        """Count the differences of each pair of digests; raises ``EngineError``. Unreadable trees are left out."""
        found: dict[tuple[str, str], TreeCounts] = {}
        for pair in pairs:
            texts = [await self._reader.tree(digest) for digest in pair]
            counts = TreeCounts() if texts[0] == texts[1] else await asyncio.to_thread(_differences, *texts)
            if counts is not None:
                found[pair] = counts
        return found

    async def bundle(self, record: RunRecord) -> dict[str, Any]:
        """Return a run as ``history export`` writes it: JSON data with its trees. Raises ``EngineError``."""
        run = record.to_dict()
        for tree in run["trees"]:
            tree["text"] = await self._reader.tree(tree["digest"])
        return run

    async def _snapshot(self, record: RunRecord, index: int) -> TreeSnapshot:
        listed = record.trees[index]
        key = (record.summary.number, index, listed.digest)
        known = self._trees.get(key)
        if known is not None:
            self._trees.move_to_end(key)
            return known
        xml = await self._reader.tree(listed.digest)
        tree, problem = await asyncio.to_thread(read_tree, xml)
        self._serial += 1
        snapshot = TreeSnapshot(
            serial=self._serial,
            device_id=record.summary.device_id,
            source="history",
            command_id=record.summary.command_id,
            at=listed.at,
            xml=xml,
            tree=tree,
            complete=listed.complete and tree is not None and tree.complete,
            problem=problem,
        )
        self._trees[key] = snapshot
        if len(self._trees) > _TREES_KEPT:
            _, gone = self._trees.popitem(last=False)
            self._dropped(len(gone.nodes))  # may still be on screen: left to the garbage collection
        return snapshot

    @property
    def _reader(self) -> HistoryEngine:
        assert self.history is not None, "requested while the history is disabled"
        return self.history


def _differences(a: str, b: str) -> TreeCounts | None:
    return tree_counts(read_tree(a)[0], read_tree(b)[0])


def unchanged(one: RunSummary, other: RunSummary) -> bool:
    """Return whether two readings of a run are equal; unknown times are equal."""
    return one.to_dict() == other.to_dict()


def words_of(error: EngineError) -> str:
    """Return why the history cannot be read, with code and hint."""
    hint = f"\n\n{error.hint}" if error.hint else ""
    return f"{error.message} ({error.code.value}){hint}"
