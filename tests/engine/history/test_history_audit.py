"""The audit: who asked what, what was refused and by whom, and files that were made before there was so much to tell."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.config.policy import Profile, Rules, admit_recipe
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.history import schema
from clawperator.engine.history.audit_rows import compiling, write_audit
from clawperator.engine.history.records import AuditRecord
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.engine.history.support import a_run

FIRST_VERSION = Path(__file__).parents[2] / "data" / "history-v1.sql"
"""A history as the first version left it: two runs, one tree, three lines of audit."""
OLD_INSERT = (
    "INSERT INTO audit (at, event, execution_id, command_id, task_id, device_id, mode, source, face, action_types, code, "
    "duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""How the first version writes."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "history.db")


@pytest.fixture
def old(path: str) -> str:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(FIRST_VERSION.read_text())
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    return path


def version(path: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        (number,) = db.execute("PRAGMA user_version").fetchone()
        return int(number)


def an_entry(event: Any = "execute", command_id: str = "cmd", **more: Any) -> AuditRecord:
    return AuditRecord(5.0, event, "e", command_id, **more)


# -- files of the first version


def test_an_old_file_gets_the_new_columns_and_keeps_what_it_has(old: str) -> None:
    with History.open(old) as history:
        assert [(entry.number, entry.event, entry.command_id, entry.code) for entry in history.audit()] == [
            (3, "refused", "second", "READ_ONLY"),
            (2, "result", "first", ""),
            (1, "execute", "first", ""),
        ]
        entry = history.audit()[0]
        assert (entry.caller, entry.skill_id, entry.recipe_id, entry.artifact, entry.profile, entry.denied) == ("",) * 6
        assert entry.action_types == ("press_key", "click")
        assert [run.command_id for run in history.runs()] == ["second", "first"]
        record = history.find("first")
        assert history.tree(record.trees[0].digest) == "<hierarchy/>"
        history.put(a_run("third"), an_entry(command_id="third", skill_id="com.example.x", caller="ann"))
        newest = history.audit(limit=1)[0]
        assert (newest.number, newest.skill_id, newest.caller) == (4, "com.example.x", "ann")
    assert version(old) == len(schema.STEPS) == 6


def test_who_had_the_old_file_open_goes_on_writing_it(old: str) -> None:
    """A console of the first version stays open while a command of this one brings the file up to date."""
    with closing(sqlite3.connect(old, isolation_level=None)) as console:
        assert console.execute("SELECT count(*) FROM audit").fetchone() == (3,)
        with History.open(old) as history:
            history.put_audit(an_entry(denied="package a.b"))
        console.execute(OLD_INSERT, (9.0, "execute", "e", "theirs", "", "", "direct", "", "console", "click", "", None))
        read = console.execute("SELECT at, event, execution_id, command_id FROM audit ORDER BY number DESC").fetchall()
        assert [row[3] for row in read] == ["theirs", "cmd", "second", "first", "first"]
    with History.open(old) as history:
        assert [entry.denied for entry in history.audit(limit=2)] == ["", "package a.b"]


def test_the_first_version_reads_our_file_and_writes_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with History.open(path) as history:
        history.put(a_run("ours"), an_entry(skill_id="com.example.x"))
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:1])
    monkeypatch.setattr("clawperator.engine.history.store.STEPS", schema.STEPS[:1])
    with History.open(path) as history:
        assert history.find("ours").summary.status == "success"
        with pytest.raises(EngineError, match="newer"):
            history.put(a_run("theirs"))
    assert version(path) == 6


def test_a_step_that_fails_in_the_middle_leaves_the_old_file(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = schema.STEPS[1].replace("CREATE INDEX", "CREATE NONSENSE")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (schema.STEPS[0], broken))
        with pytest.raises(EngineError):
            History.open(old)
    assert version(old) == 1
    with History.open(old) as history:
        assert len(history.audit()) == 3


def test_two_who_open_an_old_file_bring_it_up_to_date_once(old: str) -> None:
    async def opened() -> None:
        rooms = [HistoryWorker(old, EventBus()) for _ in range(4)]
        for index, room in enumerate(rooms):
            room.put_audit(an_entry(command_id=f"c{index}"))
        await asyncio.gather(*(asyncio.to_thread(room.close) for room in rooms))
        assert not [trouble for room in rooms for trouble in room.troubles]

    asyncio.run(opened())
    with History.open(old) as history:
        assert {entry.command_id for entry in history.audit(limit=4)} == {"c0", "c1", "c2", "c3"}


# -- reading


def test_entries_by_event_by_device_and_by_pages(path: str) -> None:
    with History.open(path) as history:
        for index, event in enumerate(("execute", "result", "refused", "compile", "execute")):
            history.put_audit(an_entry(event, f"c{index}", device_id="one" if index % 2 else "two"))
        assert [entry.command_id for entry in history.audit(events=("refused", "compile"))] == ["c3", "c2"]
        assert [entry.command_id for entry in history.audit(device_id="one")] == ["c3", "c1"]
        assert [entry.command_id for entry in history.audit(events=("execute",), device_id="two")] == ["c4", "c0"]
        assert history.audit(events=("x' OR 1=1 --",)) == history.audit(device_id="' OR ''='") == []
        first = history.audit(limit=2)
        assert [entry.command_id for entry in history.audit(2, first[-1].number)] == ["c2", "c1"]


def test_an_entry_as_json() -> None:
    entry = AuditRecord(5.0, "execute", "e", "c", action_types=("click",), number=1)
    assert json.loads(json.dumps(entry.to_dict())) == {
        "number": 1, "at": 5.0, "event": "execute", "executionId": "e", "commandId": "c", "taskId": "", "deviceId": "",
        "mode": "", "source": "", "face": "", "actionTypes": ["click"], "code": "", "durationMs": None, "caller": "",
        "skillId": "", "recipeId": "", "artifact": "", "profile": "", "denied": "", "operation": "", "peer": "", "rule": "",
        "times": 1, "verdict": "allowed",
    }  # fmt: skip
    assert entry._replace(duration_ms=5.0).to_dict()["durationMs"] == 5.0


# -- compiling

PLAN = {
    "commandId": "cmd-abc",
    "taskId": "task-abc",
    "source": "com.example.x",
    "actions": [{"id": "a", "type": "open_app"}, {"id": "b", "type": "click"}, {"id": "c", "type": "click"}],
}
FACTS: dict[str, Any] = {"skill_id": "com.example.x.skill", "artifact": "main"}


def test_what_was_compiled(path: str) -> None:
    row = compiling(**FACTS, execution=PLAN, recipe_id="com.example.x", caller="ann")
    assert (row.event, row.command_id, row.task_id, row.mode) == ("compile", "cmd-abc", "task-abc", "artifact_compiled")
    assert (row.action_types, row.code, row.face) == (("open_app", "click"), "", "cli")
    room = HistoryWorker(path, EventBus())
    room.put_audit(row)
    room.close()
    assert not room.troubles
    with History.open(path) as history:
        (entry,) = history.audit()
        assert (entry.skill_id, entry.recipe_id, entry.artifact, entry.caller) == (
            "com.example.x.skill",
            "com.example.x",
            "main",
            "ann",
        )


def test_what_could_not_be_compiled_and_what_the_policy_kept_from_it() -> None:
    failed = compiling(**FACTS, error=EngineError(ErrorCode.COMPILE_VAR_MISSING, "x", details={"placeholder": "Ann"}))
    assert (failed.event, failed.code, failed.denied) == ("compile", "COMPILE_VAR_MISSING", "")
    assert math.isnan(failed.duration_ms)
    profile = Profile("shop", capabilities=Rules(("observe",)))
    with pytest.raises(EngineError) as caught:
        admit_recipe(profile, capabilities=["observe", "purchase_risk"], application_id="com.example", recipe_id="r")
    refused = compiling(**FACTS, error=caught.value)
    assert (refused.event, refused.code) == ("refused", "CAPABILITY_DENIED")
    assert (refused.denied, refused.profile, refused.recipe_id) == ("capability purchase_risk", "shop", "r")
    denied = EngineError(ErrorCode.PACKAGE_DENIED, "x")
    assert compiling(**FACTS, error=denied).event == "refused"


def test_a_plan_may_be_anything() -> None:
    odd: Any = {"commandId": 5, "taskId": "t" * 9_999, "actions": ["x", {"type": None}, {}]}
    row = compiling(**FACTS, execution=odd)
    assert (row.command_id, len(row.task_id)) == ("", 512)


def test_an_execution_that_was_compiled_here_carries_its_skill(path: str) -> None:
    with History.open(path) as history:
        history.put_audit(compiling(**FACTS, execution=PLAN, recipe_id="com.example.x"))
        compiled = {"mode": "artifact_compiled"}
        history.put(a_run("cmd-abc", **compiled), an_entry(command_id="cmd-abc", **compiled))
        history.put_audit(an_entry("result", "cmd-abc-p2", **compiled))
        history.put_audit(an_entry("result", "cmd-ab", **compiled))
        history.put_audit(an_entry("result", "cmd-abc", mode="direct"))
        found = [(entry.skill_id, entry.recipe_id, entry.artifact) for entry in reversed(history.audit())]
    known = ("com.example.x.skill", "com.example.x", "main")
    assert found == [known, known, known, ("", "", ""), ("", "", "")]


def test_a_command_notes_it_without_an_engine_unless_nothing_is_kept(path: str, tmp_path: Path) -> None:
    assert write_audit(Settings(history_path=path), compiling(**FACTS, execution=PLAN)) == ()
    with History.open(path) as history:
        assert [entry.event for entry in history.audit()] == ["compile"]
    absent = str(tmp_path / "absent.db")
    assert write_audit(Settings(history_path=absent, history_enabled=False), compiling(**FACTS)) == ()
    assert not Path(absent).exists()
    (trouble,) = write_audit(Settings(history_path=str(tmp_path)), compiling(**FACTS))
    assert trouble.startswith("Nothing was recorded: ")
