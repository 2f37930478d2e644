"""A registry of 5,000 skills: reading and searching it against what parsing its JSON takes, and whole commands."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError
from clawperator.engine.skills.registry import load_registry, search
from tests.benchmarks.conftest import Report, in_turn

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

SKILLS = 5_000
ROUNDS = 15
COMMAND = 3.0
"""How many times as long as a Python that parses the same file."""


@pytest.fixture(autouse=True)
def _as_in_a_command() -> Iterator[None]:
    """Short commands collect no garbage (``main.py``)."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three megabytes, indented as people commit them."""
    entries = []
    for number in range(SKILLS):
        app, intent = f"com.vendor{number % 400}.app{number % 37}", f"read-status-{number}"
        folder = f"skills/{app}.{intent}"
        entries.append(
            {
                "id": f"{app}.{intent}",
                "applicationId": app,
                "intent": intent,
                "summary": f"Read the status line number {number} of the app, and tell what it says.",
                "path": folder,
                "skillFile": f"{folder}/SKILL.md",
                "scripts": [f"{folder}/scripts/run.js", f"{folder}/scripts/run.sh"],
                "artifacts": [f"{folder}/artifacts/status.recipe.json"],
            }
        )
    file = tmp_path_factory.mktemp("registry") / "skills" / "skills-registry.json"
    file.parent.mkdir()
    head = {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z"}
    file.write_text(json.dumps({**head, "skills": entries}, indent=2, ensure_ascii=False), encoding="utf-8")
    return str(file)


def against_parsing(report: Report, what: str, path: str, work: Callable[[], object], limit: float) -> None:
    def floor() -> object:
        return json.loads(Path(path).read_bytes())

    def measure() -> tuple[float, str]:
        mine, theirs, ratio = in_turn(work, floor, ROUNDS)
        return ratio, f"{mine * 1_000:.1f} / {theirs * 1_000:.1f} ms"

    report.ratio(what, "`json.loads` of the file", limit, measure)


def test_list(report: Report, path: str) -> None:
    against_parsing(report, f"registry of {SKILLS} skills: list", path, lambda: load_registry(path).skills, 2.2)


def test_search(report: Report, path: str) -> None:
    def work() -> None:
        assert len(search(load_registry(path), keyword="Number 4999")) == 1

    against_parsing(report, f"registry of {SKILLS} skills: search", path, work, 2.8)


def test_an_unknown_id_and_its_neighbours(report: Report, path: str) -> None:
    registry = load_registry(path)

    def work() -> None:
        with pytest.raises(EngineError, match="Skill not found"):
            registry.get("com.vendor7.app7.raed-status-7")

    against_parsing(report, f"registry of {SKILLS} skills: near ids", path, work, 4)


@pytest.mark.parametrize("words", [("list",), ("search", "number 4999"), ("get", "com.vendor0.app0.read-status-0")])
def test_a_command(installed_wheel: Path, report: Report, path: str, words: tuple[str, ...], tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    command = [str(installed_wheel / "clawperator"), "skills", *words, "--registry", path]
    floor = [sys.executable, "-c", f"import argparse, json; json.load(open({path!r}))"]

    def measure() -> tuple[float, str]:
        run = partial(subprocess.run, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        mine, theirs, ratio = in_turn(partial(run, command), partial(run, floor), ROUNDS)
        return ratio, f"{mine * 1_000:.0f} / {theirs * 1_000:.0f} ms"

    what = f"`clawperator skills {words[0]}` of {SKILLS} skills, whole process"
    report.ratio(what, '`python -c "import argparse, json; json.load(…)"`', COMMAND, measure)
