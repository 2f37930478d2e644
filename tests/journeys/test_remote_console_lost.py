"""The console before a server that dies, that is not there yet, that requires a token: it says so, and goes on by itself."""

from __future__ import annotations

import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.engine.executions import build
from tests.app.console.support import drained, until
from tests.app.http.conftest import Serve, serve, start  # noqa: F401 -- a fixture
from tests.journeys.remote_support import (
    OPEN_SETTINGS,
    SETTINGS_SHOWN,
    SNAPSHOT,
    beside,
    console,
    header,
    package,
    port_of,
)


async def test_a_server_that_dies_is_missed_and_used_again_when_it_is_back(serve: Serve) -> None:  # noqa: F811
    served = await serve(process=True)
    async with console(served.url) as pilot, AsyncExitStack() as stack:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended)
        kept = session.trees.shown
        served.stop(signal.SIGKILL)
        await served.process.wait()
        await until(pilot, lambda: session.gone_since and session.adb_problem)
        assert session.adb_problem == f"the server at {served.url} does not respond"
        assert session.trees.shown.xml == kept.xml, "the last tree stays"
        await until(pilot, lambda: any("does not respond" in notice.text for notice in session.notices))
        await pilot.press("r")
        await until(
            pilot, lambda: session.last_problem is not None and session.last_problem.code == "BACKEND_UNAVAILABLE"
        )

        again = await start(stack, served.devices, served.env, [], port=port_of(served))
        assert again.url == served.url
        await until(pilot, lambda: not session.gone_since and not session.adb_problem)
        await until(pilot, lambda: any("is connected again" in notice.text for notice in session.notices))
        await beside(served, *OPEN_SETTINGS)
        await beside(served, *SETTINGS_SHOWN)
        await beside(served, *SNAPSHOT)
        await until(pilot, lambda: package(pilot) == "com.android.settings")


@pytest.mark.ci
async def test_a_server_that_is_not_there_yet_is_waited_for(serve: Serve) -> None:  # noqa: F811
    served = await serve(process=True)
    served.stop(signal.SIGKILL)
    await served.process.wait()
    async with console(served.url) as pilot, AsyncExitStack() as stack:
        session = pilot.app.session
        await until(pilot, lambda: session.adb_problem)
        await drained(pilot)
        assert "server" in header(pilot)
        for mode in "23567":
            await pilot.press(mode)
            await drained(pilot)
        await pilot.press("1")
        await start(stack, served.devices, served.env, [], port=port_of(served))
        await until(pilot, lambda: session.device_id == served.serial and session.trees.shown)


async def test_a_token_that_may_only_look_sees_and_is_refused(serve: Serve, tmp_path: Path) -> None:  # noqa: F811
    policy, tokens, mine = tmp_path / "policy.toml", tmp_path / "tokens", tmp_path / "mine"
    policy.write_text(
        'version = 1\nactiveProfile = "default"\n[profiles.default]\n[profiles.viewer]\nread_only = true\n',
        encoding="utf-8",
    )
    tokens.write_text(f"{'o' * 32} owner\n{'v' * 32} wall viewer\n", encoding="ascii")
    mine.write_text(f"{'v' * 32}\n", encoding="ascii")
    for path in (tokens, mine):
        os.chmod(path, 0o600)
    served = await serve("--policy", str(policy), "--token-file", str(tokens), token="v" * 32, process=True)
    async with console(served.url) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: "requires a token" in session.adb_problem)
    async with console(served.url, str(mine)) as pilot:
        session = pilot.app.session
        await until(pilot, lambda: session.trees.shown and session.report.ended and not session.work)
        pilot.app.dispatcher.run(build.press_key("home"), "press home")
        await until(pilot, lambda: isinstance(pilot.app.screen, DispatchDialog))
        await pilot.press("enter")
        await until(pilot, lambda: session.last_problem is not None and session.last_problem.code == "READ_ONLY")
        assert "The server's policy" in session.last_problem.text
