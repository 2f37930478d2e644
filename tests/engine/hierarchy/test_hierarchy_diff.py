from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.diff import align
from clawperator.engine.hierarchy.tree import UiTree, build, parse
from tests.app.console.support import ROWS, settings_screen, view


def labelled(tree: UiTree, label: str) -> int:
    return next(node.index for node in tree.nodes if node.label == label)


def texts(*labels: str, start: int = 0) -> UiTree:
    rows = [
        view("TextView", f"[0,{start + 100 * n}][90,{start + 100 * n + 90}]", text=label)
        for n, label in enumerate(labels)
    ]
    return build([view("ListView", "[0,0][100,2000]", *rows)])


def test_the_same_tree_has_no_changes() -> None:
    old, new = parse(settings_screen()), parse(settings_screen())
    alignment = align(old, new)
    assert not alignment
    assert alignment.old_to_new == {index: index for index in range(len(old.nodes))}


def test_a_changed_text_is_one_change_on_the_same_node() -> None:
    old, new = texts("a", "b", "c"), texts("a", "B!", "c")
    alignment = align(old, new)
    assert alignment.changed == {2}
    assert alignment.old_to_new[2] == 2
    assert not alignment.added
    assert not alignment.removed


def test_a_new_row_is_added_and_those_behind_it_move() -> None:
    old, new = texts("a", "b"), texts("a", "new", "b")
    alignment = align(old, new)
    assert alignment.added == {2}
    assert alignment.moved == {3}
    assert alignment.old_to_new[2] == 3, "b is still b"


def test_a_removed_row_is_counted_on_its_parent() -> None:
    alignment = align(texts("a", "b", "c"), texts("a", "c"))
    assert alignment.removed == {0: 1}
    assert 2 not in alignment.old_to_new


def test_a_removed_subtree_counts_once() -> None:
    old = parse(settings_screen(ROWS[:3]))
    new = parse(settings_screen(ROWS[:2]))
    alignment = align(old, new)
    parent = next(node.index for node in new.nodes if node.scrollable)
    assert alignment.removed == {parent: 1}


def test_a_scrolled_list_keeps_its_rows_although_none_has_a_label_of_its_own() -> None:
    old, new = parse(settings_screen(ROWS[:6])), parse(settings_screen(ROWS[2:8]))
    alignment = align(old, new)
    for title in ("Bluetooth", "Apps", "Notifications", "Battery"):
        assert alignment.old_to_new[labelled(old, title)] == labelled(new, title)
    assert labelled(new, "Storage") in alignment.added
    row = new.nodes[labelled(new, "Apps")].parent
    assert row is not None
    assert row.parent is not None
    assert alignment.mark(row.parent.index) == "moved"
    assert alignment.mark(labelled(new, "Apps")) == "", "what moves with its parent is not marked again"


def test_trees_without_anything_in_common() -> None:
    alignment = align(texts("a"), build([view("Button", "[0,0][1,1]", text="z")]))
    assert alignment.old_to_new == {}
    assert alignment.added == {0}
    assert alignment.removed == {-1: 1}


def test_very_long_lists_are_paired_without_a_table() -> None:
    names = [f"row {n}" for n in range(400)]
    alignment = align(texts(*names), texts("first", *names[:-1]))
    assert alignment.old_to_new[1] == 2
    assert alignment.added == {1}


LABELS = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(LABELS, LABELS)
def test_pairs_are_one_to_one_and_nothing_is_forgotten(before: list[str], after: list[str]) -> None:
    old, new = texts(*before), texts(*after)
    alignment = align(old, new)
    assert {v: k for k, v in alignment.old_to_new.items()} == alignment.new_to_old
    assert len(alignment.new_to_old) + len(alignment.added) == len(new.nodes)
    assert len(alignment.old_to_new) + sum(alignment.removed.values()) == len(old.nodes)
    for one, other in alignment.old_to_new.items():
        assert old.nodes[one].cls == new.nodes[other].cls
