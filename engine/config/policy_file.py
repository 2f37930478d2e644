"""The policy file (policy.md#capabilities): its models, from which the JSON Schema is generated, and its problems with their lines.

An invalid file never gives a profile: nothing may be allowed by mistake.
"""

# Without ``from __future__ import annotations``: pydantic would evaluate each string annotation again.

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NoReturn

from pydantic import Field
from pydantic_core import ErrorDetails

from clawperator.engine.config.policy import ANY, CAPABILITIES, PURCHASE_RISK, Policy, Profile, Rules, capabilities_of
from clawperator.engine.config.toml_lines import Problem, TomlTable, lines_of, read_text, validated
from clawperator.engine.contracts.actions import ACTIONS, INPUT_ACTIONS
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.contracts.strict import OneOf
from clawperator.engine.errors import EngineError, ErrorCode

_MOST = 1_000
_NOTHING_ALLOWED = "Everything is denied until this is corrected (clawperator policy check lists every error)."

_NAME = r"^[A-Za-z0-9_-]{1,64}$"
_PATTERN = rf"^(\*|{PACKAGE.strip('^$')}(\.\*)?)$"
_USUAL = [name for name in CAPABILITIES if name != PURCHASE_RISK]


Capability = Annotated[str, OneOf(CAPABILITIES)]
ActionName = Annotated[str, OneOf((ANY, *ACTIONS, *INPUT_ACTIONS))]
PackagePattern = Annotated[str, Field(pattern=_PATTERN, max_length=255, examples=["com.example.*"])]


class CapabilityRules(TomlTable):
    """The capabilities that plans may use."""

    allow: list[Capability] = Field(_USUAL, max_length=_MOST, description="Allowed capabilities.")
    deny: list[Capability] = Field([], max_length=_MOST, description="Denied capabilities; overrides allow.")


class PackageRules(TomlTable):
    """The applications that may be started and stopped: whole names, `prefix.*` for all below one, `*` for all."""

    allow: list[PackagePattern] = Field([ANY], max_length=_MOST, description="Allowed packages.")
    deny: list[PackagePattern] = Field([], max_length=_MOST, description="Denied packages; overrides allow.")


class ActionRules(TomlTable):
    """The action types that plans may contain, by canonical name; `*` for all."""

    allow: list[ActionName] = Field([ANY], max_length=_MOST, description="Allowed action types.")
    deny: list[ActionName] = Field([], max_length=_MOST, description="Denied action types; overrides allow.")


class ProfileTable(TomlTable):
    """One set of rules. Omitted tables have the defaults: everything except `purchase_risk` is allowed."""

    read_only: bool = Field(False, description="Allow only actions that do not change a device.")
    capabilities: CapabilityRules = Field(default_factory=CapabilityRules)
    packages: PackageRules = Field(default_factory=PackageRules)
    actions: ActionRules = Field(default_factory=ActionRules)


class PolicyFile(TomlTable):
    """The permissions of executions, for all callers. An invalid file allows nothing."""

    version: int = Field(ge=1, le=1, description="The version of the file format.")
    activeProfile: str = Field("default", pattern=_NAME, description="The active profile.")  # noqa: N815 - as the file names it
    profiles: dict[Annotated[str, Field(pattern=_NAME)], ProfileTable] = Field(
        min_length=1, max_length=_MOST, description="Profiles by name."
    )

    def policy(self, path: str) -> Policy:
        """Return the policy as values; ``path`` is the file's."""
        profiles = {
            name: Profile(
                name, _rules(table.capabilities), _rules(table.packages), _rules(table.actions), table.read_only, path
            )
            for name, table in self.profiles.items()
        }
        return Policy(self.activeProfile, profiles, path)


def _rules(table: CapabilityRules | PackageRules | ActionRules) -> Rules:
    return Rules(tuple(table.allow), tuple(table.deny))


def load(path: str) -> Policy:
    """Return the policy in a file.

    Raises ``EngineError``: FILE_NOT_READABLE, or POLICY_INVALID with all problems in ``details.problems``.
    """
    found, problems = examine(read(path))
    if found is not None:
        return found.policy(path)
    raise refusal(path, problems)


def refusal(path: str, problems: Sequence[Problem], code: ErrorCode = ErrorCode.POLICY_INVALID) -> EngineError:
    """Return the error with the first problem in the message and all in ``details``."""
    first, *others = problems
    place = f"{path}:{first.line}" if first.line else path
    more = f" (and {len(others)} more)" if others else ""
    return EngineError(
        code,
        f"Policy file {place}: {first.message}{more}",
        hint=f"{first.hint} {_NOTHING_ALLOWED}".strip(),
        details={"policy": path, "problems": [problem._asdict() for problem in problems]},
    )


def read(path: str) -> str:
    """Return the text of a policy file. Raises ``EngineError`` as ``load``."""
    try:
        return read_text(path)
    except OSError as exc:
        _refuse(path, exc.strerror or str(exc), ErrorCode.FILE_NOT_READABLE)
    except ValueError as exc:
        _refuse(path, str(exc))


