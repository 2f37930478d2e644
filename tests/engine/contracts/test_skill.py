"""Skill entries: what the registry's own example says, and no path that leaves the repository."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clawperator.engine.contracts.skill import Skill, SkillRegistry
from clawperator.engine.json_schema import json_schema
from tests.support import table

FOLDER = "skills/com.example.app.read-status"
ENTRY: dict[str, Any] = {
    "id": "com.example.app.read-status",
    "applicationId": "com.example.app",
    "intent": "read-status",
    "summary": "Read the status line.",
    "path": FOLDER,
    "skillFile": f"{FOLDER}/SKILL.md",
    "scripts": [f"{FOLDER}/scripts/read_status.js"],
    "artifacts": [f"{FOLDER}/artifacts/status.recipe.json"],
}


def test_a_registry_with_one_skill() -> None:
    registry = SkillRegistry.model_validate(
        {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z", "skills": [{**ENTRY, "colour": "red"}]}
    )
    assert registry.skills[0].model_dump()["colour"] == "red"


def test_what_newer_skills_say() -> None:
    skill = Skill.model_validate(
        {
            **ENTRY,
            "keywords": ["status"],
            "agent": {"cli": "x", "timeoutMs": 5},
            "contract": {"inputs": {"name": "text"}},
        }
    )
    assert skill.agent is not None
    assert skill.agent.timeoutMs == 5


@table(
    ("key", "value"),
    [
        ("path", "skills/../../etc"),
        ("path", "skills/.."),
        ("path", "/etc"),
        ("skillFile", f"{FOLDER}/../../SKILL.md"),
        ("scripts", [f"{FOLDER}/scripts/../../../x.sh"]),
        ("scripts", []),
        ("scripts", [f"{FOLDER}/scripts/run.exe"]),
        ("artifacts", [f"{FOLDER}/other/x.json"]),
        ("intent", "Read Status"),
        ("summary", ""),
    ],
)
def test_what_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        Skill.model_validate({**ENTRY, key: value})


@pytest.mark.parametrize("name", ["skill", "skills-registry"])
def test_schemas(name: str) -> None:
    schema = json_schema(name)
    assert schema["$id"] == f"urn:clawperator:{name}"
    assert "id" in str(schema)
