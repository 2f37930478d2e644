"""The verbs of servers: what each takes as JSON, and the execution, composition or device command that it makes."""

# ruff: noqa: N815 - fields are named as JSON names them

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, create_model

from clawperator.engine.contracts.actions import ACTIONS, ExactParams
from clawperator.engine.contracts.aliases import ALIASES, canonical, spelled
from clawperator.engine.contracts.issues import joined, shown, suggestion
from clawperator.engine.contracts.limits import MAX_EXECUTION_TIMEOUT_MS, MAX_SHOWN_TEXT_LENGTH
from clawperator.engine.contracts.matcher import NodeMatcher
from clawperator.engine.contracts.strict import Strict
from clawperator.engine.contracts.values import (
    ClickType,
    Coordinate,
    Direction,
    Path,
    Text,
    Units,
    Uri,
    Whole,
    optional,
)
from clawperator.engine.device_admin import MAX_LINES, DeviceAdmin
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build, opening, shell_input, verbs
from clawperator.engine.executions.argument_names import in_arguments
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.matcher_check import checked_fields

Arguments = Mapping[str, Any]
Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """A command about an app or the device, which is no execution: it has no envelope, and no screen after it."""

    run: Callable[[DeviceAdmin], Awaitable[dict[str, Any]]]


Made = Payload | Composition | DeviceCommand


class Verb(NamedTuple):
    """What makes a verb, and its arguments: required, optional, and a group of which one is required."""

    make: Callable[[Arguments], Made]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.required, *self.one_of, *self.optional)


class _Arguments(Strict):
    """The arguments of all verbs. The engine checks matchers."""

    selector: dict[str, Any] = optional("The node: a matcher.")
    container: dict[str, Any] = optional("The node to scroll or look in: a matcher.")
    strict: bool = optional("Fail if several nodes match.")
    nth: Whole = optional("Take the match at this position, from 0.", ge=0, le=1_000_000)
    within: dict[str, Any] = optional("Take a match inside this node, else in its row of a list: a matcher.")
    point: Coordinate = optional("A point of the screen instead of a node.")
    to: Coordinate = optional("Where a swipe or drag ends.")
    clickType: ClickType = optional("How to click.")
    applicationId: Text = optional("The package name of an app; for open_app, also its label.")
    uri: Uri = optional("The URI to open.")
    text: Annotated[str, Units(MAX_SHOWN_TEXT_LENGTH)] = optional("The text to type or to show.")
    key: Annotated[str, Field(max_length=64)] = optional("back, home or recents; for input_key, any key code.")
    checked: bool = optional("The wanted state.")
    fields: Annotated[dict[str, Text], Field(min_length=1)] = optional("The fields of a row: name to resource id.")
    all: bool = optional("Read all matching nodes.")
    direction: Direction = optional("The scroll direction.")
    durationMs: Whole = optional("Duration of a sleep or gesture.", ge=0, le=MAX_EXECUTION_TIMEOUT_MS - build.SPARE_MS)
    timeoutMs: Whole = optional("Maximum time to wait or scroll.", ge=1, le=MAX_EXECUTION_TIMEOUT_MS)
    apk: Path = optional("The path of an APK file on the server.")
    permission: Text = optional("The name of a permission.")
    keepData: bool = optional("Keep the data of an app that is uninstalled.")
    rotation: Literal["0", "90", "180", "270", "auto"] = optional("Degrees, or auto.")
    display: Whole = optional("The id of a display in device_info; other displays than 0 take no selector.", ge=0)
    lines: Whole = optional("Maximum number of log lines; default 200.", ge=1, le=MAX_LINES)
    skipNavigationWait: bool = optional("Do not wait until the app is in front.")
    navigationTimeoutMs: Whole = optional("Maximum wait for the app.", ge=1_000, le=MAX_EXECUTION_TIMEOUT_MS)
    clear: bool = optional("Empty the field first.")


PLAN_VERBS: Mapping[str, type[ExactParams]] = {
    name: spec for name, spec in ACTIONS.items() if issubclass(spec, ExactParams)
}
"""Verbs whose arguments are the parameters of their action, some under the names of the other verbs."""
_FACE_NAMES = {"matcher": "selector", "start": "point", "end": "to"}
_OWN_ARGUMENTS: dict[str, Any] = {
    name: (field.rebuild_annotation(), optional(str(field.description)))
    for spec in PLAN_VERBS.values()
    for name, field in spec.model_fields.items()
    if name not in _FACE_NAMES and name not in _Arguments.model_fields
}
VerbArguments: type[_Arguments] = create_model(
    "VerbArguments", __base__=_Arguments, __doc__=_Arguments.__doc__, **_OWN_ARGUMENTS
)


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
    takes = f"It takes {', '.join(verb.all) or 'no arguments'}."
    for argument in given:
        if argument not in verb.all:
            hint = misplaced(argument) if "selector" in verb.all else ""
            raise invalid(argument, f"{name} takes no '{argument}'", hint or takes)
    for argument in verb.required:
        if argument not in given:
            raise invalid(argument, f"{name} needs '{argument}'", takes)
    if verb.one_of and not any(argument in given for argument in verb.one_of):
        raise invalid(verb.one_of[0], f"{name} needs '{verb.one_of[0]}' or '{verb.one_of[1]}'")
    for matcher in ("selector", "container", "within"):  # the engine would name the parameter of its action
        if matcher in given:
            checked_fields(given[matcher], matcher)
    built = verb.make(given)
    if isinstance(built, Composition):
        return replace(built, source=source)
    return built if isinstance(built, DeviceCommand) else {**built, "source": source}


