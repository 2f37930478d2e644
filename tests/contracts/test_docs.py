"""What README and docs show works as shown, what they link to exists, and what is generated from the code is up to date."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

from clawperator.app.cli.main import main
from clawperator.engine.config.policy_file import examine
from clawperator.engine.executions.build import completed
from clawperator.engine.executions.validate import validate
from clawperator.engine.json_schema import json_schema
from clawperator.engine.simulator.scenario import parse_scenario
from clawperator.engine.skills.recipe.compile import compile_recipe
from tests.support import patience, table

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md")))
SOURCES = [path for part in ("app", "engine", "widgets", "tests") for path in (ROOT / part).rglob("*.py")]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def every_block(language: str) -> Iterator[tuple[str, str]]:
    yield from ((name_of(page), text) for page in PAGES for text in blocks(page, language))


def command_lines() -> Iterator[tuple[str, ...]]:
    for page in PAGES:
        shell = [line for block in blocks(page, "sh") for line in block.splitlines()]
        inline = re.findall(r"`(clawperator [^`\n]+)`", page.read_text(encoding="utf-8"))
        for line in (*shell, *(code for code in inline if "--" not in code and "…" not in code)):
            if line.startswith("clawperator "):
                yield tuple(shlex.split(line.partition(" > ")[0].removesuffix("&"), comments=True)[1:])


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_parts_are_those_of_the_code(generator: ModuleType) -> None:
    assert [name_of(page) for page in generator.stale()] == [], "run: python docs/generate.py"


@pytest.mark.parametrize("words", sorted(set(command_lines())), ids=" ".join)
def test_every_command_line_is_understood(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    ours = words[: words.index("--")] if "--" in words else words  # what follows belongs to a script
    status = main([*ours, "--help"])
    answer = capsys.readouterr().out
    assert status == 0, answer
    assert "usage: clawperator" in answer


@pytest.mark.ci
def test_the_example_of_a_test_passes(tmp_path: Path) -> None:
    example = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, str(ROOT / "examples" / "test_settings.py")]
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        example, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=patience(60)
    )
    assert "1 passed" in done.stdout, done.stdout


@table(("page", "text"), every_block("json"))
def test_json_is_json_and_plans_are_valid(page: str, text: str) -> None:
    document = json.loads(text)
    if "actions" in document or isinstance(document, list):
        assert validate(completed(document)).warnings == (), page
    if "failedStep" in document:
        Draft202012Validator({"$ref": "#/$defs/outcome", "$defs": json_schema("result")["$defs"]}).validate(document)


def test_the_policy_the_scenario_and_the_recipe_are_valid() -> None:
    (policy,) = blocks(DOCS / "reference" / "policy.md", "toml")
    assert examine(policy)[1] == []
    (scenario,) = blocks(DOCS / "reference" / "simulator.md", "yaml")
    assert len(parse_scenario(scenario).faults) == 2
    (keymap,) = blocks(DOCS / "reference" / "keys.md", "toml")
    assert tomllib.loads(keymap)
    recipe = re.search(
        r"````markdown\n(.*?)````", (DOCS / "reference" / "skills.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert recipe
    assert compile_recipe(recipe[1], {"lamp": "Kitchen"}).warnings is not None


def anchors(page: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(text: str) -> Iterator[tuple[str, str]]:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        yield path, anchor


@table("page", [*PAGES, DOCS / "llms.txt"], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_what_the_source_cites_exists() -> None:
    """Comments and docstrings cite the reference by page and heading: ``wire.md#envelope``."""
    pages = {page.name: anchors(page) for page in (DOCS / "reference").glob("*.md")}
    cited = 0
    for source in SOURCES:
        for page, anchor in re.findall(r"\b([a-z]+\.md)#([\w-]+)", source.read_text(encoding="utf-8")):
            assert anchor in pages.get(page, ()), f"{source}: {page}#{anchor}"
            cited += 1
    assert cited > 200, "the citations are found"


def test_the_map_names_modules_that_are_where_it_says() -> None:
    rows = re.findall(
        r"^\| (`(?:app|engine|widgets)/.*?) \| (.*) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    assert len(rows) > 30
    for places, text in rows:
        roots = [ROOT / place for place in re.findall(r"`([^`]+)`", places)]
        assert all(root.exists() for root in roots), places
        folders = [root if root.is_dir() else root.parent for root in roots]
        for name in re.findall(r"`((?:\w+/)*\w+\.py|\w+/)`", text):
            assert any(folder.joinpath(name).exists() for folder in (*folders, ROOT)), f"{places}: {name}"
