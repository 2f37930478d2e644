"""What may be done at all: the policy's profile, and the refusal of what it does not allow (policy.md#capabilities).

Without a policy file everything is allowed but ``purchase_risk``. A file that cannot be read or has a mistake allows nothing.
Nothing but a look whether there is a file happens here; reading one is the work of ``policy_file.py``. The values are tuples
with names because every execution waits for this module to load.
"""

# Annotations are no strings here: a named tuple would have to compile every one again, which a command would notice.

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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
)
"""Everything that acts on a device or on this computer needs one of these (policy.md#capabilities).

``toggle`` and ``purchase_risk`` cannot be seen in an action: only recipes declare them. ``input`` is pressing keys, ``app``
stopping an app outside of an execution, ``setup_operator`` the Operator app, the adb server and its connections to devices,
``write_files`` writing where a caller says.
"""
PURCHASE_RISK = "purchase_risk"
WRITE_FILES = "write_files"
SETUP_OPERATOR = "setup_operator"
HARMLESS = ("observe", WRITE_FILES)
"""What a read-only session may do: it leaves the device and the programs of this computer as they are."""
ANY = "*"
CALLER_PROFILE = "CLAWPERATOR_CALLER_PROFILE"
"""The variable with the profile of the caller of a skill's script (``active_profile.py``)."""

_IMPLIED = {
    "snapshot_ui": "observe",
    "read_text": "observe",
    "wait_for_node": "observe",
    "read_key_value_pair": "observe",
    "take_screenshot": "observe",
    "start_recording": "record",
    "stop_recording": "record",
    "open_app": "navigate",
    "close_app": "navigate",
    "open_uri": "navigate",
    "press_key": "input",
    "scroll": "navigate",
    "scroll_until": "navigate",
    "scroll_and_click": "navigate",
    "wait_for_navigation": "navigate",
    "enter_text": "type_text",
}
_CLICKS_AFTER = {"scroll_and_click": True, "scroll_until": False}
"""Actions that may click what they found, and whether they do where ``clickAfter`` is absent."""
_PING = "doctor_ping"
"""The doctor's own handshake: it reads nothing and touches nothing."""


def capabilities_of(action_type: str, params: Mapping[str, Any]) -> frozenset[str]:
    """The capabilities that an action of the canonical ``action_type`` needs; none for one that only waits."""
    found = {_IMPLIED[action_type]} if action_type in _IMPLIED else set()
    if action_type == "click" or (
        action_type in _CLICKS_AFTER and params.get("clickAfter", _CLICKS_AFTER[action_type])
    ):
        kind = params.get("clickType")
        is_long = isinstance(kind, str) and kind.strip().lower() in ("long_click", "longclick")
        found.add("long_click" if is_long else "click")
    if action_type == "take_screenshot" and params.get("path"):
        found.add(WRITE_FILES)
    return frozenset(found)


def packages_of(action: "Action") -> tuple[str, ...]:
    """The applications that ``action`` itself names to start or to stop."""
    package = action.params.get("applicationId") if action.type in ("open_app", "close_app") else None
    return (package,) if isinstance(package, str) else ()


class Rules(NamedTuple):
    """Names that are allowed, and names that are not whatever ``allow`` says; ``*`` and ``prefix.*`` stand for many."""

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
    """One profile of a policy. ``path`` is the file in which it stands, empty for the one that holds without a file.

    ``read_only``: only actions that leave a device as it is. ``handed_down``: it is bounded by that of the caller of a script.
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
        return self.packages.allows(name)

    def allows_action(self, action_type: str) -> bool:
        return self.actions.allows(action_type)

    def to_dict(self) -> dict[str, Any]:
        """JSON data under the names of the policy file."""
        rules = {"capabilities": self.capabilities, "packages": self.packages, "actions": self.actions}
        return {
            "name": self.name,
            "read_only": self.read_only,
            **{name: {"allow": list(rule.allow), "deny": list(rule.deny)} for name, rule in rules.items()},
        }


DEFAULT = Profile()


class Policy(NamedTuple):
    """Profiles by their names, and which of them holds where nobody is bound to another one."""

    active: str
    profiles: Mapping[str, Profile]
    path: str = ""

    def profile(self, name: str = "") -> Profile:
        """The profile called ``name``, or the active one. Raises ``EngineError`` (USAGE) for one that is not there."""
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


# -- what it refuses


def admit(profile: Profile, execution: "Execution") -> None:
    """Raises ``EngineError`` for the first action that ``profile`` does not allow; touches nothing.

    READ_ONLY, ACTION_DENIED, CAPABILITY_DENIED or PACKAGE_DENIED, with ``details.{capability|package|action, profile,
    actionId, actionType, path}``, where ``path`` leads into the payload.
    """
    for refusal in refusals(profile, execution):
        raise refusal


def refusals(profile: Profile, execution: "Execution") -> Iterator[EngineError]:
    """Everything that ``admit`` could raise, in the order of the actions."""
    for index, action in enumerate(execution.actions):
        yield from action_refusals(profile, action, f"actions.{index}")


def action_refusals(profile: Profile, action: "Action", path: str = "") -> Iterator[EngineError]:
    """Why ``profile`` does not allow ``action``, which stands at ``path`` of a payload: nothing where it does."""
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
    for package in packages_of(action):
        if not profile.allows_package(package):
            yield subject.denied(ErrorCode.PACKAGE_DENIED, "package", package, "params.applicationId")


def admit_recipe(
    profile: Profile,
    *,
    capabilities: Iterable[str],
    application_id: str,
    risk_level: str = "",
    recipe_id: str = "",
) -> None:
    """Raises ``EngineError`` for the first of a recipe's declared ``capabilities``, or its application, that is not allowed.
    An empty ``application_id`` is not checked.

    CAPABILITY_DENIED or PACKAGE_DENIED, as ``admit``; what the steps come to is still to be admitted.
    """
    facts = {"recipeId": recipe_id, "riskLevel": risk_level}
    subject = Subject(profile, "", "", "", {name: value for name, value in facts.items() if value})
    for capability in capabilities:
        if not profile.allows_capability(capability):
            raise subject.denied(ErrorCode.CAPABILITY_DENIED, "capability", capability, "capabilities")
    if application_id and not profile.allows_package(application_id):
        raise subject.denied(ErrorCode.PACKAGE_DENIED, "package", application_id, "application_id")


class Subject(NamedTuple):
    """Of whom or what a refusal speaks."""

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
            return f"{place} in {self.profile.path} decides; change it there, or the plan."
        return "Without a policy file, purchase_risk is denied. Create one (clawperator policy show prints its path)."

    def _details(self, key: str) -> dict[str, Any]:
        details: dict[str, Any] = {"profile": self.profile.name}
        if self.action_type:
            details |= {"actionId": self.action_id, "actionType": self.action_type}
        details["path"] = f"{self.path}.{key}" if self.path else key
        if self.profile.path:
            details["policy"] = self.profile.path
        return {**details, **self.facts}
