"""Recorded runs, their trees, and the audit."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http.openapi import fields_of, gives, list_of, obj, ok_with, ref
from clawperator.app.http.service import HttpService, caller_of
from clawperator.app.serve.answers import ok
from clawperator.app.serve.history import MAX_PAGE, history_of, one_run, runs_page
from clawperator.app.serve.refusals import operation_of
from clawperator.engine.errors import ErrorCode
from clawperator.engine.history.records import RunSummary
from clawperator.engine.history.worker import HistoryWorker

router = APIRouter(tags=["history"])

_NUMBER_OR_NULL = {"type": ["number", "null"]}
_WITH_CODE = {"hint": {"type": "string"}, "retryable": {"type": "boolean"}}
_RUN = {
    **fields_of(RunSummary),
    **dict.fromkeys(("startedAt", "endedAt", "durationMs"), _NUMBER_OR_NULL),
    "outcome": {"anyOf": [ref("outcome"), {"type": "null"}]},
    **_WITH_CODE,
}
_ENTRIES = {"type": "array", "items": {"type": "object"}}
_CODES = (
    ErrorCode.CAPABILITY_DENIED,
    ErrorCode.ACTION_DENIED,
    ErrorCode.HISTORY_UNAVAILABLE,
    ErrorCode.HISTORY_NOT_FOUND,
    ErrorCode.INVALID_PARAMETER,
)
_Limit = Annotated[int, Query(ge=1, le=1_000)]
_Before = Annotated[
    int | None, Query(ge=1, le=2**62, description="Only entries with a smaller number (the next page).")
]


def _history(request: Request) -> HistoryWorker:
    service: HttpService = request.app.state.service
    return history_of(service.engine.under(caller_of(request)), operation_of(request.scope))


@router.get(
    "/history",
    operation_id="listRuns",
    summary="List recorded runs, newest first",
    description="With `total`, the number of matching runs, and a number that changes when the history changes.",
    responses=gives(
        ok_with(
            {
                "runs": list_of(_RUN, optional=_WITH_CODE),
                "count": {"type": "integer"},
                "total": {"type": "integer"},
                "version": {"type": "integer"},
            },
            optional=("total", "version"),
        ),
        *_CODES,
    ),
)
async def runs(
    request: Request,
    words: Annotated[str, Query(alias="filter", max_length=1_000, description="As `history list --filter`.")] = "",
    limit: Annotated[int, Query(ge=0, le=MAX_PAGE)] = 50,
    before: _Before = None,
    total: Annotated[bool, Query(description="Also count the matching runs.")] = False,
) -> Response:
    return ok(**await runs_page(_history(request), words, limit=limit, before=before, total=total))


@router.get(
    "/history/trees/{digest}",
    operation_id="getTree",
    summary="Show one UI tree of the history",
    responses=gives({"type": "string"}, *_CODES, kind="application/xml"),
)
async def tree(request: Request, digest: str) -> Response:
    text: str = await _history(request).tree(digest)
    return Response(text.encode("utf-8", "replace"), media_type="application/xml")


@router.get(
    "/history/{run}",
    operation_id="getRun",
    summary="Show one run: payload, steps, log lines, envelope, UI trees",
    description="`run` is its number, executionId or commandId.",
    responses=gives(ok_with({"run": obj(_RUN, (name for name in _RUN if name not in _WITH_CODE))}), *_CODES),
)
async def one(request: Request, run: str) -> Response:
    return ok(**await one_run(_history(request), run))


@router.get(
    "/audit",
    operation_id="listAudit",
    summary="List requests to devices, their callers and their outcomes, newest first",
    responses=gives(ok_with({"entries": _ENTRIES, "count": {"type": "integer"}}), *_CODES),
)
async def audit(request: Request, limit: _Limit = 50, before: _Before = None) -> Response:
    found = await _history(request).audit(limit, before)
    entries = [entry.to_dict() for entry in found]
    return ok(entries=entries, count=len(entries))
