"""The verbs of servers: what each takes as JSON, and the execution, composition or device command that it makes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError, create_model

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import ALIASES, canonical, spelled
from clawperator.engine.contracts.issues import joined, shown, suggestion
from clawperator.engine.contracts.matcher import NodeMatcher
from clawperator.engine.contracts.strict import Strict
from clawperator.engine.contracts.values import bounds, optional, type_of
from clawperator.engine.device_admin import DeviceAdmin
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build, opening, shell_input, verbs
from clawperator.engine.executions.argument_names import in_arguments
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.matcher_check import checked_choice
from clawperator.engine.verbs import MANAGES, Param, Verb, catalogue, vocabulary

Answer = TypeVar("Answer")
Arguments = Mapping[str, Any]
Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """A command about an app or the device, which is no execution: it has no envelope, and no screen after it."""

    run: Callable[[DeviceAdmin], Awaitable[dict[str, Any]]]


Made = Payload | Composition | DeviceCommand


VERBS: Mapping[str, Verb] = {name: verb for name, verb in catalogue.VERBS.items() if verb.listed}
PLAN_VERBS = catalogue.named(of="action", exact=True)
"""Verbs that MCP has in plans only."""
ARGUMENTS: Mapping[str, Param] = {param.name: param for param in vocabulary(catalogue.VERBS)}


def _field(param: Param) -> tuple[Any, Any]:
    kind: Any = dict[str, Any] if param.face == "matcher" else type_of(param, face=True)
    return kind, optional(param.about, **bounds(param))


_fields: dict[str, Any] = {param.name: _field(param) for param in ARGUMENTS.values()}
VerbArguments: type[Strict] = create_model("VerbArguments", __base__=Strict, **_fields)
"""The arguments of all verbs. The engine checks matchers."""


_PLAIN = {"Field required": "is required", "a valid dictionary": "an object", "a valid list": "an array"}


def checked_arguments(given: Arguments) -> Arguments:
    """Return ``given`` if each argument has the type of its name. Raises ``EngineError`` (INVALID_PARAMETER).

    ``in`` is understood as ``within``, which a field of a model can be called.
    """
    if "in" in given and "within" not in given:
        given = {"within" if name == "in" else name: value for name, value in given.items()}
    for name in given:
        if name not in VerbArguments.model_fields:
            hint = misplaced(name) or suggestion(name, VerbArguments.model_fields) or None
            raise invalid(name, f"There is no argument '{shown(name)}'", hint)
    try:
        VerbArguments.model_validate(dict(given))
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        path = joined(*first["loc"])
        words = in_words(first)
        hint = first.get("ctx", {}).get("hint") or None
        raise invalid(path, f"'{path}' {words}" if path else f"The request {words}", hint) from exc
    return given


def in_words(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, to follow its name, in the terms of JSON."""
    words = re.sub(r"^\w+ should", "must", error["msg"]).removeprefix("Value error, ").partition(", unable to ")[0]
    for python, plain in _PLAIN.items():
        words = words.replace(python, plain)
    return words


def made(name: str, given: Arguments, *, source: str) -> Made:
    """Return what the verb ``name`` makes of its arguments. Raises ``EngineError`` for arguments that it does not take or lacks."""
    verb = VERBS[name]
    known = {param.name: param for param in verb.arguments}
    takes = f"It takes {', '.join(known) or 'no arguments'}."
    for argument in given:
        if argument not in known:
            hint = misplaced(argument) if "selector" in known else ""
            raise invalid(argument, f"{name} takes no '{argument}'", hint or takes)
    for param in known.values():
        if param.need and param.name not in given:
            raise invalid(param.name, f"{name} needs '{param.name}'", takes)
    if verb.one_of and not any(argument in given for argument in verb.one_of):
        raise invalid(verb.one_of[0], f"{name} needs '{verb.one_of[0]}' or '{verb.one_of[1]}'")
    checked_choice(given)  # the engine would name the parameter of its action
    make = _MAKERS.get(name)
    built = (
        make(given)
        if make
        else build.action(name, {param.wire: given[param.name] for param in known.values() if param.name in given})
    )
    if isinstance(built, Composition):
        return replace(built, source=source)
    return built if isinstance(built, DeviceCommand) else {**built, "source": source}


