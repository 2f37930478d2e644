"""The MCP server: lists and runs the tools and resources of a service."""

from __future__ import annotations

import asyncio
import re
import traceback
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CancelScope
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from clawperator.app.mcp import resources
from clawperator.app.mcp.answers import Reply, refusal, result_of
from clawperator.app.mcp.progress import Progress
from clawperator.app.mcp.service import Call
from clawperator.app.mcp.tools import OLDER, TOOLS, base
from clawperator.app.mcp.tools.listing import tool_list
from clawperator.app.serve.refusals import CALLER
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.guide import MCP_GUIDE
from clawperator.engine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from mcp.server.context import ServerRequestContext

    from clawperator.app.mcp.service import McpService
    from clawperator.app.mcp.tools.base import Tool

    Context = ServerRequestContext[Any, Any]

_STATIC = CacheHint(ttl_ms=3_600_000, scope="public")
_NAME = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_MAX_NAME = 64
_Result = TypeVar("_Result")


def create_server(service: McpService) -> Server[Any]:
    """Return the server for any transport; all connections share ``service``."""

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tool_list())

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name) or OLDER.get(params.name)
        if tool is None:
            hint = suggestion(params.name, TOOLS) or f"Tools: {', '.join(TOOLS)}."
            raise MCPError(INVALID_PARAMS, f"There is no tool {shown(params.name)}. {hint}")
        return result_of(await _cancelled_once(run_tool(service, tool, _call(context), params.arguments)))

    async def list_resources(context: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=await resources.resources(service, _caller(context)))

    async def list_templates(_: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _cancelled_once(resources.read(service, _call(context), params.uri))

    def input_schema(name: str) -> Mapping[str, Any] | None:
        return TOOLS[name].input_schema if name in TOOLS else None

    return Server(
        "clawperator",
        version=__version__,
        title="Clawperator",
        description="Deterministic automation of Android devices",
        instructions=MCP_GUIDE,
        cache_hints={"tools/list": _STATIC, "resources/templates/list": _STATIC},
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _cancelled_once(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Await ``work`` in a task of its own, which a cancellation reaches once.

    anyio repeats a cancellation at every await: what ends a dump on the device would be cancelled, too.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([task])
        raise


async def run_tool(service: McpService, tool: Tool, call: Call, arguments: Mapping[str, Any] | None) -> Reply:
    """Return the reply of ``tool``. The traceback of an unexpected exception is logged, not sent."""
    try:
        given = tool.validate(arguments)
        call.how = base.how(given)
        given, ids = await service.with_whole_ids(call, given)
        reply = await tool.run(service, call, given)
        if ids:
            reply = reply._replace(document={**(reply.document or {}), "resolvedIds": ids})
    except asyncio.CancelledError:
        service.remember_cancelled(call)
        raise
    except EngineError as exc:
        reply = refusal(exc)
    except Exception as exc:  # noqa: BLE001 -- an unexpected exception fails one call only
        service.log_line("".join(traceback.format_exception(exc)))
        reply = refusal(EngineError(ErrorCode.INTERNAL_ERROR, "An unexpected error occurred"))
    return _with_interrupted(service, call, reply)


def _with_interrupted(service: McpService, call: Call, reply: Reply) -> Reply:
    """Add the outcome of a cancelled call to the next answers about its device, up to the first success."""
    device = reply.document.get("deviceId")
    cancelled = service.cancelled_call(call, device) if isinstance(device, str) else None
    if cancelled is None:
        return reply
    if reply.document.get("ok"):
        service.forget_cancelled(call, str(device))
    return reply._replace(document={**reply.document, "interrupted": cancelled.to_dict()})


def _call(context: Context) -> Call:
    return Call(Progress(context.session.report_progress), _caller(context))


def _caller(context: Context) -> Caller:
    """Return the owner of the token; without authentication, the name that the client gives itself."""
    if context.request is not None:
        caller: Caller = context.request.scope.get(CALLER, ANONYMOUS)
        return caller
    client = context.session.client_params
    name = "-".join(_NAME.findall(client.client_info.name))[:_MAX_NAME] if client is not None else ""
    return Caller(name)
