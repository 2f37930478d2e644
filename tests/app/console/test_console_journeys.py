"""The console driven by keys, with an engine that does nothing by itself: order of events first, looks elsewhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from textual import events
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.lock_dialog import LockDialog
from clawperator.app.console.inspect import copy
from clawperator.app.console.messages import DevicesUpdate, DoctorUpdate, LocksUpdate, SnapshotUpdate, StreamUpdate
from clawperator.app.console.screens.dialogs import ConfirmDialog, DeviceDialog, HelpDialog, NoticesDialog
from clawperator.app.console.screens.menu import MenuDialog
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import AdbServerLost, EnvelopeSeen, SnapshotSeen
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.widgets.bounds_map import BoundsMap
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.bounds import frame_for
from clawperator.widgets.header import HeaderLine
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.item_rows import StreamView
from clawperator.widgets.models.tree_rows import TreeView
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.ui_tree import UiTreePane
from tests.app.console.support import (
    CHECKS_FAILED,
    CHECKS_OK,
    DEVICE,
    NOON,
    PHONE,
    ROWS,
    SECOND,
    FakeClipboard,
    FakeEngine,
    MovableClock,
    agent_run,
    drained,
    finished_run,
    hostile_screen,
    log_lines,
    make_app,
    make_envelope,
    mixed_stream,
    settings_screen,
    settled,
    until,
)
from tests.support import varied

WIDE = (120, 36)
SMALL = (80, 24)


@asynccontextmanager
async def console(
    engine: FakeEngine | None = None, *, size: tuple[int, int] = WIDE, look: bool = True, **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine]]:
    """A running console; with ``look`` its first look at the device is over."""
    engine = engine or FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine, **more)
    async with app.run_test(size=size) as pilot:
        if look:
            await settled(pilot)
        yield app, pilot, engine


def tree_of(app: ConsoleApp) -> UiTreePane:
    return app.screen.query_one("#tree", UiTreePane)


def label(app: ConsoleApp) -> str:
    node = tree_of(app).node
    assert node is not None
    return node.label or node.cls.rpartition(".")[2]


def text_of(app: ConsoleApp) -> str:
    """Everything on screen, line by line."""
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def copied(app: ConsoleApp) -> list[str]:
    assert isinstance(app.system_clipboard, FakeClipboard)
    return app.system_clipboard.texts


async def go(pilot: Pilot[int], mode: str) -> None:
    """To a mode, until it has drawn."""
    keys = {"inspect": "1", "stream": "2", "doctor": "6", "devices": "7"}
    await pilot.press(keys[mode])
    await until(pilot, lambda: pilot.app.current_mode == mode and pilot.app.screen.is_mounted)
    await drained(pilot)


# -- start


async def test_the_only_device_is_chosen_looked_at_and_checked_in_this_order() -> None:
    async with console() as (app, _, engine):
        assert app.session.device_id == DEVICE.serial
        assert engine.calls == [f"snapshot {DEVICE.serial}", f"doctor {DEVICE.serial}"]
        assert engine.watched == [DEVICE.serial]
        assert app.focused is tree_of(app)
        assert len(tree_of(app).rows) > 20


async def test_no_device_says_what_to_do() -> None:
    async with console(FakeEngine(present=()), look=False) as (app, pilot, engine):
        await until(pilot, lambda: app.session.devices_known)
        await pilot.press("r")
        assert "No device to read" in app.session.notices[-1].text
        assert "Plug in a phone" in text_of(app)
        assert engine.calls == ["doctor None"]


async def test_with_several_devices_none_is_chosen_silently() -> None:
    engine = FakeEngine(screen=settings_screen(), present=(DEVICE, SECOND, PHONE))
    async with console(engine, look=False) as (app, pilot, _):
        await until(pilot, lambda: isinstance(app.screen, DeviceDialog))
        assert engine.calls == []
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.session.trees.shown)
        assert app.session.device_id == SECOND.serial


@pytest.mark.ci
async def test_the_picker_can_be_left_and_opened_again() -> None:
    engine = FakeEngine(screen=settings_screen(), present=(DEVICE, SECOND))
    async with console(engine, look=False) as (app, pilot, _):
        await until(pilot, lambda: isinstance(app.screen, DeviceDialog))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, DeviceDialog))
        engine.show_devices(DEVICE, SECOND, PHONE)
        await until(pilot, lambda: len(app.session.devices) == 3)
        assert not isinstance(app.screen, DeviceDialog), "asked once, not at every change"
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, DeviceDialog))


async def test_a_wanted_device_is_waited_for_and_no_other_taken() -> None:
    engine = FakeEngine(screen=settings_screen(), present=(DEVICE,))
    async with console(engine, look=False, wanted_device=SECOND.serial) as (app, pilot, _):
        await until(pilot, lambda: app.session.notices)
        assert (
            app.session.notices[-1].text
            == "emulator-5556 is not connected. emulator-5554 is usable. Choose the one to use"
        )
        await until(pilot, lambda: "1 device: D chooses" in text_of(app) and "D  choose a device" in text_of(app))
        assert engine.calls == []
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: app.session.device_id == SECOND.serial and app.session.trees.shown)


async def test_the_number_of_usable_devices_is_not_claimed_while_there_is_no_list() -> None:
    async with console() as (app, pilot, engine):
        app.post_message(DevicesUpdate((DEVICE,), "connection refused"))
        await pilot.press("g", "d")
        await until(pilot, lambda: "list unavailable" in text_of(app) and "usable" not in text_of(app))
        engine.show_devices(DEVICE)
        await until(pilot, lambda: "1 of 1 usable" in text_of(app))


async def test_a_busy_device_is_not_disturbed() -> None:
    engine = FakeEngine(
        taken=[
            {
                "deviceId": DEVICE.serial,
                "state": "held",
                "commandId": "cmd-123",
                "source": "openclaw",
                "since": NOON - 4.1,
                "timeoutMs": 30_000,
                "pid": 4312,
            }
        ]
    )
    async with console(engine, look=False) as (app, pilot, _):
        await until(pilot, lambda: f"{DEVICE.serial} is busy: cmd-123" in text_of(app))
        assert engine.calls == []
        await until(pilot, lambda: "cmd-123 openclaw 4.1 s/30 s" in text_of(app))
        await app.run_action("lock")
        await until(pilot, lambda: isinstance(app.screen, LockDialog))
        await until(pilot, lambda: all(words in text_of(app) for words in ("cmd-123 holds", "openclaw", "4312")))


# -- the tree


async def test_find_moves_to_the_hit_counts_and_walks_round() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash", *"blue", "enter")
        await until(pilot, lambda: app.focused is tree_of(app))
        assert label(app) == "Bluetooth"
        assert len(tree_of(app).model.hits) == 2
        await until(pilot, lambda: "1 of 2" in text_of(app))
        await pilot.press("n")
        assert label(app) == "Bluetooth on"
        await pilot.press("n")
        assert label(app) == "Bluetooth"
        await pilot.press("N")
        assert label(app) == "Bluetooth on"


async def test_escape_clears_what_was_found_and_never_leaves() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash", *"blue", "enter", "escape")
        assert tree_of(app).model.find.text == ""
        await pilot.press("escape", "escape")
        assert app.is_running
        assert app.current_mode == "inspect"


@varied("size", [SMALL, WIDE, (200, 60)], ids=str)
async def test_the_tree_stays_where_it_is_while_finding_and_the_words_are_shown_once(size: tuple[int, int]) -> None:
    async with console(size=size) as (app, pilot, _):
        place = tree_of(app).region
        await pilot.press("slash")
        await until(pilot, lambda: "nodes" in text_of(app) and app.screen.query_one("#find").display)
        assert tree_of(app).region == place
        await pilot.press(*"homenet")
        await until(pilot, lambda: "1/59 nodes" in text_of(app))
        assert tree_of(app).region == place
        assert text_of(app).count("homenet") == 1
        await pilot.press("enter")
        await until(pilot, lambda: "/ homenet  1/59 nodes" in text_of(app) and "r 22:29:00" in text_of(app))
        assert text_of(app).count("homenet") == 1
        assert tree_of(app).region == place


async def test_letters_in_the_find_line_are_text_not_commands() -> None:
    async with console() as (app, pilot, engine):
        calls = list(engine.calls)
        await pilot.press("slash", *"rq1D:")
        assert tree_of(app).model.find.text == "rq1D:"
        assert engine.calls == calls
        assert app.current_mode == "inspect"


async def test_folds_views_and_the_way_up() -> None:
    async with console() as (app, pilot, _):
        tree = tree_of(app)
        compact = len(tree.rows)
        await pilot.press("t")
        assert tree.model.view.value == "all"
        assert len(tree.rows) == len(tree.snapshot.nodes) > compact
        await pilot.press("t")
        assert tree.model.view.value == "targets"
        await pilot.press("t", "home", "space")
        assert len(tree.rows) == 1
        await pilot.press("l", "l", "l")
        assert label(app) == "Search settings"
        await pilot.press("h", "h")
        assert len(tree.rows) < compact
        await pilot.press("asterisk", "minus")
        assert tree.node is not None


async def test_cursor_and_screen_row_survive_a_new_tree() -> None:
    async with console(size=SMALL) as (app, pilot, engine):
        await pilot.press("slash", *"storage", "enter", "escape")
        tree = tree_of(app)
        assert label(app) == "Storage"
        height = tree.cursor - tree.top
        engine.screen = settings_screen(ROWS[3:])
        await pilot.press("r")
        await until(pilot, lambda: len(app.session.trees) == 2 and tree.snapshot is app.session.trees.shown)
        assert label(app) == "Storage"
        assert tree.cursor - tree.top == height
        assert tree.model.changes.removed, "rows that left are counted"


async def test_when_the_node_under_the_cursor_leaves_the_strip_says_so() -> None:
    async with console() as (app, pilot, engine):
        await pilot.press("slash", *'"Display"', "enter", "escape")
        assert label(app) == "Display"
        engine.screen = settings_screen(ROWS[:5])
        await pilot.press("r")
        await until(pilot, lambda: any("left the screen" in notice.text for notice in app.session.notices))
        assert 'TextView "Display" left the screen – now on RecyclerView #recycler_view' in app.session.notices[-1].text
        assert label(app) == "RecyclerView"


async def test_changes_are_marked_walked_and_cleared() -> None:
    async with console() as (app, pilot, engine):
        engine.screen = settings_screen().replace("HomeNet", "CafeNet").replace("84 %", "83 %")
        await pilot.press("r")
        await until(pilot, lambda: tree_of(app).model.changes)
        await pilot.press("right_square_bracket")
        assert label(app) == "CafeNet"
        await pilot.press("right_square_bracket")
        assert label(app).startswith("83 %")
        await pilot.press("right_square_bracket")
        assert label(app) == "CafeNet"
        await pilot.press("escape")
        assert not tree_of(app).model.changes


async def test_older_trees_and_back_to_live() -> None:
    async with console() as (app, pilot, engine):
        engine.screen = settings_screen().replace("HomeNet", "CafeNet")
        await pilot.press("r")
        await until(pilot, lambda: len(app.session.trees) == 2)
        await pilot.press("comma")
        assert app.session.trees.back == 1
        await until(pilot, lambda: "HomeNet" in tree_of(app).snapshot.xml)
        await until(pilot, lambda: "1 back of 2" in text_of(app))
        await pilot.press("comma")
        assert app.session.notices[-1].text == "There is no older tree"
        await pilot.press("full_stop")
        assert app.session.trees.back == 0
        await until(pilot, lambda: "CafeNet" in tree_of(app).snapshot.xml)


async def test_who_looks_at_an_older_tree_is_not_pulled_away() -> None:
    async with console() as (app, pilot, engine):
        engine.screen = settings_screen().replace("HomeNet", "CafeNet")
        await pilot.press("r")
        await until(pilot, lambda: len(app.session.trees) == 2)
        await pilot.press("comma")
        engine.publish(
            SnapshotSeen(device_id=DEVICE.serial, command_id="agent", step_id="s", xml=settings_screen(ROWS[:3]))
        )
        await until(pilot, lambda: len(app.session.trees) == 3)
        await drained(pilot)
        assert "HomeNet" in tree_of(app).snapshot.xml
        assert len(tree_of(app).snapshot.nodes) > 50


async def test_the_tree_of_another_process_appears_by_itself() -> None:
    async with console() as (app, pilot, engine):
        engine.publish(
            *agent_run("cmd-9", NOON),
            SnapshotSeen(
                device_id=DEVICE.serial, command_id="cmd-9", step_id="s", xml=settings_screen(ROWS[:2]), at=NOON + 3
            ),
        )
        await until(pilot, lambda: len(tree_of(app).snapshot.nodes) < 30)
        assert app.session.trees.shown.source == "stream"
        await until(pilot, lambda: "stream cmd-9" in text_of(app))


async def test_the_node_pane_follows_the_cursor_once_it_rests() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash", *"@checked", "enter", "escape")
        tree_of(app)._rested()
        inspector = app.screen.query_one("#node", NodeInspector)
        await until(pilot, lambda: inspector.node is tree_of(app).node)
        await pilot.press("g", "n")
        await until(pilot, lambda: app.focused is inspector)
        await pilot.press("enter")
        await until(pilot, lambda: copied(app))
        assert copied(app) == ["Wi‑Fi on"], "the first row is the label"


async def test_a_click_on_the_arrow_folds_and_elsewhere_selects() -> None:
    async with console() as (app, pilot, _):
        tree = tree_of(app)
        row = next(index for index, row in enumerate(tree.rows) if row.arrow and row.level == 1)
        before = len(tree.rows)
        await pilot.click("#tree", offset=(30, row))
        assert tree.cursor == row
        assert len(tree.rows) == before
        await pilot.click("#tree", offset=(4, row))
        assert len(tree.rows) < before


async def test_a_click_on_the_map_chooses_the_node_there_and_again_the_larger_one() -> None:
    async with console(size=(200, 60)) as (app, pilot, _):
        tree = tree_of(app)
        node = next(node for node in tree.snapshot.nodes if node.label == "Bluetooth")
        screen_map = app.screen.query_one(BoundsMap)
        assert tree.snapshot.tree is not None
        frame = frame_for(tree.snapshot.tree, *screen_map.content_size)
        assert frame is not None
        left, top, right, bottom = frame.box(node.bounds)
        place = (frame.margin + (left + right) // 2, (top + bottom) // 2)
        await pilot.click(BoundsMap, offset=place)
        await until(pilot, lambda: label(app) == "Bluetooth")
        tree._rested()
        await until(pilot, lambda: screen_map.marks.node is node)
        await pilot.click(BoundsMap, offset=place)
        await until(pilot, lambda: label(app) == "RelativeLayout")


# -- bursts: keys that arrive faster than the console handles them


def burst(app: ConsoleApp, *keys: str) -> None:
    """Keys as one read of the terminal brings them: all are queued before the first one is handled."""
    for key in keys:
        name = {"/": "slash", "⏎": "enter", "␛": "escape", "!": "exclamation_mark"}.get(key, key)
        app.post_message(
            events.Key(name, key if len(key) == 1 and key.isprintable() and name not in ("enter", "escape") else None)
        )


async def test_a_burst_opens_the_field_types_into_it_leaves_it_and_goes_on() -> None:
    async with console() as (app, pilot, _):
        burst(app, "/", *"blue", "⏎", "n", "y", "t")
        await until(pilot, lambda: copied(app))
        assert tree_of(app).model.find.text == "blue"
        assert copied(app) == ["Bluetooth on"]


@pytest.mark.ci
async def test_a_burst_into_the_open_field_does_not_type_what_comes_after_enter() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash")
        burst(app, *"blue", "⏎", "N")
        await until(pilot, lambda: app.focused is tree_of(app) and label(app) == "Bluetooth on")
        assert tree_of(app).model.find.text == "blue"
        burst(app, "/", "x", "␛", "j")
        await until(pilot, lambda: tree_of(app).model.find.text == "" and app.focused is tree_of(app))


async def test_prefix_keys_lose_no_second_key() -> None:
    async with console() as (app, pilot, _):
        burst(app, "G", "g", "g", "l", "y", "p", "g", "n")
        await until(pilot, lambda: isinstance(app.focused, NodeInspector) and copied(app))
        assert copied(app) == ["0/0/0/0/0"]


# -- copying


COPIES = {
    "t": "Bluetooth",
    "i": "android:id/title",
    "p": "0/0/0/0/1/2/1/0",
    "b": "[216,710][800,770]",
    "u": 'new UiSelector().text("Bluetooth")',
    "X": '//*[@text="Bluetooth"]',
    "r": '```yaml\nid: tap\ntype: click\nselector: {text_equals: "Bluetooth"}\n```\n',
}


async def test_copying_facts_of_the_node_and_its_selector_for_other_tools() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("slash", *'"Bluetooth"', "enter")
        for key, wanted in COPIES.items():
            await copies(app, pilot, key, wanted)


async def copies(app: ConsoleApp, pilot: Any, key: str, wanted: str) -> None:
    """Copy what ``key`` of the menu stands for, and check it."""
    count = len(copied(app))
    await pilot.press("y")
    await until(pilot, lambda: isinstance(app.screen, MenuDialog))
    await pilot.press(key)
    await until(pilot, lambda: len(copied(app)) > count)
    assert copied(app)[-1] == wanted
    await until(pilot, lambda: f"{len(wanted)} characters" in app.session.notices[-1].text)
    await until(pilot, lambda: app.screen is app.mode_screen)


async def test_a_form_that_cannot_express_the_selector_says_why() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("m", *"role:listitem", "enter", "y")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog) and app.screen.query("#menu"))
        reasons = {choice.item.id: choice.words for choice in app.screen._choices if not choice.enabled}  # type: ignore[attr-defined]
        assert (
            reasons["xpath"] == reasons["ui_selector"] == "only the Operator knows roles: choose a selector without one"
        )
        assert reasons["recipe"] == "a recipe has no word for the role listitem: choose a selector without it"
        await pilot.press("X", "r", "u", "P")
        await until(pilot, lambda: copied(app))
        assert len(copied(app)) == 1
        assert copied(app)[0].startswith("import asyncio")


async def test_copying_xml() -> None:
    async with console() as (app, pilot, engine):
        await pilot.press("y", "x")
        await until(pilot, lambda: len(copied(app)) == 1)
        assert copied(app)[0] == engine.screen
        await pilot.press("slash", *"@checked", "enter", "y", "n")
        await until(pilot, lambda: len(copied(app)) == 2)
        assert copied(app)[1].startswith('<node index="2" text="" resource-id="com.android.settings:id/switch_widget"')


async def test_the_node_is_serialised_only_when_it_is_copied_and_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 133,000 nodes ``y`` and ``?`` took 3.5 s."""
    threads: list[threading.Thread] = []

    def node_xml(node: UiNode) -> str:
        threads.append(threading.current_thread())
        return f"<{node.cls}>"

    monkeypatch.setattr(copy, "node_xml", node_xml)
    async with console() as (app, pilot, _):
        await pilot.press("home", "y")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog) and app.screen.query("#menu"))
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        assert not threads
        await pilot.press("escape", "y", "n")
        await until(pilot, lambda: copied(app))
        assert [thread is threading.main_thread() for thread in threads] == [False]


