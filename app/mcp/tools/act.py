"""Tools that act on a device."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.mcp.answers import DEFAULT_BYTES, Reply, lean, outcome, played, tool_words
from clawperator.app.mcp.service import SOURCE
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import Arguments, Tool, invalid
from clawperator.engine import fan_out
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.contracts import limits
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.executions import build, shell_input, verbs
from clawperator.engine.executions.composition import Composition
from clawperator.engine.json_schema import json_schema
from clawperator.engine.skills.artifact_run import run_document
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.compiled_json import checked, read_compiled

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService

Payload = dict[str, Any]


# -- a whole plan


async def _execute(service: McpService, call: Call, arguments: Arguments) -> Reply:
    if is_compiled(arguments["execution"]):
        return await _execute_compiled(service, call, arguments)
    payload = completed(arguments["execution"])
    if arguments.get("validateOnly"):
        checked = service.engine.validate(payload)
        warnings = [warning.to_dict() for warning in checked.warnings]
        more = {"warnings": warnings} if warnings else {}
        return Reply({"ok": True, "validated": True, "execution": checked.payload, **more})
    if arguments.get("devices"):
        service.admit(call, payload, "execute")
        return await _on_devices(service, call, arguments, lambda one, its: _run(service, one, payload, its))
    return await _run(service, call, payload, arguments)


async def _run(service: McpService, call: Call, payload: Payload, arguments: Arguments) -> Reply:
    options = base.run_options(arguments)
    result = await service.execute(call, payload, device_id=arguments.get("deviceId"), options=options)
    document = result.to_dict()
    view, most = arguments.get("view", "interactive"), int(arguments.get("maxBytes", DEFAULT_BYTES))
    await asyncio.to_thread(lean, document["envelope"], view, most)
    return outcome(document, arguments)


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
        call.progress.total, call.progress.done = total, call.progress.done + 1
        await call.progress.report(call.progress.done, total, f"{row.target.alias or row.target.serial}: {row.status}")

    try:
        document = await fan_out.report(service.engine, arguments["devices"], one, on_row=ended)
    except asyncio.CancelledError:
        for own in calls:
            service.remember_cancelled(own)
        raise
    return Reply(tool_words(document), failed=not document["ok"])


async def _execute_compiled(service: McpService, call: Call, arguments: Arguments) -> Reply:
    """Run the executions of a compiled artifact in order, as `skill_run` does."""
    document = arguments["execution"]
    if arguments.get("validateOnly"):
        return Reply(checked(read_compiled(document)))
    if arguments.get("devices"):
        return await _on_devices(service, call, arguments, lambda one, its: _run_compiled(service, one, its))
    return await _run_compiled(service, call, arguments)


async def _run_compiled(service: McpService, call: Call, arguments: Arguments) -> Reply:
    document = arguments["execution"]
    profile = service.profile(call.caller) or load_profile(service.engine.settings)
    device = arguments.get("deviceId") or None
    options = base.run_options(arguments)
    report = await run_document(service.executor(call), document, profile, device_id=device, options=options)
    return await played(report, arguments)


def completed(execution: Mapping[str, Any]) -> Payload:
    """Return ``execution`` with defaults for absent fields. An app cannot guess the generated ids."""
    command_id = build.generated_id("mcp")
    usual = {
        "commandId": command_id,
        "taskId": execution.get("commandId", command_id),
        "source": SOURCE,
        "expectedFormat": limits.EXPECTED_FORMAT,
        "timeoutMs": build.DEFAULT_TIMEOUT_MS,
    }
    return {**usual, **execution}


@cache
def _action_signatures() -> str:
    """Return every action type with its required parameters, and with those that name a node or a point."""
    lines = []
    for name in ACTIONS:
        params = json_schema(name)["properties"].get("params", {})
        needed = params.get("required", [])
        optional = {key: field for key, field in params.get("properties", {}).items() if key not in needed}
        nodes = [f"{key}?" for key, field in optional.items() if "$ref" in field and not key.endswith("etry")]
        lines.append(f"{name}({', '.join([*needed, *nodes])})")
    return "; ".join(lines)


def _execute_tool() -> Tool:
    step = {
        "type": "object",
        "properties": {
            "id": base.string("Unique.", limits.MAX_ID_LENGTH),
            "type": base.STRING,
            "params": base.OBJECT,
        },
        "required": ["id", "type"],
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
            "commandId": base.STRING,
            "taskId": base.STRING,
            "executions": base.OBJECTS,
        },
    }
    return Tool(
        "execute",
        "Run a plan",
        f"Runs up to {limits.MAX_EXECUTION_ACTIONS} actions; the first failed step aborts the plan. "
        f"clawperator://actions describes all parameters. Actions: {_action_signatures()}.",
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
        returns=base.EXECUTED,
        read_only=False,
    )


# -- one action


class Kind(NamedTuple):
    """The payload builder of an action type, and its arguments: required, optional, and a group of which one is required."""

    build: Callable[[Arguments], Payload | Composition]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.required, *self.one_of, *self.optional)


def _scrolling(given: Arguments, **more: Any) -> Payload:
    scroll = {name: given.get(name) for name in ("direction", "container")}
    return {name: value for name, value in {**scroll, **more}.items() if value is not None}


def _press_key(given: Arguments) -> Payload:
    if given["key"] not in ("back", "home", "recents"):
        raise invalid("key", "press_key takes back, home or recents", "Use input_key for other keys.")
    return build.press_key(given["key"])


def _gesture(kind: str) -> Kind:
    """Return the kind of a gesture through Android's own input."""

    def make(given: Arguments) -> Composition:
        at = given.get("point")
        return shell_input.gesture(kind, at and (at["x"], at["y"]), matcher=given.get("selector"))

    return Kind(make, one_of=("selector", "point"))


