"""What of a skill can run, what it takes, and the equivalent command line. Pure."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillInput, base_name
from clawperator.engine.skills.registry import COMPILED
from clawperator.engine.skills.script_inputs import ScriptInput

if TYPE_CHECKING:
    from clawperator.engine.skills.compiled import Compiled

ARGUMENTS = SkillInput("arguments", help="more arguments for the script, quoted as in a shell")
"""Arguments of a script beyond its declared inputs."""


class RunOption(NamedTuple):
    """What can run: the script, or the ``artifact`` of that name. ``fields`` are its inputs."""

    name: str
    artifact: str = ""
    fields: tuple[SkillInput, ...] = ()

    @property
    def script(self) -> bool:
        return not self.artifact


class SkillRequest(NamedTuple):
    """A confirmed run. ``secrets`` are the personal values among ``values``, longest first."""

    skill_id: str
    option: RunOption
    values: Mapping[str, str]
    args: Sequence[str] = ()
    plan: Compiled | None = None
    secrets: Sequence[str] = ()


def run_options(skill: SkillEntry, card: SkillDetails | None, *, for_draft: bool) -> tuple[RunOption, ...]:
    """Return what can run, the best first: the script, unless only its artifacts declare inputs.

    Only artifacts can become a draft.
    """
    artifacts = tuple(_artifacts(skill, card))
    if for_draft or not skill.scripts:
        return artifacts
    one = base_name(skill.scripts[0]) if len(skill.scripts) == 1 else ""
    script = RunOption(f"script {one}".rstrip(), fields=_of_script(skill, card))
    unsaid = not script.fields and any(field.required for option in artifacts for field in option.fields)
    return (*artifacts, script) if unsaid else (script, *artifacts)


def _artifacts(skill: SkillEntry, card: SkillDetails | None) -> Iterator[RunOption]:
    known = {artifact.name: artifact.inputs for artifact in card.artifacts} if card is not None else {}
    for path in skill.artifacts:
        if path.lower().endswith(COMPILED):
            name = base_name(path)
            yield RunOption(name, artifact=name, fields=known.get(name, ()))


def _of_script(skill: SkillEntry, card: SkillDetails | None) -> tuple[SkillInput, ...]:
    """Return the declared inputs, else those of the artifacts that SKILL.md shows as options (``--room``)."""
    if skill.inputs or card is None:
        return skill.inputs
    named = (field._replace(option=f"--{field.name}") for field in card.inputs)
    return tuple(field for field in named if _shown_in(card.text, field.option))


def _shown_in(text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def arguments_of(option: RunOption, values: Mapping[str, str]) -> list[str]:
    """Return a script's arguments after the device's serial. Raises ``ValueError`` for an unclosed quote."""
    if not option.script:
        return []
    given = [(field.option, values[field.name]) for field in option.fields if values.get(field.name)]
    flags = [word for each in given for word in each]
    return [*flags, *shlex.split(values.get(ARGUMENTS.name, ""))]


def value_problem(option: RunOption, field: object, text: str) -> str:
    """Return why a script does not take ``text`` as this input; empty where it may."""
    if not (option.script and text and isinstance(field, SkillInput) and field.option):
        return ""
    return ScriptInput(field.name, field.help, field.type, field.required, field.values).problem(text)


def variables_of(option: RunOption, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the values with their declared types; invalid values stay text, for the compiler to refuse."""
    types = {field.name: field.type for field in option.fields}
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


def variables_text(option: RunOption, values: Mapping[str, str]) -> str:
    """Return the JSON of ``--vars``."""
    return json.dumps(variables_of(option, values), ensure_ascii=False)


def command_words(
    skill_id: str,
    option: RunOption,
    values: Mapping[str, str],
    device_id: str,
    *,
    for_draft: bool = False,
    builtin: bool = False,
) -> str:
    """Return the equivalent command line."""
    words = ["clawperator", "skills", "compile-artifact" if for_draft else "run", skill_id]
    if option.artifact:
        words += ["--artifact", option.artifact]
        if variables_of(option, values):
            words += ["--vars", variables_text(option, values)]
    if builtin:
        words += ["--registry", "builtin"]
    if device_id and not for_draft:
        words += ["--device-id", device_id]
    try:
        args = arguments_of(option, values)
    except ValueError:
        args = [values.get(ARGUMENTS.name, "")]
    return shlex.join([*words, *(["--", *args] if args else [])])
