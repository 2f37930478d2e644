"""Mode 3 by form: steps of every type are added and changed, with selectors from the tree; new, saved and recent drafts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.draft_file import RECENT_KEPT, DraftFile, RecentDraft
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.run.draft_files import RecentDraftsDialog
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.run.step_form import StepForm
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.widgets import keys
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.text.matcher_text import matcher_text
from tests.app.console.execution.test_dispatcher import last, text_of
from tests.app.console.support import drained, until
from tests.app.console.test_run_mode import PLAN, composing, types

NEEDED = {
    "applicationId": "com.a.b",
    "uri": "geo:0,0",
    "text": "hello",
    "durationMs": "10",
    "timeoutMs": "900",
    "key": "",
    "start": "x=1 y=2",
    "end": "x=3 y=4",
    "holdDurationMs": "500",
    "moveDurationMs": "300",
    "positionMs": "1000",
}
LETTERS = {item.id: item.key for item in keys.MENUS["add_step"]}


def form_of(app: ConsoleApp) -> StepForm:
    assert isinstance(app.screen, StepForm)
    return app.screen


async def opened(app: ConsoleApp, pilot: Pilot[int], *pressed: str) -> StepForm:
    await pilot.press(*pressed)
    await until(pilot, lambda: isinstance(app.screen, StepForm) and app.screen.rows and app.screen.focused)
    return form_of(app)


def fill(form: StepForm, **values: str) -> None:
    for row in form.rows:
        if row.field.name in values:
            row.entry.value = values[row.field.name]  # type: ignore[misc]  # lines, not choices


async def test_a_choice_takes_the_problem_of_its_field_away() -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", LETTERS["press_key"])
        await pilot.press("enter")
        await until(pilot, lambda: "press_key requires params.key" in text_of(app))
        await pilot.press("right")
        await until(pilot, lambda: "press_key requires params.key" not in text_of(app))
        assert form.rows[0].value == "back"


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if number % 12 == 0 else pytest.mark.ci) for number, kind in enumerate(ACTIONS)],
)
async def test_a_step_of_every_type_is_added_by_form(kind: str) -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", LETTERS[kind])
        assert [row.field.name for row in form.rows][-1] == "id"
        one_of = ACTIONS[kind].one_of[:1]
        for row in form.rows[:-1]:
            if row.field.required or row.field.name in one_of:
                if row.field.values:
                    form.set_focus(row.entry)
                    await pilot.press("right")
                else:
                    fill(form, **{row.field.name: NEEDED.get(row.field.name, "text=Wi-Fi")})
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert types(app) == [kind]
        assert app.drafts.draft.check()[1] == ()


async def test_problems_are_shown_at_their_fields_and_nothing_is_changed() -> None:
    async with composing() as (app, pilot, screen):
        before = app.drafts.draft.generation
        form = await opened(app, pilot, "i", "w")
        fill(form, timeoutMs="0", retry="max=2")
        await pilot.press("enter")
        await until(pilot, lambda: any(row.has_class("-wrong") for row in form.rows))
        shown = text_of(app)
        assert "wait_for_node requires params.matcher" in shown
        assert "must be an integer in [1, 120000]" in shown
        assert "has an unknown key: 'max'" in shown
        assert form.focused is form.rows[0].entry
        fill(form, matcher="Wi-Fi", timeoutMs="9", retry="")
        await pilot.press("enter")
        await until(pilot, lambda: "missing field" in text_of(app))
        assert app.drafts.draft.generation == before
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert app.drafts.draft.generation == before


@pytest.mark.ci
async def test_a_problem_of_no_field_is_shown_below_them() -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", "t")
        fill(form, matcher="text=A", coordinate="x=1 y=2")
        await pilot.press("enter")
        await until(pilot, lambda: "mutually exclusive" in text_of(app))
        fill(form, matcher="")
        await pilot.press("enter")
        await until(pilot, lambda: types(app) == ["click"])
        assert app.drafts.draft.steps[0]["params"] == {"coordinate": {"x": 1, "y": 2}}


async def test_changing_a_step_keeps_what_the_form_does_not_show() -> None:
    plan = json.loads(json.dumps(PLAN))
    plan["actions"][1] = {"id": "tap", "type": "tap", "params": {"matcher": {"textEquals": "A"}, "durationMs": 5}}
    async with composing(plan) as (app, pilot, screen):
        form = await opened(app, pilot, "j", "enter")
        assert form.rows[0].value == "text=A"
        fill(form, matcher="text=B")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        changed = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "B"}, "durationMs": 5}}
        assert app.drafts.draft.steps[1] == changed
        assert screen.area.steps.cursor == 1
        await pilot.press("u")
        await until(pilot, lambda: types(app)[1] == "tap")


async def test_a_new_step_follows_the_selected_one_under_an_id_of_its_own() -> None:
    async with composing() as (app, pilot, screen):
        form = await opened(app, pilot, "i", "k")
        form.set_focus(form.rows[0].entry)
        await pilot.press("right", "enter")
        await until(pilot, lambda: types(app) == ["open_app", "press_key", "click", "press_key"])
        await until(pilot, lambda: screen.area.steps.cursor == 1)
        await opened(app, pilot, "i", "n")
        await pilot.press("enter")
        await until(pilot, lambda: len(types(app)) == 5)
        await opened(app, pilot, "i", "n")
        await pilot.press("enter")
        await until(pilot, lambda: len(types(app)) == 6)
        assert [step["id"] for step in app.drafts.draft.steps][2:4] == ["snapshot_ui", "snapshot_ui-2"]


async def test_a_step_without_a_form_is_edited_as_json() -> None:
    plan = {**PLAN, "actions": [{"id": "a", "type": "fly"}]}
    async with composing(plan) as (app, pilot, screen):
        await pilot.press("enter")
        await until(pilot, lambda: screen.focused is screen.area.editor)
        assert last(app)[1] == "This step has no form: its type is unknown. Correct it as JSON"


# -- selectors from the tree


async def test_a_selector_is_picked_in_the_tree() -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", "w", "tab", *"900")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, InspectScreen) and "p uses its selector" in last(app)[1])
        inspect = app.screen
        assert isinstance(inspect, InspectScreen)
        assert "use selector" in text_of(app)
        await pilot.press("slash", *"bluetooth", "enter")
        await until(pilot, lambda: "Bluetooth" in inspect.bench.current.fields().values())
        wanted = inspect.bench.current
        await pilot.press("p")
        await until(pilot, lambda: app.screen is form and form.rows[0].value == matcher_text(wanted))
        assert form.rows[1].value == "900", "the form waited as it was"
        await pilot.press("enter")
        await until(pilot, lambda: types(app) == ["wait_for_node"])
        assert app.drafts.draft.steps[0]["params"] == {"matcher": wanted.fields(), "timeoutMs": 900}
        await pilot.press("1")
        await until(pilot, lambda: app.screen is inspect)
        assert "use selector" not in text_of(app), "nothing waits for a selector"


@pytest.mark.ci
async def test_a_click_on_a_further_key_of_a_dialog_is_that_key() -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", "w")
        await until(pilot, lambda: '{"id"' in text_of(app))
        await drained(pilot)
        bar = form.query_one(KeyBar)
        start = next(start for start, _, key in bar._hits if key == "ctrl+o")
        await pilot.click(bar, offset=(start, 0))
        await until(pilot, lambda: isinstance(app.screen, InspectScreen))


@pytest.mark.ci
async def test_the_way_back_without_a_selector_keeps_the_form() -> None:
    async with composing(None) as (app, pilot, _):
        form = await opened(app, pilot, "i", "w")
        fill(form, matcher="text=A")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, InspectScreen))
        await pilot.press("3")
        await until(pilot, lambda: app.screen is form and last(app)[1] == "No selector was picked")
        assert form.rows[0].value == "text=A"
        assert app.drafts.pick is None


# -- new, saved and recent drafts


async def test_a_new_draft_leaves_the_old_one_among_the_recent_ones() -> None:
    async with composing() as (app, pilot, screen):
        await pilot.press("n")
        assert app.drafts.draft.empty
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, RecentDraftsDialog))
        await drained(pilot)
        assert "3 steps  open_app, click, press_key" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen and types(app) == ["open_app", "click", "press_key"])
        await pilot.press("u")
        await until(pilot, lambda: app.drafts.draft.empty)


@pytest.mark.ci
async def test_save_asks_for_a_name_once_and_save_as_again(tmp_path: Path) -> None:
    async with composing() as (app, pilot, screen):
        first, second = tmp_path / "a.json", tmp_path / "b.json"
        screen.files.path = str(first)
        await pilot.press("ctrl+s")
        await until(pilot, first.exists)
        await until(pilot, lambda: last(app)[1].startswith("Saved."))
        await pilot.press("delete", "ctrl+s")
        await until(pilot, lambda: len(json.loads(first.read_text())["actions"]) == 2)
        await pilot.press("S")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press("ctrl+u", *str(second), "enter")
        await until(pilot, second.exists)
        await until(pilot, lambda: [each.path for each in app.drafts._store.recent()][:1] == [str(second)])


def test_the_recent_drafts_are_few_and_each_is_there_once(tmp_path: Path) -> None:
    store = DraftFile(tmp_path / "draft.json")
    assert store.recent() == []
    for number in range(RECENT_KEPT + 5):
        store.keep(RecentDraft(float(number), "", text=str(number)))
    store.keep(RecentDraft(99.0, "again", text="7"))
    assert [each.text for each in store.recent()][:3] == ["7", "24", "23"]
    assert len(store.recent()) == RECENT_KEPT
    (tmp_path / "recent-drafts.json").write_text('{"not": "ours"}')
    assert store.recent() == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"actions": 3}', '{"actions": [{}]}'])
def test_a_recent_draft_without_steps_has_none(text: str) -> None:
    values: list[Any] = RecentDraft(0.0, "x", text=text).actions
    assert values == []
