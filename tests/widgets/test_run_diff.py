from __future__ import annotations

import copy
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.models.execution import ExecutionState, StepState, TreeMark
from clawperator.widgets.models.run_diff import (
    TreeCounts,
    phase_pairs,
    step_pairs,
    tree_counts,
    tree_pairs,
    value_changes,
)
from tests.app.console.support import ROWS, settings_screen
from tests.support import table
from tests.widgets.invented_runs import PAYLOAD, STATES, fifty, late, plan_failed, success

HIERARCHIES = sorted((Path(__file__).parents[1] / "data" / "hierarchies").glob("*.xml"))

keys = st.sampled_from(["id", "a", "b", "steps"])
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=True, width=16)
    | st.sampled_from(["", "x", "y"])
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


@given(values)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert value_changes(value, value) == []
    assert value_changes(value, copy.deepcopy(value)) == []


@given(values, values)
def test_the_way_back_has_the_same_number_of_changes(old: Any, new: Any) -> None:
    there, back = (Counter(change.kind for change in value_changes(*pair)) for pair in ((old, new), (new, old)))
    assert (there["added"], there["removed"]) == (back["removed"], back["added"])
    assert (there["changed"], there["moved"]) == (back["changed"], back["moved"])


@given(values, values)
def test_no_change_means_equal(old: Any, new: Any) -> None:
    if not value_changes(old, new):
        assert repr(_sorted(old)) == repr(_sorted(new))


