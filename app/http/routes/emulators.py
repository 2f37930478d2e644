"""Manage the virtual devices on the server."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import TEXT, YES, fields_of, gives, list_of, ok_with
from clawperator.app.http.service import HttpService, acting, caller_of
from clawperator.app.serve.answers import answer, ok
from clawperator.engine.emulators.avds import Avd, checked_name
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.emulators.provision import Provisioned
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.engine.errors import ErrorCode

router = APIRouter(prefix="/android", tags=["emulators"])

_FLAG = {"type": "boolean"}
_AVD = {**fields_of(Avd), "supported": _FLAG}
_STARTED = {"type": TEXT, "avdName": TEXT, "serial": TEXT, "booted": _FLAG}
_RUNNING = {"type": TEXT, **fields_of(RunningEmulator), "supported": _FLAG}
_UP = ok_with(_STARTED)
_TOOLS = (ErrorCode.ANDROID_SDK_TOOL_MISSING, ErrorCode.INVALID_NAME)


def _manager(request: Request) -> EmulatorManager:
    service: HttpService = request.app.state.service
    return service.engine.under(caller_of(request)).emulators


@router.get(
    "/emulators",
    operation_id="listEmulators",
    summary="List virtual devices and whether they are supported",
    responses=gives(ok_with({"avds": list_of(_AVD)}), *_TOOLS),
)
async def avds(request: Request) -> Response:
    return ok(avds=[avd.to_dict() for avd in await _manager(request).avds()])


@router.get(
    "/emulators/running",
    operation_id="listRunningEmulators",
    summary="List running virtual devices",
    responses=gives(ok_with({"devices": list_of(_RUNNING)}), *_TOOLS),
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
)
async def create(request: Request) -> Response:
    body = await bodies.Avd.of(request)
    name = checked_name(body.name) if body.name else ""
    with acting(request) as engine:
        return ok(**(await engine.emulators.create(name, **body.model_dump(exclude={"name"}))).to_dict())


@router.get(
    "/emulators/{name}",
    operation_id="getEmulator",
    summary="Show one virtual device",
    responses=gives(ok_with(_AVD), *_TOOLS),
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
)
async def start(request: Request, name: str) -> Response:
    with acting(request) as engine:
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
)
async def stop(request: Request, name: str) -> Response:
    with acting(request) as engine:
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
)
async def delete(request: Request, name: str) -> Response:
    with acting(request) as engine:
        await engine.emulators.delete(checked_name(name))
    return ok(avdName=name, deleted=True)


@router.post(
    "/provision/emulator",
    operation_id="provisionEmulator",
    summary="Reuse, start or create a supported virtual device",
    openapi_extra=bodies.Provision.described(),
    responses=gives(
        ok_with({**_STARTED, **fields_of(Provisioned)}),
        *_TOOLS,
        ErrorCode.EMULATOR_UNSUPPORTED,
        ErrorCode.EMULATOR_START_FAILED,
        ErrorCode.EMULATOR_BOOT_TIMEOUT,
    ),
)
async def provision(request: Request) -> Response:
    name = (await bodies.Provision.of(request)).name
    with acting(request) as engine:
        return ok(**(await engine.emulators.provision(checked_name(name) if name else "")).to_dict())
