"""Finding a skill's artifact, reading it, and compiling what it is: the order of refusals is the contract's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.artifact import compile_artifact, describe_inputs, find_artifact
from clawperator.engine.skills.registry import Registry
from tests.engine.skills.recipe.support import CLICK, CONFIRM, READ, recipe
from tests.engine.skills.test_json_template import template

SKILL = "com.example.app.read"
PLACE = f"skills/{SKILL}/artifacts"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """One skill: `both` as template and recipe, `only` as recipe, `plain` as a JSON file that is no template."""
    folder = tmp_path / PLACE
    folder.mkdir(parents=True)
    (folder / "both.recipe.json").write_text(template())
    (folder / "both.recipe.md").write_text(recipe())
    (folder / "only.recipe.md").write_text("\ufeff" + recipe(inputs=[{"name": "city", "type": "string"}]))
    names = ("both.recipe.md", "both.recipe.json", "only.recipe.md", "plain.json", "gone.recipe.json", "notes.md")
    entry: dict[str, Any] = {"id": SKILL, "artifacts": [f"{PLACE}/{name}" for name in names]}
    return Registry(str(tmp_path / "skills" / "skills-registry.json"), str(tmp_path), (entry, {"id": "bare"}), "flag")


def refusal(registry: Registry, *arguments: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        compile_artifact(registry, *arguments)
    return caught.value


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("both", "both.recipe.json"),
        ("both.recipe.json", "both.recipe.json"),
        ("both.RECIPE.Json", "both.recipe.json"),
        ("both.recipe.md", "both.recipe.md"),
        ("artifacts/both", "both.recipe.json"),
        (f"{PLACE}/both", "both.recipe.json"),
        ("only", "only.recipe.md"),
        ("only.recipe.MD", "only.recipe.md"),
    ],
)
def test_names(registry: Registry, name: str, path: str) -> None:
    assert find_artifact(registry, SKILL, name).path == f"{PLACE}/{path}"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "oth",
        "BOTH",
        "only.recipe.json",
        "plain",
        "plain.json",
        "notes.md",
        "../both",
        ".recipe.json",
        "/both.recipe",
        "both.recipe.jsonx",
    ],
)
def test_unknown_names(registry: Registry, name: str) -> None:
    error = refusal(registry, SKILL, name, "not even JSON")
    assert error.code == "ARTIFACT_NOT_FOUND"
    assert (error.details["skillId"], error.details["artifactName"]) == (SKILL, name)
    assert error.details["artifacts"] == ["both.recipe.md", "both.recipe.json", "only.recipe.md", "gone.recipe.json"]
    assert "both.recipe.json" in error.hint


def test_a_skill_without_artifacts(registry: Registry) -> None:
    error = refusal(registry, "bare", "both")
    assert (error.code, error.details["artifacts"]) == ("ARTIFACT_NOT_FOUND", [])


def test_the_order_of_refusals(registry: Registry) -> None:
    assert refusal(registry, "nobody", "nothing", "{").code == "SKILL_NOT_FOUND"
    assert refusal(registry, SKILL, "nothing", "{").code == "ARTIFACT_NOT_FOUND"
    assert refusal(registry, SKILL, "gone", "{").code == "COMPILE_VARS_PARSE_FAILED"
    assert refusal(registry, SKILL, "gone", "{}").code == "REGISTRY_READ_FAILED"
    assert refusal(registry, SKILL, "both", "{}").code == "COMPILE_VAR_MISSING"


def test_templates_and_recipes(registry: Registry) -> None:
    assert compile_artifact(registry, SKILL, "both.recipe.json", '{"TEXT":"x"}').recipe is None
    answer = compile_artifact(registry, SKILL, "both.recipe.md", profile=DEFAULT)
    assert (answer.skill_id, answer.artifact, answer.recipe) == (
        SKILL,
        "both",
        {"id": SKILL, "version": "1.0.0", "type": "flow"},
    )
    assert answer == compile_artifact(registry, SKILL, "both.recipe.md", "{}")
    assert [item.name for item in describe_inputs(registry, SKILL, "both")] == ["TEXT"]
    assert [item.name for item in describe_inputs(registry, SKILL, "only")] == ["city"]


def test_a_recipe_names_skill_file_and_line(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / PLACE / "only.recipe.md").write_text(recipe({**READ, "type": "tap"}))
    error = refusal(registry, SKILL, "only")
    assert error.code == "RECIPE_STEP_UNSUPPORTED"
    assert error.details["file"] == f"{PLACE}/only.recipe.md"
    assert (error.details["skillId"], error.details["artifactName"]) == (SKILL, "only")
    assert error.message.startswith(f"{PLACE}/only.recipe.md:{error.details['line']}: ")


def test_a_policy_is_obeyed(registry: Registry, tmp_path: Path) -> None:
    step = {**CLICK, "effect": "purchase", "confirm": CONFIRM}
    (tmp_path / PLACE / "only.recipe.md").write_text(recipe(step, capabilities=["click", "observe", "purchase_risk"]))
    assert compile_artifact(registry, SKILL, "only").recipe
    with pytest.raises(EngineError) as caught:
        compile_artifact(registry, SKILL, "only", profile=DEFAULT)
    assert (caught.value.code, caught.value.details["skillId"]) == ("CAPABILITY_DENIED", SKILL)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "outside", "loop", "binary", "huge", "unreadable"])
def test_files_that_cannot_be_read(registry: Registry, tmp_path: Path, kind: str) -> None:
    path = tmp_path / PLACE / "gone.recipe.json"
    secret = tmp_path.parent / f"{tmp_path.name}-secret.json"
    secret.write_text(template())
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "outside":
        path.symlink_to(secret)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "binary":
        path.write_bytes(b"{\xff}")
    elif kind == "huge":
        path.write_bytes(b" " * (1024 * 1024 + 1))
    elif kind == "unreadable":
        path.symlink_to(path.name + "x" * 300)
    error = refusal(registry, SKILL, "gone", '{"TEXT":"x"}')
    assert error.code == "REGISTRY_READ_FAILED"
    assert error.details["skillId"] == SKILL
    if kind != "outside":
        assert error.message.startswith("Cannot read artifact: ")
        assert error.details["file"] == f"{PLACE}/gone.recipe.json"
    with pytest.raises(EngineError):
        describe_inputs(registry, SKILL, "gone")


def test_a_recipe_may_be_too_large(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / PLACE / "only.recipe.md").write_text(recipe() + "x" * 262_144)
    error = refusal(registry, SKILL, "only")
    assert (error.code, error.details["limit"]) == ("RECIPE_LIMIT_EXCEEDED", 262_144)


def test_the_same_bytes_every_time(registry: Registry) -> None:
    texts = {json.dumps(compile_artifact(registry, SKILL, "only", '{"city":"Oslo"}').to_dict()) for _ in range(3)}
    assert len(texts) == 1
