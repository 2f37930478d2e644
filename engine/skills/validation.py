"""Whether skills are what they say: schema, files, ``skill.json``, and artifacts as executions (skills.md#validating)."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from clawperator.engine.contracts.skill import Skill, SkillRegistry
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.json_template import PLACEHOLDER
from clawperator.engine.skills.registry import LeftOut, Registry, read_document, read_file

MIRRORED = ("id", "applicationId", "intent", "summary", "path", "skillFile", "scripts", "artifacts")
"""What an entry and the skill's own ``skill.json`` both say, in the same words."""
_OPTIONAL = frozenset({"artifacts"})
_JSON = ".json"
_RECIPE = ".recipe.md"
_SHOWN = 200
ARTIFACT_INVALID = "ARTIFACT_INVALID"
"""The warning about an artifact that would not compile."""


class SkillProblem(NamedTuple):
    """One thing that is wrong: in which ``file``, at which JSON ``path`` there, and in words."""

    file: str
    path: str
    message: str

    def to_dict(self) -> dict[str, str]:
        return {"file": self.file, "path": self.path, "message": self.message}


def validate_skill(registry: Registry, skill_id: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Check one skill; the answer of ``skills validate <id>``.

    Raises ``SKILL_NOT_FOUND``, and ``SKILL_VALIDATION_FAILED`` with everything that was found in ``details``: ``reason``,
    ``missingFields``, ``problems`` (file, JSON path, message), ``missingFiles``, ``mismatchFields``; for an artifact that is
    no execution ``artifact``, ``path``, ``reason``, ``actionId``, ``actionType``, ``invalidKeys``, ``hint``.
    """
    _refuse_left_out(registry, skill_id)
    place = registry.skills.index(registry.get(skill_id))
    checked = _check(registry, place, dry_run=dry_run)
    return {"valid": True, "registryPath": registry.path, **checked}


def validate_all(registry: Registry, *, dry_run: bool = False) -> dict[str, Any]:
    """Check every skill, and the registry itself; the answer of ``skills validate --all``.

    Raises ``SKILL_VALIDATION_FAILED`` with ``details.{totalSkills, validCount, invalidCount, failures, problems}``.
    """
    total = len(registry.skills) + len(registry.left_out)
    valid: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = [
        {"skillId": entry.skill_id or "<no id>", **_left_out_error(entry).to_dict()} for entry in registry.left_out
    ]
    for place, entry in enumerate(registry.skills):
        try:
            valid.append(_check(registry, place, dry_run=dry_run))
        except EngineError as exc:
            failures.append({"skillId": _name(entry), **exc.to_dict()})
    problems = [problem.to_dict() for problem in registry_problems(registry)]
    if failures or problems:
        details = {
            "totalSkills": total,
            "validCount": len(valid),
            "invalidCount": len(failures),
            "failures": failures,
            **({"problems": problems} if problems else {}),
        }
        words = f"{len(failures)} of {total} skills are not valid" if failures else problems[0]["message"]
        raise EngineError(
            ErrorCode.SKILL_VALIDATION_FAILED, words, details=details, extra={"registryPath": registry.path}
        )
    return {
        "valid": True,
        "totalSkills": total,
        "registryPath": registry.path,
        "validSkills": valid,
    }


def _refuse_left_out(registry: Registry, skill_id: str) -> None:
    """Raise ``SKILL_VALIDATION_FAILED`` for a skill whose entry is not usable."""
    if skill_id and not any(entry.get("id") == skill_id for entry in registry.skills):
        for entry in registry.left_out:
            if entry.skill_id == skill_id:
                raise _left_out_error(entry)


def _left_out_error(left_out: LeftOut) -> EngineError:
    entry = left_out.entry
    if isinstance(entry, dict):
        try:
            _check_form(entry)
        except EngineError as exc:
            return exc
    return _invalid(left_out.skill_id or "<no id>", left_out.reason, reason=left_out.reason)


def registry_problems(registry: Registry) -> Iterator[SkillProblem]:
    """What is wrong with the registry beside its entries, and between them."""
    head = {key: value for key, value in read_document(registry.path, registry.source).items() if key != "skills"}
    yield from schema_problems(SkillRegistry, {**head, "skills": []}, registry.path, "$")
    counts = Counter(entry["id"] for entry in registry.skills if isinstance(entry.get("id"), str))
    for skill_id, count in counts.items():
        if count > 1:
            yield SkillProblem(registry.path, "$.skills", f"{count} entries have the id {skill_id[:_SHOWN]}")


def entry_problems(entry: Mapping[str, Any], file: str, pointer: str) -> Iterator[SkillProblem]:
    """What is wrong with an entry or a ``skill.json`` by its schema; ``pointer`` is where in ``file`` it begins."""
    yield from schema_problems(Skill, entry, file, pointer)
    folder = entry.get("path")
    if not isinstance(folder, str):
        return
    if isinstance(named := entry.get("skillFile"), str) and named != f"{folder}/SKILL.md":
        yield SkillProblem(file, f"{pointer}.skillFile", f"should be {folder[:_SHOWN]}/SKILL.md")
    for key in ("scripts", "artifacts"):
        values = entry.get(key)
        for place, value in enumerate(values if isinstance(values, list) else ()):
            if isinstance(value, str) and not value.startswith(f"{folder}/{key}/"):
                yield SkillProblem(file, f"{pointer}.{key}[{place}]", f"should be below {folder[:_SHOWN]}/{key}/")


def schema_problems(model: type[BaseModel], value: object, file: str, pointer: str) -> Iterator[SkillProblem]:
    """Where ``value`` is not what ``model`` says."""
    try:
        model.model_validate(value)
    except ValidationError as exc:
        for error in exc.errors(include_url=False, include_context=False, include_input=False):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
            yield SkillProblem(file, f"{pointer}{place}"[:_SHOWN], error["msg"])


def run_warnings(registry: Registry, skill_id: str) -> list[dict[str, Any]]:
    """Return what is wrong with a skill that its script can run without, as ``{code, path, message}``.

    Artifacts are accelerators and metadata is for readers: neither refuses a run. Raises ``SKILL_NOT_FOUND``.
    """
    listed = registry.get(skill_id).get("artifacts")
    artifacts = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    found = []
    for artifact in artifacts:
        if artifact.casefold().endswith((_JSON, _RECIPE)):
            try:
                _check_artifact(registry, skill_id, artifact)
            except EngineError as exc:
                reason = str(exc.details["reason"])
                message = reason if reason.startswith(artifact) else f"{artifact}: {reason}"
                found.append({"code": ARTIFACT_INVALID, "path": artifact, "message": message})
    try:
        validate_skill(registry, skill_id)
    except EngineError as exc:
        told = {warning["path"] for warning in found}
        problems = [SkillProblem(**problem) for problem in exc.details.get("problems", ())]
        missing = [file for file in exc.details.get("missingFiles", ()) if file not in told]
        words = _words(problems, missing, exc.details.get("mismatchFields", ()))
        if not words and not exc.details.get("missingFiles"):
            words = [exc.message]
        found += [{"code": exc.code.value, "path": "", "message": line} for line in words]
    return found


# -- one skill


def _check(registry: Registry, place: int, *, dry_run: bool) -> dict[str, Any]:
    """What is said about the entry at ``place`` when everything about it is right."""
    entry = registry.skills[place]
    _check_form(entry)
    skill_id = entry["id"]
    skill_json = f"{entry['path']}/skill.json"
    artifacts: list[str] = entry.get("artifacts") or []
    files = [skill_json, entry["skillFile"], *entry["scripts"], *artifacts]
    places = {relative: registry.place(skill_id, relative) for relative in files}
    missing = [relative for relative, place in places.items() if not os.path.isfile(place)]
    problems = [*entry_problems(entry, registry.path, f"$.skills[{registry.position(place)}]")]
    mismatches: list[str] = []
    if skill_json not in missing:
        own = _own_entry(places[skill_json], problems)
        mismatches = [key for key in MIRRORED if own is not None and _said(own, key) != _said(entry, key)]
    if problems or missing or mismatches:
        raise _invalid(
            skill_id,
            _summary(problems, missing, mismatches),
            problems=[problem.to_dict() for problem in problems],
            missingFiles=missing,
            mismatchFields=mismatches,
        )
    checks = {
        "skillJsonPath": places[skill_json],
        "skillFilePath": places[entry["skillFile"]],
        "scriptPaths": [places[script] for script in entry["scripts"]],
        "artifactPaths": [places[artifact] for artifact in artifacts],
    }
    run = {"dryRun": _dry_run(registry, skill_id, artifacts)} if dry_run else {}
    return {"skill": dict(entry), **run, "checks": checks}


def _check_form(entry: Mapping[str, Any]) -> None:
    """What the other checks build on: the fields that name files are there, and are texts or lists of texts."""
    lacking = [key for key in MIRRORED if key not in entry and key not in _OPTIONAL]
    if lacking:
        raise _invalid(
            _name(entry), f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing", missingFields=lacking
        )
    for key in ("id", "path", "skillFile"):
        if not isinstance(entry[key], str):
            raise _invalid(_name(entry), f"{key} must be a string", reason=f"{key} must be a string")
    for key in ("scripts", "artifacts"):
        values = entry.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise _invalid(
                _name(entry), f"{key} must be an array of strings", reason=f"{key} must be an array of strings"
            )


def _own_entry(path: str, problems: list[SkillProblem]) -> dict[str, Any] | None:
    """What ``skill.json`` says; ``None`` where it cannot be read, which goes to ``problems``."""
    try:
        value = parse_json(read_file(path))
    except OSError as exc:
        problems.append(SkillProblem(path, "$", exc.strerror or str(exc)))
        return None
    except EngineError as exc:
        problems.append(SkillProblem(path, "$", exc.message))
        return None
    if not isinstance(value, dict):
        problems.append(SkillProblem(path, "$", "it is not an object"))
        return None
    problems += entry_problems(value, path, "$")
    return value


def _said(entry: Mapping[str, Any], key: str) -> object:
    return entry.get(key, [] if key in _OPTIONAL else None)


def _summary(problems: list[SkillProblem], missing: list[str], mismatches: list[str]) -> str:
    """The first thing to correct, and how many more there are."""
    words = _words(problems, missing, mismatches)
    more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
    return f"{words[0]}{more}"


def _words(problems: Iterable[SkillProblem], missing: Iterable[str], mismatches: Iterable[str]) -> list[str]:
    return [
        *(f"{problem.file}: {problem.path}: {problem.message}" for problem in problems),
        *(f"{relative} is missing" for relative in missing),
        *(f"skill.json and the registry differ in {key}" for key in mismatches),
    ]


def _name(entry: Mapping[str, Any]) -> str:
    named = entry.get("id")
    return named[:_SHOWN].encode("utf-8", "replace").decode() if isinstance(named, str) else "<no id>"


def _invalid(skill_id: str, words: str, **details: Any) -> EngineError:
    named = skill_id[:_SHOWN]
    told = {key: value for key, value in details.items() if value}
    message = f"Skill {named} is not valid: {words}"
    return EngineError(ErrorCode.SKILL_VALIDATION_FAILED, message, details={"skillId": named, **told})


# -- artifacts as executions


def _dry_run(registry: Registry, skill_id: str, artifacts: list[str]) -> dict[str, Any]:
    """Every artifact that compiles is one that would run, whatever its variables are."""
    checked = [artifact for artifact in artifacts if artifact.casefold().endswith((_JSON, _RECIPE))]
    if not checked:
        reason = "the skill has no artifacts" if not artifacts else "the skill has no artifact that compiles"
        return {"payloadValidation": "skipped", "reason": reason}
    for artifact in checked:
        _check_artifact(registry, skill_id, artifact)
    return {"payloadValidation": "passed", "artifacts": checked}


def _check_artifact(registry: Registry, skill_id: str, artifact: str) -> None:
    """Raises ``SKILL_VALIDATION_FAILED`` with what is wrong with the artifact, as an execution, in ``details``."""
    try:
        if artifact.casefold().endswith(_JSON):
            _check_template(registry.place(skill_id, artifact))
        else:
            _check_recipe(registry, skill_id, artifact)
    except EngineError as exc:
        raise _bad_artifact(skill_id, artifact, exc) from exc


def _check_template(path: str) -> None:
    """A JSON template as an execution, placeholders left in."""
    from clawperator.engine.executions.validate import validate

    try:
        content = read_file(path)
    except OSError as exc:
        raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"Cannot read artifact: {exc.strerror or exc}") from exc
    template = parse_json(content)
    try:
        validate(template)
    except EngineError as exc:
        if issues := [issue for issue in exc.details.get("issues", ()) if not _is_open(template, issue["path"])]:
            first = issues[0]
            details = {**exc.details, "path": first["path"], "reason": first["message"], "issues": issues}
            raise EngineError(exc.code, first["message"], hint=exc.hint, details=details) from exc
        if not exc.details.get("issues"):
            raise


def _is_open(template: Any, path: str) -> bool:
    """Whether what stands at ``path`` has a placeholder in it: only its value will tell whether that is right."""
    value = template
    for part in path.split("."):
        try:
            value = value[int(part) if isinstance(value, list) else part]
        except (LookupError, TypeError, ValueError):
            return False
    return isinstance(value, str) and PLACEHOLDER.search(value) is not None


def _check_recipe(registry: Registry, skill_id: str, artifact: str) -> None:
    """A recipe, compiled with values that stand for whatever will be given."""
    from clawperator.engine.skills.artifact import compile_artifact, describe_inputs

    name = artifact.rsplit("/", 1)[-1]
    variables = {
        item.name: _sample(item.type, item.values)
        for item in describe_inputs(registry, skill_id, name)
        if item.required and item.default in (None, "")
    }
    compile_artifact(registry, skill_id, name, json.dumps(variables))


def _sample(kind: str, values: Any) -> object:
    """Some value of an input's type."""
    if values:
        return values[0]
    return {"integer": 1, "number": 1, "boolean": True}.get(kind, "value")


def _bad_artifact(skill_id: str, artifact: str, cause: EngineError) -> EngineError:
    told = ("file", "line", "stepId", "path", "reason", "actionId", "actionType", "invalidKeys", "input", "issues")
    details = {key: cause.details[key] for key in told if key in cause.details}
    hint = cause.details.get("hint") or cause.hint
    return EngineError(
        ErrorCode.SKILL_VALIDATION_FAILED,
        f"Skill {skill_id[:_SHOWN]} is not valid: {artifact}: {cause.message}",
        hint=hint or None,
        details={
            "skillId": skill_id[:_SHOWN],
            "artifact": artifact,
            "code": cause.code.value,
            "reason": cause.message,
            **details,
            **({"hint": hint} if hint else {}),
        },
    )
