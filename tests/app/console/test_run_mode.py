"""Mode 3: one draft as steps and as JSON, its problems in their places, and its run in full."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.run.as_sent import AsSentDialog
from clawperator.app.console.run.screen import RunScreen
from clawperator.engine import Engine
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.steps import execution, step
from clawperator.widgets import keys
from tests.app.console.execution.test_dispatcher import ActingEngine, answered, last, text_of
from tests.app.console.support import (
    CHECKS_OK,
    FakeClipboard,
    MemoryStore,
    drained,
    make_app,
    make_envelope,
    settings_screen,
    settled,
    until,
)
from tests.support import varied

SIZES = [(80, 24), *(pytest.param(size, marks=pytest.mark.ci) for size in ((120, 36), (200, 60)))]
PLAN: dict[str, Any] = {
    "commandId": "cmd-9", "taskId": "morning", "source": "openclaw", "expectedFormat": "android-ui-automator", "timeoutMs": 20_000,
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Wi‑Fi"}}},
        {"id": "key", "type": "press_key", "params": {"key": "back"}},
    ],
}  # fmt: skip


def broken() -> dict[str, Any]:
    plan = json.loads(json.dumps(PLAN))
    plan["actions"][1]["type"] = "clik"
    plan["actions"][2]["params"]["key"] = "enter"
    return dict(plan)


@asynccontextmanager
async def composing(
    plan: Mapping[str, Any] | None = PLAN,
    *,
    size: tuple[int, int] = (120, 36),
    engine: ActingEngine | None = None,
    **more: Any,
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], RunScreen]]:
    app = make_app(engine or ActingEngine(screen=settings_screen(), checks=CHECKS_OK), **more)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        if plan is not None:
            app.drafts.load(plan)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
        await drained(pilot)
        assert isinstance(app.screen, RunScreen)
        yield app, pilot, app.screen


def types(app: ConsoleApp) -> list[str]:
    return [str(each["type"]) for each in app.drafts.draft.steps]


# -- two looks at one draft


@pytest.mark.parametrize("size", SIZES)
async def test_tab_goes_through_the_panes_and_shows_each(size: tuple[int, int]) -> None:
    async with composing(size=size) as (_, pilot, screen):
        shown = []
        for _ in range(4):
            await pilot.press("tab")
            await drained(pilot)
            assert screen.focused is not None
            assert screen.focused.region.height > 3
            shown.append(screen.focused.id)
        assert shown == ["json", "problems", "timeline", "list"]
        await pilot.press("shift+tab", "escape")
        assert screen.focused is screen.area.steps


@varied(
    ("size", "pane", "axis", "step"),
    [
        ((120, 36), "list", "width", 4),
        pytest.param((120, 36), "problems", "width", 4, marks=pytest.mark.ci),
        pytest.param((120, 36), "timeline", "width", 4, marks=pytest.mark.ci),
        pytest.param((200, 60), "list", "width", 4, marks=pytest.mark.ci),
        pytest.param((200, 60), "problems", "width", 4, marks=pytest.mark.ci),
        ((200, 60), "timeline", "height", 1),
    ],
)
async def test_the_focused_pane_is_made_larger_and_smaller(
    size: tuple[int, int], pane: str, axis: str, step: int
) -> None:
    async with composing(size=size) as (_, pilot, screen):
        box = screen.query_one(f"#{pane}-pane")

        def length() -> int:
            return int(getattr(box.outer_size, axis))

        before = length()
        screen.set_focus(screen.query_one(f"#{pane}"))
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        await until(pilot, lambda: length() == before + 2 * step)
        await pilot.press("left_curly_bracket", "left_curly_bracket", "left_curly_bracket")
        await until(pilot, lambda: length() == before - step)
        for steps in (60, -60):
            screen.action_share(steps)
            await drained(pilot)
            panes = [each for each in screen.query("#run > Pane") if each.display]
            assert all(each.region.width >= 18 and each.region.height >= 4 for each in panes)
            assert all(screen.query_one("#run").region.contains_region(each.region) for each in panes)


@varied(
    ("size", "pane", "edge", "by", "moved"),
    [
        ((120, 36), "list", "right", (9, 0), ("list", 8, 0)),
        ((120, 36), "problems", "bottom", (0, -2), ("problems", 0, -2)),
        *(
            pytest.param(*row, marks=pytest.mark.ci)
            for row in (
                ((120, 36), "problems", "left", (9, 0), ("list", 8, 0)),
                ((200, 60), "json", "left", (-8, 0), ("list", -8, 0)),
                ((200, 60), "json", "right", (-8, 0), ("problems", 8, 0)),
                ((200, 60), "timeline", "top", (0, 3), ("timeline", 0, -3)),
                ((200, 60), "list", "left", (8, 0), ("list", 0, 0)),
            )
        ),
    ],
)
async def test_a_border_between_two_panes_can_be_dragged(
    size: tuple[int, int], pane: str, edge: str, by: tuple[int, int], moved: tuple[str, int, int]
) -> None:
    async with composing(size=size) as (_, pilot, screen):
        frame, (name, wider, higher) = screen.query_one(f"#{pane}-pane").region, moved
        box = screen.query_one(f"#{name}-pane")
        before = box.region
        x = {"left": frame.x, "right": frame.right - 1}.get(edge, frame.x + 5)
        y = {"top": frame.y, "bottom": frame.bottom - 1}.get(edge, frame.y + 2)
        await pilot.mouse_down(offset=(x, y))
        await pilot.hover(offset=(x + by[0], y + by[1]))
        await pilot.mouse_up(offset=(x + by[0], y + by[1]))
        await drained(pilot)
        now = box.region.size
        assert (now.width - before.width, now.height - before.height) == (wider, higher)
        await pilot.hover(offset=(x, y))
        await drained(pilot)
        assert box.region.size == now, "nothing is held any more"


@pytest.mark.ci
async def test_a_share_in_mode_3_belongs_to_that_size_of_terminal() -> None:
    async with composing() as (_, pilot, screen):
        problems = screen.query_one("#problems-pane")
        before = problems.outer_size.width
        screen.set_focus(screen.query_one("#problems"))
        await pilot.press("right_curly_bracket")
        await until(pilot, lambda: problems.outer_size.width == before + 4)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: problems.outer_size.width == 50)
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: problems.outer_size.width == before + 4)


@pytest.mark.ci
async def test_zoom_gives_a_pane_of_mode_3_the_whole_body_whatever_its_share() -> None:
    async with composing(size=(200, 60)) as (_, pilot, screen):
        screen.set_focus(screen.query_one("#problems"))
        await pilot.press("right_curly_bracket", "z")
        await until(pilot, lambda: screen.query_one("#problems-pane").outer_size == screen.query_one("#run").size)


async def test_what_is_written_as_json_is_what_the_steps_show_and_the_other_way_round() -> None:
    async with composing() as (app, pilot, screen):
        await pilot.press("j", "e")
        editor = screen.area.editor
        assert editor.text[editor.index_of(editor.cursor_location) :].split()[:3] == ["{", '"id":', '"tap",']
        editor.to_index(editor.text.index("back") + 4)
        await pilot.press(*["backspace"] * 4, *"home")
        await pilot.press("escape")
        assert app.drafts.draft.steps[2]["params"] == {"key": "home"}
        assert screen.area.steps.cursor == 2
        await pilot.press("delete")
        await drained(pilot)
        assert [action["id"] for action in json.loads(editor.text)["actions"]] == ["open", "tap"]
        await pilot.press("u", "u")
        await drained(pilot)
        assert '"back"' in editor.text


@pytest.mark.ci
async def test_text_that_is_no_json_is_kept_and_the_list_says_why() -> None:
    store = MemoryStore()
    async with composing(drafts=store) as (app, pilot, screen):
        await pilot.press("tab", "home", "delete", "escape")
        await drained(pilot)
        shown = text_of(app)
        assert "The JSON has no steps: it is not JSON: " in shown
        assert "line 2, column 14" in shown
        assert not len(app.drafts.draft)
        app.dispatcher.insert("back", _nowhere())
        assert "The step was not added" in last(app)[1]
        text = screen.area.editor.text
        assert text.startswith('\n  "commandId"')
        await pilot.press("tab", "ctrl+z", "escape")
        assert types(app) == ["open_app", "click", "press_key"]
        await pilot.press("tab", "home", "delete", "escape")
    again = make_app(ActingEngine(screen=settings_screen(), checks=CHECKS_OK), drafts=store)
    async with again.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: again.drafts.draft.unreadable)
        assert again.drafts.draft.text.splitlines()[2:] == text.splitlines()[2:]


def _nowhere() -> Any:
    from clawperator.app.console.execution.subject import Subject
    from clawperator.engine.hierarchy.matcher import Matcher

    return Subject(Matcher())


@pytest.mark.ci
async def test_a_command_id_of_ones_own_stays_and_the_draft_s_own_changes_with_each_run() -> None:
    async with composing() as (app, pilot, screen):
        for _ in range(2):
            await pilot.press("tab", "end", "end", "ctrl+r")
            await drained(pilot)
            assert isinstance(app.screen, DispatchDialog)
            await pilot.press("enter")
            await answered(app, pilot)
            await pilot.press("escape", "escape")
        engine = app.bridge._engine
        assert isinstance(engine, ActingEngine)
        first, second = (payload["commandId"] for payload in engine.sent)
        assert first != second
        assert "cmd-9" not in (first, second)
        pinned = screen.area.editor.text.replace(json.loads(screen.area.editor.text)["commandId"], "mine-1")
        app.drafts.write(pinned)
        app.drafts.sent("mine-1")
        assert json.loads(app.drafts.draft.text)["commandId"] == "mine-1"


# -- problems


async def test_problems_are_marked_in_steps_text_and_list_while_typing() -> None:
    async with composing() as (app, pilot, screen):
        await pilot.press("e")
        place = screen.area.editor.text.index("open_app") + 8
        screen.area.editor.to_index(place)
        began = time.monotonic()
        await pilot.press("s")
        await until(pilot, lambda: screen.area.problems.problems)
        assert 0.14 < time.monotonic() - began < 3
        await drained(pilot)
        shown = text_of(app)
        assert "actions.0.type" in shown
        assert "Did you mean 'open_app'?" in shown
        mark = screen.area.editor._mark
        assert mark is not None
        assert screen.area.editor.text[mark.start : mark.end] == '"open_apps"'
        await pilot.press("backspace")
        await until(pilot, lambda: not screen.area.problems.problems)


async def test_all_problems_are_listed_and_each_leads_to_its_place() -> None:
    async with composing(broken()) as (app, pilot, screen):
        shown = text_of(app)
        assert "Unsupported action type: clik. Did you mean 'click'?" in shown
        assert "actions.2.params.key" in shown
        await pilot.press("tab", "tab", "]", "enter")
        editor = screen.area.editor
        assert screen.focused is editor
        here = editor.text[editor.index_of(editor.cursor_location) :]
        assert here.startswith('"enter"')
        await pilot.press("ctrl+g")
        assert editor.text[editor.index_of(editor.cursor_location) :].startswith('"clik"')


async def test_run_refuses_with_the_first_problem_and_goes_there() -> None:
    async with composing(broken()) as (app, pilot, screen):
        await pilot.press("R")
        assert last(app)[1].startswith("actions.1.type: Unsupported action type")
        assert screen.area.steps.cursor == 1
        await pilot.press("e", "ctrl+r")
        editor = screen.area.editor
        assert editor.text[editor.index_of(editor.cursor_location) :].startswith('"clik"')
        assert not isinstance(app.screen, DispatchDialog)


async def test_the_payload_is_shown_as_it_would_be_sent_with_what_differs() -> None:
    plan = json.loads(json.dumps(PLAN))
    plan["actions"][1]["type"] = "tap"
    async with composing(plan) as (app, pilot, _):
        await pilot.press("v")
        await drained(pilot)
        assert isinstance(app.screen, AsSentDialog)
        shown = text_of(app)
        assert '−       "type": "tap"' in shown or '"type": "tap",' in shown
        assert '"type": "click",' in shown
        await pilot.press("escape")


@pytest.mark.ci
async def test_a_burst_of_keys_out_of_the_editor_loses_none() -> None:
    async with composing() as (app, pilot, screen):
        await pilot.press("tab")
        for key in ("9", "escape", "j", "j"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: screen.focused is screen.area.steps)
        await drained(pilot)
        assert screen.area.editor.text.startswith("9{")
        assert screen.area.steps.empty_text.startswith("The JSON has no steps")


@pytest.mark.ci
async def test_fifty_actions_with_faults_are_read_in_time() -> None:
    actions = [{"id": f"s{number}", "type": "click" if number % 2 else "clik", "params": {"matcher": {"textEquals": "x"}}} for number in range(50)]  # fmt: skip
    async with composing({**PLAN, "actions": actions}) as (app, pilot, screen):
        await pilot.press("e")
        times = []
        for letter in "abcde":
            await pilot.press(letter)
            began = time.perf_counter()
            screen.area.editor.settle()
            times.append(time.perf_counter() - began)
            app.drafts.draft.rest()
        assert min(times) < 0.5  # a bound for any machine; tests/benchmarks has the budget


# -- the run


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_is_looked_at_by_itself_and_escape_comes_back(size: tuple[int, int]) -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, hold=asyncio.Event())
    async with composing(size=size, engine=engine) as (app, pilot, screen):
        await pilot.press("R")
        await drained(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: engine.sent and screen.area.last_run is not None)
        await drained(pilot)
        assert screen.area.view == "timeline"
        await until(pilot, lambda: "no step has started" in text_of(app))
        assert "● running" in text_of(app)
        assert engine.hold is not None
        engine.hold.set()
        await answered(app, pilot)
        await until(pilot, lambda: "success" in text_of(app))
        await until(pilot, lambda: "steps succeeded" in text_of(app))
        await pilot.press("escape")
        assert screen.focused is screen.area.steps


async def test_a_step_that_failed_makes_a_run_of_its_own_kind() -> None:
    def second_failed(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        ids = [action["id"] for action in payload["actions"]]
        steps = [(ids[0], "open_app", True, {}), (ids[1], "click", False, {"error": "NODE_NOT_CLICKABLE"}), (ids[2], "press_key", True, {})]  # fmt: skip
        return make_envelope(payload["commandId"], steps)

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=second_failed)
    async with composing(engine=engine) as (app, pilot, _):
        await pilot.press("R")
        await drained(pilot)
        await pilot.press("enter")
        await answered(app, pilot)
        await until(pilot, lambda: "NODE_NOT_CLICKABLE" in text_of(app))
        shown = text_of(app)
        assert "✗  2 click" in shown
        assert "1 step failed" in shown
        assert "R run again" in shown


@pytest.mark.ci
async def test_a_busy_device_is_reported_in_full_and_tried_again_only_when_it_is_free() -> None:
    nap = execution([step("sleep", duration_ms=4_000)], name="agent")
    async with one_device() as settings, Engine(settings) as engine, Engine(settings) as agent:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore())
        async with app.run_test(size=(120, 36)) as pilot:
            await settled(pilot)
            app.drafts.load({**PLAN, "actions": [{"id": "home", "type": "press_key", "params": {"key": "home"}}]})
            await pilot.press("3")
            await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
            await until(pilot, lambda: not app.session.lock)
            sleeping = asyncio.create_task(agent.execute(nap))
            await until(pilot, lambda: engine.lock(app.session.device_id).state == "held")
            await pilot.press("R")
            await drained(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: "Device busy" in text_of(app) and "try again, when it is free" in text_of(app))
            words = f"Device busy: {nap['commandId']} from clawperator-console, "
            assert app.session.notices[-1].text.startswith(words)
            assert "⏎ watch it" in text_of(app)
            assert "It was refused" not in text_of(app)
            assert f"pid {os.getpid()}. Nothing was sent" in app.session.notices[-1].text
            await pilot.press("r")
            await drained(pilot)
            assert not isinstance(app.screen, DispatchDialog)
            assert last(app)[1].startswith("Device busy: ")
            sleeping.cancel()
            await asyncio.gather(sleeping, return_exceptions=True)
            await until(pilot, lambda: not app.session.lock)
            await pilot.press("r")
            await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
            await pilot.press("enter")
            await until(pilot, lambda: "draft, 1 step: ok" in app.session.notices[-1].text)
            await until(pilot, lambda: "The step succeeded" in text_of(app) and " ms" in text_of(app))


def test_every_key_of_the_mode_does_something() -> None:
    for binding in keys.bindings("run"):
        assert hasattr(RunScreen(), f"action_{binding.action.partition('(')[0]}"), binding.id


async def test_nothing_to_try_again_is_no_key() -> None:
    async with composing() as (_, pilot, screen):
        assert screen.check_action("try_again", ()) is False
        assert screen.check_action("stop_waiting", ()) is False
        await pilot.press("r", "C")


# -- files


async def test_a_payload_of_the_history_becomes_the_draft_and_its_run_names_it() -> None:
    async with composing(None) as (app, pilot, screen):
        app.drafts.load(PLAN, name="cmd-9", run_of="cmd-9")
        await drained(pilot)
        assert "cmd-9" in text_of(app)
        assert app.drafts.draft.payload()["commandId"] != "cmd-9"
        await pilot.press("R")
        await drained(pilot)
        await pilot.press("enter")
        await answered(app, pilot)
        run = screen.area.last_run
        assert run is not None
        assert run.run_of == "cmd-9"


@pytest.mark.ci
async def test_the_user_s_own_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "my editor.py"
    script.write_text(
        "import sys\npath = sys.argv[-1]\ntext = open(path).read()\nopen(path, 'w').write(text.replace('back', 'home'))\n"
    )
    async with composing() as (app, pilot, _screen):
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", "")
        await pilot.press("E")
        assert "No editor is named" in last(app)[1]
        monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}'")
        await pilot.press("E")
        await until(pilot, lambda: "cannot run an editor" in last(app)[1])
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("E")
        await until(pilot, lambda: "Updated" in last(app)[1])
        assert app.drafts.draft.steps[2]["params"] == {"key": "home"}
        monkeypatch.setenv("EDITOR", "/nowhere/at/all")
        await pilot.press("E")
        await until(pilot, lambda: "The draft is unchanged" in last(app)[1])
        monkeypatch.setenv("EDITOR", "'unclosed")
        await pilot.press("E")
        assert "EDITOR cannot be read" in last(app)[1]
        await pilot.press("u")
        assert app.drafts.draft.steps[2]["params"] == {"key": "back"}


async def test_a_refusal_is_reported_at_its_stage() -> None:
    def gone(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "No envelope", extra={"broadcastDispatchStatus": "sent"})

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=gone)
    async with composing(engine=engine) as (app, pilot, _):
        await pilot.press("R")
        await drained(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "RESULT_ENVELOPE_TIMEOUT" in text_of(app))
        assert "Sent: yes" in last(app)[1]