def _refuse(path: str, reason: str, code: ErrorCode = ErrorCode.POLICY_INVALID) -> NoReturn:
    raise refusal(path, [Problem(0, "", f"It cannot be read: {reason}")], code)


def examine(text: str) -> tuple[PolicyFile | None, list[Problem]]:
    """Return the policy in ``text``, or its problems in the order of their lines."""
    lines = cache(lambda: _Lines(text))
    policy, problems = validated(PolicyFile, text, lambda error: _problem(error, lines()))
    if policy is None:
        return None, problems
    if policy.activeProfile in policy.profiles:
        return policy, []
    known = f"Known: {', '.join(list(policy.profiles)[:20])}."
    hint = suggestion(policy.activeProfile, policy.profiles) or known
    message = f"activeProfile is '{policy.activeProfile}', but [profiles.{policy.activeProfile}] is missing"
    return None, [Problem(_Lines(text).of("activeProfile") or 1, "activeProfile", message, hint)]


# -- problems


class _Lines:
    """The lines of keys in a valid TOML text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._keys = lines_of(text)

    def of(self, key: str, item: object = None) -> int:
        """Return the line of ``key``, or of ``item`` in its list."""
        start = self._keys.get(key, 0)
        if not start or not isinstance(item, str):
            return start
        for number, line in enumerate(self._lines[start - 1 :], start):
            if number > start and line.lstrip().startswith("["):
                break
            if item in line:
                return number
        return start


def _problem(error: ErrorDetails, lines: _Lines) -> Problem:
    location = [part for part in error["loc"] if part != "[key]"]
    names = [str(part) for part in location if isinstance(part, str)]
    key, given = ".".join(names), error["input"]
    in_list = isinstance(location[-1], int)
    line = lines.of(key, given if in_list else None)
    if error["type"] == "extra_forbidden":
        known = _fields(names[:-1])
        hint = suggestion(names[-1], known) or f"Known: {', '.join(known)}."
        return Problem(line, key, f"Unknown key {shown(key)}", hint)
    if error["type"] == "missing":
        return Problem(
            1, key, f"{key} is missing", {"version": "Write version = 1.", "profiles": _EXAMPLE}.get(key, "")
        )
    if in_list and isinstance(given, str):
        return _item_problem(line, key, names[-2], given)
    got = shown(repr(given))
    return Problem(line, key, f"{shown(key)} must be {_allowed(error, names, in_list=in_list)}, got {got}")


_EXAMPLE = "Write at least [profiles.default]."


def _item_problem(line: int, key: str, table: str, given: str) -> Problem:
    """Return the problem of an unknown name in a list of rules."""
    if table == "packages":
        message = f"{shown(key)} must hold package names, got {shown(repr(given))}"
        return Problem(line, key, message, "A pattern is *, a whole name, or a beginning and .* as in com.example.*")
    if table == "capabilities":
        known: tuple[str, ...] = CAPABILITIES
        kind = "capability"
    else:
        known, kind = (*ACTIONS, *INPUT_ACTIONS), "action type"
    meant = ALIASES.get(given, "") if table == "actions" else ""
    hint = f"Did you mean '{meant}'?" if meant else suggestion(given, known)
    return Problem(line, key, f"Unknown {kind} {shown(repr(given))}", hint or f"Known: {', '.join(known)}.")


def _fields(location: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of the table at ``location``."""
    match len(location):
        case 0:
            return PolicyFile.model_fields
        case 2:
            return ProfileTable.model_fields
        case _:
            return CapabilityRules.model_fields


def _allowed(error: ErrorDetails, names: Sequence[str], *, in_list: bool) -> str:
    """Return a description of the allowed values."""
    match error["type"]:
        case _ if names == ["version"]:
            return "1"
        case "string_pattern_mismatch":
            return "a name of up to 64 letters, digits, _ and -"
        case "bool_type":
            return "true or false"
        case "list_type" | "too_long":
            return f"a list of up to {_MOST:,} names"
        case "too_short":
            return "a table with at least one profile"
        case "model_type" | "dict_type" | "model_attributes_type":
            return "a table"
    return "a name in quotes" if in_list else "a text in quotes"


# -- remarks


def remarks(profile: Profile) -> Iterator[str]:
    """Yield remarks on ``profile`` for its reader."""
    if ANY not in profile.packages.allow or profile.packages.deny:
        for action_type, why in _WAYS_ROUND.items():
            able = all(map(profile.allows_capability, capabilities_of(action_type, {})))
            if profile.allows_action(action_type) and able and not profile.read_only:
                yield f"{action_type} is allowed, and {why}: package rules do not cover that."
    if profile.allows_capability(PURCHASE_RISK):
        yield "purchase_risk is allowed: recipes may buy things."
    if profile.path and _others_may_write(profile.path):
        yield "Other users of this computer may change the file."


_WAYS_ROUND = {
    "open_uri": "the device chooses the app that opens a URI",
    "press_key": "keys can bring other apps to the front",
}


def _others_may_write(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & stat.S_IWOTH)
    except OSError:
        return False
