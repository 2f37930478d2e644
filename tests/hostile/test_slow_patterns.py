"""A pattern that is slow over many texts costs its allowance and no more, on every face that filters the history.

The event stream of HTTP filters by device and type only, and no tool of MCP takes a filter.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from clawperator.engine.filters.pattern_budget import ALLOWANCE
from clawperator.engine.history.store import History
from tests.app.cli.conftest import Cli
from tests.app.console.support import until
from tests.app.console.test_history_screen import console, flat
from tests.app.http.conftest import Serve, serve
from tests.past_runs import a_run, put
from tests.support import patience

__all__ = ["serve"]
SLOW = "re:/" + "a?" * 12 + "z/"
MOST_SECONDS = 3 * ALLOWANCE


def slow_history(path: Path) -> None:
    with History.open(str(path)) as history:
        for number in range(1, 120):
            put(history, a_run(number, task_id="a" * 2_000))


@pytest.mark.ci
def test_the_command_line(cli: Cli, tmp_path: Path) -> None:
    slow_history(tmp_path / "state" / "clawperator" / "history.db")
    for words in (("history", "list"), ("history", "export")):
        began = time.thread_time()
        done = cli(*words, "--filter", SLOW, "--json")
        assert time.thread_time() - began < patience(MOST_SECONDS)
        assert "was stopped" in done.out + done.err, words


async def test_http(serve: Serve, tmp_path: Path) -> None:
    slow_history(tmp_path / "state" / "clawperator" / "history.db")
    served = await serve()
    began = time.process_time()
    answer = await served.client.get("/history", params={"filter": SLOW})
    assert time.process_time() - began < patience(MOST_SECONDS)
    assert answer.status_code == 400
    assert "was stopped" in answer.json()["error"]["message"]


@pytest.mark.ci
async def test_the_console(tmp_path: Path) -> None:
    slow_history(tmp_path / "history.db")
    began = time.process_time()
    async with console(tmp_path / "history.db") as (app, pilot, _):
        await pilot.press("slash")
        app.screen.focused.value = SLOW  # type: ignore[union-attr]
        await pilot.press("enter")
        await until(pilot, lambda: "was stopped" in flat(app))
    assert time.process_time() - began < patience(4 * MOST_SECONDS), "with the console itself"
