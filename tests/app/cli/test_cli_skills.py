"""``skills list|get|search|validate|new|index``: documents as the contract says, words for people, and refusals with a way out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.skills.made import made_registry
from tests.support import patience

if TYPE_CHECKING:
    from clawperator.engine.skills.registry import Registry
    from tests.app.cli.conftest import Cli, ProcessCli

SEARCH = "com.example.shop.search"
BUILTIN = ("--registry", "builtin")


@pytest.fixture
def mine(tmp_path: Path, lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of two skills, found from the folder that one stands in."""
    registry = made_registry(tmp_path / "repo", {"com.a.read": {"run.sh": "#!/bin/sh\n"}, "com.b.read": {"run.py": ""}})
    monkeypatch.chdir(registry.root)
    return registry


def ids(document: dict[str, Any]) -> list[str]:
    return [entry["id"] for entry in document["skills"]]


# -- list, get, search


def test_list(cli: Cli, mine: Registry) -> None:
    run = cli("skills", "list")
    assert (run.exit_code, run.err) == (0, f"[clawperator] Using the skills registry in this folder: {mine.path}\n")
    assert run.document == {"skills": list(mine.skills), "count": 2}


def test_the_flag_the_variable_and_the_name(cli: Cli, mine: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SEARCH in ids(cli("skills", "list", *BUILTIN).document)
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", "builtin")
    assert SEARCH in ids(cli("skills", "list").document)
    assert ids(cli("skills", "list", "--registry", mine.path).document) == ["com.a.read", "com.b.read"]


def test_where_there_is_no_registry_the_way_to_one_is_reported(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = cli("skills", "list")
    assert run.exit_code == 1
    assert run.document["code"] == "REGISTRY_READ_FAILED"
    assert "skills install" in run.document["hint"]
    assert "--registry builtin" in run.document["hint"]
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", str(tmp_path / "none.json"))
    named = cli("skills", "search", "x").document
    assert "CLAWPERATOR_SKILLS_REGISTRY" in named["message"]
    assert str(tmp_path / "none.json") in named["message"]


def test_get(cli: Cli, mine: Registry) -> None:
    assert cli("skills", "get", "com.b.read").document == {"skill": mine.skills[1]}
    unknown = cli("skills", "get", "com.b.raed")
    assert unknown.exit_code == 1
    assert unknown.document["code"] == "SKILL_NOT_FOUND"
    assert unknown.document["message"] == "Skill not found: com.b.raed"
    assert "com.b.read" in unknown.document["hint"]
    assert cli("skills", "get").document["code"] == "USAGE"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["search"], [SEARCH]),
        (["--keyword", "HEATING"], ["com.example.thermostat.read-target", "com.example.thermostat.set-mode"]),
        (["--app", "com.example.thermostat", "--intent", "set-mode"], ["com.example.thermostat.set-mode"]),
        (["thermostat", "--intent", "search"], []),
    ],
    ids=" ".join,
)
def test_search(cli: Cli, words: list[str], expected: list[str]) -> None:
    run = cli("skills", "search", *words, *BUILTIN)
    assert run.exit_code == 0
    assert ids(run.document) == expected
    assert run.document["count"] == len(expected)


@pytest.mark.parametrize("words", [[], ["x", "--keyword", "y"], [""], [" "], ["--keyword", ""]], ids=" ".join)
def test_search_needs_one_filter(cli: Cli, words: list[str]) -> None:
    run = cli("skills", "search", *words, *BUILTIN)
    assert run.exit_code == 1
    assert run.document["code"] == "USAGE"
    assert run.document["example"].startswith("clawperator skills search")


@pytest.mark.parametrize("flag", ["--app", "--intent", "--registry"])
def test_blank_values_choose_nothing_by_accident(cli: Cli, flag: str) -> None:
    run = cli("skills", "search", "x", flag, " ")
    assert run.exit_code == 1
    assert run.document["code"] in ("USAGE", "EXECUTION_VALIDATION_FAILED")


# -- validate


def test_validate(cli: Cli, mine: Registry) -> None:
    one = cli("skills", "validate", "com.a.read", "--dry-run").document
    assert one["valid"] is True
    assert one["registryPath"] == mine.path
    assert one["dryRun"]["payloadValidation"] == "skipped"
    assert set(one["checks"]) == {"skillJsonPath", "skillFilePath", "scriptPaths", "artifactPaths"}
    assert cli("skills", "validate", "--all").document["totalSkills"] == 2


def test_validate_what_is_not_right(cli: Cli, mine: Registry) -> None:
    os.unlink(Path(mine.root) / "skills" / "com.a.read" / "SKILL.md")
    run = cli("skills", "validate", "com.a.read")
    assert run.exit_code == 1
    assert run.document["code"] == "SKILL_VALIDATION_FAILED"
    assert run.document["details"]["missingFiles"] == ["skills/com.a.read/SKILL.md"]
    everything = cli("skills", "validate", "--all")
    assert everything.exit_code == 1
    assert everything.document["registryPath"] == mine.path
    assert everything.document["details"]["invalidCount"] == 1


