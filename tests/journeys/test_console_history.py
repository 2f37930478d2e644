"""What runs on a device while the console is open is in its history, moment by moment, and can be run again from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.engine import Engine
from tests.app.console.support import FakeClipboard, MemoryStore, drained, until

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]


def a_plan(command: str, text: str) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": "look-around",
        "source": "an-agent",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [
            {"id": "before", "type": "snapshot_ui"},
            {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
            {
                "id": "wait",
                "type": "wait_for_node",
                "params": {"matcher": {"textEquals": text}, "retry": {"maxAttempts": 2}},
            },
            {"id": "after", "type": "snapshot_ui"},
        ],
    }


async def test_a_run_of_another_program_is_seen_gone_through_and_repeated(connect: Connect) -> None:
    bench = await connect()
    agent = Engine(replace(bench.engine.settings), face="cli")
    async with agent, Engine(replace(bench.engine.settings), face="console") as engine:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
        async with app.run_test(size=(200, 60)) as pilot:
            await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
            await pilot.press("4")
            await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and app.screen.area.page is not None)
            screen = app.screen
            assert isinstance(screen, HistoryScreen)

            await agent.execute(a_plan("look-1", "Network & internet"))
            await until(pilot, lambda: any(run.command_id == "look-1" for run in screen.runs.runs))
            await pilot.press("home")
            await until(pilot, lambda: screen.record is not None and screen.record.summary.command_id == "look-1")
            record = screen.record
            assert record is not None
            assert (record.summary.face, record.summary.origin, record.summary.status) == ("cli", "made", "success")
            assert [moment.what for moment in screen.scrubber.moments].count("tree") == 2
            steps = {moment.step for moment in screen.scrubber.moments if moment.what == "step"}
            assert steps == {0, 1, 2, 3}
            await until(pilot, lambda: screen.tree_pane.snapshot.at == record.trees[-1].at)

            await pilot.press("R")
            await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
            await pilot.press("enter")
            await until(
                pilot,
                lambda: any(
                    item.task_id == "look-around" and item.ours and item.over for item in app.session.log.executions
                ),
            )
            await pilot.press("4")
            await until(
                pilot, lambda: screen.runs.runs[0].face == "console" and screen.runs.runs[0].task_id == "look-around"
            )
            await pilot.press("home")
            await until(pilot, lambda: screen.record is not None and screen.record.summary.face == "console")
            await pilot.press("c")
            await until(pilot, lambda: screen.compared.a is not None)
            assert screen.compared.a is not None
            assert screen.compared.a.command_id == "look-1"
            await drained(pilot)
