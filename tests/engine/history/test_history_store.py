"""The file: what goes in comes out, whoever else has it open, and whatever somebody did to it."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.filters.grammar import Filter, parse_filter
from clawperator.engine.filters.pattern_budget import ALLOWANCE
from clawperator.engine.history import connection, schema
from clawperator.engine.history.records import AuditRecord, LineRecord
from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree
from tests.support import running


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "history.db")


def test_a_run_comes_back_whole(path: str) -> None:
    run = a_run("cmd-1", trees=(a_tree(),), warnings=({"code": "W", "message": "m"},), message="why")
    with History.open(path) as history:
        number = history.put(
            run, AuditRecord(5.0, "result", run.summary.execution_id, "cmd-1", action_types=("click", "sleep"))
        )
        record = history.find(number)
        assert history.find(run.summary.execution_id) == history.find("cmd-1") == history.find(str(number)) == record
        assert [entry.action_types for entry in history.audit()] == [("click", "sleep")]
        assert history.tree(record.trees[0].digest) == history.tree(record.trees[0].digest[:9]) == "<hierarchy/>"
    assert record.summary == run.summary._replace(number=number, action=record.summary.action)
    assert record.payload == run.payload
    assert record.envelope == run.envelope
    assert (record.raw, record.phases, record.warnings, record.message) == (run.raw, run.phases, run.warnings, "why")
    (step,) = record.steps
    assert (step.id, step.type, step.status, step.data) == ("a", "click", "success", {"seen": "yes"})
    (line,) = record.lines
    assert line.fields == {"id": "a", "type": "m$c"}, "read from the text again"
    assert json.loads(json.dumps(record.to_dict()))["steps"][0]["startedAt"] == run.summary.started_at


def test_what_is_not_known_is_null_and_no_number(path: str) -> None:
    with History.open(path) as history:
        number = history.put(a_run(status="running", ended_at=math.nan, duration_ms=math.nan, pid=os.getpid()))
        summary = history.find(number).summary
    assert math.isnan(summary.ended_at)
    assert summary.to_dict()["endedAt"] is None


def test_pages_go_from_new_to_old_and_count(path: str) -> None:
    with History.open(path) as history:
        for index in range(7):
            history.put(a_run(f"cmd-{index}"))
        first = history.runs(limit=3)
        second = history.runs(limit=3, before=first[-1].number)
        assert [run.command_id for run in (*first, *second)] == [f"cmd-{index}" for index in (6, 5, 4, 3, 2, 1)]
        assert history.count() == 7
        assert [run["commandId"] for run in history.export()] == [f"cmd-{index}" for index in range(7)]


def test_numbers_are_consecutive_and_never_given_twice(path: str) -> None:
    with History.open(path) as history:
        run = a_run()
        begun = history.put(run._replace(summary=run.summary._replace(status="running", pid=os.getpid())))
        assert history.put(run) == begun
        assert history.put(a_run()) == begun + 1
        history.prune(everything=True)
        assert history.put(a_run()) == begun + 2


def test_the_newest_run_of_a_command_is_meant(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run("same", started_at=1.0, ended_at=2.0))
        newest = history.put(a_run("same"))
        assert history.find("same").summary.number == newest
        with pytest.raises(EngineError) as caught:
            history.find("nothing")
        assert caught.value.code is ErrorCode.HISTORY_NOT_FOUND
        with pytest.raises(EngineError, match="no tree"):
            history.tree("%")


def test_equal_trees_are_kept_once_and_compressed(path: str) -> None:
    text = "<hierarchy>" + "<node text='same'/>" * 20_000 + "</hierarchy>"
    with History.open(path) as history:
        for index in range(30):
            history.put(a_run(f"cmd-{index}", trees=(a_tree(text=text), a_tree("again", text=text))))
        assert history.size() < len(text)
        assert history.tree(history.find("cmd-29").trees[1].digest) == text


TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)


@given(TEXTS, TEXTS, TEXTS)
def test_no_text_is_too_odd(command_id: str, message: str, tree: str) -> None:
    """Half surrogate pairs have no UTF-8; where SQLite's own text cannot hold them they become question marks."""
    run = a_run(
        command_id,
        message=message,
        payload={"text": message},
        trees=(a_tree(tree, text=tree),),
        lines=(LineRecord(1.0, "start", message),),
    )
    with closing(History("", connection.in_memory(), [])) as history:
        record = history.find(history.put(run, AuditRecord(1.0, "refused", "e", command_id, action_types=(tree,))))
        assert record.summary.command_id == command_id.encode("utf-8", "replace").decode()
        assert record.payload == {"text": message}
        assert record.lines[0].text == message
        assert history.tree(record.trees[0].digest) == tree


