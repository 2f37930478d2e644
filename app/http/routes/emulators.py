"""Manage the virtual devices on the server."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import TEXT, YES, gives, list_of, ok_with
from clawperator.app.http.service import HttpService, caller_of
from clawperator.app.serve.answers import answer, ok
from clawperator.engine.emulators.avds import checked_name
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.errors import ErrorCode

router = APIRouter(prefix="/android", tags=["emulators"])

_FLAG = {"type": "boolean"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_FITNESS = {"supported": _FLAG, "unsupportedReasons": {"type": "array", "items": TEXT}}
_AVD = {
    "name": TEXT,
    "exists": _FLAG,
    "running": _FLAG,
    "apiLevel": {"type": ["integer", "null"]},
    "abi": _TEXT_OR_NULL,
    "playStore": _FLAG,
    "deviceProfile": _TEXT_OR_NULL,
    "systemImage": _TEXT_OR_NULL,
    **_FITNESS,
}
_STARTED = {"type": TEXT, "avdName": TEXT, "serial": TEXT, "booted": _FLAG}
_RUNNING = {**_STARTED, **_FITNESS}
_UP = ok_with(_STARTED)
_TOOLS = (ErrorCode.ANDROID_SDK_TOOL_MISSING, ErrorCode.INVALID_NAME)


def _manager(request: Request) -> EmulatorManager:
    service: HttpService = request.app.state.service
    return service.engine.emulators


@router.get(
    "/emulators",
    operation_id="listEmulators",
    summary="List virtual devices and whether they are supported",
    responses=gives(ok_with({"avds": list_of(_AVD)}), *_TOOLS),
    response_class=Response,
)
async def avds(request: Request) -> Response:
    return ok(avds=[avd.to_dict() for avd in await _manager(request).avds()])


@router.get(
    "/emulators/running",
    operation_id="listRunningEmulators",
    summary="List running virtual devices",
    responses=gives(ok_with({"devices": list_of(_RUNNING)}), *_TOOLS),
    response_class=Response,
)
async def running(request: Request) -> Response:
    return ok(devices=[one.to_dict() for one in await _manager(request).status()])


@router.post(
    "/emulators/create",
    operation_id="createEmulator",
    summary="Create a virtual device, and install its system image if needed",
    openapi_extra=bodies.Avd.described(),
    responses=gives(
        ok_with(_AVD),
        *_TOOLS,
        ErrorCode.INVALID_BODY,
        ErrorCode.ANDROID_AVD_CREATE_FAILED,
        ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED,
    ),
    response_class=Response,
)
async def create(request: Request) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.Avd.of(request)
    name = checked_name(body.name) if body.name else ""
    with service.acting(caller_of(request)) as engine:
        return ok(**(await engine.emulators.create(name, **body.model_dump(exclude={"name"}))).to_dict())


@router.get(
    "/emulators/{name}",
    operation_id="getEmulator",
    summary="Show one virtual device",
    responses=gives(ok_with(_AVD), *_TOOLS),
    response_class=Response,
)
async def inspect(request: Request, name: str) -> Response:
    return ok(**(await _manager(request).inspect(name)).to_dict())


@router.post(
    "/emulators/{name}/start",
    operation_id="startEmulator",
    summary="Start a virtual device and wait until it has booted",
    responses=gives(
        _UP,
        *_TOOLS,
        ErrorCode.EMULATOR_NOT_FOUND,
        ErrorCode.EMULATOR_ALREADY_RUNNING,
        ErrorCode.EMULATOR_START_FAILED,
        ErrorCode.EMULATOR_BOOT_TIMEOUT,
    ),
    response_class=Response,
)
async def start(request: Request, name: str) -> Response:
    service: HttpService = request.app.state.service
    with service.acting(caller_of(request)) as engine:
        return ok(**(await engine.emulators.start(checked_name(name))).started())


@router.post(
    "/emulators/{name}/stop",
    operation_id="stopEmulator",
    summary="Stop a running virtual device",
    responses=gives(
        ok_with({"avdName": TEXT, "stopped": YES}),
        *_TOOLS,
        ErrorCode.EMULATOR_NOT_RUNNING,
        ErrorCode.EMULATOR_STOP_FAILED,
    ),
    response_class=Response,
)
async def stop(request: Request, name: str) -> Response:
    service: HttpService = request.app.state.service
    with service.acting(caller_of(request)) as engine:
        stopped = await engine.emulators.stop(checked_name(name))
    return answer(stopped.to_dict())


@router.delete(
    "/emulators/{name}",
    operation_id="deleteEmulator",
    summary="Delete a virtual device",
    responses=gives(
        ok_with({"avdName": TEXT, "deleted": YES}),
        *_TOOLS,
        ErrorCode.EMULATOR_NOT_FOUND,
        ErrorCode.EMULATOR_ALREADY_RUNNING,
        ErrorCode.EMULATOR_DELETE_FAILED,
    ),
    response_class=Response,
)
async def delete(request: Request, name: str) -> Response:
    service: HttpService = request.app.state.service
    with service.acting(caller_of(request)) as engine:
        await engine.emulators.delete(checked_name(name))
    return ok(avdName=name, deleted=True)


@router.post(
    "/provision/emulator",
    operation_id="provisionEmulator",
    summary="Reuse, start or create a supported virtual device",
    openapi_extra=bodies.Provision.described(),
    responses=gives(
        ok_with({**_STARTED, "created": _FLAG, "started": _FLAG, "reused": _FLAG}),
        *_TOOLS,
        ErrorCode.EMULATOR_UNSUPPORTED,
        ErrorCode.EMULATOR_START_FAILED,
        ErrorCode.EMULATOR_BOOT_TIMEOUT,
    ),
    response_class=Response,
)
async def provision(request: Request) -> Response:
    service: HttpService = request.app.state.service
    name = (await bodies.Provision.of(request)).name
    with service.acting(caller_of(request)) as engine:
        return ok(**(await engine.emulators.provision(checked_name(name) if name else "")).to_dict())
