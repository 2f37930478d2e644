"""The history for readers on other computers: pages of runs, one run in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.filters.grammar import HISTORY, parse_filter

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine
    from clawperator.engine.history.worker import HistoryWorker

MAX_PAGE = 1_000


def history_of(engine: Engine, operation: str) -> HistoryWorker:
    """Return the history for a caller who may observe, because it shows screens. Raises ``EngineError``."""
    engine.admit(build.snapshot(), operation)
    if engine.history is None:
        raise EngineError(
            ErrorCode.HISTORY_UNAVAILABLE, "This server keeps no history", hint="Start it without --no-history."
        )
    return engine.history


async def runs_page(
    history: HistoryWorker, words: str, *, limit: int, before: int | None = None, total: bool = False
) -> dict[str, Any]:
    """Return the newest runs that match the filter ``words``; with ``total`` their number and the history's version.

    Raises ``EngineError``: INVALID_PARAMETER for a filter that cannot be read.
    """
    where = parse_filter(words, HISTORY)
    if where.problem:
        raise EngineError(ErrorCode.INVALID_PARAMETER, f"'filter': {where.problem}", details={"path": "filter"})
    facts = {}
    if total:
        await history.mark_interrupted()
        facts = {"version": await history.version(), "total": await history.count(where)}
    found = await history.runs(where, limit=limit, before=before) if limit else []
    return {"runs": [run.to_dict() for run in found], "count": len(found), **facts}


async def one_run(history: HistoryWorker, run: str) -> dict[str, Any]:
    """Return the run of a number, an execution id or a command id. Raises ``EngineError``."""
    key: str | int = int(run) if run.isascii() and run.isdigit() and len(run) < 16 else run
    return {"run": (await history.find(key)).to_dict()}
