"""``GET /events``: the event stream, and its schemas."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from clawperator.app.http.events.hub import Client
from clawperator.app.http.events.stream import EventStream
from clawperator.app.http.openapi import gives, ok_with
from clawperator.app.http.service import HttpService
from clawperator.app.serve import event_frames
from clawperator.app.serve.answers import ok
from clawperator.app.serve.gate import refuse_web_page
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.json_schema import json_schema

router = APIRouter(tags=["events"])

PATH = "/events"
_MOST_NAMES = 64
_Names = Annotated[list[str], Query(max_length=_MOST_NAMES)]


@router.get(
    PATH,
    operation_id="streamEvents",
    dependencies=[Depends(refuse_web_page)],
    summary="Stream executions, progress, trees and devices (server-sent events)",
    description=(
        "The first event is `heartbeat`. Every other event has an `id`; send it as `Last-Event-ID` to resume the stream. The stream "
        "begins with `clawperator:reset` if it cannot resume. A client that does not read is disconnected. "
        "`envelope`, `link`, `follow` and `log` are sent only if requested by `type`."
    ),
    responses=gives(
        {"type": "string"},
        *(ErrorCode.INVALID_PARAMETER, ErrorCode.CAPABILITY_DENIED, ErrorCode.SHUTTING_DOWN),
        kind="text/event-stream",
    ),
)
async def events(
    request: Request,
    device: Annotated[_Names, Query(description="Only of these devices; may be repeated.")] = [],  # noqa: B006 -- never changed
    types: Annotated[_Names, Query(alias="type", description="Only of these types; may be repeated.")] = [],  # noqa: B006 -- never changed
    follow: Annotated[
        str, Query(max_length=255, description="Keep this device's tree current while the stream is open.")
    ] = "",
    last_event_id: Annotated[str, Header(max_length=64)] = "",
) -> Any:
    service: HttpService = request.app.state.service
    wanted = [_type(name) for name in types]
    if follow or set(wanted) != {event_frames.DEVICES}:
        service.admit(request, build.snapshot())  # events show the screen: the caller needs the permission to observe
    client = service.hub.subscribe(devices=device, types=wanted, last_id=last_event_id)
    if client is None:
        if service.work.stopping:
            raise EngineError(ErrorCode.SHUTTING_DOWN, "The server stops")
        raise EngineError(ErrorCode.SERVER_BUSY, "The limit of event streams is reached")
    service.log.write("info", "serve.sse.client.connected", f"{len(service.hub)} clients of the event stream")
    following = service.followers.following(follow) if follow else None
    return EventStream(service.hub, client, beside=following, ended=lambda: _left(service, client))


def _left(service: HttpService, client: Client) -> None:
    if client.dropped:
        service.log.write("warn", "serve.sse.write_failed", "a client that did not read was dropped")
    service.log.write("info", "serve.sse.client.disconnected", f"{len(service.hub)} clients of the event stream")


def _type(name: str) -> str:
    full = name if name.startswith("clawperator:") else f"clawperator:{name}"
    if full not in event_frames.TYPES:
        raise EngineError(
            ErrorCode.INVALID_PARAMETER,
            f"'type' must be one of: {', '.join(event_frames.TYPES)}",
            hint="Pass 'type' once for each of several." if "," in name else None,
            details={"path": "type", "types": list(event_frames.TYPES)},
        )
    return full


@router.get(
    "/events/schema",
    operation_id="getEventSchemas",
    summary="The JSON Schemas of the events' data",
    responses=gives(ok_with({"version": {"type": "integer"}, "events": {"type": "object"}})),
)
async def events_schema() -> Response:
    contracts = {name: json_schema(name) for name in ("envelope", "outcome", "result", "error")}
    return ok(version=event_frames.VERSION, events=event_frames.schemas(lambda name: contracts[name]))
