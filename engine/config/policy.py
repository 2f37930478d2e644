"""The rules of policy profiles, and the errors for what they do not allow (policy.md#capabilities). Pure.

Without a policy file everything except ``purchase_risk`` is allowed. An unreadable or invalid file allows nothing. The values are
named tuples because they load fast.
"""

# Without ``from __future__ import annotations``: named tuples would compile each string annotation again.

from collections.abc import Iterable, Iterator, Mapping
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.limits import GESTURES
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Action, Execution

CAPABILITIES = (
    "observe",
    "navigate",
    "click",
    "long_click",
    "type_text",
    "toggle",
    "purchase_risk",
    "input",
    "app",
    "record",
    "run_skill",
    "manage_emulators",
    "setup_operator",
    "write_files",
    "stock_backend",
)
"""Operations on a device or this computer need one of these (policy.md#capabilities).

``observe`` is reading screens, devices, emulators, locks, the log and the history. ``toggle`` and ``purchase_risk`` are declared by recipes only. ``input`` is pressing keys and everything that goes through Android's
``input``, ``app`` installing, removing, stopping and configuring apps outside of an execution, ``setup_operator`` the Operator app, the adb server and its connections, ``write_files`` files that a caller names,
``stock_backend`` executions without the Operator app.
"""
OBSERVE = "observe"
PURCHASE_RISK = "purchase_risk"
WRITE_FILES = "write_files"
SETUP_OPERATOR = "setup_operator"
STOCK_BACKEND = "stock_backend"
HARMLESS = (OBSERVE, WRITE_FILES, STOCK_BACKEND)
"""Allowed in a read-only session."""
ANY = "*"

_OF_SESSION = ("get_media_status", "media_pause", "media_play", "media_seek")
_WITH_PACKAGE = ("open_app", "close_app", "list_notifications", "list_media_sessions", *_OF_SESSION)
_CLICKS_AFTER = {"scroll_and_click": True, "scroll_until": False}
"""Actions that can click the node they find, and the default of ``clickAfter``."""
LONG_CLICK_MS = 400
"""Android's shortest delay before a touch that is held becomes a long click."""
_HELD_MS = {"input_long_press": 800, "input_swipe": 300, "input_drag": 1_000}
"""The default durations."""
_SLOP = 40.0
"""The touch slop, within which a moving finger still clicks, is 8 dp: here in pixels of the finest screens (800 dpi), because
the policy is asked before any device is."""
_SHORT_SCROLL = 0.1
"""Up to this share a scroll's swipe, two fifths of it long, can stay within the touch slop of a container of 200 dp."""
_PING = "doctor_ping"
"""The doctor's handshake, which has no effect."""
_MOST = 1e9
"""Larger coordinates and times are as good as this one."""


def capabilities_of(action_type: str, params: Mapping[str, Any]) -> frozenset[str]:
    """Return the capabilities that an action of the canonical ``action_type`` needs."""
    from clawperator.engine.verbs.catalogue import VERBS

    verb = VERBS.get(action_type)
    found = set(verb.needs if verb else ())
    if "input" in found:
        found |= set(_by_input(action_type, params))
    if action_type in GESTURES:
        found |= set(_by_gesture(action_type, params))
    if action_type == "click" or (
        action_type in _CLICKS_AFTER and params.get("clickAfter", _CLICKS_AFTER[action_type])
    ):
        kind = params.get("clickType")
        is_long = isinstance(kind, str) and kind.strip().lower() in ("long_click", "longclick")
        found.add("long_click" if is_long else "click")
    if action_type == "enter_text" and params.get("submit"):
        found.add("click")  # of the field, once more
    if action_type.startswith("scroll") and _number(params.get("distanceRatio"), 1) <= _SHORT_SCROLL:
        found.add("click")
    if action_type == "take_screenshot" and params.get("path"):
        found.add(WRITE_FILES)
    return frozenset(found)


def _by_input(action_type: str, params: Mapping[str, Any]) -> Iterable[str]:
    """Return the capabilities of what a key or a gesture does on the device (policy.md#capabilities)."""
    if action_type in ("press_key", "input_key"):
        from clawperator.engine.contracts.keys import key_code, key_effects

        key = str(params.get("key", ""))
        return key_effects(key_code(key)) if action_type == "input_key" else ("navigate",)
    held_ms = _number(params.get("durationMs"), _HELD_MS.get(action_type, 0))
    match action_type:
        case "input_text":
            return ("type_text",)
        case "input_long_press":
            return ("click" if held_ms < LONG_CLICK_MS else "long_click",)
        case "input_drag":  # it holds first; what does not take the long click scrolls
            return ("long_click", *_by_swipe(_point(params.get("at")), _point(params.get("to")), held_ms))
        case "input_swipe":
            return _by_swipe(_point(params.get("at")), _point(params.get("to")), held_ms)
    return ("click",)


