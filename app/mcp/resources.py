"""MCP resources: the latest tree of each device, the JSON Schemas, the action types."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from clawperator.app.mcp.answers import DEFAULT_VIEW, encodable, tool_words
from clawperator.app.serve.answers import encode
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError
from clawperator.engine.follow.trees import viewed
from clawperator.engine.json_schema import SCHEMAS, json_schema

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService

JSON = "application/json"
XML = "application/xml"
_DEVICES = "clawperator://devices/"
_SCHEMA = "clawperator://schema/"
_ACTIONS = "clawperator://actions"
_LISTED = ("execution", "matcher", "result", "error")
_TREE_BYTES = 32_768
_SHOWN = 200

TEMPLATES = [
    ResourceTemplate(
        uri_template=f"{_DEVICES}{{deviceId}}/tree",
        name="tree",
        title="Latest UI tree",
        description="The latest known tree of a device as a compact view, or a new one.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template=f"{_DEVICES}{{deviceId}}/tree.xml",
        name="dump",
        title="Latest UI tree as XML",
        description="The same as a complete dump; it can be large.",
        mime_type=XML,
    ),
    ResourceTemplate(
        uri_template=f"{_SCHEMA}{{name}}",
        name="schema",
        title="JSON Schema of a contract",
        description=f"One of: {', '.join(SCHEMAS)}.",
        mime_type="application/schema+json",
    ),
]


async def resources(service: McpService, caller: Caller) -> list[Resource]:
    """Return the trees of usable devices and the static resources. A failure of adb, or a caller who may not list them, is no error here."""
    found = [
        Resource(
            uri=_ACTIONS,
            name="actions",
            title="Action types",
            description="Every action type of an execution with its parameters.",
            mime_type=JSON,
        ),
        *(
            Resource(
                uri=f"{_SCHEMA}{name}",
                name=f"schema-{name}",
                title=f"JSON Schema: {name}",
                mime_type="application/schema+json",
            )
            for name in _LISTED
        ),
    ]
    try:
        devices = await service.engine.under(caller).devices()
    except EngineError:
        return found
    return [
        *(
            Resource(
                uri=f"{_DEVICES}{quote(entry.serial, safe='')}/tree",
                name=f"tree-{entry.serial}",
                title=f"UI tree of {entry.serial}",
                description="The latest known tree.",
                mime_type=JSON,
            )
            for entry in devices
            if entry.usable
        ),
        *found,
    ]


async def read(service: McpService, call: Call, uri: str) -> ReadResourceResult:
    """Return one resource. Raises ``MCPError``: INVALID_PARAMS if it does not exist, else with the error object as data."""
    from mcp.shared.exceptions import MCPError

    try:
        text, kind = await _content(service, call, uri)
    except EngineError as exc:
        raise MCPError(INTERNAL_ERROR, encodable(exc.message), tool_words(exc.to_answer())["error"]) from exc
    except LookupError as exc:
        near = suggestion(uri, [_ACTIONS, *(f"{_SCHEMA}{name}" for name in SCHEMAS)])
        raise MCPError(INVALID_PARAMS, f"Unknown resource {shown(uri, _SHOWN)}. {near}".strip()) from exc
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=encodable(text))])


async def _content(service: McpService, call: Call, uri: str) -> tuple[str, str]:
    """Return text and MIME type. Raises ``LookupError`` if the resource does not exist, and ``EngineError``."""
    if uri == _ACTIONS:
        return _json({name: _described(name) for name in ACTIONS}), JSON
    if uri.startswith(_SCHEMA):
        name = uri.removeprefix(_SCHEMA)
        if name not in SCHEMAS:
            raise LookupError(name)
        return _json(json_schema(name)), "application/schema+json"
    serial, separator, part = uri.removeprefix(_DEVICES).partition("/")
    if not uri.startswith(_DEVICES) or not separator or part not in ("tree", "tree.xml"):
        raise LookupError(uri)
    serial, seen = await service.read_tree(call, unquote(serial), max_age_ms=_ANY_AGE)
    if part == "tree.xml":
        return seen.xml, XML
    view = await asyncio.to_thread(viewed, seen.xml, await seen.read(), DEFAULT_VIEW, _TREE_BYTES)
    return _json({"ok": True, "deviceId": serial, **seen.facts(), "view": view}), JSON


_ANY_AGE = 10**15
"""Milliseconds: accept the latest tree of any age."""


def _described(name: str) -> dict[str, Any]:
    """Return the description and the parameters of an action type."""
    schema = json_schema(name)
    return {"about": schema.get("description", ""), "params": schema["properties"].get("params", {})}


def _json(value: Any) -> str:
    return encode(value).decode()
