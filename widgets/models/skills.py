"""The state of mode 5, and how skills ended last. Pure; all texts are untrusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from clawperator.widgets.models.job import Job
from clawperator.widgets.models.skill_runs import SkillRunState
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillInput, SkillIssue

BUILTIN = "builtin"
"""Source of the built-in registry."""


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


def required_first(fields: Sequence[SkillInput]) -> list[SkillInput]:
    """Return the fields in form order."""
    return sorted(fields, key=lambda item: not item.required)
