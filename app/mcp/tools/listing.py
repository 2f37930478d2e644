"""The list of tools as clients receive it, short enough for a model to read before its first call."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from mcp_types import Tool as ToolEntry
from mcp_types import ToolAnnotations

from clawperator.app.mcp.tools import TOOLS
from clawperator.app.mcp.tools.base import Schema, Tool

_CHECKED_BY_SERVER = frozenset(
    {"additionalProperties", "maxLength", "maximum", "minItems", "minLength", "minimum", "minProperties"}
)
"""Keywords that are enforced but not listed: a call that violates one gets an error that says so."""
_DESCRIBED_ONCE = _CHECKED_BY_SERVER | {"default", "description", "enum"}


@cache
def tool_list() -> list[ToolEntry]:
    """Return all tools.

    A parameter of several tools is described in the first of them, with its values; the others list its type. The fields of an object are
    listed once; where they are listed again, the first tool is named.
    """
    described: set[str] = set()
    fields: dict[tuple[str, ...], str] = {}
    return [_entry(tool, described, fields) for tool in TOOLS.values()]


def _entry(tool: Tool, described: set[str], fields: dict[tuple[str, ...], str]) -> ToolEntry:
    parameters: Schema = {}
    for name, schema in tool.parameters.items():
        key = json.dumps((name, schema))
        names = tuple(schema.get("properties", ()))
        omitted = _DESCRIBED_ONCE if key in described else _CHECKED_BY_SERVER
        if names in fields:
            omitted |= {"properties", "required"}
        parameters[name] = _without(omitted, schema)
        described.add(key)
        if names and fields.setdefault(names, tool.name) != tool.name:
            parameters[name]["description"] = f"As in `{fields[names]}`."
    return ToolEntry(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_without(_CHECKED_BY_SERVER, {**tool.input_schema, "properties": parameters}),
        output_schema={"type": "object"},  # says that there is structured content
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=None if tool.read_only else tool.destructive,
            open_world_hint=None if tool.open_world else False,  # the protocol's default is true
        ),
    )


def _without(keywords: frozenset[str], schema: Any) -> Any:
    """Return ``schema`` without ``keywords``; properties that have the name of one are kept."""
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {key: _without(keywords, value) for key, value in schema.items() if key not in keywords}
    if "items" in kept:
        kept["items"] = {"type": kept["items"]["type"]}
    if "properties" in kept:
        kept["properties"] = {name: _without(keywords, value) for name, value in schema["properties"].items()}
    return kept
