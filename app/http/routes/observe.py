"""Observe devices: UI trees, screenshots, installed apps, selector queries."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.openapi import gives, obj, ok_with, ref, takes
from clawperator.app.http.routes.executions import OUTCOMES, SOURCE, WHERE
from clawperator.app.http.service import HttpService, caller_of
from clawperator.app.serve.answers import answer, ok
from clawperator.app.serve.gate import refuse_web_page
from clawperator.engine.contracts.limits import MAX_WAIT_MS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.matcher_check import checked_fields
from clawperator.engine.follow.trees import SeenTree, viewed
from clawperator.engine.hierarchy import queries
from clawperator.engine.hierarchy.views import MIN_BYTES

router = APIRouter(tags=["observe"])

_TEXT = {"type": "string"}
_TREE = {"deviceId": _TEXT, "digest": _TEXT, "tree": _TEXT, "at": {"type": "number"}, "ageMs": {"type": "integer"}}
_NODES = {"type": "array", "items": {"type": "object"}}
_WHERE = {**WHERE, "maxAgeMs": {"type": "integer"}}
_MOST = 1_000


async def _read_tree(
    service: HttpService,
    request: Request,
    device_id: str | None,
    package: str | None,
    max_age_ms: int,
    wait_ms: int | None,
) -> tuple[str, SeenTree]:
    """Return the serial and a tree that is at most ``max_age_ms`` old: from the log, else a new one."""
    payload = build.single("serve-snap", "snapshot_ui", action_id="snap", source=SOURCE)
    service.admit(request, payload)  # a cached tree needs the same permission
    execute = partial(service.execute, request, receiver_package=package, wait_ms=wait_ms)
    return await service.tree(execute, payload, device_id, max_age_ms)


def _facts(serial: str, seen: SeenTree) -> dict[str, Any]:
    return {"deviceId": serial, **seen.facts()}


@router.get(
    "/devices/{device_id}/snapshot",
    operation_id="getSnapshot",
    dependencies=[Depends(refuse_web_page)],
    summary="Read the current UI tree or its changes",
    description=(
        "With `since`, or `If-None-Match`, an unchanged tree is not sent again. With `maxAgeMs`, a recent tree from "
        "the device's log is accepted."
    ),
    responses=gives(
        ok_with({**_TREE, "changed": {"type": "boolean"}, "view": {"type": "object"}}, optional=["view"]),
        *OUTCOMES,
        ErrorCode.INVALID_PARAMETER,
        ErrorCode.UI_TREE_UNAVAILABLE,
    )
    | {304: {"description": "The tree is unchanged: it matches `If-None-Match`."}},
    response_class=Response,
)
async def live_snapshot(
    request: Request,
    device_id: str,
    view: Annotated[Literal["full", "interactive", "compact"], Query(description="The amount of detail.")] = "full",
    since: Annotated[
        str, Query(max_length=64, description="The id or digest of the tree that the client already has.")
    ] = "",
    max_age_ms: Annotated[
        int,
        Query(
            alias="maxAgeMs", ge=0, le=3_600_000, description="Accept a cached tree up to this many milliseconds old."
        ),
    ] = 0,
    wait_ms: Annotated[
        int | None,
        Query(alias="waitMs", ge=0, le=MAX_WAIT_MS, description="How long to wait for a device that is in use."),
    ] = None,
    max_bytes: Annotated[
        int | None, Query(alias="maxBytes", ge=MIN_BYTES, le=2**31, description="Truncate larger views.")
    ] = None,
    if_none_match: Annotated[str, Header(description="The `ETag` of the view that the client already has.")] = "",
) -> Response:
    service: HttpService = request.app.state.service
    serial, seen = await _read_tree(service, request, device_id, None, max_age_ms, wait_ms)
    service.followers.fetched(serial)
    tag = f'"{seen.digest}-{view}"'
    if tag in (word.strip() for word in if_none_match.split(",")):
        return Response(status_code=304, headers={"ETag": tag})
    facts = _facts(serial, seen)
    if since in (seen.digest, seen.id):
        return answer({"ok": True, **facts, "changed": False}, headers={"ETag": tag})
    shown = await asyncio.to_thread(viewed, seen.xml, await seen.read(), view, max_bytes)
    return answer({"ok": True, **facts, "changed": True, "view": shown}, headers={"ETag": tag})


@router.get(
    "/devices/{device_id}/screen.png",
    operation_id="getScreenshot",
    dependencies=[Depends(refuse_web_page)],
    summary="Take a screenshot without the Operator app",
    responses=gives(
        {"type": "string", "format": "binary"},
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.CAPABILITY_DENIED,
        kind="image/png",
    ),
    response_class=Response,
)
async def picture(request: Request, device_id: str) -> Response:
    service: HttpService = request.app.state.service
    service.admit(request, build.screenshot())
    return Response(await service.engine.picture(device_id=device_id), media_type="image/png")


@router.get(
    "/devices/{device_id}/packages",
    operation_id="listPackages",
    dependencies=[Depends(refuse_web_page)],
    summary="List the application ids installed on a device",
    responses=gives(
        ok_with({"packages": {"type": "array", "items": _TEXT}}),
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        ErrorCode.CAPABILITY_DENIED,
    ),
    response_class=Response,
)
async def packages(
    request: Request, device_id: str, third_party: Annotated[bool, Query(alias="thirdParty")] = False
) -> Response:
    service: HttpService = request.app.state.service
    with service.acting(caller_of(request)) as engine:
        return ok(packages=await engine.packages(device_id=device_id, third_party=third_party))


@router.post(
    "/match",
    operation_id="matchNodes",
    summary="Show which nodes a matcher finds, or why it finds none",
    openapi_extra=takes(
        obj(
            {**_WHERE, "selector": ref("matcher"), "limit": {"type": "integer"}, "explain": {"type": "boolean"}},
            ["selector"],
        )
    ),
    responses=gives(ok_with({**_TREE, "count": {"type": "integer"}, "matches": _NODES}), *OUTCOMES),
    response_class=Response,
)
async def match(request: Request) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.read_object(request)
    fields = checked_fields(body.get("selector"))
    limit, explain = _limit(body, 20), bool(bodies.flag_of(body, "explain"))
    serial, seen = await _asked(service, request, body)
    matcher = await service.matcher(fields, serial, seen)
    found = await asyncio.to_thread(queries.matches, await seen.read(), matcher, limit=limit, explain=explain)
    return ok(**_facts(serial, seen), **found)


@router.post(
    "/suggest",
    operation_id="suggestSelectors",
    summary="Rank the matchers for one node",
    openapi_extra=takes(
        obj(
            {
                **_WHERE,
                "at": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                "node": _TEXT,
                "selector": ref("matcher"),
                "limit": {"type": "integer"},
            }
        )
    ),
    responses=gives(
        ok_with({**_TREE, "node": {"type": "object"}, "candidates": _NODES}), *OUTCOMES, ErrorCode.NODE_NOT_FOUND
    ),
    response_class=Response,
)
async def suggest(request: Request) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.read_object(request)
    ways = [name for name in ("at", "node", "selector") if body.get(name) is not None]
    if len(ways) != 1:
        raise EngineError(ErrorCode.INVALID_BODY, "Send exactly one of 'at', 'node' and 'selector'")
    limit = _limit(body, 10)
    fields = checked_fields(body["selector"]) if ways == ["selector"] else None
    path = queries.read_path(bodies.text_of(body, "node") or "") if ways == ["node"] else ""
    point = _point(body["at"]) if ways == ["at"] else None
    serial, seen = await _asked(service, request, body)
    tree = await seen.read()
    if fields is not None:
        nodes = await service.nodes(fields, serial, seen)
    else:
        nodes = [queries.with_path(tree, path) if point is None else queries.at_point(tree, *point)]
    found = await asyncio.to_thread(queries.suggestions, tree, nodes, limit=limit)
    return ok(**_facts(serial, seen), **found)


async def _asked(service: HttpService, request: Request, body: bodies.Body) -> tuple[str, SeenTree]:
    age = _number(body, "maxAgeMs", 0, 0, 3_600_000)
    device, package, wait = bodies.device_of(body), bodies.package_of(body), bodies.wait_of(body)
    return await _read_tree(service, request, device, package, age, wait)


def _limit(body: bodies.Body, default: int) -> int:
    return _number(body, "limit", default, 1, _MOST)


def _number(body: bodies.Body, name: str, default: int, low: int, high: int) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        words = f"'{name}' must be an integer in [{low}, {high}]"
        raise EngineError(ErrorCode.INVALID_BODY, words, details={"path": name})
    return value


def _point(value: object) -> tuple[int, int]:
    if not (
        isinstance(value, list) and len(value) == 2 and all(type(part) is int and abs(part) < 10**9 for part in value)
    ):
        raise EngineError(ErrorCode.INVALID_BODY, "'at' must be [x, y] in pixels", details={"path": "at"})
    return value[0], value[1]
