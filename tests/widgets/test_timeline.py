from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.widgets.models.execution import ExecutionState, LiveLine, StepState
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import PHASES, timeline
from tests.app.console.support import NOON
from tests.widgets.invented_runs import (
    captured,
    fifty,
    gone,
    late,
    no_steps,
    plan_failed,
    refused,
    running,
    step_failed,
    success,
    timeout,
)


def test_steps_have_their_place_and_their_retries_are_ticks() -> None:
    line = timeline(plan_failed(), NOON)
    first, second = line.steps[:2]
    assert (first.start, first.end) == pytest.approx((0.1, 0.9))
    assert (second.start, second.end) == pytest.approx((0.9, 5.0))
    assert second.ticks == pytest.approx((1.5, 2.5, 3.5))
    assert first.ticks == ()
    assert (line.elapsed, line.length, line.budget) == pytest.approx((5.0, 5.0, 30.0))
    assert line.share == pytest.approx(1 / 6)


def test_what_the_plan_did_not_reach_is_reported_from_the_payload() -> None:
    line = timeline(plan_failed(), NOON)
    assert [(step.number, step.type, step.status, step.step) for step in line.steps[2:]] == [
        (3, "read_text", Status.SKIPPED, None),
        (4, "snapshot_ui", Status.SKIPPED, None),
    ]
    assert line.unreported == 0


def test_what_no_one_knows_is_not_called_skipped() -> None:
    assert [step.status for step in timeline(timeout(), NOON).steps[2:]] == [Status.UNKNOWN, Status.UNKNOWN]
    assert {step.status for step in timeline(refused(), NOON).steps} == {Status.SKIPPED}
    assert {step.status for step in timeline(no_steps(), NOON).steps} == {Status.IDLE}


def test_without_a_payload_the_rest_is_a_number() -> None:
    line = timeline(running(), NOON)
    assert (len(line.steps), line.unreported) == (2, 2)


def test_the_running_step_grows_on_an_axis_that_does_not_move_with_every_moment() -> None:
    execution = running()
    now, later = timeline(execution, NOON), timeline(execution, NOON + 1.5)
    assert math.isnan(now.steps[1].end)
    assert (now.steps[1].until, later.steps[1].until) == pytest.approx((3.0, 4.5))
    assert now.length == later.length == 5
    assert timeline(execution, NOON + 10).length == 15


def test_only_an_envelope_gives_no_times() -> None:
    line = timeline(step_failed(), NOON)
    assert not line.timed
    assert all(math.isnan(step.start) and math.isnan(step.seconds) and not step.ticks for step in line.steps)


@pytest.mark.parametrize("ended", [timeout, gone])
def test_a_step_without_an_end_is_cut_off_not_failed(ended: object) -> None:
    line = timeline(ended(), NOON)  # type: ignore[operator]  # one of the invented runs
    step = line.steps[1]
    assert step.status is Status.UNKNOWN
    assert step.cut_off
    assert step.until == pytest.approx(line.elapsed)


def test_a_late_result_is_where_the_time_line_ends_and_giving_up_ends_no_step() -> None:
    line = timeline(late(), NOON)
    assert line.steps[1].status is Status.OK
    assert line.steps[1].until == pytest.approx(47)
    assert math.isnan(line.steps[1].end)
    assert line.elapsed == pytest.approx(35)
    assert line.length == pytest.approx(47)
    assert line.share > 1


def test_a_step_whose_end_was_not_seen_ends_where_the_next_one_begins() -> None:
    steps = [
        StepState("a", status=Status.UNKNOWN, started=101.0),
        StepState("b", status=Status.OK, started=103.0, ended=104.0),
    ]
    execution = ExecutionState("c", "d", 1, 100.0, status=Status.OK, ended=105.0, steps=steps, envelope={})
    first, second = timeline(execution, NOON).steps
    assert (first.until, second.until) == (3.0, 4.0)
    assert math.isnan(first.end)
    assert not first.cut_off


def test_phases_follow_each_other_in_their_order_whatever_order_they_come_in() -> None:
    execution = success()
    execution.phases = {"finish": 5.0, "validate": 1.0, "later addition": 2.0, "run": 100.0}
    line = timeline(execution, NOON)
    assert [(phase.name, phase.start, phase.length) for phase in line.phases] == [
        ("validate", 0.0, 1.0),
        ("run", 1.0, 100.0),
        ("finish", 101.0, 5.0),
        ("later addition", 106.0, 2.0),
    ]
    assert line.phases_length == 108.0
    assert [phase.meaning for phase in line.phases][-1] == ""


def test_each_phase_is_reported_in_a_few_words() -> None:
    assert all(2 <= len(meaning.split()) <= 4 for meaning in PHASES.values())


def test_a_captured_run_has_the_times_of_its_log() -> None:
    (execution,) = captured("debug-threadtime")
    line = timeline(execution, NOON)
    assert [step.id for step in line.steps] == ["wait", "snap 1"]
    assert [step.type for step in line.steps] == ["sleep", "snapshot_ui"]


def test_a_captured_failure_stays_one_although_the_envelope_names_no_step() -> None:
    execution = next(found for found in captured("plan-failure-threadtime-uid") if found.steps)
    assert execution.envelope is not None
    assert [step.status for step in timeline(execution, NOON).steps] == [Status.FAILED]


def test_numbers_count_through() -> None:
    assert [step.number for step in timeline(fifty(), NOON).steps] == [*range(1, 51)]
    assert [step.number for step in timeline(plan_failed(), NOON).steps] == [1, 2, 3, 4]


moments = st.floats(0, 100) | st.just(math.nan)
steps = st.builds(
    StepState,
    id=st.text(max_size=2),
    status=st.sampled_from(Status),
    started=moments,
    ended=moments,
    code=st.sampled_from(["", "X"]),
)
lines = st.builds(
    LiveLine, at=st.floats(0, 100), status=st.just(Status.WARN), kind=st.just("stage-retry"), text=st.just("")
)


@given(
    st.lists(steps, max_size=6),
    st.lists(lines, max_size=6),
    st.sampled_from(Status),
    moments,
    st.floats(0, 200),
    st.booleans(),
)
def test_whatever_is_known_the_time_line_stands(
    steps: list[StepState], lines: list[LiveLine], status: Status, ended: float, now: float, answered: bool
) -> None:
    execution = ExecutionState(
        "c", "d", 1, 0.0, status=status, ended=ended, steps=steps, lines=lines, payload={"actions": 3}
    )
    execution.envelope = {} if answered else None
    line = timeline(execution, now)
    assert len(line.steps) == len(steps)
    assert line.elapsed >= 0
    for step in line.steps:
        assert not math.isnan(step.until)
        assert all(step.start <= tick <= step.until for tick in step.ticks)
