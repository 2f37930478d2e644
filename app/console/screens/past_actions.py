"""What can be done with past runs: run again, edit, export, compare, copy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.screens.again import command_line, of_record
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import spelling

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.app.console.past import Past
    from clawperator.engine.history.records import RunRecord, RunSummary
    from clawperator.widgets.models.executions import ExecutionLog

_UNFIT = re.compile(r"[^\w.-]+")


async def export(console: ConsoleApp, past: Past, record: RunRecord) -> None:
    """Write the run as one JSON line, with its trees; raises ``EngineError``."""
    text = json.dumps(await past.bundle(record), ensure_ascii=False, default=str)
    name = _UNFIT.sub("-", record.summary.command_id)[:60].strip("-.") or "run"
    console.chores.save_text("export this run", f"{name}.jsonl", f"{text}\n")


async def pair_of(
    past: Past, log: ExecutionLog, run: RunSummary | None, marked: Sequence[RunSummary]
) -> tuple[RunSummary, RunSummary] | None:
    """What ``c`` compares: A with B; without them the run that ``run`` repeats, or the one before of its task, with ``run``.

    ``None`` where there is only one. Raises ``EngineError``.
    """
    if len(marked) == 2:
        return marked[0], marked[1]
    if run is None:
        return None
    if marked and marked[0].number != run.number:
        return marked[0], run
    other = await _repeated(past, log, run) or await past.before(run)
    return None if other is None else (other, run)


def tree_place(record: RunRecord | None, digest: str) -> int:
    """Where the tree of that digest stands among those of a run; -1 where it does not."""
    trees = record.trees if record is not None else ()
    return next((place for place, tree in enumerate(trees) if tree.digest == digest), -1)


async def _repeated(past: Past, log: ExecutionLog, run: RunSummary) -> RunSummary | None:
    """The run that this one repeats, as far as this console knows."""
    live = log.find(run.command_id)
    if live is None or not live.run_of:
        return None
    try:
        return (await past.find(live.run_of)).summary
    except EngineError:
        return None  # it has been pruned


def copyable(record: RunRecord) -> Iterator[tuple[str, Copyable]]:
    """What can be copied of a run, by the entries of the copy menu."""
    summary, payload, envelope = record.summary, record.payload, record.envelope
    yield "id", Copyable("the commandId", lambda: summary.command_id)
    if record.raw:
        yield "line", Copyable("the raw envelope", lambda: "".join(record.raw))
    if envelope is not None:
        yield "json", Copyable("the envelope", lambda: json.dumps(envelope, indent=2, ensure_ascii=False))
    if payload is not None:
        yield "execution", Copyable("the payload", lambda: spelling.pretty(payload))
        if line := command_line(of_record(record)):
            yield "command", Copyable("the command", lambda: line)
