"""``skills lint|ci`` as command lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.engine.skills.repositories import NOBODY, Repository

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

GIT_PATH = os.environ["PATH"]
SKILL = "com.example.shop.search"


@pytest.fixture
def repository(tmp_path: Path, lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The current folder is one."""
    for name, value in {**NOBODY, "PATH": GIT_PATH}.items():
        monkeypatch.setenv(name, value)
    made = Repository.made(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize("scope", [["--all"], [SKILL]])
def test_the_skills_that_come_along(cli: Cli, scope: list[str]) -> None:
    run = cli("skills", "lint", *scope, "--registry", "builtin")
    assert (run.exit_code, run.err) == (0, "")
    assert (run.document["ok"], run.document["counts"]["error"]) == (True, 0)


def test_one_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("x\nask jane@example.com\n")
    run = cli("skills", "lint", "--file", str(file))
    assert run.exit_code == 1
    message = "this text looks like an email address"
    finding = {"file": str(file), "line": 2, "code": "L-LITERAL-EMAIL", "severity": "error", "message": message}
    assert run.document == {"ok": False, "findings": [finding], "counts": {"error": 1, "warning": 0, "info": 0}}
    pretty = cli("skills", "lint", "--file", str(file), "--output", "pretty")
    assert pretty.exit_code == 1
    assert pretty.out == f"{file}:2: L-LITERAL-EMAIL {message}\n1 error\n"


def test_remarks_are_no_failure(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "x.recipe.md"
    file.write_text("---\na: 1\n---\n")
    assert cli("skills", "lint", "--file", str(file)).exit_code == 1  # it does not compile
    file = tmp_path / "x.md"
    file.write_text("nothing\n")
    run = cli("skills", "lint", "--file", str(file), "--output", "pretty")
    assert (run.exit_code, run.out) == (0, "no findings\n")


def test_hostile_names_and_texts(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "\x1b[2J\u202e.md"
    file.write_text("emulator-5554\n")
    run = cli("skills", "lint", "--file", str(file), "--output", "pretty")
    assert "\x1b" not in run.out
    assert "\u202e" not in run.out


@pytest.mark.parametrize("words", [[], [SKILL, "--all"], ["--all", "--staged"], ["--file", "x", SKILL]])
def test_exactly_one_scope(cli: Cli, words: list[str]) -> None:
    run = cli("skills", "lint", *words)
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")


def test_files_and_skills_that_are_not_there(cli: Cli) -> None:
    assert cli("skills", "lint", "--file", "missing").document["code"] == "REGISTRY_READ_FAILED"
    assert cli("skills", "lint", "nobody", "--registry", "builtin").document["code"] == "SKILL_NOT_FOUND"


def test_the_policy_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('version = 1\nactiveProfile = "x"\n[profiles.x.capabilities]\ndeny = ["type_text"]\n')
    run = cli("skills", "lint", SKILL, "--registry", "builtin", "--policy", str(policy))
    assert run.exit_code == 1
    assert {finding["code"] for finding in run.document["findings"] if finding["severity"] == "error"} == {
        "L-CAP-COMBO"
    }
    run = cli("skills", "lint", SKILL, "--registry", "builtin", "--policy", str(tmp_path / "missing.toml"))
    assert (run.exit_code, run.document["code"]) == (1, "FILE_NOT_READABLE")


def test_blocked_terms(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".clawperator").mkdir()
    (tmp_path / ".clawperator" / "blocked-terms.txt").write_text("# mine\nSecret Street\n")
    file = tmp_path / "a.sh"
    file.write_text("echo SECRET street\n")
    run = cli("skills", "lint", "--file", str(file))
    assert [finding["code"] for finding in run.document["findings"]] == ["L-LITERAL-BLOCKED"]
    assert run.document["findings"][0]["message"] == "this text contains the blocked term secret street"
    other = tmp_path / "terms.txt"
    other.write_text("echo\n")
    named = cli("skills", "lint", "--file", str(file), "--terms-file", str(other))
    assert "blocked term echo" in named.document["findings"][0]["message"]
    missing = cli("skills", "lint", "--file", str(file), "--terms-file", str(tmp_path / "none"))
    assert (missing.exit_code, missing.document["code"]) == (1, "FILE_NOT_READABLE")


def test_a_guard_without_a_list_says_so(cli: Cli, repository: Repository, tmp_path: Path) -> None:
    repository.commit("for Anna", {"a.md": "x\n"})
    for scope in ("--staged", "--history"):
        run = cli("skills", "lint", scope)
        assert (run.exit_code, run.document["findings"]) == (0, [])
        assert [warning["code"] for warning in run.document["warnings"]] == ["BLOCKED_TERMS_MISSING"]
    assert "No blocked terms are configured" in cli("skills", "lint", "--staged", "--output", "pretty").out
    terms = tmp_path / "terms.txt"
    terms.write_text("anna\n")
    run = cli("skills", "lint", "--history", "--terms-file", str(terms))
    assert (run.exit_code, "warnings" in run.document, len(run.document["findings"])) == (1, False, 1)


@pytest.mark.usefixtures("lonely")
def test_an_empty_folder_gets_a_registry(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    run = cli("skills", "lint", "--all")
    path = tmp_path / "empty" / "skills" / "skills-registry.json"
    assert (run.exit_code, run.document["findings"]) == (0, [])
    assert [(warning["code"], warning["path"]) for warning in run.document["warnings"]] == [
        ("REGISTRY_CREATED", str(path))
    ]
    assert "warnings" not in cli("skills", "lint", "--all").document
    path.unlink()
    made = cli("skills", "new", "com.foo-bar.app.read-status", "--lang", "sh")
    assert (made.exit_code, made.document["registryCreated"], made.document["registryPath"]) == (0, True, str(path))
    again = cli("skills", "new", "com.foo-bar.app.other", "--lang", "sh")
    assert "registryCreated" not in again.document
    assert cli("skills", "validate", "--all").exit_code == 0
    checked = cli("skills", "ci").document
    assert checked["failed"] == []
    (index,) = (check for check in checked["checks"] if check["id"] == "index")
    assert [(finding["code"], finding["severity"]) for finding in index["findings"]] == [("INDEX_ABSENT", "info")]


@pytest.mark.usefixtures("lonely")
def test_a_refused_skill_leaves_an_empty_folder_empty(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert cli("skills", "new", "nodot").document["code"] == "SKILL_ID_INVALID"
    assert list((tmp_path / "empty").iterdir()) == []
    skill = tmp_path / "empty" / "skills" / "com.example.app.there"
    skill.mkdir(parents=True)
    assert cli("skills", "new", skill.name).document["code"] == "SKILL_ALREADY_EXISTS"
    assert list(skill.parent.iterdir()) == [skill]


def test_staged(cli: Cli, repository: Repository) -> None:
    repository.commit("one", {"old.md": "emulator-5554\n"})
    assert cli("skills", "lint", "--staged").document["findings"] == []
    repository.write("old.md", "emulator-5554\nemulator-5556\n")
    repository.git("add", "--all")
    run = cli("skills", "lint", "--staged")
    assert (run.exit_code, [finding["line"] for finding in run.document["findings"]]) == (1, [2])


def test_ci(cli: Cli) -> None:
    run = cli("skills", "ci", "--registry", "builtin")
    assert (run.exit_code, run.document["ok"], run.document["failed"]) == (0, True, [])
    assert all(check["ok"] for check in run.document["checks"])
    pretty = cli("skills", "ci", "--registry", "builtin", "--output", "pretty")
    assert "failed" not in pretty.out
    assert pretty.out.startswith("ok      validate")


def test_ci_that_fails(cli: Cli, tmp_path: Path) -> None:
    registry = tmp_path / "skills" / "skills-registry.json"
    registry.parent.mkdir()
    registry.write_text('{"skills":[]}')
    run = cli("skills", "ci", "--registry", str(registry))
    assert run.exit_code == 1
    assert "validate" in run.document["failed"]
    assert "failed  validate" in cli("skills", "ci", "--registry", str(registry), "--output", "pretty").out
