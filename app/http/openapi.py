"""Build the OpenAPI document from the routes and the JSON Schemas that validate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.alias_generators import to_camel

from clawperator.app.serve.answers import RETRY_AFTER, status_of
from clawperator.engine.errors import ErrorCode
from clawperator.engine.json_schema import json_schema
from clawperator.engine.version import __version__

Schema = dict[str, Any]
CONTRACTS = ("execution", "result", "skill")
"""The contracts whose definitions become components."""
_DEFINITIONS = "#/$defs/"
_COMPONENTS = "#/components/schemas/"
TAGS = {
    "devices": "Devices listed by adb",
    "executions": "Run executions",
    "observe": "UI trees, screenshots and packages of a device; selector queries",
    "skills": "Skills on the server",
    "emulators": "Virtual devices on the server",
    "history": "Recorded runs and the audit",
    "readiness": "Device readiness and locks",
    "events": "Server-sent events",
    "server": "The server itself",
}
_EVERYWHERE = (
    ErrorCode.UNAUTHORIZED,
    ErrorCode.ORIGIN_NOT_ALLOWED,
    ErrorCode.REQUEST_TIMEOUT,
    ErrorCode.RATE_LIMITED,
    ErrorCode.HEADERS_TOO_LARGE,
    ErrorCode.SERVER_BUSY,
    ErrorCode.INTERNAL_SERVER_ERROR,
)
_BODY = (ErrorCode.INVALID_JSON, ErrorCode.INVALID_BODY, ErrorCode.PAYLOAD_TOO_LARGE)

_RETRY_AFTER = {"description": "Seconds to wait before you retry the request.", "schema": {"type": "integer"}}
YES = {"type": "boolean", "const": True}
TEXT = {"type": "string"}
OBJECTS = {"type": "array", "items": {"type": "object"}}


def ref(name: str) -> Schema:
    """Return a reference to a component."""
    return {"$ref": f"{_COMPONENTS}{name}"}


def obj(properties: Mapping[str, Any], required: Iterable[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), **more}
    needed = list(required)
    return {**schema, "required": needed} if needed else schema


def ok_with(properties: Mapping[str, Any], *, optional: Iterable[str] = ()) -> Schema:
    """Return the schema of ``{"ok": true}`` with ``properties``, required unless ``optional``."""
    absent = set(optional)
    return obj({"ok": YES, **properties}, ["ok", *(name for name in properties if name not in absent)])


def list_of(properties: Mapping[str, Any], *, optional: Iterable[str] = ()) -> Schema:
    """Return the schema of an array of objects with ``properties``, required unless ``optional``."""
    absent = set(optional)
    return {"type": "array", "items": obj(properties, (name for name in properties if name not in absent))}


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def shape(document: type) -> Schema:
    """Return the schema of a ``TypedDict`` of plain values, literals and objects."""
    hints = get_type_hints(document)
    required: frozenset[str] = getattr(document, "__required_keys__", frozenset())
    return obj({name: _of_type(hint) for name, hint in hints.items()}, [name for name in hints if name in required])


def fields_of(value: type) -> Schema:
    """Return the schemas of a value's fields by their names in JSON."""
    return {to_camel(name): _of_type(hint) for name, hint in get_type_hints(value).items()}


def _of_type(hint: Any) -> Schema:
    inner = get_args(hint)
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(inner)}
    if type(None) in inner:
        return {"type": [_of_type(inner[0])["type"], "null"]}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _of_type(inner[0])}
    return {"type": _JSON_TYPES.get(hint, "object")}


def gives(
    schema: Schema, *codes: ErrorCode, kind: str = "application/json", about: str = "Success"
) -> dict[int | str, dict[str, Any]]:
    """Return ``responses`` of a route: its success, and its error codes by status."""
    responses: dict[int | str, dict[str, Any]] = {200: {"description": about, "content": {kind: {"schema": schema}}}}
    by_status: dict[int, list[ErrorCode]] = {}
    for code in (*codes, *_EVERYWHERE):
        by_status.setdefault(status_of(code), []).append(code)
    for status, named in sorted(by_status.items()):
        words = "; ".join(f"`{code.value}`: {code.meaning}" for code in dict.fromkeys(named))
        responses[status] = _failure(words)
        if not RETRY_AFTER.isdisjoint(named):
            responses[status]["headers"] = {"Retry-After": _RETRY_AFTER}
    responses["default"] = _failure("Any other error")
    return responses


def document(app: FastAPI) -> Schema:
    """Return the OpenAPI 3.1 document of ``app`` without ``servers``."""
    described = get_openapi(
        title="Clawperator",
        version=__version__,
        summary="Deterministic automation of Android devices",
        description="Exactly one result per command; no implicit retries, planning or guessing.",
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        routes=app.routes,
    )
    for methods in described["paths"].values():
        for method, operation in methods.items():
            if "parameters" in operation or method != "get":
                _add_codes(operation["responses"], ErrorCode.INVALID_PARAMETER)
            if "requestBody" in operation:
                _add_codes(operation["responses"], *_BODY)
    schemas: Schema = {}
    for name in CONTRACTS:
        schema = json_schema(name)
        schemas |= schema.pop("$defs", {})
        del schema["$schema"], schema["$id"], schema["title"]
        if name != "result":  # its two branches have different statuses
            schemas[name] = schema
    described["components"] = {
        "schemas": _moved(schemas),
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    }
    described["security"] = [{}, {"bearer": []}]
    return described


def _add_codes(responses: dict[str, Any], *codes: ErrorCode) -> None:
    """Add errors that every operation of a kind can return."""
    for code in codes:
        words = f"`{code.value}`: {code.meaning}"
        known = responses.setdefault(str(status_of(code)), _failure(words))
        if words not in known["description"]:
            known["description"] += f"; {words}"


def _failure(words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": ref("failure")}}}


def _moved(value: Any) -> Any:
    """Return ``value`` with references to definitions, also those of discriminators, as references to components."""
    if isinstance(value, dict):
        return {key: _moved(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_moved(item) for item in value]
    if isinstance(value, str) and value.startswith(_DEFINITIONS):
        return f"{_COMPONENTS}{value.removeprefix(_DEFINITIONS)}"
    return value