_SCROLL = ("direction", "container")
KINDS: Mapping[str, Kind] = {
    "open_app": Kind(lambda a: build.open_app(a["applicationId"]), ("applicationId",)),
    "open_uri": Kind(lambda a: build.open_uri(a["uri"]), ("uri",)),
    "close_app": Kind(lambda a: build.close_app(a["applicationId"]), ("applicationId",)),
    "click": Kind(
        lambda a: build.click(a.get("selector"), point=a.get("point"), click_type=a.get("clickType")),
        one_of=("selector", "point"),
        optional=("clickType",),
    ),
    "enter_text": Kind(
        lambda a: build.enter_text(a["selector"], a["text"]),
        ("selector", "text"),
    ),
    "press_key": Kind(_press_key, ("key",)),
    "read_text": Kind(
        lambda a: build.read_text(a["selector"], every=a.get("all", False), container=a.get("container")),
        ("selector",),
        ("all", "container"),
    ),
    "read_key_value_pair": Kind(lambda a: build.read_value(a["selector"]), ("selector",)),
    "scroll": Kind(lambda a: build.scroll(_scrolling(a)), optional=_SCROLL),
    "scroll_until": Kind(
        lambda a: build.scroll_until(_scrolling(a, matcher=a.get("selector"), maxDurationMs=a.get("timeoutMs"))),
        optional=("selector", *_SCROLL, "timeoutMs"),
    ),
    "scroll_and_click": Kind(
        lambda a: build.scroll_and_click(_scrolling(a, target=a["selector"], clickType=a.get("clickType"))),
        ("selector",),
        (*_SCROLL, "clickType"),
    ),
    "wait_for_navigation": Kind(
        lambda a: build.wait_for_navigation(a["timeoutMs"], package=a.get("applicationId"), node=a.get("selector")),
        ("timeoutMs",),
        one_of=("applicationId", "selector"),
    ),
    "sleep": Kind(lambda a: build.sleep(int(a["durationMs"])), ("durationMs",)),
    "set_checked": Kind(lambda a: verbs.set_checked(a["selector"], checked=a["checked"]), ("selector", "checked")),
    "set_text": Kind(lambda a: verbs.set_text(a["selector"], a["text"]), ("selector", "text")),
    "submit": Kind(lambda a: verbs.submit(a.get("selector"), text=a.get("text")), optional=("selector", "text")),
    "read_rows": Kind(lambda a: verbs.read_rows(a["container"], a["fields"]), ("container", "fields")),
    "input_key": Kind(lambda a: shell_input.key(a["key"]), ("key",)),
    "input_text": Kind(lambda a: shell_input.text(a["text"]), ("text",)),
    "input_tap": _gesture("tap"),
    "input_long_press": _gesture("long_press"),
}


def one_action(given: Arguments) -> Payload | Composition:
    """Return the execution of one action. Raises ``EngineError`` (INVALID_PARAMETER) for arguments that the type does not take."""
    name = given["type"]
    kind = KINDS[name]
    for argument in given:
        if argument not in (*kind.all, "type", *base.TARGET, *base.ACT):
            raise invalid(argument, f"{name} takes no '{argument}'", f"It takes {', '.join(kind.all)}.")
    for argument in kind.required:
        if argument not in given:
            raise invalid(argument, f"{name} needs '{argument}'", f"It takes {', '.join(kind.all)}.")
    if kind.one_of and not any(argument in given for argument in kind.one_of):
        raise invalid(kind.one_of[0], f"{name} needs '{kind.one_of[0]}' or '{kind.one_of[1]}'")
    built = kind.build(given)
    return replace(built, source=SOURCE) if isinstance(built, Composition) else {**built, "source": SOURCE}


async def _action(service: McpService, call: Call, arguments: Arguments) -> Reply:
    payload, options = one_action(arguments), base.run_options(arguments)
    result = await service.execute(call, payload, device_id=arguments.get("deviceId"), options=options)
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
            "type": base.choice("", KINDS),
            "selector": base.SELECTOR,
            "point": base.point("Screen pixels, if no selector works.", 0),
            "clickType": base.choice("", click["clickType"]["enum"], "default"),
            "applicationId": base.string("Package name.", limits.MAX_MATCHER_VALUE_LENGTH),
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
            "direction": base.choice("Scroll direction.", scroll["direction"]["enum"], "down"),
            "container": base.matcher("The node to scroll or read in; fields as in `selector`.", bounded=False),
            "durationMs": base.integer("Duration of the sleep.", 0, limits.MAX_EXECUTION_TIMEOUT_MS - build.SPARE_MS),
            "timeoutMs": base.integer("Maximum time to wait or scroll.", 1, limits.MAX_EXECUTION_TIMEOUT_MS),
            **base.TARGET,
            **base.ACT,
        },
        required=("type",),
        returns=base.EXECUTED,
        read_only=False,
    )


EXECUTE = _execute_tool()
ACTION = _action_tool()
