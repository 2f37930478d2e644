"""Tools that act on a device."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.app.mcp.answers import DEFAULT_BYTES, Reply, lean, outcome, played
from clawperator.app.mcp.service import SOURCE
from clawperator.app.mcp.tools import base
from clawperator.app.mcp.tools.base import Arguments, Tool, wrong
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.contracts import limits
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.executions import build
from clawperator.engine.json_schema import json_schema
from clawperator.engine.skills.compiled import is_compiled
from clawperator.engine.skills.compiled_json import checked, read_compiled
from clawperator.engine.skills.play import play_document

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
    result = await service.execute(call, payload, device_id=arguments.get("deviceId"))
    document = result.to_dict()
    view, most = arguments.get("view", "interactive"), int(arguments.get("maxBytes", DEFAULT_BYTES))
    await asyncio.to_thread(lean, document["envelope"], view, most)
    return outcome(document)


async def _execute_compiled(service: McpService, call: Call, arguments: Arguments) -> Reply:
    """A compiled artifact: its executions in order, as `skill_run` plays them."""
    document = arguments["execution"]
    if arguments.get("validateOnly"):
        return Reply(checked(read_compiled(document)))
    profile = service.profile(call.caller) or load_profile(service.engine.settings)
    device = arguments.get("deviceId") or None
    return await played(await play_document(service.executor(call), document, profile, device_id=device), arguments)


def completed(execution: Mapping[str, Any]) -> Payload:
    """``execution`` with what is the same in every one, where it is left out. Generated ids cannot be forged by an app."""
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
def _action_list() -> str:
    """Every action type in one line each, as the contract has them."""
    lines = []
    for name in ACTIONS:
        params = json_schema(name)["properties"].get("params", {})
        needed = params.get("required", [])
        rest = [f"{key}?" for key in params.get("properties", {}) if key not in needed and "etry" not in key]
        lines.append(f"{name}({', '.join([*needed, *rest])})")
    return "; ".join(lines)


def _execute_tool() -> Tool:
    step = {
        **base.obj(
            {
                "id": base.text("Any name, unique in the plan.", limits.MAX_ID_LENGTH),
                "type": base.text("The action type."),
                "params": base.obj({}, "Its parameters."),
            }
        ),
        "required": ["id", "type"],
    }
    actions = {**base.listed(step, "What to do, in order. A failed step aborts the plan."), "minItems": 1}
    execution = base.obj(
        {
            "actions": actions,
            "timeoutMs": base.number(
                "Time limit of the whole plan, including sleeps.",
                limits.MIN_EXECUTION_TIMEOUT_MS,
                limits.MAX_EXECUTION_TIMEOUT_MS,
                build.DEFAULT_TIMEOUT_MS,
            ),
            "commandId": base.text("Id of this command; generated if omitted."),
            "taskId": base.text("The task that the plan belongs to."),
            "executions": base.listed(base.OBJECT, "From a compiled artifact, passed unchanged."),
        },
        "The plan, or the output of `compile-artifact`.",
    )
    return Tool(
        "execute",
        "Run a plan",
        f"Runs a plan of up to {limits.MAX_EXECUTION_ACTIONS} actions in one call, for steps without decisions in between; end it "
        "with snapshot_ui to see the result. The whole plan is validated before it is sent. The first failed step aborts it: "
        "take a snapshot before you continue. Actions: "
        + _action_list()
        + ". A matcher is what `match` calls selector; the resource "
        "clawperator://actions has every parameter.",
        _execute,
        takes={
            "execution": execution,
            **base.WHERE,
            "view": base.VIEW,
            "maxBytes": base.BUDGET,
            "validateOnly": base.switch("Validate the plan without a device."),
        },
        needs=("execution",),
        gives={**base.RESULT, "validated": base.BOOLEAN, "execution": base.OBJECT, **base.PLAYED},
        reads_only=False,
        destructive=True,
        idempotent=False,
    )


# -- one action


class Kind(NamedTuple):
    """How an action type becomes a payload: the arguments that it needs, those that it may have besides, and who builds it.

    Of ``one_of``, one is needed.
    """

    build: Callable[[Arguments], Payload]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.needs, *self.one_of, *self.takes)


def _scrolling(given: Arguments, **more: Any) -> Payload:
    scroll = {name: given.get(name) for name in ("direction", "container")}
    return {name: value for name, value in {**scroll, **more}.items() if value is not None}


_WAY = ("direction", "container")
KINDS: Mapping[str, Kind] = {
    "open_app": Kind(lambda a: build.open_app(a["applicationId"]), ("applicationId",)),
    "open_uri": Kind(lambda a: build.open_uri(a["uri"]), ("uri",)),
    "close_app": Kind(lambda a: build.close_app(a["applicationId"]), ("applicationId",)),
    "click": Kind(
        lambda a: build.click(a.get("selector"), point=a.get("point"), click_type=a.get("clickType")),
        one_of=("selector", "point"),
        takes=("clickType",),
    ),
    "enter_text": Kind(
        lambda a: build.enter_text(a["selector"], a["text"], submit=a.get("submit", False)),
        ("selector", "text"),
        ("submit",),
    ),
    "press_key": Kind(lambda a: build.press_key(a["key"]), ("key",)),
    "read_text": Kind(
        lambda a: build.read_text(a["selector"], every=a.get("all", False), container=a.get("container")),
        ("selector",),
        ("all", "container"),
    ),
    "read_key_value_pair": Kind(lambda a: build.read_value(a["selector"]), ("selector",)),
    "scroll": Kind(lambda a: build.scroll(_scrolling(a)), takes=_WAY),
    "scroll_until": Kind(
        lambda a: build.scroll_until(_scrolling(a, matcher=a.get("selector"), maxDurationMs=a.get("timeoutMs"))),
        takes=("selector", *_WAY, "timeoutMs"),
    ),
    "scroll_and_click": Kind(
        lambda a: build.scroll_and_click(_scrolling(a, target=a["selector"], clickType=a.get("clickType"))),
        ("selector",),
        (*_WAY, "clickType"),
    ),
    "wait_for_navigation": Kind(
        lambda a: build.wait_for_navigation(a["timeoutMs"], package=a.get("applicationId"), node=a.get("selector")),
        ("timeoutMs",),
        one_of=("applicationId", "selector"),
    ),
    "sleep": Kind(lambda a: build.sleep(int(a["durationMs"])), ("durationMs",)),
}


def one_action(given: Arguments) -> Payload:
    """The payload of the one action. Raises ``EngineError`` (INVALID_PARAMETER) for arguments that do not belong together."""
    name = given["type"]
    kind = KINDS[name]
    for argument in given:
        if argument not in (*kind.all, "type", *base.WHERE):
            raise wrong(argument, f"{name} takes no '{argument}'", f"It takes {', '.join(kind.all)}.")
    for argument in kind.needs:
        if argument not in given:
            raise wrong(argument, f"{name} needs '{argument}'", f"It takes {', '.join(kind.all)}.")
    if kind.one_of and not any(argument in given for argument in kind.one_of):
        raise wrong(kind.one_of[0], f"{name} needs '{kind.one_of[0]}' or '{kind.one_of[1]}'")
    return {**kind.build(given), "source": SOURCE}


async def _action(service: McpService, call: Call, arguments: Arguments) -> Reply:
    result = await service.execute(call, one_action(arguments), device_id=arguments.get("deviceId"))
    return outcome(result.to_dict())


def _kinds() -> str:
    """What each type takes, in one line."""
    told = []
    for name, kind in KINDS.items():
        words = [*kind.needs, *([" | ".join(kind.one_of)] if kind.one_of else []), *(f"{each}?" for each in kind.takes)]
        told.append(f"{name}({', '.join(words)})")
    return "; ".join(told)


def _action_tool() -> Tool:
    click = json_schema("click")["properties"]["params"]["properties"]
    scroll = json_schema("scroll")["properties"]["params"]["properties"]
    key = json_schema("press_key")["properties"]["params"]["properties"]["key"]
    return Tool(
        "action",
        "Perform one action",
        "Performs one action on the device and waits for its result: "
        + _kinds()
        + ". Take a snapshot afterwards: a successful "
        "action does not prove that the app reacted as expected.",
        _action,
        takes={
            "type": base.choice("The action to perform.", KINDS),
            "selector": base.matcher(
                base.SELECTOR + " For read_key_value_pair the label, for the scrolling ones the node to find."
            ),
            "point": {
                **base.obj({axis: {"type": "integer", "minimum": 0} for axis in ("x", "y")}),
                "description": "A point on the screen in pixels, if no selector works. Requires Operator 0.5 or newer.",
                "required": ["x", "y"],
                "additionalProperties": False,
            },
            "clickType": base.choice("How to click.", click["clickType"]["enum"], "default"),
            "applicationId": base.text("Package name, such as com.android.settings.", limits.MAX_MATCHER_VALUE_LENGTH),
            "uri": base.text("The URI to open.", limits.MAX_URI_LENGTH),
            "text": base.text("Replaces the field's text.", limits.MAX_MATCHER_VALUE_LENGTH),
            "submit": base.switch("Click the field again afterwards; this does not press Enter."),
            "key": base.choice("The key.", key["enum"]),
            "all": base.switch("Read every matching node. Requires Operator 0.5 or newer."),
            "direction": base.choice("Scroll direction.", scroll["direction"]["enum"], "down"),
            "container": base.matcher("The node to scroll or to read in.", explained=False),
            "durationMs": base.number("Duration of the sleep.", 0, limits.MAX_EXECUTION_TIMEOUT_MS - build.SPARE_MS),
            "timeoutMs": base.number("Maximum time to wait or scroll.", 1, limits.MAX_EXECUTION_TIMEOUT_MS),
            **base.WHERE,
        },
        needs=("type",),
        gives=base.RESULT,
        reads_only=False,
        destructive=True,
        idempotent=False,
    )


EXECUTE = _execute_tool()
ACTION = _action_tool()