_ARGUMENTS = {
    "matcher": "selector",
    "target": "selector",
    "expectedNode": "selector",
    "labelMatcher": "selector",
    "expectedPackage": "applicationId",
    "package": "applicationId",
    "coordinate": "point",
    "maxDurationMs": "timeoutMs",
}
"""Parameters of payloads whose arguments have another name."""


@contextmanager
def in_words_of(name: str, given: Arguments) -> Iterator[None]:
    """Let errors about what the verb ``name`` made of its arguments name the arguments."""

    def argument(parameter: str, rest: str) -> tuple[str, str]:
        known = _ARGUMENTS.get(parameter, parameter)
        return (known, rest) if known in given else ("", "")

    try:
        yield
    except EngineError as exc:
        raise in_arguments(exc, argument, name, hint=exc.code.hint) from exc


_MEANT = {
    "app_current": "device_info",
    "app_launch": "open_app",
    "app_start": "open_app",
    "app_stop": "close_app",
    "close": "close_app",
    "device_size": "device_info",
    "open": "open_app",
    "query": "query_ui",
    "toast": "show_toast",
    "type": "enter_text",
    "wait": "wait_for_node",
}
"""What the command line and other tools call a verb → its name here."""


def meant_verb(name: str, known: Iterable[str]) -> str:
    """Return a hint for a name that is none of ``known``; empty if none is near."""
    if name in PLAN_VERBS:
        return "It is an action of the tool `execute`."
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
                f"{spelled(name)} is no action of a plan",
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


def _scrolling(given: Arguments, **more: Any) -> Payload:
    scroll = {name: given.get(name) for name in _SCROLL}
    return {name: value for name, value in {**scroll, **more}.items() if value is not None}


def _limits(given: Arguments) -> build.Limits:
    return {name: given.get(name) for name in _LIMITS}


def _press_key(given: Arguments) -> Payload:
    if given["key"] not in ("back", "home", "recents"):
        raise invalid("key", "press_key takes back, home or recents", "Use input_key for other keys.")
    return build.press_key(given["key"])


def _gesture(kind: str, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> Verb:
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
            limits=_limits(a),
        )

    return Verb(make, required, (*optional, "display", *_LIMITS), one_of=("selector", "point"))


def _of_action(name: str) -> Verb:
    """Return the verb of an action by its parameters."""
    spec = PLAN_VERBS[name]
    wire = {_FACE_NAMES.get(field, field): field for field in spec.model_fields}
    required = {face for face, field in wire.items() if spec.model_fields[field].is_required()}
    return Verb(
        lambda a: build.action(name, {field: a[face] for face, field in wire.items() if face in a}),
        tuple(face for face in wire if face in required),
        tuple(face for face in wire if face not in required and face not in spec.one_of),
        one_of=spec.one_of,
    )


