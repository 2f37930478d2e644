"""What a skill is: its entry, the inputs of its script and artifacts, what they need of the policy, and what is wrong with them.

Everything in a registry is untrusted: malformed values count as absent, and a part that cannot be read says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.registry import COMPILED, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from clawperator.engine.config.policy import Profile
    from clawperator.engine.skills.lint import Finding
    from clawperator.engine.skills.recipe.inputs import Input
    from clawperator.engine.skills.registry import Registry

TEXT_KEPT = 256 * 1024
"""Bytes of SKILL.md that are read."""
_MAX_ARTIFACTS = 20
"""Artifacts of one skill whose inputs an answer has."""


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

    @classmethod
    def of(cls, error: EngineError) -> Self:
        """Return an error with its place in a file and its input."""
        details = error.details
        line = details.get("line")
        return cls(
            error.message,
            error.code.value,
            error.hint or "",
            str(details.get("file") or ""),
            line if isinstance(line, int) else 0,
            str(details.get("input") or details.get("placeholder") or ""),
        )


class PolicyDecision(NamedTuple):
    """Whether the policy allows a capability, or an app where ``kind`` is ``package``."""

    kind: str
    name: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One entry of the registry."""

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
    def of(cls, entry: Mapping[str, Any]) -> Self:
        named = (entry.get(key) for key in ("id", "applicationId", "intent", "summary", "skillFile"))
        name, app, intent, summary, skill_file = (value if isinstance(value, str) else "" for value in named)
        return cls(
            id=name,
            app=app,
            intent=intent,
            summary=summary,
            skill_file=skill_file,
            scripts=tuple(texts_of(entry, "scripts")),
            artifacts=tuple(texts_of(entry, "artifacts")),
            inputs=_of_contract(entry),
            folded="\n".join((name, app, intent, summary, *texts_of(entry, "keywords"))).casefold(),
        )


def _of_contract(entry: Mapping[str, Any]) -> tuple[SkillInput, ...]:
    if not entry.get("contract"):
        return ()
    from clawperator.engine.skills.script_inputs import script_inputs

    return tuple(
        SkillInput(
            each.name, each.type or "string", each.required, values=each.values, help=each.schema, option=each.flag
        )
        for each in script_inputs(entry)
    )


def find_skills(skills: Sequence[SkillEntry], typed: str) -> list[SkillEntry]:
    """Return the skills that contain all words, in registry order; those with the words in their id first."""
    words = typed.casefold().split()
    if not words:
        return list(skills)
    found = [skill for skill in skills if all(word in skill.folded for word in words)]
    return sorted(found, key=lambda skill: not all(word in skill.id.casefold() for word in words))


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


def describe(registry: Registry, skill: SkillEntry, profile_of: Callable[[], Profile]) -> SkillDetails:
    """Return what the files of a skill say, and how the policy rules on it. Blocks while they are read."""
    text, problem = "", "The registry lists no SKILL.md."
    if skill.skill_file:
        try:
            text, problem = _text_of(registry, skill), ""
        except EngineError as exc:
            problem = exc.message
    artifacts = tuple(_artifact(registry, skill, path) for path in skill.artifacts)
    about: dict[str, Any] = {"skill_id": skill.id, "text": text, "text_problem": problem, "artifacts": artifacts}
    try:
        profile = profile_of()
    except EngineError as exc:
        return SkillDetails(**about, policy_trouble=SkillIssue.of(exc))
    return SkillDetails(**about, profile=profile.name, rulings=tuple(_rulings(profile, skill, artifacts)))


def described(registry: Registry, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer about a skill has besides its entry, each where there is any: ``inputs``, the variables of each
    artifact or the error of one that cannot be read, and ``scriptInputs``.
    """
    inputs: dict[str, Any] = {}
    for path in texts_of(entry, "artifacts")[:_MAX_ARTIFACTS]:
        if path.lower().endswith(COMPILED):
            from clawperator.engine.skills.artifact import inputs_at

            try:
                inputs[base_name(path)] = [one.to_dict() for one in inputs_at(registry, entry["id"], path)]
            except EngineError as exc:
                inputs[base_name(path)] = exc.to_dict()
    answer: dict[str, Any] = {"inputs": inputs} if inputs else {}
    if entry.get("contract"):
        from clawperator.engine.skills.script_inputs import script_inputs

        if of_script := [each.to_dict() for each in script_inputs(entry)]:
            answer["scriptInputs"] = of_script
    return answer


def _text_of(registry: Registry, skill: SkillEntry) -> str:
    from clawperator.engine.files.regular import open_regular

    try:
        with open_regular(registry.place(skill.id, skill.skill_file)) as file:
            return file.read(TEXT_KEPT).decode("utf-8-sig", "replace")
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"{skill.skill_file} cannot be read: {reason}") from exc


def _artifact(registry: Registry, skill: SkillEntry, path: str) -> SkillArtifact:
    from clawperator.engine.skills.artifact import source_at
    from clawperator.engine.skills.json_template import template_capabilities, template_inputs
    from clawperator.engine.skills.recipe.inputs import inputs_of

    name = base_name(path)
    if not path.lower().endswith(COMPILED):
        return SkillArtifact(name=name, about="not for compiling")
    try:
        source = source_at(registry, skill.id, path)
        if isinstance(source, str):
            about, app, capabilities = "template", skill.app, template_capabilities(source)
            inputs = template_inputs(source)
        else:
            about, app = f"{source.recipe_type} {source.recipe_version}", source.application_id
            capabilities, inputs = tuple(source.capabilities), inputs_of(source)
    except EngineError as exc:
        return SkillArtifact(name=name, trouble=SkillIssue.of(exc))
    return SkillArtifact(
        name=name, about=about, inputs=tuple(map(_of_artifact, inputs)), capabilities=capabilities, app=app
    )


def _of_artifact(one: Input) -> SkillInput:
    default = "" if one.default is None else str(one.default)
    default = default.lower() if isinstance(one.default, bool) else default
    return SkillInput(one.name, one.type, one.required, default, tuple(map(str, one.values)), one.personal)


def _rulings(profile: Profile, skill: SkillEntry, artifacts: Sequence[SkillArtifact]) -> Iterator[PolicyDecision]:
    """Yield the policy's decisions on the capabilities and apps of the artifacts."""
    names = dict.fromkeys(name for artifact in artifacts for name in artifact.capabilities)
    yield from (PolicyDecision("capability", name, profile.allows_capability(name)) for name in names)
    apps = dict.fromkeys(app for app in (*(artifact.app for artifact in artifacts), skill.app) if app)
    yield from (PolicyDecision("package", app, profile.allows_package(app)) for app in apps)


def base_name(path: str) -> str:
    return path.rpartition("/")[2]
