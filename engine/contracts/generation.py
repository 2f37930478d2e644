"""Which Operator generation supports which action and parameter (wire.md#payload-parsing-on-the-device).

An older Operator ignores a newer parameter and does not answer a newer action type, so both are refused before dispatch; gestures are
left to Android's ``input``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from clawperator.engine.contracts.actions import ACTIONS, HOST_CHOICES, Params
from clawperator.engine.contracts.execution import Action, Execution, is_reference
from clawperator.engine.contracts.limits import GESTURES
from clawperator.engine.contracts.matcher import RELATIONS, RELATIONS_SINCE, NodeMatcher
from clawperator.engine.contracts.values import SINCE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.verbs import FIRST_GENERATION
from clawperator.engine.verbs.catalogue import VALUES_SINCE, VERBS
from clawperator.engine.version import OPERATOR_RANGES, OPERATOR_RELEASES

_VERSION = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
_FIRST = (0, 3, 0)
POINTS_SINCE = "0.5"
"""The first Operator that clicks a point."""
_LIMITS = ("container", "strict")
_SEARCHING = ("scroll_until", "scroll_and_click")
"""What they look for is not on the screen yet, so that the host cannot choose it before."""
DRAG_SDK = 26
"""The first Android API level on which the app can drag."""


class Support(NamedTuple):
    """One row of the table: an action type, its command, the first Operator version with it, and later additions.

    ``later`` has the name of each later parameter (or parameter and value) with its first version.
    """

    action: str
    command: str
    since: str
    later: tuple[tuple[str, str], ...]

    def lacking(self, version: str) -> tuple[str, ...] | None:
        """The later parts that Operator ``version`` lacks; ``None`` where it lacks the whole action."""
        installed = _parsed(version) or _FIRST
        if installed < (_parsed(self.since) or _FIRST):
            return None
        return tuple(name for name, since in self.later if installed < (_parsed(since) or _FIRST))

    def words(self, generation: str) -> str:
        """Whether a supported generation has it: ``yes``, ``no``, ``by input``, or ``without coordinate``."""
        lacking = self.lacking(OPERATOR_RELEASES[generation])
        if lacking is None:
            return "by input" if self.action in GESTURES else "no"
        return f"without {', '.join(lacking)}" if lacking else "yes"

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON data."""
        answers = {generation: self.words(generation) for generation in OPERATOR_RELEASES}
        return {"action": self.action, "command": self.command, "since": self.since, "operator": answers}


def support_table() -> tuple[Support, ...]:
    """The row of every action type, in the order of the contract."""
    return tuple(
        Support(name, VERBS[name].command, spec.since, tuple(_later(name, spec))) for name, spec in ACTIONS.items()
    )


def _later(name: str, spec: type[Params]) -> Iterator[tuple[str, str]]:
    for field in spec.model_fields:
        if added := _field_since(spec, field):
            yield field, added
        for value, since in VALUES_SINCE.get((name, field), {}).items():
            yield field if value is True else f"{field} {value}", since


def lacking_words(version: str) -> str:
    """What Operator ``version`` lacks, by command: ``read-value, click (coordinate)``; empty where it lacks nothing."""
    found = [(row.command, row.lacking(version)) for row in support_table() if row.action not in GESTURES]
    whole = dict.fromkeys(command for command, lacking in found if lacking is None)
    parts = [f"{command} ({', '.join(lacking)})" for command, lacking in found if lacking]
    return ", ".join([*whole, *parts])


def requirement(since: str) -> str:
    """The text for a feature that an older Operator lacks, in refusals and help texts alike."""
    return f"requires Operator {since} or newer"


