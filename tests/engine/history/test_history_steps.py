"""Steps from plan, live lines and envelope; trees named instead of repeated; texts left out for others."""

from __future__ import annotations

import json
import math
from typing import Any

from clawperator.engine.history.packing import digest
from clawperator.engine.history.rows import LineRow
from clawperator.engine.history.safe import without_texts
from clawperator.engine.history.steps import steps_of
from clawperator.engine.history.store import History
from clawperator.engine.history.trees import keep_trees
from clawperator.engine.logcat.hierarchies import CapturedHierarchy
from clawperator.engine.logcat.progress import read_progress
from tests.engine.history.support import a_run, a_tree


def lines(*texts: str) -> tuple[LineRow, ...]:
    """One per second from 1.0 on."""
    read = [(text, read_progress(text)) for text in texts]
    return tuple(LineRow(float(at), *_told(text, told)) for at, (text, told) in enumerate(read, 1))


def _told(text: str, told: tuple[str, dict[str, str]] | None) -> tuple[str, str, dict[str, str]]:
    assert told is not None, text
    return told[0], text, told[1]


COMMAND = "[Clawperator-Command]"
IDS = "commandId=c taskId=t"
TWO = lines(
    f"{COMMAND} start {IDS} source=s timeoutMs=5000 actionCount=2",
    "[UiActionEngine] step_start id=open type=m$o",
    f"{COMMAND} stage-start {IDS} id=openApp:com.example label=Open",
    "[UiActionEngine] step_success id=open type=m$o data={}",
    "[UiActionEngine] step_start id=tap type=m$c",
    f"{COMMAND} stage-start {IDS} id=click(NodeMatcher(textEquals=OK)) label=Click",
    f"{COMMAND} stage-retry {IDS} id=click(NodeMatcher(textEquals=OK)) attempt=2/3 delayMs=500",
    f"{COMMAND} stage-retry {IDS} id=click(NodeMatcher(textEquals=OK)) attempt=3/3 delayMs=500",
    f"{COMMAND} stage-failure {IDS} id=click(NodeMatcher(textEquals=OK)) reason=No UI node found",
    f"{COMMAND} failure {IDS} reason=No UI node found matching criteria",
)
PLAN = [("open", "open_app"), ("tap", "click"), ("never", "sleep")]


def envelope(status: str, *results: tuple[str, str, bool, dict[str, str]], code: str = "") -> dict[str, Any]:
    steps = [{"id": i, "actionType": t, "success": ok, "data": data} for i, t, ok, data in results]
    return {"status": status, "stepResults": steps, "error": None, **({"errorCode": code} if code else {})}


def test_times_and_retries_come_from_the_lines_and_verdicts_from_the_envelope() -> None:
    failed = envelope("failed", ("open", "open_app", True, {}), code="NODE_NOT_FOUND")
    first, second, third = steps_of(PLAN, TWO, failed)
    assert first == (0, "open", "open_app", "success", "", 2.0, 4.0, 0)
    assert second == (1, "tap", "click", "failed", "NODE_NOT_FOUND", 5.0, 9.0, 2)
    assert third[:5] == (2, "never", "sleep", "unknown", "")
    assert math.isnan(third.started_at)


def test_without_a_plan_the_lines_tell_the_types() -> None:
    assert [(step.id, step.type) for step in steps_of((), TWO)] == [("open", "open_app"), ("tap", "click")]


def test_without_an_envelope_the_lines_tell_how_steps_ended() -> None:
    assert [step.status for step in steps_of(PLAN, TWO)] == ["success", "unknown", "unknown"]
    read = lines(
        "[UiActionEngine] step_start id=a type=m$r",
        "[UiActionEngine] step_success id=a type=m$r data={text=an error=X, error=NODE_TEXT_EMPTY}",
    )
    (step,) = steps_of([("a", "read_text")], read)
    assert (step.status, step.code) == ("failed", "NODE_TEXT_EMPTY")


def test_a_step_may_fail_in_a_plan_that_did_not() -> None:
    told = envelope("success", ("a", "read_text", False, {"error": "NODE_TEXT_EMPTY"}))
    (step,) = steps_of([("a", "read_text")], (), told)
    assert (step.status, step.code) == ("failed", "NODE_TEXT_EMPTY")


def test_an_app_that_the_host_closed_is_no_failure() -> None:
    told = envelope("success", ("a", "close_app", False, {"error": "UNSUPPORTED_RUNTIME_CLOSE"}))
    (step,) = steps_of([("a", "close_app")], (), told)
    assert (step.status, step.code) == ("success", "")


def test_a_tree_is_named_where_it_stood_even_if_the_answer_was_cut() -> None:
    whole = "<hierarchy><node text='a'/></hierarchy>"
    answer = envelope(
        "success", ("one", "snapshot_ui", True, {"text": whole}), ("two", "snapshot_ui", True, {"text": whole[:12]})
    )
    seen = [
        (1.0, CapturedHierarchy("one", whole, complete=True)),
        (2.0, CapturedHierarchy("two", whole + "\n", complete=True)),
    ]
    trees, kept = keep_trees(seen, answer, 3.0)
    assert kept is not None
    assert [step["data"] for step in kept["stepResults"]] == [{"tree": digest(whole)}, {"tree": digest(whole + "\n")}]
    assert [tree.text for tree in trees] == [whole, whole + "\n"]


def test_a_tree_that_only_the_envelope_has_is_kept_too() -> None:
    answer = envelope(
        "success", ("one", "snapshot_ui", True, {"text": "<hierarchy/>"}), ("two", "read_text", True, {"text": "<a>"})
    )
    trees, kept = keep_trees([], answer, 3.0)
    assert kept is not None
    assert [step["data"] for step in kept["stepResults"]] == [{"tree": digest("<hierarchy/>")}, {"text": "<a>"}]
    assert [(tree.step_id, tree.at, tree.text) for tree in trees] == [("one", 3.0, "<hierarchy/>")]


def test_nothing_of_a_screen_is_left_for_others(tmp_path: Any) -> None:
    secret = "my secret"
    run = a_run(
        "cmd-1",
        message=f"No UI node found: {secret}",
        payload={
            "commandId": "cmd-1",
            "actions": [
                {
                    "id": "a",
                    "type": "enter_text",
                    "params": {
                        "text": secret,
                        "matcher": {"textEquals": secret, "resourceId": "app:id/x"},
                        "submit": True,
                    },
                }
            ],
        },
        envelope=envelope(
            "failed", ("a", "enter_text", False, {"error": secret, "text": secret, "observed": secret}), code="X"
        ),
        raw=(secret,),
        lines=(LineRow(1.0, "stage-start", f"{COMMAND} stage-start {IDS} id=click({secret}) label={secret}"),),
        trees=(a_tree(text=f"<hierarchy text='{secret}'/>"),),
        warnings=({"code": "W", "message": secret},),
    )
    with History.open(str(tmp_path / "history.db")) as history:
        history.put(run)
        (exported,) = history.export()
        (unnamed,) = history.export(trees=False)
    assert secret in json.dumps(exported["trees"])
    safe = without_texts(unnamed)
    assert secret not in json.dumps(safe)
    assert safe["payload"]["actions"][0]["params"]["matcher"] == {
        "textEquals": "[9 characters]",
        "resourceId": "app:id/x",
    }
    assert safe["lines"][0]["fields"] == {"commandId": "c", "taskId": "t"}
    assert (safe["commandId"], safe["envelope"]["errorCode"], safe["steps"][0]["status"]) == ("cmd-1", "X", "success")
