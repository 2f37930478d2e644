"""Skills and resources, over stdio and with the SDK's own client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.app.mcp.conftest import Visit
from tests.engine.skills.made import declare, made_registry, reporting, spoiled_registry
from tests.support import CLI, ran

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
        assert all(entry["outcome"]["status"] == "succeeded" for entry in played["executions"])
        totals = {total for _, total, _ in agent.reported}
        assert len(totals) == 1  # one whole, however many executions
        agent.reported.clear()
        script = {"skillId": READ, "deviceId": place.serial, "args": ["--room", "Bedroom"]}
        ran = await agent.ok("skill_run", **script, brief=False)
        assert (ran["exitCode"], "Bedroom" in ran["output"]) == (0, True)
        other = await agent.refused("skill_run", **script, expectContains="no such words")
        assert other["code"] == "SKILL_OUTPUT_ASSERTION_FAILED"
        mixed = await agent.refused("skill_run", **script, variables={})
        assert (mixed["code"], mixed["details"]["path"]) == ("INVALID_PARAMETER", "variables")
        unknown = await agent.refused("skill_run", skillId="com.example.thermostat.read-targets")
        assert (unknown["code"], "read-target" in unknown["hint"]) == ("SKILL_NOT_FOUND", True)


async def test_without_a_registry_the_built_in_skills_are_there(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        found = await agent.ok("skills_search", skillId=READ)
        assert (found["registry"], found["count"]) == ("builtin", 1)
        hints = [
            (await agent.refused("skill_run", skillId=READ, artifact="target"))["hint"],
            (await agent.refused("skill_run", skillId="x.y"))["hint"],
            (await agent.refused("skill_run", skillId=READ, artifact="target", variables={"room": []}))["message"],
        ]
        assert hints[0].startswith("Pass it with `variables`")
        assert hints[1] == "List the skills with `skills_search`."
        assert not any("--" in hint for hint in hints)


async def test_every_face_runs_a_skill_with_bad_artifacts(visit: Visit, tmp_path: Path) -> None:
    """And says what is wrong with them, and with the registry's other entries, in the same words."""
    place = await visit()
    made = spoiled_registry(tmp_path / "root")
    async with place.talk("--registry", made.path) as agent:
        found = await agent.ok("skills_search")
        run = await agent.ok("skill_run", skillId="a.b")
    assert [skill["id"] for skill in found["skills"]] == ["a.b"]
    assert [warning["path"] for warning in found["warnings"]] == ["$.skills[1]", "$.skills[2]"]
    for words, expected in ((("list",), found), (("run", "a.b"), run)):
        done = await ran(*CLI, "skills", *words, "--registry", made.path, env=place.env)
        assert (done.exit_code, done.document["warnings"]) == (0, expected["warnings"])


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

        seen = await agent.ok("snapshot", brief=False)
        latest = json.loads(await read(tree))
        assert (latest["digest"], latest["at"]) == (seen["digest"], seen["at"])
        assert (await read(f"{tree}.xml")).startswith("<?xml")
        actions = json.loads(await read("clawperator://actions"))
        assert actions["click"]["params"]["properties"].keys() >= {"matcher", "coordinate"}
        assert json.loads(await read("clawperator://schema/press_key"))["title"] == "press_key"
        for uri in ("clawperator://schema/exec", "clawperator://devices/x", "file:///etc/passwd", "clawperator://"):
            with pytest.raises(MCPError, match="Unknown resource"):
                await read(uri)
        with pytest.raises(MCPError) as raised:
            await read("clawperator://devices/absent-1/tree")
        data: Any = raised.value.error.data
        assert data["code"] == "DEVICE_NOT_FOUND"


async def test_inputs_and_a_result_of_the_skill_itself(visit: Visit, tmp_path: Path) -> None:
    place = await visit()
    scripts = {"a.b": {"run.sh": reporting("a.b")}, "a.c": {"run.sh": reporting("a.c", status="failed")}}
    made = declare(made_registry(tmp_path / "root", scripts), "a.b", contract={"inputs": {"unit_name": "string"}})
    async with place.talk("--registry", made.path) as agent:
        (shown,) = (await agent.ok("skills_search", skillId="a.b"))["skills"]
        assert [(each["name"], each["required"]) for each in shown["scriptInputs"]] == [("unit_name", True)]
        done = await agent.ok("skill_run", skillId="a.b", inputs={"unit_name": "the kitchen"}, brief=True)
        assert [point["id"] for point in done["skillResult"]["checkpoints"]] == ["opened", "read"]
        missing = await agent.refused("skill_run", skillId="a.b")
        assert (missing["code"], missing["details"]["input"]) == ("SKILL_INPUT_MISSING", "unit_name")
        failed = await agent.refused("skill_run", skillId="a.c")
        assert (failed["code"], failed["skillResult"]["status"]) == ("SKILL_EXECUTION_FAILED", "failed")
