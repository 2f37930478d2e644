"""Calls over streamable HTTP that end before their time, and a server that ends before its calls."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.app.mcp.conftest import MODES, Listen, Visit, calling, document, nap, plan
from tests.app.mcp.test_mcp_running import given_up, truth


async def test_the_end_of_the_stream_gives_a_call_up(visit: Visit, listen: Listen) -> None:
    place = await visit()
    server = await listen(place)
    async with calling(server.url) as agent:
        await given_up(agent)
        await truth(agent, place)


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.ci)])
async def test_the_end_waits_for_what_runs(visit: Visit, listen: Listen, mode: str) -> None:
    place = await visit()
    server = await listen(place)
    async with calling(server.url, mode) as agent:
        await agent.client.list_tools()  # the client asks for the schemas of answers when it has none
        running = asyncio.create_task(agent.call("execute", execution=plan(nap(1_000))))
        await agent.hears("1 of 1: sleep")
        server.process.send_signal(signal.SIGTERM)
        assert document(await running)["outcome"]["status"] == "succeeded"
    assert await server.process.wait() == 0
    assert not any("Traceback" in line for line in server.errors)
