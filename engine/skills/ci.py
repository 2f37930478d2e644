"""Everything that a skills repository should pass: validate, index and lint. Uses no device and writes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.index import GENERATED, SKILL_JSON, check_index, skill_folders
from clawperator.engine.skills.lint import Finding, LintRules, has_errors, lint_all
from clawperator.engine.skills.registry import Registry
from clawperator.engine.skills.validation import validate_all

CHECKS: Mapping[str, str] = {
    "validate": "registry, skill.json and files are valid and match, and every artifact compiles",
    "index": "the registry and its indexes match the skill folders",
    "lint": "no personal literals, blocked terms or bad practice, and the policy allows the capabilities",
}
"""Every check with its description, in the order of the report."""


def run_ci(registry: Registry, rules: LintRules) -> list[dict[str, Any]]:
    """Return every check as ``{id, ok, about, findings}``; it fails on any error. Blocks."""
    found = {"validate": [*_validate(registry)], "index": [*_index(registry)], "lint": lint_all(registry, rules)}
    return [
        {"id": name, "ok": not has_errors(found[name]), "about": about, "findings": [f._asdict() for f in found[name]]}
        for name, about in CHECKS.items()
    ]


def _validate(registry: Registry) -> Iterator[Finding]:
    try:
        validate_all(registry, dry_run=True)
    except EngineError as exc:
        for failure in exc.details.get("failures", ()):
            yield Finding(failure["skillId"], 0, failure["code"], "error", failure["message"])
        for problem in exc.details.get("problems", ()):
            message = f"{problem['path']}: {problem['message']}"
            yield Finding(os.path.relpath(problem["file"], registry.root), 0, exc.code.value, "error", message)
    registered = {os.path.normpath(entry["path"]) for entry in registry.skills if isinstance(entry.get("path"), str)}
    for folder in skill_folders(registry.root):
        if folder not in registered:
            code, message = ErrorCode.SKILL_VALIDATION_FAILED.value, "the skill is not in the registry"
            yield Finding(f"{folder}/{SKILL_JSON}", 0, code, "error", message)


def _index(registry: Registry) -> Iterator[Finding]:
    if not os.path.lexists(os.path.join(registry.root, GENERATED)):
        message = "the repository has no index files. Create them with `clawperator skills index`"
        yield Finding(GENERATED, 0, "INDEX_ABSENT", "info", message)
        return
    try:
        for difference in check_index(registry.root):
            message = f"{difference.kind}: run `clawperator skills index`"
            yield Finding(difference.file, 0, "INDEX_DIFFERS", "error", message)
    except EngineError as exc:
        yield Finding(os.path.relpath(registry.path, registry.root), 0, exc.code.value, "error", exc.message)
