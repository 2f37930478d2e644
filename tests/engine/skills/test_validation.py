"""Checking skills: each rule of the contract with its own details, everything that is wrong at once, and all skills at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.registry import Registry, load_registry
from clawperator.engine.skills.validation import validate_all, validate_skill
from tests.engine.skills.made import made_registry

ID = "com.example.app.read"
FOLDER = f"skills/{ID}"
TEMPLATE: dict[str, Any] = {
    "commandId": "{{COMMAND_ID}}",
    "taskId": "{{TASK_ID}}",
    "source": "test",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 30_000,
    "actions": [{"id": "find", "type": "wait_for_node", "params": {"matcher": {"textEquals": "{{LABEL}}"}}}],
}
Change = Callable[[dict[str, Any]], object]


def made(root: Path, change: Change = lambda entry: None, *, own: Change | None = None) -> Registry:
    """One skill whose entry is changed, and whose ``skill.json`` is changed alike unless ``own`` says otherwise."""
    registry = made_registry(root, {ID: {"run.sh": "#!/bin/sh\n"}})
    (entry,) = registry.skills
    mine = json.loads(json.dumps(entry))
    change(entry)
    (own or change)(mine)
    (root / FOLDER / "skill.json").write_text(json.dumps(mine))
    head = {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z"}
    Path(registry.path).write_text(json.dumps({**head, "skills": [entry]}))
    return load_registry(registry.path)


def with_artifact(root: Path, name: str, text: str) -> Registry:
    path = f"{FOLDER}/artifacts/{name}"
    registry = made(root, lambda entry: entry.update(artifacts=[path]))
    (root / path).parent.mkdir()
    (root / path).write_text(text)
    return registry


def failure(registry: Registry, **more: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        validate_skill(registry, ID, **more)
    assert caught.value.code is ErrorCode.SKILL_VALIDATION_FAILED
    assert caught.value.details["skillId"] == ID
    return caught.value


def test_a_skill_that_is_right(tmp_path: Path) -> None:
    registry = made(tmp_path)
    assert validate_skill(registry, ID) == {
        "valid": True,
        "skill": registry.skills[0],
        "registryPath": registry.path,
        "checks": {
            "skillJsonPath": str(tmp_path / FOLDER / "skill.json"),
            "skillFilePath": str(tmp_path / FOLDER / "SKILL.md"),
            "scriptPaths": [str(tmp_path / FOLDER / "scripts" / "run.sh")],
            "artifactPaths": [],
        },
    }


def test_unknown_skill(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        validate_skill(made(tmp_path), "com.example.none")
    assert caught.value.code is ErrorCode.SKILL_NOT_FOUND


def test_fields_that_lack(tmp_path: Path) -> None:
    registry = made(tmp_path, lambda entry: (entry.pop("scripts"), entry.pop("summary")))
    assert failure(registry).details["missingFields"] == ["summary", "scripts"]


def test_artifacts_may_lack(tmp_path: Path) -> None:
    assert validate_skill(made(tmp_path, lambda entry: entry.pop("artifacts"), own=lambda own: None), ID)["valid"]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("scripts", "run.sh", "scripts must be an array"),
        ("scripts", [7], "scripts must be an array of strings"),
        ("artifacts", None, "artifacts must be an array"),
        ("path", 7, "path must be a string"),
    ],
)
def test_fields_of_another_form(tmp_path: Path, key: str, value: object, reason: str) -> None:
    assert reason in failure(made(tmp_path, lambda entry: entry.update({key: value}))).details["reason"]


def test_the_schema_is_reported_with_file_and_path(tmp_path: Path) -> None:
    def change(entry: dict[str, Any]) -> None:
        entry.update(intent="Read It", keywords=["a", "a"], agent={"cli": "x", "timeoutMs": 0})

    registry = made(tmp_path, change, own=lambda own: own.update(intent="Read It"))
    problems = failure(registry).details["problems"]
    assert {(problem["file"], problem["path"]) for problem in problems} == {
        (registry.path, "$.skills[0].intent"),
        (registry.path, "$.skills[0].keywords"),
        (registry.path, "$.skills[0].agent.timeoutMs"),
        (str(tmp_path / FOLDER / "skill.json"), "$.intent"),
    }
    assert all(problem["message"] for problem in problems)


def test_files_belong_to_their_skill(tmp_path: Path) -> None:
    other = "skills/com.example.other"
    change: Change = lambda entry: entry.update(skillFile=f"{other}/SKILL.md", scripts=[f"{other}/scripts/run.sh"])  # noqa: E731
    details = failure(made(tmp_path, change)).details
    assert {problem["path"] for problem in details["problems"]} >= {"$.skills[0].skillFile", "$.skills[0].scripts[0]"}


def test_missing_files_and_differences_are_reported_together(tmp_path: Path) -> None:
    gone = [f"{FOLDER}/scripts/run.sh", f"{FOLDER}/scripts/gone.js"]
    registry = made(tmp_path, lambda entry: entry.update(scripts=gone), own=lambda own: own.update(summary="Other."))
    (tmp_path / FOLDER / "SKILL.md").unlink()
    (tmp_path / FOLDER / "scripts" / "run.sh").unlink()
    (tmp_path / FOLDER / "scripts" / "run.sh").mkdir()
    details = failure(registry).details
    assert details["missingFiles"] == [f"{FOLDER}/SKILL.md", *gone]
    assert details["mismatchFields"] == ["summary", "scripts"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": 1, "id": 2}', "[" * 10_000])
def test_a_skill_json_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    registry = made(tmp_path)
    own = tmp_path / FOLDER / "skill.json"
    own.write_text(text)
    (problem,) = failure(registry).details["problems"]
    assert (problem["file"], problem["path"]) == (str(own), "$")


def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    registry = made(tmp_path)
    own = tmp_path / FOLDER / "skill.json"
    own.unlink()
    own.symlink_to("/etc/passwd")
    with pytest.raises(EngineError) as caught:
        validate_skill(registry, ID)
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED


# -- artifacts


def test_without_artifacts_a_dry_run_says_that_it_did_nothing(tmp_path: Path) -> None:
    run = validate_skill(made(tmp_path), ID, dry_run=True)["dryRun"]
    assert run == {"payloadValidation": "skipped", "reason": "the skill has no artifacts"}


def test_a_template_is_checked_with_its_placeholders(tmp_path: Path) -> None:
    registry = with_artifact(tmp_path, "find.recipe.json", json.dumps(TEMPLATE))
    run = validate_skill(registry, ID, dry_run=True)["dryRun"]
    assert run == {"payloadValidation": "passed", "artifacts": [f"{FOLDER}/artifacts/find.recipe.json"]}


def test_only_its_value_tells_whether_a_placeholder_is_right(tmp_path: Path) -> None:
    opening = {"id": "open", "type": "open_app", "params": {"applicationId": "{{APP}}"}}
    pressing = {"id": "key", "type": "press_key", "params": {"key": "{{KEY}}"}}
    registry = with_artifact(
        tmp_path / "open", "find.recipe.json", json.dumps({**TEMPLATE, "actions": [opening, pressing]})
    )
    assert validate_skill(registry, ID, dry_run=True)["dryRun"]["payloadValidation"] == "passed"
    wrong = {**pressing, "id": "wrong", "params": {"key": "enter"}}
    registry = with_artifact(
        tmp_path / "wrong", "find.recipe.json", json.dumps({**TEMPLATE, "actions": [opening, wrong]})
    )
    details = failure(registry, dry_run=True).details
    assert details["path"] == "actions.1.params.key"
    assert len(details["issues"]) == 1


def test_a_template_that_is_no_execution(tmp_path: Path) -> None:
    bad = {**TEMPLATE, "actions": [{"id": "find", "type": "wait_for_node", "params": {"matcherr": {}}}]}
    registry = with_artifact(tmp_path, "find.recipe.json", json.dumps(bad))
    assert validate_skill(registry, ID)["valid"]
    details = failure(registry, dry_run=True).details
    assert details["artifact"] == f"{FOLDER}/artifacts/find.recipe.json"
    assert details["path"].startswith("actions.0.params")
    assert (details["actionId"], details["actionType"]) == ("find", "wait_for_node")
    assert details["invalidKeys"] == ["matcherr"]
    assert details["hint"]


def test_a_template_that_is_no_json(tmp_path: Path) -> None:
    registry = with_artifact(tmp_path, "find.recipe.json", '{"timeoutMs": {{TIMEOUT}}}')
    assert "line 1" in failure(registry, dry_run=True).details["reason"]


RECIPE = """\
---
recipe_id: com.example.app.read
recipe_version: 1.0.0
recipe_type: flow
application_id: com.example.app
summary: Find a label so often.
frameworks: [views]
session_policy: fresh
app_build: {version_name: "1", version_code: 1}
tested_on: {android_api: 34}
capabilities: [observe, navigate]
inputs:
  - {name: label, type: string, required: true}
  - {name: kind, type: enum, required: true, values: [one, two]}
  - {name: times, type: integer, required: true}
