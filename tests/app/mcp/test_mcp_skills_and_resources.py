"""Skills and resources, over stdio and with the SDK's own client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.app.mcp.conftest import Visit

READ = "com.example.thermostat.read-target"


async def test_skills(visit: Visit) -> None:
    place = await visit(start={"package": "com.example.thermostat"})
    async with place.talk("--registry", "builtin") as agent:
        found = await agent.ok("skills_search", app="com.example.thermostat")
        assert {skill["id"] for skill in found["skills"]} == {
            "com.example.thermostat.read-target",
            "com.example.thermostat.set-mode",
        }
        everything = await agent.ok("skills_search", limit=2)
        assert (len(everything["skills"]), everything["truncated"]["total"]) == (2, everything["count"])
        (whole,) = (await agent.ok("skills_search", skillId=READ))["skills"]
        assert whole["inputs"] == {"target.recipe.md": [{"name": "room", "type": "string", "required": True}]}
        missing = await agent.refused("skill_run", skillId=READ, artifact="target")
        assert missing["code"] == "RECIPE_INPUT_MISSING"
        room = {"room": "Bedroom"}
        played = await agent.ok("skill_run", skillId=READ, artifact="target", variables=room, view="compact")
        assert set(played["outputs"]) == {"target"}
        assert played["executions"]
        assert all(entry["envelope"]["status"] == "success" for entry in played["executions"])
        totals = {total for _, total, _ in agent.told}
        assert len(totals) == 1  # one whole, however many executions
        agent.told.clear()
        script = {"skillId": READ, "deviceId": place.serial, "args": ["--room", "Bedroom"]}
        ran = await agent.ok("skill_run", **script)
        assert (ran["exitCode"], "Bedroom" in ran["output"]) == (0, True)
        other = await agent.refused("skill_run", **script, expectContains="no such words")
        assert other["code"] == "SKILL_OUTPUT_ASSERTION_FAILED"
        mixed = await agent.refused("skill_run", **script, variables={})
        assert (mixed["code"], mixed["details"]["path"]) == ("INVALID_PARAMETER", "variables")
        unknown = await agent.refused("skill_run", skillId="com.example.thermostat.read-targets")
        assert (unknown["code"], "read-target" in unknown["hint"]) == ("SKILL_NOT_FOUND", True)


async def test_resources(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        listed = {str(entry.uri) for entry in (await agent.client.list_resources()).resources}
        tree = f"clawperator://devices/{place.serial}/tree"
        assert {tree, "clawperator://actions", "clawperator://schema/execution"} <= listed
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert {entry.uri_template for entry in templates} == {
            "clawperator://devices/{deviceId}/tree",
            "clawperator://devices/{deviceId}/tree.xml",
            "clawperator://schema/{name}",
        }

        async def read(uri: str) -> str:
            content = (await agent.client.read_resource(uri)).contents[0]
            text: str = content.text  # type: ignore[union-attr]
            return text

        seen = await agent.ok("snapshot")
        latest = json.loads(await read(tree))
        assert (latest["digest"], latest["at"]) == (seen["digest"], seen["at"])
        assert (await read(f"{tree}.xml")).startswith("<?xml")
        actions = json.loads(await read("clawperator://actions"))
        assert actions["click"]["params"]["properties"].keys() >= {"matcher", "coordinate"}
        assert json.loads(await read("clawperator://schema/press_key"))["title"] == "press_key"
        for uri in ("clawperator://schema/exec", "clawperator://devices/x", "file:///etc/passwd", "clawperator://"):
            with pytest.raises(MCPError, match="There is no resource"):
                await read(uri)
        with pytest.raises(MCPError) as raised:
            await read("clawperator://devices/nobody-1/tree")
        data: Any = raised.value.error.data
        assert data["code"] == "DEVICE_NOT_FOUND"
