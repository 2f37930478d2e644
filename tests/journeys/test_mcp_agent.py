"""An agent that knows nothing but the tools: observe, decide, act, through the real adb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.app.mcp.conftest import Agent, talk
from tests.view_lines import nodes_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.journeys.conftest import Connect

pytestmark = pytest.mark.adb


async def node_that(agent: Agent, **wanted: str) -> dict[str, Any]:
    """The node of the screen that has all of these."""
    seen = await agent.ok("snapshot", view="interactive")
    for node in nodes_of(seen["view"]):
        if all(value in str(node.get(name, "")) for name, value in wanted.items()):
            found: dict[str, Any] = node
            return found
    raise AssertionError((wanted, seen["view"]))


async def test_an_agent_searches_a_shop(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(device={"generation": "0.5"})
    async with talk(bench.env, tmp_path / "stderr") as agent:
        (device,) = (await agent.ok("devices"))["devices"]
        assert device["serial"] == bench.serial
        await agent.ok("act", type="open_app", applicationId="com.example.shop")
        bar = await node_that(agent, text="Search")
        assert (await agent.ok("match", selector=bar["selector"]))["count"] == 1
        await agent.ok("act", type="click", selector=bar["selector"])
        await agent.ok("wait", selector={"role": "textfield"}, timeoutMs=5_000)
        field = await node_that(agent, role="textfield")
        go = await node_that(agent, desc="Search", role="button")
        done = await agent.ok(
            "execute",
            execution={
                "actions": [
                    {"id": "type", "type": "enter_text", "params": {"matcher": field["selector"], "text": "shoes"}},
                    {"id": "go", "type": "click", "params": {"matcher": go["selector"]}},
                    {"id": "after", "type": "snapshot_ui"},
                ]
            },
        )
        shown = done["view"]
        assert shown["package"] == "com.example.shop"
        assert "shoes" in shown["lines"].lower()
        picture = await agent.call("screenshot", maxSide=320)
        assert picture.content[1].type == "image"
