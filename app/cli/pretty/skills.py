"""``--output pretty`` of ``skills``, but for ``run`` and ``compile-artifact``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, OK, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, line, records, safe_text, warnings
from clawperator.engine.skills.registry import texts_of
from clawperator.engine.skills.script_inputs import script_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.engine.skills.registry import Registry

_SOURCES = {
    "flag": "--registry",
    "env": "CLAWPERATOR_SKILLS_REGISTRY",
    "cwd": "current folder",
    "installed": "installed",
    "builtin": "built-in skills",
}
_DRAWN = ("id", "summary", "applicationId", "intent", "path", "skillFile", "scripts", "artifacts", "keywords")
_SEVERITIES = {"error": BAD, "warning": UNSURE, "info": FAINT}


def skills(data: tuple[Registry, Sequence[Data]]) -> Drawing:
    registry, entries = data
    if not entries:
        yield safe_text("No matching skills." if registry.skills else "The registry is empty.", UNSURE)
    else:
        columns: Columns = {
            "skill": "id",
            "summary": "summary",
            "scripts": lambda entry: (_kinds(entry, "scripts"), FAINT),
            "artifacts": lambda entry: (_kinds(entry, "artifacts"), FAINT),
        }
        yield records(entries, columns)
    yield from _source(registry)


def skill(data: tuple[Registry, Data, Data]) -> Drawing:
    registry, entry, inputs = data
    yield safe_text(entry.get("id", ""), "bold")
    yield safe_text(f"  {entry.get('summary', '')}")
    for label, key in (("app", "applicationId"), ("intent", "intent"), ("folder", "path")):
        yield safe_text(f"  {label}: {entry.get(key, '')}", FAINT)
    for label, key in (("keyword", "keywords"), ("script", "scripts"), ("artifact", "artifacts")):
        for value in texts_of(entry, key):
            yield safe_text(f"  {label}: {value}", FAINT)
    for each in script_inputs(entry):
        yield _input("input", each.flag, "|".join(each.values) or each.type or each.schema, each.required)
    for artifact, variables in inputs.get("inputs", {}).items():
        if isinstance(variables, dict):
            yield safe_text(f"  {artifact}: {variables['message']}", UNSURE)
            continue
        for each in variables:
            kind = "|".join(each.get("values", ())) or each["type"]
            yield _input(f"input of {artifact}", each["name"], kind, each["required"])
    for key in entry:
        if key not in _DRAWN:
            yield safe_text(f"  {key}: {entry[key]}", FAINT)
    yield from _source(registry)


def _input(of: str, name: str, kind: str, required: bool) -> Text:
    return safe_text(f"  {of}: {name} <{kind}>{'' if required else ', optional'}", FAINT)


def _source(registry: Registry) -> Drawing:
    for warning in registry.warnings:
        yield safe_text(warning["message"], UNSURE)
    yield safe_text(f"from {registry.path} ({_SOURCES.get(registry.source, registry.source)})", FAINT)


def _kinds(entry: Data, key: str) -> str:
    """The kinds of files, by their endings: ``js sh``, ``recipe.md``."""
    names = (path.rsplit("/", 1)[-1] for path in texts_of(entry, key))
    return " ".join(sorted({name.partition(".")[2] or name for name in names}))


def skill_valid(data: Data) -> Drawing:
    yield line(OK, f" {data['skill'].get('id', '')}")
    checks = data["checks"]
    for path in (checks["skillJsonPath"], checks["skillFilePath"], *checks["scriptPaths"], *checks["artifactPaths"]):
        yield safe_text(f"  {path}", FAINT)
    if run := data.get("dryRun"):
        if run["payloadValidation"] == "passed":
            yield safe_text(f"  {len(run['artifacts'])} artifacts compile", GOOD)
        else:
            yield safe_text(f"  artifacts were not checked: {run['reason']}", UNSURE)


def skills_valid(data: Data) -> Drawing:
    yield line(OK, f" {data['totalSkills']} skills are valid")
    for one in data["validSkills"]:
        yield safe_text(f"  {one['skill'].get('id', '')}")
    yield safe_text(f"from {data['registryPath']}", FAINT)


def skill_created(data: Data) -> Drawing:
    yield line(OK, f" {data['skillId']}")
    if data.get("registryCreated"):
        yield safe_text(f"  Created a new registry: {data['registryPath']}", UNSURE)
    for file in data["files"]:
        yield safe_text(f"  {file}", FAINT)
    yield safe_text(data["next"])


def index_written(data: Data) -> Drawing:
    yield line(OK, f" {data['count']} skills in {len(data['files'])} files")
    yield safe_text(f"  {data['registryPath']}, generated at {data['generatedAt']}", FAINT)


def index_checked(data: Data) -> Drawing:
    if not data["differences"]:
        yield line(OK, " the registry and its indexes match the skill folders")
        return
    for difference in data["differences"]:
        yield line((difference["kind"], BAD), f"  {difference['file']}")
    yield safe_text("Run `clawperator skills index`.", UNSURE)


def lint(data: Data) -> Drawing:
    yield from map(_finding, data["findings"])
    named = {"error": "error", "warning": "warning", "info": "remark"}
    counts = ((name, data["counts"][severity]) for severity, name in named.items())
    words = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts if count)
    yield safe_text(words or "no findings", GOOD if data["ok"] else BAD)
    yield from warnings(data)


def _finding(finding: Data) -> Text:
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    style = _SEVERITIES.get(finding["severity"], "")
    return line(f"{place}: ", (finding["code"], style), f" {finding['message']}")


def skills_ci(data: Data) -> Drawing:
    for check in data["checks"]:
        verdict = ("ok    ", GOOD) if check["ok"] else ("failed", BAD)
        yield line(verdict, f"  {check['id']}  ", (check["about"], FAINT))
        for finding in check["findings"]:
            yield line("        ", _finding(finding))
    yield safe_text(f"{data['skills']} skills in {data['registryPath']}", FAINT)


def synced(data: Data) -> Drawing:
    yield line(("offline", UNSURE) if data.get("offline") else ("in sync", GOOD), f"  {data['message']}")
    yield safe_text(f"  {data['registryPath']}", FAINT)
    for warning in data.get("warnings", ()):
        yield safe_text(f"  {warning['message']}", UNSURE)
    if instruction := data.get("envInstruction"):
        yield safe_text(f"  Clawperator commands find it automatically. For other programs: {instruction}", FAINT)
