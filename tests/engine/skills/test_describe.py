"""What a skill is and takes: entries, a search among them, options to run one, their command lines."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.checkout import commit_of
from clawperator.engine.skills.describe import SkillEntry, SkillInput, described, find_skills
from clawperator.engine.skills.registry import BUILTIN, load_registry
from clawperator.engine.skills.run_options import RunOption, arguments_of, command_words, run_options, variables_of
from tests.app.console.fake_skills import ALERT, CARDS, ENTRIES, PRICE, SETTINGS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("id", "applicationId", "intent", "summary", "skillFile", "scripts", "artifacts", "keywords", "contract")


# -- entries


def test_an_entry_becomes_a_skill() -> None:
    skill = SkillEntry.of(PRICE)
    assert (skill.id, skill.app, skill.intent) == ("com.example.shop.read-price", "com.example.shop", "read-price")
    assert skill.scripts == ("skills/com.example.shop.read-price/scripts/read_price.py",)
    assert skill.inputs == ()


def test_declared_arguments_keep_their_order() -> None:
    assert [(item.name, item.required, item.help) for item in SkillEntry.of(ALERT).inputs] == [
        ("item", True, "what to watch"),
        ("limit", True, "the price"),
    ]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_entry_at_all_is_taken(entry: dict[str, Any]) -> None:
    skill = SkillEntry.of(entry)
    texts = (skill.id, skill.app, skill.intent, skill.summary, skill.skill_file, *skill.scripts, *skill.artifacts)
    assert all(isinstance(text, str) for text in texts)


# -- searching

SKILLS = [SkillEntry.of(entry) for entry in ENTRIES]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["overview", "thermostat-set", "price-alert", "read-price"]),
        ("PRICE", ["price-alert", "read-price"]),
        ("price unit", ["read-price"]),
        ("groceries", ["read-price"]),
        ("set", ["overview", "thermostat-set", "price-alert"]),
        ("nothing like it", []),
    ],
)
def test_all_words_must_occur(typed: str, found: list[str]) -> None:
    assert [skill.intent for skill in find_skills(SKILLS, typed)] == found


def test_words_of_an_id_come_before_words_of_a_summary() -> None:
    summary = SkillEntry.of({**SETTINGS, "id": "a.b", "summary": "also about alerts"})
    assert [skill.id for skill in find_skills([summary, *SKILLS], "alert")] == ["com.example.shop.price-alert", "a.b"]


# -- words


def test_the_script_comes_first_unless_only_the_recipe_says_what_it_needs() -> None:
    skill = SkillEntry.of({**ALERT, "artifacts": ["skills/x/artifacts/a.recipe.md", "skills/x/artifacts/notes.md"]})
    assert [way.name for way in run_options(skill, None, for_draft=False)] == ["script read_price.py", "a.recipe.md"]
    assert [way.name for way in run_options(skill, None, for_draft=True)] == ["a.recipe.md"]
    thermostat = CARDS["com.example.home.thermostat-set"]
    bare = SkillEntry(id=thermostat.skill_id, scripts=("s/run.js", "s/run.sh"), artifacts=("a/set.recipe.md",))
    assert [way.name for way in run_options(bare, thermostat, for_draft=False)] == ["set.recipe.md", "script"]


def test_inputs_that_skill_md_shows_as_options_are_options() -> None:
    card = replace(CARDS["com.example.home.thermostat-set"], text="run -- --lamp_label x --mode heat --targets")
    skill = SkillEntry(id=card.skill_id, scripts=("s/run.js",), artifacts=("a/set.recipe.md",))
    script = run_options(skill, card, for_draft=False)[0]
    assert [field.name for field in script.fields] == ["mode", "lamp_label"]
    values = {"mode": "cool", "lamp_label": "Bed side", "arguments": "-v 'a b'"}
    assert arguments_of(script, values) == ["--mode", "cool", "--lamp_label", "Bed side", "-v", "a b"]


def test_values_get_the_types_that_were_declared() -> None:
    fields = (
        SkillInput("a", "integer"),
        SkillInput("b", "number"),
        SkillInput("c", "boolean"),
        SkillInput("d", "integer"),
        SkillInput("e"),
    )
    way = RunOption("x", artifact="x", fields=fields)
    typed = {"a": "3", "b": "2.5", "c": "true", "d": "three", "e": "4", "other": "?"}
    assert variables_of(way, typed) == {"a": 3, "b": 2.5, "c": True, "d": "three", "e": "4"}
    assert variables_of(way, {"b": "inf"}) == {"b": "inf"}


def test_the_command_line_that_does_the_same() -> None:
    way = RunOption("a.recipe.md", artifact="a.recipe.md", fields=(SkillInput("x"),))
    assert command_words("id", way, {"x": "it's"}, "serial") == (
        """clawperator skills run id --artifact a.recipe.md --vars '{"x": "it'"'"'s"}' --device-id serial"""
    )
    assert command_words("id", RunOption("script"), {"arguments": "'a b' c"}, "", builtin=True) == (
        "clawperator skills run id --registry builtin -- 'a b' c"
    )
    assert command_words("id", way, {}, "serial", for_draft=True) == (
        "clawperator skills compile-artifact id --artifact a.recipe.md"
    )


# -- answers


def test_an_answer_about_a_skill_has_the_variables_of_its_artifacts() -> None:
    found = load_registry(BUILTIN)
    inputs = described(found, found.get("com.example.shop.search"))["inputs"]
    assert inputs == {"search.recipe.md": [{"name": "query", "type": "string", "required": True}]}
    gone = {**found.get("com.example.shop.search"), "artifacts": ["skills/gone.recipe.md", "skills/notes.md"]}
    (refused,) = described(found, gone)["inputs"].items()
    assert (refused[0], refused[1]["code"]) == ("gone.recipe.md", "REGISTRY_READ_FAILED")
    assert described(found, {**gone, "artifacts": [], "contract": {"inputs": {}}}) == {}


# -- checkouts


def test_the_commit_of_a_checkout(tmp_path: Path) -> None:
    assert commit_of(str(tmp_path)) == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    assert commit_of(str(tmp_path)) == "main"
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert commit_of(str(tmp_path)) == f"main @{head[:7]}"
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    assert commit_of(str(tmp_path)) == f"main @{head[:7]}"
    subprocess.run([*git, "checkout", "-q", "--detach"], check=True)
    assert commit_of(str(tmp_path)) == f"@{head[:7]}"