async def test_what_cannot_be_copied_is_dimmed_and_does_nothing() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("home", "y", "t")
        assert isinstance(app.screen, MenuDialog), "a container has no label"
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, MenuDialog))
        assert copied(app) == []


async def test_the_code_of_the_last_notice_can_be_copied() -> None:
    async with console() as (app, pilot, engine):
        engine.snapshot_error = EngineError(ErrorCode.DEVICE_OFFLINE, "emulator-5554 is offline", hint="Replug it.")
        await pilot.press("r")
        await until(pilot, lambda: app.session.last_problem)
        await pilot.press("y", "exclamation_mark")
        await until(pilot, lambda: copied(app))
        assert copied(app) == ["DEVICE_OFFLINE: emulator-5554 is offline. Replug it."]


# -- the stream


async def test_executions_of_others_appear_live_and_are_followed() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*agent_run("cmd-1", NOON))
        await until(pilot, lambda: stream.execution and stream.execution.command_id == "cmd-1")
        await until(pilot, lambda: "2/4" in text_of(app) and "retry 2/5" in text_of(app))
        engine.publish(*finished_run("cmd-2", NOON + 1))
        await until(pilot, lambda: stream.execution and stream.execution.command_id == "cmd-2")
        assert stream.following


async def test_moving_up_stops_following_and_new_rows_do_not_move_the_cursor() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*mixed_stream(NOON - 30))
        await until(pilot, lambda: stream.row_count() == 8)
        await pilot.press("k", "k")
        assert not stream.following
        item, height = stream.item, stream.cursor - stream.top
        engine.publish(*(event for number in range(40) for event in finished_run(f"later-{number}", NOON + number)))
        await until(pilot, lambda: stream.row_count() == 48)
        assert stream.item is item
        assert stream.cursor - stream.top == height
        await pilot.press("G")
        assert stream.following


