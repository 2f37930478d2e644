"""The console before a server in another process: it sees what others do there, follows, and acts itself."""

from __future__ import annotations

from functools import partial

import pytest

from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.engine.executions import build
from tests.app.console.support import drained, until
from tests.app.http.conftest import Serve, serve  # noqa: F401 -- a fixture
from tests.journeys.remote_support import (
    OPEN_SETTINGS,
    SETTINGS_SHOWN,
    SNAPSHOT,
    beside,
    console,
    header,
    notice_says,
    package,
)


async def test_what_others_do_on_a_server_is_seen_and_done_from_here(serve: Serve) -> None:  # noqa: F811
    served = await serve(process=True)
    async with console(served.url, size=(200, 60)) as pilot:
        app, session = pilot.app, pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended and not session.work)
        assert session.device_id == served.serial
        assert session.trees.shown.source == "r"
        assert not session.report.problem
        assert f"at {served.url.removeprefix('http://')}" in header(pilot)

        await beside(served, *OPEN_SETTINGS)
        await beside(served, *SETTINGS_SHOWN)
        await beside(served, *SNAPSHOT)
        await until(pilot, lambda: package(pilot) == "com.android.settings" and session.trees.shown.source == "stream")
        await until(pilot, lambda: sum(not item.ours and item.over for item in session.log.executions) >= 2)
        foreign = [item for item in session.log.executions if item.command_id.startswith("open_app")]
        assert [item.envelope["status"] for item in foreign if item.envelope] == ["success"]
        assert session.lines.end > 0, "the device's log is there, too"

        app.dispatcher.run(build.press_key("home"), "press home")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: notice_says(pilot, "press home: ok"))
        await until(pilot, lambda: package(pilot) == "com.android.launcher3")

        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and app.screen.area.page is not None)
        await until(pilot, lambda: len(app.screen.runs.runs) >= 4)
        faces = {run.face for run in app.screen.runs.runs}
        assert {"cli", "http"} <= faces
        await pilot.press("home")
        await until(pilot, lambda: app.screen.record is not None)
        await until(pilot, lambda: app.screen.tree_pane.snapshot.xml)


@pytest.mark.ci
async def test_a_screen_that_never_rests_is_followed_by_the_server(serve: Serve) -> None:  # noqa: F811
    served = await serve(process=True, start={"package": "com.example.spinner"})
    async with console(served.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended)
        await pilot.press("f")
        await until(pilot, lambda: session.trees.shown.source == "follow")
        first = session.trees.shown.serial
        await until(pilot, lambda: session.trees.shown.serial >= first + 3)
        assert session.follow.phase == "reading"
        await pilot.press("f")
        await until(pilot, lambda: session.follow is None)
        await beside(served, *SNAPSHOT)
        await until(pilot, lambda: session.trees.shown.source == "stream")


async def test_what_a_server_does_not_offer_says_so_when_its_key_is_pressed(serve: Serve) -> None:  # noqa: F811
    served = await serve(process=True)
    async with console(served.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended and not session.work)
        for mode, key, words in (
            ("7", "P", "provision emulator"),
            ("7", "o", "operator setup"),
            ("6", "F", "doctor --fix"),
        ):
            await pilot.press(mode)
            await drained(pilot)
            await pilot.press(key)
            await until(pilot, partial(notice_says, pilot, words))
