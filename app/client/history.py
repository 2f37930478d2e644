"""The server's history, as mode 4 reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, Field

from clawperator.app.client.http_client import Client
from clawperator.app.client.wire import (
    Count,
    EngineValue,
    Envelope,
    LongText,
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


_CALLER_ENVELOPE = Annotated[Envelope, AfterValidator(Envelope.to_dict)]
_OUTCOME = Annotated[Outcome, AfterValidator(lambda read: replace(read.value(), error=None).to_dict())]
Summary = Annotated[RunSummary, EngineValue(outcome=(_OUTCOME | None, None), action=LongText)]
_STEP = Annotated[StepRecord, EngineValue(position=(Count, Field(alias="index")))]
_LINE = Annotated[
    LineRecord, EngineValue(text=LongText, fields=(Annotated[dict[Name, LongText], Field(max_length=100)], {}))
]
_Tuple = AfterValidator(tuple)
_STEPS = Annotated[list[_STEP], Field(max_length=10_000), _Tuple]
_TEXTS = Annotated[list[Raw], Field(max_length=1_000), _Tuple]
_LATE = Annotated[LateRecord, EngineValue(envelope=_CALLER_ENVELOPE, raw=(_TEXTS, ()), steps=(_STEPS, ()))]
_PHASES = Annotated[
    dict[Name, float],
    Field(max_length=100),
    AfterValidator(lambda read: {name: value for name, value in read.items() if math.isfinite(value)}),
]
FullRun = Annotated[
    RunRecord,
    EngineValue(
        summary=Summary,
        message=LongText,
        envelope=(_CALLER_ENVELOPE | None, None),
        raw=(_TEXTS, ()),
        steps=(_STEPS, ()),
        lines=(Annotated[list[_LINE], Field(max_length=100_000), _Tuple], ()),
        trees=(Annotated[list[Annotated[TreeRecord, EngineValue(text=None)]], Field(max_length=10_000), _Tuple], ()),
        phases=(_PHASES, {}),
        warnings=(Annotated[list[dict[str, Any]], Field(max_length=1_000), _Tuple], ()),
        late=(_LATE | None, Field(None, alias="lateResult")),
    ),
    BeforeValidator(lambda run: {**run, "summary": run} if isinstance(run, Mapping) else run),
]
"""One run in full; the fields of its summary are beside the others."""


class Runs(Wire):
    """``GET /history``; the two numbers are there on request."""

    runs: Annotated[list[Summary], Field(max_length=_PAGE)]
    total: Count = 0
    version: int = 0


class OneRun(Wire):
    """``GET /history/{run}``."""

    run: FullRun


class RemoteHistory:
    """``HistoryEngine`` over ``page``, ``one`` and ``tree`` of a transport."""

    async def page(self, **params: Any) -> Runs:
        raise NotImplementedError

    async def one(self, key: str) -> OneRun:
        raise NotImplementedError

    async def tree(self, digest: str) -> str:
        raise NotImplementedError

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
            page = (await self.page(**params)).runs[:wanted]
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
        return await self.page(filter=words, limit=0, total=True)

    async def find(self, key: str | int) -> RunRecord:
        if not str(key):
            raise EngineError(ErrorCode.HISTORY_NOT_FOUND, "A run without a name is not kept")
        return (await self.one(str(key))).run

    async def mark_interrupted(self) -> None:
        """The server does that whenever it counts."""


class HttpHistory(RemoteHistory):
    """The history of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def page(self, **params: Any) -> Runs:
        return await self._client.get(Runs, "history", params)

    async def one(self, key: str) -> OneRun:
        return await self._client.get(OneRun, f"history/{quote(key, safe='')}")

    async def tree(self, digest: str) -> str:
        text = await self._client.get_bytes(f"history/trees/{quote(digest, safe='')}", "application/xml")
        return text.decode("utf-8", "replace")


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
