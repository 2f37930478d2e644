"""``history``: what the file holds, as documents and for eyes; nothing is made by looking, nothing is removed by mistake."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import time
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli


@pytest.fixture
def path(lonely: dict[str, str]) -> Path:
    return Path(lonely["XDG_STATE_HOME"]) / "clawperator" / "history.db"


@pytest.fixture
def three(path: Path) -> Path:
    """Three runs: one with a tree, one that failed long ago, one on another device."""
    now = time.time()
    with History.open(str(path)) as history:
        history.put(a_run("first", trees=(a_tree(text="<hierarchy>\x1b[31m</hierarchy>"),)))
        old = now - 10 * 86_400
        failed = {"status": "failed", "code": "NODE_NOT_FOUND", "message": "No UI node found: \x1b]0;x\x07"}
        history.put(a_run("second", **failed, started_at=old, ended_at=old + 1))
        history.put(a_run("third", device_id="emulator-5556"))
    return path


@pytest.mark.cold
@pytest.mark.parametrize(("width", "left_out"), [(160, set()), (80, {"command", "source", "step", "device"})])
def test_columns_that_do_not_fit_the_terminal_are_left_out(
    cli: Cli, three: Path, monkeypatch: pytest.MonkeyPatch, width: int, left_out: set[str]
) -> None:
    """Cut into words of five letters, no column could be read."""
    monkeypatch.setattr("clawperator.app.cli.pretty.toolbox.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    header, *rows = re.sub(r"\x1b\[\d*m", "", cli("history", "list", "--output", "pretty").out).splitlines()
    names = {"run", "started", "status", "source", "step", "action", "result", "duration", "device", "command"}
    assert set(header.split()) == names - left_out
    assert len(rows) == 3


def test_no_history_is_an_empty_one_and_none_is_made(cli: Cli, path: Path) -> None:
    assert cli("history", "list").document == {"ok": True, "executions": [], "total": 0, "hasMore": False}
    assert cli("history", "export").out == ""
    assert cli("history", "prune").document["removed"] == 0
    assert cli("history", "show", "1").document["code"] == "HISTORY_NOT_FOUND"
    assert "No run" in cli("history", "list", "--output", "pretty").out
    assert not path.parent.exists()


def test_list(cli: Cli, three: Path) -> None:
    run = cli("history", "list")
    assert (run.exit_code, run.err) == (0, "")
    listed = run.document
    assert [entry["commandId"] for entry in listed["executions"]] == ["third", "second", "first"]
    assert (listed["total"], listed["hasMore"]) == (3, False)
    assert listed["executions"][1]["code"] == "NODE_NOT_FOUND"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--filter", "status:failed"], ["second"]),
        (["--filter", "!status:failed", "--device-id", "emulator-5554"], ["first"]),
        (["--device-id", "emulator-555"], []),
        (["--since", "2h"], ["third", "first"]),
        (["--since", "20d", "--filter", "NODE_NOT_FOUND"], ["second"]),
        (["--before", "3"], ["second", "first"]),
    ],
    ids=" ".join,
)
def test_list_what_fits(cli: Cli, three: Path, flags: list[str], expected: list[str]) -> None:
    listed = cli("history", "list", *flags).document
    assert [entry["commandId"] for entry in listed["executions"]] == expected


def test_list_a_page(cli: Cli, three: Path) -> None:
    page = cli("history", "list", "--limit", "2").document
    assert [entry["commandId"] for entry in page["executions"]] == ["third", "second"]
    assert (page["total"], page["hasMore"]) == (3, True)
    assert "--before 2" in cli("history", "list", "--limit", "2", "--output", "pretty").out


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--filter", "nokey:1"], "nokey"),
        (["--filter", "re:/(/"], "column"),
        (["--since", "yesterday"], "--since"),
        (["--since", "5"], "--since"),
        (["--limit", "0"], "--limit"),
        (["--before", "x"], "--before"),
    ],
)
def test_what_cannot_be_read_is_refused(cli: Cli, three: Path, flags: list[str], word: str) -> None:
    refused = cli("history", "list", *flags)
    assert (refused.exit_code, refused.document["code"]) == (1, "EXECUTION_VALIDATION_FAILED")
    assert word in refused.document["message"]


@pytest.mark.parametrize("key", ["first", "1"])
def test_show(cli: Cli, three: Path, key: str) -> None:
    shown = cli("history", "show", key).document["execution"]
    assert (shown["number"], shown["commandId"], shown["status"]) == (1, "first", "success")
    assert shown["payload"]["actions"] == [{"id": "a", "type": "click"}]
    assert {"steps", "lines", "envelope", "raw", "trees", "phases", "warnings"} <= set(shown)
    assert cli("history", "show", shown["executionId"]).document["execution"] == shown


def test_a_late_result_is_shown_beside_the_outcome(cli: Cli, three: Path) -> None:
    with History.open(str(three)) as history:
        reported = a_run("late", status="failed", code="RESULT_ENVELOPE_TIMEOUT")
        history.put(reported._replace(envelope=None, raw=()))
        came = reported.summary._replace(origin="seen", ended_at=reported.summary.ended_at + 3.2)
        assert reported.envelope is not None
        steps = [{"id": "a", "actionType": "read_text", "success": True, "data": {"text": "my secret"}}]
        history.put_late(
            reported._replace(summary=came, envelope={**reported.envelope, "stepResults": steps}, raw=("my secret",))
        )
    shown = cli("history", "show", "late").document["execution"]
    assert (shown["status"], shown["code"], shown["envelope"]) == ("failed", "RESULT_ENVELOPE_TIMEOUT", None)
    late = shown["lateResult"]
    assert (late["afterMs"], late["envelope"]["status"], late["raw"]) == (
        pytest.approx(3_200),
        "success",
        ["my secret"],
    )
    assert [(step["id"], step["status"], step["data"]) for step in late["steps"]] == [
        ("a", "success", {"text": "my secret"})
    ]
    assert (
        "late result: success, received 3.20 s after the run ended"
        in cli("history", "show", "late", "--output", "pretty").out
    )
    assert "lateResult" not in cli("history", "show", "first").document["execution"]
    safe = cli("history", "export", "--safe", "--filter", "cmd:late").out
    assert "lateResult" in safe
    assert "my secret" not in safe


def test_show_a_tree(cli: Cli, three: Path) -> None:
    tree = cli("history", "show", "first", "--tree", "snap").document["tree"]
    assert (tree["stepId"], tree["text"]) == ("snap", "<hierarchy>\x1b[31m</hierarchy>")
    assert cli("history", "show", "1", "--tree", tree["digest"][:8]).document["tree"] == tree
    missing = cli("history", "show", "1", "--tree", "other").document
    assert (missing["code"], missing["details"]["trees"]) == ("HISTORY_NOT_FOUND", ["snap"])


def test_for_eyes_nothing_steers_the_terminal(cli: Cli, three: Path) -> None:
    for line in (["list"], ["show", "1"], ["show", "2"], ["show", "1", "--tree", "snap"]):
        run = cli("history", *line, "--output", "pretty")
        assert (run.exit_code, "\x1b" in run.out, "\x07" in run.out) == (0, False, False)
    assert "NODE_NOT_FOUND" in cli("history", "show", "2", "--output", "pretty").out


def test_show_needs_to_know_what(cli: Cli, three: Path) -> None:
    assert cli("history", "show").document["code"] == "USAGE"
    assert cli("history", "--json").document == {
        "code": "USAGE",
        "hint": "Run `clawperator help history`.",
        "message": "history list|show|export|audit|prune [options]",
        "retryable": False,
    }


def test_export_to_stdout_is_one_document_per_run(cli: Cli, three: Path) -> None:
    run = cli("history", "export")
    exported = [json.loads(line) for line in run.out.splitlines()]
    assert [entry["commandId"] for entry in exported] == ["first", "second", "third"]
    assert exported[0]["trees"][0]["text"] == "<hierarchy>\x1b[31m</hierarchy>"
    assert "\x1b" not in run.out, "escaped"
    safe = [json.loads(line) for line in cli("history", "export", "--safe", "--filter", "first").out.splitlines()]
    assert [("text" in tree) for tree in safe[0]["trees"]] == [False]
    assert safe[0]["raw"] == []


def test_export_to_a_file_is_all_or_nothing_and_private(cli: Cli, three: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"
    target.write_text("what was there")
    taken = cli("history", "export", "--to", str(target)).document
    assert (taken["code"], taken["hint"]) == ("FILE_EXISTS", "Pass --force to replace a file.")
    assert target.read_text() == "what was there"
    answer = cli("history", "export", "--to", str(target), "--force").document
    assert answer == {"ok": True, "path": str(target), "executions": 3, "bytes": target.stat().st_size}
    assert len(target.read_text().splitlines()) == 3
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    refused = cli("history", "export", "--to", str(tmp_path / "no" / "such" / "folder"))
    assert refused.document["code"] == "FILE_NOT_WRITABLE"
    assert refused.document["details"] == {"file": str(tmp_path / "no" / "such" / "folder")}
    assert cli("history", "export", "--to", str(tmp_path)).document["code"] == "FILE_NOT_WRITABLE"
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    for path in (link, os.devnull):
        assert cli("history", "export", "--to", str(path), "--force").document["code"] == "FILE_EXISTS"
    assert link.is_symlink()
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] == []
    with closing(sqlite3.connect(three)) as db, db:
        db.execute("UPDATE envelopes SET content = x'00' WHERE number = 2")
    damaged = cli("history", "export", "--to", str(target), "--force")
    assert (damaged.document["executions"], damaged.document["leftOut"]) == (2, 1)
    assert "Run 2 is left out" in damaged.err


def test_one_run_as_a_bundle(cli: Cli, three: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.zip"
    answer = cli("history", "export", "first", "--bundle", str(target)).document
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
        assert archive.read("trees/001.xml").decode() == "<hierarchy>\x1b[31m</hierarchy>"
        assert json.loads(archive.read("payload.json"))["commandId"] == "first"
    size = target.stat().st_size
    assert answer == {"ok": True, "path": str(target), "executions": 1, "files": len(names), "bytes": size}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    again = cli("history", "export", "2", "--bundle", str(target))
    assert (again.exit_code, again.document["code"]) == (1, "FILE_EXISTS")
    assert target.stat().st_size == size
    assert cli("history", "export", "first", "--bundle", str(tmp_path / "safe.zip"), "--safe").exit_code == 0
    with zipfile.ZipFile(tmp_path / "safe.zip") as archive:
        assert set(names) - set(archive.namelist()) == {"trees/001.xml"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["first"], "USAGE"),
        (["--bundle", "FILE"], "USAGE"),
        (["first", "--bundle", "FILE", "--since", "1d"], "USAGE"),
        (["first", "--bundle", "FILE", "--to", "other"], "USAGE"),
        (["nobody", "--bundle", "FILE"], "HISTORY_NOT_FOUND"),
    ],
)
def test_a_bundle_is_of_one_run(cli: Cli, three: Path, tmp_path: Path, words: list[str], code: str) -> None:
    target = tmp_path / "run.zip"
    refused = cli("history", "export", *(str(target) if word == "FILE" else word for word in words))
    assert (refused.exit_code, refused.document["code"]) == (1, code)
    assert not target.exists()


def test_prune_by_age_and_size_and_by_the_settings(cli: Cli, three: Path, tmp_path: Path) -> None:
    assert cli("history", "prune").document["removed"] == 0
    done = cli("history", "prune", "--older-than", "7d").document
    assert (done["removed"], done["kept"]) == (1, 2)
    done = cli("history", "prune", "--max-megabytes", "0").document
    assert (done["removed"], done["trees"], done["kept"]) == (2, 1, 0)
    assert "Deleted 0 runs" in cli("history", "prune", "--output", "pretty").out


def test_the_bounds_of_the_settings_file(cli: Cli, three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "clawperator"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text("[history]\ndays = 3\n")
    assert cli("history", "prune").document["removed"] == 1


def test_everything_goes_only_if_someone_says_so(cli: Cli, three: Path) -> None:
    refused = cli("history", "prune", "--all", stdin=b"y\n")
    assert (refused.exit_code, refused.document["code"]) == (1, "NOT_CONFIRMED")
    assert cli("history", "prune", "--all", "--older-than", "1d").document["code"] == "USAGE"
    assert cli("history", "list").document["total"] == 3
    assert cli("history", "prune", "--all", "--yes").document["removed"] == 3
    assert cli("history", "list").document["total"] == 0


def test_a_damaged_file_is_reported_and_set_aside(cli: Cli, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"nonsense" * 1_000)
    run = cli("history", "list")
    assert run.document["total"] == 0
    assert "damaged" in run.err
    assert cli("history", "list").err == ""
    assert list(path.parent.glob("history.db.damaged-*"))


def test_a_file_that_cannot_be_used_is_an_error_here(cli: Cli, path: Path) -> None:
    path.mkdir(parents=True)
    refused = cli("history", "list")
    assert (refused.exit_code, refused.document["code"]) == (1, "HISTORY_UNAVAILABLE")


# -- what commands that run executions do


def test_what_failed_without_a_device_is_kept_and_the_answer_is_the_same(cli: Cli, path: Path) -> None:
    with_history = cli("action", "press-key", "--key", "home")
    assert (with_history.exit_code, with_history.err) == (1, "")
    (run,) = cli("history", "list").document["executions"]
    assert (run["status"], run["code"], run["face"]) == ("failed", with_history.document["code"], "cli")
    assert run["executionId"] == with_history.document["executionId"]


@pytest.mark.parametrize(
    "words",
    [
        ("action", "press-key", "--key", "home"),
        ("observe", "snapshot"),
        ("observe", "screenshot"),
        ("match", "--text", "x"),
        ("suggest", "--at", "1,1"),
    ],
    ids=" ".join,
)
def test_who_does_not_want_a_record_leaves_none(
    cli: Cli, path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*words, "--no-history").document["code"] == "ADB_NOT_FOUND"
    monkeypatch.setenv("CLAWPERATOR_NO_HISTORY", "1")
    assert cli(*words).document["code"] == "ADB_NOT_FOUND"
    assert not path.exists()
    monkeypatch.delenv("CLAWPERATOR_NO_HISTORY")
    assert cli(*words).document["code"] == "ADB_NOT_FOUND"
    assert path.exists()


def test_checking_a_plan_leaves_no_record(cli: Cli, path: Path) -> None:
    assert cli("execute", "--execution", "{}", "--validate-only").exit_code == 1
    assert cli("execute", "--execution", "{}", "--dry-run").exit_code == 1
    assert not path.exists()


def test_a_history_that_does_not_work_is_a_warning_after_the_answer(cli: Cli, path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.write_text("a file where the folder should be")
    run = cli("action", "press-key", "--key", "home")
    assert (run.exit_code, run.document["code"]) == (1, "ADB_NOT_FOUND")
    assert run.err.startswith("[clawperator] WARN: Nothing was recorded: ")
    assert run.err.count("\n") == 1
