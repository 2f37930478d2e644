"""Validate skills: schema, files, ``skill.json``, and artifacts as executions (skills.md#validating)."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from clawperator.engine.contracts.issues import shown
from clawperator.engine.contracts.skill import Skill, SkillRegistry
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file
from clawperator.engine.skills.json_template import PLACEHOLDER
from clawperator.engine.skills.registry import MAX_FILE_BYTES, LeftOut, Registry, read_document, texts_of

MIRRORED = ("id", "applicationId", "intent", "summary", "path", "skillFile", "scripts", "artifacts")
"""Keys that must be equal in a registry entry and in ``skill.json``."""
_OPTIONAL = frozenset({"artifacts"})
_JSON = ".json"
_RECIPE = ".recipe.md"
_SHOWN = 200
ARTIFACT_INVALID = "ARTIFACT_INVALID"
"""The warning about an artifact that does not compile."""


class SkillProblem(NamedTuple):
    """One problem: the ``file``, the JSON ``path`` in it, and a message."""

    file: str
    path: str
    message: str


def validate_skill(registry: Registry, skill_id: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Check one skill and return the result of ``skills validate <id>``.

    Raises ``SKILL_NOT_FOUND``, and ``SKILL_VALIDATION_FAILED`` with all problems in ``details``: ``reason``, ``missingFields``,
    ``problems`` (file, JSON path, message), ``missingFiles``, ``mismatchFields``; for an invalid artifact ``artifact``, ``path``,
    ``reason``, ``actionId``, ``actionType``, ``invalidKeys``, ``hint``.
    """
    _refuse_left_out(registry, skill_id)
    place = registry.skills.index(registry.get(skill_id))
    checked = _check(registry, place, dry_run=dry_run)
    return {"valid": True, "registryPath": registry.path, **checked}


