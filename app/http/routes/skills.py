"""The skills of the server's computer: what there is, and running one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.answers import ok
from clawperator.app.http.describing import gives, obj, ok_with, ref, takes
from clawperator.app.http.room import Room, caller_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.registry import Registry, open_registry
from clawperator.engine.skills.run import run_skill
from clawperator.engine.skills.search import search

router = APIRouter()

_TEXT = {"type": "string"}
_SKILLS = {"type": "array", "items": ref("skill")}
_Word = Annotated[str | None, Query(max_length=512)]
_RUN = {
    "deviceId": _TEXT,
    "args": {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
    "timeoutMs": {"type": "integer", "minimum": 1},
    "expectContains": _TEXT,
}


async def _registry(request: Request) -> Registry:
    room: Room = request.app.state.room
    settings = room.engine.settings
    return await asyncio.to_thread(open_registry, settings.environment, settings.skills_registry or None)


@router.get(
    "/skills",
    summary="The skills of the registry",
    responses=gives(ok_with({"skills": _SKILLS, "count": {"type": "integer"}}), ErrorCode.REGISTRY_READ_FAILED),
    response_class=Response,
)
async def skills(request: Request, app: _Word = None, intent: _Word = None, keyword: _Word = None) -> Response:
    found = search(await _registry(request), app=app or None, intent=intent or None, keyword=keyword or None)
    return ok(skills=found, count=len(found))


@router.get(
    "/skills/{skill_id}",
    summary="One skill's entry",
    responses=gives(ok_with({"skill": ref("skill")}), ErrorCode.SKILL_NOT_FOUND, ErrorCode.REGISTRY_READ_FAILED),
    response_class=Response,
)
async def skill(request: Request, skill_id: str) -> Response:
    return ok(skill=(await _registry(request)).get(skill_id))


@router.post(
    "/skills/{skill_id}/run",
    summary="Run a skill's script",
    openapi_extra=takes(obj(_RUN), required=False),
    responses=gives(
        ok_with({"skillId": _TEXT, "output": _TEXT, "exitCode": {"const": 0}, "durationMs": {"type": "integer"}}),
        ErrorCode.INVALID_BODY,
        ErrorCode.INVALID_DEVICE_ID,
        ErrorCode.INVALID_ARGS,
        ErrorCode.INVALID_TIMEOUT_MS,
        ErrorCode.INVALID_EXPECT_CONTAINS,
        ErrorCode.SKILL_NOT_FOUND,
        ErrorCode.REGISTRY_READ_FAILED,
        ErrorCode.SKILL_SCRIPT_NOT_FOUND,
        ErrorCode.SKILL_EXECUTION_FAILED,
        ErrorCode.SKILL_EXECUTION_TIMEOUT,
        ErrorCode.SKILL_OUTPUT_ASSERTION_FAILED,
        ErrorCode.READ_ONLY,
    ),
    response_class=Response,
)
async def run(request: Request, skill_id: str) -> Response:
    room: Room = request.app.state.room
    body = await bodies.read_object(request, required=False)
    device, args = bodies.device_of(body), _args(body)
    timeout = bodies.timeout_of(body)
    expected = bodies.text_of(body, "expectContains", ErrorCode.INVALID_EXPECT_CONTAINS)
    settings = room.engine.settings
    if profile := caller_of(request).profile:
        settings = replace(settings, policy_profile=profile)  # what the script asks for is held against it, too
    with room.acting(request, "running scripts"):
        done = await run_skill(
            await _registry(request),
            skill_id,
            settings=settings,
            device_id=device,
            args=args,
            timeout_ms=timeout,
            expect_contains=expected,
        )
    return ok(**done.to_dict())


def _args(body: bodies.Body) -> list[str]:
    args = body.get("args")
    if args is None:
        return []
    if not isinstance(args, list):
        raise EngineError(ErrorCode.INVALID_ARGS, "'args' must be an array", details={"path": "args"})
    for index, value in enumerate(args):
        if not isinstance(value, str | int | float) or (isinstance(value, str) and "\0" in value):
            words = f"'args[{index}]' must be a text, a number or a truth value"
            raise EngineError(ErrorCode.INVALID_ARGS, words, details={"path": f"args.{index}"})
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in args]
