"""Tools about skills: finding one, and running its script or one of its artifacts."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, Reply, played, tail
from clawperator.app.mcp.progress import LatestLine
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import Arguments, Tool, wrong
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.queries import cut
from clawperator.engine.skills.artifact import compile_artifact, describe_inputs
from clawperator.engine.skills.play import play
from clawperator.engine.skills.registry import Registry, open_registry
from clawperator.engine.skills.run import MAX_TIMEOUT_MS, run_skill
from clawperator.engine.skills.search import search

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService
    from clawperator.engine.skills.compiled import Compiled

_ONLY_SCRIPTS = ("args", "expectContains")
_ONLY_ARTIFACTS = ("variables",)
_WORD = 512
_ARTIFACTS = 20


async def _registry(service: McpService) -> Registry:
    settings = service.engine.settings
    chosen = settings.skills_registry or None
    return await asyncio.to_thread(open_registry, settings.environment, chosen, fallback=True)


async def _search(service: McpService, _: Call, arguments: Arguments) -> Reply:
    registry = await _registry(service)
    about = {"registry": registry.source, **({"warnings": registry.warnings} if registry.left_out else {})}
    if "skillId" in arguments:
        entry = await asyncio.to_thread(_in_full, registry, arguments["skillId"])
        return Reply({"ok": True, "count": 1, "skills": [entry], **about})
    words = {name: arguments.get(name) or None for name in ("app", "intent", "keyword")}
    found = search(registry, **words)
    shown, truncated = cut(found, int(arguments.get("limit", 20)), "limit")
    return Reply({"ok": True, "count": len(found), **truncated, "skills": list(shown), **about})


def _in_full(registry: Registry, skill_id: str) -> dict[str, Any]:
    """The entry with ``inputs``: what each of its artifacts asks for; an artifact that cannot be read says why."""
    entry = registry.get(skill_id)
    inputs: dict[str, Any] = {}
    for path in [path for path in entry.get("artifacts") or () if isinstance(path, str)][:_ARTIFACTS]:
        name = path.rpartition("/")[2]
        try:
            asked = describe_inputs(registry, skill_id, name)
        except EngineError as exc:
            inputs[name] = exc.to_dict()
            continue
        inputs[name] = [
            {
                "name": one.name,
                "type": one.type,
                "required": one.required,
                **({} if one.default is None else {"default": one.default}),
                **({"values": list(one.values)} if one.values else {}),
            }
            for one in asked
        ]
    return {**entry, "inputs": inputs}


SEARCH = Tool(
    "skills_search",
    "Find skills",
    "Lists skills, which are tested ways to do something in one app: look here before you work out a longer task yourself. "
    "Entries tell the app, what the skill does, its `scripts` and its `artifacts`. With `skillId` it shows that one, with the "
    "`inputs` of each artifact, which are the `variables` of skill_run; without arguments it lists all. "
    "`registry` says where they come from: `builtin` where no skills are installed.",
    _search,
    takes={
        "skillId": base.text("Only this skill, in full.", _WORD),
        "app": base.text("Only skills for this application id.", _WORD),
        "intent": base.text("Only skills with this intent.", _WORD),
        "keyword": base.text("Part of id, summary, application id or keywords.", _WORD),
        "limit": base.number("Maximum number of skills.", 1, 200, 20),
    },
    gives={
        "count": base.WHOLE,
        "skills": base.OBJECTS,
        "truncated": base.OBJECT,
        "registry": base.TEXT,
        "warnings": base.OBJECTS,
    },
    open_world=False,
)


async def _run(service: McpService, call: Call, arguments: Arguments) -> Reply:
    artifact = "artifact" in arguments
    for name in _ONLY_SCRIPTS if artifact else _ONLY_ARTIFACTS:
        if name in arguments:
            raise wrong(name, f"'{name}' is for {'scripts' if artifact else 'artifacts'}")
    return await (_play if artifact else _script)(service, call, arguments)


async def _script(service: McpService, call: Call, arguments: Arguments) -> Reply:
    skill_id, device = arguments["skillId"], arguments.get("deviceId") or None
    registry = await _registry(service)
    lines = LatestLine(call.progress)
    with service.acting(call.caller) as engine:
        try:
            async with lines.told():
                done = await run_skill(
                    registry,
                    skill_id,
                    settings=engine.settings
                    if call.wait_ms is None
                    else replace(engine.settings, wait_ms=call.wait_ms),
                    device_id=device,
                    args=[_word(value) for value in arguments.get("args", ())],
                    timeout_ms=_limit(arguments),
                    expect_contains=arguments.get("expectContains"),
                    tell=lambda line: lines.take(line.text),
                    guard=engine.guard,
                )
        except asyncio.CancelledError:
            service.remember(call, device or engine.settings.device_id, _ended(skill_id))
            raise
    document: dict[str, Any] = {"ok": True, **done.to_dict()}
    most = int(arguments.get("maxBytes", DEFAULT_BYTES))
    if len(document["output"]) > most:
        document |= {"output": tail(document["output"], most), "outputTruncated": True}
    return Reply(document)


def _word(value: Any) -> str:
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
    compiled = await asyncio.to_thread(_compile, service, call, registry, arguments)
    call.progress.total = sum(len(execution["actions"]) for execution in compiled.executions) + len(compiled.choices)
    device = arguments.get("deviceId") or None
    report = await play(service.executor(call), compiled, device_id=device, timeout_ms=_limit(arguments))
    return await played(report, arguments)


def _compile(service: McpService, call: Call, registry: Registry, arguments: Arguments) -> Compiled:
    """The artifact under the caller's policy; the audit gets its row either way."""
    skill_id, artifact = arguments["skillId"], arguments["artifact"]
    variables = json.dumps(arguments["variables"]) if "variables" in arguments else None
    try:
        profile = service.profile(call.caller)
        compiled = compile_artifact(registry, skill_id, artifact, variables, profile=profile)
    except EngineError as exc:
        _note(service, call, skill_id, artifact, error=exc)
        raise
    recipe_id = (compiled.recipe or {}).get("id", "")
    _note(service, call, skill_id, compiled.artifact, execution=compiled.execution, recipe_id=recipe_id)
    return compiled