async def test_pause_freezes_the_view_while_lines_come_in() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.log(log_lines(200))
        await pilot.press("t", "t", "t")
        await until(pilot, lambda: stream.model.view is StreamView.LOG and stream.row_count() == 200)
        await pilot.press("p")
        engine.log(log_lines(500, start=200))
        await until(pilot, lambda: len(app.session.lines) == 700)
        await until(pilot, lambda: "500 behind" in text_of(app))
        assert stream.row_count() == 200
        await pilot.press("p")
        assert stream.row_count() == 700


async def test_the_views_share_what_was_collected() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*mixed_stream(NOON - 30))
        engine.log(log_lines(100))
        await until(pilot, lambda: len(app.session.lines) == 100)
        counts = []
        for _ in StreamView:
            counts.append((stream.model.view, stream.row_count()))
            await pilot.press("t")
        assert counts == [
            (StreamView.EXECUTIONS, 8),
            (StreamView.ENVELOPES, 6),
            (StreamView.OPERATOR, 10),
            (StreamView.LOG, 100),
        ]


async def test_the_next_problem_and_its_detail() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*mixed_stream(NOON - 30))
        await until(pilot, lambda: stream.row_count() == 8)
        await pilot.press("home", "right_square_bracket", "right_square_bracket")
        assert stream.execution is not None
        assert stream.execution.command_id == "cmd-122"
        await pilot.press("enter")
        detail = app.screen.query_one(ExecutionDetail)
        await until(pilot, lambda: app.focused is detail)
        assert "No UI node found" in text_of(app)
        await pilot.press("l", "l")
        assert detail.tab.value == "Envelope"
        await until(pilot, lambda: '"status": "failed"' in text_of(app))
        await pilot.press("h", "h", "h")
        assert detail.tab.value == "Raw"


