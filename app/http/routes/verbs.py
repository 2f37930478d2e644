"""``POST /verbs/{verb}``: one action, composition or device command by its name, as on the command line."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response
from starlette.routing import Route

from clawperator.app.http import bodies
from clawperator.app.http.bodies import SOURCE
from clawperator.app.http.openapi import Schema, gives, obj, ref
from clawperator.app.http.routes.executions import OUTCOMES
from clawperator.app.http.routes.observe import read_tree
from clawperator.app.http.service import HttpService, acting
from clawperator.app.serve.answers import answer, in_route_words
from clawperator.app.serve.verbs import VERBS, DeviceCommand, VerbArguments, made, meant_verb, run_verb
from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.brief import brief

router = APIRouter(tags=["executions"])

_ABOUT = (
    "The body has the arguments of the verb beside those of every execution. A composition (`set_checked`, `submit`, `wait_gone`, "
    "`read_rows`, …) returns its facts in `result`. Verbs `app_…` and `device_…` are not executions: they take no `then`, and "
    "their answer has no envelope. Arguments (`|`: one of them; `?`: optional): "
)


def _signatures() -> str:
    lines = []
    for name, verb in VERBS.items():
        required = [param.name for param in verb.arguments if param.need]
        choice = ["|".join(verb.one_of)] if verb.one_of else []
        optional = [f"{param.name}?" for param in verb.arguments if not param.need and param.name not in verb.one_of]
        lines.append(f"`{name}({', '.join([*required, *choice, *optional])})`")
    return ", ".join(lines)


def _properties() -> Schema:
    """Return the schemas of all arguments."""
    schemas: Schema = VerbArguments.model_json_schema()["properties"]
    found = {
        name: {key: value for key, value in schema.items() if key not in ("title", "default")}
        for name, schema in schemas.items()
    }
    return found | {
        "selector": ref("matcher"),
        "container": ref("matcher"),
        "point": ref("coordinate"),
        "to": ref("coordinate"),
    }


@router.post(
    "/verbs/{verb}",
    operation_id="runVerb",
    summary="Run one verb",
    description=f"{_ABOUT}{_signatures()}.",
    openapi_extra=bodies.Verb.described(**_properties()),
    responses=gives(
        obj({"ok": {"type": "boolean"}, "deviceId": {"type": "string"}, "outcome": {"type": "object"}}, ["ok"]),
        *OUTCOMES,
        ErrorCode.INVALID_PARAMETER,
        ErrorCode.NOT_FOUND,
        ErrorCode.DEVICE_COMMAND_REFUSED,
    ),
)
async def post_verb(
    request: Request,
    verb: Annotated[str, Path(description="The name of the verb.", json_schema_extra={"enum": [*VERBS]})],
) -> Response:
    if verb not in VERBS:
        hint = _route(verb) or meant_verb(verb, VERBS) or f"Verbs: {', '.join(VERBS)}."
        raise EngineError(ErrorCode.NOT_FOUND, f"There is no verb {shown(verb)}", hint=hint)
    service: HttpService = request.app.state.service
    body = await bodies.Verb.of(request)

    async def execute(sent: Any) -> Response:
        given, ids = await service.whole_ids(body.arguments, partial(read_tree, service, request, **body.place))
        if ids:
            sent = made(verb, given, source=SOURCE)
        document = (await service.execute(request, sent, **body.place, options=body.options)).to_dict()
        content = await asyncio.to_thread(brief, document) if body.brief else document
        return answer(in_route_words({**content, **({"resolvedIds": ids} if ids else {})}))

    async def manage(command: DeviceCommand) -> Response:
        with acting(request) as engine:
            return answer(
                await command.run(engine.device_admin(device_id=body.device_id or None, wait_ms=body.wait_ms))
            )

    return await run_verb(verb, body.arguments, SOURCE, execute, manage, beside=body.model_fields_set)


def _route(name: str) -> str:
    """Return a hint with the route that is called as a command or an action; empty if none is."""
    from clawperator.app.http.routes import ROUTERS  # which has this module, too

    last = name.removeprefix("take_").removesuffix("_ui")
    routes = (route for router in ROUTERS for route in router.routes if isinstance(route, Route))
    return next(
        (f"Use {min(route.methods or ())} {route.path}." for route in routes if route.path.endswith(f"/{last}")), ""
    )