def _note(service: McpService, call: Call, skill_id: str, artifact: str, **facts: Any) -> None:
    if service.engine.history is None:
        return
    from clawperator.engine.history.audit_rows import compiling

    row = compiling(skill_id=skill_id, artifact=artifact, face=service.engine.face, caller=call.caller.name, **facts)
    service.engine.history.put_audit(row)


RUN = Tool(
    "skill_run",
    "Run a skill",
    "Runs a skill of `skills_search`: its script (a program on this computer that drives the device by itself), or, with "
    "`artifact`, one of its plans, filled in with `variables`. The answer has the script's `output`, or each execution and "
    "the recipe's `outputs`.",
    _run,
    takes={
        "skillId": base.text("The skill's id.", _WORD),
        **base.WHERE,
        "artifact": base.text("Compile and execute this artifact instead of running the script.", _WORD),
        "variables": base.obj({}, "The artifact's variables."),
        "args": base.listed(
            {"type": ["string", "number", "boolean"], "maxLength": 32_768},
            "Arguments for the script, after the device.",
        ),
        "timeoutMs": base.number(
            "Time limit of the script [120000] or of each execution of an artifact.", 1, MAX_TIMEOUT_MS
        ),
        "expectContains": base.text("Fail unless the script prints this text.", _WORD),
        "view": base.VIEW,
        "maxBytes": base.number(
            "Maximum bytes of the output (its end is kept) or of a tree view.",
            base.LEAST_BYTES,
            base.MOST_BYTES,
            DEFAULT_BYTES,
        ),
    },
    needs=("skillId",),
    gives={
        "skillId": base.TEXT,
        "deviceId": base.TEXT,
        "output": base.TEXT,
        "exitCode": base.WHOLE,
        "durationMs": base.WHOLE,
        "frames": base.OBJECTS,
        **base.PLAYED,
        "warnings": base.OBJECTS,
    },
    reads_only=False,
    destructive=True,
    idempotent=False,
)
