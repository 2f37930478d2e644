"""Recorded runs, their trees, and the audit."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http.openapi import gives, list_of, obj, ok_with, ref
from clawperator.app.http.service import HttpService
from clawperator.app.serve.answers import ok
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.filters.grammar import parse_filter
from clawperator.engine.history.records import RunStatus

router = APIRouter(tags=["history"])

_TEXT = {"type": "string"}
_COUNT = {"type": "integer"}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_RUN = {
    "number": _COUNT,
    **dict.fromkeys(("executionId", "commandId", "taskId", "source", "mode", "deviceId", "backend", "face"), _TEXT),
    "origin": {"type": "string", "enum": ["made", "seen"]},
    "pid": _COUNT,
    "package": _TEXT,
    "status": {"type": "string", "enum": list(get_args(RunStatus))},
    "code": _TEXT,
    "hint": _TEXT,
    "retryable": {"type": "boolean"},
    "startedAt": _NUMBER_OR_NULL,
    "endedAt": _NUMBER_OR_NULL,
    "durationMs": _NUMBER_OR_NULL,
    "actionCount": _COUNT,
    "failedSteps": _COUNT,
    "timeoutMs": _COUNT,
    "outcome": {"anyOf": [ref("outcome"), {"type": "null"}]},
}
_WITH_CODE = ("hint", "retryable")
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


def _history(request: Request) -> Any:
    service: HttpService = request.app.state.service
    service.admit(request, build.snapshot())  # the history shows screens: the caller needs the permission to observe
    if service.engine.history is None:
        raise EngineError(
            ErrorCode.HISTORY_UNAVAILABLE, "This server keeps no history", hint="Start the server without --no-history."
        )
    return service.engine.history


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
    response_class=Response,
)
async def runs(
    request: Request,
    words: Annotated[str, Query(alias="filter", max_length=1_000, description="As `history list --filter`.")] = "",
    limit: Annotated[int, Query(ge=0, le=1_000)] = 50,
    before: _Before = None,
    total: Annotated[bool, Query(description="Also count the matching runs.")] = False,
) -> Response:
    history, where = _history(request), parse_filter(words)
    if where.problem:
        raise EngineError(ErrorCode.INVALID_PARAMETER, f"'filter': {where.problem}", details={"path": "filter"})
    facts = {}
    if total:
        await history.mark_interrupted()
        facts = {"version": await history.version(), "total": await history.count(where)}
    found = await history.runs(where, limit=limit, before=before) if limit else []
    return ok(runs=[run.to_dict() for run in found], count=len(found), **facts)


@router.get(
    "/history/trees/{digest}",
    operation_id="getTree",
    summary="Show one UI tree of the history",
    responses=gives({"type": "string"}, *_CODES, kind="application/xml"),
    response_class=Response,
)
async def tree(request: Request, digest: str) -> Response:
    text: str = await _history(request).tree(digest)
    return Response(text.encode("utf-8", "replace"), media_type="application/xml")


@router.get(
    "/history/{run}",
    operation_id="getRun",
    summary="Show one run: payload, steps, log lines, envelope, UI trees",
    description="`run` is its number, executionId or commandId.",
    responses=gives(ok_with({"run": obj(_RUN, _RUN.keys() - set(_WITH_CODE))}), *_CODES),
    response_class=Response,
)
async def one(request: Request, run: str) -> Response:
    key: str | int = int(run) if run.isascii() and run.isdigit() and len(run) < 16 else run
    return ok(run=(await _history(request).find(key)).to_dict())


@router.get(
    "/audit",
    operation_id="listAudit",
    summary="List requests to devices, their callers and their outcomes, newest first",
    responses=gives(ok_with({"entries": _ENTRIES, "count": {"type": "integer"}}), *_CODES),
    response_class=Response,
)
async def audit(request: Request, limit: _Limit = 50, before: _Before = None) -> Response:
    found = await _history(request).audit(limit, before)
    entries = [entry.to_dict() for entry in found]
    return ok(entries=entries, count=len(entries))
