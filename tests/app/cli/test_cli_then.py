"""``--then``, ``--ref``, ``--if-changed`` and ``--brief`` as an agent uses them: each line is a program of its own."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.cli.conftest import Plug
from tests.engine.skills.made import made_registry
from tests.support import free_port, varied
from tests.view_lines import lines_of, nodes_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli

SETTINGS = "com.android.settings"


@pytest.fixture(autouse=True)
def device(plug: Plug) -> None:
    plug(device={"generation": "0.5"})


def lines(shown: dict[str, Any], words: str) -> list[str]:
    return [line.strip() for line in lines_of(shown) if words in line]


def test_two_calls_set_a_switch_and_prove_it(cli: Cli) -> None:
    opened = cli("action", "open-app", "--app", SETTINGS, "--then", "compact", "--brief").document
    assert opened.keys() == {"ok", "outcome", "then"}
    assert opened["outcome"] == {"status": "succeeded"}
    (row,) = lines(opened["then"], "Display")
    assert row == "id=android:id/title: Display"
    place = lines_of(opened["then"]).index(next(line for line in lines_of(opened["then"]) if "Display" in line))
    ref = lines_of(opened["then"])[place - 1].split()[1]
    inside = cli("click", "--ref", f"{ref}@{opened['then']['tree']}", "--then", "compact", "--brief").document["then"]
    (_, dark, *_) = lines(inside, "switch ")
    assert "unchecked" in dark
    line = ("click", "--ref", f"{dark.split()[1]}@{inside['tree']}", "--then", "diff", "--brief")
    answer = cli(*line)
    found = answer.document["then"]
    assert [text[0] + text.rpartition(" ")[2] for text in lines_of(found)[1:]] == ["-unchecked", "+checked"]
    assert len(answer.out.encode()) < 450


def test_an_unchanged_screen_is_not_printed_again(cli: Cli) -> None:
    seen = cli("observe", "snapshot", "--view", "compact", "--brief").document
    assert seen.keys() == {"ok", "outcome", "view"}
    same = cli("observe", "snapshot", "--view", "compact", "--if-changed", seen["view"]["tree"])
    assert same.document == {"ok": True, "unchanged": True, "tree": seen["view"]["tree"]}
    cli("action", "open-app", "--app", SETTINGS)
    other = cli("observe", "snapshot", "--if-changed", seen["view"]["tree"]).document
    shown = other["envelope"]["stepResults"][0]["data"]["view"]
    assert (shown["view"], shown["tree"] == seen["view"]["tree"]) == ("full", False)
    eyes = cli("observe", "snapshot", "--if-changed", shown["tree"], "--output", "pretty")
    assert eyes.out == f"unchanged: tree {shown['tree']}\n"


def test_match_and_suggest_take_a_reference(cli: Cli) -> None:
    cli("action", "open-app", "--app", SETTINGS)
    view = cli("observe", "snapshot", "--view", "interactive", "--brief").document["view"]
    row = next(node for node in nodes_of(view) if node["role"] == "listitem" and node.get("click"))
    ref = f"{row['ref']}@{view['tree']}"
    assert cli("match", "--ref", ref).document["selector"] == row["selector"]
    best = cli("suggest", "--ref", ref).document
    assert (best["node"]["role"], best["candidates"][0]["selector"]) == ("listitem", row["selector"])
    refused = cli("match", "--ref", ref, "--snapshot", "-", stdin=b'<hierarchy><node bounds="[0,0][9,9]"/></hierarchy>')
    assert (refused.exit_code, refused.document["code"]) == (1, "USAGE")


def test_a_plan_takes_references_and_then(cli: Cli) -> None:
    tree = cli("action", "open-app", "--app", SETTINGS, "--then", "none").document["then"]["tree"]
    actions: list[dict[str, Any]] = [{"id": "look", "type": "snapshot_ui"}]
    plan: dict[str, Any] = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    whole = {**plan, "timeoutMs": 9_000, "actions": actions}
    looked = cli("execute", json.dumps(whole), "--then", "compact", "--brief").document
    assert looked["then"]["tree"] == tree
    assert looked["then"]["changed"] is False
    actions = [{"id": "tap", "type": "click", "params": {"matcher": {"ref": f"e1@{tree}"}}}]
    refused = cli("execute", json.dumps({**whole, "actions": actions})).document
    assert (refused["code"], refused["details"]["path"]) == ("REF_UNKNOWN", "actions.0.params.matcher")
    assert cli("execute", json.dumps({**whole, "actions": actions}), "--dry-run").exit_code == 0, "no device is asked"


def test_brief_keeps_what_was_read_and_why_it_failed(cli: Cli) -> None:
    cli("action", "open-app", "--app", SETTINGS)
    read = cli("read", "--text", "Battery", "--brief").document
    assert read["outcome"] == {
        "status": "succeeded",
        "steps": [{"id": "read", "status": "done", "data": {"text": "Battery"}}],
    }
    failed = cli("click", "--text", "absent", "--brief")
    assert failed.exit_code == 1
    outcome = failed.document["outcome"]
    assert (outcome["status"], outcome["error"]["code"]) == ("failed", "NODE_NOT_FOUND")
    assert "executionId" in failed.document


@varied("end", ["", "exit 3"])
def test_the_screen_after_a_script(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    opens = f"#!/bin/sh\nPATH=/usr/bin:/bin\n$CLAWPERATOR_BIN action open-app --app {SETTINGS} >/dev/null\n{end}\n"
    registry = made_registry(tmp_path / "skills", {"com.example.app.look": {"run.sh": opens}})
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", registry.path)
    before = cli("observe", "snapshot", "--view", "compact", "--brief").document["view"]["tree"]
    rows = len(cli("history", "list").document["executions"])
    answer = cli("skills", "run", "com.example.app.look", "--then", "compact")
    own, *others = cli("history", "list").document["executions"]
    assert len(others) == rows + 1, "that of the script, and one with both trees"
    trees = cli("history", "show", own["executionId"]).document["execution"]["trees"]
    assert [tree["stepId"] for tree in trees] == ["then.before", "snap", "then.after"]
    shown = answer.document["then"]
    assert answer.document.get("code") == ("SKILL_EXECUTION_FAILED" if end else None)
    assert (shown["changed"], shown["settled"], shown["tree"] == before) == (True, True, False)
    assert lines(shown, "Display") == ["id=android:id/title: Display"]
    assert (
        "settled after" in cli("skills", "run", "com.example.app.look", "--then", "none", "--output", "pretty").out
        or end
    )
    brief = cli("skills", "run", "com.example.app.look", "--then", "none", "--brief").document
    assert brief.keys() == {"ok", "output", "then"} or end
    assert brief["then"]["changed"] is False
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(free_port()))
    refused = cli("skills", "run", "com.example.app.look", "--then", "compact")
    assert "output" not in refused.document, "the script was not run"


def test_the_screen_after_an_artifact(cli: Cli) -> None:
    """One envelope, one row in the history; and it is drawn."""
    cli("open", SETTINGS)
    rows = len(cli("history", "list").document["executions"])
    line = ("skills", "run", "com.android.settings.overview", "--artifact", "overview", "--registry", "builtin")
    answer = cli(*line, "--then", "compact", "--brief").document
    assert (len(answer["executions"]), len(cli("history", "list").document["executions"])) == (1, rows + 1)
    assert lines(answer["then"], "Display") == ["id=android:id/title: Display"]
    assert "settled after" in cli(*line, "--then", "none", "--output", "pretty").out


def test_for_eyes(cli: Cli) -> None:
    shown = cli("action", "open-app", "--app", SETTINGS, "--then", "compact", "--output", "pretty").out
    assert "\n\nscreen changed, settled after" in shown
    assert "id=android:id/title: Battery" in shown
    cli("click", "--text", "Network & internet")
    flipped = cli("click", "--text", "Airplane mode", "--then", "diff", "--output", "pretty").out
    assert re.search(
        r"diff of tree [0-9a-f]{8} since [0-9a-f]{8}\n@@ -\d+ \+\d+ @@\n-  switch e\d+ .*\n\+  switch e", flipped
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("click", "--ref", "e1@7f3a"), "EXECUTION_VALIDATION_FAILED"),
        (("click", "--ref", "e1@00000000", "--text", "x"), "EXECUTION_VALIDATION_FAILED"),
        (("click", "--ref", "e1@00000000"), "REF_UNKNOWN"),
        (("scroll", "down", "--container-ref", "e1@00000000"), "REF_UNKNOWN"),
        (("read-value", "--label-ref", "e1@00000000"), "REF_UNKNOWN"),
        (("set", "--ref", "e1@00000000", "--checked", "true"), "REF_UNKNOWN"),
        (("wait", "--ref", "e1@00000000", "--gone"), "REF_UNKNOWN"),
        (("input", "tap", "--ref", "e1@00000000"), "REF_UNKNOWN"),
        (("click", "--text", "x", "--then", "all"), "EXECUTION_VALIDATION_FAILED"),
        (("submit", "--text", "x"), "EXECUTION_VALIDATION_FAILED"),
        (("wait", "--app", "x y"), "EXECUTION_VALIDATION_FAILED"),
        (("input", "text", "Größe"), "TEXT_NOT_DELIVERED"),
        (("input", "tap", "--at", "5000,5"), "EXECUTION_VALIDATION_FAILED"),
        (("input", "key", "NOPE"), "EXECUTION_VALIDATION_FAILED"),
        (("observe", "snapshot", "--if-changed", "7f3a"), "EXECUTION_VALIDATION_FAILED"),
        (("observe", "snapshot", "--if-changed", "7f3a1b2c", "--snapshot", "-"), "USAGE"),
        (("skills", "run", "com.example.thermostat.set-mode", "--registry", "builtin", "--raw-envelope"), "USAGE"),
    ],
)
def test_what_is_refused(cli: Cli, line: tuple[str, ...], code: str) -> None:
    """One document that names the field and what to do next; nothing was dispatched."""
    answer = cli(*line)
    assert (answer.exit_code, answer.err, answer.document["code"]) == (1, "", code), answer.document
    assert code == "USAGE" or "path" in answer.document["details"]
    assert "schema execution" not in answer.document["hint"]
    assert answer.document.get("broadcastDispatchStatus", "not_sent") == "not_sent"


def test_a_reference_of_another_device_and_of_another_screen(cli: Cli, plug: Plug) -> None:
    seen = cli("open", SETTINGS, "--then", "compact", "--brief").document["then"]
    (row,) = (line.split()[1] for line, below in pairwise(lines_of(seen)) if "Display" in below)
    cli("click", "--text", "Display")
    line = ("set", "--ref", f"{row}@{seen['tree']}", "--checked", "true")
    stale = cli(*line).document
    assert (stale["code"], stale["broadcastDispatchStatus"]) == ("REF_STALE", "not_sent")
    assert (stale["details"]["path"], "actionId" in stale["details"]) == ("--ref", False)
    assert "details.nearest" in stale["hint"]
    plug(device={"serial": "other-1"})
    other = cli(*line).document
    assert (other["code"], "of another device" in other["message"]) == ("REF_UNKNOWN", True)
    assert "--device-id" in other["hint"]


def test_a_window_without_a_tree_is_no_fault_of_the_plan(cli: Cli) -> None:
    """The host's own limit for its look ran out: not the ``timeoutMs`` of the caller."""
    cli("open", "com.example.vault")
    then = cli("click", "--id", "com.example.vault:id/sign_in", "--then", "compact", "--brief").document["then"]
    assert then["error"]["code"] == "UI_TREE_UNAVAILABLE"
    assert "secure window" in then["error"]["hint"]


def test_brief_shows_each_screen_once_and_never_as_a_dump(cli: Cli) -> None:
    look = {"type": "snapshot_ui"}
    opens = {"id": "open", "type": "open_app", "params": {"applicationId": SETTINGS}}
    actions = [{"id": "home", **look}, opens, {"id": "app", **look}]
    plan: dict[str, Any] = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    line = ("execute", json.dumps({**plan, "timeoutMs": 9_000, "actions": actions}), "--brief")
    bare = [step["data"] for step in cli(*line).document["outcome"]["steps"]]
    assert [(data.keys(), data["view"]["view"]) for data in bare] == [({"view"}, "compact")] * 2
    whole = cli(*line, "--then", "compact").document
    assert [step["data"] for step in whole["outcome"]["steps"]] == [{"tree": whole["then"]["tree"]}] * 2
    assert lines(whole["then"], "Display") == lines(bare[1]["view"], "Display")
    assert cli("observe", "snapshot", "--brief").document["view"]["tree"] == whole["then"]["tree"]
