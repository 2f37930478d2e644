"""Run all checks of a skills repository (skills.md#validating). Uses no device and writes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.artifact import RECIPE, TEMPLATE, compile_artifact, required_inputs, sample_variables
from clawperator.engine.skills.index import GENERATED, SKILL_JSON, check_index
from clawperator.engine.skills.lint import SEVERITIES, Finding, LintRules, has_errors, lint_registered
from clawperator.engine.skills.registry import FOLDER, Registry, texts_of
from clawperator.engine.skills.validation import validate_all, validate_skill

METADATA, REGISTRY, FILES, INDEX = "metadata", "registry", "files", "index"
RECIPES, TEMPLATES, COMPILE, INPUTS = "recipes", "templates", "compile", "inputs"
LITERALS, POLICY, LINT = "literals", "policy", "lint"
CHECKS: Mapping[str, str] = {
    METADATA: "every skill.json is valid and matches the registry",
    REGISTRY: "the registry matches its schema",
    FILES: "every registered file exists, every skill folder is registered",
    INDEX: "the indexes match the skill folders",
    RECIPES: "Markdown, front matter and steps of recipes are valid",
    TEMPLATES: "JSON templates are valid executions",
    COMPILE: "artifacts compile, and compile to the same bytes twice",
    INPUTS: "required inputs are required and used",
    LITERALS: "no personal or device-specific literals, no blocked terms",
    POLICY: "the policy allows the declared capabilities",
    LINT: "the other lints",
}
"""Every check with its description, in the order of the report."""
_STALE, _UNSTABLE, _NOT_ASKED = "INDEX_DIFFERS", "COMPILE_NOT_DETERMINISTIC", "INPUT_NOT_REQUIRED"
_ABSENT = "INDEX_ABSENT"


@dataclass(frozen=True, slots=True)
class CiCheck:
    """One check and its findings; it fails on any error."""

    id: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)

    def to_dict(self) -> dict[str, Any]:
        findings = [finding._asdict() for finding in self.findings]
        return {"id": self.id, "ok": self.ok, "about": CHECKS[self.id], "findings": findings}


def run_ci(registry: Registry, rules: LintRules) -> list[CiCheck]:
    """Run all checks of the registry and its skills; blocks."""
    report: dict[str, list[Finding]] = {check: [] for check in CHECKS}

    def put(check: str, file: str, code: str, message: str, line: int = 0) -> None:
        report[check].append(Finding(file, line, str(code), "error", message))

    broken = _metadata(registry, put)
    _unregistered(registry, put)
    _index(registry, report[INDEX], put)
    for skill_id in _ids(registry):
        if skill_id in broken:  # its files cannot be read
            continue
        for finding in lint_registered(registry, skill_id, rules):
            report[_check_of(finding.code)].append(finding)
        _compile(registry, skill_id, put)
    return [CiCheck(check, tuple(findings)) for check, findings in report.items()]


Put = Callable[..., None]


def _ids(registry: Registry) -> Iterator[str]:
    yield from dict.fromkeys(entry["id"] for entry in registry.skills if isinstance(entry.get("id"), str))


# -- registry, metadata, files


def _metadata(registry: Registry, put: Put) -> set[str]:
    """Report what ``skills validate --all`` finds; return the ids of skills whose files cannot be read."""
    try:
        validate_all(registry)
    except EngineError as exc:
        for problem in exc.details.get("problems", ()):
            _put_problem(registry, problem, exc.code, put)
        return {
            str(failure["skillId"]) for failure in exc.details.get("failures", ()) if _failed(registry, failure, put)
        }
    return set()


def _failed(registry: Registry, failure: Mapping[str, Any], put: Put) -> bool:
    details, code, name = failure.get("details", {}), failure["code"], failure["skillId"]
    reported = False
    for problem in details.get("problems", ()):
        _put_problem(registry, problem, code, put)
        reported = True
    for file in details.get("missingFiles", ()):
        put(FILES, file, code, f"{name}: the file is missing")
        reported = True
    for field in details.get("mismatchFields", ()):
        put(METADATA, SKILL_JSON, code, f"{name}: {field} differs from the registry")
        reported = True
    if not reported:
        put(REGISTRY, _relative(registry, registry.path), code, failure["message"])
    return not reported or bool(details.get("missingFiles"))


def _put_problem(registry: Registry, problem: Mapping[str, str], code: str, put: Put) -> None:
    check = REGISTRY if problem["file"] == registry.path else METADATA
    put(check, _relative(registry, problem["file"]), code, f"{problem['path']}: {problem['message']}")


def _unregistered(registry: Registry, put: Put) -> None:
    registered = {os.path.normpath(entry["path"]) for entry in registry.skills if isinstance(entry.get("path"), str)}
    for place, folders, names in os.walk(os.path.join(registry.root, FOLDER)):
        folders.sort()
        folder = _relative(registry, place)
        if SKILL_JSON in names and folder not in registered:
            put(FILES, f"{folder}/{SKILL_JSON}", ErrorCode.SKILL_VALIDATION_FAILED, "the skill is not in the registry")


def _index(registry: Registry, report: list[Finding], put: Put) -> None:
    if not os.path.lexists(os.path.join(registry.root, GENERATED)):
        message = "the repository has no index files. Create them with `clawperator skills index`"
        report.append(Finding(GENERATED, 0, _ABSENT, "info", message))
        return
    try:
        for difference in check_index(registry.root):
            put(INDEX, difference.file, _STALE, f"{difference.kind}: run `clawperator skills index`")
    except EngineError as exc:
        put(INDEX, _relative(registry, registry.path), exc.code, exc.message)


# -- files


def _check_of(code: str) -> str:
    if code.startswith("L-LITERAL-"):
        return LITERALS
    if code.startswith("L-CAP-"):
        return POLICY
    if code.startswith(("L-INPUT-", "RECIPE_INPUT_")):
        return INPUTS
    return LINT if code in SEVERITIES else RECIPES if code.startswith("RECIPE_") else FILES


def _compile(registry: Registry, skill_id: str, put: Put) -> None:
    artifacts = texts_of(registry.get(skill_id), "artifacts")
    for path in artifacts:
        name = path.rpartition("/")[2]
        if name.lower().endswith(TEMPLATE):
            _twice(registry, skill_id, path, put, strict=False)
        elif name.lower().endswith(RECIPE):
            _twice(registry, skill_id, path, put, strict=True)
            _required(registry, skill_id, path, put)
    if any(path.lower().endswith(TEMPLATE) for path in artifacts):
        try:
            validate_skill(registry, skill_id, dry_run=True)
        except EngineError as exc:
            if (artifact := str(exc.details.get("artifact", ""))).lower().endswith(TEMPLATE):
                put(TEMPLATES, artifact, exc.code, exc.message)


def _twice(registry: Registry, skill_id: str, path: str, put: Put, *, strict: bool) -> None:
    """Compile twice and compare. A template may reject sample values; a recipe, which declares its inputs, may not."""
    outcomes: list[str] = []
    for _ in range(2):
        try:
            name = path.rpartition("/")[2]
            variables = json.dumps(sample_variables(registry, skill_id, name))
            compiled = compile_artifact(registry, skill_id, name, variables)
            outcomes.append(json.dumps(compiled.to_dict(), ensure_ascii=False))
        except EngineError as exc:
            outcomes.append(json.dumps(exc.to_dict(), default=str))
            if strict and len(outcomes) == 1:
                line = exc.details.get("line", 0)
                put(COMPILE, path, exc.code.value, exc.message, line if isinstance(line, int) else 0)
    if len(set(outcomes)) > 1:
        put(COMPILE, path, _UNSTABLE, "compiling the same recipe with the same values gave different bytes")


def _required(registry: Registry, skill_id: str, path: str, put: Put) -> None:
    """Check that a recipe does not compile without its required inputs."""
    name = path.rpartition("/")[2]
    try:
        if not required_inputs(registry, skill_id, name):
            return
        compile_artifact(registry, skill_id, name, "{}")
    except EngineError as exc:
        if exc.code is ErrorCode.RECIPE_INPUT_INVALID:
            put(INPUTS, path, exc.code.value, exc.message)
        return  # other errors are found by compiling
    put(INPUTS, path, _NOT_ASKED, "the recipe compiles without a required input")


def _relative(registry: Registry, path: str) -> str:
    return os.path.relpath(path, registry.root).replace(os.sep, "/")