async def test_unfolding_shows_the_live_lines() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*agent_run("cmd-1", NOON))
        await until(pilot, lambda: stream.execution and stream.execution.command_id == "cmd-1")
        rows = stream.row_count()
        await pilot.press("space")
        assert stream.row_count() == rows + 8
        await pilot.press("h")
        assert stream.row_count() == rows


async def test_a_filter_hides_counts_and_names_the_culprit() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*mixed_stream(NOON - 30))
        await until(pilot, lambda: stream.row_count() == 8)
        await pilot.press("slash", *"src:skill !malformed", "enter")
        assert [row.item.command_id for row in stream.model.items.rows if hasattr(row.item, "command_id")] == [
            "cmd-123",
            "cmd-124",
        ]
        await until(pilot, lambda: "6 hidden" in text_of(app))
        await pilot.press("slash", "end", *" src:nobody", "enter")
        await until(pilot, lambda: "src:nobody matches nothing" in text_of(app))
        await pilot.press("escape")
        assert stream.row_count() == 8


async def test_losses_are_shown_in_the_header_and_as_a_row() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        engine.log(log_lines(1), dropped=900)
        await until(pilot, lambda: "900 dropped" in text_of(app))
        assert "dropped 900 messages (burst): this console was too slow" in text_of(app)


