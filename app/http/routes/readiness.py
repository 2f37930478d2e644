"""Whether devices are ready, and who has them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from clawperator.app.http.openapi import gives, ok_with, shape
from clawperator.app.http.service import HttpService
from clawperator.app.serve.answers import ok
from clawperator.app.serve.gate import refuse_web_page
from clawperator.engine.doctor.check import CheckDocument
from clawperator.engine.doctor.verdict import READINESS, verdict_of
from clawperator.engine.errors import ErrorCode
from clawperator.engine.events.types import CheckFinished
from clawperator.engine.executions.device_lock import LockDocument

router = APIRouter(tags=["readiness"])

_CHECKS = {"type": "array", "items": shape(CheckDocument)}
_LOCKS = {"type": "array", "items": shape(LockDocument)}


@router.get(
    "/doctor",
    operation_id="runDoctor",
    dependencies=[Depends(refuse_web_page)],
    summary="Check the host, the device and the Operator app",
    description="`verdict` and `summary` state whether the device can execute by `backend`; `ready` is false when it cannot. "
    "`stock` has the same keys for executions by the stock backend.",
    responses=gives(
        ok_with(
            {
                "ready": {"type": "boolean"},
                "verdict": {"type": "string", "enum": list(READINESS)},
                "summary": {"type": "string"},
                "backend": {"type": "string", "enum": ["operator", "stock"]},
                "stock": {"type": "object"},
                "checks": _CHECKS,
            }
        ),
        ErrorCode.READ_ONLY,
    ),
    response_class=Response,
)
async def doctor(
    request: Request,
    device_id: Annotated[str | None, Query(alias="deviceId", max_length=255)] = None,
    backend: Annotated[Literal["operator", "stock"] | None, Query()] = None,
) -> Response:
    service: HttpService = request.app.state.service
    visit = service.engine.doctor(device_id=device_id or None, backend=backend)
    checks: list[dict[str, Any]] = []
    with service.work.one():
        async for check in visit.checks():
            checks.append(check.to_dict())
            service.engine.events.publish(CheckFinished(device_id=visit.device_id or None, check=checks[-1]))
    verdict = verdict_of(checks, visit.backend)
    return ok(
        ready=verdict.ready,
        **verdict.to_dict(),
        backend=visit.backend,
        stock=verdict_of(checks, "stock").to_dict(),
        deviceId=visit.device_id or None,
        checks=checks,
    )


@router.get(
    "/locks",
    operation_id="listLocks",
    summary="List device locks and their holders",
    responses=gives(ok_with({"locks": _LOCKS})),
    response_class=Response,
)
async def locks(request: Request) -> Response:
    service: HttpService = request.app.state.service
    return ok(locks=[lock.to_dict() for lock in service.engine.locks()])
