"""A server in this process or in one of its own, before simulated devices, and the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import CallToolResult

from clawperator.app.cli.commands import servers
from clawperator.app.cli.listener_options import screenshots_folder
from clawperator.app.mcp.server import create_server
from clawperator.app.mcp.service import McpService
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.support import command_line, listening, surroundings

MODES = ("auto", "legacy")
"""How the client begins: by asking, which ends at 2026-07-28 here, or with the handshake of 2025-11-25."""
COMMAND = ("-m", "clawperator.app.cli", "mcp")


@dataclass
class Place:
    """Simulated devices, and what a program needs to reach them."""

    devices: Sequence[SimulatedDevice]
    env: dict[str, str]
    folder: Path

    @property
    def serial(self) -> str:
        return self.devices[0].serial

    def talk(self, *flags: str, mode: str = MODES[0]) -> AbstractAsyncContextManager[Agent]:
        """A client of a server in this process: one of its own costs a second, most of it for imports."""
        return _talk_here(self.env, *flags, mode=mode)

    def talk_to_process(self, *flags: str, mode: str = MODES[0]) -> AbstractAsyncContextManager[Agent]:
        return talk(self.env, self.folder / "stderr", *flags, mode=mode)


@dataclass
class Agent:
    """A connected client. ``reported`` is every progress notification so far; ``errors`` is the file of the server's stderr."""

    client: Client
    errors: Path | None = None
    reported: list[tuple[float, float | None, str]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, name: str, **arguments: Any) -> CallToolResult:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            self.reported.append((progress, total, message or ""))
            self.news.set()

        return await self.client.call_tool(name, arguments, progress_callback=hear)

    async def ok(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The document of a call that has to work."""
        result = await self.call(name, **arguments)
        assert not result.is_error, result.structured_content
        return document(result)

    async def refused(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must not work."""
        result = await self.call(name, **arguments)
        assert result.is_error, result.structured_content
        answer = document(result)
        assert answer["ok"] is False
        error: dict[str, Any] = answer["error"]
        assert {"code", "message", "retryable"} <= error.keys()
        return error

    async def hears(self, words: str) -> None:
        """Return when a progress notification with ``words`` has come."""
        while not any(words in message for *_, message in self.reported):
            self.news.clear()
            await self.news.wait()


def document(result: CallToolResult) -> dict[str, Any]:
    """The structured content, which the text has to say as well."""
    answer = result.structured_content
    assert isinstance(answer, dict)
    first = result.content[0]
    assert first.type == "text"
    assert json.loads(first.text) == answer
    return answer


def plan(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"actions": list(actions), **more}


HOME: dict[str, Any] = {"id": "home", "type": "press_key", "params": {"key": "home"}}
LOOK: dict[str, Any] = {"id": "look", "type": "snapshot_ui"}


def nap(milliseconds: int) -> dict[str, Any]:
    return {"id": "nap", "type": "sleep", "params": {"durationMs": milliseconds}}


@asynccontextmanager
async def talk(env: dict[str, str], stderr: Path, *flags: str, mode: str = MODES[0]) -> AsyncIterator[Agent]:
    """A client of a server that it starts and speaks with over stdio."""
    parameters = StdioServerParameters(command=sys.executable, args=[*COMMAND, *flags], env=env)
    with stderr.open("w") as errors, plainly():
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            yield Agent(client, stderr)


@asynccontextmanager
async def _talk_here(env: dict[str, str], *flags: str, mode: str) -> AsyncIterator[Agent]:
    with surroundings(env), plainly():
        options = command_line("mcp", *flags)
        async with servers._engine(options) as engine, asyncio.TaskGroup() as serving:
            server = create_server(
                McpService(engine, screenshots_dir=screenshots_folder(options), log_line=lambda _: None)
            )

            @asynccontextmanager
            async def transport() -> AsyncIterator[Any]:
                async with create_client_server_memory_streams() as (mine, its):
                    running = serving.create_task(server.run(*its, server.create_initialization_options()))
                    yield mine
                    running.cancel()

            async with Client(transport(), mode=mode) as client:
                yield Agent(client)


@asynccontextmanager
async def calling(url: str, mode: str = MODES[0], token: str = "", **headers: str) -> AsyncIterator[Agent]:
    """A client of a server that listens."""
    given = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    with plainly():
        async with (
            create_mcp_http_client(headers=given) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield Agent(client)


@contextmanager
def plainly() -> Iterator[None]:
    """What went wrong itself, not the groups of groups that the client's tasks wrap it in."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@dataclass
class Listening:
    url: str
    process: asyncio.subprocess.Process
    errors: list[str]


Visit = Callable[..., Awaitable[Place]]
Listen = Callable[..., Awaitable[Listening]]


@pytest.fixture
async def visit(tmp_path: Path) -> AsyncIterator[Visit]:
    """Call it with the keys of a scenario to get a place with devices (``speed`` is 1 unless given)."""
    async with AsyncExitStack() as stack:

        async def make(*, devices: int = 1, **scenario: Any) -> Place:
            chosen = Scenario.model_validate({"device": {"generation": "0.5"}, **scenario})
            worlds = [create_device(chosen, index=index) for index in range(devices)]
            simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
            env = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "XDG_STATE_HOME": str(tmp_path / "state"),
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
                **simulation.env(),
            }
            return Place(worlds, env, tmp_path)

        yield make


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    """Call it with a place and flags to get a server that listens."""
    async with AsyncExitStack() as stack:

        async def make(place: Place, *flags: str) -> Listening:
            process, url, errors = await listening(stack, "mcp", "--http", "--port", "auto", *flags, env=place.env)
            return Listening(url, process, errors)

        yield make
