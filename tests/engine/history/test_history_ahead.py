"""The write-ahead: what a process was about to dispatch becomes a row when the process is dead."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.history import write_ahead
from clawperator.engine.history.store import History

DISPATCH = """
import os, sys
from clawperator.engine.events.bus import EventBus
from clawperator.engine.executions.attempt import Attempt
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.executions.validate import validate
from clawperator.engine.history.recorder import HistoryRecorder
from clawperator.engine.history.worker import HistoryWorker

path, safe, command_id = sys.argv[1:]
room = HistoryWorker(path, EventBus(), safe=bool(safe))
room.write = lambda *_, **__: None  # the thread of the history never has its turn
payload = {"commandId": command_id, "taskId": "t", "source": "tests", "expectedFormat": "android-ui-automator",
           "timeoutMs": 5000, "actions": [{"id": "a", "type": "enter_text", "params":
           {"matcher": {"textEquals": "Name"}, "text": "hunter2"}}]}
attempt = Attempt(room._events, payload, [HistoryRecorder(room, "cli")], Caller("somebody", peer="192.0.2.1"))
attempt.admit(validate(payload), "operator", "com.clawperator.operator")
attempt.start("emulator-5554")
attempt.trace.dispatched()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "history.db")


def killed(path: str, command_id: str = "cmd-1", *, safe: bool = False) -> list[Path]:
    """The notes that a process left which was killed as it dispatched."""
    done = subprocess.run([sys.executable, "-c", DISPATCH, path, "x" if safe else "", command_id], check=False)
    assert done.returncode == -9
    return notes(path)


def notes(path: str) -> list[Path]:
    return sorted(Path(f"{path}.begun").iterdir())


def test_who_opens_the_history_next_makes_a_row_of_it(path: str) -> None:
    (note,) = killed(path)
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    with History.open(path, create=False) as history:
        (run,) = history.runs()
        assert (run.command_id, run.status, run.code, run.face) == ("cmd-1", "interrupted", "INTERRUPTED", "cli")
        assert run.outcome is not None
        assert (run.outcome["status"], run.outcome["steps"][0]["status"]) == ("unknown", "unknown")
        record = history.find(run.number)
        assert record.payload is not None
        assert (record.payload["commandId"], record.steps[0].type) == ("cmd-1", "enter_text")
        (entry,) = history.audit()
        assert (entry.event, entry.caller, entry.peer) == ("execute", "somebody", "192.0.2.1")
        assert entry.action_types == ("enter_text",)
    assert notes(path) == []
    with History.open(path) as history:
        assert history.count() == 1


def test_the_rows_are_in_the_order_in_which_the_runs_began(path: str) -> None:
    ids = [f"cmd-{number}" for number in range(5)]
    for command_id in ids:
        killed(path, command_id)
    with History.open(path) as history:
        assert [run.command_id for run in history.runs()] == ids[::-1]


def test_who_has_it_open_notices_it(path: str) -> None:
    with History.open(path) as history:
        killed(path)
        killed(path, "cmd-2")
        history.mark_interrupted()
        assert {run.command_id for run in history.runs()} == {"cmd-1", "cmd-2"}


def test_with_safe_logs_nothing_typed_is_noted(path: str) -> None:
    (note,) = killed(path, safe=True)
    assert b"hunter2" not in note.read_bytes()
    with History.open(path, safe=True) as history:
        assert history.find("cmd-1").steps[0].type == "enter_text"


def test_the_note_of_a_living_process_is_left_alone(path: str) -> None:
    (note,) = killed(path)
    mine = note.with_name(f"mine-{os.getpid()}")
    parents = note.with_name(f"parents-{os.getppid()}")
    content: dict[str, Any] = json.loads(note.read_bytes()) | {"process": ""}
    for path_of in (mine, parents):
        path_of.write_text(json.dumps(content))
    note.unlink()
    with History.open(path) as history:
        assert history.count() == 0
    assert notes(path) == [mine, parents]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"7",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"row":{}}',
        b'{"row":{"execution_id":[1],"command_id":{}}}',
    ],
)
@pytest.mark.ci
def test_a_damaged_note_is_dropped(path: str, content: bytes) -> None:
    (note,) = killed(path)
    note.write_bytes(content)
    with History.open(path) as history:
        assert history.count() == 0
    assert notes(path) == []


def test_wrong_types_in_a_note_are_dropped(path: str) -> None:
    (note,) = killed(path)
    content: dict[str, Any] = json.loads(note.read_bytes())
    good = content["row"]
    for row in (good | {"pid": None}, good | {"package": []}, good | {"unknown": 1}):
        note.write_text(json.dumps(content | {"row": row}))
        with History.open(path) as history:
            assert history.count() == 0
        assert notes(path) == []


def test_a_link_is_not_followed(path: str, tmp_path: Path) -> None:
    (note,) = killed(path)
    secret = note.rename(tmp_path / "secret")
    note.symlink_to(secret)
    with History.open(path) as history:
        assert history.count() == 0
    assert secret.exists()


def test_a_folder_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "history.db.begun").write_text("")
    assert write_ahead.left(str(tmp_path / "history.db")) == []