async def test_copying_in_the_stream() -> None:
    async with console() as (app, pilot, engine):
        await go(pilot, "stream")
        stream = app.screen.query_one(EnvelopeLog)
        engine.publish(*finished_run("cmd-1", NOON))
        await until(pilot, lambda: stream.execution and stream.execution.command_id == "cmd-1")
        await pilot.press("y", "i")
        await until(pilot, lambda: len(copied(app)) == 1)
        await pilot.press("y", "j")
        await until(pilot, lambda: len(copied(app)) == 2)
        assert copied(app)[0] == "cmd-1"
        assert copied(app)[1].startswith('{\n  "commandId": "cmd-1"')


# -- doctor and devices


async def test_doctor_to_the_failing_check_and_what_to_do() -> None:
    async with console(FakeEngine(screen=settings_screen(), checks=CHECKS_FAILED), size=SMALL) as (app, pilot, engine):
        await go(pilot, "doctor")
        panel = app.screen.query_one("#list", DoctorPanel)
        await pilot.press("right_square_bracket")
        assert panel.check is not None
        assert panel.check["id"] == "readiness.handshake"
        await pilot.press("enter")
        await until(pilot, lambda: "clawperator grant-device-permissions" in text_of(app))
        await pilot.press("y", "l")
        await until(pilot, lambda: copied(app))
        assert copied(app)[0].splitlines()[0].startswith("clawperator grant-device-permissions --device-id")
        await pilot.press("escape")
        assert app.focused is panel
        engine.checks = CHECKS_OK
        await pilot.press("r")
        await until(pilot, lambda: app.session.report.checks[-1]["status"] == "pass" and app.session.report.ended)
        assert engine.calls.count(f"doctor {DEVICE.serial}") == 2


async def test_devices_are_pushed_into_every_mode() -> None:
    async with console(size=SMALL) as (app, pilot, engine):
        await go(pilot, "devices")
        engine.show_devices(DEVICE, PHONE)
        await until(pilot, lambda: "R5CT20ABCDE" in text_of(app) and "confirm the dialog on the phone" in text_of(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: "Allow USB debugging" in text_of(app))
        assert app.session.device_id == DEVICE.serial, "a device that cannot be used is not taken"


async def test_choosing_another_device_looks_at_it() -> None:
    async with console() as (app, pilot, engine):
        engine.show_devices(DEVICE, SECOND)
        await until(pilot, lambda: len(app.session.devices) == 2)
        await go(pilot, "devices")
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.session.device_id == SECOND.serial and app.session.trees.shown)
        assert engine.watched == [DEVICE.serial, SECOND.serial]
        assert f"snapshot {SECOND.serial}" in engine.calls


