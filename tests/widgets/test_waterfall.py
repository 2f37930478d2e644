from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.format.waterfall import bar, milliseconds, phase_row, step_row, total_row
from clawperator.widgets.models.timeline import timeline
from clawperator.widgets.text.safe import cells
from tests.app.console.support import NOON
from tests.widgets.invented_runs import STATES, fifty, gone, late, plan_failed, running, step_failed, success


def text(room: int, start: float, end: float, length: float, **more: object) -> str:
    return "".join(part for part, _ in bar(room, start, end, length, "ok", **more))  # type: ignore[arg-type]  # ticks, symbols


def test_lead_in_work_and_rest() -> None:
    assert text(10, 2, 5, 10) == "░░▇▇▇     "
    assert [role for _, role in bar(10, 2, 5, 10, "fail")] == ["guide", "fail", "text"]


def test_retries_are_ticks_inside_the_work() -> None:
    assert text(10, 0, 10, 10, ticks=(3.2, 6.5)) == "▇▇▇│▇▇│▇▇▇"
    assert text(10, 2, 5, 10, ticks=(2, 9)) == "░░▇▇▇     ", "a tick at its edge or outside of it would lie"


def test_the_shortest_step_is_still_seen() -> None:
    assert text(10, 9.99, 10, 10) == "░░░░░░░░░▇"
    assert text(10, 3, 3, 10) == "░░░▇      "


def test_what_was_not_timed_has_no_bar() -> None:
    assert text(10, math.nan, math.nan, 10) == " " * 10
    assert text(10, 1, 2, 0) == " " * 10
    assert text(4, 1, 2, 10) == "    "


@given(
    st.integers(0, 200),
    st.floats(-5, 300),
    st.floats(-5, 300),
    st.floats(0, 300),
    st.lists(st.floats(-5, 300), max_size=5),
)
@example(20, 0.0, -1.0, 5e-324, [])
def test_a_bar_is_exactly_as_wide_as_its_room(
    room: int, start: float, end: float, length: float, ticks: list[float]
) -> None:
    for symbols in (UNICODE, ASCII):
        assert cells(text(room, start, end, length, ticks=tuple(ticks), symbols=symbols)) == room


def test_a_step_says_its_state_place_type_id_and_duration() -> None:
    line = timeline(plan_failed(), NOON)
    rows = [step_row(step, line, 100, opened=None) for step in line.steps]
    assert rows[0].left.plain.startswith("   ✓  1 open_app            open               ▇")
    assert [row.right.plain if row.right else "" for row in rows] == ["800 ms ", "4.1 s ", "not run ", "not run "]
    assert "│" in rows[1].left.plain


def test_running_and_endless_steps_say_so() -> None:
    line = timeline(running(), NOON)
    assert step_row(line.steps[1], line, 100).right is not None
    assert step_row(line.steps[1], line, 100).right.plain == "2.1 s "  # type: ignore[union-attr]  # asserted above
    line = timeline(gone(), NOON)
    assert step_row(line.steps[1], line, 100).right.plain == "no end "  # type: ignore[union-attr]


def test_untimed_steps_among_timed_ones_say_so() -> None:
    line = timeline(late(), NOON)
    words = [step_row(step, line, 100).right.plain for step in line.steps]  # type: ignore[union-attr]
    assert words[2:] == ["not timed ", "not timed "]
    line = timeline(step_failed(), NOON)
    assert {step_row(step, line, 100).right.plain for step in line.steps} == {" "}  # type: ignore[union-attr]


def test_rows_keep_to_their_width() -> None:
    for state in STATES.values():
        line = timeline(state(), NOON)
        for width in (24, 38, 60, 80, 120, 200):
            for step in line.steps:
                for symbols in (UNICODE, ASCII):
                    row = step_row(step, line, width, opened=True, symbols=symbols)
                    right = row.right.cells if row.right else 0
                    if width >= 60:
                        assert row.left.cells + 1 + right <= width, (state.__name__, width, row)


def test_bars_of_one_run_begin_in_one_column() -> None:
    line = timeline(fifty(), NOON)
    lines = [step_row(step, line, 120).left.plain for step in line.steps]
    begins = {min(text.find(sign) for sign in "░▇" if sign in text) for text in lines}
    assert len(begins) == 1


def test_the_budget_is_reported_with_its_share() -> None:
    assert total_row(timeline(plan_failed(), NOON), 80, over=True).left.plain.startswith(
        " 5.0 s of 30 s  17%  ▇▇▇▇▇▇▇▇▇▇░"
    )
    exceeded = total_row(timeline(late(), NOON), 80, over=True).left
    assert exceeded.spans[1] == ("35.0 s of 30 s", "fail")
    unknown = timeline(step_failed(), NOON)
    assert total_row(unknown, 80, over=True).left.plain == " 0.0 s total, budget unknown"


def test_a_phase_says_what_it_is() -> None:
    line = timeline(success(), NOON)
    row = phase_row(line.phases[0], line, 80)
    assert row.left.plain.startswith("   validate  validate payload      ▇")
    assert row.right is not None
    assert row.right.plain == "1.2 ms "
    assert "payload" not in phase_row(line.phases[0], line, 50).left.plain


def test_short_times_keep_a_digit() -> None:
    assert [milliseconds(length) for length in (0.04, 1.25, 9.94, 9.96, 612.4, 6400)] == [
        "0.0 ms", "1.2 ms", "9.9 ms", "10 ms", "612 ms", "6.4 s",
    ]  # fmt: skip