def validate_all(registry: Registry, *, dry_run: bool = False) -> dict[str, Any]:
    """Check every skill and the registry, and return the result of ``skills validate --all``.

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
    problems = [problem._asdict() for problem in registry_problems(registry)]
    if failures or problems:
        details = {
            "totalSkills": total,
            "validCount": len(valid),
            "invalidCount": len(failures),
            "failures": failures,
            **({"problems": problems} if problems else {}),
        }
        message = f"{len(failures)} of {total} skills are not valid" if failures else problems[0]["message"]
        extra = {"registryPath": registry.path}
        raise EngineError(ErrorCode.SKILL_VALIDATION_FAILED, message, details=details, extra=extra)
    return {
        "valid": True,
        "totalSkills": total,
        "registryPath": registry.path,
        "validSkills": valid,
    }


def _refuse_left_out(registry: Registry, skill_id: str) -> None:
    """Raise ``SKILL_VALIDATION_FAILED`` for a skill whose entry was ignored."""
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
    """Yield the problems of the registry apart from its entries, and duplicate ids."""
    head = {key: value for key, value in read_document(registry.path, registry.source).items() if key != "skills"}
    yield from schema_problems(SkillRegistry, {**head, "skills": []}, registry.path, "$")
    counts = Counter(entry["id"] for entry in registry.skills if isinstance(entry.get("id"), str))
    for skill_id, count in counts.items():
        if count > 1:
            yield SkillProblem(registry.path, "$.skills", f"{count} entries have the id {skill_id[:_SHOWN]}")


def entry_problems(entry: Mapping[str, Any], file: str, pointer: str) -> Iterator[SkillProblem]:
    """Yield the schema problems of an entry or a ``skill.json``; ``pointer`` is its JSON path in ``file``."""
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
    """Yield the differences between ``value`` and ``model``."""
    try:
        model.model_validate(value)
    except ValidationError as exc:
        for error in exc.errors(include_url=False, include_context=False, include_input=False):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
            yield SkillProblem(file, f"{pointer}{place}"[:_SHOWN], error["msg"])


def run_warnings(registry: Registry, skill_id: str) -> list[dict[str, Any]]:
    """Return problems that do not prevent the script from running, as ``{code, path, message}``. Raises ``SKILL_NOT_FOUND``."""
    found = []
    for artifact in texts_of(registry.get(skill_id), "artifacts"):
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
        reported = {warning["path"] for warning in found}
        problems = [SkillProblem(**problem) for problem in exc.details.get("problems", ())]
        missing = [file for file in exc.details.get("missingFiles", ()) if file not in reported]
        lines = _lines(problems, missing, exc.details.get("mismatchFields", ()))
        if not lines and not exc.details.get("missingFiles"):
            lines = [exc.message]
        found += [{"code": exc.code.value, "path": "", "message": line} for line in lines]
    return found


# -- one skill


def _check(registry: Registry, place: int, *, dry_run: bool) -> dict[str, Any]:
    """Return the result for the entry at ``place``. Raises ``SKILL_VALIDATION_FAILED``."""
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
        path = places[skill_json]
        if (own := read_entry(path, problems, path)) is not None:
            problems += entry_problems(own, path, "$")
            mismatches = [key for key in MIRRORED if _value(own, key) != _value(entry, key)]
    if problems or missing or mismatches:
        raise _invalid(
            skill_id,
            _summary(problems, missing, mismatches),
            problems=[problem._asdict() for problem in problems],
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
    """Check the types of the fields that name files, which the other checks rely on."""
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


def read_entry(path: str, problems: list[SkillProblem], file: str) -> dict[str, Any] | None:
    """Return the object in ``skill.json``; on failure ``None``, with the reason under the name ``file`` in ``problems``."""
    try:
        value = parse_json(read_file(path, MAX_FILE_BYTES))
        if isinstance(value, dict):
            return value
        reason = "it is not an object"
    except OSError as exc:
        reason = exc.strerror or str(exc)
    except EngineError as exc:
        reason = exc.message
    problems.append(SkillProblem(file, "$", reason))
    return None


def _value(entry: Mapping[str, Any], key: str) -> object:
    return entry.get(key, [] if key in _OPTIONAL else None)


def _summary(problems: list[SkillProblem], missing: list[str], mismatches: list[str]) -> str:
    """Return the first problem and the number of further ones."""
    lines = _lines(problems, missing, mismatches)
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return f"{lines[0]}{more}"


def _lines(problems: Iterable[SkillProblem], missing: Iterable[str], mismatches: Iterable[str]) -> list[str]:
    return [
        *(f"{problem.file}: {problem.path}: {problem.message}" for problem in problems),
        *(f"{relative} is missing" for relative in missing),
        *(f"skill.json and the registry differ in {key}" for key in mismatches),
    ]


def _name(entry: Mapping[str, Any]) -> str:
    named = entry.get("id")
    return shown(named, _SHOWN) if isinstance(named, str) else "<no id>"


def _invalid(skill_id: str, reason: str, /, **details: Any) -> EngineError:
    named = skill_id[:_SHOWN]
    given = {key: value for key, value in details.items() if value}
    message = f"Skill {named} is not valid: {reason}"
    return EngineError(ErrorCode.SKILL_VALIDATION_FAILED, message, details={"skillId": named, **given})


# -- artifacts as executions


def _dry_run(registry: Registry, skill_id: str, artifacts: list[str]) -> dict[str, Any]:
    """Compile every artifact with sample values."""
    checked = [artifact for artifact in artifacts if artifact.casefold().endswith((_JSON, _RECIPE))]
    if not checked:
        reason = "the skill has no artifacts" if not artifacts else "the skill has no artifact that compiles"
        return {"payloadValidation": "skipped", "reason": reason}
    for artifact in checked:
        _check_artifact(registry, skill_id, artifact)
    return {"payloadValidation": "passed", "artifacts": checked}


def _check_artifact(registry: Registry, skill_id: str, artifact: str) -> None:
    """Raise ``SKILL_VALIDATION_FAILED`` with the problem of the artifact in ``details``."""
    try:
        if artifact.casefold().endswith(_JSON):
            _check_template(registry.place(skill_id, artifact))
        else:
            _check_recipe(registry, skill_id, artifact)
    except EngineError as exc:
        raise _bad_artifact(skill_id, artifact, exc) from exc


def _check_template(path: str) -> None:
    """Validate a JSON template as an execution, ignoring values with placeholders."""
    from clawperator.engine.executions.validate import validate

    try:
        content = read_file(path, MAX_FILE_BYTES)
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
    """Return whether the value at ``path`` contains a placeholder, so that it cannot be validated yet."""
    value = template
    for part in path.split("."):
        try:
            value = value[int(part) if isinstance(value, list) else part]
        except (LookupError, TypeError, ValueError):
            return False
    return isinstance(value, str) and PLACEHOLDER.search(value) is not None


def _check_recipe(registry: Registry, skill_id: str, artifact: str) -> None:
    """Compile a recipe with sample values."""
    from clawperator.engine.skills.artifact import compile_artifact, sample_variables

    name = artifact.rsplit("/", 1)[-1]
    compile_artifact(registry, skill_id, name, json.dumps(sample_variables(registry, skill_id, name)))


def _bad_artifact(skill_id: str, artifact: str, cause: EngineError) -> EngineError:
    kept = ("file", "line", "stepId", "path", "reason", "actionId", "actionType", "invalidKeys", "input", "issues")
    details = {key: cause.details[key] for key in kept if key in cause.details}
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