_INSIDE = {"package": "applicationId"}
"""What compositions call an argument."""


@contextmanager
def in_words_of(name: str, given: Arguments) -> Iterator[None]:
    """Let errors about what the verb ``name`` made of its arguments name the arguments."""
    by_wire = {param.wire: param.name for verb in VERBS.values() for param in verb.params}

    def argument(parameter: str, rest: str) -> tuple[str, str]:
        known = _INSIDE.get(parameter) or by_wire.get(parameter, parameter)
        return (known, rest) if known in given else ("", "")

    try:
        yield
    except EngineError as exc:
        raise in_arguments(exc, argument, name, hint=exc.code.hint) from exc


async def run_verb(
    name: str,
    given: Arguments,
    source: str,
    execute: Callable[[Payload | Composition], Awaitable[Answer]],
    manage: Callable[[DeviceCommand], Awaitable[Answer]],
    *,
    beside: Container[str],
) -> Answer:
    """Return what ``execute`` answers to what the verb makes of its arguments, or ``manage`` to a device command.

    ``beside`` are the other arguments, some of which are about executions only. Raises ``EngineError`` in the words of the verb.
    """
    with in_words_of(name, given):
        sent = made(name, given, source=source)
        if not isinstance(sent, DeviceCommand):
            return await execute(sent)
        for option in ("then", "backend"):
            if option in beside:
                raise invalid(option, f"{name} takes no '{option}'", "It is not an execution.")
        return await manage(sent)


_MEANT = {
    "app_current": "device_info",
    "app_launch": "open_app",
    "app_start": "open_app",
    "app_stop": "close_app",
    "device_size": "device_info",
    **{words: name for name, verb in reversed([*VERBS.items()]) for words in (verb.command, *verb.also)},
}
"""What the command line and other tools call a verb → its name here."""


