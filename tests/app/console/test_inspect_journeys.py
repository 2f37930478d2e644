"""Mode 1 as people use it: the first eight jobs of the console, by keys and by mouse, with assertions on what came of them."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from textual import events
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog, TextForm
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.preferences import Preferences
from clawperator.app.console.screens.dialogs import BlindSpotsDialog, HelpDialog, TreeCompareDialog, TreesDialog
from clawperator.app.console.screens.menu import MenuDialog
from clawperator.engine.config.settings_file import Confirm
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.widgets.bounds_map import BoundsMap
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.matcher_bench import MatcherBench
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.picture import ScreenPane
from clawperator.widgets.picture_view import PictureView
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.tree_compare import TreeCompare
from tests.app.console.execution.test_dispatcher import text_of
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    ROWS,
    SECOND,
    FakeClipboard,
    FakeEngine,
    MemoryStore,
    MovableClock,
    drained,
    make_app,
    settings_screen,
    settled,
    until,
    view,
)
from tests.support import patience, varied

WIDE, SMALL = (120, 36), (80, 24)
SIZES = pytest.mark.parametrize(
    "size", [pytest.param(SMALL, id="80x24", marks=pytest.mark.ci), pytest.param(WIDE, id="120x36")]
)
DUMPS = Path(__file__).parents[2] / "data" / "hierarchies"


@asynccontextmanager
async def console(
    engine: FakeEngine | None = None, *, size: tuple[int, int] = WIDE, **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine]]:
    """A running console whose first look at the device is over."""
    engine = engine or FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine, **more)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield app, pilot, engine


def screen(app: ConsoleApp) -> InspectScreen:
    assert isinstance(app.mode_screen, InspectScreen)
    return app.mode_screen


def clips(app: ConsoleApp) -> list[str]:
    assert isinstance(app.system_clipboard, FakeClipboard)
    return app.system_clipboard.texts


def said(app: ConsoleApp) -> str:
    notice = app.session.last_notice
    return notice.text if notice is not None else ""


def shown(line: InfoLine) -> str:
    row = line._row
    return row.left.plain + (row.right.plain if row.right is not None else "")


def written(pane: TreeCompare) -> list[str]:
    return [pane.row(index, pane.content_size.width).left.plain for index in range(pane.row_count())]


async def find(pilot: Pilot[int], text: str) -> None:
    """The cursor on what the find line finds, and the line empty again."""
    await pilot.press("slash", *text, "enter", "escape")


# -- the jobs


@SIZES
async def test_job_1_what_is_on_the_device_is_there_without_a_key(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, engine):
        assert len(screen(app).tree_pane.snapshot.nodes) == 59
        await pilot.press("r")
        await until(pilot, lambda: engine.calls.count(f"snapshot {DEVICE.serial}") == 2)


@SIZES
async def test_job_2_find_by_what_is_seen(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        await pilot.press("slash", *"headset")
        assert list(screen(app).tree_pane.model.hits) == []
        await pilot.press(*["backspace"] * 7, *"bluetooth", "enter")
        tree = screen(app).tree_pane
        first = tree.node
        assert first is not None
        assert first.label == "Bluetooth"
        await pilot.press("n")
        assert tree.node is not first
        assert f"{len(tree.model.hits)}/59 nodes" in shown(screen(app).area.info)


@SIZES
@pytest.mark.parametrize("words", ["wifi", "wi-fi"])
async def test_a_find_sees_past_characters_that_look_alike_and_says_so(size: tuple[int, int], words: str) -> None:
    async with console(size=size) as (app, pilot, _):
        await pilot.press("slash", *words)
        tree = screen(app).tree_pane
        assert tree.model.alike == len(tree.model.hits) > 0
        assert f"{tree.model.alike} look-alike" in shown(screen(app).area.info)


@SIZES
async def test_job_3_the_best_selector_is_two_keys_away(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        await find(pilot, '"Bluetooth"')
        await pilot.press("y", "y")
        await until(pilot, lambda: clips(app))
        assert json.loads(clips(app)[0]) == {"textEquals": "Bluetooth"}
        assert said(app).startswith("Copied the matcher (1 match), 26 characters")


@SIZES
async def test_job_4_as_a_command_and_as_a_step(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        await find(pilot, '"Bluetooth"')
        await pilot.press("y", "c")
        await until(pilot, lambda: len(clips(app)) == 1)
        await pilot.press("y", "s")
        await until(pilot, lambda: len(clips(app)) == 2)
        line, action = clips(app)
        assert line == (
            f'clawperator action click --device-id {DEVICE.serial} --selector \'{{"textEquals":"Bluetooth"}}\''
        )
        assert json.loads(action) == {
            "id": "tap",
            "type": "click",
            "params": {"matcher": {"textEquals": "Bluetooth"}},
        }


async def test_whole_executions_and_programs_can_be_copied() -> None:
    async with console() as (app, pilot, _):
        await find(pilot, '"Bluetooth"')
        for key, start in (("e", '{\n  "commandId"'), ("P", "import asyncio"), ("j", '{\n  "textEquals"')):
            clips(app).clear()
            await pilot.press("y", key)
            await until(pilot, lambda: clips(app))
            assert clips(app)[0].startswith(start)


@SIZES
async def test_job_5_write_a_matcher_and_watch_it_match(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        mode = screen(app)
        await pilot.press("m", *"text~Wi")
        tree = mode.tree_pane
        assert [tree.snapshot.nodes[at].label for at in tree.model.matches] == [
            "Mobile, Wi‑Fi, hotspot",
            "Wi‑Fi",
            "Wi‑Fi on",
        ]
        assert "3 match" in shown(mode.area.hint)
        await pilot.press("space", *"desc~on")
        assert [tree.snapshot.nodes[at].label for at in tree.model.matches] == ["Wi‑Fi on"]
        await pilot.press("enter")
        assert app.focused is tree
        assert mode.bench.origin == "typed"
        await pilot.press("g", "m")
        await until(pilot, lambda: tree.node is not None and tree.node.label == "Wi‑Fi on")
        await pilot.press("escape")
        assert mode.bench.origin == "candidate"


@SIZES
async def test_job_6_why_it_does_not_match_and_the_jump_to_the_nearest_miss(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        mode = screen(app)
        await pilot.press("m")
        app.focused.post_message(events.Paste('{"textEquals": "Wi-Fi"}'))  # type: ignore[union-attr]  # the line has the focus
        await until(pilot, lambda: "0 match" in shown(mode.area.hint))
        await pilot.press("tab")
        bench = mode.bench_pane
        await until(pilot, lambda: app.focused is bench and bench.value is not None)
        words = "\n".join(bench.row(index, 100).left.plain for index in range(bench.row_count()))
        assert "U+2011" in words
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is mode.tree_pane)
        assert mode.tree_pane.node is not None
        assert mode.tree_pane.node.label == "Wi‑Fi"
        assert not mode.query(".-drawer"), "no drawer hides the node"


async def test_a_small_screen_shows_the_typed_matcher_that_actions_use() -> None:
    async with console(size=SMALL) as (app, pilot, _):
        await find(pilot, '"Bluetooth"')
        await pilot.press("m", *"text=Blue", "enter")
        best = screen(app).area._best
        await until(pilot, lambda: "✗ 0" in shown(best[0]))
        assert 'text="Blue"' in shown(best[0])
        assert "text=Bluetooth" in shown(best[1]).replace('"', "")
        await pilot.press("escape")
        await until(pilot, lambda: "typed" not in shown(best[0]))


async def test_a_second_find_replaces_the_first_one() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash", *"wifi", "enter", "slash", *"blue", "enter")
        assert screen(app).area.find.value == "blue"
        await pilot.press("slash", "right", *"tooth")
        assert screen(app).area.find.value == "bluetooth"


async def test_a_small_screen_has_room_for_what_a_find_says() -> None:
    async with console(size=SMALL) as (app, pilot, _):
        await pilot.press("slash", *"wifi")
        await until(pilot, lambda: "look-alikes" in text_of(app))


@SIZES
async def test_job_7_verify_and_tap(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, engine):
        await find(pilot, '"Bluetooth"')
        await pilot.press("v")
        await until(pilot, lambda: said(app).startswith("the device found it"))
        assert engine.executed[0]["actions"][0]["type"] == "wait_for_node"
        await pilot.press("a", "t")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        assert len(engine.executed) == 1, "nothing is sent before the look at it"
        looks = engine.calls.count(f"snapshot {DEVICE.serial}")
        await pilot.press("enter")
        await until(pilot, lambda: len(engine.executed) == 2)
        assert engine.executed[1]["actions"][0]["params"] == {"matcher": {"textEquals": "Bluetooth"}}
        await until(pilot, lambda: engine.calls.count(f"snapshot {DEVICE.serial}") > looks)


@SIZES
async def test_job_8_into_the_draft(size: tuple[int, int]) -> None:
    store = MemoryStore()
    async with console(size=size, drafts=store) as (app, pilot, engine):
        await find(pilot, '"Bluetooth"')
        await pilot.press("i", "t")
        await until(pilot, lambda: len(app.drafts.draft) == 1)
        await pilot.press("i", "n")
        await until(pilot, lambda: len(app.drafts.draft) == 2)
        assert any(chip.id == "draft" for chip in app.chips(narrow=False))
        await pilot.press("3")
        await until(pilot, lambda: app.current_mode == "run")
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        assert [action["type"] for action in engine.executed[0]["actions"]] == ["click", "snapshot_ui"]
    assert store.text is not None
    assert len(json.loads(store.text)["actions"]) == 2


# -- acting needs a look and a reason


async def test_escape_sends_nothing() -> None:
    async with console() as (app, pilot, engine):
        await find(pilot, '"Bluetooth"')
        await pilot.press("a", "t")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.mode_screen)
        assert engine.executed == []


async def test_what_is_ambiguous_is_said_before_it_is_sent() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("m", *"text~Wi", "enter", "a", "t")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        assert isinstance(app.screen, DispatchDialog)
        assert "! 3 matches; the device uses the first" in text_of(app)


@SIZES
async def test_a_refresh_before_sending_looks_for_the_same_selector_on_the_new_tree(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, engine):
        await pilot.press("m", *"text~Wi", "enter", "a", "t")
        await until(pilot, lambda: "! 3 matches" in text_of(app))
        engine.screen = settings_screen((("Wi‑Fi", "HomeNet", False), *ROWS[3:]))
        engine.hold_snapshot = asyncio.Event()
        await pilot.press("r")
        await until(pilot, lambda: "Reading the screen…" in text_of(app))
        await pilot.press("enter")
        await drained(pilot)
        assert engine.executed == [], "nothing is sent before the tree is seen"
        engine.hold_snapshot.set()
        await until(pilot, lambda: '✓ 1 match: TextView "Wi‑Fi"' in text_of(app))
        assert "no action since" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        assert engine.executed[0]["actions"][0]["params"] == {"matcher": {"textContains": "Wi"}}


@pytest.mark.parametrize(
    ("confirm", "matches"),
    [
        ("always", 1),
        ("doubtful", 1),
        ("doubtful", 3),
        ("never", 3),
        *(
            pytest.param(*row, marks=pytest.mark.ci)
            for row in (("always", 0), ("always", 3), ("doubtful", 0), ("never", 0), ("never", 1))
        ),
    ],
)
async def test_the_setting_says_when_to_ask(confirm: Confirm, matches: int) -> None:
    asks = confirm == "always" or (confirm == "doubtful" and matches != 1)
    async with console(preferences=Preferences(confirm=confirm)) as (app, pilot, engine):
        await pilot.press("m", *("text~Wi", "text=Battery", "text~none")[(3, 1, 0).index(matches)], "enter", "a", "t")
        if asks:
            await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
            assert engine.executed == []
        else:
            await until(pilot, lambda: engine.executed)
            assert not isinstance(app.screen, DispatchDialog)


@pytest.mark.ci
async def test_the_palette_changes_when_to_ask() -> None:
    async with console() as (app, pilot, engine):
        await pilot.press("colon", *"confirm actions: never", "enter")
        await until(pilot, lambda: app.dispatcher.confirm == "never")
        await find(pilot, '"Bluetooth"')
        await pilot.press("a", "t")
        await until(pilot, lambda: engine.executed)


async def test_text_is_asked_for_before_it_is_entered() -> None:
    async with console() as (app, pilot, engine):
        await find(pilot, '"Bluetooth"')
        await pilot.press("a", "e")
        await until(pilot, lambda: isinstance(app.screen, TextForm))
        await pilot.press(*"tea", "enter")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        assert engine.executed[0]["actions"][0]["params"]["text"] == "tea"


async def test_keys_are_behind_a_third_key() -> None:
    async with console() as (app, pilot, engine):
        await pilot.press("a", "k", "b")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        assert engine.executed[0]["actions"][0] == {"id": "back", "type": "press_key", "params": {"key": "back"}}


@pytest.mark.ci
async def test_a_busy_device_is_reported_and_nothing_is_tried_again() -> None:
    details = {"inFlightCommandId": "cmd-1", "source": "openclaw"}
    busy = EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight", details=details)
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, execute_error=busy)
    async with console(engine) as (app, pilot, _):
        await find(pilot, '"Bluetooth"')
        await pilot.press("v")
        await until(pilot, lambda: "cmd-1" in said(app))
        assert "Nothing was sent" in said(app)
        assert len(engine.executed) == 1


# -- the workbench


@pytest.mark.ci
async def test_a_field_of_the_form_is_edited_and_escape_brings_back_what_was() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await find(pilot, '"Bluetooth"')
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is mode.bench_pane)
        place = next(
            at for at, row in enumerate(mode.bench_pane.rows) if getattr(row.place, "field", "") == "textContains"
        )
        mode.bench_pane.move_to(place)
        await pilot.press("enter")
        await until(pilot, lambda: mode.area.matcher.is_open)
        await pilot.press(*"Blue")
        assert mode.bench.current.fields() == {"textEquals": "Bluetooth", "textContains": "Blue"}
        await pilot.press("escape")
        assert mode.bench.current.fields() == {"textEquals": "Bluetooth"}


async def test_a_value_of_the_node_goes_into_the_matcher() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await find(pilot, "@checked")
        mode.tree_pane._rested()
        await pilot.press("g", "n")
        await pilot.press("plus")
        await until(pilot, lambda: mode.bench.origin == "typed")
        assert mode.bench.typed.fields() == {"textEquals": "Wi‑Fi on"}


@pytest.mark.ci
async def test_space_explains_a_candidate_and_the_question_mark_is_help_there_too() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await find(pilot, '"Bluetooth"')
        await pilot.press("enter")
        await until(pilot, lambda: app.focused is mode.bench_pane)
        before = mode.bench_pane.row_count()
        await pilot.press("space")
        await until(pilot, lambda: mode.bench_pane.row_count() > before)
        assert app.screen is mode
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))


# -- the live tree


async def test_follow_is_switched_on_reported_how_it_goes_and_off() -> None:
    async with console() as (app, pilot, engine):
        info = screen(app).area.info
        await pilot.press("f")
        await until(pilot, lambda: "follow: on" in shown(info))
        follow = engine.follows[0]
        follow.commands.add("follow-1")
        xml = settings_screen((("Something new", "", False), *ROWS[1:]))
        engine.publish(SnapshotSeen(device_id=DEVICE.serial, command_id="follow-1", step_id="snap", xml=xml, at=NOON))
        await until(pilot, lambda: app.session.trees.shown.source == "follow")
        await until(pilot, lambda: follow.times_painted)
        follow.on_state(FollowState("busy", command_id="cmd-7"))
        await until(pilot, lambda: "follow busy: cmd-7" in shown(info))
        follow.on_state(FollowState("busy", command_id="snapshot-" + "7" * 30))
        await until(pilot, lambda: "follow busy: snapshot-777" in shown(info))
        assert len(shown(info)) <= info.width, "the line would be cut to an ellipsis"
        assert "nodes" in shown(info)
        follow.on_state(FollowState("away"))
        await until(pilot, lambda: f"follow: {DEVICE.serial} is away" in shown(info))
        await pilot.press("f")
        await until(pilot, lambda: follow.ended)
        assert "follow" not in shown(info).replace("follow 22:29:00", "")


async def test_a_tree_that_comes_while_a_menu_is_open_waits() -> None:
    async with console() as (app, pilot, engine):
        mode = screen(app)
        serial = mode.tree_pane.snapshot.serial
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        engine.publish(
            SnapshotSeen(device_id=DEVICE.serial, command_id="x", step_id="s", xml=settings_screen(ROWS[:4]), at=NOON)
        )
        await until(pilot, lambda: mode.tree_pane.waiting)
        assert mode.tree_pane.snapshot.serial == serial
        await pilot.press("escape")
        await until(pilot, lambda: mode.tree_pane.snapshot.serial == serial + 1)


async def test_the_matcher_line_holds_the_tree_that_it_is_about() -> None:
    async with console() as (app, pilot, engine):
        mode = screen(app)
        serial = mode.tree_pane.snapshot.serial
        await pilot.press("m", *"text~")
        engine.publish(
            SnapshotSeen(device_id=DEVICE.serial, command_id="x", step_id="s", xml=settings_screen(ROWS[:4]), at=NOON)
        )
        await until(pilot, lambda: mode.tree_pane.waiting)
        assert "1 newer" in shown(mode.area.info)
        await pilot.press("escape")
        await until(pilot, lambda: mode.tree_pane.snapshot.serial == serial + 1)
        assert mode.tree_pane.waiting == 0


async def test_comparing_with_an_older_tree_shows_what_was_removed() -> None:
    async with console() as (app, pilot, engine):
        mode = screen(app)
        await pilot.press("c")
        assert said(app) == "There is no other tree to compare with"
        engine.screen = settings_screen(ROWS[:-2])
        await pilot.press("r")
        await until(pilot, lambda: len(app.session.trees) == 2 and mode.tree_pane.snapshot.serial == 2)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, TreesDialog))
        await pilot.press("enter")
        await until(pilot, lambda: mode.tree_pane.model.compared is not None)
        ghosts = [row.node.label for row in mode.tree_pane.rows if row.ghost]
        assert "Security & privacy" in ghosts
        await until(pilot, lambda: isinstance(app.screen, TreeCompareDialog) and app.screen.focused is not None)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: mode.tree_pane.model.compared is None)


async def test_two_trees_are_compared_side_by_side() -> None:
    async with console() as (app, pilot, engine):
        mode = screen(app)
        engine.screen = settings_screen(ROWS[:-2]).replace("HomeNet", "Office")
        await pilot.press("r")
        await until(pilot, lambda: mode.tree_pane.snapshot.serial == 2 and not mode.tree_pane.snapshot.coming)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, TreesDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TreeCompareDialog) and app.screen.focused is not None)
        sides = app.screen.query_one(TreeCompare)
        await until(pilot, lambda: sides.row_count() > 0)
        assert "Office" in next(row for row in written(sides) if "HomeNet" in row)
        await pilot.press("right_square_bracket")
        gone = next(index for index, row in enumerate(written(sides)) if "removed" in row)
        await until(pilot, lambda: sides.cursor > 0)
        await pilot.click(sides, offset=(30, sides.HEAD_ROWS + gone - sides.top), times=2)
        await until(pilot, lambda: app.screen is mode and mode.tree_pane.ghost is not None)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, TreeCompareDialog))


async def test_what_a_tree_cannot_show_is_a_badge_and_explained_on_demand() -> None:
    async with console() as (app, pilot, engine):
        mode = screen(app)
        assert "blind" not in shown(mode.area.info)
        await pilot.press("b")
        assert said(app) == "Nothing suggests that this tree is incomplete"
        engine.screen = (DUMPS / "simple-calendar-month.xml").read_text("utf-8")
        await pilot.press("r")
        await until(pilot, lambda: "1 blind" in shown(mode.area.info))
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BlindSpotsDialog) and app.screen.focused is not None)
        rows = [row.draw(100).left.plain.strip() for row in app.screen.query_one("#entries", RowList).rows]
        assert rows[:2] == ["canvas  e20", "Seen: no text in 79% of the screen."]
        await pilot.press("enter")
        await until(
            pilot, lambda: app.screen is mode and "month_view" in getattr(mode.tree_pane.node, "resource_id", "")
        )


async def test_a_changed_node_shows_old_and_new_values() -> None:
    async with console(size=(200, 60)) as (app, pilot, engine):
        inspector = app.screen.query_one(NodeInspector)

        def values() -> str:
            return "\n".join(" ".join(row.draw(60).left.plain.split()) for row in inspector.rows)

        await find(pilot, '"HomeNet"')
        assert "was" not in values()
        engine.screen = settings_screen().replace("HomeNet", "Office")
        await pilot.press("escape", "r")
        await until(pilot, lambda: "text Office\nwas HomeNet" in values())


async def test_filters_hide_and_say_how_much() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await pilot.press("backslash", "c")
        await until(pilot, lambda: mode.tree_pane.model.filters == {"click"})
        assert all(row.node.clickable for row in mode.tree_pane.rows)
        assert f"{mode.tree_pane.model.hidden} hidden" in shown(mode.area.info)
        await pilot.press("escape")
        await until(pilot, lambda: not mode.tree_pane.model.filters)
        await pilot.press("slash", *"wi", "tab")
        assert mode.tree_pane.model.hide_others
        assert len(mode.tree_pane.rows) == len(mode.tree_pane.model.hits)


# -- the picture


def png(colour: tuple[int, int, int] = (40, 90, 160)) -> bytes:
    image = Image.new("RGB", (108, 234), colour)
    image.putpixel((0, 0), (0, 0, 0))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


async def test_the_screen_pane_goes_from_map_to_picture_to_off() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    async with console(engine) as (app, pilot, _):
        pane = app.screen.query_one("#screen-pane")
        assert not pane.display
        await pilot.press("s")
        await until(pilot, lambda: pane.display)
        view = app.screen.query_one(ScreenPane)
        assert view.showing == "map"
        await pilot.press("s")
        await until(pilot, lambda: view.showing == "picture")
        await pilot.press("s")
        await until(pilot, lambda: not pane.display)


async def test_without_a_picture_the_map_says_why() -> None:
    refused = EngineError(ErrorCode.DEVICE_NOT_FOUND, "emulator-5554 is gone")
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=refused)
    async with console(engine) as (app, pilot, _):
        await pilot.press("s", "s")
        view = app.screen.query_one(ScreenPane)
        await until(pilot, lambda: "is gone" in view.words().plain)
        assert view.showing == "map"


async def live(app: ConsoleApp, pilot: Pilot[int]) -> tuple[ScreenPane, PictureView]:
    """The picture, live, in the screen pane."""
    await pilot.press("f", "s") if app.screen.query_one("#screen-pane").display else await pilot.press("f", "s", "s")
    pane = app.screen.query_one(ScreenPane)
    await until(pilot, lambda: pane.showing == "picture" and pane.live)
    return pane, pane.query_one(PictureView)


def place_of(pane: PictureView, name: str) -> tuple[int, int]:
    """The cell in the middle of a node."""
    node = next(node for node in pane.snapshot.nodes if node.label == name)
    frame = pane.frame()
    assert frame is not None
    left, top, right, bottom = frame.box(node.bounds)
    return frame.margin + (left + right) // 2, (top + bottom) // 2


async def test_the_picture_follows_with_f_and_stops_with_it() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        pane, _view = await live(app, pilot)
        assert app.bridge.mirror.device_id == DEVICE.serial
        assert pane.words().plain.startswith("live screenshot 0.0 s old")
        engine.photo = png((0, 0, 0))
        app.bridge.mirror.look_now()
        await until(pilot, lambda: pane.words().plain == "map: secure window or screen off, no picture")
        engine.photo = png((200, 40, 40))
        app.bridge.mirror.look_now()
        await until(pilot, lambda: pane.showing == "picture")
        await pilot.press("2")
        await until(pilot, lambda: not app.bridge.mirror.device_id)
        await pilot.press("1")
        await until(pilot, lambda: app.bridge.mirror.device_id == DEVICE.serial)
        await pilot.press("f")
        await until(pilot, lambda: not app.bridge.mirror.device_id)
        assert pane.showing == "picture"
        assert not pane.live


async def test_two_clicks_or_enter_on_the_picture_tap_the_node_there_after_confirmation() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        _pane, view = await live(app, pilot)
        await pilot.click(PictureView, offset=place_of(view, "Bluetooth"), times=2)
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        (action,) = engine.executed[0]["actions"]
        assert (action["type"], action["params"]) == ("click", {"matcher": {"textEquals": "Bluetooth"}})
        await until(pilot, lambda: not isinstance(app.screen, DispatchDialog))
        view.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))


async def test_a_tap_on_the_map_drops_the_typed_matcher_and_its_marks() -> None:
    async with console(size=(200, 60)) as (app, pilot, _):
        mode = screen(app)
        await pilot.press("m", *"text~Wi", "enter")
        assert len(mode.tree_pane.model.matches) == 3
        mode.query_one(BoundsMap).focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await until(pilot, lambda: not mode.tree_pane.model.matches)
        assert mode.bench.origin == "candidate"


@pytest.mark.ci
async def test_a_tap_on_a_picture_of_another_moment_reads_both_first() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    time = MovableClock()
    async with console(engine, size=(200, 60), clock=time) as (app, pilot, _):
        pane, view = await live(app, pilot)
        time.at += 9
        app.bridge.mirror.look_now()
        await until(pilot, lambda: pane.apart == 9)
        trees = app.session.trees.newest.at
        await pilot.click(PictureView, offset=place_of(view, "Bluetooth"), times=2)
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        assert app.session.trees.newest.at == trees + 9


async def test_a_drag_on_the_picture_scrolls_the_container_there() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        _pane, view = await live(app, pilot)
        x, y = place_of(view, "Bluetooth")
        await pilot.mouse_down(PictureView, offset=(x, y))
        await pilot.mouse_up(PictureView, offset=(x, y - 6))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        (action,) = engine.executed[0]["actions"]
        assert (action["type"], action["params"]["direction"]) == ("scroll", "down")
        assert "container" in action["params"]


@varied(("across", "direction"), [(-9, "right"), (9, "left")])
async def test_a_drag_along_a_carousel_scrolls_it_and_is_recorded(across: int, direction: str) -> None:
    """A drag to the side was a swipe between points, which no draft can hold."""
    cards = [
        view("TextView", f"[{left},600][{left + 340},1000]", text=name) for left, name in ((0, "Tea"), (360, "Bread"))
    ]
    row = view("RecyclerView", "[0,600][1080,1000]", *cards, scrollable=True, resource_id="carousel")
    below = view("TextView", "[0,1000][1080,1200]", text="Below")
    tree = view("RecyclerView", "[0,0][1080,2340]", row, below, scrollable=True, resource_id="page")
    engine = FakeEngine(screen=hierarchy_xml(tree), checks=CHECKS_OK, photo=png())
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        _pane, picture = await live(app, pilot)
        await pilot.press("I")
        x, y = place_of(picture, "Bread")
        await pilot.mouse_down(PictureView, offset=(x, y))
        await pilot.mouse_up(PictureView, offset=(x + across, y + 1))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: len(app.drafts.draft) == 1)
        (action,) = engine.executed[0]["actions"]
        assert action["type"] == "scroll"
        assert action["params"]["direction"] == direction
        assert action["params"]["container"] == {"resourceId": "com.android.settings:id/carousel"}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("along", "words"), [((-12, 1), "swipe left"), ((12, 0), "swipe right")], ids=["left", "right"]
)
async def test_a_drag_to_the_side_is_a_swipe_between_two_points(along: tuple[int, int], words: str) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png())
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        _pane, view = await live(app, pilot)
        await pilot.press("I")
        x, y = place_of(view, "Bluetooth")
        await pilot.mouse_down(PictureView, offset=(x, y))
        await pilot.mouse_up(PictureView, offset=(x + along[0], y + along[1]))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        assert words in text_of(app)
        assert not engine.executed
        await pilot.press("enter")
        await until(pilot, lambda: engine.executed)
        composed: Any = engine.executed[0]
        (action,) = composed.actions
        at, to = action.params["at"], action.params["to"]
        assert (composed.name, action.type) == ("input", "input_swipe")
        assert (to[0] > at[0]) == (along[0] > 0)
        assert min(*at, *to) >= 0
        await until(pilot, lambda: words in said(app) and "not recorded" in said(app))


@pytest.mark.ci
async def test_a_refused_swipe_says_why() -> None:
    refusal = EngineError(ErrorCode.CAPABILITY_DENIED, "The policy does not allow input")
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=png(), execute_error=refusal)
    async with console(engine, size=(200, 60)) as (app, pilot, _):
        _pane, view = await live(app, pilot)
        x, y = place_of(view, "Bluetooth")
        await pilot.mouse_down(PictureView, offset=(x, y))
        await pilot.mouse_up(PictureView, offset=(x - 12, y))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "The policy does not allow input" in said(app))


# -- by mouse alone


async def test_from_a_node_to_a_tap_without_a_key() -> None:
    async with console(size=(200, 60)) as (app, pilot, engine):
        tree = screen(app).tree_pane
        row = next(at for at, row in enumerate(tree.rows) if row.node.label == "Bluetooth")
        await pilot.click("#tree", offset=(30, row - tree.top))
        bar = app.screen.query_one(KeyBar)
        place = next(start for start, _, key in bar._hits if key == "a")
        await pilot.click(KeyBar, offset=(place, 0))
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await pilot.click("#menu", offset=(6, 0))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        dialog_bar = app.screen.query_one(KeyBar)
        await until(pilot, lambda: dialog_bar._hits)
        await pilot.click(KeyBar, offset=(dialog_bar._hits[0][0], 0))
        await until(pilot, lambda: engine.executed)
        assert engine.executed[0]["actions"][0]["type"] == "click"


@pytest.mark.ci
async def test_candidates_and_their_reasons_by_mouse() -> None:
    async with console(size=(200, 60)) as (app, pilot, _):
        mode = screen(app)
        await find(pilot, '"Bluetooth"')
        mode.tree_pane._rested()
        bench = mode.bench_pane
        await until(pilot, lambda: len(mode.bench.candidates) > 1 and bench.row_count() > 4)
        before = bench.row_count()
        await pilot.click("#bench", offset=(bench.body_width - 1, 1))
        await until(pilot, lambda: bench.row_count() > before)


# -- saved dumps


async def offline(pilot: Pilot[int]) -> None:
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    await until(pilot, lambda: len(app.session.trees) == len(app.files) and not app.session.work)
    await drained(pilot)


async def test_saved_dumps_are_shown_in_their_order_without_a_device() -> None:
    files = [str(DUMPS / "nora-chat-chat.xml"), str(DUMPS / "simple-calendar-month.xml")]
    engine = FakeEngine(present=())
    app = make_app(engine, files=files)
    async with app.run_test(size=WIDE) as pilot:
        await offline(pilot)
        mode = screen(app)
        assert app.session.trees.shown.name == "nora-chat-chat.xml"
        assert "1 of 2" in shown(mode.area.info)
        await pilot.press("full_stop")
        await until(pilot, lambda: mode.tree_pane.snapshot.name == "simple-calendar-month.xml")
        await pilot.press("full_stop")
        assert said(app) == "This is the last saved dump"
        await pilot.press("a")
        assert said(app).startswith("This console shows saved dumps")
        await pilot.press("j", "j", "j", "y", "p")
        await until(pilot, lambda: clips(app))
        assert engine.calls == []


async def test_what_cannot_be_read_says_why_and_what_can_be_recovered_is_labelled() -> None:
    folder = DUMPS / "malformed"
    files = [str(folder / "derived-empty-file.xml"), str(folder / "derived-two-dumps-in-one-file.xml")]
    app = make_app(FakeEngine(present=()), files=files)
    async with app.run_test(size=WIDE) as pilot:
        await offline(pilot)
        mode = screen(app)
        assert "HIERARCHY_MALFORMED" in mode.tree_pane.empty_text
        assert "not readable" in shown(mode.area.info)
        await pilot.press("full_stop")
        await until(pilot, lambda: mode.tree_pane.snapshot)
        assert "repaired" in shown(mode.area.info)
        assert said(app).startswith("derived-two-dumps-in-one-file.xml: ")


REFUSED = {"derived-doctype-internal-entity.xml"}
"""Well-formed, but with entities that expand each other: refused with its own reason, wherever it comes from."""


def is_shown(app: ConsoleApp, serial: int) -> bool:
    return screen(app).tree_pane.snapshot.serial == serial


@pytest.mark.ci
async def test_every_dump_of_the_corpus_opens(corpus: Path) -> None:
    """Those outside ``malformed`` as they are; those inside with what was recovered, or with their typed error."""
    whole, broken = (
        sorted((corpus / "hierarchies").glob("*.xml")),
        sorted((corpus / "hierarchies" / "malformed").iterdir()),
    )
    app = make_app(FakeEngine(present=()), files=[str(path) for path in (*whole, *broken)])
    async with app.run_test(size=SMALL) as pilot:
        await offline(pilot)
        bench = screen(app).query_one(MatcherBench)
        for index, snapshot in enumerate(reversed(list(app.session.trees))):
            if index < len(whole):
                assert snapshot.readable != (snapshot.name in REFUSED), snapshot.name
            else:
                assert snapshot.problem, snapshot.name
            await until(pilot, partial(is_shown, app, snapshot.serial))
            screen(app).tree_pane._rested()
            await pilot.press("full_stop")
        assert bench.is_mounted


async def test_while_typing_the_key_bar_names_only_keys_that_are_not_text() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("m", *"text")
        bar = app.screen.query_one(KeyBar)
        await until(pilot, lambda: "complete" in [hint.label for hint in bar._hints])
        assert {hint.sign for hint in bar._hints} == {"esc", "⏎", "⇥", "^p"}


@pytest.mark.ci
async def test_scrolling_takes_the_nearest_container_and_a_typed_matcher_none() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await find(pilot, '"Bluetooth"')
        container = mode.matcher_actions.subject().container
        assert container is not None
        assert container.fields() == {"resourceId": "com.android.settings:id/recycler_view"}
        await find(pilot, "@scroll")
        assert mode.matcher_actions.subject().container == container
        await pilot.press("m", *"text~Wi", "enter")
        assert mode.matcher_actions.subject().container is None


async def test_the_right_button_opens_the_copy_menu_at_its_row() -> None:
    async with console() as (app, pilot, _):
        await pilot.click("#tree", offset=(20, 6), button=3)
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        assert screen(app).tree_pane.cursor == 6
        await pilot.press("p")
        await until(pilot, lambda: clips(app))


async def test_the_rail_appears_for_problems_only_and_gives_its_columns_to_the_tree() -> None:
    async with console(size=(120, 36)) as (app, pilot, engine):
        rail, tree = screen(app).query_one("#rail"), screen(app).area
        await until(pilot, lambda: app.session.report.ended and not rail.display)
        alone = tree.size.width
        await pilot.press("g", "h")
        await until(pilot, lambda: rail.display)
        assert "no problems" in app.export_screenshot().replace("&#160;", " ").lower()
        await pilot.press("escape")
        await until(pilot, lambda: not rail.display)
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: rail.display and tree.size.width < alone)


async def test_a_long_copy_says_so_and_esc_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subtree of a hundred thousand nodes takes seconds; the console goes on meanwhile."""
    release = threading.Event()

    def make() -> str:
        release.wait(patience(20))
        return "all of it"

    async with console() as (app, pilot, _):
        screen = app.screen
        monkeypatch.setattr(screen, "copyable", lambda: {"node": Copyable("the node", make=make)})
        await pilot.press("y", "n")
        await until(pilot, lambda: "Copying the node… esc cancels" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: "The copy was cancelled" in text_of(app))
        release.set()
        await settled(pilot)
        assert isinstance(app.system_clipboard, FakeClipboard)
        assert app.system_clipboard.texts == []


async def test_a_matcher_without_a_match_is_not_named_after_the_node_under_the_cursor() -> None:
    async with console() as (app, pilot, _):
        mode = screen(app)
        await find(pilot, '"Bluetooth"')
        await pilot.press("m", *"text=Nope", "enter")
        assert (mode.bench.origin, mode.matcher_actions.subject().matches) == ("typed", 0)
        assert mode.matcher_actions.subject().node_name == "text=Nope"
