"""Reading the history for mode 4: pages of runs, one run in full, the trees of its moments.

Every wish is a job of its own name: a newer one takes the place of the one that runs, so that whoever types or holds a key
gets what was wanted last. Nothing here draws; answers go to the callables that came with the wish.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from clawperator.app.console.bridge import read_tree
from clawperator.engine.errors import EngineError
from clawperator.engine.filters.grammar import NO_FILTER, Filter, Term
from clawperator.engine.hierarchy.align import align
from clawperator.widgets.models.run_diff import TreeCounts, tree_counts
from clawperator.widgets.models.snapshot import TreeSnapshot

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunRecord, RunSummary

    Place: TypeAlias = tuple[RunRecord, int]
    """A tree by the run that holds it and its position there."""

FIRST_PAGE = 200
PAGE = 1_000
"""Runs that are read at once: a screenful and what lies behind it first, then as much as one look at the disk is worth."""
MOST_RENEWED = 2_000
_RUNS_KEPT = 4
_TREES_KEPT = 8
_OLDER_READ = 50
"""Runs among which the one before of the same task is looked for: a filter finds parts of names too."""


class Reader(Protocol):
    """The part of the engine's history that the console reads; raises ``EngineError``."""

    async def runs(
        self, where: Filter = ..., *, limit: int = ..., before: int | None = ...
    ) -> Sequence[RunSummary]: ...
    async def count(self, where: Filter = ...) -> int: ...
    async def find(self, key: str | int) -> RunRecord: ...
    async def tree(self, digest: str) -> str: ...
    async def version(self) -> int: ...
    async def mark_interrupted(self) -> None: ...


Job = Callable[[], Coroutine[None, None, None]]
Start = Callable[[str, Job], object]
"""Runs a job under a name and cancels the one that runs under it."""


@dataclass(frozen=True, slots=True)
class Page:
    """The newest runs of ``total`` that ``where`` lets pass, of ``all`` there are.

    ``culprit`` is the term without which something would pass, where nothing does. ``problem`` says why nothing could be read.
    """

    where: Filter = NO_FILTER
    runs: Sequence[RunSummary] = ()
    total: int = 0
    all: int = 0
    culprit: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PastTree:
    """A tree, the one that it is marked against, and how many nodes differ. ``problem`` says why there is no tree."""

    snapshot: TreeSnapshot = TreeSnapshot.EMPTY
    before: TreeSnapshot = TreeSnapshot.EMPTY
    counts: TreeCounts | None = None
    problem: str = ""


