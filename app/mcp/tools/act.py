"""Tools that act on a device."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, DEFAULT_VIEW, Reply, lean, outcome, played, tool_words
from clawperator.app.mcp.service import SOURCE
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import WAITS, Schema, Tool
from clawperator.app.mcp.tools.lenient import understood_plan
from clawperator.app.serve.verbs import (
    ARGUMENTS,
    PLAN_VERBS,
    VERBS,
    Arguments,
    DeviceCommand,
    Payload,
    invalid,
    refuse_verbs,
    run_verb,
)
from clawperator.engine import fan_out
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.contracts import limits
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.composition import Composition
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.compiled_json import checked, read_compiled
from clawperator.engine.verbs import ACTS, MANAGES, READS

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
    tool = next((tool for tool, types in TYPES.items() if verb in types), "act")
    return f"`wait` with `until`: {until}" if until else f"`{tool}` with `type`: {verb}"


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


def _types(*does: str) -> tuple[str, ...]:
    """Return the verbs that do this to a device, but those of `wait` and those that plans only have."""
    others = (*PLAN_VERBS, *WAITS.values())
    return tuple(name for name, verb in VERBS.items() if verb.does in does and name not in others)


TYPES = {"act": _types(ACTS), "read": _types(READS), "manage": _types(MANAGES)}
"""The verbs of the tools that take a `type`."""


async def _action(service: McpService, call: Call, arguments: Arguments) -> Reply:
    own = {name: value for name, value in arguments.items() if name not in ("type", *base.TARGET, *base.ACT)}
    device = arguments.get("deviceId") or None

    async def execute(sent: Payload | Composition) -> Reply:
        result = await service.execute(call, sent, device_id=device, options=base.run_options(arguments))
        return outcome(result.to_dict(), arguments)

    async def manage(command: DeviceCommand) -> Reply:
        with service.acting(call.caller) as engine:
            return Reply(await command.run(engine.device_admin(device_id=device, wait_ms=arguments.get("waitMs"))))

    return await run_verb(arguments["type"], own, SOURCE, execute, manage, beside=arguments)


_DESCRIBED = ("applicationId", "container", "direction", "fields", "key", "nth", "point", "selector", "strict", "to", "validatorPattern", "within")  # fmt: skip
"""Arguments whose name does not say it: the list of tools has no room for the others. HTTP's document describes all."""


def _parameters(types: Iterable[str]) -> Schema:
    """Return the schemas of the type and of all arguments of these verbs."""
    names = {param.name for name in types for param in VERBS[name].arguments}
    arguments = {name: base.argument(param) for name, param in ARGUMENTS.items() if name in names}
    for name in names.difference(_DESCRIBED):
        arguments[name].pop("description", None)
    return {"type": base.choice("", types), **arguments}


EXECUTE = _execute_tool()
_acting = _parameters(TYPES["act"])
ACT = Tool(
    "act",
    "Perform one action",
    "Performs one action and waits for its result. `then` shows the screen after it.",
    _action,
    parameters={**_acting, **base.TARGET, **base.ACT},
    required=("type",),
    read_only=False,
    destructive=False,
    also=_parameters((*TYPES["act"], *TYPES["read"])),  # the verbs of `read` were here
)
READ = Tool(
    "read",
    "Read, or wait",
    "Changes nothing.",
    _action,
    parameters={**_parameters(TYPES["read"]), **base.TARGET, "brief": base.ACT["brief"]},
    required=("type",),
)
MANAGE = Tool(
    "manage",
    "Manage apps and the device",
    "Installs, removes or clears an app, changes permissions, rotates.",
    _action,
    parameters={**_parameters(TYPES["manage"]), "deviceId": base.DEVICE, "waitMs": base.TARGET["waitMs"]},
    required=("type",),
    read_only=False,
)
