"""Actions on recorded runs: export, compare, copy."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.widgets import Label

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.rerun import command_line, of_record
from clawperator.app.console.export import write_run
from clawperator.app.console.screens.forms import Form, Switch
from clawperator.app.console.screens.menu import ask
from clawperator.engine.bundles import run_bundle
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.console import Console
    from clawperator.app.console.history.reader import HistoryReader
    from clawperator.engine.history.records import RunRecord, RunSummary
    from clawperator.widgets.models.executions import ExecutionLog

_UNFIT = re.compile(r"[^\w.-]+")


class ExportForm(Form):
    """Asks for the target of an export, and whether to mask its texts: answers ``path`` and ``safe``."""

    def __init__(self, path: str) -> None:
        words = "New ZIP file, readable by you only. A name ending in .jsonl writes one JSON line instead:"
        super().__init__("export this run", words, _problem_of, go="write", value=path)

    def compose_more(self) -> ComposeResult:
        yield Switch("mask texts of screens, leave out trees (--safe)", id="safe")
        yield Label("Otherwise it contains text that was read from screens and typed into them.", markup=False)

    def answer(self, text: str) -> dict[str, Any]:
        return {"path": text.strip(), "safe": self.query_one("#safe", Switch).value}


def _problem_of(path: str) -> str:
    if os.path.lexists(os.path.expanduser(path.strip())):
        return "The file exists and is not overwritten. Enter another name."
    return "" if path.strip() else "Enter a file name."


async def export(console: Console, past: HistoryReader, record: RunRecord) -> None:
    """Ask for a path and export the run with its trees; raises ``EngineError`` where it cannot be read."""
    run = await past.bundle(record)

    name = _UNFIT.sub("-", record.summary.command_id)[:60].strip("-.") or "run"
    form = ExportForm(f"{name}.zip")
    ask(console, form, lambda answer: console.run_worker(_write(console, run, **answer), exit_on_error=True))


async def _write(console: Console, run: Mapping[str, Any], *, path: str, safe: bool) -> None:
    target = os.path.abspath(os.path.expanduser(path))  # noqa: ASYNC240 -- asks no disk
    try:
        await asyncio.to_thread(write_run, Path(target), run, guard=console.guard, safe=safe)
    except EngineError as exc:
        console.say(Status.FAILED, exc.message, exc.code.value)
    except (OSError, ValueError) as exc:
        console.say(Status.FAILED, f"{sentence(target)} was not written: {getattr(exc, 'strerror', None) or exc}")
    else:
        console.say(Status.OK, f"Wrote {sentence(target)}. {run_bundle.SAFE if safe else run_bundle.WHOLE}")


async def pair_of(
    past: HistoryReader, log: ExecutionLog, run: RunSummary | None, marked: Sequence[RunSummary]
) -> tuple[RunSummary, RunSummary] | None:
    """Return the runs to compare: A and B; else the run that ``run`` repeats, or the previous one of its task, and
    ``run``.

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
    """Return the index of the tree with that digest in a run; -1 without one."""
    trees = record.trees if record is not None else ()
    return next((place for place, tree in enumerate(trees) if tree.digest == digest), -1)


async def _repeated(past: HistoryReader, log: ExecutionLog, run: RunSummary) -> RunSummary | None:
    """Return the run that this one repeats, if this console knows it."""
    live = log.run_at(run.device_id, run.command_id, run.started_at)
    if live is None or not live.run_of:
        return None
    try:
        return (await past.find(live.run_of)).summary
    except EngineError:
        return None  # it has been pruned


def copyable(record: RunRecord) -> Iterator[tuple[str, Copyable]]:
    """Yield what can be copied of a run, by the ids of the copy menu."""
    summary, payload, envelope = record.summary, record.payload, record.envelope
    yield "id", Copyable("the commandId", summary.command_id)
    if record.raw:
        yield "line", Copyable("the raw envelope", make=partial("".join, record.raw))
    if envelope is not None:
        yield "json", Copyable("the envelope", make=lambda: json.dumps(envelope, indent=2, ensure_ascii=False))
    if payload is not None:
        yield "execution", Copyable("the payload", snippets.pretty(payload))
        if line := command_line(of_record(record)):
            yield "command", Copyable("the command", line)
