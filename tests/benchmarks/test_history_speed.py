"""What keeping a history costs, and how soon a long one can be looked at; beside bare Python and bare SQLite of the same run."""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from clawperator.engine.filters.grammar import NO_FILTER, Filter, parse_filter
from clawperator.engine.history.records import LineRecord
from clawperator.engine.history.store import History
from clawperator.engine.history.writes import put_run
from tests.benchmarks.conftest import Phone, Report, in_turn
from tests.benchmarks.raw_script import click
from tests.engine.history.support import a_run, a_tree
from tests.support import CLI

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]

ROUNDS = 24
RUNS = 10_000
PAGE = 200


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# -- recording


def execute(env: Mapping[str, str], payload: str) -> tuple[float, float]:
    """Milliseconds from the start of a process to its answer, and to its end."""
    words = [*CLI, "execute", "--execution", payload]
    began = time.perf_counter()
    with subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["ok"] is True
        answered = time.perf_counter()
    assert process.returncode == 0
    return (answered - began) * 1_000, (time.perf_counter() - began) * 1_000


def test_what_recording_adds_to_an_execution(phone: Phone, report: Report, tmp_path: Path) -> None:
    numbers = count()
    without = {**phone.env, "CLAWPERATOR_NO_HISTORY": "1"}

    def measure() -> tuple[float, str]:
        pairs = []
        for _ in range(ROUNDS + 2):
            recorded = execute(phone.env, json.dumps(click(f"cmd-{next(numbers)}")))
            pairs.append((recorded, execute(without, json.dumps(click(f"cmd-{next(numbers)}")))))
        answer = statistics.median(mine[0] - theirs[0] for mine, theirs in pairs[2:])
        whole = statistics.median(mine[1] - theirs[1] for mine, theirs in pairs[2:])
        ratio = statistics.median(mine[1] / theirs[1] for mine, theirs in pairs[2:])
        return ratio, f"{whole:.1f} ms more to the end, {answer:.1f} ms more to the answer"

    report.ratio(
        "`clawperator execute` of one click, recorded, whole process", "the same without a history", 1.12, measure
    )
    with History.open(str(tmp_path / ".local" / "state" / "clawperator" / "history.db")) as history:
        assert history.count() >= ROUNDS


# -- looking


@pytest.fixture(scope="module")
def long_history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten thousand runs with lines, envelopes and trees."""
    path = str(tmp_path_factory.mktemp("long") / "history.db")
    names = ("success", "success", "failed")

    def fill(db: sqlite3.Connection) -> None:
        for index in range(RUNS):
            lines = tuple(LineRecord(float(at), "start", f"line {at} of {index}") for at in range(12))
            trees = (a_tree(text=f"<hierarchy>{'<node/>' * 40}{index % 500}</hierarchy>"),)
            status = names[index % 3]
            put_run(db, a_run(f"cmd-{index}", lines=lines, trees=trees, status=status, task_id=f"task-{index % 40}"))

    with History.open(path) as history:
        history._write(fill)
    return path


def first_look(path: str, where: Filter) -> None:
    with History.open(path) as history:
        assert len(history.runs(where, limit=PAGE)) == PAGE
        assert history.count(where) >= PAGE


def bare_sqlite(path: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        assert len(db.execute(f"SELECT * FROM executions ORDER BY number DESC LIMIT {PAGE}").fetchall()) == PAGE
        assert db.execute("SELECT count(*) FROM executions").fetchone()[0] >= RUNS


@pytest.mark.parametrize(
    ("words", "limit"), [("", 8.0), ("status:failed", 60.0), ("task-7", 150.0)], ids=["all", "by status", "by a word"]
)
def test_opening_a_history_of_10000_runs(long_history: str, report: Report, words: str, limit: float) -> None:
    where = parse_filter(words) if words else NO_FILTER
    looks = partial(first_look, long_history, where)

    def ratio() -> tuple[float, str]:
        ours, floor, times = in_turn(looks, partial(bare_sqlite, long_history), 15)
        return times, f"{ours * 1_000:.1f} / {floor * 1_000:.1f} ms"

    def milliseconds() -> tuple[float, str]:
        return statistics.median(seconds(looks) for _ in range(9)) * 1_000, ""

    filtered = f", filter `{words}`" if words else ""
    report.ratio(f"history of 10,000 runs: first page and count{filtered}", "bare SQLite, unfiltered", limit, ratio)
    report.milliseconds(f"history of 10,000 runs: first page and count{filtered}", 200, milliseconds)


def test_a_look_as_a_process(long_history: str, report: Report, tmp_path: Path) -> None:
    """`history list` in all: light, as it loads nothing of adb, and no event loop."""
    state = tmp_path / "state"
    (state / "clawperator").mkdir(parents=True)
    os.link(long_history, state / "clawperator" / "history.db")
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(state)}
    words = [*CLI, "history", "list", "--limit", str(PAGE)]
    floor = [sys.executable, "-c", "import argparse, json, sqlite3, dataclasses"]

    def ratio() -> tuple[float, str]:
        run = partial(subprocess.run, env=env, stdout=subprocess.DEVNULL, check=True)
        ours, theirs, times = in_turn(partial(run, words), partial(run, floor), 11)
        return times, f"{ours * 1_000:.0f} / {theirs * 1_000:.0f} ms"

    report.ratio("`clawperator history list` of 10,000 runs, whole process", f"`python -c '{floor[2]}'`", 3.5, ratio)
