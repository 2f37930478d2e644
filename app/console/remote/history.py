"""The server's history, as mode 4 reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from clawperator.app.console.remote.client import Client
from clawperator.app.console.remote.wire import (
    Count,
    Envelope,
    LongText,
    Milliseconds,
    Moment,
    Name,
    Outcome,
    Raw,
    Wire,
)
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.filters.grammar import NO_FILTER, Filter, Term, parse_filter
from clawperator.engine.history.records import (
    LateRecord,
    LineRecord,
    RunRecord,
    RunSummary,
    StepRecord,
    TreeRecord,
)

_PAGE = 1_000
"""The server's page size."""


class Summary(Wire):
    """A run in a list. Names and defaults as in ``RunSummary``."""

    number: Count
    execution_id: Name
    command_id: Name
    task_id: Name = ""
    source: Name = ""
    mode: Name = ""
    device_id: Name = ""
    backend: Name = ""
    face: Name = ""
    origin: Literal["made", "seen"] = "made"
    pid: Count = 0
    package: Name = ""
    status: Literal["running", "success", "failed", "refused", "interrupted"] = "running"
    code: Name = ""
    started_at: Moment = math.nan
    ended_at: Moment = math.nan
    duration_ms: Milliseconds = math.nan
    action_count: Count = 0
    failed_steps: Count = 0
    timeout_ms: Count = 0
    outcome: Outcome | None = None
    action: LongText = ""

    def summary(self) -> RunSummary:
        values = {name: getattr(self, name) for name in Summary.model_fields}
        if self.outcome is not None:
            values["outcome"] = replace(self.outcome.value(), error=None).to_dict()
        return RunSummary(**values)


class Runs(Wire):
    """``GET /history``; the two numbers are there on request."""

    runs: Annotated[list[Summary], Field(max_length=_PAGE)]
    total: Count = 0
    version: int = 0


class Step(Wire):
    index: Count
    id: Name
    type: Name
    status: Literal["success", "failed", "not_run", "unknown"] = "unknown"
    code: Name = ""
    started_at: Moment = math.nan
    ended_at: Moment = math.nan
    retries: Count = 0
    data: dict[str, Any] = Field(default_factory=dict)

    def record(self) -> StepRecord:
        return StepRecord(**{name: getattr(self, name) for name in Step.model_fields})


class Line(Wire):
    at: Moment
    kind: Name
    text: LongText
    fields: Annotated[dict[Name, LongText], Field(max_length=100)] = Field(default_factory=dict)

    def record(self) -> LineRecord:
        return LineRecord(self.at, self.kind, self.text, self.fields)


class Tree(Wire):
    step_id: Name
    at: Moment
    digest: Name
    characters: Count
    complete: bool = True

    def record(self) -> TreeRecord:
        return TreeRecord(self.step_id, self.at, self.digest, self.characters, self.complete)


Steps = Annotated[list[Step], Field(max_length=10_000)]
Texts = Annotated[list[Raw], Field(max_length=1_000)]


class Late(Wire):
    at: Moment
    after_ms: Milliseconds
    envelope: Envelope
    raw: Texts = Field(default_factory=list)
    steps: Steps = Field(default_factory=list)

    def record(self) -> LateRecord:
        steps = tuple(step.record() for step in self.steps)
        return LateRecord(self.at, self.after_ms, self.envelope.to_dict(), tuple(self.raw), steps)


class Run(Summary):
    """One run in full."""

    message: LongText = ""
    payload: dict[str, Any] | None = None
    envelope: Envelope | None = None
    raw: Texts = Field(default_factory=list)
    steps: Steps = Field(default_factory=list)
    lines: Annotated[list[Line], Field(max_length=100_000)] = Field(default_factory=list)
    trees: Annotated[list[Tree], Field(max_length=10_000)] = Field(default_factory=list)
    phases: Annotated[dict[Name, float], Field(max_length=100)] = Field(default_factory=dict)
    warnings: Annotated[list[dict[str, Any]], Field(max_length=1_000)] = Field(default_factory=list)
    late_result: Late | None = None

    def record(self) -> RunRecord:
        return RunRecord(
            self.summary(),
            self.message,
            self.payload,
            self.envelope.to_dict() if self.envelope is not None else None,
            tuple(self.raw),
            tuple(step.record() for step in self.steps),
            tuple(line.record() for line in self.lines),
            tuple(tree.record() for tree in self.trees),
            {name: value for name, value in self.phases.items() if math.isfinite(value)},
            tuple(self.warnings),
            self.late_result.record() if self.late_result is not None else None,
        )


class OneRun(Wire):
    """``GET /history/{run}``."""

    run: Run


class RemoteHistory:
    """``HistoryEngine`` over a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def runs(
        self, where: Filter = NO_FILTER, *, limit: int = 200, before: int | None = None
    ) -> Sequence[RunSummary]:
        """Return the newest runs that match ``where``, page by page."""
        found: list[RunSummary] = []
        while len(found) < limit:
            wanted = min(_PAGE, limit - len(found))
            params: dict[str, Any] = {"filter": spelled(where), "limit": wanted}
            if before is not None:
                params["before"] = before
            page = [run.summary() for run in (await self._client.get(Runs, "history", params)).runs[:wanted]]
            found += page
            if len(page) < wanted or page[-1].number <= 1 or (before is not None and page[-1].number >= before):
                break
            before = page[-1].number
        return found

    async def count(self, where: Filter = NO_FILTER) -> int:
        return (await self._state(spelled(where))).total

    async def version(self) -> int:
        return (await self._state("")).version

    async def _state(self, words: str) -> Runs:
        return await self._client.get(Runs, "history", {"filter": words, "limit": 0, "total": "true"})

    async def find(self, key: str | int) -> RunRecord:
        if not str(key):
            raise EngineError(ErrorCode.HISTORY_NOT_FOUND, "A run without a name is not kept")
        return (await self._client.get(OneRun, f"history/{quote(str(key), safe='')}")).run.record()

    async def tree(self, digest: str) -> str:
        text = await self._client.get_bytes(f"history/trees/{quote(digest, safe='')}", "application/xml")
        return text.decode("utf-8", "replace")

    async def mark_interrupted(self) -> None:
        """The server does that whenever it counts."""


# -- filters as text


def spelled(where: Filter) -> str:
    """Return ``where`` as text: as typed, where that parses to the same."""
    return " ".join(_spelled(term) for term in where.terms)


def _spelled(term: Term) -> str:
    if term.text and _same(parse_filter(term.text).terms, term):
        return term.text
    quoted = term.value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{"!" * term.negated}{term.key}{":" * bool(term.key)}"{quoted}"'


def _same(read: tuple[Term, ...], term: Term) -> bool:
    return len(read) == 1 and _meant(read[0]) == _meant(term)


def _meant(term: Term) -> tuple[object, ...]:
    pattern = term.pattern.pattern if term.pattern is not None else ""
    return term.negated, term.key, term.value, pattern, term.comparison, term.seconds