outputs: []
---
## Step 1
```yaml
id: find
type: TYPE
selector: {text_equals: "${inputs.label} ${inputs.kind} ${inputs.times}"}
```
"""


def test_a_recipe_is_compiled_with_some_values(tmp_path: Path) -> None:
    registry = with_artifact(tmp_path, "find.recipe.md", RECIPE.replace("TYPE", "wait_for_node"))
    assert validate_skill(registry, ID, dry_run=True)["dryRun"]["payloadValidation"] == "passed"


def test_a_recipe_that_does_not_compile(tmp_path: Path) -> None:
    registry = with_artifact(tmp_path, "find.recipe.md", RECIPE.replace("TYPE", "fly"))
    details = failure(registry, dry_run=True).details
    assert details["code"] == "RECIPE_STEP_UNSUPPORTED"
    assert details["line"] == RECIPE[: RECIPE.index("type: TYPE")].count("\n") + 1
    assert details["file"].endswith("find.recipe.md")


def test_a_document_beside_the_artifacts_is_no_artifact_to_compile(tmp_path: Path) -> None:
    run = validate_skill(with_artifact(tmp_path, "notes.md", "Notes"), ID, dry_run=True)["dryRun"]
    assert run["payloadValidation"] == "skipped"


# -- all


def test_all_that_are_right(tmp_path: Path) -> None:
    registry = made_registry(tmp_path, {"com.a.one": {"run.sh": ""}, "com.a.two": {"run.js": ""}})
    answer = validate_all(registry, dry_run=True)
    assert (answer["valid"], answer["totalSkills"], answer["registryPath"]) == (True, 2, registry.path)
    assert [one["skill"]["id"] for one in answer["validSkills"]] == ["com.a.one", "com.a.two"]


def test_all_failures_are_reported(tmp_path: Path) -> None:
    skills = {f"com.a.{name}": {"run.sh": ""} for name in ("one", "two", "three")}
    registry = made_registry(tmp_path, skills)
    (tmp_path / "skills" / "com.a.one" / "SKILL.md").unlink()
    (tmp_path / "skills" / "com.a.three" / "skill.json").unlink()
    with pytest.raises(EngineError) as caught:
        validate_all(registry)
    error = caught.value.to_dict()
    assert error["code"] == "SKILL_VALIDATION_FAILED"
    assert error["registryPath"] == registry.path
    details = error["details"]
    assert (details["totalSkills"], details["validCount"], details["invalidCount"]) == (3, 1, 2)
    assert [failed["skillId"] for failed in details["failures"]] == ["com.a.one", "com.a.three"]
    assert details["failures"][1]["details"]["missingFiles"] == ["skills/com.a.three/skill.json"]


def test_the_registry_itself_is_checked_with_all(tmp_path: Path) -> None:
    registry = made_registry(tmp_path, {"com.a.one": {"run.sh": ""}})
    twice = {"schemaVersion": "2.0", "generatedAt": "yesterday", "skills": [*registry.skills, *registry.skills]}
    Path(registry.path).write_text(json.dumps(twice))
    with pytest.raises(EngineError) as caught:
        validate_all(load_registry(registry.path))
    problems = caught.value.details["problems"]
    assert [problem["path"] for problem in problems] == ["$.schemaVersion", "$.generatedAt", "$.skills"]
    assert "com.a.one" in problems[2]["message"]


def test_the_skills_that_come_along_are_right() -> None:
    answer = validate_all(load_registry("builtin"), dry_run=True)
    assert answer["totalSkills"] >= 5
    assert {one["dryRun"]["payloadValidation"] for one in answer["validSkills"]} == {"passed"}
