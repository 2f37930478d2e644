"""Tools that search skills and run a skill's script or one of its artifacts."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, Reply, played, tail
from clawperator.app.mcp.progress import LatestLine
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import Tool
from clawperator.app.serve.verbs import Arguments, invalid
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.queries import cut
from clawperator.engine.skills.artifact import compile_for
from clawperator.engine.skills.artifact_run import run_artifact
from clawperator.engine.skills.describe import described
from clawperator.engine.skills.registry import Registry, open_registry, search
from clawperator.engine.skills.run import MAX_TIMEOUT_MS, NO_INPUTS, run_with_then
from clawperator.engine.skills.skill_result import short

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService

_SCRIPT_ONLY = ("args", "inputs", "expectContains")
_ARTIFACT_ONLY = ("variables",)
_MAX_STRING = 512


async def _registry(service: McpService) -> Registry:
    settings = service.engine.settings
    chosen = settings.skills_registry or None
    return await asyncio.to_thread(open_registry, settings.environment, chosen, fallback=True)


async def _search(service: McpService, _: Call, arguments: Arguments) -> Reply:
    registry = await _registry(service)
    about = {"registry": registry.source, **({"warnings": registry.warnings} if registry.left_out else {})}
    if "skillId" in arguments:
        entry = await asyncio.to_thread(_with_inputs, registry, arguments["skillId"])
        return Reply({"ok": True, "count": 1, "skills": [entry], **about})
    words = {name: arguments.get(name) or None for name in ("app", "intent", "keyword")}
    found = search(registry, **words)
    shown, truncated = cut(found, int(arguments.get("limit", 20)), "limit")
    return Reply({"ok": True, "count": len(found), **truncated, "skills": list(shown), **about})


def _with_inputs(registry: Registry, skill_id: str) -> dict[str, Any]:
    entry = registry.get(skill_id)
    return {**entry, "inputs": {}, **described(registry, entry)}


SEARCH = Tool(
    "skills_search",
    "Find skills",
    "Lists skills: tested programs for a task in one app. `skillId` shows one "
    "skill with the `inputs` of each artifact: the `variables` of skill_run.",
    _search,
    parameters={
        "skillId": base.string("Show this skill in full.", _MAX_STRING),
        "app": base.string("Application id.", _MAX_STRING),
        "intent": {**base.STRING, "maxLength": _MAX_STRING},
        "keyword": base.string("Part of id, summary, application id or keywords.", _MAX_STRING),
        "limit": base.integer("", 1, 200, 20),
    },
    open_world=False,
)


async def _run(service: McpService, call: Call, arguments: Arguments) -> Reply:
    artifact = "artifact" in arguments
    for name in _SCRIPT_ONLY if artifact else _ARTIFACT_ONLY:
        if name in arguments:
            raise invalid(name, f"'{name}' is for {'scripts' if artifact else 'artifacts'}")
    return await (_play if artifact else _script)(service, call, arguments)


async def _script(service: McpService, call: Call, arguments: Arguments) -> Reply:
    skill_id, device = arguments["skillId"], arguments.get("deviceId") or None
    registry = await _registry(service)
    lines = LatestLine(call.progress)
    with service.acting(call.caller) as engine:
        try:
            async with lines.reporting():
                document = await run_with_then(
                    service.executor(call),
                    registry,
                    skill_id,
                    base.run_options(arguments),
                    device_id=device,
                    short=arguments.get("brief", True),
                    settings=engine.settings.with_options(**call.how),
                    args=[_argument(value) for value in arguments.get("args", ())],
                    inputs=arguments.get("inputs", NO_INPUTS),
                    timeout_ms=_limit(arguments),
                    expect_contains=arguments.get("expectContains"),
                    on_line=lambda line: lines.take(line.text),
                    guard=engine.guard,
                    engine=engine,
                )
        except asyncio.CancelledError:
            service.remember(call, device or engine.settings.device_id, _ended(skill_id))
            raise
    most = int(arguments.get("maxBytes", DEFAULT_BYTES))
    if len(document.get("output", "")) > most:
        document |= {"output": tail(document["output"], most), "outputTruncated": True}
    if len(json.dumps(document.get("skillResult"))) > most:
        document["skillResult"] = short(document["skillResult"])
    return Reply(document)


def _argument(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _limit(arguments: Arguments) -> int | None:
    return int(arguments["timeoutMs"]) if "timeoutMs" in arguments else None


def _ended(skill_id: str) -> EngineError:
    return EngineError(
        ErrorCode.INTERRUPTED,
        "The script and its processes were stopped, but a command already sent to the device may still run",
        extra={"broadcastDispatchStatus": "unknown", "skillId": skill_id},
    )


async def _play(service: McpService, call: Call, arguments: Arguments) -> Reply:
    registry = await _registry(service)
    guard = service.engine.under(call.caller).guard
    variables = json.dumps(arguments["variables"]) if "variables" in arguments else None
    compiled = await asyncio.to_thread(
        compile_for, guard, registry, arguments["skillId"], arguments["artifact"], variables
    )
    call.progress.total = sum(len(execution["actions"]) for execution in compiled.executions) + len(compiled.choices)
    device = arguments.get("deviceId") or None
    report = await run_artifact(
        service.executor(call),
        compiled,
        device_id=device,
        timeout_ms=_limit(arguments),
        options=base.run_options(arguments),
    )
    return await played(report, arguments)


RUN = Tool(
    "skill_run",
    "Run a skill",
    "Runs a skill's script, a program on this computer, or, with `artifact`, one of its plans with `variables`.",
    _run,
    parameters={
        "skillId": base.string("The skill's id.", _MAX_STRING),
        **base.TARGET,
        "artifact": base.string("Execute this artifact, not the script.", _MAX_STRING),
        "variables": {**base.OBJECT, "description": "Variables of the artifact."},
        "args": {
            "type": "array",
            "items": {"type": ["string", "number", "boolean"], "maxLength": 32_768},
            "description": "Arguments of the script.",
        },
        "inputs": {**base.OBJECT, "description": "The script's `scriptInputs`."},
        "timeoutMs": base.integer("Time limit of the script [120000] or of each execution.", 1, MAX_TIMEOUT_MS),
        "expectContains": base.string("Fail unless the script prints this.", _MAX_STRING),
        "view": base.VIEW,
        "maxBytes": base.MAX_BYTES,
        **base.ACT,
    },
    required=("skillId",),
    read_only=False,
)
