"""Verbs, such as tap or scroll, as steps: actions of the execution contract (execution.md#actions) as JSON data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from clawperator.engine.contracts.limits import EXPECTED_FORMAT, MAX_EXECUTION_TIMEOUT_MS
from clawperator.engine.executions.build import DEFAULT_TIMEOUT_MS, generated_id
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.verbs import catalogue

SOURCE = "clawperator-console"
"""The ``source`` of payloads from the console."""

_LEAST_MS = 10_000
_FURTHER_STEP_MS = 5_000


@dataclass(frozen=True, slots=True)
class Verb:
    """An operation of the user. ``needs`` are its required parameters, ``takes`` the optional ones.

    ``changes`` is false if the device stays the same: no confirmation is needed.
    """

    label: str
    type: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    changes: bool = True

    @property
    def of_node(self) -> bool:
        """Whether it acts on a node, which needs a matcher."""
        return bool({"matcher", "target"}.intersection(self.needs))


VERBS: Mapping[str, Verb] = {
    "tap": Verb("tap", "click", ("matcher",)),
    "long_press": Verb("long press", "click", ("matcher",), fixed={"clickType": "long_click"}),
    "focus": Verb("focus", "click", ("matcher",), fixed={"clickType": "focus"}),
    "read": Verb("read text", "read_text", ("matcher",)),
    "wait": Verb("wait for", "wait_for_node", ("matcher",)),
    "enter_text": Verb("enter text", "enter_text", ("matcher", "text"), ("submit",)),
    "scroll_to": Verb("scroll to and tap", "scroll_and_click", ("target",), ("container",), {"clickAfter": True}),
    "scroll_down": Verb("scroll down", "scroll", takes=("container",), fixed={"direction": "down"}),
    "scroll_up": Verb("scroll up", "scroll", takes=("container",), fixed={"direction": "up"}),
    "scroll_left": Verb("scroll left", "scroll", takes=("container",), fixed={"direction": "left"}),
    "scroll_right": Verb("scroll right", "scroll", takes=("container",), fixed={"direction": "right"}),
    "back": Verb("back", "press_key", fixed={"key": "back"}),
    "home": Verb("home", "press_key", fixed={"key": "home"}),
    "recents": Verb("recents", "press_key", fixed={"key": "recents"}),
    "open_app": Verb("open app", "open_app", ("applicationId",)),
    "open_uri": Verb("open URI", "open_uri", ("uri",)),
    "sleep": Verb("sleep", "sleep", ("durationMs",)),
    "snapshot": Verb("snapshot", "snapshot_ui", changes=False),
    "screenshot": Verb("screenshot", "take_screenshot", changes=False),
    "verify": Verb("verify", "wait_for_node", ("matcher",), fixed={"retry": {"maxAttempts": 1}}, changes=False),
}
"""Every verb by its id."""


def step(
    verb: str,
    *,
    matcher: Matcher | None = None,
    container: Matcher | None = None,
    text: str | None = None,
    submit: bool = False,
    application_id: str | None = None,
    uri: str | None = None,
    duration_ms: int | None = None,
) -> dict[str, Any]:
    """Return one action: ``{"id", "type", "params"?}``. Parameters that the verb does not take are ignored.

    Raises ``KeyError`` for an unknown verb and ``ValueError`` for a missing parameter; values are checked by ``validate``.
    """
    spec = VERBS[verb]
    found = matcher.to_dict() if matcher else None
    inside = matcher.container if matcher and spec.of_node else None
    container = inside or container
    given = {
        "matcher": found,
        "target": found,
        "container": container.to_dict() if container else None,
        "text": text,
        "submit": submit or None,
        "applicationId": application_id,
        "uri": uri,
        "durationMs": duration_ms,
    }
    missing = [name for name in spec.needs if given[name] is None]
    if missing:
        raise ValueError(f"{verb} needs {', '.join(missing)}")
    params = {
        name: given[name]
        for name in (*spec.needs, *spec.takes, *(("container",) if inside else ()))
        if given[name] is not None
    }
    params |= deepcopy(dict(spec.fixed))
    return {"id": verb, "type": spec.type} | ({"params": params} if params else {})


def execution(steps: Sequence[Mapping[str, Any]], *, name: str = "console") -> dict[str, Any]:
    """Return the payload that runs ``steps``, with an unpredictable command id; repeated step ids get a number."""
    command_id = generated_id(name)
    return {
        "commandId": command_id,
        "taskId": command_id,
        "source": SOURCE,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": budget_ms(steps),
        "actions": list(with_own_ids(steps)),
    }


def budget_ms(steps: Iterable[Mapping[str, Any]]) -> int:
    """Return the time limit for ``steps``: the longest one's, a bit more for each further step, and their sleeps."""
    steps = list(steps)
    longest = max((_limit_ms(step) for step in steps), default=0)
    more = _FURTHER_STEP_MS * max(0, len(steps) - 1) + sum(map(_waits_ms, steps))
    return min(max(longest, _LEAST_MS) + more, MAX_EXECUTION_TIMEOUT_MS)


def _limit_ms(step: Mapping[str, Any]) -> int:
    verb = catalogue.VERBS.get(str(step.get("type")))
    return (verb.limit_ms if verb else 0) or DEFAULT_TIMEOUT_MS


def with_own_ids(steps: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield copies of ``steps`` with unique ids: the second ``tap`` is ``tap-2``."""
    steps = list(steps)
    taken = {str(step.get("id")) for step in steps}
    seen: set[str] = set()
    for each in steps:
        copy = deepcopy(dict(each))
        name = str(copy.get("id"))
        if name in seen:
            copy["id"] = name = _free(name, taken)
            taken.add(name)
        seen.add(name)
        yield copy


def _free(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


_WAITS = {"open_app": ("navigationTimeoutMs",), "sleep": ("durationMs",), "observe_media": ("durationMs",)}
"""The parameters that say how long a step waits; ``waitTimeoutMs`` is one of any."""


def _waits_ms(step: Mapping[str, Any]) -> int:
    params = step.get("params")
    names = ("waitTimeoutMs", *_WAITS.get(str(step.get("type")), ()))
    asked = [params.get(name) for name in names] if isinstance(params, Mapping) else []
    return sum(max(0, each) for each in asked if isinstance(each, int))