async def test_a_device_that_goes_away_keeps_its_last_tree_and_comes_back() -> None:
    clock = MovableClock()
    async with console(clock=clock) as (app, pilot, engine):
        engine.show_devices()
        await until(pilot, lambda: app.session.gone_since)
        clock.at += 12
        app._second()
        await until(pilot, lambda: "emulator-5554 away 12 s" in text_of(app))
        assert tree_of(app).rows
        engine.show_devices(DEVICE)
        await until(pilot, lambda: not app.session.gone_since)
        assert app.session.device_id == DEVICE.serial


async def test_a_lost_adb_server_is_reported() -> None:
    async with console(FakeEngine(present=()), look=False) as (app, pilot, engine):
        engine.publish(AdbServerLost(reason="adb was not found (ADB_NOT_FOUND)"))
        await until(pilot, lambda: "adb was not found" in text_of(app))


# -- frame


async def test_modes_by_digit_and_back_by_q() -> None:
    async with console() as (app, pilot, _):
        for mode in ("stream", "doctor", "devices"):
            await go(pilot, mode)
            assert app.current_mode == mode
        for mode in ("doctor", "stream", "inspect"):
            await pilot.press("q")
            await until(pilot, lambda: app.current_mode == mode)  # noqa: B023  # used up before the next turn
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(app.screen, ConfirmDialog))
        await pilot.press("q", "y")
        await until(pilot, lambda: app.return_code is not None)
        assert app.return_value == 0


@pytest.mark.parametrize("ascii_only", [False, pytest.param(True, marks=pytest.mark.ci)])
@pytest.mark.parametrize(
    ("pressed", "titles"),
    [
        (("g", "d"), ("devices", "doctor")),
        (("g", "n"), ("node",)),
        (("w",), ("workbench",)),
        (("s",), ("screen",)),
        (("g", "s"), ("stream",)),
    ],
)
async def test_a_drawer_has_its_title_and_leaves_the_header(
    pressed: tuple[str, ...], titles: tuple[str, ...], ascii_only: bool
) -> None:
    async with console(size=SMALL, ascii_only=ascii_only) as (app, pilot, _):
        await pilot.press(*pressed)
        frame = "-" if ascii_only else "━"
        for title in titles:
            await until(pilot, lambda t=title: f"{t}{frame}" in text_of(app).replace(" ", ""))  # type: ignore[misc]
        assert text_of(app).splitlines()[0].startswith(" 1Inspect  2 3 4 5 6 7")
        assert not ascii_only or text_of(app).isascii() or set(text_of(app)) - set(map(chr, range(128))) <= {"‑", "–"}


async def test_every_digit_is_a_mode() -> None:
    async with console() as (app, pilot, _):
        tabs = {tab.digit: tab.name.lower() for tab in app.tabs()}
        assert list(tabs) == ["1", "2", "3", "4", "5", "6", "7"]
        for digit, mode in tabs.items():
            await pilot.press(digit)
            assert app.current_mode == mode


@pytest.mark.parametrize(
    "size", [SMALL, *(pytest.param(size, marks=pytest.mark.ci) for size in ((100, 30), WIDE))], ids=str
)
async def test_every_mode_is_visible_in_the_header_and_reached_by_a_click(size: tuple[int, int]) -> None:
    async with console(size=size, demo=True) as (app, pilot, _):
        held = {"commandId": "long-command-id-1", "source": "openclaw", "since": NOON, "timeoutMs": 30_000}
        app.post_message(LocksUpdate({DEVICE.serial: held}))
        await until(pilot, lambda: app.session.lock)
        for digit, mode in [(tab.digit, tab.name.lower()) for tab in app.tabs()]:
            header = app.screen.query_one(HeaderLine)
            text = header.line_row(size[0])
            start, end, _ = next(hit for hit in header._hits if hit[2] == f"mode('{mode}')")
            assert text.left.plain[start:end].strip().startswith(digit)
            assert end <= size[0] - (text.right.cells if text.right else 0)
            assert "demo" in (text.right.plain if text.right else "")
            await pilot.click(header, offset=(start + 1, 0))
            await until(pilot, lambda mode=mode: app.current_mode == mode)  # type: ignore[misc]


async def test_help_lists_the_keys_that_work_here() -> None:
    async with console() as (app, pilot, _):
        active = {binding.binding.id for binding in app.screen.active_bindings.values() if binding.binding.id}
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        assert isinstance(app.screen, HelpDialog)
        groups = dict(app.screen.groups)
        assert next(iter(groups)) == "Tree"
        menus = {name: entries for name, entries in groups.items() if "…)" in name}
        assert set(menus) == {"Act  (a …)", "Step  (i …)", "Show only  (\\ …)", "Copy  (y …)", "Go to  (g …)"}
        assert sum(map(len, groups.values())) - sum(map(len, menus.values())) == len(active)
        assert ("y y", "matcher", "The matcher as one line of JSON") in menus["Copy  (y …)"]
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, HelpDialog))


async def test_no_key_of_the_mode_works_under_a_dialog() -> None:
    async with console() as (app, pilot, engine):
        calls = list(engine.calls)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        await pilot.press("r", "2", "7", "t")
        assert app.current_mode == "inspect"
        assert engine.calls == calls
        assert tree_of_mode(app).model.view is TreeView.COMPACT


