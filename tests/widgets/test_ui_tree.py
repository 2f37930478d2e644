"""The tree pane: stability, finding, filters, matches, marks, comparing, holding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.engine.hierarchy.align import NOTHING, align
from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.tree import UiNode, UiTree, build, parse
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.tree_rows import TreeView
from clawperator.widgets.ui_tree import UiTreePane
from tests.app.console.support import ROWS, drained, hostile_screen, settings_screen, until, view
from tests.widgets.pane_app import Holder, held, lines


class MessageApp(UiTreePane):
    """Remembers what it posted."""

    def __init__(self) -> None:
        super().__init__(id="pane", changed=lambda: self.reported.append("changed"))
        self.reported: list[Any] = []

    def post_message(self, message: Any) -> bool:
        self.reported.append(message)
        return super().post_message(message)

    def lost(self) -> list[tuple[str, str]]:
        return [(message.gone, message.now) for message in self.reported if isinstance(message, UiTreePane.CursorLost)]

    def changes_told(self) -> int:
        return self.reported.count("changed")


class Camera:
    """Snapshots in a row, each compared with the one before it, as the bridge does."""

    def __init__(self) -> None:
        self.last = TreeSnapshot.EMPTY

    def take(self, tree: UiTree, device: str = "emulator-5554") -> TreeSnapshot:
        before = self.last
        changes = align(before.tree, tree) if before.tree is not None else NOTHING
        self.last = TreeSnapshot(
            serial=before.serial + 1, device_id=device, tree=tree, since=before.serial, changes=changes
        )
        return self.last


@asynccontextmanager
async def tree_pane(
    *trees: UiTree, size: tuple[int, int] = (60, 12), **more: Any
) -> AsyncIterator[tuple[MessageApp, Holder, Pilot[None], Camera]]:
    pane, camera = MessageApp(), Camera()
    async with held(pane, size=size, **more) as (app, pilot):
        for tree in trees:
            pane.show(camera.take(tree))
        await drained(pilot)
        pane.reported.clear()
        yield pane, app, pilot, camera


def settings(rows: Sequence[tuple[str, str, bool]] = ROWS) -> UiTree:
    return parse(settings_screen(rows))


def labelled(pane: UiTreePane, label: str) -> UiNode:
    return next(node for node in pane.snapshot.nodes if node.label == label)


def leaf(label: str = "", **more: object) -> RenderNode:
    return view("TextView", "[0,0][10,10]", text=label, **more)


def box(*children: RenderNode, **more: object) -> RenderNode:
    return view("FrameLayout", "[0,0][100,100]", *children, **more)


def shown(pane: UiTreePane) -> list[str]:
    return [("−" if row.ghost else "") + (row.node.label or "box") for row in pane.rows]


# -- stability


async def test_the_cursor_stays_on_its_node_and_at_its_height_when_the_list_scrolls() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        pane.reveal_node(labelled(pane, "Apps"))
        await drained(pilot)
        height = pane.cursor - pane.top
        pane.show(camera.take(settings(ROWS[2:])))
        await drained(pilot)
        assert pane.node is labelled(pane, "Apps")
        assert pane.cursor - pane.top == height
        assert pane.lost() == []


async def test_over_an_edge_the_page_scrolls_by_a_quarter() -> None:
    """Each scroll repaints every row, which costs a slow connection most."""
    async with tree_pane(settings()) as (pane, _, pilot, _camera):
        page = pane.view_height
        assert pane.row_count() > 2 * page > 16
        for _ in range(page):
            pane.action_move(1)
        assert pane.top == 1 + page // 4
        pane.action_move(1)
        assert pane.top == 1 + page // 4
        for _ in range(page // 4 + 1):
            pane.action_move(1)
        tops = {pane.top}
        while pane.cursor < pane.row_count() - 1:
            pane.action_move(1)
            tops.add(pane.top)
        assert len(tops) < pane.row_count() / (page // 4)
        assert pane.top == pane.last_top
        while pane.cursor:
            pane.action_move(-1)
            assert pane.top <= pane.cursor < pane.top + page
        assert pane.top == 0
        await drained(pilot)


async def test_a_node_that_leaves_hands_the_cursor_to_what_it_was_in_and_says_so() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        pane.reveal_node(labelled(pane, "HomeNet"))
        pane.show(camera.take(settings([*ROWS[:1], ("Wi‑Fi", "", True), *ROWS[2:]])))
        await drained(pilot)
        assert pane.node is labelled(pane, "Wi‑Fi"), "its parent, folded into the text that is left in it"
        assert pane.lost() == [('TextView "HomeNet"', 'TextView "Wi‑Fi"')], "named as it is drawn"


async def test_a_dialog_over_the_app_does_not_take_the_cursor() -> None:
    app = view("FrameLayout", "[0,0][1080,2340]", leaf("one"), leaf("two", resource_id="two"))
    dialog = view("FrameLayout", "[100,800][980,1400]", leaf("sure?"), view("Button", "[0,0][9,9]", text="OK"))
    async with tree_pane(build([app])) as (pane, _, pilot, camera):
        pane.reveal_node(labelled(pane, "two"))
        pane.show(camera.take(build([app, dialog])))
        assert pane.node is labelled(pane, "two")
        assert shown(pane)[-3:] == ["box", "sure?", "OK"]
        pane.show(camera.take(build([app])))
        await drained(pilot)
        assert pane.node is labelled(pane, "two")
        assert pane.lost() == []


async def test_rotation_keeps_the_cursor_on_its_node() -> None:
    def screen(width: int, height: int) -> UiTree:
        list_bounds = f"[0,200][{width},{height}]"
        rows = [view("TextView", f"[0,{200 + 100 * n}][{width},{300 + 100 * n}]", text=f"row {n}") for n in range(9)]
        return build([view("FrameLayout", f"[0,0][{width},{height}]", view("ListView", list_bounds, *rows))])

    async with tree_pane(screen(1080, 2340)) as (pane, _, pilot, camera):
        pane.reveal_node(labelled(pane, "row 6"))
        pane.show(camera.take(screen(2340, 1080)))
        await drained(pilot)
        assert pane.node is labelled(pane, "row 6")


async def test_folds_stay_with_their_nodes() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        bluetooth = labelled(pane, "Bluetooth").parent
        assert bluetooth is not None
        pane.reveal_node(bluetooth)
        await pilot.press("space")
        assert "Bluetooth" not in shown(pane)
        pane.show(camera.take(settings(ROWS[1:])))
        assert "Bluetooth" not in shown(pane)
        assert "Apps" in shown(pane)


async def test_who_scrolled_away_from_the_cursor_keeps_looking_at_the_same_rows() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        pane.scroll_rows(20)
        top = pane.rows[pane.top].node
        assert pane.cursor == 0
        pane.show(camera.take(settings([("New", "", False), *ROWS])))
        await drained(pilot)
        assert pane.rows[pane.top].node.label == top.label
        assert pane.rows[pane.top].node.bounds.left == top.bounds.left
        assert pane.cursor == 0


async def test_another_device_begins_at_the_top_without_marks() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        await pilot.press("G")
        pane.compare(pane.snapshot)
        pane.show(camera.take(settings(ROWS[3:]), device="other"))
        await drained(pilot)
        assert (pane.cursor, pane.top) == (0, 0)
        assert not pane.model.changes
        assert pane.model.compared is None
        assert pane.lost() == []


async def test_stepping_back_marks_the_way_back() -> None:
    first = settings([("Wi‑Fi", "off", False)])
    async with tree_pane(first, settings([("Wi‑Fi", "HomeNet", False), ("More", "", False)])) as (pane, _, _p, camera):
        newer = camera.last
        pane.show(TreeSnapshot(serial=1, device_id=newer.device_id, tree=first))
        assert [first.nodes[at].label for at in pane.model.changes.changed] == ["off"]
        assert sum(pane.model.changes.removed.values()) == 1


# -- holding


async def test_a_held_pane_lets_newer_trees_wait_and_then_shows_the_newest() -> None:
    async with tree_pane(settings()) as (pane, _, _p, camera):
        before = pane.snapshot
        pane.hold(True)
        pane.show(camera.take(settings(ROWS[1:])))
        pane.show(camera.take(settings(ROWS[2:])))
        pane.show(camera.last)
        assert pane.snapshot is before
        assert pane.waiting == 2
        assert pane.changes_told() == 2
        pane.hold(False)
        assert pane.snapshot is camera.last
        assert pane.waiting == 0
        pane.hold(False)
        assert pane.changes_told() == 3


async def test_the_first_tree_does_not_wait() -> None:
    async with tree_pane() as (pane, _, _p, camera):
        pane.hold(True)
        pane.show(camera.take(settings()))
        assert pane.snapshot is camera.last, "there is nothing to decide about"
        assert pane.waiting == 0


async def test_the_panes_beside_it_wait_until_all_of_a_tree_is_worked_out() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):

        def focused() -> int:
            return sum(isinstance(message, UiTreePane.NodeFocused) for message in pane.reported)

        await until(pilot, lambda: focused() == 1)
        known = camera.take(settings())
        pane.show(replace(known, coming=True))
        await until(pilot, lambda: pane._rest is None)
        assert focused() == 1, "the cursor has come to rest, but the tree is not ready to be asked much"
        pane.show(known)
        await until(pilot, lambda: focused() == 2)


async def test_a_hold_without_news_changes_nothing() -> None:
    async with tree_pane(settings()) as (pane, _, _p, _c):
        pane.hold(True)
        pane.hold(False)
        assert pane.reported == []


# -- finding


async def test_each_key_of_a_find_looks_on_from_where_the_find_began() -> None:
    tree = build([box(leaf("alpha"), leaf("contain"), leaf("contact"), leaf("alert"))])
    async with tree_pane(tree) as (pane, _, _p, _c):
        for text, label in (("al", "alpha"), ("ale", "alert"), ("al", "alpha"), ("conta", "contain")):
            pane.search(text)
            assert pane.node is labelled(pane, label), text
        pane.search("")
        pane.reveal_node(labelled(pane, "contact"))
        pane.search("al")
        assert pane.node is labelled(pane, "alert"), "the first one behind the cursor"
        pane.search("alp")
        assert pane.node is labelled(pane, "alpha"), "and round the end"


async def test_hits_are_counted_as_the_cursor_walks_them() -> None:
    async with tree_pane(settings()) as (pane, app, pilot, _):
        pane.search("bluetooth")
        await drained(pilot)
        assert any("1 of 2" in line and "Bluetooth" in line for line in lines(app))
        await pilot.press("n")
        assert any("2 of 2" in line and "⟨Bluetooth on⟩" in line for line in lines(app))
        await pilot.press("n", "N", "N")
        assert any("1 of 2" in line for line in lines(app))
        assert not any("2 of 2" in line for line in lines(app))


async def test_a_hit_inside_a_folded_chain_is_shown_by_the_row_that_stands_for_it() -> None:
    tree = build([box(view("ScrollX", "[0,0][9,9]", box(leaf("a"), leaf("b"))), leaf("c"))])
    async with tree_pane(tree) as (pane, app, pilot, _):
        pane.search("scrollx")
        await drained(pilot)
        assert pane.cursor == 1
        assert "1 of 1" in lines(app)[1]


async def test_a_hit_in_a_fold_is_unfolded_when_it_is_walked_to() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, _c):
        await pilot.press("space")
        assert len(pane.rows) == 1
        pane.search("apps")
        assert pane.node is labelled(pane, "Apps")


# -- filters and hiding


async def test_filters_leave_out_rows_and_count_what_they_hide() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, _c):
        total = len(pane.snapshot.nodes)
        assert pane.model.hidden == 0
        pane.set_filters(frozenset({"scroll"}))
        assert shown(pane) == ["box"]
        assert pane.model.hidden == total - 1
        pane.set_filters(frozenset({"click", "text"}))
        assert shown(pane) == ["Wi‑Fi on", "Bluetooth on"]
        assert pane.changes_told() == 2
        pane.set_filters(frozenset({"text", "click"}))
        assert pane.changes_told() == 2, "the same ones again"
        pane.set_filters(frozenset())
        await drained(pilot)
        assert pane.model.hidden == 0


async def test_what_is_off_screen_can_be_left_out() -> None:
    async with tree_pane(parse(hostile_screen())) as (pane, _, _p, _c):
        assert "below the screen" in shown(pane)
        pane.set_filters(frozenset({"visible"}))
        assert "below the screen" not in shown(pane)
        assert len(pane.rows) == len(pane.snapshot.tree.on_screen)  # type: ignore[union-attr]  # it has a tree


async def test_a_find_can_hide_what_it_does_not_hit() -> None:
    async with tree_pane(settings()) as (pane, _, _p, _c):
        pane.search("wi‑fi")
        everything = len(pane.rows)
        pane.toggle_hide()
        assert shown(pane) == ["Mobile, Wi‑Fi, hotspot", "Wi‑Fi", "Wi‑Fi on"]
        assert pane.model.hidden == len(pane.snapshot.nodes) - 3
        pane.search("wi‑fi on")
        assert pane.node is labelled(pane, "Wi‑Fi on"), "the rows follow each key"
        assert len(pane.rows) == 1
        pane.toggle_hide()
        assert len(pane.rows) == everything
        assert pane.node is labelled(pane, "Wi‑Fi on")


async def test_hits_that_compact_folds_into_chains_have_rows_when_the_others_are_hidden() -> None:
    async with tree_pane(settings()) as (pane, _, _p, _c):
        pane.search("framelayout")
        pane.toggle_hide()
        assert len(pane.rows) == len(pane.model.hits) > 1


async def test_the_cursor_stays_with_the_nearest_row_and_comes_back() -> None:
    async with tree_pane(settings()) as (pane, app, pilot, _):
        pane.reveal_node(labelled(pane, "Apps"))
        pane.search("nowhere")
        pane.toggle_hide()
        await drained(pilot)
        assert pane.node is None
        assert len(pane.rows) == 0
        text = " ".join(lines(app))
        assert "nodes match" in text
        assert "nowhere" in text
        await pilot.press("j", "n", "right", "minus", "J", "asterisk", "h", "bracketleft")
        assert pane.clear()
        assert pane.node is labelled(pane, "Apps")


async def test_folds_do_not_hide_what_a_filter_finds_and_come_back_after_it() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, _c):
        await pilot.press("space")
        pane.set_filters(frozenset({"text"}))
        assert "Wi‑Fi" in shown(pane)
        assert pane.clear()
        assert len(pane.rows) == 1


async def test_a_fold_among_filtered_rows_ends_with_what_it_was_made_in() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, camera):
        pane.set_filters(frozenset({"click", "visible"}))
        place = next(at for at, row in enumerate(pane.rows) if row.arrow)
        pane.move_to(place)
        await pilot.press("space")
        folded = len(pane.rows)
        pane.show(camera.take(settings()))
        assert len(pane.rows) == folded, "another tree is no reason"
        pane.set_filters(frozenset({"click"}))
        assert len(pane.rows) > folded


async def test_clearing_goes_from_the_last_thing_asked_for_to_the_marks() -> None:
    async with tree_pane(settings(), settings(ROWS[1:])) as (pane, _, _p, camera):
        old = TreeSnapshot(serial=99, tree=settings(ROWS[3:]))
        pane.compare(old)
        pane.set_filters(frozenset({"text"}))
        pane.search("apps")
        pane.toggle_hide()
        states = []
        while pane.clear():
            states.append(
                (
                    bool(pane.model.find),
                    bool(pane.model.filters),
                    pane.model.compared is not None,
                    bool(pane.model.changes),
                )
            )
        assert states == [(False, True, True, True), (False, False, True, True), (False, False, False, False)]
        assert not pane.model.hide_others
        pane.show(camera.take(settings()))
        assert pane.model.changes
        assert pane.clear()
        assert not pane.model.changes
        assert not pane.clear()


async def test_views_keep_the_cursor_on_what_stands_for_its_node() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, _c):
        inner = labelled(pane, "Wi‑Fi").parent
        assert inner is not None
        pane.reveal_node(inner)
        await pilot.press("t", "t")
        assert pane.model.view is TreeView.TARGETS
        assert pane.node is labelled(pane, "Wi‑Fi"), "the first target inside"
        assert pane.model.hidden == len(pane.snapshot.nodes) - len(pane.rows)


# -- matches of the workbench


async def test_matches_are_marked_and_the_first_one_differently() -> None:
    async with tree_pane(settings(), size=(60, 30)) as (pane, app, pilot, _):
        switches = [node.index for node in pane.snapshot.nodes if node.cls.endswith("Switch")]
        pane.show_matches(switches, switches[0])
        await drained(pilot)
        rows = [line for line in lines(app) if "#switch_widget" in line]
        assert [row[1] for row in rows] == ["◆", "◇"]
        pane.search("bluetooth")
        await drained(pilot)
        signs = [line[1] for line in lines(app) if "Bluetooth" in line]
        assert signs == ["•", "◇"], "a hit keeps the counter, a match its sign"
        pane.show_matches((), -1)
        await drained(pilot)
        assert not any("◆" in line or "◇" in line for line in lines(app))


async def test_a_match_that_changed_shows_both_signs() -> None:
    async with tree_pane(settings(), settings([("Wi‑Fi", "new", False), *ROWS[2:]])) as (pane, app, pilot, _):
        changed = labelled(pane, "new")
        pane.show_matches([changed.index], changed.index)
        await drained(pilot)
        row = next(line for line in lines(app) if '"new"' in line)
        assert row[:2] in {"+◆", "~◆"}


async def test_the_first_match_then_the_next_round_the_end() -> None:
    async with tree_pane(settings()) as (pane, _, pilot, _c):
        pane.next_match()
        assert pane.cursor == 0
        titles = [node.index for node in pane.snapshot.nodes if node.label in {"Wi‑Fi", "Apps", "Display"}]
        pane.show_matches(titles, titles[1])
        labels = []
        for _ in range(4):
            pane.next_match()
            labels.append(pane.node.label if pane.node else "")
        assert labels == ["Apps", "Display", "Wi‑Fi", "Apps"]
        await pilot.press("N")
        assert pane.node is labelled(pane, "Wi‑Fi"), "without a find the keys walk the matches"
        pane.search("battery")
        pane.walk_matches(-1)
        assert pane.node is labelled(pane, "Apps"), "with one the owner can walk them all the same"


async def test_matches_belong_to_one_tree() -> None:
    async with tree_pane(settings()) as (pane, _, _p, camera):
        pane.show_matches([5], 5)
        pane.show(camera.take(settings(ROWS[1:])))
        assert list(pane.model.matches) == []


# -- marks


async def test_the_attribute_that_changed_is_marked_in_its_row() -> None:
    before = build([box(leaf("old"), leaf("b"), view("Switch", "[0,0][9,9]", text="c", checked=True))])
    after = build([box(leaf("new"), leaf("b", focused=True), view("Switch", "[0,0][9,9]", text="c", checked=False))])
    async with tree_pane(before, after) as (pane, _, _p, _c):
        drawn = [pane.row(index, 60) for index in range(len(pane.rows))]
        spans = [[text.strip() for text, role in row.left.spans if role == "changed"] for row in drawn]
        notes = [row.right.plain if row.right else "" for row in drawn]
        assert spans == [[], ["~", '"new"'], ["~"], ["~"]]
        assert notes == ["", "", "focused", "not checked"]


async def test_the_marks_are_walked_and_a_subtree_is_one_change() -> None:
    before = build([box(leaf("a"), leaf("b"), leaf("c"))])
    after = build([box(leaf("a"), box(leaf("n"), leaf("m"), text="in"), leaf("c", focused=True))])
    async with tree_pane(before, after) as (pane, _, pilot, _c):
        visited = []
        for _ in range(4):
            await pilot.press("right_square_bracket")
            visited.append(pane.node.label or "box" if pane.node else "")
        assert visited == ["in", "c", "box", "in"], "the box counts what it lost"


# -- comparing


async def test_comparing_shows_removed_nodes_as_ghosts_at_their_place() -> None:
    old = TreeSnapshot(serial=50, tree=settings())
    async with tree_pane(settings([ROWS[0], *ROWS[2:]])) as (pane, app, pilot, _):
        pane.compare(old)
        await drained(pilot)
        assert "−Wi‑Fi" in shown(pane)
        place = shown(pane).index("−Wi‑Fi")
        assert shown(pane)[:place].count("Bluetooth") == 0
        pane.move_to(place)
        await drained(pilot)
        assert pane.node is None
        assert pane.ghost is not None
        assert pane.ghost.label == "Wi‑Fi"
        row = next(line for line in lines(app) if '"Wi‑Fi"' in line)
        assert row[1] == "−"
        pane.compare(None)
        assert not any(row.ghost for row in pane.rows)
        assert not pane.model.changes
        assert pane.node is not None


async def test_ghosts_are_walked_and_survive_every_key() -> None:
    old = TreeSnapshot(serial=50, tree=settings())
    async with tree_pane(settings([ROWS[0], *ROWS[2:]])) as (pane, _, pilot, _c):
        pane.compare(old)
        await pilot.press("right_square_bracket")
        assert pane.ghost is not None
        ghost = pane.ghost
        assert ghost.children, "the removed row itself"
        for key in ("space", "l", "h", "asterisk", "minus", "J", "K", "t", "t", "t", "n", "N"):
            pane.move_to(next(at for at, row in enumerate(pane.rows) if row.ghost))
            await pilot.press(key)
            assert len(pane.rows) > 0, key


async def test_a_comparison_goes_on_when_newer_trees_come_and_yields_to_filters() -> None:
    old = TreeSnapshot(serial=50, tree=settings())
    async with tree_pane(settings(ROWS[1:])) as (pane, _, _p, camera):
        pane.compare(old)
        pane.show(camera.take(settings(ROWS[2:])))
        assert "−Wi‑Fi" in shown(pane)
        assert "−Network & internet" in shown(pane)
        pane.set_filters(frozenset({"text"}))
        assert not any(row.ghost for row in pane.rows)
        pane.set_filters(frozenset())
        assert "−Wi‑Fi" in shown(pane)


# -- shape


async def test_deep_trees_stay_within_the_pane() -> None:
    inner = leaf("deepest")
    for depth in range(399):
        inner = view("FrameLayout", "[0,0][100,100]", inner, leaf(f"l{depth}"))
    async with tree_pane(build([inner]), size=(80, 24)) as (pane, app, pilot, _):
        await pilot.press("G")
        pane.reveal_node(labelled(pane, "deepest"))
        await drained(pilot)
        row = next(line for line in lines(app) if "deepest" in line)
        assert "⋯399 " in row


@pytest.mark.parametrize("width", [20, 40, 80, 200])
async def test_hostile_text_keeps_every_row_within_its_width(width: int) -> None:
    tree = parse(hostile_screen())
    async with tree_pane(tree, tree, size=(width, 20)) as (pane, app, pilot, _):
        pane.search("e")
        pane.show_matches(range(5), 2)
        await drained(pilot)
        for strip in app.screen._compositor.render_strips():
            assert sum(segment.cell_length for segment in strip) == width
        assert not any("\x1b" in line or "\u202e" in line for line in lines(app))
