"""``history audit``: who asked what, newest first; and what the policy and safe logs mean for the other commands of the history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.history.records import AuditRecord
from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli


@pytest.fixture
def path(lonely: dict[str, str]) -> Path:
    return Path(lonely["XDG_STATE_HOME"]) / "clawperator" / "history.db"


@pytest.fixture
def four(path: Path) -> Path:
    rows: list[tuple[Any, dict[str, Any]]] = [
        ("compile", {"skill_id": "com.example.skill", "recipe_id": "r", "artifact": "main"}),
        ("execute", {"device_id": "one", "action_types": ("click", "sleep"), "caller": "ann"}),
        ("result", {"device_id": "one", "code": "NODE_NOT_FOUND", "duration_ms": 1500.0}),
        ("refused", {"device_id": "two", "code": "PACKAGE_DENIED", "denied": "package a\x1b[31m.b", "profile": "shop"}),
    ]
    with History.open(str(path)) as history:
        for index, (event, more) in enumerate(rows):
            history.put_audit(AuditRecord(1_700_000_000.0 + index, event, f"e{index}", f"c{index}", face="cli", **more))
    return path


def test_no_history_is_an_empty_audit_and_none_is_made(cli: Cli, path: Path) -> None:
    assert cli("history", "audit").document == {"ok": True, "audit": [], "hasMore": False}
    assert cli("history", "audit", "--jsonl").out == ""
    assert "No matching audit entries" in cli("history", "audit", "--output", "pretty").out
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("flags", "expected", "more"),
    [
        ((), ["c3", "c2", "c1", "c0"], False),
        (("--limit", "2"), ["c3", "c2"], True),
        (("--limit", "2", "--before", "3"), ["c1", "c0"], False),
        (("--event", "refused"), ["c3"], False),
        (("--event", "compile"), ["c0"], False),
        (("--device-id", "one"), ["c2", "c1"], False),
        (("--device-id", "one", "--event", "result"), ["c2"], False),
    ],
)
def test_which_entries(cli: Cli, four: Path, flags: tuple[str, ...], expected: list[str], more: bool) -> None:
    listed = cli("history", "audit", *flags).document
    assert [entry["commandId"] for entry in listed["audit"]] == expected
    assert listed["hasMore"] is more
    lines = cli("history", "audit", *flags, "--jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == listed["audit"]


def test_an_entry_says_who_and_what(cli: Cli, four: Path) -> None:
    refused, _, asked, compiled = cli("history", "audit").document["audit"]
    assert (refused["denied"], refused["profile"], refused["code"]) == ("package a\x1b[31m.b", "shop", "PACKAGE_DENIED")
    assert (asked["caller"], asked["actionTypes"], asked["durationMs"]) == ("ann", ["click", "sleep"], None)
    assert (compiled["skillId"], compiled["recipeId"], compiled["artifact"]) == ("com.example.skill", "r", "main")


def test_for_eyes(cli: Cli, four: Path) -> None:
    shown = cli("history", "audit", "--limit", "3", "--output", "pretty").out
    assert "\x1b" not in shown
    assert "PACKAGE_DENIED package a\\x1b[31m.b (shop)" in shown
    assert "cli ann" in shown
    assert "use --before 2 for older entries" in shown


@pytest.mark.parametrize("flags", [("--event", "denied"), ("--limit", "0"), ("--before", "x"), ("word",)])
def test_what_is_not_understood_is_refused(cli: Cli, flags: tuple[str, ...]) -> None:
    refused = cli("history", "audit", *flags)
    assert refused.exit_code == 1
    assert refused.document["code"] in ("USAGE", "EXECUTION_VALIDATION_FAILED")


def test_a_refusal_by_the_policy_is_in_it(cli: Cli, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('version = 1\n[profiles.default.actions]\ndeny = ["press_key"]\n')
    run = cli("action", "press-key", "--key", "home", "--policy", str(file))
    assert (run.exit_code, run.document["code"]) == (1, "ACTION_DENIED")
    (entry,) = cli("history", "audit").document["audit"]
    assert (entry["event"], entry["code"], entry["denied"], entry["profile"]) == (
        "refused",
        "ACTION_DENIED",
        "action press_key",
        "default",
    )
    assert entry["executionId"] == run.document["executionId"]


def test_exports_are_masked_where_the_settings_want_safe_logs(
    cli: Cli, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was written before somebody wanted that, too."""
    with History.open(str(path)) as history:
        history.put(a_run("first", message="Zq7secret", trees=(a_tree(text="<hierarchy text='Zq7secret'/>"),)))
    assert "Zq7secret" in cli("history", "export").out
    monkeypatch.setenv("CLAWPERATOR_SAFE_LOGS", "1")
    assert "Zq7secret" not in cli("history", "export").out
    cli("history", "export", "--to", str(tmp_path / "runs.jsonl"))
    assert "Zq7secret" not in (tmp_path / "runs.jsonl").read_text()
    written = cli("history", "export", "first", "--bundle", str(tmp_path / "run.zip")).document
    monkeypatch.delenv("CLAWPERATOR_SAFE_LOGS")
    whole = cli("history", "export", "first", "--bundle", str(tmp_path / "whole.zip")).document
    assert written["files"] == whole["files"] - 1, "without the tree"
