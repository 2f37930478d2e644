"""The ASGI application: the gate, the cached answers, then FastAPI."""

from __future__ import annotations

from typing import Any, get_origin

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from clawperator.app.http import openapi
from clawperator.app.http.routes import ROUTERS
from clawperator.app.http.routes.events import PATH as STREAM
from clawperator.app.http.service import HttpService
from clawperator.app.serve.answers import failure
from clawperator.app.serve.gate import App, Gate, OnFault, Receive, Scope, Send, route_of
from clawperator.app.serve.refusals import CALLER
from clawperator.app.serve.tokens import Tokens
from clawperator.app.serve.verbs import in_words
from clawperator.engine.config.policy import OBSERVE
from clawperator.engine.contracts.caller import ANONYMOUS
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError, ErrorCode


def create_app(service: HttpService, tokens: Tokens | None = None, *, on_fault: OnFault = lambda _: None) -> App:
    """Return the application for ``service``, which must be ``running`` while it is served.

    ``on_fault`` gets the tracebacks of unexpected exceptions; the client gets INTERNAL_SERVER_ERROR only.
    """
    framework = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_require_known_query)],
    )
    framework.state.service = service
    for router in ROUTERS:
        framework.include_router(router, default_response_class=Response)
    described: dict[str, Any] = {}

    @framework.get("/openapi.json", include_in_schema=False)
    async def openapi_document(request: Request) -> dict[str, Any]:
        if not described:
            described.update(openapi.document(framework))
        return {**described, "servers": [{"url": str(request.base_url).rstrip("/")}]}

    framework.add_exception_handler(EngineError, _engine_error)
    framework.add_exception_handler(HTTPException, _no_route)
    framework.add_exception_handler(RequestValidationError, _invalid_parameter)

    framework.add_exception_handler(Exception, _fault)
    return Gate(
        CachedAnswers(service, framework),
        service.options,
        tokens,
        on_request=service.on_request,
        on_refusal=service.refusals.add,
        on_fault=on_fault,
    )


class CachedAnswers:
    """Answers ``GET /devices`` from the cached list, without the overhead of the framework, and HEAD as GET.

    uvicorn sends no body for HEAD.
    """

    def __init__(self, service: HttpService, app: App) -> None:
        self._service = service
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/devices":
            body = self._service.device_list
            if body is not None and self._may_observe(scope):
                scope["clawperator.route"] = "/devices"
                length = str(len(body)).encode()
                headers = [(b"content-type", b"application/json"), (b"content-length", length)]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"] != STREAM:
            as_get = {**scope, "method": "GET"}
            await self._app(as_get, receive, send)
            scope["clawperator.route"] = route_of(as_get)
            return
        await self._app(scope, receive, send)

    def _may_observe(self, scope: Scope) -> bool:
        try:
            return self._service.profile(scope.get(CALLER, ANONYMOUS)).allows_capability(OBSERVE)
        except EngineError:
            return False  # the route refuses, and records it


async def _require_known_query(request: Request) -> None:
    """Refuse a repeated query key of a single-valued parameter, and an unknown one unless on GET. Raises INVALID_PARAMETER.

    A misspelt ``validateOnly`` must not act; on GET, clients and proxies add keys of their own.
    """
    parameters = request.scope["route"].dependant.query_params
    known = [parameter.alias for parameter in parameters]
    for name in () if request.method == "GET" else request.query_params:
        if name not in known:
            message = f"{request.url.path} has no query parameter '{shown(name)}'"
            hint = (
                suggestion(name, known) or f"It has {', '.join(known) or 'none'}; other arguments belong in the body."
            )
            raise EngineError(ErrorCode.INVALID_PARAMETER, message, hint=hint, details={"path": shown(name)})
    for parameter in parameters:
        count = len(request.query_params.getlist(parameter.alias))
        if count > 1 and get_origin(parameter.field_info.annotation) is not list:
            raise EngineError(
                ErrorCode.INVALID_PARAMETER,
                f"'{parameter.alias}' appears {count} times",
                hint="Pass it once.",
                details={"path": parameter.alias},
            )


async def _fault(_: Request, __: Exception) -> Response:
    """Answer INTERNAL_SERVER_ERROR; the gate reports the traceback."""
    return failure(EngineError(ErrorCode.INTERNAL_SERVER_ERROR, "An unexpected error occurred"))


async def _engine_error(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, EngineError)
    request.app.state.service.refusals.add(request.scope, exc)
    return failure(exc)


async def _no_route(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    if exc.status_code == 405:
        error = EngineError(
            ErrorCode.METHOD_NOT_ALLOWED, f"{shown(request.url.path, 128)} does not support {request.method}"
        )
        allow = (exc.headers or {}).get("Allow", "")
        if allow == "GET" and request.url.path != STREAM:
            allow = "GET, HEAD"
        return failure(error, {"Allow": allow} if allow else None)
    if exc.status_code == 404:
        return failure(EngineError(ErrorCode.NOT_FOUND, f"There is no route {shown(request.url.path, 128)}"))
    return failure(EngineError(ErrorCode.INVALID_BODY, str(exc.detail)))


async def _invalid_parameter(_: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    first = exc.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:])
    message = f"'{name}' {in_words(first)}"
    return failure(EngineError(ErrorCode.INVALID_PARAMETER, message, details={"path": name}))
