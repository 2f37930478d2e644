"""What can be wished of a skill: the ways in which it runs, what was given to one of them, and the command line that does the same. Pure."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.widgets.models.skills import SkillDetails, SkillEntry, SkillInput

if TYPE_CHECKING:
    from clawperator.engine.skills.compiled import Compiled

COMPILED = (".recipe.json", ".recipe.md")
"""Artifacts that become executions (skills.md#recipes); others are for people."""
ARGUMENTS = SkillInput("arguments", help="more words for the script, quoted as in a shell")
"""What a script is given beyond its declared inputs."""


class Way(NamedTuple):
    """One thing of a skill that can run: its script, or the ``artifact`` of that name. ``fields`` are what it asks for."""

    name: str
    artifact: str = ""
    fields: tuple[SkillInput, ...] = ()

    @property
    def script(self) -> bool:
        return not self.artifact


class Plan(NamedTuple):
    """A compiled artifact, and what is shown of it: JSON data."""

    compiled: Compiled
    shown: Mapping[str, Any]


class Wish(NamedTuple):
    """What was agreed to. ``secrets`` are the personal values among ``values``, the longest first."""

    skill_id: str
    way: Way
    values: Mapping[str, str]
    args: Sequence[str] = ()
    plan: Plan | None = None
    secrets: Sequence[str] = ()


def ways_of(skill: SkillEntry, card: SkillDetails | None, *, for_draft: bool) -> tuple[Way, ...]:
    """What can run, the best first: the script, as on the command line, unless only its artifacts say what they need.

    Only artifacts can become a draft.
    """
    artifacts = tuple(_artifacts(skill, card))
    if for_draft or not skill.scripts:
        return artifacts
    one = skill.scripts[0].rpartition("/")[2] if len(skill.scripts) == 1 else ""
    script = Way(f"script {one}".rstrip(), fields=_of_script(skill, card))
    unsaid = not script.fields and any(field.required for way in artifacts for field in way.fields)
    return (*artifacts, script) if unsaid else (script, *artifacts)


def _artifacts(skill: SkillEntry, card: SkillDetails | None) -> Iterator[Way]:
    known = {artifact.name: artifact.inputs for artifact in card.artifacts} if card is not None else {}
    for path in skill.artifacts:
        if path.lower().endswith(COMPILED):
            name = path.rpartition("/")[2]
            yield Way(name, artifact=name, fields=known.get(name, ()))


def _of_script(skill: SkillEntry, card: SkillDetails | None) -> tuple[SkillInput, ...]:
    """What the entry declares; else those inputs of the artifacts that SKILL.md shows as options, such as ``--room``."""
    if skill.inputs or card is None:
        return skill.inputs
    return tuple(field._replace(option=True) for field in card.inputs if _shown_in(card.text, f"--{field.name}"))


def _shown_in(text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def arguments_of(way: Way, values: Mapping[str, str]) -> list[str]:
    """A script's arguments behind the device's serial. Raises ``ValueError`` for a quote that is never closed."""
    if not way.script:
        return []
    placed = [values.get(field.name, "") for field in way.fields if not field.option]
    while placed and not placed[-1]:
        placed.pop()
    named = [(field.name, values[field.name]) for field in way.fields if field.option and values.get(field.name)]
    options = [word for name, value in named for word in (f"--{name}", value)]
    return [*placed, *options, *shlex.split(values.get(ARGUMENTS.name, ""))]


def variables_of(way: Way, values: Mapping[str, str]) -> dict[str, Any]:
    """What was typed as the declared types want it; what does not fit stays as typed, for the compiler to refuse."""
    types = {field.name: field.type for field in way.fields}
    return {name: _typed(types.get(name, ""), value) for name, value in values.items() if name in types}


def _typed(kind: str, text: str) -> Any:
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if kind not in ("integer", "number") or len(text) > 40:
        return text
    try:
        number = int(text) if kind == "integer" else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def variables_text(way: Way, values: Mapping[str, str]) -> str:
    """The JSON of ``--vars``."""
    return json.dumps(variables_of(way, values), ensure_ascii=False)


def command_words(
    skill_id: str,
    way: Way,
    values: Mapping[str, str],
    device_id: str,
    *,
    for_draft: bool = False,
    builtin: bool = False,
) -> str:
    """The command line that does the same."""
    words = ["clawperator", "skills", "compile-artifact" if for_draft else "run", skill_id]
    if way.artifact:
        words += ["--artifact", way.artifact]
        if variables_of(way, values):
            words += ["--vars", variables_text(way, values)]
    if builtin:
        words += ["--registry", "builtin"]
    if device_id and not for_draft:
        words += ["--device-id", device_id]
    try:
        args = arguments_of(way, values)
    except ValueError:
        args = [values.get(ARGUMENTS.name, "")]
    return shlex.join([*words, *(["--", *args] if args else [])])
