"""``skills compile-artifact``: the contract's answer on stdout, a row in the audit, and no device anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.history.store import History
from tests.engine.skills.recipe.support import CLICK, CONFIRM, READ, recipe
from tests.engine.skills.test_json_template import template

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli, ProcessCli

SKILL = "com.example.app.read"
PLACE = f"skills/{SKILL}/artifacts"


@pytest.fixture
def registry(tmp_path: Path) -> str:
    folder = tmp_path / PLACE
    folder.mkdir(parents=True)
    purchase = {**CLICK, "effect": "purchase", "confirm": CONFIRM}
    optional = {**CLICK, "optional": True}
    texts = {
        "say.recipe.json": template(),
        "read.recipe.md": recipe(outputs=[{"name": "read", "type": "string"}]),
        "buy.recipe.md": recipe(purchase, capabilities=["click", "observe", "purchase_risk"]),
        "several.recipe.md": recipe(
            optional, {**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"equals": "\x1b[31m"}}}
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    entry = {
        "id": SKILL,
        "applicationId": "com.example.app",
        "intent": "read",
        "summary": "Read.",
        "path": f"skills/{SKILL}",
        "skillFile": f"skills/{SKILL}/SKILL.md",
        "scripts": [f"skills/{SKILL}/scripts/run.py"],
        "artifacts": [f"{PLACE}/{name}" for name in texts],
    }
    document = {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z", "skills": [entry]}
    path = tmp_path / "skills" / "skills-registry.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_a_template(cli: Cli, registry: str) -> None:
    run = cli(
        "skills",
        "compile-artifact",
        SKILL,
        "--artifact",
        "say",
        "--vars",
        '{"TEXT":"a \\"b\\""}',
        "--registry",
        registry,
    )
    assert (run.exit_code, run.err) == (0, "")
    assert list(run.document) == ["execution"]
    assert run.document["execution"]["mode"] == "artifact_compiled"
    assert run.document["execution"]["actions"][0]["params"]["text"] == 'a "b"'


def test_empty_variables_are_none(cli: Cli, registry: str) -> None:
    arguments = ("skills", "compile-artifact", SKILL, "--artifact", "say", "--registry", registry)
    without, empty = cli(*arguments), cli(*arguments, "--vars", "")
    assert without.document["code"] == empty.document["code"] == "COMPILE_VAR_MISSING"


def test_a_recipe_by_flag_and_environment(cli: Cli, registry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", registry)
    run = cli("skills", "compile-artifact", "--skill-id", SKILL, "--artifact", "read.recipe.md")
    assert run.exit_code == 0
    assert list(run.document) == ["execution", "recipe", "capabilities", "outputs", "confirms", "warnings"]


def compiled(cli: Cli, registry: str, artifact: str, variables: str = "{}") -> dict[str, Any]:
    run = cli("skills", "compile-artifact", SKILL, "--artifact", artifact, "--registry", registry, "--vars", variables)
    return run.document


@pytest.mark.parametrize(("artifact", "variables"), [("say", '{"TEXT":"x"}'), ("read", "{}")])
def test_execute_takes_what_was_compiled(cli: Cli, registry: str, artifact: str, variables: str) -> None:
    document = compiled(cli, registry, artifact, variables)
    checked = cli("execute", json.dumps(document), "--validate-only")
    assert (checked.exit_code, checked.document["executions"]) == (0, [document["execution"]])
    planned = cli("execute", json.dumps(document), "--dry-run", "--timeout-ms", "4000")
    assert [plan["timeoutMs"] for plan in planned.document["plans"]] == [4_000]
    pretty = cli("execute", json.dumps(document), "--dry-run", "--output", "pretty")
    assert document["execution"]["commandId"] in pretty.out


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"executions": []}, "executions"),
        ({"execution": None}, "execution"),
        ({"execution": {}}, "execution"),
        ({"execution": {"actions": [{"id": "a", "type": "click"}]}}, "execution"),
        ({"executions": [{}]}, "executions.0"),
        ({"outputs": [{"name": "a", "type": "string", "from": {"pattern": "(a+)+$"}}]}, "outputs.0.from.pattern"),
        ({"confirms": [{"stepId": "a"}]}, "confirms.0.actionId"),
        ({"capabilities": ["anything"]}, "capabilities.0"),
        ({"other": 1}, ""),
    ],
)
def test_a_changed_compiled_artifact_is_refused(cli: Cli, registry: str, change: dict[str, Any], path: str) -> None:
    document = compiled(cli, registry, "read") | change
    run = cli("execute", json.dumps(document), "--validate-only")
    assert run.exit_code == 1
    assert run.document["code"] in ("EXECUTION_VALIDATION_FAILED", "EXECUTION_ACTION_UNSUPPORTED")
    assert run.document["details"]["path"].startswith(path)
    assert run.document["hint"]


def test_every_run_gives_the_same_bytes(process: ProcessCli, registry: str) -> None:
    arguments = (
        "skills",
        "compile-artifact",
        SKILL,
        "--artifact",
        "say",
        "--registry",
        registry,
        "--no-history",
        "--vars",
    )
    first = process(*arguments, '{"TEXT":"é","x":1,"y":2}', env={"PYTHONHASHSEED": "1"})
    second = process(*arguments, '{"y":2,"x":1,"TEXT":"é"}', env={"PYTHONHASHSEED": "2"})
    assert first.exit_code == 0
    execution = first.document["execution"]
    assert execution == second.document["execution"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "USAGE"),
        ((SKILL,), "USAGE"),
        (("--artifact", "say"), "USAGE"),
        ((SKILL, "--skill-id", SKILL, "--artifact", "say"), "USAGE"),
        ((SKILL, SKILL, "--artifact", "say"), "USAGE"),
        (("nobody", "--artifact", "say"), "SKILL_NOT_FOUND"),
        ((SKILL, "--artifact", "nothing"), "ARTIFACT_NOT_FOUND"),
        ((SKILL, "--artifact", "say", "--vars", "[]"), "COMPILE_VARS_PARSE_FAILED"),
        ((SKILL, "--artifact", "say"), "COMPILE_VAR_MISSING"),
        ((SKILL, "--artifact", "say", "--vars", '{"TEXT":" "}'), "COMPILE_VALIDATION_FAILED"),
        ((SKILL, "--artifact", "buy"), "CAPABILITY_DENIED"),
    ],
)
def test_refusals(cli: Cli, registry: str, arguments: tuple[str, ...], code: str) -> None:
    run = cli("skills", "compile-artifact", *arguments, "--registry", registry)
    assert (run.exit_code, run.document["code"]) == (1, code)


def test_a_policy_may_allow_more(cli: Cli, registry: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nactiveProfile = "shop"\n[profiles.shop.capabilities]\nallow = ["click", "observe", "purchase_risk"]\n'
    )
    run = cli("skills", "compile-artifact", SKILL, "--artifact", "buy", "--registry", registry, "--policy", str(policy))
    assert run.exit_code == 0, run.document
    missing = cli(
        "skills", "compile-artifact", SKILL, "--artifact", "buy", "--registry", registry, "--policy", "/nowhere"
    )
    assert missing.document["code"] == "FILE_NOT_READABLE"


def test_the_audit(cli: Cli, registry: str, lonely: dict[str, str]) -> None:
    history = Path(lonely["XDG_STATE_HOME"]) / "clawperator" / "history.db"
    arguments = ("skills", "compile-artifact", SKILL, "--registry", registry, "--artifact")
    cli(*arguments, "read", "--no-history")
    assert not history.exists()
    cli(*arguments, "read")
    cli(*arguments, "buy")
    cli(*arguments, "say")
    with History.open(str(history), create=False) as opened:
        rows = sorted(opened.audit(), key=lambda row: row.at)
    assert [(row.event, row.skill_id, row.artifact, row.code) for row in rows] == [
        ("compile", SKILL, "read", ""),
        ("refused", SKILL, "buy", "CAPABILITY_DENIED"),
        ("compile", SKILL, "say", "COMPILE_VAR_MISSING"),
    ]
    assert rows[0].recipe_id == SKILL


@pytest.mark.parametrize("artifact", ["say", "read", "several"])
def test_for_eyes(cli: Cli, registry: str, artifact: str) -> None:
    variables = ("--vars", '{"TEXT":"\\u001b[31m","UNUSED":1}')
    run = cli(
        "skills",
        "compile-artifact",
        SKILL,
        "--artifact",
        artifact,
        "--registry",
        registry,
        "--output",
        "pretty",
        *variables,
    )
    assert run.exit_code == 0
    assert "compiled" in run.out
    assert "UNUSED" in run.out
    assert "\x1b" not in run.out
    if artifact == "several":
        assert "optional" in run.out
        assert "expects equals" in run.out
