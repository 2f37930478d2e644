"""Recording: what succeeded becomes a step, followed by a wait for what it showed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.recorder import effect
from clawperator.app.console.execution.rerun import SentPayload, add_to_draft
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.app.console.stream.screen import StreamScreen
from clawperator.engine.executions.steps import execution, step
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.engine.hierarchy.selectors import Selectors, Suggestions
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.models.status import Status
from tests.app.console.execution.test_dispatcher import WIFI, ActingEngine, acting, last, not_found
from tests.app.console.support import CHECKS_OK, ROWS, settings_screen, until, view

OTHER = settings_screen((*ROWS[:2], ("Printing", "No printers", False)))


def draft(app: ConsoleApp) -> list[dict[str, Any]]:
    return [dict(each) for each in app.drafts.draft.steps]


async def confirmed(app: ConsoleApp, pilot: Pilot[int]) -> None:
    """Send what is shown, and wait for the tree after it."""
    await pilot.press("enter")
    await until(pilot, lambda: app.session.notices[-1].text.startswith("tap") and not app.session.work)


async def test_a_tap_is_followed_by_a_wait_for_what_it_showed() -> None:
    async with acting() as (app, pilot, engine):
        await pilot.press("I")
        assert last(app)[:2] == (Status.RUNNING, "Recording: each action is added to the draft. I stops")
        engine.screen = OTHER
        app.dispatcher.act("tap", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: "Recorded" in last(app)[1])
        wait = {"id": "wait", "type": "wait_for_node", "params": {"matcher": {"textEquals": "Printing"}}}
        assert draft(app) == [step("tap", matcher=WIFI.matcher), wait]
        assert last(app)[1] == 'tap TextView "Wi‑Fi": ok. Recorded as step 1; step 2 waits for text=Printing'


async def test_an_action_without_a_visible_effect_is_recorded_without_a_check_and_says_so() -> None:
    async with acting() as (app, pilot, _):
        await pilot.press("I")
        app.dispatcher.act("tap", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: "Recorded" in last(app)[1])
        assert draft(app) == [step("tap", matcher=WIFI.matcher)]
        assert last(app)[1].endswith("without a check: nothing new on screen has a stable selector")


async def test_a_failed_action_and_one_before_recording_are_not_recorded() -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.act("tap", WIFI)
        await confirmed(app, pilot)
        engine.answer = not_found
        await pilot.press("I")
        app.dispatcher.act("tap", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: last(app)[2] == "NODE_NOT_FOUND")
        assert draft(app) == []


async def test_a_verification_is_recorded_as_a_wait() -> None:
    async with acting() as (app, pilot, _):
        await pilot.press("I")
        app.dispatcher.verify(WIFI)
        await until(pilot, lambda: draft(app))
        assert draft(app) == [step("wait", matcher=WIFI.matcher)]


async def test_recording_waits_for_a_draft_with_steps() -> None:
    async with acting() as (app, pilot, _):
        app.drafts.write("{")
        await pilot.press("I")
        assert last(app)[0] is Status.WARN
        assert not app.recorder.on


async def test_another_device_or_an_incomplete_tree_is_no_effect() -> None:
    async with acting() as (app, pilot, engine):
        await pilot.press("I")
        engine.screen, engine.hold_snapshot = OTHER, asyncio.Event()
        app.dispatcher.act("tap", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: draft(app))
        shown = app.session.trees.shown
        app.recorder.settled()
        for other in (replace(shown, device_id="other", at=shown.at + 9), replace(shown, complete=False)):
            app.recorder.see(other)
        assert len(draft(app)) == 1
        engine.hold_snapshot.set()
        await until(pilot, lambda: len(draft(app)) == 2)


def form(text: str) -> str:
    field = view("EditText", "[0,0][1080,100]", text=text, resource_id="com.a:id/name", editable=True)
    return hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", field))


def test_the_effect_of_typing_is_the_text_in_its_field() -> None:
    typed = step("enter_text", matcher=Matcher(resource_id="com.a:id/name"), text="coffee")
    before = parse(form("old"))
    assert effect(typed, before, parse(form("coffee"))) == Matcher(resource_id="com.a:id/name", text_equals="coffee")
    assert effect(typed, before, parse(form("••••••"))) is None


def test_what_is_likely_to_change_is_no_effect() -> None:
    rows = (*ROWS, ("12:40", "", False))
    assert effect(step("back"), parse(settings_screen()), parse(settings_screen(rows))) is None


async def test_the_steps_of_a_run_are_added_to_the_draft_under_ids_of_their_own() -> None:
    async with acting() as (app, _, _):
        plan = execution([step("back"), step("sleep", duration_ms=10)])
        for _ in range(2):
            add_to_draft(app, SentPayload("cmd-7", "", plan))
        assert [each["id"] for each in draft(app)] == ["back", "sleep", "back-2", "sleep-2"]
        assert last(app)[1] == "2 steps of cmd-7 added, 4 in the draft. Press 3 to open it"
        app.drafts.draft.undo()
        assert len(draft(app)) == 2
        add_to_draft(app, SentPayload("cmd-8", "", None, "another program sent it"))
        assert last(app)[1] == "The payload of cmd-8 is not known: another program sent it"
        app.drafts.write("{")
        add_to_draft(app, SentPayload("cmd-7", "", plan))
        assert last(app)[1].startswith("The steps of cmd-7 were not added: it is not JSON")


@pytest.mark.parametrize(
    ("mode", "cls", "words"),
    [("2", StreamScreen, "The payload of snap-1 is not known"), ("4", HistoryScreen, "No run is selected")],
)
async def test_i_asks_for_the_run_under_the_cursor(mode: str, cls: type, words: str) -> None:
    async with acting() as (app, pilot, _):
        await pilot.press(mode)
        await until(pilot, lambda: isinstance(app.screen, cls) and app.screen.is_mounted)
        await pilot.press("i")
        await until(pilot, lambda: last(app)[1].startswith(words))


def test_thousands_of_nodes_alike_are_not_all_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[UiNode] = []
    suggest = Selectors.suggest

    def counted(selectors: Selectors, node: UiNode) -> Suggestions:
        asked.append(node)
        return suggest(selectors, node)

    monkeypatch.setattr(Selectors, "suggest", counted)
    alike = [view("TextView", "[0,0][9,9]", text="same", resource_id="a:id/t") for _ in range(2_000)]
    after = parse(hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", *alike)))
    assert effect(step("back"), parse(settings_screen()), after) is None
    assert len(asked) == 300