def test_only_this_user_may_read_it(path: str) -> None:
    old = os.umask(0)
    try:
        with History.open(path) as history:
            history.put(a_run())
            modes = {name: stat.S_IMODE(os.stat(path + name).st_mode) for name in ("", "-wal", "-shm")}
    finally:
        os.umask(old)
    assert modes == {"": 0o600, "-wal": 0o600, "-shm": 0o600}
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(path: str) -> None:
    History.open(path).close()
    os.chmod(path, 0o644)
    History.open(path).close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_it_is_fast_and_shrinks(path: str) -> None:
    with History.open(path), closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert other.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_looking_at_no_history_makes_none(path: str) -> None:
    with History.open(path, create=False) as history:
        assert (history.runs(), history.count()) == ([], 0)
    assert not os.path.exists(os.path.dirname(path))


def test_the_version_changes_who_writes(path: str) -> None:
    with History.open(path) as history, History.open(path) as other:
        start = history.version()
        assert history.version() == start
        history.put(a_run())
        own = history.version()
        other.put(a_run())
        assert len({start, own, history.version()}) == 3


# -- versions


def test_an_older_file_is_brought_to_our_version_with_all_it_has(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with History.open(path) as history:
        history.put(a_run("old"))
    monkeypatch.setattr(
        schema, "STEPS", (*schema.STEPS, "ALTER TABLE executions ADD COLUMN mood TEXT DEFAULT 'calm';\n")
    )
    monkeypatch.setattr("clawperator.engine.history.store.STEPS", schema.STEPS)
    with History.open(path) as history:
        assert history.find("old").payload
        history.put(a_run("new"))
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT mood FROM executions").fetchall() == [("calm",), ("calm",)]
            assert db.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)