def meant_verb(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that is none of ``known``; empty if none is near."""
    if name in PLAN_VERBS:
        return "It is an action of the tool `execute`."
    if name in VERBS and VERBS[name].does == MANAGES:
        return "Use the tool `manage`."
    if name in VERBS:
        return "Use the tool `wait`, whose argument `until` may be gone or text_changes."
    meant = _MEANT.get(name) or ALIASES.get(name, "")
    return f"Did you mean '{meant}'?" if meant in known else suggestion(name, known)


def refuse_verbs(payload: object, call: Callable[[str], str]) -> None:
    """Refuse a plan with a verb that is no action of a plan; ``call`` returns what calls it, by its name.

    Raises ``EngineError`` (EXECUTION_ACTION_UNSUPPORTED).
    """
    actions = payload.get("actions") if isinstance(payload, Mapping) else None
    for index, action in enumerate(actions if isinstance(actions, list) else ()):
        name = action.get("type") if isinstance(action, Mapping) else None
        if isinstance(name, str) and spelled(name) in VERBS and canonical(name) not in ACTIONS:
            raise EngineError(
                ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
                f"{spelled(name)} is not an action of a plan",
                hint=f"It is a call of its own, before or after the plan: {call(spelled(name))}.",
                details={"path": f"actions.{index}.type", "actionType": name, "supportedTypes": [*ACTIONS]},
            )


_FLAGS = {"text": "textEquals", "id": "resourceId", "desc": "contentDescEquals"}
"""Flags of the command line that are fields of a matcher."""


def misplaced(name: str) -> str:
    """Return the hint for a field of a matcher that stands beside the selector; empty for another argument."""
    name = _FLAGS.get(name, name)
    return f'Put it into the selector: {{"selector": {{"{name}": …}}}}.' if name in NodeMatcher.model_fields else ""


def invalid(path: str, message: str, hint: str | None = None) -> EngineError:
    """Return INVALID_PARAMETER for the argument at ``path``."""
    return EngineError(ErrorCode.INVALID_PARAMETER, message, hint=hint, details={"path": path})


# -- the table


def _press_key(given: Arguments) -> Payload:
    if given["key"] not in catalogue.KEYS:
        raise invalid("key", "press_key takes back, home or recents", "Use input_key for other keys.")
    return build.press_key(given["key"])


def _enter_text(given: Arguments) -> Payload:
    limits = {name: given.get(name) for name in _LIMITS}
    return build.enter_text(given["selector"], given["text"], clear=given.get("clear", False), limits=limits)


def _gesture(kind: str) -> Callable[[Arguments], Composition]:
    """Return a gesture through Android's own input."""

    def pair(point: Mapping[str, int] | None) -> tuple[int, int] | None:
        return None if point is None else (int(point["x"]), int(point["y"]))

    def make(a: Arguments) -> Composition:
        duration = a.get("durationMs")
        if duration is not None and not 1 <= duration <= shell_input.MAX_DURATION_MS:
            raise invalid("durationMs", f"durationMs must be in [1, {shell_input.MAX_DURATION_MS}]")
        return shell_input.gesture(
            kind,
            pair(a.get("point")),
            matcher=a.get("selector"),
            to=pair(a.get("to")),
            duration_ms=duration,
            display=int(a.get("display", 0)),
            argument="point",
            limits={name: a.get(name) for name in _LIMITS},
        )

    return make


def _device(run: Callable[[DeviceAdmin, Arguments], Awaitable[dict[str, Any]]]) -> Callable[[Arguments], DeviceCommand]:
    return lambda a: DeviceCommand(lambda admin: run(admin, a))


_LIMITS = ("container", "strict", "nth", "within")
_MAKERS: Mapping[str, Callable[[Arguments], Made]] = {
    "open_app": lambda a: opening.open_app_or_name(
        a["applicationId"],
        skip_navigation_wait=a.get("skipNavigationWait"),
        navigation_timeout_ms=a.get("navigationTimeoutMs"),
    ),
    "press_key": _press_key,
    "enter_text": _enter_text,
    "set_checked": lambda a: verbs.set_checked(a["selector"], checked=a["checked"]),
    "set_text": lambda a: verbs.set_text(a["selector"], a["text"]),
    "submit": lambda a: verbs.submit(a.get("selector"), text=a.get("text")),
    "read_rows": lambda a: verbs.read_rows(a["container"], a["fields"]),
    "wait_gone": lambda a: verbs.wait_gone(a["selector"], wait_ms=a.get("timeoutMs")),
    "wait_text_changes": lambda a: verbs.wait_text_changes(a["selector"], wait_ms=a.get("timeoutMs")),
    "wait_app": lambda a: verbs.wait_app(a["applicationId"], wait_ms=a.get("timeoutMs")),
    "input_key": lambda a: shell_input.key(a["key"], display=int(a.get("display", 0))),
    "input_text": lambda a: shell_input.text(a["text"], display=int(a.get("display", 0))),
    **{
        name: _gesture(name.removeprefix("input_"))
        for name in catalogue.named(of="input", one_of=("selector", "point"))
    },
    "app_install": _device(lambda admin, a: admin.install(a["apk"])),
    "app_uninstall": _device(lambda admin, a: admin.uninstall(a["applicationId"], keep_data=a.get("keepData", False))),
    "app_clear": _device(lambda admin, a: admin.clear(a["applicationId"])),
    "app_grant": _device(lambda admin, a: admin.permission("grant", a["applicationId"], a["permission"])),
    "app_revoke": _device(lambda admin, a: admin.permission("revoke", a["applicationId"], a["permission"])),
    "device_info": _device(lambda admin, _: admin.info()),
    "device_rotate": _device(lambda admin, a: admin.rotate(a["rotation"])),
    "device_wake": _device(lambda admin, _: admin.wake()),
    "device_logs": _device(
        lambda admin, a: admin.logs(lines=int(a.get("lines", catalogue.LOG_LINES)), package=a.get("applicationId", ""))
    ),
}
"""Verbs that are more than one action with their arguments as its parameters."""
