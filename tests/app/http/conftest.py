"""A server in this process or in one of its own, before simulated devices, and a real HTTP client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from clawperator.app.cli.commands import servers
from clawperator.app.cli.listener_options import listening_options
from clawperator.app.http import server
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.sdk.tree import FakeSdk
from tests.support import CLI, command_line, listening, patience, surroundings


@dataclass
class Served:
    """``env`` is what another program needs to reach the same devices; ``errors`` what the server said on stderr."""

    url: str
    client: httpx.AsyncClient
    devices: Sequence[SimulatedDevice]
    env: dict[str, str]
    errors: list[str] = field(default_factory=list)
    child: asyncio.subprocess.Process | None = None

    @property
    def serial(self) -> str:
        return self.devices[0].serial

    async def execute(self, *actions: dict[str, Any], device: str | None = None, **more: Any) -> httpx.Response:
        body: dict[str, Any] = {"execution": plan(*actions, **more)}
        return await self.client.post("/execute", json=body if device is None else {**body, "deviceId": device})

    async def devices_listed(self, count: int) -> None:
        """Return when the server's list has so many usable devices."""
        while True:
            rows = (await self.client.get("/devices")).json().get("devices", [])
            if sum(row["state"] == "device" for row in rows) == count:
                return
            await asyncio.sleep(
                0.01
            )  # the list comes when adb pushes it, and nothing tells a client but the event stream

    async def said(self, words: str) -> None:
        """Return when the server has said it."""
        async with asyncio.timeout(patience(20)):
            while not any(words in line for line in self.errors):  # noqa: ASYNC110 -- another process says it
                await asyncio.sleep(0.01)

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self.child is not None
        return self.child

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)


def plan(*actions: dict[str, Any], command: str = "cmd-1", timeout_ms: int = 10_000) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": "task",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": list(actions) or [HOME],
    }


JSON = {"Content-Type": "application/json"}
HOME = {"id": "home", "type": "press_key", "params": {"key": "home"}}


def nap(milliseconds: int) -> dict[str, Any]:
    return {"id": "nap", "type": "sleep", "params": {"durationMs": milliseconds}}


Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
def sdk(adb_env: dict[str, str], tmp_path: Path) -> Iterator[FakeSdk]:
    fake = FakeSdk(tmp_path / "world", adb_env)
    yield fake
    fake.end()


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Call it with the server's flags and the keys of a scenario (``speed`` is 1 unless given).

    The server runs in this process, unless ``process``: one of its own costs half a second, most of it for imports.
    """
    async with AsyncExitStack() as stack:

        async def make(
            *flags: str,
            devices: int = 1,
            token: str = "",
            env: dict[str, str] | None = None,
            wait: bool = True,
            process: bool = False,
            **scenario: Any,
        ) -> Served:
            chosen = Scenario.model_validate(scenario)
            worlds = [create_device(chosen, index=index) for index in range(devices)]
            simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
            whole = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "XDG_STATE_HOME": str(tmp_path / "state"),
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
                **simulation.env(),
                **(env or {}),
            }
            served = await (start if process else _start_here)(stack, worlds, whole, flags, token)
            if wait:
                await served.devices_listed(devices)
            return served

        yield make


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server for a whole file, before one device: for requests that no other test notices."""
    home = tmp_path_factory.mktemp("standing")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with ExitStack() as stack:

        def program(*words: str) -> dict[str, Any]:
            command = [*CLI, *words]
            process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            line: dict[str, Any] = json.loads(process.stdout.readline())
            return line

        env |= program("sim", "--server")["env"]
        url: str = program("serve", "--port", "auto", "--json")["url"]
        with httpx.Client(base_url=url) as client:
            while not client.get("/devices").json().get("devices"):
                pass
        yield url


@pytest.fixture
async def client(standing: str) -> AsyncIterator[httpx.AsyncClient]:
    """Of the standing server."""
    async with httpx.AsyncClient(base_url=standing, timeout=patience(30)) as client:
        yield client


async def start(
    stack: AsyncExitStack,
    worlds: Sequence[SimulatedDevice],
    env: dict[str, str],
    flags: Sequence[str],
    token: str = "",
    port: str = "auto",
) -> Served:
    process, url, errors = await listening(stack, "serve", "--port", port, *flags, env=env)
    return Served(url, await _client(stack, url, token), worlds, env, errors, process)


async def _start_here(
    stack: AsyncExitStack,
    worlds: Sequence[SimulatedDevice],
    env: dict[str, str],
    flags: Sequence[str],
    token: str = "",
) -> Served:
    stack.enter_context(surroundings(env))
    options = command_line("serve", "--port", "auto", *flags)
    listening = asyncio.get_running_loop().create_future()
    errors: list[str] = []

    async def serve() -> None:
        async with servers._engine(options, "http") as engine:
            await server.serve(
                engine, listening_options(options, 0), ready=listening.set_result, log_line=errors.append
            )

    serving = asyncio.create_task(serve())

    async def end() -> None:
        for _ in range(0 if serving.done() else 2):  # the second one: what runs is not waited for
            signal.raise_signal(signal.SIGTERM)
        await serving

    stack.push_async_callback(end)
    await asyncio.wait((serving, listening), return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    errors.extend(listening.result().warnings)
    url = listening.result().url
    return Served(url, await _client(stack, url, token), worlds, env, errors)


async def _client(stack: AsyncExitStack, url: str, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await stack.enter_async_context(
        httpx.AsyncClient(base_url=url, headers=headers, timeout=patience(30), limits=httpx.Limits(max_connections=500))
    )
