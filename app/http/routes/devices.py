"""``GET /devices``: the devices that adb lists."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from clawperator.app.http.openapi import gives, obj, ok_with
from clawperator.app.http.service import HttpService
from clawperator.app.serve.answers import JSON, ok
from clawperator.app.serve.service import device_document
from clawperator.engine.config.policy import OBSERVE
from clawperator.engine.errors import ErrorCode

router = APIRouter(tags=["devices"])

_TEXT = {"type": "string"}
_MORE: dict[str, Mapping[str, object]] = {
    **dict.fromkeys(("model", "product", "device", "usb", "detail"), _TEXT),
    "transportId": {"type": "integer"},
    "sharedSerial": _TEXT | {"description": "What adb lists for several devices; `serial` chooses this one."},
    "otherTransports": {"type": "array", "items": _TEXT, "description": "Other serials of the same phone."},
    "preferred": {"type": "boolean", "description": "With otherTransports: whether this one is used by default."},
}
_ALIASES = {
    "type": "object",
    "additionalProperties": _TEXT,
    "description": "By serial, from the settings of the server; also of devices that are not connected.",
}
_DEVICE = obj({"serial": _TEXT, "state": _TEXT, **_MORE}, ["serial", "state"])


@router.get(
    "/devices",
    operation_id="listDevices",
    summary="List the devices that adb reports, in any state",
    responses=gives(
        ok_with({"devices": {"type": "array", "items": _DEVICE}, "aliases": _ALIASES}), ErrorCode.ADB_NOT_FOUND
    ),
)
async def devices(request: Request) -> Response:
    service: HttpService = request.app.state.service
    service.guard(request).permit(OBSERVE, "list devices")
    if service.device_list is not None:
        return Response(service.device_list, media_type=JSON)
    return ok(**device_document(service.engine.settings, await service.engine.devices()))
