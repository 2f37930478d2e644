"""``skills ci``: each check fails for its own reason, and for no other one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.config.policy import DEFAULT, Profile
from clawperator.engine.config.policy import Rules as Allowed
from clawperator.engine.skills.blocked_terms import BlockedTerms, read_terms
from clawperator.engine.skills.ci import CHECKS, run_ci
from clawperator.engine.skills.index import write_index
from clawperator.engine.skills.lint import LintRules
from clawperator.engine.skills.registry import Registry, builtin_path, load_registry
from tests.support import OWNER

TODAY = date(2026, 3, 1)
SKILL = "com.example.shop.search"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the skills that come along."""
    copied = tmp_path / "root"
    shutil.copytree(Path(builtin_path()).parents[1], copied)
    return copied


def opened(root: Path) -> Registry:
    return load_registry(str(root / "skills" / "skills-registry.json"))


def failed(
    root: Path, *, blocked: BlockedTerms | None = None, profile: Profile = DEFAULT
) -> Mapping[str, list[tuple[str, str]]]:
    """The checks that failed, with file and code of their errors."""
    checks = run_ci(opened(root), LintRules(TODAY, profile, blocked or BlockedTerms()))
    assert [(check["id"], check["about"]) for check in checks] == list(CHECKS.items())
    return {
        check["id"]: [(one["file"], one["code"]) for one in check["findings"] if one["severity"] == "error"]
        for check in checks
        if not check["ok"]
    }


def file_of(root: Path, pattern: str) -> Path:
    return next(iter(sorted((root / "skills" / SKILL).rglob(pattern))))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def edit_json(path: Path, change: Mapping[str, Any]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def test_the_skills_that_come_along_pass(root: Path) -> None:
    assert failed(root) == {}


def test_metadata(root: Path) -> None:
    edit_json(root / "skills" / SKILL / "skill.json", {"summary": "something else"})
    found = failed(root)
    assert set(found) == {"validate", "index"}
    assert (SKILL, "SKILL_VALIDATION_FAILED") in found["validate"]


def test_registry(root: Path) -> None:
    edit_json(root / "skills" / "skills-registry.json", {"schemaVersion": "9"})
    assert ("skills/skills-registry.json", "SKILL_VALIDATION_FAILED") in failed(root)["validate"]


def test_an_entry_without_its_fields(root: Path) -> None:
    registry = root / "skills" / "skills-registry.json"
    document = json.loads(registry.read_text())
    del document["skills"][0]["skillFile"]
    document["skills"][1]["id"] = 7
    registry.write_text(json.dumps(document))
    assert len(failed(root)["validate"]) >= 2


def test_missing_files(root: Path) -> None:
    file_of(root, "scripts/*").unlink()
    assert (SKILL, "SKILL_VALIDATION_FAILED") in failed(root)["validate"]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_skill_that_is_not_registered(root: Path, indexed: bool) -> None:
    if not indexed:
        shutil.rmtree(root / "skills" / "generated")
    shutil.copytree(root / "skills" / SKILL, root / "skills" / "com.example.shop.copy")
    found = failed(root)
    assert found["validate"] == [("skills/com.example.shop.copy/skill.json", "SKILL_VALIDATION_FAILED")]
    assert ("index" in found) is indexed


def test_index(root: Path) -> None:
    (root / "skills" / "generated" / "skills-index.min.json").write_text("{}")
    assert failed(root) == {"index": [("skills/generated/skills-index.min.json", "INDEX_DIFFERS")]}


def test_recipes(root: Path) -> None:
    recipe = file_of(root, "*.recipe.md")
    replace(recipe, "recipe_type:", "recipe_kind:")
    found = failed(root)
    assert found == {
        "validate": [(SKILL, "SKILL_VALIDATION_FAILED")],
        "lint": [(str(recipe.relative_to(root)), "RECIPE_SCHEMA_INVALID")],
    }


TEMPLATE = {
    "commandId": "{{COMMAND_ID}}",
    "taskId": "{{TASK_ID}}",
    "source": "s",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5000,
    "actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "{{LABEL}}"}}}],
}


def with_template(root: Path, template: object) -> str:
    """The skill gets a JSON template; its path."""
    name = f"skills/{SKILL}/artifacts/open.recipe.json"
    (root / name).write_text(json.dumps(template))
    own = root / "skills" / SKILL / "skill.json"
    edit_json(own, {"artifacts": [*json.loads(own.read_text())["artifacts"], name]})
    write_index(str(root), guard=OWNER)
    return name


def test_templates(root: Path) -> None:
    name = with_template(root, TEMPLATE)
    assert failed(root) == {}
    (root / name).write_text(json.dumps({**TEMPLATE, "actions": [{"id": "a", "type": "dance"}]}))
    assert failed(root) == {"validate": [(SKILL, "SKILL_VALIDATION_FAILED")]}


def test_literals(root: Path) -> None:
    path = file_of(root, "SKILL.md")
    path.write_text(f"{path.read_text()}\nAsk jane@example.com.\n")
    name = str(path.relative_to(root))
    assert failed(root) == {"lint": [(name, "L-LITERAL-EMAIL")]}
    found = failed(root, blocked=read_terms(["ask JANE"]))
    assert found == {"lint": [(name, "L-LITERAL-BLOCKED"), (name, "L-LITERAL-EMAIL")]}


def test_policy(root: Path) -> None:
    careful = Profile(capabilities=Allowed(deny=("type_text",)))
    found = failed(root, profile=careful)
    assert set(found) == {"lint"}
    assert {code for _, code in found["lint"]} == {"L-CAP-COMBO"}


def test_a_link_out_of_the_root(root: Path) -> None:
    (root / "skills" / SKILL / "out").symlink_to("/etc/hostname")
    assert failed(root) == {"lint": [(SKILL, "REGISTRY_READ_FAILED")]}


def test_an_empty_registry(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    document = {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z", "skills": []}
    (tmp_path / "skills" / "skills-registry.json").write_text(json.dumps(document))
    write_index(str(tmp_path), guard=OWNER)
    assert failed(tmp_path) == {}
