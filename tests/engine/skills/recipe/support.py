"""Recipes for tests, from the smallest one that compiles, and what is said about the ones that do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from clawperator.engine.config.policy import Profile
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.recipe.compile import compile_recipe

FILE = "skills/com.example.app.read/artifacts/read.recipe.md"
APP = "com.example.app"

HEAD: dict[str, Any] = {
    "recipe_id": "com.example.app.read",
    "recipe_version": "1.0.0",
    "recipe_type": "flow",
    "application_id": APP,
    "summary": "Read one line.",
    "frameworks": ["views"],
    "session_policy": "resume_ok",
    "app_build": {"version_name": "2.4", "version_code": 240},
    "tested_on": {"android_api": 34},
    "capabilities": ["observe", "navigate", "click", "long_click"],
    "inputs": [],
    "outputs": [],
}
READ: dict[str, Any] = {"id": "read", "type": "read_text", "selector": {"resource_id": "com.example.app:id/line"}}
CLICK: dict[str, Any] = {"id": "press", "type": "click", "selector": {"text_equals": "Go"}}
TYPE: dict[str, Any] = {
    "id": "type",
    "type": "enter_text",
    "selector": {"class": "android.widget.EditText"},
    "params": {"text": "shoes"},
}
OPEN: dict[str, Any] = {"id": "open", "type": "open_app"}
CLOSE: dict[str, Any] = {"id": "close", "type": "close_app"}
CONFIRM: dict[str, Any] = {"selector": {"text_equals": "Done"}}


def block(mapping: Mapping[str, Any]) -> str:
    """One key per line, its value in flow style; keys whose value is ``...`` are left out."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in mapping.items() if value is not ...)


def recipe(*steps: Mapping[str, Any], **head: Any) -> str:
    """The text of a recipe: ``head`` changes the front matter; without steps it reads one line.

    It declares ``type_text`` where a step types: then everything that acts has to be verified.
    """
    if any(step.get("type") == "enter_text" for step in steps):
        head.setdefault("capabilities", [*HEAD["capabilities"], "type_text"])
    chapters = [f"## Step {number}\n\n```yaml\n{block(step)}```\n" for number, step in enumerate(steps or (READ,), 1)]
    return f"---\n{block({**HEAD, **head})}---\n\nProse.\n\n" + "\n".join(chapters)


def compiled(text: str, variables: Mapping[str, Any] | None = None, *, profile: Profile | None = None) -> Compiled:
    return compile_recipe(text, variables or {}, file=FILE, profile=profile)


def attempt(text: str, variables: Mapping[str, Any] | None = None) -> Compiled | EngineError:
    """Either way."""
    try:
        return compiled(text, variables)
    except EngineError as exc:
        return exc


def actions(text: str, variables: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    (execution,) = compiled(text, variables).executions
    listed: list[dict[str, Any]] = execution["actions"]
    return listed


def params(text: str, action: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parameters of the action of that id."""
    found: dict[str, Any] = next(each for each in actions(text, variables) if each["id"] == action)["params"]
    return found


def refusal(
    text: str, code: str, variables: Mapping[str, Any] | None = None, *, profile: Profile | None = None
) -> EngineError:
    """Why ``text`` does not compile: the code, with the file and a line of it, and a hint."""
    with pytest.raises(EngineError) as caught:
        compiled(text, variables, profile=profile)
    error = caught.value
    assert error.code == code, error
    assert error.details["file"] == FILE
    assert 1 <= error.details.get("line", 1) <= text.count("\n") + 1
    assert error.hint
    return error


def line_of(text: str, fragment: str) -> int:
    """The 1-based line on which ``fragment`` first stands."""
    return text.count("\n", 0, text.index(fragment)) + 1
