"""The skills of a registry, and one of them in full. Pure; all texts are untrusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from clawperator.widgets.models.job import Job
from clawperator.widgets.models.skill_runs import SkillRunState
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.skills.lint import Finding

BUILTIN = "builtin"
"""Source of the built-in registry."""


class SkillInput(NamedTuple):
    """An input of a skill.

    ``personal`` values are masked; ``values`` are the allowed ones, where known; ``option`` is the flag with which a script
    takes it, empty for an artifact.
    """

    name: str
    type: str = "string"
    required: bool = False
    default: str = ""
    values: tuple[str, ...] = ()
    personal: bool = False
    help: str = ""
    option: str = ""


class SkillIssue(NamedTuple):
    """Why something could not be read, compiled or started.

    ``line`` of ``file`` is 0 where unknown; ``field`` is the input concerned.
    """

    message: str
    code: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0
    field: str = ""


class PolicyDecision(NamedTuple):
    """Whether the policy allows a capability, or an app where ``kind`` is ``package``."""

    kind: str
    name: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One entry of the registry; malformed values count as absent."""

    id: str
    app: str = ""
    intent: str = ""
    summary: str = ""
    skill_file: str = ""
    scripts: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    inputs: tuple[SkillInput, ...] = ()
    """Inputs of the script, where the entry declares them."""
    folded: str = ""
    """Case-folded text for the search."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> SkillEntry:
        name, app, intent, summary = (_text(entry, key) for key in ("id", "applicationId", "intent", "summary"))
        words = (name, app, intent, summary, *_texts(entry, "keywords"))
        return cls(
            id=name,
            app=app,
            intent=intent,
            summary=summary,
            skill_file=_text(entry, "skillFile"),
            scripts=_texts(entry, "scripts"),
            artifacts=_texts(entry, "artifacts"),
            inputs=tuple(_contract_inputs(entry)),
            folded="\n".join(words).casefold(),
        )


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = entry.get(key)
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def _contract_inputs(entry: Mapping[str, Any]) -> Sequence[SkillInput]:
    if not isinstance(entry.get("contract"), Mapping):
        return ()
    from clawperator.engine.skills.script_inputs import script_inputs

    return [
        SkillInput(
            each.name, each.type or "string", each.required, values=each.values, help=each.schema, option=each.flag
        )
        for each in script_inputs(entry)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillArtifact:
    """A recipe or a JSON template. ``name`` is its name on the command line, ``about`` its kind."""

    name: str
    about: str = ""
    inputs: tuple[SkillInput, ...] = ()
    capabilities: tuple[str, ...] = ()
    app: str = ""
    trouble: SkillIssue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetails:
    """One skill in full, read from its files. ``findings`` are ``None`` before lint ran; ``trouble``: lint failed."""

    skill_id: str
    text: str = ""
    text_problem: str = ""
    artifacts: tuple[SkillArtifact, ...] = ()
    rulings: tuple[PolicyDecision, ...] = ()
    profile: str = ""
    policy_trouble: SkillIssue | None = None
    findings: tuple[Finding, ...] | None = None
    trouble: SkillIssue | None = None

    @property
    def inputs(self) -> tuple[SkillInput, ...]:
        """Return the inputs of all artifacts, each name once."""
        found: dict[str, SkillInput] = {}
        for artifact in self.artifacts:
            for item in artifact.inputs:
                found.setdefault(item.name, item)
        return tuple(found.values())

    @property
    def denied(self) -> tuple[PolicyDecision, ...]:
        return tuple(ruling for ruling in self.rulings if not ruling.allowed)

    def count(self, severity: str) -> int:
        return sum(1 for finding in self.findings or () if finding.severity == severity)


class LastResult(NamedTuple):
    """The last result of a skill or of an execution with its id; ``at`` is when."""

    status: Status
    at: float = math.nan
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsState:
    """The state of mode 5. ``known``: the registry was read; ``trouble`` says why it is empty or the built-in one.

    ``source`` is where ``path`` was chosen (``flag``, ``env``, ``cwd``, ``installed``, ``builtin``), ``commit`` the
    checkout's. ``card`` is the selected skill, ``run`` the running or last one, ``sync`` the sync job, ``checked`` the
    last lint result.
    """

    EMPTY: ClassVar[SkillsState]

    skills: tuple[SkillEntry, ...] = ()
    known: bool = False
    trouble: SkillIssue | None = None
    path: str = ""
    source: str = ""
    commit: str = ""
    results: Mapping[str, LastResult] = field(default_factory=dict)
    card: SkillDetails | None = None
    run: SkillRunState | None = None
    sync: Job | None = None
    checked: SkillDetails | None = None
    checking: str = ""
    """The skill whose lint is running."""

    def skill(self, skill_id: str) -> SkillEntry | None:
        return next((skill for skill in self.skills if skill.id == skill_id), None)


SkillsState.EMPTY = SkillsState()


def find_skills(skills: Sequence[SkillEntry], typed: str) -> list[SkillEntry]:
    """Return the skills that contain all words, in registry order; those with the words in their id first."""
    words = typed.casefold().split()
    if not words:
        return list(skills)
    found = [skill for skill in skills if all(word in skill.folded for word in words)]
    return sorted(found, key=lambda skill: not all(word in skill.id.casefold() for word in words))


def required_first(fields: Sequence[SkillInput]) -> list[SkillInput]:
    """Return the fields in form order."""
    return sorted(fields, key=lambda item: not item.required)