def _sorted(value: Any) -> Any:
    """Without the order of keys, and without telling -0.0 and 1.0 from 0 and 1."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value if isinstance(value, (bool, str)) or value is None else float(value) + 0.0


def test_changes_have_their_paths() -> None:
    new = copy.deepcopy(PAYLOAD)
    new["commandId"] = "cmd-2"
    new["timeoutMs"] = 5_000
    new["actions"][1]["params"] = {"matcher": {"textContains": "Wi"}}
    new["actions"].insert(0, {"id": "look", "type": "snapshot_ui"})
    changes = {change.path: change for change in value_changes(PAYLOAD, new)}
    assert {path: change.kind for path, change in changes.items()} == {
        ("commandId",): "changed",
        ("timeoutMs",): "changed",
        ("actions", "wait", "params", "matcher", "textEquals"): "removed",
        ("actions", "wait", "params", "matcher", "textContains"): "added",
        ("actions", "look"): "added",
    }
    assert [path for path, change in changes.items() if change.expected] == [("commandId",)]
    assert (changes["timeoutMs",].old, changes["timeoutMs",].new) == (30_000, 5_000)


def test_steps_in_another_order_are_reported_once() -> None:
    new = {**PAYLOAD, "actions": PAYLOAD["actions"][::-1]}
    (change,) = value_changes(PAYLOAD, new)
    assert (change.kind, change.path) == ("moved", ("actions",))
    assert change.new == ["snap", "read", "wait", "open"]


def test_a_truth_is_no_number_and_a_list_no_object() -> None:
    assert len(value_changes({"a": True}, {"a": 1})) == 1
    assert len(value_changes([], {})) == 1
    assert value_changes(1, 1.0) == []
    assert value_changes(math.nan, math.nan) == []


def test_depth_is_no_problem() -> None:
    def nested(leaf: str) -> Any:
        value: Any = leaf
        for _ in range(20_000):
            value = [value]
        return value

    (change,) = value_changes(nested("x"), nested("y"))
    assert len(change.path) == 20_000


# -- steps, phases


@table("state", STATES)
def test_a_run_is_like_itself(state: str) -> None:
    run = STATES[state]()
    pairs = step_pairs(run, run)
    assert [pair.id for pair in pairs] == [step.id for step in run.steps]
    assert not any(pair.differs for pair in pairs)
    assert all(math.isnan(a) if math.isnan(b) else a == b for a, b in (pair.seconds for pair in pairs))
    assert all(pair.a is pair.b for pair in tree_pairs(run, run))


def test_steps_are_paired_by_id_with_their_durations() -> None:
    pairs = step_pairs(plan_failed(), success())
    assert [(pair.id, pair.a is not None, pair.b is not None) for pair in pairs] == [
        ("open", True, True), ("wait", True, True), ("snap", False, True),
    ]  # fmt: skip
    assert pairs[1].seconds == pytest.approx((4.1, 0.7))
    assert [pair.differs for pair in pairs] == [False, True, True]
    assert not pairs[0].data, "a plan that broke off tells no data"


def test_data_that_differ_are_a_difference() -> None:
    a, b = late(), late()
    b.steps[2].data = {"text": "OtherNet"}
    (change,) = step_pairs(a, b)[2].data
    assert (change.path, change.old, change.new) == (("text",), "HomeNet", "OtherNet")
    assert [pair.differs for pair in step_pairs(a, b)] == [False, False, True, False]


def test_what_only_one_of_them_has_stands_behind_its_neighbour() -> None:
    a, b = (ExecutionState("c", "d", 1, 0.0, steps=[StepState(name) for name in names]) for names in ("abc", "xaybz"))
    assert "".join(pair.id for pair in step_pairs(a, b)) == "xaybzc"


def test_ids_that_repeat_are_distinguished_by_their_number() -> None:
    a, b = (ExecutionState("c", "d", 1, 0.0, steps=[StepState("s") for _ in range(count)]) for count in (2, 3))
    assert [(pair.a is not None, pair.b is not None) for pair in step_pairs(a, b)] == [
        (True, True),
        (True, True),
        (False, True),
    ]


ids = st.lists(st.sampled_from("abcd"), max_size=6)


@given(ids, ids)
def test_no_step_is_lost(first: list[str], second: list[str]) -> None:
    a, b = (ExecutionState("c", "d", 1, 0.0, steps=[StepState(name) for name in names]) for names in (first, second))
    pairs = step_pairs(a, b)
    assert [pair.a for pair in pairs if pair.a is not None] == a.steps
    assert sorted(pair.id for pair in pairs if pair.b is not None) == sorted(second)


def test_phases_stand_in_their_order() -> None:
    pairs = phase_pairs({"run": 6.0, "validate": 1.0}, {"run": 5.0, "new one": 2.0})
    assert [pair.name for pair in pairs] == ["validate", "run", "new one"]
    assert (pairs[1].a, pairs[1].b) == (6.0, 5.0)
    assert math.isnan(pairs[0].b)
    assert math.isnan(pairs[2].a)


# -- trees


@table("file", HIERARCHIES, ids=lambda file: file.stem)
def test_a_real_tree_is_like_itself(file: Path) -> None:
    tree = parse(file.read_bytes())
    assert tree_counts(tree, parse(file.read_bytes())) == TreeCounts()
    assert not TreeCounts()


def test_nodes_that_came_went_and_changed_are_counted() -> None:
    before = parse(settings_screen())
    fewer = parse(settings_screen(ROWS[:-1]))
    renamed = parse(settings_screen([("Network", *ROWS[0][1:]), *ROWS[1:]]))
    assert tree_counts(before, fewer) == TreeCounts(removed=5)
    assert tree_counts(fewer, before) == TreeCounts(added=5)
    counts = tree_counts(before, renamed)
    assert counts
    assert (counts.added, counts.removed, counts.changed) == (0, 0, 1)


def test_a_tree_that_is_not_known_has_no_counts() -> None:
    tree = parse(settings_screen())
    assert tree_counts(None, tree) is None
    assert tree_counts(tree, None) is None


def test_trees_are_paired_by_the_step_that_took_them() -> None:
    a, b = fifty(), fifty()
    a.trees = [TreeMark("s", 5.0, "a2", 1, True), TreeMark("s", 1.0, "a1", 1, True), TreeMark("t", 2.0, "a3", 1, True)]
    b.trees = [TreeMark("s", 1.0, "b1", 1, True)]
    assert [(pair.step_id, pair.a and pair.a.key, pair.b and pair.b.key) for pair in tree_pairs(a, b)] == [
        ("s", "a1", "b1"), ("t", "a3", None), ("s", "a2", None),
    ]  # fmt: skip
