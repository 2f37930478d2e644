from __future__ import annotations

import copy
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from clawperator.widgets.format.changes import change_row, diff_row, line_diff, path_text
from clawperator.widgets.format.compare_lines import phase_words, step_row, step_words, tree_words
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.run_diff import TreeCounts, ValueChange, step_pairs, tree_pairs
from clawperator.widgets.run_compare import RunCompare
from clawperator.widgets.text.safe import cells
from tests.app.console.support import NOON, drained
from tests.widgets.invented_runs import CLOCK, PAYLOAD, STATES, late, plan_failed, running, success
from tests.widgets.pane_app import Holder, lines


class MessageApp(Holder):
    def on_run_compare_trees_wanted(self, message: RunCompare.TreesWanted) -> None:
        self.reported.append(f"{message.a_key} {message.b_key}")


def shown(app: App[None]) -> str:
    return "\n".join(lines(app))


def pane() -> RunCompare:
    return RunCompare()


def second() -> ExecutionState:
    """What ``plan_failed`` became after the matcher was corrected."""
    run = late()
    run.command_id, run.late, run.gave_up = "cmd-2", False, False
    payload = copy.deepcopy(PAYLOAD) | {"commandId": "cmd-2"}
    payload["actions"][1]["params"] = {"matcher": {"textContains": "Wi"}}
    run.payload = payload
    run.trees = [plan_failed().trees[1]]
    return run


async def test_both_runs_stand_at_the_top_and_what_differs_below() -> None:
    widget = pane()
    app = MessageApp(widget, clock=CLOCK)
    async with app.run_test(size=(100, 40)) as pilot:
        widget.focus()
        await drained(pilot)
        assert "Mark two runs" in shown(app)
        widget.show(plan_failed(), second())
        await drained(pilot)
        text = lines(app)
        assert text[0].startswith(" A ✗ cmd-1  failed  NODE_NOT_FOUND")
        assert text[1].startswith(" B ✓ cmd-2  success")
        assert any("steps  3 of 4 differ" in row for row in text)
        assert any("− actions.wait.params.matcher.textEquals" in row for row in text)
        assert any("commandId  differs in every run" in row for row in text)
        assert any("payload  2 differences" in row for row in text)


async def test_the_next_difference_passes_what_is_alike() -> None:
    widget = pane()
    async with MessageApp(widget, clock=CLOCK).run_test(size=(100, 40)) as pilot:
        widget.focus()
        widget.show(plan_failed(), second())
        visited = []
        for _ in range(4):
            await pilot.press("right_square_bracket")
            visited.append(widget.slot.place if widget.slot else None)
        matcher = ("actions", "wait", "params", "matcher")
        assert visited == [("step", 2), ("step", 3), ("step", 4), ("payload", "removed", (*matcher, "textEquals"))]


async def test_a_run_and_itself_differ_in_nothing() -> None:
    for state in STATES.values():
        widget = pane()
        run = state()
        async with MessageApp(widget, clock=CLOCK).run_test(size=(100, 40)) as pilot:
            widget.focus()
            widget.show(run, run)
            await drained(pilot)
            assert not list(widget.marks())


async def test_enter_on_a_pair_of_trees_asks_for_both() -> None:
    widget = pane()
    app = MessageApp(widget, clock=CLOCK)
    async with app.run_test(size=(100, 40)) as pilot:
        widget.focus()
        a, b = plan_failed(), second()
        b.trees = [type(b.trees[0])("wait", NOON, "other", 500, True)]
        widget.show(a, b)
        await drained(pilot)
        assert widget.tree_keys == [("cmd-1/wait", "other")]
        assert "only in A" in shown(app)
        assert "120 → 500 characters" in shown(app)
        widget.show_changes({("cmd-1/wait", "other"): TreeCounts(3, 1, 4, 0)})
        await drained(pilot)
        assert "+3 −1 ~4" in shown(app)
        row = next(index for index, text in enumerate(lines(app)) if "step wait" in text)
        widget.move_to(row - widget.HEAD_ROWS + widget.top)
        await pilot.press("enter")
        await drained(pilot)
        assert app.reported[-1] == "cmd-1/wait other"


async def test_equal_trees_are_called_so() -> None:
    widget = pane()
    app = MessageApp(widget, clock=CLOCK)
    async with app.run_test(size=(100, 40)) as pilot:
        widget.show(plan_failed(), plan_failed())
        await drained(pilot)
        assert "identical" in shown(app)


