"""Signals at every moment of an execution, on every face: one result, a device that settles, a row, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from clawperator.engine.config.settings import Settings
from clawperator.engine.facade import Engine
from clawperator.engine.history.store import History
from tests.app.cli.test_cli_processes import INTERRUPTED_WHILE_IMPORTING
from tests.app.mcp.conftest import Place
from tests.app.mcp.test_mcp_life import wired
from tests.engine.skills.made import made_registry
from tests.support import CLI, patience, varied

from .victim import CATCHABLE, SIGNALS, Victim, victim


class Moment(NamedTuple):
    """``stop`` is where the device stops (``simulator/clock.py``); ``sent``: the command has left the host by then.

    ``arrived``: the device will have had one broadcast.
    """

    name: str
    stop: str
    sent: bool
    arrived: bool


BEFORE = (
    Moment("list of devices", "host devices*", sent=False, arrived=False),
    Moment("connecting", "host features", sent=False, arrived=False),
    Moment("probe", "service shell*pm list*", sent=False, arrived=False),
    Moment("close app", "service shell*am force-stop*", sent=False, arrived=False),
    Moment("log", "service shell*logcat*", sent=False, arrived=False),
)
AFTER = (
    Moment("shell of the broadcast", "service shell*am broadcast*", sent=True, arrived=False),
    Moment("broadcast", "broadcast", sent=True, arrived=False),
    Moment("delivered", "delivered", sent=True, arrived=True),
    Moment("before the first line", "accepted", sent=True, arrived=True),
    Moment("first step", "step 1", sent=True, arrived=True),
    Moment("second step", "step 2", sent=True, arrived=True),
    Moment("last step", "step 4", sent=True, arrived=True),
    Moment("before the result", "result", sent=True, arrived=True),
    Moment("picture", "service exec:screencap*", sent=True, arrived=True),
)
MOMENTS = {moment.name: moment for moment in (*BEFORE, *AFTER)}
MODULES = (
    "clawperator.app.cli.dispatch",
    "clawperator.engine.facade",
    "clawperator.engine.executions.backends.operator",
)
FEW = ("shell of the broadcast", "second step", "before the result", "picture")
_DIAGONAL = {
    ("probe", signal.SIGTERM),
    ("shell of the broadcast", signal.SIGKILL),
    ("broadcast", signal.SIGHUP),
    ("second step", signal.SIGKILL),
    ("picture", signal.SIGINT),
}


def cells(names: tuple[str, ...], ordinary: set[tuple[str, signal.Signals]]) -> list[Any]:
    """Every moment with every signal; those that are not ``ordinary`` for CI alone."""
    return [
        pytest.param(
            name, number, marks=[] if (name, number) in ordinary else [pytest.mark.ci], id=f"{number.name}-{name}"
        )
        for name in names
        for number in SIGNALS
    ]


async def holds_after(cut: Victim, moment: Moment, *, rows: int = 1) -> None:
    """What has to hold on every face when the process is gone."""
    await cut.nothing_runs()
    assert cut.world.commands == moment.arrived
    runs = cut.runs()
    assert len(runs) == rows
    if moment.sent:
        (run,) = runs
        assert (run.command_id, run.status, run.code) == ("cut", "interrupted", "INTERRUPTED")
        assert run.outcome is not None
        assert run.outcome["status"] == "unknown"
        await cut.settles()
    else:
        await cut.free()
    assert cut.world.commands == moment.arrived


# -- the command line


@varied(("name", "number"), cells(tuple(MOMENTS), _DIAGONAL), always=2)
async def test_command_line(tmp_path: Path, name: str, number: signal.Signals) -> None:
    moment = MOMENTS[name]
    async with victim(tmp_path, moment.stop) as cut:
        process = await cut.start(*CLI, "execute", "--execution", json.dumps(cut.plan), "--json")
        await cut.reached()
        process.send_signal(number)
        out, err = await process.communicate()
        if number in CATCHABLE:
            assert (process.returncode, err) == (130, b"")
            error = json.loads(out)
            assert (error["code"], error["broadcastDispatchStatus"]) == (
                "INTERRUPTED",
                "sent" if moment.sent else "not_sent",
            )
        else:
            assert (process.returncode, out) == (-signal.SIGKILL, b"")
        await holds_after(cut, moment, rows=int(moment.sent or number in CATCHABLE))


@pytest.mark.ci
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("module", MODULES)
async def test_command_line_while_it_starts(tmp_path: Path, module: str, number: signal.Signals) -> None:
    async with victim(tmp_path) as cut:
        words = (sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING, module, str(int(number)))
        process = await cut.start(*words, "execute", "--execution", json.dumps(cut.plan))
        out, err = await process.communicate()
        assert err == b""
        if number in CATCHABLE:
            assert (process.returncode, json.loads(out)["code"]) == (130, "INTERRUPTED")
        else:
            assert (process.returncode, out) == (-signal.SIGKILL, b"")
        await holds_after(cut, MOMENTS["probe"], rows=len(cut.runs()))


@pytest.mark.ci
@pytest.mark.parametrize("number", SIGNALS)
async def test_command_line_that_waits_for_the_device(tmp_path: Path, number: signal.Signals) -> None:
    async with victim(tmp_path, "step 2") as cut:
        first = await cut.start(*CLI, "execute", "--execution", json.dumps(cut.plan))
        await cut.reached()
        second = await cut.start(
            *CLI, "execute", "--execution", json.dumps({**cut.plan, "commandId": "w"}), "--wait", "60000"
        )
        queue = cut.locks / "emulator-5554.queue"
        async with asyncio.timeout(patience(30)):
            while not (queue.is_dir() and list(queue.iterdir())):  # noqa: ASYNC110 -- another process's ticket: nothing tells of it
                await asyncio.sleep(0.01)
        second.send_signal(number)
        await second.communicate()
        cut.world.pauses.resume()
        out, _ = await first.communicate()
        assert json.loads(out)["ok"] is True
        await cut.nothing_runs()
        await cut.free()
        assert cut.world.commands == 1


@pytest.mark.parametrize("number", [pytest.param(one, marks=pytest.mark.ci) for one in CATCHABLE] + [signal.SIGKILL])
async def test_command_line_while_its_history_is_written(tmp_path: Path, number: signal.Signals) -> None:
    async with victim(tmp_path) as cut:
        History.open(str(cut.history)).close()
        with closing(sqlite3.connect(cut.history, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            process = await cut.start(*CLI, "execute", "--execution", json.dumps(cut.plan))
            assert process.stdout is not None
            assert json.loads(await process.stdout.readline())["ok"] is True
            process.send_signal(number)
            if number == signal.SIGKILL:
                await process.wait()
            db.execute("ROLLBACK")
        await process.communicate()
        assert process.returncode == (0 if number in CATCHABLE else -signal.SIGKILL)
        await cut.nothing_runs()
        (run,) = cut.runs()
        assert run.status == ("success" if number in CATCHABLE else "interrupted")
        await cut.free()


@pytest.mark.ci
@pytest.mark.parametrize("number", SIGNALS)
async def test_command_line_whose_answer_no_one_reads(tmp_path: Path, number: signal.Signals) -> None:
    async with victim(tmp_path, faults=[{"kind": "huge_tree", "nodes": 3_000}]) as cut:
        ours, theirs = os.pipe()
        words = (*CLI, "execute", "--execution", json.dumps(cut.plan))
        process = await asyncio.create_subprocess_exec(*words, env=cut.env, stdout=theirs)
        os.close(theirs)
        assert await asyncio.to_thread(os.read, ours, 1)  # the pipe is full from now on: nothing more is read
        process.send_signal(number)
        async with asyncio.timeout(patience(30)):
            await process.wait()
        os.close(ours)
        assert process.returncode == (130 if number in CATCHABLE else -signal.SIGKILL)
        await cut.nothing_runs()
        (run,) = cut.runs()
        assert run.status == ("success" if number in CATCHABLE else "interrupted")
        await cut.free()


async def test_the_next_command_after_a_kill_waits_until_the_device_has_settled(tmp_path: Path) -> None:
    async with victim(tmp_path, "step 2") as cut:
        process = await cut.start(*CLI, "execute", "--execution", json.dumps(cut.plan))
        await cut.reached()
        process.kill()
        await process.communicate()
        cut.world.pauses.resume()
        async with Engine(Settings.resolve({}, cut.env), face="tests") as engine:
            result = await engine.execute({**cut.plan, "commandId": "next"}, wait_ms=60_000)
        assert result.succeeded
        assert cut.world.commands == 2
        assert [(run.command_id, run.status) for run in cut.runs()] == [("next", "success"), ("cut", "interrupted")]


# -- skills


@pytest.mark.parametrize(("name", "number"), cells(FEW[:3], {("second step", signal.SIGKILL)}))
async def test_skill_run(tmp_path: Path, name: str, number: signal.Signals) -> None:
    moment = MOMENTS[name]
    async with victim(tmp_path, moment.stop) as cut:
        (tmp_path / "plan.json").write_text(json.dumps(cut.plan))
        script = f"#!/bin/sh\n{' '.join(CLI)} execute --execution {tmp_path}/plan.json\n"
        registry = made_registry(tmp_path / "made", {"com.example.app.cut": {"run.sh": script}}).path
        process = await cut.start(*CLI, "skills", "run", "com.example.app.cut", "--registry", registry)
        await cut.reached()
        process.send_signal(number)
        out, _ = await process.communicate()
        if number in CATCHABLE:
            assert (process.returncode, json.loads(out)["code"]) == (130, "INTERRUPTED")
        await holds_after(cut, moment)


# -- servers


@pytest.mark.parametrize(("name", "number"), cells(FEW, {("second step", signal.SIGHUP)}))
async def test_http_server(tmp_path: Path, name: str, number: signal.Signals) -> None:
    """Signals that can be caught let the caller have its answer; the device goes on when the server has heard them."""
    moment = MOMENTS[name]
    async with victim(tmp_path, moment.stop) as cut:
        process = await cut.start(*CLI, "serve", "--port", "auto", "--json")
        assert process.stdout is not None
        assert process.stderr is not None
        url = json.loads(await process.stdout.readline())["url"]
        async with httpx.AsyncClient(base_url=url, timeout=patience(60)) as client:
            asked = asyncio.create_task(client.post("/execute", json={"execution": cut.plan}))
            await cut.reached()
            process.send_signal(number)
            if number in CATCHABLE:
                while b"Waiting for 1 execution" not in await process.stderr.readline():
                    pass
                cut.world.pauses.resume()
                assert (await asked).json()["ok"] is True
            else:
                with pytest.raises(httpx.HTTPError):
                    await asked
            await process.communicate()
        if number in CATCHABLE:
            assert process.returncode == 0
            await cut.nothing_runs()
            assert [run.status for run in cut.runs()] == ["success"]
            assert cut.world.commands == 1
            await cut.free()
        else:
            await holds_after(cut, moment)


@pytest.mark.parametrize(("name", "number"), cells(FEW[:3], {("before the result", signal.SIGKILL)}))
async def test_mcp_over_stdio(tmp_path: Path, name: str, number: signal.Signals) -> None:
    moment = MOMENTS[name]
    async with victim(tmp_path, moment.stop) as cut:
        async with wired(Place([cut.world], cut.env, tmp_path)) as wire:
            wire.call(2, "execute", execution=cut.plan)
            await cut.reached()
            wire.process.send_signal(number)
            assert await wire.ended() == (0 if number in CATCHABLE else -signal.SIGKILL)
        await holds_after(cut, moment)