def require_generation(execution: Execution, apk_version: str) -> None:
    """Refuse what the installed Operator would not understand and the host cannot do in its place (``host_chooses``).

    An unreadable ``apk_version`` refuses nothing.

    Raises ``EXECUTION_ACTION_UNSUPPORTED`` with ``details.{path, actionId, actionType, requiresApk, apkVersion}``.
    """
    for index, action in enumerate(execution.actions):
        for path, what, since in _newer(action, apk_version) if action.type not in GESTURES else ():
            if not _is_choice(action, path):
                raise EngineError(
                    ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
                    f"{what} {requirement(since)}; {apk_version} is installed",
                    hint=f"Update the Operator app to {since} or newer.",
                    details={
                        "path": f"actions.{index}.{path}",
                        "actionId": action.id,
                        "actionType": action.type,
                        "requiresApk": since,
                        "apkVersion": apk_version,
                    },
                )


def by_input(execution: Execution, apk_version: str, sdk: int) -> tuple[Action, ...]:
    """The gestures that Operator ``apk_version`` cannot perform on Android API level ``sdk``; none if the version is unreadable."""
    gestures = (action for action in execution.actions if action.type in GESTURES)
    return tuple(
        action
        for action in gestures
        if not supports(apk_version, ACTIONS[action.type].since)
        or (action.type == "drag" and sdk < DRAG_SDK and _parsed(apk_version) is not None)
    )


def fits_every_generation(execution: Execution) -> bool:
    """Whether the oldest Operator supports all of ``execution``, so that the installed version does not matter."""
    return not any(host_chooses(action, None) or any(_needs(action)) for action in execution.actions)


def host_chooses(action: Action, apk_version: str | None) -> bool:
    """Whether the host chooses the nodes of ``action``: it is asked to, or the installed Operator cannot, and takes another one.

    ``None`` is no Operator: a device or backend that can choose.
    """
    if any(name in action.params for name in HOST_CHOICES) or any(map(is_reference, action.params.values())):
        return True
    return any(_is_choice(action, path) for path, _, _ in _newer(action, apk_version))


def supports(apk_version: str | None, since: str) -> bool:
    """Whether an installed Operator has what came in version ``since``; one whose version is unknown has everything."""
    installed = None if apk_version is None else _parsed(apk_version)
    return installed is None or installed >= (_parsed(since) or _FIRST)


def _newer(action: Action, apk_version: str | None) -> Iterator[tuple[str, str, str]]:
    """The parts of ``action`` (``_needs``) that the installed Operator lacks."""
    return (need for need in _needs(action) if not supports(apk_version, need[2]))


def _is_choice(action: Action, path: str) -> bool:
    """Whether the part of ``action`` at ``path`` only limits the nodes that it may take, so that the host can choose instead."""
    *_, name, part = ("", *path.split("."))
    if part in RELATIONS:
        return name == "container" or action.type not in _SEARCHING
    return part in _LIMITS


def _needs(action: Action) -> Iterator[tuple[str, str, str]]:
    """Path below the action, description and version of everything in ``action`` newer than the first generation."""
    spec = ACTIONS.get(action.type)
    if spec is None:
        return
    if spec.since != FIRST_GENERATION:
        yield "type", action.type, spec.since
    for name, value in action.params.items():
        if name not in spec.model_fields:
            continue
        if added := _field_since(spec, name):
            yield f"params.{name}", f"{action.type} params.{name}", added
        if spec.model_fields[name].annotation is NodeMatcher:
            for relation in (relation for relation in RELATIONS if relation in value):
                yield f"params.{name}.{relation}", f"{action.type} params.{name}.{relation}", RELATIONS_SINCE
        if since := VALUES_SINCE.get((action.type, name), {}).get(value if isinstance(value, str | bool) else ""):
            yield f"params.{name}", f"{action.type} params.{name} {json.dumps(value)}", since


def _field_since(spec: type[Params], name: str) -> str:
    """The first Operator version with a parameter; empty where it is as old as its action."""
    extra = spec.model_fields[name].json_schema_extra
    return str(extra[SINCE]) if isinstance(extra, dict) and SINCE in extra else ""


def is_newer(apk_version: str) -> bool:
    """Whether an app is newer than all supported ones, so that what it does is not known."""
    installed = _parsed(apk_version)
    return installed is not None and installed[:2] > OPERATOR_RANGES[-1][1]


def _parsed(version: str) -> tuple[int, int, int] | None:
    found = _VERSION.match(version.strip())
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