async def test_parts_fold_and_long_values_open() -> None:
    widget = pane()
    app = MessageApp(widget, clock=CLOCK)
    async with app.run_test(size=(100, 50)) as pilot:
        widget.focus()
        a, b = plan_failed(), second()
        assert isinstance(b.payload, dict)
        b.payload["actions"][2]["params"]["matcher"]["resourceId"] = "far:id/" + "y" * 300
        widget.show(a, b)
        rows = widget.row_count()
        index = next(i for i, slot in enumerate(widget.rows) if slot.place == ("part", "payload"))
        widget.move_to(index)
        await pilot.press("space")
        assert widget.row_count() < rows
        await pilot.press("enter")
        assert widget.row_count() == rows
        (long,) = (i for i, slot in enumerate(widget.rows) if slot.opened is False and "resourceId" in str(slot.place))
        widget.move_to(long)
        await pilot.press("enter")
        await drained(pilot)
        assert "android:id/summary" in shown(app)
        assert shown(app).count("y") > 300


def test_texts_are_compared_line_by_line() -> None:
    old, new = "same\nonly A 中文\nlast", "same\nnew 1\nnew 2\nlast"
    pairs = [*line_diff(old, new)]
    assert pairs == [
        ("", "same"), ("removed", "only A 中文"), ("added", "new 1"), ("added", "new 2"), ("", "last"),
    ]  # fmt: skip
    assert [diff_row(*pair, 80).left.plain for pair in pairs] == [
        "   same", " − only A 中文", " + new 1", " + new 2", "   last",
    ]  # fmt: skip


@given(st.text(max_size=60), st.text(max_size=60))
def test_each_line_of_both_texts_is_there(a: str, b: str) -> None:
    pairs = [*line_diff(a, b)]
    assert [text for role, text in pairs if role != "added"] == a.splitlines()
    assert [text for role, text in pairs if role != "removed"] == b.splitlines()
    for pair in pairs:
        row = diff_row(*pair, 30).left
        assert row.cells <= 30
        assert all(sign.isprintable() or category(sign) == "Zs" for sign in row.plain), "a blank is harmless"


async def test_what_is_not_known_is_said() -> None:
    widget = pane()
    app = MessageApp(widget, clock=CLOCK)
    async with app.run_test(size=(100, 40)) as pilot:
        widget.show(running(), success())
        await drained(pilot)
        text = shown(app)
        assert "The payload of one run is unknown." in text
        assert "One run has no envelope." in text
        assert "Neither run has a snapshot." in text
        assert "phases  unknown → 6.5 s" in text


def test_durations_stand_side_by_side_with_the_delta() -> None:
    pairs = step_pairs(plan_failed(), success())
    rows = [step_row(number, pair, 100) for number, pair in enumerate(pairs, 1)]
    assert "✗    4.1 s → ✓   700 ms" in rows[1].left.plain
    assert rows[1].right is not None
    assert rows[1].right.spans == [("−3.4 s ", "changed")]
    assert "absent → ✓   400 ms" in rows[2].left.plain
    assert rows[0].right is None, "the same duration has no delta"


def test_changes_keep_to_the_pane_and_show_the_end_of_their_path() -> None:
    path = ("actions", "a step with a very long id indeed", "params", "matcher", "textContains")
    for kind in ("added", "removed", "changed", "moved"):
        row = change_row(ValueChange(kind, path, "old " * 50, "new " * 50), 78)
        assert row.left.cells <= 78
        assert "matcher.textContains" in row.left.plain
    assert cells(path_text(("文" * 60,), 21)) <= 21


def test_trees_and_phases_in_words() -> None:
    a, b = plan_failed(), success()
    assert tree_words(tree_pairs(a, a)) == "2 in both"
    assert tree_words(tree_pairs(a, b)) == "0 in both, 2 only in A"
    assert tree_words([]) == "none"
    assert phase_words(a, a) == "unknown"


def test_how_many_steps_differ_in_words() -> None:
    same, other = step_pairs(success(), success()), step_pairs(plan_failed(), second())
    assert [step_words(pairs) for pairs in (same, same[:1], other, other[1:2], [])] == [
        f"{len(same)} equal", "1 equal", "3 of 4 differ", "1 differs", "none",
    ]  # fmt: skip
