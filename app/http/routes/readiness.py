"""Whether devices are ready, and who has them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http.answers import ok
from clawperator.app.http.describing import gives, ok_with
from clawperator.app.http.room import Room
from clawperator.engine.doctor.check import Check
from clawperator.engine.errors import ErrorCode
from clawperator.engine.events import CheckFinished

router = APIRouter()

_LIST = {"type": "array", "items": {"type": "object"}}


@router.get(
    "/doctor",
    summary="Every check of host, device and Operator app",
    description="`ready` is whether no critical check failed; checks that were not reached say why.",
    responses=gives(ok_with({"ready": {"type": "boolean"}, "checks": _LIST}), ErrorCode.READ_ONLY),
    response_class=Response,
)
async def doctor(
    request: Request, device_id: Annotated[str | None, Query(alias="deviceId", max_length=255)] = None
) -> Response:
    room: Room = request.app.state.room
    visit = room.engine.doctor(device_id=device_id or None)
    checks: list[Check] = []
    with room.flight():
        async for check in visit.checks():
            checks.append(check)
            room.engine.events.publish(CheckFinished(device_id=visit.device_id or None, check=check.to_dict()))
    ready = not any(check.critical and check.status == "fail" for check in checks)
    return ok(ready=ready, deviceId=visit.device_id or None, checks=[check.to_dict() for check in checks])


@router.get(
    "/locks",
    summary="Which devices are taken, and by whom",
    responses=gives(ok_with({"locks": _LIST})),
    response_class=Response,
)
async def locks(request: Request) -> Response:
    room: Room = request.app.state.room
    return ok(locks=[lock.to_dict() for lock in room.engine.locks()])
