"""A console that was started with --read-only: it shows and observes, and says why it does not act."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog, TextForm
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.navigation import ExecutionPlace
from clawperator.app.console.run.screen import RunScreen
from clawperator.engine import Engine
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.steps import VERBS, execution, step
from clawperator.engine.history.store import History
from tests.app.console.execution.test_dispatcher import WIFI, ActingEngine, last, text_of
from tests.app.console.support import CHECKS_OK, NOON, drained, make_app, settings_screen, settled, until
from tests.app.console.test_history_screen import console as past_runs
from tests.past_runs import a_run, put
from tests.widgets.invented_runs import started


@asynccontextmanager
async def watching() -> AsyncIterator[tuple[ConsoleApp, Pilot[int], ActingEngine]]:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine, read_only=True)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        engine.calls.clear()
        yield app, pilot, engine


OBSERVERS = [verb for verb in VERBS if VERBS[verb].type in OBSERVING]
SUBJECT = Subject(WIFI.matcher, WIFI.matcher, node_name="Wi-Fi", matches=1)


async def test_what_would_change_something_is_turned_away_before_anything_is_asked() -> None:
    async with watching() as (app, pilot, engine):
        for verb in [verb for verb in VERBS if verb not in OBSERVERS]:
            app.session.notices.clear()
            app.dispatcher.act(verb, SUBJECT)
            await drained(pilot)
            assert last(app)[1].startswith("Read-only: "), verb
            assert not isinstance(app.screen, (DispatchDialog, TextForm)), verb
            assert not engine.sent, verb


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.ci if number else []) for number, verb in enumerate(OBSERVERS)]
)
async def test_what_observes_is_not_turned_away(verb: str) -> None:
    async with watching() as (app, pilot, _):
        app.dispatcher.act(verb, SUBJECT)
        await drained(pilot)
        assert not app.session.notices or "read-only" not in last(app)[1]


async def test_acting_keys_are_dimmed_and_say_why() -> None:
    async with watching() as (app, pilot, engine):
        await pilot.press("a")
        assert "read-only" in last(app)[1].lower()
        app.dispatcher.insert("back", WIFI)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
        await drained(pilot)
        assert app.screen.active_bindings["R"].enabled is False
        await pilot.press("R")
        await drained(pilot)
        assert "--read-only" in last(app)[1]
        assert not engine.sent
        assert "--read-only" in text_of(app)


async def test_a_draft_that_acts_is_turned_away_and_one_that_observes_is_not() -> None:
    async with watching() as (app, pilot, engine):
        app.dispatcher.run(execution([step("home"), step("snapshot")]), "plan")
        assert "press_key would act on the device, and this console was started with --read-only" in last(app)[1]
        app.dispatcher.run(execution([step("snapshot")]), "plan")
        await drained(pilot)
        assert isinstance(app.screen, DispatchDialog)
        await pilot.press("enter")
        await until(pilot, lambda: engine.sent)


@pytest.mark.parametrize("mode", ["stream", "run"])
async def test_a_run_that_only_observed_may_be_run_again_and_one_that_acted_not(mode: str) -> None:
    observed, acted = execution([step("snapshot")], name="look"), execution([step("home")], name="go")
    async with watching() as (app, pilot, engine):
        for payload, free in ((acted, False), (observed, True)):
            command = str(payload["commandId"])
            engine.publish(replace(started(NOON, command, payload), source="me"))
            app.drafts.load(payload, name="draft")
            await until(pilot, lambda: app.session.log.find(command))  # noqa: B023  # awaited at once
            if mode == "stream":
                app.go_to(ExecutionPlace(command))
            else:
                app.action_mode("run")
            await drained(pilot)
            await until(pilot, lambda: app.screen.active_bindings["R"].enabled is free)  # noqa: B023  # awaited at once
            assert ("R run" in text_of(app)) or mode == "stream"
            await pilot.press("R")
            await drained(pilot)
            if free:
                await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
                await pilot.press("enter")
                await until(pilot, lambda: engine.sent)
            else:
                assert last(app)[1].startswith("Read-only: press_key would act")
                assert not engine.sent


async def test_the_engine_refuses_too() -> None:
    async with one_device() as settings, Engine(replace(settings, read_only=True)) as engine:
        with pytest.raises(EngineError) as refused:
            await engine.execute(execution([step("home")]))
        assert refused.value.code is ErrorCode.READ_ONLY
        with pytest.raises(EngineError) as refused:
            await engine.force_stop("com.android.settings")
        assert refused.value.code is ErrorCode.READ_ONLY


@pytest.mark.parametrize("free", [False, True])
async def test_a_past_run_too(tmp_path: Path, *, free: bool) -> None:
    record, trees = a_run(1, at=NOON - 60)
    payload = execution([step("snapshot")]) if free else record.payload
    with History.open(str(tmp_path / "history.db")) as history:
        put(history, (record._replace(payload=payload), trees))
    async with past_runs(tmp_path / "history.db", read_only=True) as (app, pilot, _):
        assert app.screen.active_bindings["R"].enabled is free
        await pilot.press("R")
        if free:
            await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        else:
            assert last(app)[1].startswith("Read-only: open_app would act")
            assert app.current_mode == "history"
