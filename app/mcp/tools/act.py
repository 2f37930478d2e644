"""Tools that act on a device."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, DEFAULT_VIEW, Reply, lean, outcome, played, tool_words
from clawperator.app.mcp.service import SOURCE
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import WAITS, Tool
from clawperator.app.mcp.tools.lenient import understood_plan
from clawperator.app.serve.verbs import (
    PLAN_VERBS,
    VERBS,
    Arguments,
    DeviceCommand,
    Payload,
    in_words_of,
    invalid,
    made,
    refuse_verbs,
)
from clawperator.engine import fan_out
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.contracts import limits
from clawperator.engine.device_admin import MAX_LINES, ROTATIONS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.json_schema import json_schema
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.compiled_json import checked, read_compiled

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService


# -- a whole plan


async def _execute(service: McpService, call: Call, arguments: Arguments) -> Reply:
    """Run a plan, or the executions of a compiled artifact in order, as `skill_run` does."""
    plan = understood_plan(arguments["execution"])
    refuse_verbs(plan, _tool_of)
    compiled = is_compiled(plan)
    if not compiled:
        plan = build.completed(plan, SOURCE, "mcp")
    if arguments.get("validateOnly"):
        return Reply(checked(read_compiled(plan)) if compiled else service.engine.validate(plan).to_answer())
    run = _run_compiled if compiled else _run
    if not arguments.get("devices"):
        return await run(service, call, plan, arguments)
    if compiled:
        await asyncio.to_thread(read_compiled, plan)
    else:
        service.admit(call, plan, "execute")
    return await _on_devices(service, call, arguments, lambda one, its: run(service, one, plan, its))


def _tool_of(verb: str) -> str:
    until = next((until for until, waits in WAITS.items() if waits == verb), "")
    return f"`wait` with `until`: {until}" if until else f"`action` with `type`: {verb}"


async def _run(service: McpService, call: Call, payload: Payload, arguments: Arguments) -> Reply:
    options = base.run_options(arguments)
    device = arguments.get("deviceId")
    if service.fleet is not None and "/" in (device or ""):
        document = await service.execute_remotely(call, payload, str(device), options)
    else:
        document = (await service.execute(call, payload, device_id=device, options=options)).to_dict()
    view, most = arguments.get("view", DEFAULT_VIEW), int(arguments.get("maxBytes", DEFAULT_BYTES))
    await asyncio.to_thread(lean, document["envelope"], view, most)
    return outcome(document, arguments)


async def _run_compiled(service: McpService, call: Call, document: Payload, arguments: Arguments) -> Reply:
    if service.fleet is not None and "/" in arguments.get("deviceId", ""):
        raise invalid("execution", "a compiled artifact cannot run on the fleet")
    profile = service.profile(call.caller) or load_profile(service.engine.settings)
    device = arguments.get("deviceId") or None
    options = base.run_options(arguments)
    report = await run_document(service.executor(call), document, profile, device_id=device, options=options)
    return await played(report, arguments)


async def _on_devices(
    service: McpService, call: Call, arguments: Arguments, run: Callable[[Call, Arguments], Awaitable[Reply]]
) -> Reply:
    """Call ``run`` for each of ``devices``, with a call and arguments of its own; a row is a reply."""
    if "deviceId" in arguments:
        raise invalid("devices", "deviceId and devices cannot be combined")
    calls: list[Call] = []

    async def one(serial: str) -> Mapping[str, Any]:
        calls.append(own := call.quiet())
        reply = await run(own, {**arguments, "deviceId": serial})
        assert reply.document is not None
        return reply.document

    async def ended(row: fan_out.DeviceRow, total: int) -> None:
        if row.status == "not_run":
            not_sent = {"broadcastDispatchStatus": "not_sent"}
            error = EngineError(ErrorCode.NOT_RUN, row.answer["error"]["message"], extra=not_sent)
            service.remember(call, row.target.serial, error)
        task = asyncio.current_task()
        assert task is not None
        if task.cancelling():
            return  # the protocol forbids notifications about a cancelled call
        call.progress.total, call.progress.done = total, call.progress.done + 1
        await call.progress.report(call.progress.done, total, f"{row.target.alias or row.target.serial}: {row.status}")

    try:
        remote = None if service.fleet is None else await service.fleet.targets(arguments["devices"])
        document = await fan_out.report(service.engine, arguments["devices"], one, on_row=ended, remote=remote)
    except asyncio.CancelledError:
        for own in calls:
            service.remember_cancelled(own)
        raise
    return Reply(tool_words(document), failed=not document["ok"])


def _execute_tool() -> Tool:
    step = {
        "type": "object",
        "properties": {
            "id": base.string("Unique.", limits.MAX_ID_LENGTH),
            "type": base.STRING,
            "params": base.OBJECT,
        },
        "required": ["type"],
    }
    execution = {
        "type": "object",
        "description": "The plan, or the output of `compile-artifact`.",
        "properties": {
            "actions": {"type": "array", "items": step, "minItems": 1},
            "timeoutMs": base.integer(
                "Of the whole plan.",
                limits.MIN_EXECUTION_TIMEOUT_MS,
                limits.MAX_EXECUTION_TIMEOUT_MS,
                build.DEFAULT_TIMEOUT_MS,
            ),
        },
    }
    return Tool(
        "execute",
        "Run a plan",
        f"Runs up to {limits.MAX_EXECUTION_ACTIONS} actions; the first failed step aborts the plan. An action: "
        '{"id":"a","type":"click","params":{"matcher":{"textEquals":"OK"}}}. '
        "clawperator://actions describes all types.",
        _execute,
        parameters={
            "execution": execution,
            **base.TARGET,
            "devices": base.string("Many: serials, aliases, `tag:x`, `all`; a row each."),
            **base.ACT,
            "view": base.VIEW,
            "maxBytes": base.MAX_BYTES,
            "validateOnly": base.boolean("Only validate."),
        },
        required=("execution",),
        read_only=False,
    )


# -- one action


TYPES = tuple(name for name in VERBS if name not in (*PLAN_VERBS, *WAITS.values()))
"""The verbs of `action`; `wait` and `execute` have the others."""


async def _action(service: McpService, call: Call, arguments: Arguments) -> Reply:
    own = {name: value for name, value in arguments.items() if name not in ("type", *base.TARGET, *base.ACT)}
    with in_words_of(arguments["type"], own):
        payload, device = made(arguments["type"], own, source=SOURCE), arguments.get("deviceId") or None
        if isinstance(payload, DeviceCommand):
            for name in ("then", "backend"):
                if name in arguments:
                    raise invalid(name, f"{arguments['type']} takes no '{name}'", "It is not an execution.")
            with service.acting(call.caller) as engine:
                return Reply(await payload.run(engine.device_admin(device_id=device, wait_ms=arguments.get("waitMs"))))
        result = await service.execute(call, payload, device_id=device, options=base.run_options(arguments))
    return outcome(result.to_dict(), arguments)


def _action_tool() -> Tool:
    click = json_schema("click")["properties"]["params"]["properties"]
    scroll = json_schema("scroll")["properties"]["params"]["properties"]
    return Tool(
        "action",
        "Perform one action",
        "Performs one action and waits for its result. `then` shows the screen after it.",
        _action,
        parameters={
            "type": base.choice("", TYPES),
            "selector": base.SELECTOR,
            **base.CHOICE,
            "point": base.point("Screen pixels, if no selector works.", 0),
            "clickType": base.choice("", click["clickType"]["enum"], "default"),
            "applicationId": base.string("Package name; open_app: or label.", limits.MAX_MATCHER_VALUE_LENGTH),
            "uri": {**base.STRING, "maxLength": limits.MAX_URI_LENGTH},
            "text": base.string("Replaces the text of the field.", limits.MAX_MATCHER_VALUE_LENGTH),
            "key": base.string("back, home, recents; input_key: any key code.", 64),
            "checked": base.BOOLEAN,
            "fields": {
                "type": "object",
                "description": "read_rows: name → resource id.",
                "minProperties": 1,
                "additionalProperties": base.STRING,
            },
            "all": base.boolean("Read all matching nodes."),
            "direction": base.choice("", scroll["direction"]["enum"], "down"),
            "container": base.matcher("To scroll or look in; fields as in `selector`.", bounded=False),
            "to": base.point("End of a swipe or drag.", 0),
            "apk": base.string("APK file on the server.", limits.MAX_URI_LENGTH),
            "permission": base.string("Such as POST_NOTIFICATIONS.", 255),
            "keepData": base.BOOLEAN,
            "rotation": {"type": "string", "enum": [*ROTATIONS, "auto"]},
            "display": base.DISPLAY,
            "lines": base.integer("Log lines of device_logs.", 1, MAX_LINES, 200),
            "durationMs": base.integer("Of a sleep or gesture.", 0, limits.MAX_EXECUTION_TIMEOUT_MS - build.SPARE_MS),
            "timeoutMs": base.integer("Longest wait or scroll.", 1, limits.MAX_EXECUTION_TIMEOUT_MS),
            **base.TARGET,
            **base.ACT,
        },
        required=("type",),
        read_only=False,
    )


EXECUTE = _execute_tool()
ACTION = _action_tool()