class Past:
    """``history`` is ``None`` while it is switched off; ``dropped`` is told how many nodes of trees were thrown away."""

    def __init__(self, history: Reader | None, start: Start, dropped: Callable[[int], object]) -> None:
        self.history = history
        self._start = start
        self._dropped = dropped
        self._version = -1
        self._looking = False
        self._serial = 0
        self._records: OrderedDict[int, tuple[RunRecord, int]] = OrderedDict()
        """What was read of the last runs, and the version of the history then."""
        self._trees: OrderedDict[tuple[int, int, str], TreeSnapshot] = OrderedDict()

    # -- the list

    def search(self, where: Filter, then: Callable[[Page], object]) -> None:
        """The first page of what ``where`` lets pass."""
        self._go("runs", partial(self._search, where, then))

    async def _search(self, where: Filter, then: Callable[[Page], object]) -> None:
        history = self._reader
        try:
            self._version = await history.version()
            runs = await history.runs(where, limit=FIRST_PAGE)
            total = len(runs) if len(runs) < FIRST_PAGE else await history.count(where)
            everything = await history.count(NO_FILTER) if where else total
            culprit = await self._culprit(where) if where and not runs and everything else ""
        except EngineError as exc:
            then(Page(where, problem=words_of(exc)))
        else:
            then(Page(where, runs, total, everything, culprit))

    async def _culprit(self, where: Filter) -> str:
        """The first term that nothing passes, even alone."""
        for term in where.terms:
            if not await self._reader.count(replace(where, terms=(term,))):
                return term.text
        return ""

    def more(self, where: Filter, before: int, then: Callable[[Page, bool], object]) -> None:
        """Runs older than number ``before``, and whether these are the last ones."""
        self._go("more", partial(self._more, where, before, then))

    async def _more(self, where: Filter, before: int, then: Callable[[Page, bool], object]) -> None:
        try:
            runs = await self._reader.runs(where, limit=PAGE, before=before)
        except EngineError as exc:
            then(Page(where, problem=words_of(exc)), False)
        else:
            then(Page(where, runs), len(runs) < PAGE)

    def look(self, page: Page, then: Callable[[Page], object], *, at_least: int) -> None:
        """Read the newest runs again if anybody wrote since the last look; ``at_least`` so many. One look at a time.

        ``at_least`` reaches down to the oldest shown run that goes on: where one does, its process may have died since.
        """
        if not self._looking:
            self._go("look", partial(self._look, page, then, at_least))

    async def _look(self, page: Page, then: Callable[[Page], object], at_least: int) -> None:
        history, where = self._reader, page.where
        self._looking = True
        try:
            if at_least:
                await history.mark_interrupted()
            version = await history.version()
            if version == self._version and not page.problem:
                return
            total = await history.count(where)
            everything = await history.count(NO_FILTER) if where else total
            wanted = min(MOST_RENEWED, max(FIRST_PAGE, at_least) + max(0, total - page.total))
            runs = await history.runs(where, limit=wanted)
            self._version = version
        except EngineError as exc:
            then(replace(page, problem=words_of(exc)))
        else:
            then(Page(where, runs, max(total, len(runs)), everything, page.culprit))
        finally:
            self._looking = False

    # -- one run

    def run(self, run: RunSummary, then: Callable[[RunRecord | None, str], object]) -> None:
        """Everything of ``run``, or why that cannot be had."""
        self._go("run", partial(self._run, run, then))

    async def _run(self, run: RunSummary, then: Callable[[RunRecord | None, str], object]) -> None:
        try:
            record = await self.record(run)
        except EngineError as exc:
            then(None, words_of(exc))
        else:
            then(record, "")

    async def record(self, run: RunSummary) -> RunRecord:
        """Everything of ``run``; raises ``EngineError``."""
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
        """Whether the result of a run that ended without one may have come since it was read: somebody wrote something."""
        if (
            record.summary.status not in ("failed", "interrupted")
            or record.envelope is not None
            or record.late is not None
        ):
            return False
        known = self._records.get(record.summary.number)
        return known is None or known[1] != self._version

    async def find(self, command_id: str) -> RunRecord:
        """The newest run of that command; raises ``EngineError``."""
        return await self._reader.find(command_id)

    async def before(self, run: RunSummary) -> RunSummary | None:
        """The run of the same task before this one, or of the same source where it names no task; raises ``EngineError``."""
        key, value = ("task", run.task_id) if run.task_id else ("src", run.source)
        if not value:
            return None
        where = Filter(value, (Term(False, key, value.casefold(), text=value),))
        older = await self._reader.runs(where, limit=_OLDER_READ, before=run.number)
        return next((other for other in older if (other.task_id, other.source) == (run.task_id, run.source)), None)

    # -- trees

    def tree(self, record: RunRecord, index: int, then: Callable[[PastTree], object]) -> None:
        """Tree number ``index`` of a run, with what changed since the one before it in the run."""
        self._go("tree", partial(self._tree, (record, index - 1) if index else None, (record, index), then))

    def trees(self, a: Place, b: Place, then: Callable[[PastTree], object]) -> None:
        """The tree of one run, with how it differs from that of another."""
        self._go("tree", partial(self._tree, a, b, then))

    def no_tree(self) -> None:
        """The tree that was wished for is not wanted any more."""
        self._go("tree", _nothing)

    async def _tree(self, old: Place | None, new: Place, then: Callable[[PastTree], object]) -> None:
        try:
            before = await self._snapshot(*old) if old is not None else TreeSnapshot.EMPTY
        except EngineError:
            before = TreeSnapshot.EMPTY  # then nothing is known of what changed
        try:
            snapshot = await self._snapshot(*new)
        except EngineError as exc:
            then(PastTree(problem=words_of(exc)))
            return
        if before.tree is None or snapshot.tree is None:
            then(PastTree(snapshot))
            return
        changes = await asyncio.to_thread(align, before.tree, snapshot.tree)
        counts = await asyncio.to_thread(tree_counts, before.tree, snapshot.tree)
        then(PastTree(replace(snapshot, changes=changes, since=before.serial), before, counts))

    async def differences(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], TreeCounts]:
        """How the trees of each pair of digests differ; raises ``EngineError``. What cannot be read is left out."""
        found: dict[tuple[str, str], TreeCounts] = {}
        for pair in pairs:
            texts = [await self._reader.tree(digest) for digest in pair]
            counts = TreeCounts() if texts[0] == texts[1] else await asyncio.to_thread(_differences, *texts)
            if counts is not None:
                found[pair] = counts
        return found

    async def bundle(self, record: RunRecord) -> dict[str, Any]:
        """A run as ``history export`` writes it: JSON data, with the texts of its trees. Raises ``EngineError``."""
        run = record.to_dict()
        for tree in run["trees"]:
            tree["text"] = await self._reader.tree(tree["digest"])
        return run

    async def _snapshot(self, record: RunRecord, index: int) -> TreeSnapshot:
        told = record.trees[index]
        key = (record.summary.number, index, told.digest)
        known = self._trees.get(key)
        if known is not None:
            self._trees.move_to_end(key)
            return known
        xml = await self._reader.tree(told.digest)
        tree, problem = await asyncio.to_thread(read_tree, xml)
        self._serial += 1
        snapshot = TreeSnapshot(
            serial=self._serial,
            device_id=record.summary.device_id,
            source="history",
            command_id=record.summary.command_id,
            at=told.at,
            xml=xml,
            tree=tree,
            complete=told.complete and tree is not None and tree.complete,
            problem=problem,
        )
        self._trees[key] = snapshot
        if len(self._trees) > _TREES_KEPT:
            _, gone = self._trees.popitem(last=False)
            self._dropped(len(gone.nodes))  # it may still be on screen: the next garbage collection frees it
        return snapshot

    # -- jobs

    @property
    def _reader(self) -> Reader:
        assert self.history is not None, "not called while history is disabled"
        return self.history

    def _go(self, name: str, job: Job) -> None:
        if self.history is not None:
            self._start(name, job)


def _differences(a: str, b: str) -> TreeCounts | None:
    return tree_counts(read_tree(a)[0], read_tree(b)[0])


async def _nothing() -> None:
    """Takes the place of a job that is not wanted any more."""


def unchanged(one: RunSummary, other: RunSummary) -> bool:
    """Whether two readings of a run say the same; a moment that is not known equals itself."""
    return one.to_dict() == other.to_dict()


def words_of(error: EngineError) -> str:
    """Why the history cannot be read, with the code and what to do."""
    hint = f"\n\n{error.hint}" if error.hint else ""
    return f"{error.message} ({error.code.value}){hint}"
