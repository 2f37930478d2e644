"""Health, schemas and metrics of the server; none of them uses a device."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request
from starlette.responses import Response

from clawperator.app.http.openapi import gives, ok_with
from clawperator.app.http.service import HttpService
from clawperator.app.serve.answers import answer, ok
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.json_schema import SCHEMAS, json_schema
from clawperator.engine.version import OPERATOR_RELEASES, __version__

router = APIRouter(tags=["server"])

_TEXT = {"type": "string"}
_HEALTH = gives(ok_with({"version": _TEXT, "uptimeSeconds": {"type": "number"}}))


@router.get(
    "/healthz",
    operation_id="getHealth",
    summary="Check that the server is running",
    responses=_HEALTH,
)
@router.get(
    "/ping",
    operation_id="ping",
    summary="Check that the server is running (the same as /healthz)",
    responses=_HEALTH,
)
@router.get("/health", include_in_schema=False)
async def health(request: Request) -> Response:
    service: HttpService = request.app.state.service
    up = round(time.time() - service.started_at, 3)
    return ok(version=__version__, uptimeSeconds=up)


@router.get(
    "/version",
    operation_id="getVersion",
    summary="The version of the product, and the Operator generations that it supports",
    responses=gives(ok_with({"version": _TEXT, "operatorGenerations": {"type": "array", "items": _TEXT}})),
)
async def version() -> Response:
    return ok(version=__version__, operatorGenerations=list(OPERATOR_RELEASES))


@router.get(
    "/schemas/{name}",
    operation_id="getSchema",
    summary="The JSON Schema of a contract",
    description="As `clawperator schema <name>`: execution, action, matcher, envelope, result, error, skill …",
    responses=gives({"type": "object"}, ErrorCode.NOT_FOUND),
)
async def schema(name: str) -> Response:
    if name not in SCHEMAS:
        raise EngineError(ErrorCode.NOT_FOUND, "The schema does not exist", details={"schemas": list(SCHEMAS)})
    return answer(json_schema(name))


@router.get(
    "/metrics",
    operation_id="getMetrics",
    summary="Metrics for Prometheus",
    responses=gives(_TEXT, kind="text/plain"),
)
async def metrics(request: Request) -> Response:
    service: HttpService = request.app.state.service
    text, kind = service.metrics.text()
    return Response(text, headers={"Content-Type": kind})
