from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.history.records import LineRecord, RunRecord, StepRecord, TreeRecord
from clawperator.engine.history.store import History
from clawperator.widgets.models import run_replay
from clawperator.widgets.models.execution_queries import was_sent
from clawperator.widgets.models.run_replay import Moment, execution_of, interrupted_words
from clawperator.widgets.models.status import Status
from tests.past_runs import NOON, a_run, a_summary, failed, put

TREES = ("<hierarchy><node/></hierarchy>", "<hierarchy/>")


def run(**more: object) -> RunRecord:
    return a_run(trees=TREES, **more)[0]  # type: ignore[arg-type]


def moments(record: RunRecord) -> tuple[Moment, ...]:
    return run_replay.moments(execution_of(record))


def whats(record: RunRecord) -> list[str]:
    return [moment.what for moment in moments(record)]


# -- moments


def test_the_moments_of_a_run_in_their_order() -> None:
    reported = [(moment.what, moment.step, round(moment.offset, 2), moment.tree) for moment in moments(run())]
    assert reported == [
        ("begin", -1, 0.0, -1),
        ("dispatched", -1, 0.05, -1),
        ("step", 0, 0.2, -1),
        ("tree", 0, 0.3, 0),
        ("step end", 0, 0.8, 0),
        ("step", 1, 0.8, 0),
        ("retry", 1, 1.2, 0),
        ("step end", 1, 1.6, 0),
        ("step", 2, 1.6, 0),
        ("tree", 2, 1.7, 1),
        ("step end", 2, 2.0, 1),
        ("result", -1, 2.1, 1),
    ]


def test_every_moment_has_the_line_that_tells_of_it() -> None:
    record = run()
    lines = execution_of(record).lines
    kinds = [lines[moment.line].kind if moment.line >= 0 else "" for moment in moments(record)]
    assert kinds == [
        "sent", "dispatched", "step-start", "snapshot", "step-success", "step-start", "stage-retry", "step-success",
        "step-start", "snapshot", "step-success", "result",
    ]  # fmt: skip
    retry = next(moment for moment in moments(record) if moment.what == "retry")
    assert "2/5" in retry.detail


def test_a_run_without_trees_or_lines_has_the_rest() -> None:
    record = run()._replace(trees=(), lines=())
    assert whats(record) == ["begin", "step", "step end", "step", "step end", "step", "step end", "result"]
    assert {moment.tree for moment in moments(record)} == {-1}


def test_a_run_of_which_only_the_result_was_seen_has_its_ends() -> None:
    steps = tuple(step._replace(started_at=math.nan, ended_at=math.nan) for step in run().steps)
    assert whats(run()._replace(steps=steps, lines=(), trees=())) == ["begin", "result"]


def test_an_interrupted_run_is_known_up_to_its_last_sign() -> None:
    summary = a_summary(status="interrupted", ended_at=math.nan, code="INTERRUPTED")
    record = run()._replace(summary=summary, lines=run().lines[:5], trees=())
    last = moments(record._replace(steps=record.steps[:1]))[-1]
    assert (last.what, round(last.offset, 2)) == ("interrupted", 0.8)


def test_a_running_run_has_no_end_yet() -> None:
    record = run()._replace(summary=a_summary(status="running"), trees=(), steps=(), envelope=None, raw=())
    assert whats(record._replace(lines=record.lines[:5])) == ["begin", "dispatched", "step", "step end"]


def test_a_tree_of_no_named_step_belongs_to_the_one_that_ran() -> None:
    tree = TreeRecord("", NOON + 1.0, "0" * 64, 10)
    found = [moment for moment in moments(run()._replace(trees=(tree,))) if moment.what == "tree"]
    assert [(moment.step, moment.tree) for moment in found] == [(1, 0)]


times = st.one_of(st.just(math.nan), st.floats(-1e3, 1e3).map(lambda offset: NOON + offset))


@given(
    st.lists(st.tuples(times, times, st.integers(0, 3)), max_size=6),
    st.lists(st.tuples(st.floats(0, 9), st.sampled_from(["stage-retry", "step-start", "odd"])), max_size=6),
    st.lists(st.floats(0, 9), max_size=4),
)
def test_whatever_was_recorded_the_moments_are_in_order_and_point_into_the_record(
    reported: list[tuple[float, float, int]], said: list[tuple[float, str]], read: list[float]
) -> None:
    steps = tuple(StepRecord(i, f"s{name}", "click", "success", "", a, b) for i, (a, b, name) in enumerate(reported))
    lines = tuple(LineRecord(NOON + at, kind, "text", {"id": "s1"}) for at, kind in sorted(said))
    trees = tuple(TreeRecord("s2", NOON + at, f"{index:064x}", 1) for index, at in enumerate(sorted(read)))
    record = run()._replace(steps=steps, lines=lines, trees=trees)
    run_of, found = execution_of(record), moments(record)
    assert [moment.at for moment in found] == sorted(moment.at for moment in found)
    assert not any(math.isnan(moment.at) for moment in found)
    assert all(-1 <= moment.step < len(run_of.steps) for moment in found)
    assert all(-1 <= moment.line < len(run_of.lines) for moment in found)
    assert all(-1 <= moment.tree < len(trees) for moment in found)
    assert found[-1].what == "result" or any(moment.at > found[0].at for moment in found)


