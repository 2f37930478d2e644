"""Observe devices: UI trees, screenshots, installed apps, selector queries."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal, Unpack

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from clawperator.app.http import bodies
from clawperator.app.http.bodies import SOURCE
from clawperator.app.http.openapi import OBJECTS, TEXT, gives, ok_with, ref
from clawperator.app.http.routes.executions import OUTCOMES
from clawperator.app.http.service import HttpService, acting
from clawperator.app.serve.answers import answer, ok
from clawperator.app.serve.gate import refuse_web_page
from clawperator.engine.contracts.limits import MAX_DISPLAY, MAX_WAIT_MS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.matcher_check import MATCHERS, checked_choice, checked_fields
from clawperator.engine.executions.opening import MAX_APP_NAME
from clawperator.engine.facade import BackendOptions
from clawperator.engine.follow.trees import SeenTree, viewed
from clawperator.engine.hierarchy import queries
from clawperator.engine.hierarchy.views import MIN_BYTES

router = APIRouter(tags=["observe"])

_TREE = {"deviceId": TEXT, "digest": TEXT, "tree": TEXT, "at": {"type": "number"}, "ageMs": {"type": "integer"}}


async def read_tree(
    service: HttpService,
    request: Request,
    max_age_ms: int,
    *,
    device_id: str | None,
    verify: bool = False,
    **how: Unpack[BackendOptions],
) -> tuple[str, SeenTree]:
    """Return the serial and a tree that is at most ``max_age_ms`` old: from the log, else a new one."""
    payload = build.single("serve-snap", "snapshot_ui", action_id="snap", source=SOURCE)
    service.admit(request, payload)  # a cached tree needs the same permission
    execute = partial(service.execute, request, options=RunOptions(verify=verify), **how)
    return await service.tree(execute, payload, device_id, 0 if verify else max_age_ms)


def _facts(serial: str, seen: SeenTree) -> dict[str, Any]:
    return {"deviceId": serial, **seen.facts()}


@router.get(
    "/devices/{device_id}/snapshot",
    operation_id="getSnapshot",
    dependencies=[Depends(refuse_web_page)],
    summary="Read the current UI tree or its changes",
    description=(
        "With `since`, or `If-None-Match`, an unchanged tree is not sent again. With `maxAgeMs`, a recent tree from "
        "the device's log is accepted, unless an execution of this server may have acted since."
    ),
    responses=gives(
        ok_with({**_TREE, "changed": {"type": "boolean"}, "view": {"type": "object"}}, optional=["view"]),
        *OUTCOMES,
        ErrorCode.INVALID_PARAMETER,
        ErrorCode.UI_TREE_UNAVAILABLE,
    )
    | {304: {"description": "The tree is unchanged: it matches `If-None-Match`."}},
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
    backend: Annotated[
        Literal["operator", "stock"] | None, Query(description="The way to the device: the Operator app, or none.")
    ] = None,
    allow_unbind: Annotated[
        bool | None, Query(alias="allowUnbind", description="The stock backend may unbind the Operator's service.")
    ] = None,
    compressed: Annotated[
        bool | None,
        Query(description="The stock backend leaves out decoration, so that screens that move can be read."),
    ] = None,
    max_bytes: Annotated[
        int | None, Query(alias="maxBytes", ge=MIN_BYTES, le=2**31, description="Truncate larger views.")
    ] = None,
    verify: Annotated[
        bool, Query(description="Also ask the window and display managers what a new tree cannot show.")
    ] = False,
    if_none_match: Annotated[str, Header(description="The `ETag` of the view that the client already has.")] = "",
) -> Response:
    service: HttpService = request.app.state.service
    serial, seen = await read_tree(
        service,
        request,
        max_age_ms,
        device_id=device_id,
        backend=backend,
        allow_unbind=allow_unbind,
        compressed=compressed,
        wait_ms=wait_ms,
        verify=verify,
    )
    service.followers.fetched(serial)
    tag = f'"{seen.digest}-{view}"'
    if tag in (word.strip().removeprefix("W/") for word in if_none_match.split(",")):
        return Response(status_code=304, headers={"ETag": tag})
    facts = _facts(serial, seen)
    if since in (seen.digest, seen.id):
        return answer({"ok": True, **facts, "changed": False}, headers={"ETag": tag})
    shown = await asyncio.to_thread(viewed, seen.xml, await seen.read(), view, max_bytes, seen.step)
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
)
async def picture(
    request: Request,
    device_id: str,
    display: Annotated[int, Query(ge=0, le=MAX_DISPLAY, description="The id of a display in `device_info`.")] = 0,
) -> Response:
    service: HttpService = request.app.state.service
    service.admit(request, build.screenshot())
    return Response(await service.engine.picture(device_id=device_id, display=display), media_type="image/png")


@router.get(
    "/devices/{device_id}/packages",
    operation_id="listPackages",
    dependencies=[Depends(refuse_web_page)],
    summary="List the application ids installed on a device",
    responses=gives(
        ok_with({"packages": {"type": "array", "items": TEXT}}),
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.DEVICE_SHELL_UNAVAILABLE,
        ErrorCode.CAPABILITY_DENIED,
    ),
)
async def packages(
    request: Request, device_id: str, third_party: Annotated[bool, Query(alias="thirdParty")] = False
) -> Response:
    with acting(request) as engine:
        return ok(packages=await engine.packages(device_id=device_id, third_party=third_party))


@router.get(
    "/devices/{device_id}/apps",
    operation_id="listApps",
    dependencies=[Depends(refuse_web_page)],
    summary="List the apps that can be opened, with their labels",
    description="`label` is null where the device does not state it; `derivedName` is made of the application id.",
    responses=gives(
        ok_with({"deviceId": TEXT, "apps": OBJECTS}),
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.DEVICE_COMMAND_REFUSED,
        ErrorCode.CAPABILITY_DENIED,
    ),
)
async def apps(
    request: Request,
    device_id: str,
    search: Annotated[str, Query(max_length=MAX_APP_NAME, description="A part of label, name or id.")] = "",
) -> Response:
    with acting(request) as engine:
        return answer(await engine.device_admin(device_id=device_id).apps(search=search))


@router.post(
    "/match",
    operation_id="matchNodes",
    summary="Show which nodes a matcher finds, or why it finds none",
    openapi_extra=bodies.Match.described(**dict.fromkeys(MATCHERS, ref("matcher"))),
    responses=gives(ok_with({**_TREE, "count": {"type": "integer"}, "matches": OBJECTS}), *OUTCOMES),
)
async def match(request: Request) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.Match.of(request)
    asked = checked_choice({"selector": None} | body.model_dump(exclude_unset=True))
    serial, seen = await read_tree(service, request, body.max_age_ms, **body.place)
    found = await service.matches(asked, serial, seen, limit=body.limit, explain=body.explain)
    return ok(**_facts(serial, seen), **found)


@router.post(
    "/suggest",
    operation_id="suggestSelectors",
    summary="Rank the matchers for one node",
    openapi_extra=bodies.Suggestion.described(selector=ref("matcher")),
    responses=gives(
        ok_with({**_TREE, "node": {"type": "object"}, "candidates": OBJECTS}), *OUTCOMES, ErrorCode.NODE_NOT_FOUND
    ),
)
async def suggest(request: Request) -> Response:
    service: HttpService = request.app.state.service
    body = await bodies.Suggestion.of(request)
    way = {"at", "node", "selector"} & body.model_fields_set
    if len(way) != 1:
        raise EngineError(ErrorCode.INVALID_BODY, "Send exactly one of 'at', 'node' and 'selector'")
    fields = checked_fields(body.selector) if "selector" in way else None
    path = queries.read_path(body.node) if "node" in way else ""
    serial, seen = await read_tree(service, request, body.max_age_ms, **body.place)
    tree = await seen.read()
    if fields is not None:
        nodes = await service.nodes(fields, serial, seen)
    else:
        nodes = [queries.at_point(tree, body.at[0], body.at[1]) if "at" in way else queries.with_path(tree, path)]
    found = await asyncio.to_thread(queries.suggestions, tree, nodes, limit=body.limit)
    return ok(**_facts(serial, seen), **found)
