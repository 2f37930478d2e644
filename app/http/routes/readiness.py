"""Whether devices are ready, and who has them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from clawperator.app.http.openapi import gives, ok_with, shape
from clawperator.app.http.service import HttpService, acting, caller_of
from clawperator.app.serve.answers import answer, ok
from clawperator.app.serve.gate import refuse_web_page
from clawperator.engine.doctor.check import CheckDocument
from clawperator.engine.doctor.verdict import READINESS
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.device_lock import LockDocument

router = APIRouter(tags=["readiness"])

_CHECKS = {"type": "array", "items": shape(CheckDocument)}
_LOCKS = {"type": "array", "items": shape(LockDocument)}


@router.get(
    "/doctor",
    operation_id="runDoctor",
    dependencies=[Depends(refuse_web_page)],
    summary="Check the host, the device and the Operator app",
    description="`verdict` and `summary` state whether the device can execute by `backend`; `ok` and `ready` are false when it cannot. "
    "`unknown` lists the checks that could not run. `stock` has the same keys for executions by the stock backend.",
    responses=gives(
        ok_with(
            {
                "ok": {"type": "boolean"},
                "ready": {"type": "boolean"},
                "verdict": {"type": "string", "enum": list(READINESS)},
                "summary": {"type": "string"},
                "unknown": {"type": "array", "items": {"type": "string"}},
                "backend": {"type": "string", "enum": ["operator", "stock"]},
                "stock": {"type": "object"},
                "checks": _CHECKS,
            },
            optional=("ok", "unknown"),  # ``ok`` is required anyway
        ),
        ErrorCode.READ_ONLY,
    ),
)
async def doctor(
    request: Request,
    device_id: Annotated[str | None, Query(alias="deviceId", max_length=255)] = None,
    backend: Annotated[Literal["operator", "stock"] | None, Query()] = None,
) -> Response:
    service: HttpService = request.app.state.service
    return answer(await service.doctor(caller_of(request), device_id, backend))


@router.get(
    "/locks",
    operation_id="listLocks",
    summary="List device locks and their holders",
    responses=gives(ok_with({"locks": _LOCKS})),
)
async def locks(request: Request) -> Response:
    with acting(request) as engine:
        return ok(locks=[lock.to_dict() for lock in engine.locks()])
