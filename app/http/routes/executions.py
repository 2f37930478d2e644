"""Run executions; take snapshots and screenshots."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import OBJECTS, TEXT, YES, gives, obj, ok_with, ref
from clawperator.app.http.service import HttpService, caller_of
from clawperator.app.serve.answers import answer, in_route_words, retry_after, status_of
from clawperator.app.serve.connections import CLIENT_LEFT
from clawperator.app.serve.screenshot_paths import confined, make_picture_folder, with_confined_screenshots
from clawperator.app.serve.service import CallerExecutor
from clawperator.app.serve.verbs import refuse_verbs
from clawperator.engine import fan_out
from clawperator.engine.contracts.references import tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.brief import brief
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.facade import BackendOptions
from clawperator.engine.hierarchy import blind
from clawperator.engine.skills import compiled_json
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.text.flat_names import flat_named

router = APIRouter(tags=["executions"])

_PLAN = {**OBJECTS, "minItems": 1}
MAX_INLINE_BYTES = 32 * 1024 * 1024
_UNCHANGED = ok_with({"unchanged": YES, "tree": TEXT})
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
_ValidateOnly = Annotated[bool, Query(alias="validateOnly", description="Validate the payload without a device.")]
_CHECKED = ok_with({"validated": YES, "execution": ref("execution"), "warnings": OBJECTS}, optional=["warnings"])
_COMPILED = "The complete output of `compile-artifact`: "
_EXECUTIONS = {
    "anyOf": [
        ref("execution"),
        obj({"actions": _PLAN}, ["actions"], description="Its actions only: ids and the other fields are filled in."),
        {**_PLAN, "description": "A list of actions."},
        obj({"execution": ref("execution")}, ["execution"], description=f"{_COMPILED}one execution."),
        obj({"executions": OBJECTS}, ["executions"], description=f"{_COMPILED}its executions run in order."),
    ]
}
_CHECKED_COMPILED = ok_with({"validated": YES, "executions": OBJECTS})
_MANY = obj(
    {"ok": {"type": "boolean"}, "summary": {"type": "object"}, "rows": OBJECTS},
    ["ok", "summary", "rows"],
    description="A row per device: the answer of `POST /execute` with `status`, `durationMs` and `alias`.",
)
_PLAYED = obj(
    {
        "ok": {"type": "boolean"},
        "deviceId": TEXT,
        "planned": {"type": "integer"},
        "executions": OBJECTS,
        "outputs": {"type": "object"},
        "errors": OBJECTS,
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
    openapi_extra=bodies.Execution.described(execution=_EXECUTIONS),
    responses=gives(
        {"anyOf": [ref("success"), _BRIEF, _CHECKED, _CHECKED_COMPILED, _PLAYED]},
        *OUTCOMES,
        *_PICTURES,
        ErrorCode.MISSING_EXECUTION,
    ),
)
async def execute(request: Request, validate_only: _ValidateOnly = False) -> Response:
    body = await bodies.Execution.of(request)
    refuse_verbs(body.execution, "POST /verbs/{}".format)
    if validate_only or body.validate_only:
        return answer(await _checked(request, body))
    return answer(in_route_words(await _run(request, body, body.place)))


async def _checked(request: Request, body: bodies.Execution) -> Mapping[str, Any]:
    """Validate the execution, or those of a compiled artifact, and return the answer."""
    service: HttpService = request.app.state.service
    if is_compiled(body.execution):
        return compiled_json.checked(await asyncio.to_thread(compiled_json.read_compiled, body.execution))
    payload = with_confined_screenshots(service.guard(request), body.execution, service.options.screenshots_dir)
    return service.engine.validate(payload).to_answer()


@router.post(
    "/execute/many",
    operation_id="executeMany",
    summary="Run one execution on many devices",
    description="One row per device, whatever happens to it; `ok` is true if every device succeeded. Nothing is repeated. "
    "When the client disconnects, no other device is started; what runs goes on.",
    openapi_extra=bodies.ExecutionOnMany.described(execution=_EXECUTIONS),
    responses=gives(
        {"anyOf": [_MANY, _CHECKED, _CHECKED_COMPILED]},
        *OUTCOMES,
        *_PICTURES,
        ErrorCode.MISSING_EXECUTION,
        ErrorCode.DEVICE_TAG_UNKNOWN,
    ),
)
async def execute_many(request: Request, validate_only: _ValidateOnly = False) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.ExecutionOnMany.of(request)
    refuse_verbs(body.execution, "POST /verbs/{}".format)
    if validate_only or body.validate_only:
        return answer(await _checked(request, body))
    if is_compiled(body.execution):
        await asyncio.to_thread(compiled_json.read_compiled, body.execution)
    else:
        service.admit(request, body.execution)

    async def run(serial: str) -> Mapping[str, Any]:
        return await _run(request, body, {**body.place, "device_id": serial})

    done = fan_out.report(
        service.engine,
        body.devices,
        run,
        jobs=body.jobs,
        fail_fast=body.fail_fast,
        abandoned=lambda: CLIENT_LEFT in request.scope,
    )
    return answer(in_route_words(await done))


async def _run(request: Request, body: bodies.Execution, place: dict[str, Any]) -> Mapping[str, Any]:
    """Run the execution, or the executions of a compiled artifact, and return the answer: with ``brief`` in its brief form."""
    service: HttpService = request.app.state.service
    if is_compiled(body.execution):
        report = await run_document(
            _executor(service, request, body.how),
            body.execution,
            service.profile(caller_of(request)),
            device_id=place["device_id"],
            receiver_package=place["receiver_package"],
            options=body.options,
        )
        document = report.to_dict()
    else:
        payload = with_confined_screenshots(service.guard(request), body.execution, service.options.screenshots_dir)
        document = (await service.execute(request, payload, **place, options=body.options)).to_dict()
        await asyncio.to_thread(blind.add_to, document["envelope"])
    return await asyncio.to_thread(brief, document) if body.brief else document


def _executor(service: HttpService, request: Request, how: BackendOptions) -> CallerExecutor:
    async def run(payload: Any, **options: Any) -> ExecutionResult:
        confined_payload = with_confined_screenshots(service.guard(request), payload, service.options.screenshots_dir)
        return await service.execute(request, confined_payload, **how, **options)

    return CallerExecutor(service.engine.settings, run)


async def _snapshot(request: Request, options: RunOptions) -> dict[str, Any]:
    service: HttpService = request.app.state.service
    body = await bodies.Snapshot.of(request)
    payload = build.single("serve-snap", "snapshot_ui", action_id="snap", source=bodies.SOURCE)
    options = replace(options, verify=body.verify)
    result = await service.execute(request, payload, **body.place, options=options)
    steps = result.envelope["stepResults"]
    if body.if_changed and steps and body.if_changed == tree_id(steps[0]["data"].get("text", "")):
        return {"ok": True, "unchanged": True, "tree": body.if_changed}
    document = result.to_dict()
    await asyncio.to_thread(blind.add_to, document["envelope"])
    return in_route_words(await asyncio.to_thread(brief, document) if body.brief else document)


@router.post(
    "/observe/snapshot",
    operation_id="observeSnapshot",
    summary="Read the UI tree of the screen",
    openapi_extra=bodies.Snapshot.described(),
    responses=gives({"anyOf": [ref("success"), _BRIEF, _UNCHANGED]}, *OUTCOMES),
)
async def snapshot(request: Request) -> Response:
    return answer(await _snapshot(request, RunOptions()))


@router.post(
    "/observe/screenshot",
    operation_id="observeScreenshot",
    summary="Save a screenshot on the server",
    openapi_extra=bodies.Screenshot.described(),
    responses=gives(ref("success"), *OUTCOMES, *_PICTURES),
)
async def screenshot(
    request: Request,
    inline: Annotated[str, Query(description="`base64`: also return the image in `data.base64`.")] = "",
) -> Response:
    return answer(await _picture(request, inline, RunOptions()))


@router.post("/snapshot", include_in_schema=False)
async def flat_snapshot(request: Request) -> Response:
    return await _flat(_snapshot(request, RunOptions(profile="flat")))


@router.post("/screenshot", include_in_schema=False)
async def flat_screenshot(request: Request, inline: str = "") -> Response:
    return await _flat(_picture(request, inline, RunOptions(profile="flat")))


async def _picture(request: Request, inline: str, options: RunOptions) -> dict[str, Any]:
    if inline not in ("", "base64"):
        raise EngineError(ErrorCode.INVALID_PARAMETER, "'inline' must be base64", details={"path": "inline"})
    service: HttpService = request.app.state.service
    body = await bodies.Screenshot.of(request)
    path = None
    if body.path:
        make_picture_folder(service.guard(request), service.options.screenshots_dir)
        path = confined(body.path, service.options.screenshots_dir)
    payload = build.single("serve-shot", "take_screenshot", {"path": path}, action_id="shot", source=bodies.SOURCE)
    options = replace(options, display=body.display)
    document = in_route_words((await service.execute(request, payload, **body.place, options=options)).to_dict())
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
