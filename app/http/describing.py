"""The OpenAPI document: routes say which contract they take and give, the schemas are those that validate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from clawperator.app.http.answers import status_of
from clawperator.engine.contracts.schema import json_schema
from clawperator.engine.errors import ErrorCode
from clawperator.engine.version import __version__

Schema = dict[str, Any]
CONTRACTS = ("execution", "result", "envelope", "error", "matcher", "skill")
_EVERYWHERE = (
    ErrorCode.UNAUTHORIZED,
    ErrorCode.ORIGIN_NOT_ALLOWED,
    ErrorCode.RATE_LIMITED,
    ErrorCode.INTERNAL_SERVER_ERROR,
)


def ref(name: str) -> Schema:
    """A contract, or a model of ``models.py``, by name."""
    return {"$ref": f"#/components/schemas/{name}"}


def obj(properties: Mapping[str, Any], required: Iterable[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), **more}
    needed = list(required)
    return {**schema, "required": needed} if needed else schema


def ok_with(properties: Mapping[str, Any], *, optional: Iterable[str] = ()) -> Schema:
    """``{"ok": true}`` and ``properties``, all of them present but the ``optional`` ones."""
    absent = set(optional)
    return obj({"ok": {"const": True}, **properties}, ["ok", *(name for name in properties if name not in absent)])


FAILURE = obj(
    {
        "ok": {"const": False},
        "error": ref("error"),
        "deviceId": {"type": "string"},
        "executionId": {"type": "string"},
    },
    ["ok", "error"],
)


def takes(schema: Schema, *, required: bool = True) -> Schema:
    """For ``openapi_extra``: the JSON body of a route."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def gives(
    schema: Schema, *codes: ErrorCode, kind: str = "application/json", about: str = "As asked for."
) -> dict[int | str, dict[str, Any]]:
    """For ``responses``: what 200 brings, and the codes that a route can answer with, by their status."""
    responses: dict[int | str, dict[str, Any]] = {200: {"description": about, "content": {kind: {"schema": schema}}}}
    by_status: dict[int, list[ErrorCode]] = {}
    for code in (*codes, *_EVERYWHERE):
        by_status.setdefault(status_of(code), []).append(code)
    for status, named in sorted(by_status.items()):
        words = "; ".join(f"`{code.value}`: {code.meaning}" for code in dict.fromkeys(named))
        responses[status] = _failure(words)
    return responses


def document(app: FastAPI) -> Schema:
    """The OpenAPI 3.1 document of ``app``, with the contracts among its components."""
    described = get_openapi(
        title="Clawperator",
        version=__version__,
        summary="The deterministic hand that drives Android devices",
        description="Exactly one result per command; nothing is retried, planned or guessed.",
        routes=app.routes,
    )
    for methods in described["paths"].values():
        for operation in methods.values():
            _own_refusal(operation["responses"])
    schemas: Schema = {"failure": FAILURE}
    for name in CONTRACTS:
        schemas |= _components(name)
    components = described.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **schemas}
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    described["security"] = [{}, {"bearer": []}]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    return described


def _own_refusal(responses: dict[str, Any]) -> None:
    """A wrong parameter is a 400 of ours, not the framework's 422."""
    if responses.pop("422", None) is None:
        return
    code = ErrorCode.INVALID_PARAMETER
    words = f"`{code.value}`: {code.meaning}"
    known = responses.setdefault("400", _failure(words))
    if words not in known["description"]:
        known["description"] += f"; {words}"


def _failure(words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": ref("failure")}}}


def _components(name: str) -> Schema:
    """A contract and its definitions as components; what it refers to becomes ``<name>.<definition>``."""
    schema = json_schema(name)
    definitions = schema.pop("$defs", {})
    del schema["$schema"], schema["$id"]
    found = {name: schema, **{f"{name}.{inner}": value for inner, value in definitions.items()}}
    return {key: _moved(value, name) for key, value in found.items()}


def _moved(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        moved = {key: _moved(inner, name) for key, inner in value.items()}
        target = moved.get("$ref")
        if isinstance(target, str) and target.startswith("#/$defs/"):
            moved["$ref"] = f"#/components/schemas/{name}.{target.removeprefix('#/$defs/')}"
        return moved
    return [_moved(item, name) for item in value] if isinstance(value, list) else value
