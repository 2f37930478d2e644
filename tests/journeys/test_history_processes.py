"""Processes that share one history: writing at once, dying in the middle, on a disk that is full. The answer is always the same."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.history.store import History
from tests.support import CLI, Spawn, patience

Connect = Callable[..., Awaitable[Any]]

WRITER = """
import os, sys
from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for index in range(count):
    with History.open(path) as history:
        run = a_run(f"{name}-{index}", trees=(a_tree(text=f"<shared-{index % 7}/>"),))
        history.put(run._replace(summary=run.summary._replace(status="running", pid=os.getpid())))
        history.put(run)
        print(index, flush=True)
"""
ROOT = str(Path(__file__).parents[2])


def writer(spawn: Spawn, path: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process that begins when it is told to, and says the number of each run that is written."""
    return spawn(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def is_sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return bool(
            db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            and not db.execute("PRAGMA foreign_key_check").fetchall()
        )


def test_writers_at_once_lose_no_row_and_make_one_file(tmp_path: Path, spawn: Spawn) -> None:
    path = tmp_path / "state" / "history.db"
    writers = [writer(spawn, path, name, 25) for name in "abcd"]
    for process in writers:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in writers:
        process.communicate(timeout=patience(50))
        assert process.returncode == 0
    with History.open(str(path)) as history:
        runs = history.runs(limit=1_000)
        assert {run.command_id for run in runs} == {f"{name}-{index}" for name in "abcd" for index in range(25)}
        assert {run.status for run in runs} == {"success"}
        assert len({run.number for run in runs}) == 100
    assert is_sound(path)
    assert sorted(os.listdir(path.parent)) == ["history.db"]


def test_a_writer_that_is_killed_loses_at_most_what_it_was_writing(tmp_path: Path, spawn: Spawn) -> None:
    path = tmp_path / "history.db"
    for turn in range(4):
        with writer(spawn, path, f"{turn}", 10_000) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            written = [int(process.stdout.readline()) for _ in range(3 + turn)]
            process.kill()
        with History.open(str(path)) as history:
            for index in written:
                assert history.find(f"{turn}-{index}").summary.status == "success"
            assert {run.status for run in history.runs(limit=1_000)} <= {"success", "interrupted"}
    assert is_sound(path)


# -- through the real adb


def plan(command_id: str, *, timeout_ms: int = 5_000) -> str:
    action = {"id": "a", "type": "snapshot_ui"}
    payload = {"commandId": command_id, "taskId": "t", "source": "tests", "expectedFormat": "android-ui-automator"}
    return json.dumps({**payload, "timeoutMs": timeout_ms, "actions": [action]})


class Hand:
    """The command line as a process of its own, on the device of a bench."""

    def __init__(self, bench: Any) -> None:
        self.env = {**bench.env, "CLAWPERATOR_DEVICE_ID": bench.serial}
        self.path = Path(bench.env["HOME"]) / ".local" / "state" / "clawperator" / "history.db"

    async def begin(self, *words: str, **more: Any) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(*CLI, *words),
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    async def run(self, *words: str, **more: Any) -> tuple[int, dict[str, Any], str]:
        """Exit code, document, and what was said on stderr."""
        process = await self.begin(*words, **more)
        out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, json.loads(out), err.decode()

    async def listed(self) -> list[dict[str, Any]]:
        _, document, _ = await self.run("history", "list")
        executions: list[dict[str, Any]] = document["executions"]
        return executions

    async def until_running(self, command_id: str) -> None:
        """Wait until the row of a run in another process is there: nothing tells of it but the file."""
        async with asyncio.timeout(patience(30)):
            while True:
                with History.open(str(self.path), create=False) as history:
                    status = {run.command_id: run.status for run in history.runs()}.get(command_id)
                if status is not None:
                    assert status == "running"
                    return
                await asyncio.sleep(0.02)


@pytest.mark.adb
async def test_what_ran_can_be_looked_at_from_another_process(connect: Connect) -> None:
    hand = Hand(await connect())
    code, answer, err = await hand.run("execute", "--execution", plan("cmd-1"))
    assert (code, err) == (0, "")
    code, shown, _ = await hand.run("history", "show", "cmd-1")
    run = shown["execution"]
    assert (run["executionId"], run["status"], run["face"]) == (answer["executionId"], "success", "cli")
    _, tree, _ = await hand.run("history", "show", "cmd-1", "--tree", "a")
    assert tree["tree"]["text"] == answer["envelope"]["stepResults"][0]["data"]["text"]
    code, cut, _ = await hand.run("execute", "--execution", plan("cmd-2"), "--max-snapshot-bytes", "100")
    _, again, _ = await hand.run("history", "show", "cmd-2", "--tree", "a")
    assert (len(cut["envelope"]["stepResults"][0]["data"]["text"]), again["tree"]["digest"]) == (
        100,
        tree["tree"]["digest"],
    )


@pytest.mark.adb
async def test_a_kill_in_the_middle_of_a_run_leaves_a_row_that_says_so(connect: Connect) -> None:
    hand = Hand(await connect(faults=[{"kind": "silence"}]))
    process = await hand.begin("execute", "--execution", plan("cmd-1", timeout_ms=60_000))
    await hand.until_running("cmd-1")
    assert [run["status"] for run in await hand.listed()] == ["running"]
    process.kill()
    await process.communicate()
    (run,) = await hand.listed()
    assert (run["status"], run["code"], run["commandId"]) == ("interrupted", "INTERRUPTED", "cmd-1")
    assert is_sound(hand.path)
    _, shown, _ = await hand.run("history", "show", "cmd-1")
    assert shown["execution"]["payload"]["commandId"] == "cmd-1", "enough to run it again"


@pytest.mark.adb
async def test_an_interrupt_is_recorded_as_one(connect: Connect) -> None:
    hand = Hand(await connect(faults=[{"kind": "silence"}]))
    process = await hand.begin("execute", "--execution", plan("cmd-1", timeout_ms=60_000))
    await hand.until_running("cmd-1")
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert (process.returncode, json.loads(out)["code"], err) == (130, "INTERRUPTED", b"")
    (run,) = await hand.listed()
    assert (run["status"], run["code"]) == ("interrupted", "INTERRUPTED")
    assert run["endedAt"] > run["startedAt"]


@pytest.mark.adb
async def test_two_command_lines_at_once_are_both_recorded(connect: Connect) -> None:
    hand = Hand(await connect())
    names = [f"cmd-{index}" for index in range(6)]
    answers = await asyncio.gather(*(hand.run("execute", "--execution", plan(name)) for name in names))
    recorded = {run["commandId"]: run["status"] for run in await hand.listed()}
    assert recorded == {
        name: "success" if code == 0 else "refused" for name, (code, _, _) in zip(names, answers, strict=True)
    }
    assert is_sound(hand.path)


@pytest.mark.adb
async def test_a_full_disk_changes_nothing_about_the_answer(connect: Connect) -> None:
    """No file may grow beyond 8 KB: the first write of the history fails as on a full disk."""
    hand = Hand(await connect())
    code, answer, err = await hand.run(
        "execute",
        "--execution",
        plan("cmd-1"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, 8_192)),
    )
    assert (code, answer["ok"]) == (0, True)
    assert err.startswith("[clawperator] WARN: Nothing was recorded")
    code, answer, err = await hand.run("execute", "--execution", plan("cmd-2"))
    assert (code, answer["ok"], err) == (0, True, "")
    second, first = await hand.listed()
    assert (second["commandId"], second["status"]) == ("cmd-2", "success")
    assert (first["commandId"], first["outcome"]["status"]) == ("cmd-1", "unknown"), "the note from before the dispatch"


