"""The entry of a skill in a registry, which is also the skill's own ``skill.json`` (skills.md#file).

Paths are relative to the folder of the repository and never lead out of it. Unknown keys of newer skills are kept.
"""

# ruff: noqa: N815 - fields are named as JSON names them

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clawperator.engine.contracts.values import optional

_NAME = r"[a-zA-Z0-9_-][a-zA-Z0-9._-]*"  # no name begins with a dot, so no path climbs
_FOLDER = rf"skills/(utils/)?{_NAME}"

Id = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]+$", description="Normally <applicationId>.<intent>.")]
ScriptPath = Annotated[str, Field(pattern=rf"^{_FOLDER}/scripts/({_NAME}/)*{_NAME}\.(sh|js|py)$")]
ArtifactPath = Annotated[str, Field(pattern=rf"^{_FOLDER}/artifacts/({_NAME}/)*{_NAME}\.(json|md)$")]


def zoned(text: str) -> str:
    """``text`` if it is a time with a zone; raises ``ValueError``."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time needs a zone, such as Z")
    return text


def _unique(words: list[str]) -> list[str]:
    if len(set(words)) < len(words):
        raise ValueError("keywords must be unique")
    return words


Moment = Annotated[str, AfterValidator(zoned), Field(json_schema_extra={"format": "date-time"})]
Word = Annotated[str, Field(min_length=1)]


class _Open(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


class SkillAgent(_Open):
    """The agent that runs an orchestrated skill."""

    cli: Annotated[str, Field(min_length=1)]
    cliPath: str | None = None
    timeoutMs: Annotated[int, Field(ge=1)] | None = None


class SkillContract(_Open):
    """What a skill takes and how its result is verified."""

    inputs: dict[str, str] = {}
    goal: dict[str, Any] | None = None
    verification: dict[str, Any] | None = None


class Skill(_Open):
    """One skill."""

    id: Id
    applicationId: Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]+$")]
    intent: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    summary: Annotated[str, Field(min_length=1)]
    path: Annotated[str, Field(pattern=rf"^{_FOLDER}$", description="The skill's folder.")]
    skillFile: Annotated[str, Field(pattern=rf"^{_FOLDER}/SKILL\.md$")]
    scripts: Annotated[list[ScriptPath], Field(min_length=1)]
    artifacts: list[ArtifactPath] = []
    keywords: Annotated[list[Word], AfterValidator(_unique), Field(json_schema_extra={"uniqueItems": True})] = []
    fallback_instructions_path: Annotated[str, Field(pattern=rf"^{_FOLDER}/({_NAME}/)*{_NAME}$")] = optional(
        "A document for readers of a failed run."
    )
    agent: SkillAgent | None = None
    contract: SkillContract | None = None


class SkillRegistry(_Open):
    """All skills of a repository."""

    schemaVersion: Literal["1.0"]
    generatedAt: Moment
    skills: list[Skill]