def tree_of_mode(app: ConsoleApp) -> UiTreePane:
    screen = app.mode_screen
    assert screen is not None
    return screen.query_one("#tree", UiTreePane)


@pytest.mark.ci
async def test_the_palette_runs_a_binding_and_names_no_mode_that_is_missing() -> None:
    async with console() as (app, pilot, engine):
        await pilot.press("colon")
        await until(pilot, lambda: type(app.screen).__name__ == "PaletteDialog")
        await pilot.press(*"inspect snapshot")
        await until(pilot, lambda: app.screen.query("CommandList").first().option_count > 0)  # type: ignore[attr-defined]  # Textual's list
        await pilot.press("enter")
        await until(pilot, lambda: engine.calls.count(f"snapshot {DEVICE.serial}") == 2)


async def test_notices_are_kept() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("comma", "exclamation_mark")
        await until(pilot, lambda: isinstance(app.screen, NoticesDialog))
        await until(pilot, lambda: "There is no older tree" in text_of(app))


async def test_zoom_shows_one_pane_and_escape_brings_the_others_back() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("z")
        await drained(pilot)
        assert tree_of(app).size.width > 110
        assert app.screen.query_one("#node").region.width == 0
        await pilot.press("escape")
        await drained(pilot)
        assert app.screen.query_one("#node").region.width > 0
        assert app.focused is tree_of(app)


async def test_small_screens_open_panes_as_drawers() -> None:
    async with console(size=SMALL) as (app, pilot, _):
        node = app.screen.query_one("#node", NodeInspector)
        assert node.region.width == 0
        await pilot.press("g", "n")
        await until(pilot, lambda: app.focused is node and node.region.width > 20)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is tree_of(app) and node.region.width == 0)
        await pilot.press("g", "d")
        await until(pilot, lambda: app.focused is app.screen.query_one("#devices", DeviceList))


async def test_go_to_the_top_and_to_the_parent() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("end", "g", "g")
        await until(pilot, lambda: tree_of(app).cursor == 0)
        await pilot.press("slash", *'"Bluetooth"', "enter", "g", "p")
        await until(pilot, lambda: label(app) == "RelativeLayout")


async def test_a_screen_too_small_says_so_and_recovers() -> None:
    async with console(size=(58, 14)) as (app, pilot, _):
        assert "58×14 is too small – needs 60×16" in text_of(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "com.android.settings" in text_of(app))


async def test_a_confirmation_says_that_another_run_began_with_a_known_id() -> None:
    async with console() as (app, pilot, engine):
        engine.publish(*finished_run("again", NOON - 9))
        await pilot.press("a", "t")
        await until(pilot, lambda: "no action since" in text_of(app))
        engine.publish(*agent_run("again", NOON + 1)[:1])
        await until(pilot, lambda: "out of date: an execution is running" in text_of(app))
        assert "no action since" not in text_of(app)
        assert [run.status.word for run in app.session.log.executions if run.command_id == "again"] == ["ok", "running"]


async def test_a_screen_too_small_takes_no_input_and_a_dialog_is_back_as_it_was() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("a", "o", *"com.ex", "left", "left")
        await until(pilot, lambda: getattr(app.focused, "value", "") == "com.ex")
        dialog, field = app.screen, app.focused
        assert isinstance(field, Input)
        place = field.selection
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: "50×12 is too small" in text_of(app) and "com.ex" not in text_of(app))
        await pilot.press(*"xyz", "enter", "escape", "ctrl+p", "7")
        app.post_message(events.Paste("pasted"))
        await pilot.click(offset=(5, 5))
        assert (app.screen, app.current_mode, field.value) == (dialog, "inspect", "com.ex")
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.focused is field)
        assert (field.value, field.selection) == ("com.ex", place)
        await pilot.press("x")
        await until(pilot, lambda: field.value == "com.xex")
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: app.screen.has_class("-tiny"))
        await pilot.press("q")
        await until(pilot, lambda: app.return_value == 0)


@pytest.mark.parametrize(("smaller", "then"), [((50, 12), "#node"), ((80, 24), "#tree")])
async def test_the_focus_is_on_the_same_pane_after_a_smaller_terminal_or_on_the_tree(
    smaller: tuple[int, int], then: str
) -> None:
    async with console() as (app, pilot, _):
        await pilot.press("g", "n")
        await until(pilot, lambda: app.focused is app.screen.query_one("#node"))
        await pilot.resize_terminal(*smaller)
        await until(pilot, lambda: app.focused is not app.screen.query_one("#node"))
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.focused is app.screen.query_one(then))


@pytest.mark.ci
async def test_a_dialog_types_on_after_a_terminal_too_small_for_it() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("colon", "s", "t")
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: app.focused is None)
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: app.focused is not None)
        await pilot.press("r")
        await until(pilot, lambda: app.screen.query_one(Input).value == "str")


@pytest.mark.ci
async def test_resizing_keeps_the_cursor_on_screen_and_every_widget() -> None:
    async with console(size=(200, 60)) as (app, pilot, _):
        await pilot.press("end")
        widgets = len(app.screen.query("*"))
        for size in ((80, 24), (120, 36), (60, 16), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            tree = tree_of(app)
            assert tree.top <= tree.cursor < tree.top + max(1, tree.view_height)
        assert len(app.screen.query("*")) == widgets


async def test_clicks_on_header_and_key_bar_are_keys() -> None:
    async with console() as (app, pilot, _):
        header = app.screen.query_one(HeaderLine)
        start = next(start for start, _, action in header._hits if action == "mode('doctor')")
        await pilot.click("#header", offset=(start + 2, 0))
        await until(pilot, lambda: app.current_mode == "doctor")
        bar = app.screen.query_one(KeyBar)
        await until(pilot, lambda: bar._hits)
        start = next(start for start, _, key in bar._hits if key == "question_mark")
        await pilot.click("#key-bar", offset=(start, 0))
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))


