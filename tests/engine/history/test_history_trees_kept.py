"""Trees named instead of repeated; texts left out for others."""

from __future__ import annotations

import json
from typing import Any

from clawperator.engine.history.compression import digest
from clawperator.engine.history.masking import without_texts
from clawperator.engine.history.records import LineRecord
from clawperator.engine.history.store import History
from clawperator.engine.history.trees import keep_trees
from clawperator.engine.logcat.signals import CapturedHierarchy
from tests.engine.history.support import a_run, a_tree

COMMAND = "[Clawperator-Command]"
IDS = "commandId=c taskId=t"


def envelope(status: str, *results: tuple[str, str, bool, dict[str, str]], code: str = "") -> dict[str, Any]:
    steps = [{"id": i, "actionType": t, "success": ok, "data": data} for i, t, ok, data in results]
    return {"status": status, "stepResults": steps, "error": None, **({"errorCode": code} if code else {})}


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
        lines=(LineRecord(1.0, "stage-start", f"{COMMAND} stage-start {IDS} id=click({secret}) label={secret}"),),
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
