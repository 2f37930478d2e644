"""Looking and acting, over stdio or in memory, with the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from clawperator.app.mcp.answers import DEFAULT_BYTES
from clawperator.engine.text.guide import MCP_GUIDE
from tests.app.mcp.conftest import HOME, LOOK, MODES, Visit, document, nap, plan
from tests.view_lines import nodes_of

TOOLS = {
    "devices", "snapshot", "screenshot", "act", "read", "manage", "execute", "wait", "match", "suggest", "skills_search", "skill_run", "doctor",
}  # fmt: skip
ACTING = {"act", "manage", "execute", "skill_run"}


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.ci)])
async def test_what_is_offered(visit: Visit, mode: str) -> None:
    place = await visit()
    async with place.talk_to_process(mode=mode) as agent:
        assert agent.client.instructions == MCP_GUIDE
        tools = (await agent.client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            hints = tool.annotations
            assert hints is not None
            assert hints.read_only_hint is (tool.name not in ACTING)
            destructive = None if hints.read_only_hint else tool.name != "act"
            assert hints.destructive_hint is destructive, "meaningless for read-only tools"
            assert tool.description
            assert tool.input_schema["type"] == "object"
            assert tool.output_schema is not None
        (device,) = (await agent.ok("devices"))["devices"]
        assert {key: device[key] for key in ("serial", "state", "model")} == {
            "serial": place.serial,
            "state": "device",
            "model": "Pixel_7",
        }


async def test_a_tree_of_before_an_action_is_not_the_screen(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        home = await agent.ok("snapshot", brief=False)
        await agent.ok("act", type="open_app", applicationId="com.android.settings")
        inside = await agent.ok("snapshot", maxAgeMs=3_600_000, brief=False)
        assert inside["at"] > home["at"], "it is read again, however young the other one is"
        await agent.ok("act", type="read_text", selector={"textEquals": "Display"})
        again = await agent.ok("snapshot", maxAgeMs=3_600_000, brief=False)
        assert again["at"] == inside["at"], "reading changes nothing"
        then = (await agent.ok("act", type="press_key", key="home", then="none"))["then"]
        uri = f"clawperator://devices/{place.serial}/tree"
        seen = json.loads((await agent.client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]
        assert seen["tree"] == then["tree"], "the screen after an action is known if it was asked for"


async def test_observing(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        seen = await agent.ok("snapshot", view="interactive", brief=False)
        assert (seen["deviceId"], seen["changed"], seen["view"]["view"]) == (place.serial, True, "interactive")
        settings = next(node for node in nodes_of(seen["view"]) if "Settings" in (node.get("text"), node.get("desc")))
        same = await agent.ok("snapshot", ifChanged=seen["digest"], brief=False)
        assert (same["changed"], "view" in same) == (False, False)
        recent = await agent.ok("snapshot", view="full", maxAgeMs=3_600_000, maxBytes=200_000, brief=False)
        assert recent["at"] == same["at"]  # nobody looked again
        assert recent["view"]["text"].startswith("<?xml")
        small = await agent.ok("snapshot", maxBytes=1_024, view="full")
        assert len(json.dumps(small["view"], separators=(",", ":"))) <= 1_024
        assert small["view"]["truncated"]["total"] > small["view"]["truncated"]["shown"]
        assert "maxBytes" in small["view"]["truncated"]["hint"]

        found = await agent.ok("match", selector=settings["selector"])
        assert found["count"] == 1
        assert found["matches"][0]["text" if "text" in settings else "contentDesc"] == "Settings"
        nothing = await agent.ok("match", selector={"textEquals": "not there"})
        assert (nothing["count"], "verdict" in nothing["explain"]) == (0, True)
        x, y = settings["at"]
        for way in (
            {"point": {"x": x, "y": y}},
            {"node": found["matches"][0]["path"]},
            {"selector": settings["selector"]},
        ):
            assert (await agent.ok("suggest", **way))["candidates"][0]["unique"] is True

        taken = await agent.call("screenshot", maxSide=200)
        facts, image = document(taken), taken.content[1]
        assert image.type == "image"
        with Image.open(io.BytesIO(base64.b64decode(image.data))) as picture:
            assert picture.size == (facts["width"], facts["height"])
            assert max(picture.size) == 200
        assert facts["screen"] == [1080, 2340]
        await agent.ok("snapshot", waitMs=1.0, maxBytes=2_000.0, maxAgeMs=0.0, brief=True)
        absent = await agent.refused("screenshot", display=7)
        assert (absent["code"], absent["details"]["displays"]) == ("EXECUTION_VALIDATION_FAILED", [0])
        assert "--" not in absent["hint"]
        assert "clawperator" not in absent["hint"]
        assert (await agent.refused("screenshot", display=7, annotate=True))["code"] == "INVALID_PARAMETER"
        assert round(facts["width"] * facts["scale"]) == 1080

        healthy = await agent.ok("doctor")
        assert healthy["ready"] is True, healthy["summary"]
        assert healthy["summary"].startswith("Ready")
        assert {check["id"] for check in healthy["checks"]} >= {"host.adb.presence", "device.discovery"}
        assert any("device.discovery: pass" in message for *_, message in agent.reported)


async def test_acting(visit: Visit) -> None:
    place = await visit(speed=0.05)  # what is not there is looked for again and again
    async with place.talk_to_process() as agent:
        opened = await agent.ok("act", type="open_app", applicationId="com.android.settings", brief=False)
        assert opened["envelope"]["stepResults"][0]["actionType"] == "open_app"
        assert (opened["terminalSource"], opened["deviceId"]) == ("clawperator_result", place.serial)
        page = await agent.ok("wait", selector={"textEquals": "Display"}, timeoutMs=5_000)
        assert page["outcome"]["status"] == "succeeded"
        read = await agent.ok("act", type="read_text", selector={"textEquals": "Display"}, brief=False)
        assert read["envelope"]["stepResults"][0]["data"]["text"] == "Display"

        done = await agent.ok("execute", execution=plan(HOME, nap(10), LOOK, taskId="mine"), brief=False)
        steps = done["envelope"]["stepResults"]
        assert [step["id"] for step in steps] == ["home", "nap", "look"]
        assert done["envelope"]["taskId"] == "mine"
        assert "text" not in steps[2]["data"]  # a view stands in the dump's place
        assert steps[2]["data"]["view"]["package"] == "com.android.launcher3"

        checked = await agent.ok("execute", execution=plan(HOME, commandId="c"), validateOnly=True)
        assert checked["execution"]["expectedFormat"] == "android-ui-automator"
        missing = await agent.call("act", type="click", selector={"textEquals": "not there"}, brief=False)
        answer = document(missing)
        assert (missing.is_error, answer["ok"], answer["envelope"]["status"]) == (True, False, "failed")
        assert answer["failure"]["code"] == answer["envelope"]["errorCode"] == "NODE_NOT_FOUND"
        assert "snapshot" in answer["failure"]["hint"]
        assert answer["failure"]["details"]["tree"][
            "current"
        ]  # the host has looked, as the selector must find one node
        assert "clawperator" not in answer["outcome"]["error"]["hint"]
        assert answer["failure"]["retryable"] is False


async def test_a_compiled_artifact_is_executed_whole(visit: Visit) -> None:
    place = await visit()
    usual = {"taskId": "t", "source": "tests", "expectedFormat": "android-ui-automator", "timeoutMs": 10_000}
    plans = [{**usual, "commandId": f"part-{index}", **plan(HOME, LOOK)} for index in range(3)]
    async with place.talk() as agent:
        checked = await agent.ok("execute", execution={"executions": plans}, validateOnly=True)
        assert len(checked["executions"]) == 3
        done = await agent.ok("execute", execution={"executions": plans}, brief=False)
        assert [each["envelope"]["commandId"] for each in done["executions"]] == ["part-0", "part-1", "part-2"]
        assert "view" in done["executions"][2]["envelope"]["stepResults"][1]["data"]
        refused = await agent.refused("execute", execution={"executions": []})
        assert (refused["code"], refused["details"]["path"]) == ("EXECUTION_VALIDATION_FAILED", "executions")


async def test_several_devices(visit: Visit) -> None:
    place = await visit(devices=2)
    async with place.talk() as agent:
        unsure = await agent.refused("snapshot")
        assert unsure["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
        for device in place.devices:
            assert (await agent.ok("snapshot", deviceId=device.serial))["deviceId"] == device.serial
        absent = await agent.refused("act", type="press_key", key="home", deviceId="absent-1")
        assert absent["code"] == "DEVICE_NOT_FOUND"


async def test_verbs_look_act_and_verify(visit: Visit) -> None:
    place = await visit()
    place.devices[0].ui.show("com.android.settings", "display")
    async with place.talk() as agent:
        dark = {"type": "set_checked", "selector": {"textEquals": "Dark theme"}, "checked": True, "brief": True}
        assert (await agent.ok("act", **dark))["result"] == {"changed": True, "checked": True}
        assert (await agent.ok("act", **dark))["result"] == {"changed": False, "checked": True}
        gone = await agent.ok("wait", selector={"textEquals": "Internet"}, until="gone")
        assert gone["result"] == {"gone": True}
        await agent.ok("act", type="input_key", key="BACK")
        failed = await agent.call("act", type="submit")
        assert (failed.is_error, document(failed)["failure"]["code"]) == (True, "NODE_NOT_FOUND")
        place.devices[0].ui.show("com.example.shop", "results", "desk")
        words = {"container": {"resourceId": "com.example.shop:id/results_list"}, "fields": {"title": "product_title"}}
        rows = (await agent.ok("act", type="read_rows", **words))["result"]["rows"]
        assert rows[0] == {"title": "Desk lamp"}
        for arguments in ({"type": "input_key", "key": "NOPE"}, {"type": "input_tap", "point": {"x": 9_999, "y": 1}}):
            assert (await agent.refused("act", **arguments))["code"] == "EXECUTION_VALIDATION_FAILED"
        assert (await agent.refused("act", type="input_text", text="☕"))["code"] == "TEXT_NOT_DELIVERED"
        place.devices[0].ui.show("com.android.settings")
        up = {
            "type": "input_swipe",
            "point": {"x": 540, "y": 1800},
            "to": {"x": 540, "y": 900},
            "then": "none",
            "brief": True,
        }
        swiped = await agent.ok("act", **up)
        assert swiped["result"]["sent"] == "input swipe 540 1800 540 900 300"
        assert swiped["then"]["changed"] is True
        for tool in ("read", "act", "action"):
            assert (await agent.ok(tool, type="device_info"))["app"] == "com.android.settings"
        assert (await agent.ok("read", type="wait_app", applicationId="com.android.settings"))[
            "deviceId"
        ] == place.serial
        for tool, arguments, path in (
            ("act", {"type": "device_wake", "then": "none"}, "then"),
            ("manage", {"type": "app_clear"}, "applicationId"),
            ("act", {"type": "app_clear", "applicationId": "com.example.shop"}, "type"),
            ("read", {"type": "click", "selector": {"textEquals": "x"}}, "type"),
        ):
            refused = await agent.refused(tool, **arguments)
            assert (refused["code"], refused["details"]["path"]) == ("INVALID_PARAMETER", path)


async def test_the_screen_after_an_action_and_references_to_it(visit: Visit) -> None:
    here = await visit(speed=0)
    async with here.talk() as agent:
        opened = await agent.ok(
            "act", type="open_app", applicationId="com.android.settings", then="interactive", brief=True
        )
        assert opened.keys() == {"ok", "outcome", "then", "deviceId"}
        shown = opened["then"]
        assert len(json.dumps(shown, separators=(",", ":"))) <= DEFAULT_BYTES
        row = next(node for node in nodes_of(shown) if node["role"] == "listitem" and node.get("click"))
        ref = {"ref": f"{row['ref']}@{shown['tree']}"}
        assert (await agent.ok("match", selector=ref))["selector"] == row["selector"]
        assert (await agent.ok("suggest", selector=ref))["node"]["role"] == "listitem"
        same = await agent.ok("snapshot", ifChanged=shown["tree"], brief=True)
        assert same == {"ok": True, "deviceId": here.serial, "unchanged": True, "tree": shown["tree"]}
        inner = await agent.ok("act", type="click", selector=ref, then="compact", brief=True)
        assert inner["then"]["changed"] is True
        assert (await agent.refused("act", type="click", selector=ref))["code"] == "REF_STALE"
        assert (await agent.refused("act", type="click", selector={"ref": "e1"}))["code"]
        seen = await agent.ok("snapshot", view="compact", brief=True)
        assert seen["view"]["tree"] == inner["then"]["tree"]
        read = await agent.ok("act", type="read_text", selector={"textEquals": "Airplane mode"}, brief=True)
        assert read["outcome"]["steps"][0]["data"] == {"text": "Airplane mode"}
        failed = await agent.call("wait", selector={"textEquals": "absent"}, brief=True)
        answer = failed.structured_content
        assert isinstance(answer, dict)
        assert answer["failure"]["code"] == "NODE_NOT_FOUND"
        assert "error" not in answer["outcome"], "nothing is said twice"


async def test_one_plan_on_many_devices(visit: Visit) -> None:
    place = await visit(devices=2, faults=[{"kind": "broadcast_failure", "command_id": "fails"}])
    serials = {device.serial for device in place.devices}
    async with place.talk() as agent:
        done = await agent.ok("execute", execution=plan(HOME), devices="all", brief=True)
        assert {row["deviceId"] for row in done["rows"]} == serials
        assert done["summary"]["succeeded"] == 2
        assert [(at, total) for at, total, _ in agent.reported] == [(1.0, 2.0), (2.0, 2.0)]
        failed = await agent.call("execute", execution=plan(HOME) | {"commandId": "fails"}, devices="all")
        assert failed.is_error
        assert {row["error"]["code"] for row in document(failed)["rows"]} == {"RECEIVER_NOT_INSTALLED"}
        both = await agent.refused("execute", execution=plan(HOME), devices="all", deviceId=place.serial)
        assert (both["code"], both["details"]["path"]) == ("INVALID_PARAMETER", "devices")
        assert (await agent.refused("execute", execution=plan(HOME), devices="tag:x"))["code"] == "DEVICE_TAG_UNKNOWN"
        wrong = await agent.refused("execute", execution={"executions": []}, devices="all")
        assert wrong["code"] == "EXECUTION_VALIDATION_FAILED"


async def test_the_stock_backend_needs_no_app_and_may_not_unbind_one(visit: Visit) -> None:
    bare = await visit(speed=0, operator={"installed": False})
    async with bare.talk() as agent:
        seen = await agent.ok("snapshot", backend="stock")
        assert seen["view"]["package"] == "com.android.launcher3"
        verified = await agent.ok("snapshot", backend="stock", verify=True, maxAgeMs=60_000)
        assert verified["view"]["tree"] == seen["view"]["tree"]
        done = await agent.ok("act", type="press_key", key="home", backend="stock", then="none")
        assert done["then"]["settled"] is True
        assert "stock" in (await agent.refused("snapshot"))["hint"]
    bound = await visit()
    async with bound.talk() as agent:
        assert (await agent.refused("snapshot", backend="stock"))["code"] == "UNBIND_REQUIRED"


async def test_a_service_that_a_dump_has_suspended_is_worth_a_retry(visit: Visit) -> None:
    place = await visit(latency_ms={"rebind": 600_000})
    accessibility = place.devices[0].accessibility
    async with place.talk() as agent:

        async def refused() -> list[dict[str, Any]]:
            acting = await agent.call("act", type="click", selector={"textEquals": "Settings"})
            setting = await agent.call("act", type="set_checked", selector={"textEquals": "x"}, checked=True)
            looking = await agent.refused("snapshot")
            answers = map(document, (acting, setting))
            return [*(answer.get("failure") or answer["error"] for answer in answers), looking]

        with accessibility.ui_automation():
            during = await refused()
        after = await refused()
        for errors, wait_ms in ((during, 3_000), (after, 1_000)):
            for error in errors:
                assert (error["code"], error["retryable"]) == ("SERVICE_UNAVAILABLE", True)
                assert error["details"]["retryAfterMs"] == wait_ms
                assert f"Retry after {wait_ms} ms" in error["hint"]
        accessibility.disable(accessibility.listed[0])
        looking = await agent.refused("snapshot")
        assert (looking["code"], looking["retryable"]) == ("SERVICE_UNAVAILABLE", False)


async def test_a_short_id_of_a_view_means_the_whole_one(visit: Visit) -> None:
    place = await visit(speed=0)
    async with place.talk() as agent:
        opened = await agent.ok("act", type="open_app", applicationId="com.example.shop", then="compact")
        assert "id=search_bar" in opened["then"]["lines"]
        assert (await agent.ok("match", selector={"resourceId": "search_bar"}))["count"] == 1
        clicked = await agent.ok("act", type="click", selector={"resourceId": "search_bar"}, then="none")
        assert clicked["resolvedIds"] == {"search_bar": "com.example.shop:id/search_bar"}
        matcher = {"resourceId": "search_src_text"}
        actions = [{"id": "t", "type": "enter_text", "params": {"matcher": matcher, "text": "tea"}}]
        typed = await agent.ok("execute", execution={"actions": actions})
        assert typed["resolvedIds"] == {"search_src_text": "com.example.shop:id/search_src_text"}
        none = await agent.ok("match", selector={"resourceId": "no_such"})
        assert (none["count"], "resolvedIds" in none) == (0, False)


async def test_a_short_id_that_the_last_view_has_not_is_looked_for_on_the_screen(visit: Visit) -> None:
    place = await visit(speed=0)
    async with place.talk() as agent:
        assert "id=search_bar" not in str(await agent.ok("snapshot"))
        place.devices[0].ui.show("com.example.shop", "main")
        read = await agent.ok("act", type="read_text", selector={"resourceId": "search_bar"}, brief=False)
        assert read["resolvedIds"] == {"search_bar": "com.example.shop:id/search_bar"}


async def test_apps_are_found_and_opened_by_what_they_are_called(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        (found,) = (await agent.ok("devices", apps="settings"))["apps"]
        assert (found["applicationId"], found["label"], found["derivedName"]) == (
            "com.android.settings",
            None,
            "Settings",
        )
        assert len((await agent.ok("devices", apps="", deviceId=place.serial))["apps"]) > 4
        assert (await agent.refused("devices", deviceId=place.serial))["details"]["path"] == "deviceId"
        opened = await agent.ok("act", type="open_app", applicationId="Settings", then="compact")
        assert opened["result"]["applicationId"] == "com.android.settings"
        assert "com.android.settings" in json.dumps(opened["then"])
        unknown = document(await agent.call("act", type="open_app", applicationId="Play Store"))
        assert (unknown["ok"], unknown["failure"]["code"]) == (False, "APP_NOT_FOUND")
        assert "`devices` with `apps`" in unknown["failure"]["hint"]
