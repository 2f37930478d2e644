"""Every tool × capability: what a profile does not allow is refused by the engine, whichever tool asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp.shared.exceptions import MCPError

from clawperator.app.mcp.tools import TOOLS
from clawperator.engine.config.policy import CAPABILITIES
from tests.app.mcp.conftest import HOME, Listen, Visit, calling, plan

SKILL = "com.android.settings.overview"
NODE = {"textEquals": "nowhere"}
NEEDS_NOTHING = {"skills_search"}
"""Tools that show documents of the product, and nothing of a device."""


class Asked(NamedTuple):
    """A call that needs each of ``needs``."""

    tool: str
    arguments: dict[str, Any]
    needs: tuple[str, ...]


def action(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


ASKED = (
    Asked("devices", {}, ("observe",)),
    Asked("doctor", {}, ("observe",)),
    Asked("snapshot", {}, ("observe",)),
    Asked("screenshot", {"maxSide": 64}, ("observe",)),
    Asked("match", {"selector": NODE}, ("observe",)),
    Asked("suggest", {"point": {"x": 1, "y": 1}}, ("observe",)),
    Asked("wait", {"selector": NODE}, ("observe",)),
    Asked("act", action("open_app", applicationId="com.example.shop"), ("navigate",)),
    Asked("act", action("click", selector=NODE), ("click",)),
    Asked("act", action("click", selector=NODE, clickType="long_click"), ("long_click",)),
    Asked("act", action("enter_text", selector=NODE, text="a"), ("type_text",)),
    Asked("act", action("press_key", key="home"), ("input",)),
    Asked("act", action("read_text", selector=NODE), ("observe",)),
    Asked("act", action("scroll_and_click", selector=NODE), ("navigate", "click")),
    Asked("act", action("input_drag", point={"x": 1, "y": 2}, to={"x": 3, "y": 4}), ("input",)),
    Asked("act", action("input_key", key="DPAD_CENTER"), ("input", "click")),
    Asked("act", action("input_key", key="z"), ("input", "type_text")),
    Asked("act", action("input_swipe", point={"x": 1, "y": 2}, to={"x": 1, "y": 2}), ("input", "click")),
    Asked("manage", action("app_clear", applicationId="com.example.shop"), ("app",)),
    Asked("act", action("device_wake"), ("input",)),
    Asked("act", action("device_info"), ("observe",)),
    Asked("read", action("device_info"), ("observe",)),
    Asked("read", action("read_text", selector=NODE), ("observe",)),
    Asked("execute", {"execution": plan(HOME)}, ("input",)),
    Asked("execute", {"execution": plan({"id": "r", "type": "start_recording"})}, ("record",)),
    Asked(
        "execute",
        {"execution": plan({"id": "p", "type": "take_screenshot", "params": {"path": "a.png"}})},
        ("observe", "write_files"),
    ),
    Asked("skill_run", {"skillId": SKILL}, ("run_skill",)),
    Asked("skill_run", {"skillId": SKILL, "artifact": "overview"}, ("observe", "navigate")),
)
READS = tuple(
    asked for asked in ASKED if asked.needs == ("observe",) and asked.tool in ("snapshot", "screenshot", "match")
)


def policy() -> str:
    """One profile per capability that denies just that, one that may only look, and one that may do nothing."""
    tables = "".join(
        f'[profiles.no-{name}.capabilities]\nallow = {list(CAPABILITIES)}\ndeny = ["{name}"]\n' for name in CAPABILITIES
    )
    looks = '[profiles.looks.capabilities]\nallow = ["observe"]\n[profiles.nothing.capabilities]\nallow = []\n'
    return f"version = 1\n[profiles.default]\n{tables}{looks}"


def token(profile: str) -> str:
    return f"token-of-{profile}-{'x' * 20}"


async def test_every_tool_refuses_what_its_caller_may_not(visit: Visit, listen: Listen, tmp_path: Path) -> None:
    assert set(TOOLS) == {asked.tool for asked in ASKED} | NEEDS_NOTHING, "a tool without a row"
    place = await visit()
    file, tokens = tmp_path / "policy.toml", tmp_path / "tokens"
    file.write_text(policy())
    profiles = [*(f"no-{name}" for name in CAPABILITIES), "looks", "nothing"]
    tokens.write_text("".join(f"{token(name)} {name} {name}\n" for name in profiles))
    tokens.chmod(0o600)
    served = await listen(place, "--token-file", str(tokens), "--policy", str(file), "--registry", "builtin")
    for capability in CAPABILITIES:
        wanted = [asked for asked in ASKED if capability in asked.needs]
        if not wanted:
            continue
        async with calling(served.url, token=token(f"no-{capability}")) as agent:
            for asked in wanted:
                error = await agent.refused(asked.tool, **asked.arguments)
                assert (error["code"], error["details"].get("capability")) == ("CAPABILITY_DENIED", capability), asked
            if capability == "observe":
                with pytest.raises(MCPError, match="observe"):
                    await agent.client.read_resource(f"clawperator://devices/{place.serial}/tree")
    assert place.devices[0].commands == 0, "nothing of what was refused was sent"
    async with calling(served.url, token=token("looks")) as agent:
        for asked in READS:
            await agent.ok(asked.tool, **asked.arguments)
    async with calling(served.url, token=token("nothing")) as agent:
        for tool in sorted(NEEDS_NOTHING):
            await agent.ok(tool)
        assert not [each for each in (await agent.client.list_resources()).resources if "devices" in str(each.uri)]
