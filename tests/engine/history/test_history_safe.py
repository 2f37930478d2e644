"""Safe logs: what the history never held it cannot show, export or lose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clawperator.engine.events.bus import EventBus
from clawperator.engine.history.records import AuditRecord, LineRecord, RunRecord, StepRecord
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.engine.history.support import a_run, a_tree

SECRET = "Zq7secret"
STAGE = "[Clawperator-Command] stage-start commandId=cmd taskId=task id=click"


def telling_run() -> RunRecord:
    """A run in which ``SECRET`` stands wherever the device or the caller can put it."""
    steps = [
        {"id": "a", "actionType": "enter_text", "success": True, "data": {"text": SECRET, "seen": SECRET}},
        {"id": "b", "actionType": "snapshot_ui", "success": True, "data": {"tree": "0" * 64, "note": SECRET}},
    ]
    return a_run(
        "cmd",
        message=f"No node {SECRET}",
        payload={
            "commandId": "cmd",
            "actions": [
                {"id": "a", "type": "enter_text", "params": {"matcher": {"textEquals": SECRET}, "text": SECRET}}
            ],
        },
        envelope={"commandId": "cmd", "status": "success", "stepResults": steps, "error": SECRET},
        raw=(SECRET,),
        lines=(
            LineRecord(1.0, "sent", "sent by cli, 1 action"),
            LineRecord(2.0, "stage-start", f"{STAGE}(textEquals={SECRET}) label={SECRET}"),
        ),
        trees=(a_tree(text=f"<hierarchy text='{SECRET}'/>"),),
        warnings=({"code": "W", "path": "actions.0", "message": SECRET},),
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "history.db")


def test_nothing_that_was_read_or_typed_gets_into_the_file(path: str) -> None:
    with History.open(path, safe=True) as history:
        number = history.put(telling_run())
        history.put_late(
            telling_run()._replace(summary=telling_run().summary._replace(command_id="cmd", origin="seen"))
        )
        (exported,) = history.export()
    assert SECRET not in json.dumps(exported)
    for name in Path(path).parent.iterdir():
        assert SECRET.encode() not in name.read_bytes()
    with History.open(path) as history:
        record = history.find(number)
    assert (record.trees, record.raw) == ((), ())
    assert record.summary.action == 'enter_text "*********"'
    assert (record.summary.status, record.summary.command_id) == ("success", "cmd")
    assert record.payload == {
        "commandId": "cmd",
        "actions": [
            {"id": "a", "type": "enter_text", "params": {"matcher": {"textEquals": "*********"}, "text": "*********"}}
        ],
    }
    assert [line.text for line in record.lines] == [
        "sent by cli, 1 action",
        f"{STAGE}(**********=*********) label=*********",
    ]
    assert record.lines[1].fields["commandId"] == "cmd"
    assert record.warnings == ({"code": "W", "path": "actions.0", "message": "*********"},)
    assert record.envelope is not None
    assert "tree" not in record.envelope["stepResults"][1]["data"]


def test_nothing_of_a_refused_payload_gets_into_the_file(path: str) -> None:
    payload = {"commandId": "cmd", SECRET: 1, "actions": [{"id": "a", "type": SECRET, "params": {"key": SECRET}}]}
    audit = AuditRecord(1.0, "refused", "e", "cmd", action_types=(SECRET, "press_key"))
    run = a_run("cmd", payload=payload, envelope=None, steps=(StepRecord(0, "a", SECRET),), outcome=None)
    with History.open(path, safe=True) as history:
        history.put(run, audit)
        history.put_audit(audit)
        assert [entry.action_types for entry in history.audit()] == [("*********", "press_key")] * 2
    for name in Path(path).parent.iterdir():
        assert SECRET.encode() not in name.read_bytes()


def test_what_is_kept_otherwise_is_whole(path: str) -> None:
    with History.open(path) as history:
        history.put(telling_run())
        (exported,) = history.export()
    assert exported["trees"][0]["text"] == f"<hierarchy text='{SECRET}'/>"


def test_a_room_hands_it_on(path: str) -> None:
    room = HistoryWorker(path, EventBus(), safe=True)
    room.write(lambda history: history.put(telling_run()))
    room.close()
    assert not room.troubles
    with History.open(path) as history:
        (exported,) = history.export()
    assert SECRET not in json.dumps(exported)
