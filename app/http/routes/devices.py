"""``GET /devices``: what adb sees, as it was pushed last."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from clawperator.app.http.answers import JSON, ok
from clawperator.app.http.describing import gives, obj, ok_with
from clawperator.app.http.events.frames import device_row
from clawperator.app.http.room import Room
from clawperator.engine.errors import ErrorCode

router = APIRouter()

_TEXT = {"type": "string"}
_MORE = {"product": _TEXT, "model": _TEXT, "transportId": {"type": "integer"}, "detail": _TEXT}
_DEVICE = obj({"serial": _TEXT, "state": _TEXT, **_MORE}, ["serial", "state"])


@router.get(
    "/devices",
    summary="List the devices that adb knows, in every state",
    responses=gives(ok_with({"devices": {"type": "array", "items": _DEVICE}}), ErrorCode.ADB_NOT_FOUND),
    response_class=Response,
)
async def devices(request: Request) -> Response:
    room: Room = request.app.state.room
    if room.device_list is not None:
        return Response(room.device_list, media_type=JSON)
    return ok(devices=[device_row(entry) for entry in await room.engine.devices()])
