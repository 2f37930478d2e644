"""Lint the files of skills (skills.md#lints)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.policy import Profile
from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file
from clawperator.engine.skills.blocked_terms import BlockedTerms, load_blocked
from clawperator.engine.skills.literals import WORDS, literals
from clawperator.engine.skills.recipe.selectors import LITERAL_ANNOTATED
from clawperator.engine.skills.recipe.source import read_source
from clawperator.engine.skills.recipe_lints import LintMessage, remarks
from clawperator.engine.skills.registry import ENTRY_INVALID, Registry

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.skills.staged import Committed, StagedFile

Severity = Literal["error", "warning", "info"]

SEVERITIES: Mapping[str, Severity] = {
    "L-LITERAL-SERIAL": "error",
    "L-LITERAL-EMAIL": "error",
    "L-LITERAL-PHONE": "error",
    "L-LITERAL-PATH": "error",
    "L-LITERAL-BLOCKED": "error",
    LITERAL_ANNOTATED: "error",
    "L-INPUT-DEFAULT-PII": "warning",
    "L-INPUT-UNUSED": "warning",
    "L-INDEX-TARGET": "warning",
    "L-NO-RESOURCE-ID": "info",
    "L-NO-WAIT-AFTER-OPEN": "warning",
    "L-CAP-UNUSED": "warning",
    "L-CAP-COMBO": "error",
    "L-STRAY-BLOCK": "info",
    "L-MISSING-RECOMMENDED": "info",
    "L-STALE": "info",
    "L-PERCENT": "warning",
    "L-CONTRACT-INPUT": "warning",
    "L-CONTRACT-TYPE": "info",
    "L-CONTRACT-VERIFICATION": "warning",
}
"""Every lint. A recipe that does not compile is reported under the code of its error."""
RECIPE = ".recipe.md"
SKILL_JSON = "skill.json"
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_FILES = 2_000
"""Of one skill; larger files are not source text."""
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", "__pycache__"})
_BINARY_AFTER = 8_000


class Finding(NamedTuple):
    """One finding; ``code`` is a lint or an error code. ``message`` repeats no text of the file except blocked terms."""

    file: str
    line: int
    code: str
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class LintRules:
    """The context of the lints: the current date, the policy, and the user's blocked terms."""

    today: date
    profile: Profile
    blocked: BlockedTerms

    @classmethod
    def of(cls, settings: Settings, terms_file: str | None = None) -> Self:
        """Return the rules of today, with the blocked terms of ``terms_file`` or the user. Raises ``EngineError``."""
        today = datetime.now().astimezone().date()
        return cls(today, load_profile(settings), load_blocked(settings.environment, terms_file))


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def lint_text(text: str, file: str, rules: LintRules) -> list[Finding]:
    """Return the findings in one text, by line; ``file`` is its name, whose suffix identifies a recipe. Pure."""
    found = [*_literals(text), *_blocked(text, rules.blocked)]
    if file.casefold().endswith(RECIPE):
        found += _recipe(text, file, rules)
    if os.path.basename(file) == SKILL_JSON:
        found += _contract(text)
    unique = sorted(set(found))
    return [Finding(file, line, code, SEVERITIES.get(code, "error"), message) for line, code, message in unique]


def _literals(text: str) -> Iterator[LintMessage]:
    line, reached = 1, 0
    for literal in literals(text):
        line += text.count("\n", reached, literal.start)
        reached = literal.start
        yield LintMessage(line, literal.code, f"this text {WORDS[literal.code]}")


def _blocked(text: str, blocked: BlockedTerms) -> Iterator[LintMessage]:
    for line, term in blocked.lines(text):
        yield LintMessage(line, "L-LITERAL-BLOCKED", f"this text contains the blocked term {shown(term)}")


def _recipe(text: str, file: str, rules: LintRules) -> Iterator[LintMessage]:
    from clawperator.engine.skills.recipe.rules import read_recipe

    try:
        source = read_source(text, file)
    except EngineError as exc:
        yield _broken(exc)
        return
    recipe = None
    try:
        recipe = read_recipe(source)
    except EngineError as exc:
        if exc.details.get("lint") != LITERAL_ANNOTATED:  # reported by the lint
            yield _broken(exc)
    yield from remarks(source, recipe, rules.profile, rules.today)


def _contract(text: str) -> Iterator[LintMessage]:
    """Yield the findings in the inputs and the verification that a ``skill.json`` declares."""
    from clawperator.engine.skills.script_inputs import contract_remarks

    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):  # reported by `skills validate`
        return
    for word, code, message in contract_remarks(entry):
        yield LintMessage(1 + text.count("\n", 0, max(0, text.find(json.dumps(word)))), code, message)