async def test_the_key_bar_follows_the_focus() -> None:
    async with console() as (app, pilot, _):
        bar = app.screen.query_one(KeyBar)
        await until(pilot, lambda: "find" in [hint.label for hint in bar._hints])
        app.screen.query_one("#doctor").focus()
        await until(pilot, lambda: bar._hints[0].label == "run again")
        assert bar._hints[-1].label == "keys"


async def test_themes_can_be_changed_while_running() -> None:
    async with console() as (app, pilot, _):
        before = app.screen.query_one("#tree", LinePane).role_style("node-id")
        for theme in (
            "claw-light",
            "claw-contrast",
            "claw-cvd-dark",
            "claw-cvd-light",
            "claw-mono",
            "dracula",
            "ansi-light",
        ):
            app.theme = theme
            await drained(pilot)
        app.theme = "claw-light"
        await drained(pilot)
        assert app.screen.query_one("#tree", LinePane).role_style("node-id") != before


async def test_the_terminals_cursor_follows_the_row() -> None:
    async with console() as (app, pilot, _):
        await pilot.press("j", "j")
        tree = tree_of(app)
        assert app.cursor_position == tree.content_region.offset + Offset(0, tree.cursor - tree.top)


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=str)
async def test_a_tree_is_out_of_date_when_an_action_ran_since_and_not_by_age(size: tuple[int, int]) -> None:
    clock = MovableClock()
    async with console(clock=clock, size=size) as (app, pilot, engine):
        clock.at += 4200
        app._second()
        await until(pilot, lambda: "r 22:29:00" in text_of(app))
        engine.publish(
            EnvelopeSeen(
                device_id=DEVICE.serial,
                command_id="cmd-7",
                envelope=make_envelope("cmd-7", [("s1", "snapshot_ui", True, {}), ("s2", "click", True, {})]),
                raw="{}",
                at=clock.at,
            )
        )
        await until(pilot, lambda: "out of date: a click ran since · r" in text_of(app))
        assert "tree out of date" in text_of(app).splitlines()[0]
        await pilot.press("r")
        await until(pilot, lambda: "r 23:39:00" in text_of(app))
        assert "out of date" not in text_of(app)


# -- robustness


async def test_hostile_text_reaches_the_screen_only_as_text() -> None:
    async with console(FakeEngine(screen=hostile_screen(), checks=CHECKS_OK)) as (app, pilot, _):
        await pilot.press("end")
        text = text_of(app)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[bold red]markup[/]" in text
        assert "⟨U+202E⟩" in text
        assert " more" in text


@pytest.mark.ci
async def test_a_storm_of_lines_and_trees_loses_nothing_and_keeps_answering() -> None:
    async with console() as (app, pilot, engine):
        for turn in range(20):
            engine.log(log_lines(250, start=250 * turn))
            engine.publish(
                SnapshotSeen(
                    device_id=DEVICE.serial,
                    command_id=f"a{turn}",
                    step_id="s",
                    xml=settings_screen(ROWS[: 3 + turn % 7]),
                )
            )
            await pilot.press("j")
        await until(pilot, lambda: app.session.lines.end == 5000)
        assert app.session.dropped == 0
        assert app.screen.focused is tree_of(app)


async def test_news_come_in_order_and_in_few_messages() -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    seen: list[str] = []

    def hook(message: object) -> None:
        if isinstance(message, (SnapshotUpdate, StreamUpdate, DoctorUpdate)):
            seen.append(type(message).__name__)

    async with app.run_test(size=WIDE, message_hook=hook) as pilot:
        await settled(pilot)
        assert seen.index("StreamUpdate") < seen.index("SnapshotUpdate") < len(seen)
        assert seen.count("SnapshotUpdate") == 1
        seen.clear()
        for _ in range(100):
            engine.log(log_lines(10))
        await until(pilot, lambda: app.session.lines.end == 1000)
        assert seen == ["StreamUpdate"]


async def test_leaving_stops_every_task() -> None:
    async with console() as (_, __, engine):
        pass
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not names & {"devices", "locks", "trees", "bridge"}
    assert not engine.events.watched


# -- sizes


@pytest.mark.parametrize("mode", ["1", *(pytest.param(mode, marks=pytest.mark.ci) for mode in "2367")])
async def test_no_pane_is_cut_off_at_any_width(mode: str) -> None:
    async with console(size=(60, 24)) as (app, pilot, _):
        await pilot.press(mode)
        for width in (60, 80, 99, 100, 104, 110, 119, 120, 140, 159, 160, 200):
            await pilot.resize_terminal(width, 36)
            await until(pilot, partial(_is_as_wide_as, app, width))
            cut = [pane.id for pane in app.screen.query(LinePane) if pane.display and pane.region.right > width]
            assert cut == [], f"{cut} at {width} columns"


def _is_as_wide_as(app: ConsoleApp, width: int) -> bool:
    return app.screen.size.width == width