@pytest.mark.adb
@pytest.mark.parametrize(
    "moment", ["before the dispatch", pytest.param("while the device works", marks=pytest.mark.ci)]
)
@pytest.mark.parametrize("how", ["BEGIN EXCLUSIVE", pytest.param("BEGIN IMMEDIATE", marks=pytest.mark.ci)])
async def test_a_history_that_another_program_locks_costs_a_second_and_the_next_command_writes_the_row(
    connect: Connect, moment: str, how: str
) -> None:
    bench = await connect(speed=1, faults=[{"kind": "late_envelope", "delay_ms": 500}])
    hand = Hand(bench)
    History.open(str(hand.path)).close()
    with closing(sqlite3.connect(hand.path, isolation_level=None)) as db:
        if moment == "while the device works":
            process = await hand.begin("execute", "--execution", plan("cmd-1"))
            await hand.until_running("cmd-1")
            db.execute(how)
        else:
            db.execute(how)
            process = await hand.begin("execute", "--execution", plan("cmd-1"))
        assert process.stdout is not None
        answer = json.loads(await process.stdout.readline())
        answered = time.monotonic()
        _, err = await process.communicate()
        left = time.monotonic() - answered
    assert (process.returncode, answer["ok"]) == (0, True), err
    assert b"which another process locks: the next command records it" in err
    assert left < patience(2)
    (run,) = await hand.listed()
    assert (run["commandId"], run["status"], run["code"]) == ("cmd-1", "success", "")
    assert run["outcome"]["status"] == "succeeded"
    assert run["durationMs"] > 0
    assert not os.listdir(f"{hand.path}.begun")


@pytest.mark.adb
async def test_no_trace_where_none_is_wanted(connect: Connect) -> None:
    hand = Hand(await connect())
    await hand.run("execute", "--execution", plan("cmd-1"), "--no-history")
    hand.env["CLAWPERATOR_NO_HISTORY"] = "1"
    await hand.run("execute", "--execution", plan("cmd-2"))
    assert not hand.path.parent.exists()
