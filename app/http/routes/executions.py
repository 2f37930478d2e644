"""Run executions; take snapshots and screenshots."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import YES, gives, obj, ok_with, ref, takes
from clawperator.app.http.service import HttpService, caller_of
from clawperator.app.serve.answers import answer, in_route_words, retry_after, status_of
from clawperator.app.serve.screenshot_paths import confined, make_picture_folder, with_confined_screenshots
from clawperator.app.serve.service import CallerExecutor
from clawperator.engine.contracts.limits import MAX_WAIT_MS, THEN
from clawperator.engine.contracts.references import tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.brief import brief
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.hierarchy.views import MIN_BYTES
from clawperator.engine.skills import compiled_json
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.text.flat_names import flat_named

router = APIRouter(tags=["executions"])

SOURCE = "serve-api"
MAX_INLINE_BYTES = 32 * 1024 * 1024
_TEXT = {"type": "string"}
WHERE = {
    "deviceId": _TEXT,
    "receiverPackage": _TEXT,
    "operatorPackage": _TEXT,
    "waitMs": {
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_WAIT_MS,
        "default": 0,
        "description": "How long to wait for a device that is in use.",
    },
}
"""The device and the Operator app of a request, and its wait for a locked device."""
BRIEF = {
    "brief": {"type": "boolean", "default": False, "description": "Answer with outcome, new data and views only."},
}
REPLY = {
    "then": {
        "type": "string",
        "enum": list(THEN),
        "description": "Add the screen once it has settled, in this form; `none`: only whether it changed.",
    },
    "maxBytes": {
        "type": "integer",
        "minimum": MIN_BYTES,
        "maximum": bodies.MAX_VIEW_BYTES,
        "description": "Truncate a larger `then`.",
    },
    **BRIEF,
}
"""What the answer of an execution contains."""
_UNCHANGED = ok_with({"unchanged": YES, "tree": _TEXT})
_BRIEF = ok_with(
    {"outcome": {"type": "object"}, "then": {"type": "object"}, "view": {"type": "object"}}, optional=["then", "view"]
)
OUTCOMES = (
    ErrorCode.EXECUTION_VALIDATION_FAILED,
    ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
    ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
    ErrorCode.INVALID_JSON,
    ErrorCode.INVALID_BODY,
    ErrorCode.INVALID_DEVICE_ID,
    ErrorCode.INVALID_RECEIVER_PACKAGE,
    ErrorCode.INVALID_OPERATOR_PACKAGE,
    ErrorCode.CAPABILITY_DENIED,
    ErrorCode.PACKAGE_DENIED,
    ErrorCode.ACTION_DENIED,
    ErrorCode.READ_ONLY,
    ErrorCode.DEVICE_NOT_FOUND,
    ErrorCode.NO_DEVICES,
    ErrorCode.PAYLOAD_TOO_LARGE,
    ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT,
    ErrorCode.RESULT_ENVELOPE_TIMEOUT,
    ErrorCode.ADB_NOT_FOUND,
    ErrorCode.RECEIVER_NOT_INSTALLED,
    ErrorCode.BROADCAST_FAILED,
    ErrorCode.LOGCAT_UNAVAILABLE,
    ErrorCode.RESULT_ENVELOPE_MALFORMED,
)
_PICTURES = (ErrorCode.INVALID_PATH, ErrorCode.FILE_EXISTS, ErrorCode.FILE_NOT_WRITABLE)
_CHECKED = ok_with({"validated": YES, "execution": ref("execution")})
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_COMPILED = (
    obj(
        {"execution": ref("execution")},
        ["execution"],
        description="The complete output of `compile-artifact`: one execution.",
    ),
    obj(
        {"executions": _OBJECTS},
        ["executions"],
        description="The complete output of `compile-artifact`: its executions run in order.",
    ),
)
_CHECKED_COMPILED = ok_with({"validated": YES, "executions": _OBJECTS})
_PLAYED = obj(
    {
        "ok": {"type": "boolean"},
        "deviceId": _TEXT,
        "planned": {"type": "integer"},
        "executions": _OBJECTS,
        "outputs": {"type": "object"},
        "errors": _OBJECTS,
        "durationMs": {"type": "integer"},
    },
    ["ok", "deviceId", "planned", "executions", "errors", "durationMs"],
    description="The run of a compiled artifact; `ok` is false if a required execution failed.",
)


@router.post(
    "/execute",
    operation_id="execute",
    summary="Run one execution",
    description="A plan that failed on the device is a success of the transport: 200, and the envelope says `failed`.",
    openapi_extra=takes(obj({"execution": {"anyOf": [ref("execution"), *_COMPILED]}, **WHERE, **REPLY}, ["execution"])),
    responses=gives(
        {"anyOf": [ref("success"), _BRIEF, _CHECKED, _CHECKED_COMPILED, _PLAYED]},
        *OUTCOMES,
        *_PICTURES,
        ErrorCode.MISSING_EXECUTION,
    ),
    response_class=Response,
)
async def execute(
    request: Request,
    validate_only: Annotated[
        bool, Query(alias="validateOnly", description="Validate the payload without a device.")
    ] = False,
) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.read_object(request)
    payload = bodies.execution_of(body)
    device, package = bodies.device_of(body), bodies.package_of(body)
    if is_compiled(payload):
        return await _execute_compiled(request, body, payload, validate_only=validate_only)
    payload = with_confined_screenshots(service.guard(request), payload, service.options.screenshots_dir)
    if validate_only:
        checked = service.engine.validate(payload)
        return answer({"ok": True, "validated": True, "execution": checked.payload})
    options = bodies.view_of(body)
    result = await service.execute(
        request, payload, device_id=device, receiver_package=package, wait_ms=bodies.wait_of(body), options=options
    )
    return _answered(body, result.to_dict())


def _answered(body: bodies.Body, document: Mapping[str, Any]) -> Response:
    """Return the answer, with ``brief`` in its brief form."""
    return answer(in_route_words(brief(document) if bodies.flag_of(body, "brief") else document))


async def _execute_compiled(request: Request, body: bodies.Body, document: Any, *, validate_only: bool) -> Response:
    if validate_only:
        return answer(compiled_json.checked(await asyncio.to_thread(compiled_json.read_compiled, document)))
    service: HttpService = request.app.state.service
    report = await run_document(
        _executor(service, request, bodies.wait_of(body)),
        document,
        service.profile(caller_of(request)),
        device_id=bodies.device_of(body),
        receiver_package=bodies.package_of(body),
        options=bodies.view_of(body),
    )
    return _answered(body, report.to_dict())


def _executor(service: HttpService, request: Request, wait_ms: int | None) -> CallerExecutor:
    async def run(payload: Any, **options: Any) -> ExecutionResult:
        confined_payload = with_confined_screenshots(service.guard(request), payload, service.options.screenshots_dir)
        return await service.execute(request, confined_payload, wait_ms=wait_ms, **options)

    return CallerExecutor(service.engine.settings, run)


async def _observe(request: Request, payload: dict[str, Any], options: RunOptions) -> dict[str, Any]:
    """Run an observation; the body is optional."""
    service: HttpService = request.app.state.service
    body = await bodies.read_object(request, required=False)
    device, package = bodies.device_of(body), bodies.package_of(body)
    if (path := bodies.path_of(body)) is not None:
        make_picture_folder(service.guard(request), service.options.screenshots_dir)
        payload["actions"][0]["params"] = {"path": confined(path, service.options.screenshots_dir)}
    wait, known = bodies.wait_of(body), bodies.tree_of(body)
    is_brief = bodies.flag_of(body, "brief")
    result = await service.execute(
        request, payload, device_id=device, receiver_package=package, wait_ms=wait, options=options
    )
    steps = result.envelope["stepResults"]
    if known is not None and steps and known == tree_id(steps[0]["data"].get("text", "")):
        return {"ok": True, "unchanged": True, "tree": known}
    return in_route_words(brief(result.to_dict()) if is_brief else result.to_dict())


@router.post(
    "/observe/snapshot",
    operation_id="observeSnapshot",
    summary="Read the UI tree of the screen",
    openapi_extra=takes(obj({**WHERE, **BRIEF, "ifChanged": _TEXT}), required=False),
    responses=gives({"anyOf": [ref("success"), _BRIEF, _UNCHANGED]}, *OUTCOMES),
    response_class=Response,
)
async def snapshot(request: Request) -> Response:
    return answer(await _observe(request, _snapshot(), RunOptions()))


@router.post(
    "/observe/screenshot",
    operation_id="observeScreenshot",
    summary="Save a screenshot on the server",
    openapi_extra=takes(obj({**WHERE, "path": _TEXT}), required=False),
    responses=gives(ref("success"), *OUTCOMES, *_PICTURES),
    response_class=Response,
)
async def screenshot(
    request: Request,
    inline: Annotated[str, Query(description="`base64`: also return the image in `data.base64`.")] = "",
) -> Response:
    return answer(await _picture(request, inline, RunOptions(screenshot_overwrite=True)))


@router.post("/snapshot", include_in_schema=False)
async def flat_snapshot(request: Request) -> Response:
    return await _flat(_observe(request, _snapshot(), RunOptions(profile="flat")))


@router.post("/screenshot", include_in_schema=False)
async def flat_screenshot(request: Request, inline: str = "") -> Response:
    return await _flat(_picture(request, inline, RunOptions(profile="flat", screenshot_overwrite=True)))


def _snapshot() -> dict[str, Any]:
    return build.single("serve-snap", "snapshot_ui", action_id="snap", source=SOURCE)


async def _picture(request: Request, inline: str, options: RunOptions) -> dict[str, Any]:
    if inline not in ("", "base64"):
        raise EngineError(ErrorCode.INVALID_PARAMETER, "'inline' must be base64", details={"path": "inline"})
    document = await _observe(
        request, build.single("serve-shot", "take_screenshot", action_id="shot", source=SOURCE), options
    )
    if inline:
        for step in document["envelope"]["stepResults"]:
            if step["data"].get("path"):
                step["data"]["base64"] = await asyncio.to_thread(_encoded, step["data"]["path"])
    return document


def _encoded(path: str) -> str:
    with open(path, "rb") as stream:
        return base64.b64encode(stream.read(MAX_INLINE_BYTES)).decode()


async def _flat(observing: Coroutine[Any, Any, dict[str, Any]]) -> Response:
    """Answer with the names of the flat profile, also for errors."""
    try:
        return answer(flat_named(await observing))
    except EngineError as exc:
        return answer(flat_named(in_route_words(exc.to_answer())), status_of(exc.code), retry_after(exc))