@pytest.mark.parametrize("words", [[], ["com.a.read", "--all"]], ids=" ".join)
def test_validate_one_or_all(cli: Cli, mine: Registry, words: list[str]) -> None:
    assert cli("skills", "validate", *words).document["code"] == "USAGE"


# -- new, index


def test_new(cli: Cli, mine: Registry) -> None:
    run = cli("skills", "new", "com.c.read", "--summary", "Read it.", "--lang", "py")
    assert run.exit_code == 0
    made = run.document
    assert (made["created"], made["skillId"], made["registryPath"]) == (True, "com.c.read", mine.path)
    assert all(os.path.isfile(file) for file in made["files"])
    assert ids(cli("skills", "list").document) == ["com.a.read", "com.b.read", "com.c.read"]
    assert cli("skills", "validate", "com.c.read").exit_code == 0
    assert cli("skills", "new", "com.c.read").document["code"] == "SKILL_ALREADY_EXISTS"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], "MISSING_ARGUMENT"),
        (["nodot"], "SKILL_ID_INVALID"),
        (["com.c.read", "--lang", "rb"], "USAGE"),
        (["com.c.read", "--summary", " "], "EXECUTION_VALIDATION_FAILED"),
        (["com.c.read", *BUILTIN], "SKILLS_SCAFFOLD_FAILED"),
    ],
    ids=str,
)
def test_new_refuses(cli: Cli, mine: Registry, words: list[str], code: str) -> None:
    run = cli("skills", "new", *words)
    assert (run.exit_code, run.document["code"]) == (1, code)
    assert len(cli("skills", "list").document["skills"]) == 2


def test_index(cli: Cli, mine: Registry) -> None:
    check = cli("skills", "index", "--check")
    assert check.exit_code == 1
    assert {"file": "skills/generated/manifest.json", "kind": "missing"} in check.document["differences"]
    assert not os.path.exists(f"{mine.root}/skills/generated")
    written = cli("skills", "index", "--generated-at", "2027-01-01T00:00:00Z")
    assert (written.exit_code, written.document["count"]) == (0, 2)
    assert json.loads(Path(mine.path).read_text())["generatedAt"] == "2027-01-01T00:00:00Z"
    assert cli("skills", "index", "--check").document["differences"] == []


def test_a_build_time_makes_no_good_index_stale(cli: Cli, mine: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert cli("skills", "index").document["generatedAt"] == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert cli("skills", "index", "--check").exit_code == 0


def test_index_leaves_the_shipped_skills_alone(cli: Cli) -> None:
    assert cli("skills", "index", *BUILTIN).document["code"] == "USAGE"
    assert cli("skills", "index", "--check", *BUILTIN).exit_code == 0


# -- for eyes


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["list"], "com.b.read"),
        (["get", "com.a.read"], "skills/com.a.read/scripts/run.sh"),
        (["get", SEARCH, "--registry", "builtin"], "input of search.recipe.md: query <string>"),
        (["search", "nothing of it"], "No matching skills."),
        (["validate", "com.a.read", "--dry-run"], "artifacts were not checked"),
        (["validate", "--all"], "2 skills are valid"),
        (["index", "--check"], "missing"),
        (["index"], "2 skills in"),
        (["new", "com.c.read"], "run.js"),
        (["get", "com.a.raed"], "Did you mean com.a.read?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_pretty(cli: Cli, mine: Registry, words: list[str], shown: str) -> None:
    assert shown in cli("skills", *words, "--output", "pretty").out


def test_a_registrys_text_steers_no_terminal(cli: Cli, mine: Registry) -> None:
    nasty = "\x1b]0;owned\x07\u202e[bold]"
    entry = {
        "id": nasty,
        "summary": nasty,
        "applicationId": 7,
        "scripts": nasty,
        "artifacts": [7, nasty],
        nasty: nasty,
        "keywords": [nasty],
    }
    Path(mine.path).write_text(json.dumps({"skills": [entry]}))
    for words in (["list"], ["get", nasty], ["search", "bold"], ["validate", "--all"]):
        for fmt in ("json", "pretty"):
            out = cli("skills", *words, "--output", fmt).out
            assert out
            assert not any(character in out for character in "\x1b\x07\u202e")


def test_listing_loads_nothing_heavy(process: ProcessCli) -> None:
    code = (
        "import sys; from clawperator.app.cli.main import main; main(['skills', 'list', '--registry', 'builtin']);"
        "print([m for m in sys.modules if m.startswith(('pydantic', 'yaml', 'asyncio', 'rich', 'typing'))], file=sys.stderr)"
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=patience(50)
    )
    assert done.stderr.strip() == "[]"