def _device(
    run: Callable[[DeviceAdmin, Arguments], Awaitable[dict[str, Any]]],
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> Verb:
    return Verb(lambda a: DeviceCommand(lambda admin: run(admin, a)), required, optional)


_SCROLL = ("direction", "container", "strict")
_LIMITS = ("container", "strict", "nth", "within")
VERBS: Mapping[str, Verb] = {
    "open_app": Verb(
        lambda a: opening.open_app_or_name(
            a["applicationId"],
            skip_navigation_wait=a.get("skipNavigationWait"),
            navigation_timeout_ms=a.get("navigationTimeoutMs"),
        ),
        ("applicationId",),
        ("skipNavigationWait", "navigationTimeoutMs"),
    ),
    "open_uri": Verb(lambda a: build.open_uri(a["uri"]), ("uri",)),
    "close_app": Verb(lambda a: build.close_app(a["applicationId"]), ("applicationId",)),
    "click": Verb(
        lambda a: build.click(
            a.get("selector"), point=a.get("point"), click_type=a.get("clickType"), limits=_limits(a)
        ),
        one_of=("selector", "point"),
        optional=("clickType", *_LIMITS),
    ),
    "enter_text": Verb(
        lambda a: build.enter_text(a["selector"], a["text"], clear=a.get("clear", False), limits=_limits(a)),
        ("selector", "text"),
        ("clear", *_LIMITS),
    ),
    "press_key": Verb(_press_key, ("key",)),
    "read_text": Verb(
        lambda a: build.read_text(a["selector"], every=a.get("all", False), limits=_limits(a)),
        ("selector",),
        ("all", *_LIMITS),
    ),
    "read_key_value_pair": Verb(lambda a: build.read_value(a["selector"]), ("selector",)),
    "scroll": Verb(lambda a: build.scroll(_scrolling(a)), optional=_SCROLL),
    "scroll_until": Verb(
        lambda a: build.scroll_until(_scrolling(a, matcher=a.get("selector"), maxDurationMs=a.get("timeoutMs"))),
        optional=("selector", *_SCROLL, "timeoutMs"),
    ),
    "scroll_and_click": Verb(
        lambda a: build.scroll_and_click(_scrolling(a, target=a["selector"], clickType=a.get("clickType"))),
        ("selector",),
        (*_SCROLL, "clickType"),
    ),
    "wait_for_node": Verb(
        lambda a: build.wait_for_node(a["selector"], wait_ms=a.get("timeoutMs"), limits=_limits(a)),
        ("selector",),
        ("timeoutMs", *_LIMITS),
    ),
    "wait_for_navigation": Verb(
        lambda a: build.wait_for_navigation(a["timeoutMs"], package=a.get("applicationId"), node=a.get("selector")),
        ("timeoutMs",),
        one_of=("applicationId", "selector"),
    ),
    "sleep": Verb(lambda a: build.sleep(int(a["durationMs"])), ("durationMs",)),
    "set_checked": Verb(lambda a: verbs.set_checked(a["selector"], checked=a["checked"]), ("selector", "checked")),
    "set_text": Verb(lambda a: verbs.set_text(a["selector"], a["text"]), ("selector", "text")),
    "submit": Verb(lambda a: verbs.submit(a.get("selector"), text=a.get("text")), optional=("selector", "text")),
    "read_rows": Verb(lambda a: verbs.read_rows(a["container"], a["fields"]), ("container", "fields")),
    "wait_gone": Verb(
        lambda a: verbs.wait_gone(a["selector"], wait_ms=a.get("timeoutMs")), ("selector",), ("timeoutMs",)
    ),
    "wait_text_changes": Verb(
        lambda a: verbs.wait_text_changes(a["selector"], wait_ms=a.get("timeoutMs")), ("selector",), ("timeoutMs",)
    ),
    "wait_app": Verb(
        lambda a: verbs.wait_app(a["applicationId"], wait_ms=a.get("timeoutMs")), ("applicationId",), ("timeoutMs",)
    ),
    "input_key": Verb(lambda a: shell_input.key(a["key"], display=int(a.get("display", 0))), ("key",), ("display",)),
    "input_text": Verb(
        lambda a: shell_input.text(a["text"], display=int(a.get("display", 0))), ("text",), ("display",)
    ),
    "input_tap": _gesture("tap"),
    "input_long_press": _gesture("long_press", optional=("durationMs",)),
    "input_swipe": _gesture("swipe", ("to",), ("durationMs",)),
    "input_drag": _gesture("drag", ("to",), ("durationMs",)),
    **{name: _of_action(name) for name in PLAN_VERBS},
    "app_install": _device(lambda admin, a: admin.install(a["apk"]), ("apk",)),
    "app_uninstall": _device(
        lambda admin, a: admin.uninstall(a["applicationId"], keep_data=a.get("keepData", False)),
        ("applicationId",),
        ("keepData",),
    ),
    "app_clear": _device(lambda admin, a: admin.clear(a["applicationId"]), ("applicationId",)),
    "app_grant": _device(
        lambda admin, a: admin.permission("grant", a["applicationId"], a["permission"]),
        ("applicationId", "permission"),
    ),
    "app_revoke": _device(
        lambda admin, a: admin.permission("revoke", a["applicationId"], a["permission"]),
        ("applicationId", "permission"),
    ),
    "device_info": _device(lambda admin, _: admin.info()),
    "device_rotate": _device(lambda admin, a: admin.rotate(a["rotation"]), ("rotation",)),
    "device_wake": _device(lambda admin, _: admin.wake()),
    "device_logs": _device(
        lambda admin, a: admin.logs(lines=int(a.get("lines", 200)), package=a.get("applicationId", "")),
        optional=("lines", "applicationId"),
    ),
}
"""By name. ``device_info`` includes the app in front, the size of the screen, and how to unlock it."""
