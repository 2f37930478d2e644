"""What the README shows works as shown."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from clawperator.engine.contracts.generation import support_table
from clawperator.engine.contracts.schema import json_schema
from clawperator.engine.executions.validate import validate
from clawperator.engine.version import OPERATOR_RELEASES
from tests.support import patience, running

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def command_lines() -> list[list[str]]:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("clawperator ")]
    inline = [code for code in re.findall(r"`(clawperator [^`\n]+)`", README) if "--" not in code]
    return [shlex.split(line, comments=True)[1:] for line in (*lines, *inline)]


@pytest.mark.parametrize("words", command_lines(), ids=" ".join)
def test_every_command_line_is_understood(words: list[str]) -> None:
    ours = words[: words.index("--")] if "--" in words else words  # what follows belongs to somebody else
    done = subprocess.run(
        [sys.executable, "-m", "clawperator.app.cli", *ours, "--help"],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stdout
    assert "usage: clawperator " in done.stdout


def test_the_plan_is_valid_and_the_outcome_is_one_of_it() -> None:
    plan, outcome = map(json.loads, blocks("json"))
    assert validate(plan).warnings == ()
    Draft202012Validator({"$ref": "#/$defs/outcome", "$defs": json_schema("result")["$defs"]}).validate(outcome)
    assert [step["id"] for step in outcome["steps"]] == [action["id"] for action in plan["actions"]]


def test_the_python_example_prints_a_tree(tmp_path: Path) -> None:
    (example,) = blocks("python")
    phone = [sys.executable, str(ROOT / "tests" / "benchmarks" / "phone.py"), "0"]
    with running(phone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as simulated:
        assert simulated.stdout is not None
        port, _ = simulated.stdout.readline().split()
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "ANDROID_ADB_SERVER_PORT": port}
        done = subprocess.run(
            [sys.executable, "-c", example], env=env, capture_output=True, text=True, check=False, timeout=patience(60)
        )
        simulated.communicate("")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("</hierarchy>")


def test_what_it_links_to_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_table_of_operator_generations_is_that_of_the_code() -> None:
    for row in support_table():
        answers = " | ".join(row.words(generation) for generation in OPERATOR_RELEASES)
        assert f"| `{row.action}` | `{row.command}` | {answers} |\n" in README