def _by_gesture(action_type: str, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the capabilities of a gesture in a plan. A drag holds first, at least as long as a long click where ``input`` does it."""
    start, end = (_point(params.get(name)) for name in ("start", "end"))
    if action_type == "drag":
        yield "long_click"
    yield from _by_swipe(
        start, end, _number(params.get("durationMs" if action_type == "swipe" else "moveDurationMs"), 0)
    )


def _point(value: Any) -> tuple[float, float] | None:
    """Return the point of a plan or of a gesture through ``input``; ``None`` where there is none. A template's may be anything."""
    if isinstance(value, dict):
        value = value.get("x"), value.get("y")
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    return _number(value[0], 0), _number(value[1], 0)


def _by_swipe(start: tuple[float, float] | None, end: tuple[float, float] | None, held_ms: float) -> Iterable[str]:
    """Return the capabilities of a swipe; of one whose start is a node, without those of a click that it may turn out to be."""
    if not start or not end:
        return ("navigate",)
    length = hypot(end[0] - start[0], end[1] - start[1])
    rests_ms = held_ms * min(1.0, _SLOP / max(length, 1.0))
    if rests_ms >= LONG_CLICK_MS:
        return ("navigate", "long_click")
    return ("navigate", "click") if length <= _SLOP else ("navigate",)


def _number(value: Any, default: float) -> float:
    """Return a number that can be calculated with, or ``default``: integers of JSON may be larger than any float."""
    return max(-_MOST, min(value, _MOST)) if isinstance(value, int | float) else default


def packages_of(action: "Action") -> tuple[str, ...]:
    """Return the applications that ``action`` starts, stops, reads or controls; ``*`` for one that it does not name."""
    return tuple(_packages(action).values())


def _packages(action: "Action") -> Mapping[str, str]:
    """Return the applications that ``action`` starts, stops, reads or controls, by parameter; ``*`` is one that it does not name.

    The key of a notification has the package as its second part (Android's ``StatusBarNotification.getKey``).
    """
    params, kind = action.params, action.type
    if "notificationKey" in params and kind in ("dismiss_notification", "invoke_notification_action"):
        return {"notificationKey": [*str(params["notificationKey"]).split("|"), "", ANY][1] or ANY}
    if kind in _WITH_PACKAGE and isinstance(package := params.get("applicationId"), str):
        return {"applicationId": package}
    return {name: ANY for name in ("mediaSessionId",) if kind in _OF_SESSION and name in params}


class Rules(NamedTuple):
    """Allowed and denied names; ``deny`` takes precedence. ``*`` and ``prefix.*`` match several names."""

    allow: tuple[str, ...] = (ANY,)
    deny: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        return _fits(name, self.allow) and not _fits(name, self.deny)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(
        pattern in (ANY, name) or (pattern.endswith(".*") and name.startswith(pattern[:-1])) for pattern in patterns
    )


_USUAL = Rules(allow=tuple(name for name in CAPABILITIES if name != PURCHASE_RISK), deny=(PURCHASE_RISK,))


class Profile(NamedTuple):
    """One profile of a policy. ``path`` is its file, empty for the built-in one.

    ``read_only``: only actions that do not change a device. ``handed_down``: bounded by the profile of a script's caller.
    """

    name: str = "default"
    capabilities: Rules = _USUAL
    packages: Rules = Rules()
    actions: Rules = Rules()
    read_only: bool = False
    path: str = ""
    handed_down: bool = False

    def allows_capability(self, name: str) -> bool:
        return self.capabilities.allows(name)

    def allows_package(self, name: str) -> bool:
        """Return whether an application is allowed; ``*``, which may be any, only where all are."""
        return self.packages.allows(name) and (name != ANY or not self.packages.deny)

    def allows_action(self, action_type: str) -> bool:
        return self.actions.allows(action_type)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data with the names of the policy file."""
        rules = {"capabilities": self.capabilities, "packages": self.packages, "actions": self.actions}
        return {
            "name": self.name,
            "read_only": self.read_only,
            **{name: {"allow": list(rule.allow), "deny": list(rule.deny)} for name, rule in rules.items()},
        }


DEFAULT = Profile()


class Policy(NamedTuple):
    """Profiles by name, and the name of the active one."""

    active: str
    profiles: Mapping[str, Profile]
    path: str = ""

    def profile(self, name: str = "") -> Profile:
        """Return the profile ``name``, or the active one. Raises ``EngineError`` (USAGE) for an unknown one."""
        found = self.profiles.get(name or self.active)
        if found is None:
            known = f"Known: {', '.join(list(self.profiles)[:20])}."
            where = f"Policy file {self.path}" if self.path else "There is no policy file that"
            raise EngineError(
                ErrorCode.USAGE,
                f"{where} has {'no' if self.path else 'a'} profile '{name}'",
                hint=known,
                details={"policy": self.path, "profile": name},
            )
        return found


BUILT_IN = Policy(DEFAULT.name, {DEFAULT.name: DEFAULT})


# -- refusals


def admit(profile: Profile, execution: "Execution") -> None:
    """Raise ``EngineError`` for the first action that ``profile`` does not allow.

    READ_ONLY, ACTION_DENIED, CAPABILITY_DENIED or PACKAGE_DENIED, with ``details.{capability|package|action, profile,
    actionId, actionType, path}``, where ``path`` leads into the payload.
    """
    for refusal in refusals(profile, execution):
        raise refusal


def admit_action(profile: Profile, action: "Action") -> None:
    """Raise as ``admit`` for one action of a composition."""
    for refusal in action_refusals(profile, action):
        raise refusal


def refusals(profile: Profile, execution: "Execution") -> Iterator[EngineError]:
    """Yield every refusal, in the order of the actions."""
    for index, action in enumerate(execution.actions):
        yield from action_refusals(profile, action, f"actions.{index}")


def action_refusals(profile: Profile, action: "Action", path: str = "") -> Iterator[EngineError]:
    """Yield why ``profile`` does not allow ``action`` at ``path`` of a payload."""
    if action.type == _PING:
        return
    subject = Subject(profile, path, action.id, action.type)
    if profile.read_only:
        from clawperator.engine.contracts.read_only import OBSERVING

        if action.type not in OBSERVING:
            would_act = f"{action.type} would change the device"
            yield subject.read_only(would_act, action=action.type, observing=sorted(OBSERVING - {_PING}))
    if not profile.allows_action(action.type):
        yield subject.denied(ErrorCode.ACTION_DENIED, "action", action.type, "type")
    for capability in sorted(capabilities_of(action.type, action.params)):
        if not profile.allows_capability(capability):
            yield subject.denied(ErrorCode.CAPABILITY_DENIED, "capability", capability, "type")
    for name, package in _packages(action).items():
        if not profile.allows_package(package):
            yield subject.denied(ErrorCode.PACKAGE_DENIED, "package", package, f"params.{name}")


def admit_recipe(
    profile: Profile,
    *,
    capabilities: Iterable[str],
    application_id: str,
    risk_level: str = "",
    recipe_id: str = "",
) -> None:
    """Raise CAPABILITY_DENIED or PACKAGE_DENIED for a recipe's declared ``capabilities`` or its application, unless empty.

    The compiled actions are checked by ``admit``.
    """
    facts = {"recipeId": recipe_id, "riskLevel": risk_level}
    subject = Subject(profile, "", "", "", {name: value for name, value in facts.items() if value})
    for capability in capabilities:
        if not profile.allows_capability(capability):
            raise subject.denied(ErrorCode.CAPABILITY_DENIED, "capability", capability, "capabilities")
    if application_id and not profile.allows_package(application_id):
        raise subject.denied(ErrorCode.PACKAGE_DENIED, "package", application_id, "application_id")


class Subject(NamedTuple):
    """The subject of a refusal."""

    profile: Profile
    path: str
    action_id: str
    action_type: str
    facts: Mapping[str, str] = {}

    def denied(self, code: ErrorCode, kind: str, name: str, key: str) -> EngineError:
        from clawperator.engine.contracts.issues import shown

        table = {"capability": "capabilities", "package": "packages", "action": "actions"}[kind]
        return EngineError(
            code,
            f"The policy profile '{self.profile.name}' does not allow the {kind} {shown(name)}",
            hint=self._hint(f"[profiles.{self.profile.name}.{table}]"),
            details={kind: shown(name, 255), **self._details(key)},
        )

    def read_only(self, why: str, **facts: Any) -> EngineError:
        return EngineError(
            ErrorCode.READ_ONLY,
            f"The policy profile '{self.profile.name}' is read-only: {why}",
            hint=self._hint(f"[profiles.{self.profile.name}] read_only"),
            details={**facts, **self._details("type")},
        )

    def _hint(self, place: str) -> str:
        if self.profile.handed_down:
            return "A skill's script has its caller's profile and cannot widen it: change that, or the script."
        if self.profile.path:
            return f"{place} in {self.profile.path} applies; change it there, or change the plan."
        return "Without a policy file, purchase_risk is denied. Create one (clawperator policy show prints its path)."

    def _details(self, key: str) -> dict[str, Any]:
        details: dict[str, Any] = {"profile": self.profile.name}
        if self.action_type:
            details |= {"actionId": self.action_id, "actionType": self.action_type}
        details["path"] = f"{self.path}.{key}" if self.path else key
        if self.profile.path:
            details["policy"] = self.profile.path
        return {**details, **self.facts}
