"""Documents that need no device: plans and schemas; and who may write where."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import clawperator.app.cli.main
from clawperator.app.cli.main import main
from clawperator.engine.contracts.aliases import ALIAS_TABLE_VERSION
from clawperator.engine.json_schema import SCHEMAS
from tests.support import table

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

PAYLOAD: dict[str, Any] = {
    "commandId": "c",
    "taskId": "t",
    "source": "s",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5000,
    "actions": [
        {"id": "a", "type": "tap", "params": {"matcher": {"textEquals": "OK"}}},
        {"id": "b", "type": "snapshot"},
    ],
}
SOURCES = Path(clawperator.app.cli.main.__file__).parent


class TestPlans:
    def test_validate_only(self, cli: Cli) -> None:
        run = cli("execute", "--execution", json.dumps(PAYLOAD), "--validate-only")
        assert (run.exit_code, run.err) == (0, "")
        assert list(run.document) == ["ok", "validated", "execution"]
        execution = run.document["execution"]
        assert [action["type"] for action in execution["actions"]] == ["click", "snapshot_ui"]
        assert execution["expectedFormat"] == "android-ui-automator"

    def test_dry_run(self, cli: Cli) -> None:
        run = cli("execute", "--execution", json.dumps(PAYLOAD), "--dry-run", "--timeout-ms", "9000")
        assert run.document == {
            "ok": True,
            "dryRun": True,
            "plan": {
                "commandId": "c",
                "timeoutMs": 9000,
                "actionCount": 2,
                "actions": [
                    {"id": "a", "type": "click", "params": {"matcher": {"textEquals": "OK"}}},
                    {"id": "b", "type": "snapshot_ui", "params": {}},
                ],
            },
        }

    def test_dry_run_wins(self, cli: Cli) -> None:
        assert "plan" in cli("execute", "--execution", json.dumps(PAYLOAD), "--validate-only", "--dry-run").document

    def test_warnings_are_additive(self, cli: Cli) -> None:
        odd = {**PAYLOAD, "actions": [{"id": "a", "type": "sleep", "params": {"durationMs": 5000}}]}
        run = cli("execute", "--execution", json.dumps(odd), "--dry-run")
        assert [warning["code"] for warning in run.document["warnings"]] == ["SLEEP_EXCEEDS_TIMEOUT"]
        assert "warning: " in cli("execute", "--execution", json.dumps(odd), "--dry-run", "--output", "pretty").out

    def test_for_eyes(self, cli: Cli) -> None:
        shown = cli("execute", "--execution", json.dumps(PAYLOAD), "--validate-only", "--output", "pretty").out
        assert shown.startswith("valid  c, 2 actions\nstep   action        parameters\na      click         {")

    def test_the_operator_s_ping_is_not_for_everybody(self, cli: Cli) -> None:
        ping = {**PAYLOAD, "actions": [{"id": "a", "type": "doctor_ping"}]}
        assert (
            cli("execute", "--execution", json.dumps(ping), "--dry-run").document["code"]
            == "EXECUTION_ACTION_UNSUPPORTED"
        )


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(cli: Cli, name: str) -> None:
    run = cli("schema", name)
    assert (run.exit_code, run.err) == (0, "")
    assert run.document["$schema"].startswith("https://json-schema.org/")


class TestWhoWritesWhere:
    """stdout is the answer, stderr is the story; each belongs to one module."""

    @table("path", sorted(SOURCES.rglob("*.py")), ids=lambda path: path.name)
    def test_streams_have_one_owner_each(self, path: Path) -> None:
        owner = {"output.py": "stdout", "diagnostics.py": "stderr"}.get(path.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Name) and node.id == "print"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr") and path.name != "console.py":
                assert node.attr == owner, f"{path}:{node.lineno}"

    def test_output_can_be_collected_in_memory(self, lonely: dict[str, str]) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as collected:
            assert main(["version"]) == 0
        assert json.loads(collected.getvalue())["operatorGenerations"]


def test_the_version_of_the_alias_table_is_reported_when_asked_for_the_story(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["version", "--verbose"]) == 0
    assert json.loads(capsys.readouterr().out)["aliasTableVersion"] == ALIAS_TABLE_VERSION
