"""The policy file: what may stand in it, and everything that is wrong with one, each with its line (policy.md#capabilities).

One set of models describes it; the JSON Schema (``policy schema``) is made from them. Who opens a file that is not sound
gets an error and never a profile: nothing may be allowed by mistake.
"""

# Annotations are no strings here: pydantic would have to evaluate every one again, which a command would notice.

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, NoReturn

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from clawperator.engine.config.policy import ANY, CAPABILITIES, PURCHASE_RISK, Policy, Profile, Rules, capabilities_of
from clawperator.engine.config.toml_lines import error_line, lines_of
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.writing import open_regular

MAX_BYTES = 64 * 1024
"""Far above any policy that a person writes."""
_MOST = 1_000
_NOTHING_ALLOWED = "Everything is denied until this is corrected (clawperator policy check lists every error)."

_NAME = r"^[A-Za-z0-9_-]{1,64}$"
_PATTERN = rf"^(\*|{PACKAGE.strip('^$')}(\.\*)?)$"
_USUAL = [name for name in CAPABILITIES if name != PURCHASE_RISK]


class _OneOf(NamedTuple):
    """Texts that a list of ours names."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


Capability = Annotated[str, _OneOf(CAPABILITIES)]
ActionName = Annotated[str, _OneOf((ANY, *ACTIONS))]
PackagePattern = Annotated[str, Field(pattern=_PATTERN, max_length=255, examples=["com.example.*"])]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class CapabilityRules(_Table):
    """What plans may be able to do."""

    allow: list[Capability] = Field(_USUAL, max_length=_MOST, description="Allowed capabilities.")
    deny: list[Capability] = Field([], max_length=_MOST, description="Denied capabilities; overrides allow.")


class PackageRules(_Table):
    """Which applications may be started and stopped: whole names, `prefix.*` for all below one, `*` for all."""

    allow: list[PackagePattern] = Field([ANY], max_length=_MOST, description="Which are allowed.")
    deny: list[PackagePattern] = Field([], max_length=_MOST, description="Which are not, whatever allow says.")


class ActionRules(_Table):
    """Which action types plans may hold, by their canonical names; `*` for all."""

    allow: list[ActionName] = Field([ANY], max_length=_MOST, description="Which are allowed.")
    deny: list[ActionName] = Field([], max_length=_MOST, description="Which are not, whatever allow says.")


class ProfileTable(_Table):
    """One set of rules. What is left out is as without a policy: everything but `purchase_risk` is allowed."""

    read_only: bool = Field(False, description="Allow only actions that do not change a device.")
    capabilities: CapabilityRules = Field(default_factory=CapabilityRules)
    packages: PackageRules = Field(default_factory=PackageRules)
    actions: ActionRules = Field(default_factory=ActionRules)


class PolicyFile(_Table):
    """What executions may do, whoever asks for them. A file with a mistake allows nothing."""

    version: int = Field(ge=1, le=1, description="The version of the file format.")
    activeProfile: str = Field("default", pattern=_NAME, description="The active profile.")  # noqa: N815 - as the file names it
    profiles: dict[Annotated[str, Field(pattern=_NAME)], ProfileTable] = Field(
        min_length=1, max_length=_MOST, description="Profiles by name."
    )

    def policy(self, path: str) -> Policy:
        """What it says, as values; ``path`` is the file's."""
        profiles = {
            name: Profile(
                name, _rules(table.capabilities), _rules(table.packages), _rules(table.actions), table.read_only, path
            )
            for name, table in self.profiles.items()
        }
        return Policy(self.activeProfile, profiles, path)


def _rules(table: CapabilityRules | PackageRules | ActionRules) -> Rules:
    return Rules(tuple(table.allow), tuple(table.deny))


class Problem(NamedTuple):
    """One thing that is wrong. ``line`` counts from 1; 0 where it is not known. ``key`` is dotted and may be empty."""

    line: int
    key: str
    message: str
    hint: str = ""


def load(path: str) -> Policy:
    """The policy that stands in a file.

    Raises ``EngineError``: FILE_NOT_READABLE, or POLICY_INVALID for one that has problems; all are in ``details.problems``.
    """
    found, problems = examine(read(path))
    if found is not None:
        return found.policy(path)
    raise refusal(path, problems)


def refusal(path: str, problems: Sequence[Problem], code: ErrorCode = ErrorCode.POLICY_INVALID) -> EngineError:
    """The error about a policy file with ``problems``: the first one in words, all of them in ``details``."""
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
    """The text of a policy file, which is a regular one. Raises ``EngineError`` as ``load``."""
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode().replace("\r\n", "\n")
    except OSError as exc:
        _refuse(path, exc.strerror or str(exc), ErrorCode.FILE_NOT_READABLE)
    except ValueError as exc:
        _refuse(path, str(exc))
    if len(data) > MAX_BYTES:
        _refuse(path, f"it has more than {MAX_BYTES:,} bytes")
    return text


def _refuse(path: str, reason: str, code: ErrorCode = ErrorCode.POLICY_INVALID) -> NoReturn:
    raise refusal(path, [Problem(0, "", f"It cannot be read: {reason}")], code)


def examine(text: str) -> tuple[PolicyFile | None, list[Problem]]:
    """The policy that ``text`` holds, or everything that is wrong with it, in the order of its lines."""
    try:
        policy = PolicyFile.model_validate(tomllib.loads(text))
    except ValidationError as exc:
        lines = _Lines(text)
        return None, sorted(_problem(error, lines) for error in exc.errors(include_url=False))
    except ValueError as exc:
        return None, [Problem(error_line(exc, text), "", f"This is not valid TOML: {exc}")]
    except RecursionError:
        return None, [Problem(0, "", "It is nested too deeply")]
    if policy.activeProfile in policy.profiles:
        return policy, []
    known = f"Known: {', '.join(list(policy.profiles)[:20])}."
    hint = suggestion(policy.activeProfile, policy.profiles) or known
    message = f"activeProfile is '{policy.activeProfile}', but [profiles.{policy.activeProfile}] is missing"
    return None, [Problem(_Lines(text).of("activeProfile") or 1, "activeProfile", message, hint)]


# -- what is wrong


class _Lines:
    """Where things stand in a text that TOML can read."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._keys = lines_of(text)

    def of(self, key: str, item: object = None) -> int:
        """The line in which ``key`` begins, or that of ``item`` in its list, where that shows."""
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
    """About a name in a list of rules that means nothing."""
    if table == "packages":
        message = f"{shown(key)} must hold package names, got {shown(repr(given))}"
        return Problem(line, key, message, "A pattern is *, a whole name, or a beginning and .* as in com.example.*")
    if table == "capabilities":
        known: tuple[str, ...] = CAPABILITIES
        kind = "capability"
    else:
        known, kind = tuple(ACTIONS), "action type"
    meant = ALIASES.get(given, "") if table == "actions" else ""
    hint = f"Did you mean '{meant}'?" if meant else suggestion(given, known)
    return Problem(line, key, f"Unknown {kind} {shown(repr(given))}", hint or f"Known: {', '.join(known)}.")


def _fields(location: Sequence[str]) -> Mapping[str, Any]:
    """What may stand in the table at ``location``."""
    match len(location):
        case 0:
            return PolicyFile.model_fields
        case 2:
            return ProfileTable.model_fields
        case _:
            return CapabilityRules.model_fields


def _allowed(error: ErrorDetails, names: Sequence[str], *, in_list: bool) -> str:
    """What a value may be, in words."""
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


# -- what it comes to


def remarks(profile: Profile) -> Iterator[str]:
    """What a reader of the policy should know about ``profile``, in sentences."""
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
