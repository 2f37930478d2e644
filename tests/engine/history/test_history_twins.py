"""One run that two processes know: whoever made it has the row, and nothing that only the other one saw is lost."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.history.records import LineRecord
from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree

NOW = time.time()
SEEN: dict[str, Any] = {"origin": "seen", "pid": 0, "started_at": NOW + 0.1, "ended_at": NOW + 0.9}
MADE: dict[str, Any] = {"origin": "made", "started_at": NOW, "ended_at": NOW + 0.8}
LINES = (LineRecord(NOW, "start", "[Clawperator-Command] start commandId=cmd"),)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "history.db")


@pytest.mark.parametrize("seen_first", [False, True])
def test_there_is_one_row_who_is_first(path: str, seen_first: bool) -> None:
    made, seen = a_run(**MADE), a_run(**SEEN)
    with History.open(path) as history:
        for run in (seen, made) if seen_first else (made, seen):
            history.put(run)
        (summary,) = history.runs()
        assert (summary.origin, summary.execution_id) == ("made", made.summary.execution_id)


@pytest.mark.parametrize("seen_first", [False, True])
def test_lines_and_trees_that_only_the_other_one_saw_are_kept(path: str, seen_first: bool) -> None:
    """The maker's own log may have broken, where somebody else's did not."""
    made = a_run(**MADE, status="failed", code="LOGCAT_UNAVAILABLE", envelope=None, raw=(), lines=(), steps=())
    seen = a_run(**SEEN, lines=LINES, trees=(a_tree(),))
    with History.open(path) as history:
        for run in (seen, made) if seen_first else (made, seen):
            history.put(run)
        record = history.find("cmd")
        assert (record.summary.status, record.summary.code) == ("failed", "LOGCAT_UNAVAILABLE")
        assert [line.kind for line in record.lines] == ["start"]
        assert len(record.trees) == 1
        assert record.envelope == seen.envelope
        assert [step.status for step in record.steps] == ["success"]


def test_what_the_maker_wrote_is_not_overwritten(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run(**MADE, trees=(a_tree(text="<made/>"),)))
        history.put(a_run(**SEEN, lines=LINES, trees=(a_tree(text="<seen/>"),)))
        record = history.find("cmd")
        assert [line.kind for line in record.lines] == ["step-start"]
        assert [history.tree(tree.digest) for tree in record.trees] == ["<made/>"]


def test_the_end_that_a_dead_maker_never_wrote_is_there_all_the_same(path: str) -> None:
    with History.open(path) as history:
        running = a_run(**{**MADE, "status": "running", "ended_at": math.nan, "pid": os.getpid()})
        history.put(running)
        history.put(a_run(**SEEN, lines=LINES))
        record = history.find("cmd")
        assert record.summary.status == "running", "its own word on how it ended may still come"
        assert record.envelope is not None
        assert [line.kind for line in record.lines] == ["start"]


def test_two_consoles_that_see_one_run_write_it_once(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run(**SEEN))
        history.put(a_run(**SEEN))
        assert history.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"device_id": "emulator-5556"},
        {"started_at": NOW + 60.0, "ended_at": NOW + 61.0},
        {"started_at": NOW - 60, "ended_at": NOW - 59},
    ],
    ids=["another device", "later", "earlier"],
)
def test_what_only_has_the_same_name_is_another_run(path: str, other: dict[str, Any]) -> None:
    with History.open(path) as history:
        history.put(a_run(**MADE))
        history.put(a_run(**{**SEEN, **other}))
        assert history.count() == 2


def test_what_was_made_twice_is_two_runs_and_what_was_refused_was_never_seen(path: str) -> None:
    with History.open(path) as history:
        history.put(a_run(**MADE))
        history.put(a_run(**MADE))
        history.put(a_run(**MADE, status="refused", code="EXECUTION_CONFLICT_IN_FLIGHT"))
        history.put(a_run(**SEEN))
        assert [run.status for run in history.runs()] == ["refused", "success", "success"]
