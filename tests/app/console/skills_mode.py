"""Mode 5 for tests: opened on invented skills, driven by keys, read as text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual import events

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.skills.form import SkillForm
from clawperator.app.console.skills.screen import SkillsScreen
from clawperator.widgets.skill_list import SkillList
from tests.app.console.fake_skills import FakeLibrary
from tests.app.console.support import FakeEngine, drained, make_app, settings_screen, until

SIZES = pytest.mark.parametrize(
    "size", [pytest.param((80, 24), id="80x24", marks=pytest.mark.ci), pytest.param((120, 36), id="120x36")]
)


@asynccontextmanager
async def skills_mode(
    library: FakeLibrary | None = None, *, size: tuple[int, int] = (120, 36), **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Any, FakeEngine]]:
    engine = FakeEngine(screen=settings_screen())
    app = make_app(engine, skills=library or FakeLibrary(), **more)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.session.device_id)
        await press(pilot, "5")
        await until(pilot, lambda: app.session.skills.known and isinstance(app.screen, SkillsScreen))
        await until(pilot, lambda: app.session.skills.card is not None or not app.session.skills.skills)
        yield app, pilot, engine


async def press(pilot: Any, *keys: str) -> None:
    """These keys one after the other, and what follows from each. The pilot's own way takes its time."""
    for key in keys:
        character = " " if key == "space" else key if len(key) == 1 else None
        pilot.app.post_message(events.Key("space" if key == " " else key, character))
        for _ in range(3):  # app → screen → pane → what it asks for
            await drained(pilot)


def shown(app: ConsoleApp) -> str:
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def list_of(app: ConsoleApp) -> SkillList:
    return app.screen.query_one("#list", SkillList)


async def to_skill(app: ConsoleApp, pilot: Any, skill_id: str) -> None:
    list_of(app).to_skill(skill_id)
    screen = app.screen
    assert isinstance(screen, SkillsScreen)
    screen.show_detail()
    await until(pilot, lambda: app.session.skills.card is not None and app.session.skills.card.skill_id == skill_id)
    await drained(pilot)


async def form_of(app: ConsoleApp, pilot: Any) -> SkillForm:
    await until(pilot, lambda: isinstance(app.screen, SkillForm))
    form = app.screen
    assert isinstance(form, SkillForm)
    await until(pilot, lambda: form._known)
    await drained(pilot)
    return form


def notice(app: ConsoleApp) -> str:
    return app.session.last_notice.text if app.session.last_notice is not None else ""
