"""Jobs 9 and 10 of the console: to watch an agent live, and to learn which step failed and why."""

from __future__ import annotations

import pytest

from clawperator.app.console.stream.screen import StreamScreen
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.models.status import Status
from tests.app.console.support import (
    CHECKS_OK,
    NOON,
    FakeEngine,
    agent_run,
    drained,
    mixed_stream,
    settings_screen,
    until,
)
from tests.app.console.test_console_journeys import SMALL, WIDE, console, text_of


def busy_engine() -> FakeEngine:
    return FakeEngine(screen=settings_screen(), checks=CHECKS_OK)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_job_9_one_key_shows_what_the_agent_does_now(size: tuple[int, int]) -> None:
    async with console(busy_engine(), size=size) as (app, pilot, engine):
        for event in agent_run("cmd-123", NOON):
            engine.events.publish(event)
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, StreamScreen) and app.screen.alive)
        screen = app.screen
        assert isinstance(screen, StreamScreen)
        await until(pilot, lambda: screen.stream.execution is not None and "wait_for_node" in text_of(app))
        assert screen.stream.following
        assert screen.stream.execution is not None
        assert screen.stream.execution.command_id == "cmd-123"
        assert screen.stream.execution.status is Status.RUNNING
        assert "FOLLOW" in text_of(app)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_job_10_three_keys_lead_to_the_step_that_failed_its_code_and_what_to_do(size: tuple[int, int]) -> None:
    async with console(busy_engine(), size=size) as (app, pilot, engine):
        for event in mixed_stream(NOON):
            engine.events.publish(event)
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, StreamScreen) and app.screen.alive)
        screen = app.screen
        assert isinstance(screen, StreamScreen)
        await until(pilot, lambda: screen.stream.row_count() > 5)
        failing = {run.command_id for run in app.session.log.executions if run.status is Status.FAILED}
        assert failing == {"cmd-122"}
        for _ in range(screen.stream.row_count()):
            await pilot.press("right_square_bracket")
            await drained(pilot)
            if screen.stream.execution is not None and screen.stream.execution.command_id in failing:
                break
        run = screen.stream.execution
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, ExecutionDetail))
        await drained(pilot)
        shown = text_of(app)
        assert run is not None
        assert run.code == "NODE_NOT_FOUND"
        assert "NODE_NOT_FOUND" in shown
        assert " click " in shown or "tap" in shown
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is screen.stream)
        assert screen.stream.execution is run