def _broken(error: EngineError) -> LintMessage:
    """Return the error of a recipe as a finding; that of a literal equals the finding in the text."""
    place = error.details.get("line")
    line = place if isinstance(place, int) else 1
    lint = error.details.get("lint")
    if error.code is ErrorCode.RECIPE_LITERAL_FORBIDDEN and lint in WORDS:
        return LintMessage(line, lint, f"this text {WORDS[lint]}")
    file = error.details.get("file", "")
    message = error.message.removeprefix(f"{file}:{line}: ").removeprefix(f"{file}: ")
    return LintMessage(line, error.code.value, message)


# -- files


def lint_files(files: Iterable[tuple[str, str]], rules: LintRules) -> list[Finding]:
    """Return the findings in files: (path, name in the findings). Raises REGISTRY_READ_FAILED."""
    found: list[Finding] = []
    for path, name in files:
        try:
            found += _file(path, name, rules)
        except OSError as exc:
            reason = exc.strerror or str(exc)
            message = f"{name} cannot be read: {reason}"
            raise EngineError(
                ErrorCode.REGISTRY_READ_FAILED, message, details={"path": path, "reason": reason}
            ) from exc
    return found


def lint_all(registry: Registry, rules: LintRules) -> list[Finding]:
    """Return the findings in every skill, and the ignored registry entries; blocks."""
    file = os.path.relpath(registry.path, registry.root)
    found = [Finding(file, 0, ENTRY_INVALID, "error", warning["message"]) for warning in registry.warnings]
    for entry in registry.skills:
        found += lint_registered(registry, entry["id"], rules)
    return found


def lint_registered(registry: Registry, skill_id: str, rules: LintRules) -> list[Finding]:
    """Return the findings in a skill's files; an unreadable file is a finding."""
    try:
        return lint_skill(registry, skill_id, rules)
    except EngineError as exc:
        return [Finding(skill_id, 0, exc.code.value, "error", exc.message)]


def lint_skill(registry: Registry, skill_id: str, rules: LintRules) -> list[Finding]:
    """Return the findings in every text file of a skill's folder. Raises SKILL_NOT_FOUND, REGISTRY_READ_FAILED."""
    return lint_files(skill_files(registry, skill_id), rules)


def skill_files(registry: Registry, skill_id: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a skill: real path, and path below the registry's root. Rejects links that leave the root."""
    entry = registry.get(skill_id)
    folder = registry.place(skill_id, str(entry.get("path", "")))
    if not os.path.isdir(folder):
        reason = "the folder of the skill is missing"
        details = {"skillId": skill_id, "path": folder, "reason": reason}
        raise EngineError(ErrorCode.REGISTRY_READ_FAILED, f"{folder}: {reason}", details=details)
    root = os.path.realpath(registry.root)
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        for name in sorted(names):
            relative = os.path.relpath(os.path.join(place, name), root)
            count += 1
            if count > MAX_FILES:
                message = f"The skill {skill_id} has more than {MAX_FILES} files"
                raise EngineError(ErrorCode.REGISTRY_READ_FAILED, message, details={"skillId": skill_id})
            yield registry.place(skill_id, relative), relative


def _file(path: str, name: str, rules: LintRules) -> list[Finding]:
    if not os.path.isfile(path) or os.path.getsize(path) > MAX_FILE_BYTES:
        os.stat(path)  # raises for a missing file
        return []
    return lint_bytes(read_file(path, MAX_FILE_BYTES), name, rules)


def lint_bytes(content: bytes, name: str, rules: LintRules) -> list[Finding]:
    """Return the findings in a file's content; none in a binary file."""
    if b"\0" in content[:_BINARY_AFTER] and not name.casefold().endswith(RECIPE):
        return []
    return lint_text(content.decode("utf-8-sig", errors="replace"), name, rules)


def lint_history(commits: Iterable[Committed], blocked: BlockedTerms) -> list[Finding]:
    """Return the blocked terms in added lines and messages of commits."""
    return [
        Finding(added.place, added.line, remark.code, SEVERITIES[remark.code], remark.message)
        for added in commits
        for remark in _blocked(added.text, blocked)
    ]


def lint_staged(files: Iterable[StagedFile], rules: LintRules) -> list[Finding]:
    """Return the findings in lines that a commit would add, and recipes that it would break."""
    return [
        finding
        for staged in files
        for finding in lint_bytes(staged.content, staged.name, rules)
        if finding.line in staged.added or finding.code not in SEVERITIES
    ]
