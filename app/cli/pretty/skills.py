"""``skills list|get|search|validate|new|index`` in ``--output pretty``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from clawperator.engine.skills.registry import Registry

_SOURCES = {
    "flag": "--registry",
    "env": "CLAWPERATOR_SKILLS_REGISTRY",
    "cwd": "current folder",
    "installed": "installed",
    "builtin": "built-in skills",
}
_SPOKEN = ("id", "summary", "applicationId", "intent", "path", "skillFile", "scripts", "artifacts", "keywords")


def skills(data: tuple[Registry, Sequence[Mapping[str, Any]]]) -> Iterator[RenderableType]:
    registry, entries = data
    if not entries:
        yield safe_text("No matching skills." if registry.skills else "The registry is empty.", UNSURE)
    else:
        table = plain_table("skill", "summary", "scripts", "artifacts")
        for entry in entries:
            table.add_row(
                safe_text(entry.get("id", "")),
                safe_text(entry.get("summary", "")),
                safe_text(_kinds(entry.get("scripts")), FAINT),
                safe_text(_kinds(entry.get("artifacts")), FAINT),
            )
        yield table
    yield from _left_out(registry)
    yield _from(registry)


def skill(data: tuple[Registry, Mapping[str, Any]]) -> Iterator[RenderableType]:
    registry, entry = data
    yield Text(visible(entry.get("id", "")), "bold")
    yield safe_text(f"  {entry.get('summary', '')}")
    for label, key in (("app", "applicationId"), ("intent", "intent"), ("folder", "path")):
        yield safe_text(f"  {label}: {entry.get(key, '')}", FAINT)
    for label, key in (("keyword", "keywords"), ("script", "scripts"), ("artifact", "artifacts")):
        for value in _texts(entry.get(key)):
            yield safe_text(f"  {label}: {value}", FAINT)
    for key in entry:
        if key not in _SPOKEN:
            yield safe_text(f"  {key}: {entry[key]}", FAINT)
    yield from _left_out(registry)
    yield _from(registry)


def skill_valid(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {visible(data['skill'].get('id', ''))}")
    yield from _checked(data)


def skills_valid(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {data['totalSkills']} skills are valid")
    for one in data["validSkills"]:
        yield safe_text(f"  {one['skill'].get('id', '')}")
    yield safe_text(f"from {data['registryPath']}", FAINT)


def skill_made(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {visible(data['skillId'])}")
    if data.get("registryCreated"):
        yield safe_text(f"  Created a new registry: {data['registryPath']}", UNSURE)
    for file in data["files"]:
        yield safe_text(f"  {file}", FAINT)
    yield safe_text(data["next"])


def index_written(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble(("[OK]", GOOD), f" {data['count']} skills in {len(data['files'])} files")
    yield safe_text(f"  {data['registryPath']}, generated at {data['generatedAt']}", FAINT)


def index_checked(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["differences"]:
        yield Text.assemble(("[OK]", GOOD), " the registry and its indexes match the skill folders")
    for difference in data["differences"]:
        yield Text.assemble((difference["kind"], BAD), f"  {visible(difference['file'])}")
    if data["differences"]:
        yield safe_text("Run `clawperator skills index`.", UNSURE)


def _checked(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    checks = data["checks"]
    for path in (checks["skillJsonPath"], checks["skillFilePath"], *checks["scriptPaths"], *checks["artifactPaths"]):
        yield safe_text(f"  {path}", FAINT)
    if run := data.get("dryRun"):
        passed = run["payloadValidation"] == "passed"
        words = (
            f"{len(run['artifacts'])} artifacts compile" if passed else f"artifacts were not checked: {run['reason']}"
        )
        yield safe_text(f"  {words}", GOOD if passed else UNSURE)


def _kinds(paths: object) -> str:
    """What files there are, by their endings: ``js sh``, ``recipe.md``."""
    names = (path.rsplit("/", 1)[-1] for path in _texts(paths))
    return " ".join(sorted({name.partition(".")[2] or name for name in names}))


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _left_out(registry: Registry) -> Iterator[Text]:
    for warning in registry.warnings:
        yield safe_text(warning["message"], UNSURE)


def _from(registry: Registry) -> Text:
    return safe_text(f"from {registry.path} ({_SOURCES.get(registry.source, registry.source)})", FAINT)