def test_a_step_that_fails_leaves_the_file_as_it_was(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with History.open(path) as history:
        history.put(a_run("kept"))
    steps = schema.STEPS
    monkeypatch.setattr(schema, "STEPS", (*steps, "CREATE TABLE more (a);\nCREATE TABLE executions (b);\n"))
    with pytest.raises(EngineError) as caught:
        History.open(path)
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    monkeypatch.setattr(schema, "STEPS", steps)
    with History.open(path) as history:
        assert history.find("kept").summary.number


def test_a_newer_file_is_read_and_never_written(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run("theirs"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with History.open(path) as history:
        assert history.find("theirs").summary.status == "success"
        with pytest.raises(EngineError, match="newer") as caught:
            history.put(a_run("ours"))
        assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (99,)


def test_a_newer_file_that_we_cannot_read_is_refused(path: str) -> None:
    History.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE executions RENAME TO runs")
        db.execute("PRAGMA user_version = 99")
    with History.open(path) as history, pytest.raises(EngineError) as caught:
        history.runs()
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE


def test_another_program_s_database_is_left_alone(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (a)")
    before = Path(path).read_bytes()
    with pytest.raises(EngineError, match="another program") as caught:
        History.open(path)
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    assert Path(path).read_bytes() == before


# -- damage


def damaged(path: str) -> list[str]:
    return sorted(name for name in os.listdir(os.path.dirname(path)) if "damaged" in name)


def test_what_is_no_database_is_set_aside_and_reported_once(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"this is no database, whatever its name says" * 100)
    with History.open(path) as history:
        assert [remark for remark in history.remarks if "renamed" in remark]
        assert history.put(a_run()) == 1
    (aside,) = damaged(path)
    assert Path(path).with_name(aside).read_bytes().startswith(b"this is no database")
    with History.open(path) as history:
        assert history.remarks == []
        assert history.count() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="limits a process's files")
def test_a_full_disk_is_named_not_what_follows_from_it(path: str) -> None:
    """SQLite has rolled back by itself then."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        with pytest.raises(EngineError, match="disk I/O error"):
            History.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_one_damaged_run_hides_no_other(path: str) -> None:
    with History.open(path) as history:
        for name in ("whole", "outcome", "envelope"):
            history.put(a_run(name, outcome={"status": "succeeded"}))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE executions SET outcome = '{' WHERE command_id = 'outcome'")
        db.execute("UPDATE envelopes SET content = x'00' WHERE number = 3")
    with History.open(path) as history:
        assert [run.outcome for run in history.runs()] == [{"status": "succeeded"}, None, {"status": "succeeded"}]
        assert [run["commandId"] for run in history.export()] == ["whole", "outcome"]
        (remark,) = history.remarks
        assert remark.startswith("Run 3 is left out. ")
        with pytest.raises(EngineError, match="damaged") as caught:
            history.find(3)
        assert "permissions" not in caught.value.hint


def test_a_page_that_is_broken_costs_the_old_runs_not_the_new_one(path: str) -> None:
    with History.open(path) as history:
        for index in range(200):
            history.put(a_run(f"cmd-{index}"))
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with History.open(path) as history:
        history.put(a_run("after"))
        assert [run.command_id for run in history.runs()] == ["after"]
        assert len(history.remarks) == 1
    assert len(damaged(path)) == 1


def test_two_who_find_the_damage_set_it_aside_once(path: str) -> None:
    """The second one must not move the new file of the first."""
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"no database" * 1000)
    assert connection.set_aside(path)
    with History.open(path) as history:
        history.put(a_run("kept"))
        assert connection.set_aside(path) == ""
    with History.open(path) as history:
        assert history.count() == 1
    assert len(damaged(path)) == 1


def test_a_folder_in_its_place_is_a_clear_error(path: str) -> None:
    os.makedirs(path)
    with pytest.raises(EngineError) as caught:
        History.open(path)
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    assert path in caught.value.message


# -- runs whose process is gone


def test_a_run_of_a_dead_process_is_interrupted_and_that_of_a_living_one_is_not(path: str) -> None:
    now = time.time()
    with History.open(path) as history:
        mine = history.put(a_run("mine", status="running", pid=os.getpid(), started_at=now))
        history.put(a_run("theirs", status="running", pid=2**22 + 1, started_at=now))
        history.put(a_run("overdue", status="running", pid=os.getpid(), started_at=now - 3_600))
    with History.open(path) as history:
        assert history.find(mine).summary.status == "running"
        assert (history.find("theirs").summary.status, history.find("theirs").summary.code) == (
            "interrupted",
            "INTERRUPTED",
        )
        assert history.find("overdue").summary.status == "interrupted"
        assert history.find("theirs").message


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells when a process began")
def test_a_number_that_another_process_got_fools_no_one(path: str) -> None:
    with History.open(path) as history:
        number = history.put(a_run(status="running", pid=os.getpid(), started_at=time.time()))
        with closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE executions SET process = 'another-1'")
            db.commit()
    with History.open(path) as history:
        assert history.find(number).summary.status == "interrupted"


def test_who_dies_while_the_file_is_open_is_noticed_and_who_lives_is_left_alone(path: str) -> None:
    now = time.time()
    with History.open(path) as history:
        history.put(a_run("mine", status="running", pid=os.getpid(), started_at=now))
        history.put(a_run("mine overdue", status="running", pid=os.getpid(), started_at=now - 3_600))
        with running([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            history.put(a_run("theirs", status="running", pid=process.pid, started_at=now))
            history.mark_interrupted()
            assert [run.status for run in history.runs()] == ["running"] * 3
            before = history.version()
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and its number not given back yet
            history.mark_interrupted()
            assert [run.status for run in history.runs()] == ["interrupted", "running", "running"]
            assert history.version() != before
        before = history.version()
        history.mark_interrupted()
        assert history.version() == before, "nothing is written where nothing is to be told"


def test_who_was_thought_dead_and_ends_after_all_has_the_last_word(path: str) -> None:
    run = a_run("slow")
    with History.open(path) as history:
        history.put(run._replace(summary=run.summary._replace(status="running", pid=2**22 + 1)))
    with History.open(path) as history:
        assert history.find("slow").summary.status == "interrupted"
        history.put(run)
        assert history.find("slow").summary.status == "success"
        assert history.find("slow").message == ""


# -- filters


FILTERS = {
    "openclaw": "abc", "src:codex": "d", "status:ok": "a", "status:warn": "b", "status:failed": "cde", "status:refused": "d",
    "status:interrupted": "e", "!status:ok": "bcdef", "status:running": "f", "code:NODE_NOT": "bc", "type:sleep": "b",
    "step:late": "b", "dev:5556": "d", "cmd:cmd-a": "a", "re:/^cmd-[ab]/": "ab", "text:nothing": "c", "nothing": "c",
    "age:<1h": "abcdf", "age:>1h": "e", "tag:x": "", "!tag:x": "abcdef", "openclaw code:NODE": "bc", "": "abcdef",
    "task:task status:ok|warn": "ab", "pid:77": "a", "pid:7": "", "ÄRGER": "e", "not there": "",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FILTERS.items())
def test_filters_mean_what_they_mean_everywhere(path: str, text: str, expected: str) -> None:
    from clawperator.engine.history.records import StepRecord

    late = (StepRecord(0, "a", "click", "success"), StepRecord(1, "late", "sleep", "failed", "NODE_NOT_FOUND"))
    hour = time.time() - 7_200
    with History.open(path) as history:
        history.put(a_run("cmd-a", pid=77))
        history.put(a_run("cmd-b", failed_steps=1, steps=late))
        history.put(a_run("cmd-c", status="failed", code="NODE_NOT_FOUND", message="Nothing found"))
        history.put(a_run("cmd-d", status="refused", source="codex", device_id="emulator-5556"))
        history.put(a_run("cmd-e", status="interrupted", source="ärger", started_at=hour, ended_at=hour + 1))
        history.put(a_run("cmd-f", status="running", source="other", pid=os.getpid()))
        where = parse_filter(text)
        assert not where.problem
        found = "".join(sorted(run.command_id[-1] for run in history.runs(where)))
        assert (found, history.count(where)) == (expected, len(expected))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(History.runs, id="runs"),
        pytest.param(History.count, id="count", marks=pytest.mark.ci),
        pytest.param(lambda history, where: list(history.export(where)), id="export", marks=pytest.mark.ci),
    ],
)
def test_a_pattern_that_takes_too_long_over_all_runs_is_stopped_with_an_error(
    path: str, ask: Callable[[History, Filter], object]
) -> None:
    with History.open(path) as history:
        for number in range(40):
            history.put(a_run(f"cmd-{number}", message="a" * 2_000))
        begun = time.thread_time()
        with pytest.raises(EngineError) as caught:
            ask(history, parse_filter("re:/" + "a?" * 12 + "z/"))
        assert time.thread_time() - begun < 3 * ALLOWANCE
        assert history.count(parse_filter("cmd:cmd-1")) > 0, "the file still answers"
    assert caught.value.code is ErrorCode.INVALID_PARAMETER
    assert "was stopped" in caught.value.message
