"""List and run the skills on the server."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import OBJECTS, TEXT, gives, ok_with, ref
from clawperator.app.http.service import HttpService, acting
from clawperator.app.serve.answers import answer, ok
from clawperator.app.serve.service import CallerExecutor
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.skills.describe import described
from clawperator.engine.skills.registry import Registry, open_registry, search
from clawperator.engine.skills.run import run_with_then

router = APIRouter(tags=["skills"])

_SKILLS = {"type": "array", "items": ref("skill")}
_ONLY_WHERE_WRONG = ("warnings",)
_Word = Annotated[str | None, Query(max_length=512)]


async def _registry(request: Request) -> Registry:
    service: HttpService = request.app.state.service
    settings = service.engine.settings
    return await asyncio.to_thread(open_registry, settings.environment, settings.skills_registry or None)


def _warnings(registry: Registry) -> dict[str, Any]:
    """Return the warnings about invalid registry entries, if any."""
    return {"warnings": registry.warnings} if registry.left_out else {}


@router.get(
    "/skills",
    operation_id="listSkills",
    summary="List the skills in the registry",
    responses=gives(
        ok_with({"skills": _SKILLS, "count": {"type": "integer"}, "warnings": OBJECTS}, optional=_ONLY_WHERE_WRONG),
        ErrorCode.REGISTRY_READ_FAILED,
    ),
)
async def skills(request: Request, app: _Word = None, intent: _Word = None, keyword: _Word = None) -> Response:
    registry = await _registry(request)
    found = search(registry, app=app or None, intent=intent or None, keyword=keyword or None)
    return ok(skills=found, count=len(found), **_warnings(registry))


@router.get(
    "/skills/{skill_id}",
    operation_id="getSkill",
    summary="Show a skill's registry entry",
    responses=gives(
        ok_with(
            {"skill": ref("skill"), "inputs": {"type": "object"}, "scriptInputs": OBJECTS, "warnings": OBJECTS},
            optional=("inputs", "scriptInputs", *_ONLY_WHERE_WRONG),
        ),
        ErrorCode.SKILL_NOT_FOUND,
        ErrorCode.REGISTRY_READ_FAILED,
    ),
)
async def skill(request: Request, skill_id: str) -> Response:
    registry = await _registry(request)
    entry = registry.get(skill_id)
    inputs = await asyncio.to_thread(described, registry, entry)
    return ok(skill=entry, **inputs, **_warnings(registry))


@router.post(
    "/skills/{skill_id}/run",
    operation_id="runSkill",
    summary="Run a skill's script",
    openapi_extra=bodies.SkillRun.described(),
    responses=gives(
        ok_with(
            {
                "skillId": TEXT,
                "output": TEXT,
                "exitCode": {"type": "integer", "enum": [0]},
                "durationMs": {"type": "integer"},
                "skillResult": {"type": "object"},
                "warnings": OBJECTS,
                "then": {"type": "object"},
            },
            optional=[*_ONLY_WHERE_WRONG, "then", "skillResult", "skillId", "output", "exitCode", "durationMs"],
        ),
        ErrorCode.INVALID_BODY,
        ErrorCode.INVALID_DEVICE_ID,
        ErrorCode.INVALID_ARGS,
        ErrorCode.INVALID_TIMEOUT_MS,
        ErrorCode.INVALID_EXPECT_CONTAINS,
        ErrorCode.SKILL_INPUT_MISSING,
        ErrorCode.SKILL_INPUT_INVALID,
        ErrorCode.SKILL_NOT_FOUND,
        ErrorCode.REGISTRY_READ_FAILED,
        ErrorCode.SKILL_SCRIPT_NOT_FOUND,
        ErrorCode.SKILL_EXECUTION_FAILED,
        ErrorCode.SKILL_EXECUTION_TIMEOUT,
        ErrorCode.SKILL_OUTPUT_ASSERTION_FAILED,
        ErrorCode.SKILL_RESULT_PARSE_FAILED,
        ErrorCode.SKILL_VERIFICATION_INDETERMINATE,
        ErrorCode.READ_ONLY,
    ),
)
async def run(request: Request, skill_id: str) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.SkillRun.of(request)
    chosen = body.model_dump(include={"wait_ms", "backend", "allow_unbind", "compressed"}, exclude_unset=True)

    async def execute(payload: Any, **options: Any) -> ExecutionResult:
        return await service.execute(request, payload, **chosen, **options)

    with acting(request) as engine:
        document = await run_with_then(
            CallerExecutor(engine.settings, execute),
            await _registry(request),
            skill_id,
            RunOptions(then=body.then, then_bytes=body.max_bytes),
            device_id=body.device_id or None,
            short=body.brief,
            settings=engine.settings.with_options(**chosen),
            args=body.args,
            inputs=body.inputs,
            timeout_ms=body.timeout_ms,
            expect_contains=body.expect_contains,
            guard=engine.guard,
            engine=engine,
        )
    return answer(document)
