"""The history stays within its bounds: the oldest go first, a little at a time, and the file shrinks."""

from __future__ import annotations

import math
import os
import random
import time
from pathlib import Path

import pytest

from clawperator.engine.history.prune import RUNS_AT_ONCE
from clawperator.engine.history.records import AuditRecord, RunRecord
from clawperator.engine.history.store import DAY_SECONDS, History
from tests.engine.history.support import a_run, a_tree

NOISE = random.Random(4)


def a_large_run(command_id: str) -> RunRecord:
    """About 100 KB that no compression makes smaller."""
    text = "".join(NOISE.choices("0123456789abcdef", k=200_000))
    return a_run(command_id, trees=(a_tree(text=text),))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "history.db")


def test_old_runs_go_and_young_ones_stay(path: str) -> None:
    now = time.time()
    with History.open(path) as history:
        for days in (40, 31, 29, 1):
            history.put(
                a_run(f"{days}", started_at=now - days * DAY_SECONDS),
                AuditRecord(now - days * DAY_SECONDS, "result", "e", f"{days}"),
            )
        done = history.prune(older_than=30 * DAY_SECONDS)
        assert done.runs == 2
        assert [run.command_id for run in history.runs()] == ["1", "29"]
        assert [entry.command_id for entry in history.audit()] == ["1", "29"]


def test_the_oldest_go_until_the_rest_fits_and_the_file_shrinks(path: str) -> None:
    with History.open(path) as history:
        for index in range(40):
            history.put(a_large_run(f"{index}"))
        before = history.size()
        done = history.prune(megabytes=1)
        assert history.size() <= 1_000_000 < before
        assert (done.bytes_before, done.bytes_after) == (before, history.size())
        kept = [int(run.command_id) for run in history.runs()]
        assert kept == list(range(39, 39 - len(kept), -1))
        assert len(kept) >= 5, "no more than has to"
        assert done.trees == done.runs == 40 - len(kept)
        assert os.path.getsize(path) < 1_200_000


def test_a_tree_goes_with_the_last_run_that_has_it(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run("old", started_at=1.0, trees=(a_tree(text="<shared/>"), a_tree(text="<own/>"))))
        history.put(a_run("new", trees=(a_tree(text="<shared/>"),)))
        shared, own = (tree.digest for tree in history.find("old").trees)
        assert history.prune(older_than=DAY_SECONDS).trees == 1
        assert history.tree(shared) == "<shared/>"
        with pytest.raises(Exception, match="no tree"):
            history.tree(own)


def test_it_happens_by_itself_a_little_at_a_time(path: str) -> None:
    with History.open(path) as history:
        for index in range(RUNS_AT_ONCE + 14):
            history.put(a_run(f"{index}", started_at=1.0))
        number = history.put(a_run("new"))
        assert number % 32 == 1
        history.tidy(number, days=30, megabytes=500)
        assert history.count() == RUNS_AT_ONCE + 15, "not each time"
        history.tidy(64, days=30, megabytes=500)
        assert history.count() == 15, "not all at once"
        history.tidy(96, days=30, megabytes=500)
        assert [run.command_id for run in history.runs()] == ["new"]


def test_too_much_goes_by_itself(path: str) -> None:
    with History.open(path) as history:
        for index in range(30):
            history.put(a_large_run(f"{index}"))
        history.tidy(32, days=30, megabytes=1)
        assert history.size() <= 1_000_000
        assert history.runs(limit=1)[0].command_id == "29"


def test_everything_goes_but_what_runs(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run("over"), AuditRecord(time.time(), "result", "e", "over"))
        history.put(a_run("beginning unknown", started_at=math.nan))
        history.put(a_run("running", status="running", pid=os.getpid()))
        assert history.prune(older_than=60).runs == 0
        assert history.prune(everything=True).runs == 2
        assert [run.command_id for run in history.runs()] == ["running"]
        assert history.audit() == []


def test_an_audit_alone_is_bounded_too(path: str) -> None:
    with History.open(path) as history:
        for index in range(3_000):
            history.put_audit(AuditRecord(time.time(), "refused", "e" * 200, f"{index}"))
        history.prune(megabytes=0)
        assert len(history.audit(limit=5_000)) < 3_000
