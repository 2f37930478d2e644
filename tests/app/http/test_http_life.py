"""The life of a server: its start, its end with work in flight, its violent end, and others beside it."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from tests.app.cli.conftest import Cli, cli, lonely, warm_runtime
from tests.app.http.conftest import Serve, nap, plan, start
from tests.app.http.sse import stream
from tests.app.http.test_http_contract import error_of
from tests.support import CLI, ran

__all__ = ["cli", "lonely", "warm_runtime"]


async def in_flight(client: httpx.AsyncClient) -> None:
    """Return when an execution holds the device."""
    while not (await client.get("/locks")).json()["locks"]:
        pass


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.ci) for number in (signal.SIGINT, signal.SIGHUP))],
)
async def test_the_end_waits_for_what_runs(serve: Serve, number: signal.Signals) -> None:
    served = await serve(process=True)
    async with stream(served.client) as events:
        await events.next("heartbeat")
        running = asyncio.create_task(served.execute(nap(1_500), command="last"))
        await in_flight(served.client)
        served.stop(number)
        last = await events.next("clawperator:dropped")
        assert last.data["reason"] == "the server stops"
        assert (await running).json()["envelope"]["status"] == "success"
    assert await served.process.wait() == 0
    assert any("1 execution" in line for line in served.errors)


async def test_a_second_signal_does_not_wait(serve: Serve) -> None:
    served = await serve(process=True)
    running = asyncio.create_task(served.execute(nap(9_000), command="long"))
    await in_flight(served.client)
    served.stop()
    await served.said("1 execution")
    served.stop()
    status, code = error_of(await running)
    assert (status, code) == (500, "INTERRUPTED")
    assert await served.process.wait() == 0


async def test_killed_in_the_middle_it_starts_again(serve: Serve) -> None:
    served = await serve(process=True)
    running = asyncio.create_task(served.execute(nap(3_000), command="cut"))
    while (await served.client.get("/history/cut")).status_code != 200:
        pass  # it is written down when it has left for the device
    served.stop(signal.SIGKILL)
    with pytest.raises(httpx.HTTPError):
        await running
    await served.process.wait()
    async with AsyncExitStack() as stack:
        again = await start(stack, served.devices, served.env, ())
        await again.devices_listed(1)
        cut = (await again.client.get("/history/cut")).json()["run"]
        assert (cut["status"], cut["outcome"]["status"]) == ("interrupted", "unknown")
        body = {"execution": plan(nap(1), command="next"), "waitMs": 20_000}  # the device settles first
        assert (await again.client.post("/execute", json=body)).json()["envelope"]["status"] == "success"


async def test_two_servers_and_a_command_line_share_a_device(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = await serve(process=True)
    refused = asyncio.Event()
    clock = served.devices[0].clock
    sleep = clock.sleep

    async def nap_until_refused(seconds: float) -> None:
        await (refused.wait() if seconds == 7.0 else sleep(seconds))

    monkeypatch.setattr(clock, "sleep", nap_until_refused)
    async with AsyncExitStack() as stack:
        other = await start(stack, served.devices, served.env, ())
        await other.devices_listed(1)
        running = asyncio.create_task(served.execute(nap(7_000), command="first", timeout_ms=100_000))
        await in_flight(other.client)
        assert error_of(await other.execute(command="second")) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
        line = await ran(*CLI, "back", "--json", env=served.env)
        assert (line.exit_code, line.document["code"]) == (1, "EXECUTION_CONFLICT_IN_FLIGHT")
        refused.set()
        assert (await running).json()["ok"] is True
    commands = [run["commandId"] for run in (await served.client.get("/history?filter=status:success")).json()["runs"]]
    assert commands == ["first"]


async def test_a_caller_that_leaves_changes_nothing(serve: Serve) -> None:
    served = await serve(process=True)
    with pytest.raises(httpx.ReadTimeout):
        await served.client.post(
            "/execute",
            json={"execution": {"commandId": "left", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator",
                                "timeoutMs": 10_000, "actions": [nap(1_000)]}},
            timeout=0.3,
        )  # fmt: skip
    async with stream(served.client, type="execution") as events:
        assert (await events.next("clawperator:execution")).data["input"]["commandId"] == "left"
    assert (await served.client.get("/history/left")).json()["run"]["status"] == "success"


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--port", "70000"), "USAGE", "Invalid port number. Must be 1-65535."),
        (("--port", "x"), "USAGE", "Invalid port number. Must be 1-65535."),
        (("--port", "0"), "USAGE", "Invalid port number. Must be 1-65535."),
        (("--host", "203.0.113.7"), "ADDRESS_UNAVAILABLE", "Cannot listen on 203.0.113.7"),
        (("--no-auth", "--token-file", "x", "--host", "0.0.0.0"), "USAGE", "cannot be combined"),
        (("--token-file", "/proc/version"), "TOKEN_FILE_INVALID", "/proc/version"),
    ],
)
def test_what_cannot_start_says_why(cli: Cli, flags: tuple[str, ...], code: str, words: str, tmp_path: Path) -> None:
    done = cli("serve", *flags)
    answer = json.loads(done.out)
    assert done.exit_code == 1
    assert answer["code"] == code
    assert answer["hint"]
    assert words in answer["message"]
    assert not (tmp_path / ".clawperator").exists(), "no token for a server that there is not"