# -- as an execution


def test_a_run_has_the_duration_that_was_measured_whatever_the_clock_did() -> None:
    record = run()
    found = execution_of(record._replace(summary=record.summary._replace(ended_at=record.summary.ended_at + 60)))
    assert found.elapsed(NOON) == pytest.approx(record.summary.duration_ms / 1000)


def test_a_stored_run_is_an_execution_like_a_live_one() -> None:
    shown = execution_of(run())
    assert (shown.command_id, shown.status, shown.source) == ("cmd-1", Status.OK, "openclaw")
    assert not shown.ours, "the command line sent it, no console"
    assert (shown.started, shown.ended) == (NOON, NOON + 2.1)
    assert [(step.id, step.type, step.status, step.retries) for step in shown.steps] == [
        ("open", "open_app", Status.OK, 0),
        ("wait", "wait_for_node", Status.OK, 1),
        ("snap", "snapshot_ui", Status.OK, 0),
    ]
    assert round(shown.steps[1].ended - shown.steps[1].started, 3) == 0.8
    assert [mark.key for mark in shown.trees] == [tree.digest for tree in run().trees]
    assert [line.kind for line in shown.lines].count("snapshot") == 2
    assert shown.lines[0].text == "from cli, 3 actions", "not: by this console"
    assert [line.at for line in shown.lines] == sorted(line.at for line in shown.lines)
    assert shown.payload == run().payload
    assert shown.phases["dispatch"] == 40.0
    assert shown.raw == '{"commandId":"…"}'


def test_a_failed_run_says_where_and_why() -> None:
    shown = execution_of(failed(a_run())[0])
    assert (shown.status, shown.code) == (Status.FAILED, "NODE_NOT_FOUND")
    assert "No UI node found" in shown.message
    assert [(step.id, step.status, step.code) for step in shown.steps][1] == ("wait", Status.FAILED, "NODE_NOT_FOUND")


def test_an_interrupted_run_says_that_its_end_is_not_known() -> None:
    summary = a_summary(status="interrupted", ended_at=math.nan, code="INTERRUPTED")
    record = run()._replace(summary=summary, envelope=None, raw=(), lines=run().lines[:6], trees=())
    steps = (record.steps[0], record.steps[1]._replace(status="unknown", ended_at=math.nan))
    shown = execution_of(record._replace(steps=steps))
    assert shown.status is Status.UNKNOWN
    assert shown.message == interrupted_words(summary) == "The process that ran it ended before the result arrived"
    assert [step.status for step in shown.steps] == [Status.OK, Status.UNKNOWN]
    assert shown.over


def test_a_run_whose_process_was_killed_had_left_for_the_device() -> None:
    """Its row was written when it was dispatched, and nothing after that."""
    summary = a_summary(status="interrupted", ended_at=math.nan, code="INTERRUPTED")
    shown = execution_of(RunRecord(summary, payload=run().payload))
    assert [line.kind for line in shown.lines] == ["sent", "dispatched"]
    assert was_sent(shown)


def test_a_refused_run_was_never_sent() -> None:
    summary = a_summary(status="refused", code="EXECUTION_CONFLICT_IN_FLIGHT", ended_at=NOON + 0.01)
    record = RunRecord(
        summary, message="The device is busy", lines=(LineRecord(NOON, "sent", ""), LineRecord(NOON, "gave up", ""))
    )
    shown = execution_of(record)
    assert (shown.status, shown.code, shown.message) == (
        Status.FAILED,
        "EXECUTION_CONFLICT_IN_FLIGHT",
        "The device is busy",
    )
    assert [line.kind for line in shown.lines] == ["sent", "gave up"]
    assert was_sent(shown) is False
    assert shown.steps == []


def test_a_run_that_was_only_seen_claims_nothing_more() -> None:
    summary = a_summary(origin="seen", pid=0, face="")
    shown = execution_of(run()._replace(summary=summary, payload=None, phases={}, lines=run().lines[2:11]))
    assert not shown.ours
    assert shown.payload is None
    assert shown.status is Status.OK
    assert "sent" not in [line.kind for line in shown.lines]


def test_a_run_that_goes_on_is_not_over() -> None:
    record = a_run(status="running")[0]
    shown = execution_of(record._replace(steps=()))
    assert not shown.over
    assert math.isnan(shown.ended)


@pytest.mark.parametrize("make", [a_run, lambda: failed(a_run(trees=TREES))])
def test_what_the_store_gives_back_is_the_same_run(tmp_path: Path, make: object) -> None:
    record, texts = make()  # type: ignore[operator]
    with History.open(str(tmp_path / "history.db")) as history:
        number = put(history, (record, texts))
        stored = history.find(number)
    ours, theirs = execution_of(record), execution_of(stored)
    assert [(moment.what, moment.step, moment.line, moment.tree) for moment in moments(stored)] == [
        (moment.what, moment.step, moment.line, moment.tree) for moment in moments(record)
    ]
    assert [(step.id, step.status, step.code) for step in theirs.steps] == [
        (step.id, step.status, step.code) for step in ours.steps
    ]
    assert [(line.kind, line.text) for line in theirs.lines] == [(line.kind, line.text) for line in ours.lines]


def test_a_moment_is_a_value() -> None:
    assert moments(run()) == moments(run())
    assert isinstance(moments(run())[0], Moment)
