"""The stock backend through the real adb: the same executions without the Operator app."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.executions import build, composition, shell_input, verbs
from clawperator.engine.executions.backends import stock, stock_surface
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.opening import open_target
from tests.journeys.conftest import Connect
from tests.support import varied

pytestmark = pytest.mark.adb

SETTINGS = "com.android.settings"
WITHOUT_OPERATOR = {"operator": {"installed": False}}


def plan(*actions: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    steps = [{"id": f"s{at}", "type": kind, "params": params} for at, (kind, params) in enumerate(actions)]
    return build.single("stock", "snapshot_ui") | {"actions": steps}


async def test_a_plan_runs_without_the_operator_app_and_says_what_it_sent(connect: Connect) -> None:
    bench = await connect(**WITHOUT_OPERATOR)
    with pytest.raises(EngineError) as absent:
        await bench.engine.snapshot()
    assert absent.value.code == "RECEIVER_NOT_INSTALLED"
    assert "--backend stock" in absent.value.hint
    done = await bench.engine.execute(
        plan(("open_app", {"applicationId": SETTINGS}), ("snapshot_ui", {}), ("press_key", {"key": "home"})),
        backend="stock",
    )
    assert done.succeeded
    assert done.backend == "stock"
    opened, seen, pressed = (step["data"] for step in done.envelope["stepResults"])
    assert "am start" in opened["dispatched"]
    assert seen["foreground_package"] == SETTINGS
    assert seen["text"].endswith("</hierarchy>")
    assert pressed["dispatched"] == "input keyevent KEYCODE_HOME"
    assert [step["status"] for step in done.to_dict()["outcome"]["steps"]] == ["done"] * 3


async def test_a_bound_operator_is_unbound_only_with_permission_and_is_awaited(connect: Connect) -> None:
    bench = await connect()
    with pytest.raises(EngineError) as refused:
        await bench.engine.snapshot(backend="stock")
    assert refused.value.code == "UNBIND_REQUIRED"
    assert refused.value.extra["broadcastDispatchStatus"] == "not_sent"
    pressed = await bench.engine.execute(build.press_key("home"), backend="stock")
    assert pressed.succeeded, "input leaves services bound"
    done = await bench.engine.snapshot(backend="stock", allow_unbind=True)
    assert [warning["code"] for warning in done.warnings] == ["SERVICE_REBOUND"]
    assert (await bench.engine.snapshot()).backend == "operator"


@pytest.mark.parametrize("plan", [build.press_key("home"), build.click(point={"x": 540, "y": 1200})])
async def test_the_screen_after_a_plan_is_read_only_with_permission_to_unbind(connect: Connect, plan: Any) -> None:
    bench = await connect()
    with pytest.raises(EngineError) as refused:
        await bench.engine.execute(plan, backend="stock", options=RunOptions(then="none"))
    assert refused.value.code == "UNBIND_REQUIRED"
    assert refused.value.extra["broadcastDispatchStatus"] == "not_sent"
    done = await bench.engine.execute(plan, backend="stock", allow_unbind=True, options=RunOptions(then="none"))
    assert [warning["code"] for warning in done.warnings] == ["SERVICE_REBOUND"]


async def test_a_dump_of_our_own_is_no_other_program(connect: Connect) -> None:
    bench = await connect(speed=0.2)
    first = asyncio.create_task(bench.engine.snapshot(backend="stock", allow_unbind=True))
    while not bench.world.accessibility.dumping:
        assert not first.done()
        await asyncio.sleep(0.01)
    with pytest.raises(EngineError) as refused:  # its service is unbound only while the first reads
        await bench.engine.snapshot(backend="stock", wait_ms=30_000)
    assert refused.value.code == "UNBIND_REQUIRED"
    assert (await first).succeeded
    both = [bench.engine.snapshot(backend="stock", allow_unbind=True, wait_ms=30_000) for _ in range(2)]
    assert [done.succeeded for done in await asyncio.gather(*both)] == [True, True]


async def test_other_services_that_pause_are_named(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stock, "variants", lambda name: (name,))  # the simulator has no service of another maker
    bench = await connect()
    done = await bench.engine.execute(build.snapshot(), backend="stock", receiver_package="com.example.other")
    assert done.succeeded
    (warning,) = done.warnings
    assert warning["code"] == "SERVICES_PAUSED"
    assert "Clawperator Operator" in warning["message"]


SHOP = "com.example.shop"
FIELD = {"resourceId": f"{SHOP}:id/search_src_text"}


def on(package: str, screen: str = "", **more: Any) -> dict[str, Any]:
    return {**WITHOUT_OPERATOR, "start": {"package": package, "screen": screen}, **more}


@pytest.mark.parametrize("text", ["plain", "a b  c", "100%s of %d", "'\"$(reboot)`\\;&|*", "-d 1 text"])
async def test_text_replaces_the_content_and_is_read_back(connect: Connect, text: str) -> None:
    bench = await connect(**on(SHOP, "search"))
    assert (await bench.engine.execute(build.enter_text(FIELD, "what was there before"), backend="stock")).succeeded
    done = await bench.engine.execute(build.enter_text(FIELD, text), backend="stock")
    assert done.envelope["stepResults"][0]["data"] | {"dispatched": ""} == {
        "text": text,
        "submit": "false",
        "route": "input text",
        "verified": "true",
        "dispatched": "",
    }
    read = await bench.engine.execute(build.read_text(FIELD), backend="stock")
    assert read.envelope["stepResults"][0]["data"]["text"] == text


@pytest.mark.parametrize("backend", ["operator", "stock"])
async def test_a_label_takes_no_text_on_either_backend(connect: Connect, backend: str) -> None:
    bench = await connect(start={"package": SHOP})
    done = await bench.engine.execute(
        build.enter_text({"textEquals": "Deals of the day"}, "tea"), backend=backend, allow_unbind=True
    )
    assert done.to_dict()["outcome"]["error"]["code"] == "SET_TEXT_FAILED"


@pytest.mark.parametrize("sdk", [24, 30, 31, 32, 33, 36])
async def test_text_replaces_the_content_on_every_android(connect: Connect, sdk: int) -> None:
    bench = await connect(**on(SHOP, "search", device={"sdk": sdk}))
    for text in ("before", "after"):
        assert (await bench.engine.execute(build.enter_text(FIELD, text), backend="stock")).succeeded
    assert bench.world.ui.state["query"] == "after"


async def test_text_without_keys_is_refused_before_anything_is_sent(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search"))
    with pytest.raises(EngineError) as refused:
        await bench.engine.execute(
            plan(("press_key", {"key": "home"}), ("enter_text", {"matcher": FIELD, "text": "é"})), backend="stock"
        )
    assert refused.value.code == "TEXT_NOT_DELIVERED"
    assert refused.value.extra["broadcastDispatchStatus"] == "not_sent"
    assert bench.world.ui.package == SHOP


KEYBOARD = "com.android.adbkeyboard/.AdbIME"


async def test_an_input_method_types_what_keys_cannot_if_it_is_enabled_and_asked_for(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search"))
    bench.engine.settings = replace(bench.engine.settings, input_method=KEYBOARD)
    text = "שלום 🙂\n'%s' $(reboot) é"
    with pytest.raises(EngineError, match="is not enabled") as refused:
        await bench.engine.execute(build.enter_text(FIELD, text), backend="stock")
    assert (refused.value.code, refused.value.extra["broadcastDispatchStatus"]) == ("TEXT_NOT_DELIVERED", "not_sent")
    device = await bench.engine.device()
    before = (await device.shell(["settings", "get", "secure", "default_input_method"])).text
    await device.shell(["ime", "enable", KEYBOARD])
    for word, route in ((text, "input method"), ("plain", "input text")):
        done = await bench.engine.execute(build.enter_text(FIELD, word), backend="stock")
        assert done.succeeded, done.envelope
        data = done.envelope["stepResults"][0]["data"]
        assert (data["route"], data["verified"], bench.world.ui.state["query"]) == (route, "true", word)
    assert (await device.shell(["settings", "get", "secure", "default_input_method"])).text == before
    assert not (await device.shell(["ls", "/data/local/tmp"])).text


async def test_a_cancelled_plan_brings_the_keyboard_back(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search", speed=1))
    bench.engine.settings = replace(bench.engine.settings, input_method=KEYBOARD)
    device = await bench.engine.device()
    await device.shell(["ime", "enable", KEYBOARD])
    before = bench.world.settings["secure"]["default_input_method"]
    running = asyncio.create_task(bench.engine.execute(build.enter_text(FIELD, "é"), backend="stock"))
    while bench.world.settings["secure"]["default_input_method"] == before:
        assert not running.done()
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert bench.world.settings["secure"]["default_input_method"] == before


async def test_a_tap_never_uses_the_bounds_of_a_display_that_turned(connect: Connect) -> None:
    turned = {"kind": "program", "program": "uiautomator", "how": "rotate", "calls": [1]}
    bench = await connect(**on(SETTINGS, faults=[turned]))
    before = bench.world.ui.window().screen.activity
    done = await bench.engine.execute(build.click({"textEquals": "Network & internet"}), backend="stock")
    data = done.envelope["stepResults"][0]["data"]
    assert data["display_changed"] == "true"
    assert data["dispatched"].count("input tap") == 1
    assert bench.world.ui.rotation == 1
    assert bench.world.ui.window().screen.activity != before


@varied(
    ("fault", "code"),
    [
        ({"kind": "uiautomator_output", "padding_kib": 65_536}, "HIERARCHY_TOO_LARGE"),
        ({"kind": "program", "program": "input", "how": "killed"}, "GESTURE_FAILED"),
        ({"kind": "program", "program": "uiautomator", "how": "killed"}, "BACKEND_UNAVAILABLE"),
        ({"kind": "program", "program": "uiautomator", "how": "missing"}, "BACKEND_UNAVAILABLE"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_program_that_fails_ends_the_plan_and_is_not_repeated(
    connect: Connect, fault: dict[str, Any], code: str
) -> None:
    bench = await connect(**on(SETTINGS, faults=[fault]))
    done = await bench.engine.execute(build.click({"textEquals": "Network & internet"}), backend="stock")
    assert (done.envelope["status"], done.envelope["errorCode"]) == ("failed", code)
    assert done.outcome.failed_step is not None
    assert done.outcome.failed_step.code == code
    if code == "GESTURE_FAILED":
        assert done.outcome.error is not None
        assert "may have acted" in done.outcome.error["hint"]


async def test_input_that_the_maker_blocks_is_explained(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, faults=[{"kind": "program", "program": "input", "how": "blocked"}]))
    for done in (
        await bench.engine.execute(build.click({"textEquals": "Battery"}), backend="stock"),
        await bench.engine.execute(shell_input.gesture("tap", (500, 500)), backend="stock"),
    ):
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == "GESTURE_FAILED"
        assert "SecurityException: Injecting input events" in done.outcome.error["message"]
        assert "USB debugging (Security settings)" in done.outcome.error["hint"]


@pytest.mark.parametrize("sdk", [26, 28, 34])
async def test_another_holder_of_ui_automation_is_named_before_anything_is_sent(connect: Connect, sdk: int) -> None:
    bench = await connect(**on(SETTINGS, device={"sdk": sdk}, faults=[{"kind": "ui_automation_held"}]))
    with pytest.raises(EngineError) as refused:
        await bench.engine.execute(plan(("press_key", {"key": "home"}), ("snapshot_ui", {})), backend="stock")
    assert (refused.value.code, refused.value.extra["broadcastDispatchStatus"]) == ("BACKEND_UNAVAILABLE", "not_sent")
    assert "doctor --backend stock" in refused.value.hint
    assert bench.world.ui.package == SETTINGS
    checks = {check.id: check async for check in bench.engine.doctor(backend="stock").checks()}
    assert checks["stock.uiautomation"].summary.startswith("UiAutomation is held by app_process")


async def test_android_6_is_refused_before_an_app_is_closed(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, device={"sdk": 23}))
    closing = plan(("close_app", {"applicationId": SETTINGS}), ("press_key", {"key": "back"}))
    with pytest.raises(EngineError, match="needs Android 7") as refused:
        await bench.engine.execute(closing, backend="stock")
    assert (refused.value.code, refused.value.extra["broadcastDispatchStatus"]) == ("BACKEND_UNAVAILABLE", "not_sent")
    assert bench.world.ui.package == SETTINGS


async def test_an_app_with_two_launcher_entries_opens_the_first(connect: Connect) -> None:
    bench = await connect(**WITHOUT_OPERATOR, faults=[{"kind": "two_launchers", "package": SHOP}])
    assert (await bench.engine.execute(build.open_app(SHOP), backend="stock")).succeeded
    assert bench.world.ui.package == SHOP
    once = plan(("open_app", {"applicationId": "com.example.absent", "retry": {"maxAttempts": 1}}))
    assert (await bench.engine.execute(once, backend="stock")).envelope["errorCode"] == "APP_NOT_FOUND"


@pytest.mark.parametrize("generation", ["0.5", "1.0"])
async def test_an_app_with_a_television_s_entry_only(connect: Connect, generation: str) -> None:
    faults = [{"kind": "leanback_only", "package": SHOP}]
    bench = await connect(device={"generation": generation}, faults=faults)
    once = plan(("open_app", {"applicationId": SHOP, "retry": {"maxAttempts": 1}}))
    error = (await bench.engine.execute(once)).outcome.error
    assert error is not None
    assert "--backend stock" in error["hint"], "Android gives the Operator app no such entry"
    assert (await bench.engine.execute(build.open_app(SHOP), backend="stock")).succeeded
    assert bench.world.ui.package == SHOP


@pytest.mark.parametrize("backend", ["operator", "stock"])
async def test_an_app_without_any_entry_is_not_called_absent(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    bench = await connect()
    shop = bench.world.ui.apps[SHOP]
    monkeypatch.setitem(bench.world.ui.apps, SHOP, replace(shop, launchable=False))
    once = plan(("open_app", {"applicationId": SHOP, "retry": {"maxAttempts": 1}}))
    error = (await bench.engine.execute(once, backend=backend)).outcome.error
    assert error is not None
    assert error["code"] == "APP_NOT_FOUND"
    assert error["hint"].startswith(f"{SHOP} is installed, but has no launcher entry")


@pytest.mark.parametrize("backend", ["operator", "stock"])
@pytest.mark.parametrize(
    ("asked", "nearest"), [("Thermostat", 1), ("Sync", 1), ("com.example.termostat", 3), ("org.nothing.like.it", 0)]
)
async def test_an_app_that_is_not_there_may_be_another(
    connect: Connect, backend: str, asked: str, nearest: int
) -> None:
    bench = await connect()
    once = plan(("open_app", {"applicationId": asked, "retry": {"maxAttempts": 1}}))
    error = (await bench.engine.execute(once, backend=backend)).outcome.error
    assert error is not None
    assert error["code"] == "APP_NOT_FOUND"
    assert len(error.get("details", {}).get("nearest", ())) == nearest
    meant = "spinner" if asked == "Sync" else "thermostat"
    assert (f"Did you mean 'com.example.{meant}'?" in error["hint"]) == (nearest > 0)


@pytest.mark.parametrize("sdk", [23, 24])
async def test_names_of_apps_are_known_from_android_7_on(connect: Connect, sdk: int) -> None:
    bench = await connect(device={"sdk": sdk})
    opening = bench.engine.execute(open_target("Shop"))
    if sdk > 23:
        assert (await opening).outcome.status == "succeeded"
        return
    with pytest.raises(EngineError) as caught:
        await opening
    assert caught.value.message.endswith("its launcher entries cannot be listed: Android before 7.0 does not list them")
    assert caught.value.hint == "Use an application id: `clawperator packages list` lists them."


@pytest.mark.parametrize("sdk", [24, 28, 29, 36])
async def test_the_app_in_front_is_known_on_every_android(connect: Connect, sdk: int) -> None:
    bench = await connect(**WITHOUT_OPERATOR, device={"sdk": sdk})
    done = await bench.engine.execute(
        plan(
            ("open_app", {"applicationId": SETTINGS}),
            ("press_key", {"key": "home"}),
            ("wait_for_navigation", {"expectedPackage": "com.android.launcher3", "timeoutMs": 100}),
        ),
        backend="stock",
    )
    assert (
        done.envelope["stepResults"][2]["data"].get("last_package", "com.android.launcher3") == "com.android.launcher3"
    )


async def test_the_longest_text_arrives(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search"))
    text = ("0123456789 'quoted' %s " * 30)[:512]
    assert (await bench.engine.execute(build.enter_text(FIELD, text), backend="stock")).succeeded
    assert bench.world.ui.state["query"] == text


SLOW_KEYS = {"latency_ms": {"key": 4, "uiautomator": 50, "input": 5}, "speed": 1}


@pytest.mark.parametrize("sdk", [30, pytest.param(34, marks=pytest.mark.ci)])
async def test_no_key_arrives_after_the_time_limit_and_its_words_count_them(connect: Connect, sdk: int) -> None:
    bench = await connect(**on(SHOP, "search", device={"sdk": sdk}, **SLOW_KEYS))
    text = "0123456789" * 50
    done = await bench.engine.execute(build.enter_text(FIELD, text), backend="stock", timeout_ms=1_000)
    arrived = bench.world.ui.state["query"]
    error = done.outcome.error
    assert error is not None
    assert error["code"] == "EXECUTION_TIMEOUT"
    assert 0 < len(arrived) < len(text)
    assert f"; {len(arrived)} of {len(text)} characters were typed, and no more will follow" in error["message"]
    assert text[:20] not in str(error)
    await asyncio.sleep(0.3)  # keys that were on their way would arrive now
    assert bench.world.ui.state["query"] == arrived
    done = await bench.engine.execute(build.enter_text(FIELD, text), backend="stock")
    assert done.succeeded, "the default limit fits the length"
    assert bench.world.ui.state["query"] == text


async def test_no_key_of_input_arrives_after_its_time_limit(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search", **SLOW_KEYS))
    assert (await bench.engine.execute(build.click(FIELD), backend="stock")).succeeded
    done = await bench.engine.execute(shell_input.text("0123456789" * 60), timeout_ms=1_000)
    arrived = bench.world.ui.state["query"]
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "EXECUTION_TIMEOUT"
    assert f"when {len(arrived)} of 600 characters were typed; no more will follow" in done.outcome.error["message"]
    await asyncio.sleep(0.3)
    assert bench.world.ui.state["query"] == arrived
    with pytest.raises(EngineError, match="does not fit the time limit of 1000 ms; nothing was sent"):
        await bench.engine.execute(
            shell_input.gesture("drag", (5, 500), to=(5, 900), duration_ms=5_000), timeout_ms=1_000
        )


async def test_a_key_that_is_on_its_way_arrives_before_the_answer(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, device={"sdk": 30}, speed=1, latency_ms={"input": 700}))
    late = plan(("sleep", {"durationMs": 600}), ("press_key", {"key": "home"})) | {"timeoutMs": 1_000}
    done = await bench.engine.execute(late, backend="stock")
    assert done.envelope["errorCode"] == "EXECUTION_TIMEOUT"
    assert bench.world.ui.package != SETTINGS


async def test_a_text_is_read_back_once_more_if_that_dump_dies(connect: Connect) -> None:
    died = {"kind": "program", "program": "uiautomator", "how": "killed", "calls": [3]}
    bench = await connect(**on(SHOP, "search", faults=[died]))
    done = await bench.engine.execute(build.enter_text(FIELD, "tea"), backend="stock")
    assert done.succeeded
    assert done.envelope["stepResults"][0]["data"]["verified"] == "true"
    assert bench.world.program_calls["uiautomator"] == 4


async def test_a_cancelled_plan_ends_with_its_piece_of_keys(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "search", **SLOW_KEYS))
    running = asyncio.create_task(bench.engine.execute(build.enter_text(FIELD, "0123456789" * 50), backend="stock"))
    while not bench.world.ui.state["query"]:
        assert not running.done()
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    arrived = bench.world.ui.state["query"]
    await asyncio.sleep(0.3)
    assert bench.world.ui.state["query"] == arrived


@pytest.mark.parametrize("turned", [False, True])
async def test_a_point_outside_the_screen_is_refused(connect: Connect, *, turned: bool) -> None:
    bench = await connect(**on(SETTINGS))
    if turned:
        bench.world.ui.turn()
    width, height = bench.world.ui.display
    for x, y in ((width, 5), (5, height), (100_000, 100_000)):
        done = await bench.engine.execute(build.click(point={"x": x, "y": y}), backend="stock")
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == "EXECUTION_VALIDATION_FAILED"
        assert f"{x},{y} is outside the screen of {width}x{height} pixels" in done.outcome.error["message"]
    assert bench.world.program_calls["input"] == 0
    last = build.click(point={"x": width - 1, "y": height - 1})
    assert (await bench.engine.execute(last, backend="stock")).succeeded


async def test_warnings_before_the_xml_are_ignored(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, faults=[{"kind": "uiautomator_output"}]))
    done = await bench.engine.snapshot(backend="stock")
    assert done.envelope["stepResults"][0]["data"]["text"].startswith("<?xml")


async def test_typing_that_breaks_off_is_no_success(connect: Connect) -> None:
    killed = {"kind": "program", "program": "input", "how": "killed", "calls": [4]}
    bench = await connect(**on(SHOP, "search", faults=[killed]))
    done = await bench.engine.execute(build.enter_text(FIELD, "a%sb"), backend="stock")
    assert (done.envelope["status"], done.envelope["errorCode"]) == ("failed", "TEXT_NOT_DELIVERED")


async def test_a_device_that_reboots_in_the_middle_leaves_an_unknown_outcome(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, faults=[{"kind": "program", "program": "input", "how": "reboot"}]))
    with pytest.raises(EngineError) as lost:
        await bench.engine.execute(
            plan(("press_key", {"key": "home"}), ("press_key", {"key": "back"})), backend="stock"
        )
    assert lost.value.extra["broadcastDispatchStatus"] == "sent"
    assert lost.value.extra["outcome"]["status"] == "unknown"
    assert [step["status"] for step in lost.value.extra["outcome"]["steps"]] == ["unknown", "unknown"]


async def test_a_device_s_profile_chooses_unless_the_caller_does(connect: Connect) -> None:
    bench = await connect(**WITHOUT_OPERATOR)
    profiles = {"lab": DeviceProfile(bench.serial, backend="stock")}
    bench.engine.settings = replace(bench.engine.settings, devices=profiles)
    assert (await bench.engine.execute(build.press_key("home"))).backend == "stock"
    with pytest.raises(EngineError, match="not installed"):
        await bench.engine.execute(build.press_key("home"), backend="operator")


async def test_policy_forbids_the_stock_backend(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(**WITHOUT_OPERATOR)
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\n[profiles.default.capabilities]\ndeny = ["stock_backend"]\n')
    bench.engine.settings = replace(bench.engine.settings, policy_path=str(policy))
    with pytest.raises(EngineError) as refused:
        await bench.engine.snapshot(backend="stock")
    assert (refused.value.code, refused.value.details["capability"]) == ("CAPABILITY_DENIED", "stock_backend")


async def test_a_screen_that_never_rests_is_named_and_not_dumped_again(connect: Connect) -> None:
    bench = await connect(**on("com.example.spinner"))
    done = await bench.engine.snapshot(backend="stock")
    assert done.envelope["errorCode"] == "UI_NOT_IDLE"
    assert done.outcome.steps[0].retries == 0
    assert done.outcome.error is not None
    assert "Pass --compressed" in done.outcome.error["hint"]
    assert (await bench.engine.snapshot(backend="stock", compressed=True)).succeeded


async def test_a_verb_shares_one_shell_and_awaits_the_operator_once(connect: Connect) -> None:
    bench = await connect(start={"package": SHOP, "screen": "search"})
    texts: list[str] = []
    bench.engine.server.trace.listener = lambda call: texts.append(call.text)
    done = await bench.engine.execute(verbs.set_text(FIELD, "desk"), backend="stock", allow_unbind=True)
    assert done.facts == {"changed": True, "text": "desk"}
    assert [warning["code"] for warning in done.warnings] == ["SERVICE_REBOUND"]
    assert texts.count("exec sh") == 2, "it began and it ended"


async def test_steps_name_the_nodes_that_they_took(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS))
    done = await bench.engine.execute(
        plan(
            ("read_text", {"matcher": {"textEquals": "Battery"}}),
            ("scroll", {"direction": "down"}),
            ("click", {"matcher": {"resourceId": "android:id/title"}}),
        ),
        backend="stock",
    )
    read, scrolled, clicked = (step.target for step in done.outcome.steps)
    assert read is not None
    assert scrolled is not None
    assert clicked is not None
    assert (read["text"], read["matched"], len(read["bounds"])) == ("Battery", 1, 4)
    assert "matched" not in scrolled, "it has no selector"
    x, y = ((clicked["bounds"][at] + clicked["bounds"][at + 2]) // 2 for at in (0, 1))
    assert done.envelope["stepResults"][2]["data"]["dispatched"] == f"input tap {x} {y}"
    assert clicked["matched"] > 1
    (warning,) = done.warnings
    assert (warning["code"], warning["path"]) == ("MATCHER_AMBIGUOUS", "actions.2.params.matcher")


async def test_a_selector_without_a_match_is_explained_by_the_dump_of_its_step(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS))
    missing = {"matcher": {"textEquals": "batery"}, "retry": {"maxAttempts": 1}}
    done = await bench.engine.execute(plan(("click", missing)), backend="stock")
    assert done.outcome.error is not None
    details = done.outcome.error["details"]
    assert (details["matches"], details["tree"]["current"]) == (0, True)
    assert details["nearest"]
    assert "match --selector" not in done.outcome.error["hint"]


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        (("click", {"matcher": {"textEquals": "Network & internet"}}), True),
        (("read_text", {"matcher": {"textEquals": "Battery"}}), False),
        (("press_key", {"key": "home"}), None),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
async def test_then_compares_with_the_tree_that_the_plan_itself_read(
    connect: Connect, action: tuple[str, dict[str, Any]], changed: bool | None
) -> None:
    bench = await connect(**on(SETTINGS))
    dumps: list[str] = []
    bench.engine.server.trace.listener = lambda call: dumps.extend(["dump"] * call.text.count("uiautomator dump"))
    done = await bench.engine.execute(plan(action), backend="stock", options=RunOptions(then="compact"))
    assert done.then is not None
    assert done.then["changed"] is changed
    assert len(dumps) <= 3 * 2, "the plan's and two of the settled screen, each as it begins and ends"


async def test_a_tree_read_after_something_was_sent_is_no_tree_of_before(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS))
    steps = plan(("press_key", {"key": "home"}), ("snapshot_ui", {}))
    done = await bench.engine.execute(steps, backend="stock", options=RunOptions(then="compact"))
    assert done.then is not None
    assert done.then["changed"] is None
    typed = await bench.engine.execute(
        verbs.set_checked({"textEquals": "no such switch"}, checked=True),
        backend="stock",
        options=RunOptions(then="none"),
    )
    assert typed.then is not None
    assert typed.then["changed"] is False


async def test_a_plan_that_times_out_or_is_cancelled_ends_its_dump_on_the_device(connect: Connect) -> None:
    bench = await connect(**on("com.example.spinner", speed=1))
    done = await bench.engine.execute({**build.snapshot(), "timeoutMs": 2_000}, backend="stock")
    assert "timed out" in done.envelope["error"]
    assert not bench.world.accessibility.dumping
    running = asyncio.create_task(bench.engine.snapshot(backend="stock"))
    while not bench.world.accessibility.dumping:
        assert not running.done()
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert not bench.world.accessibility.dumping
    left = await (await bench.engine.device()).script("ls /data/local/tmp")
    assert "clawperator" not in left.text


@pytest.mark.parametrize("kind", ["wait_for_node", "wait_for_navigation"])
async def test_a_wait_on_a_moving_screen_ends_in_time(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(stock_surface, "_FIRST_DUMP_SECONDS", 0.1)
    bench = await connect(**on("com.example.spinner", speed=1))
    missing = {"textEquals": "not there"}
    params = {"matcher": missing} if kind == "wait_for_node" else {"expectedNode": missing}
    began = time.monotonic()
    done = await bench.engine.execute(plan((kind, {**params, "timeoutMs": 700})), backend="stock")
    assert 0.7 < time.monotonic() - began < 8, "a dump of that screen takes ten seconds"
    assert done.outcome.status in ("failed", "partial")
    if kind == "wait_for_node":
        assert done.envelope["errorCode"] == "UI_NOT_IDLE", "nothing was read, so nothing is known of the node"
    assert not bench.world.accessibility.dumping


@pytest.mark.parametrize("make", [verbs.wait_gone, verbs.wait_text_changes], ids=["gone", "text"])
async def test_a_composed_wait_on_a_moving_screen_ends_in_time(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr(composition, "FIRST_LOOK_MS", 100)
    bench = await connect(**on("com.example.spinner", speed=1))
    began = time.monotonic()
    done = await bench.engine.execute(make({"textEquals": "Cancel"}, wait_ms=700), backend="stock")
    assert time.monotonic() - began < 8, "a dump of that screen takes ten seconds"
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "UI_NOT_IDLE"
    assert not bench.world.accessibility.dumping


async def test_a_wait_for_an_app_leaves_the_operator_bound(connect: Connect) -> None:
    bench = await connect()
    await bench.engine.execute(build.open_app(SETTINGS))
    there = await bench.engine.execute(verbs.wait_app(SETTINGS), backend="stock")
    assert (there.facts, there.warnings) == ({"app": SETTINGS}, ())
    with pytest.raises(EngineError) as refused:
        await bench.engine.execute(verbs.wait_app(SETTINGS), backend="stock", options=RunOptions(then="compact"))
    assert refused.value.code == "UNBIND_REQUIRED", "the view after it reads the screen"


@pytest.mark.parametrize("sdk", [28, 34])
async def test_a_wait_for_an_app_needs_no_tree(connect: Connect, sdk: int) -> None:
    bench = await connect(**on("com.example.spinner", device={"sdk": sdk}))
    there = await bench.engine.execute(verbs.wait_app("com.example.spinner"), backend="stock")
    assert there.facts == {"app": "com.example.spinner"}
    elsewhere = await bench.engine.execute(verbs.wait_app(SHOP, wait_ms=50), backend="stock")
    assert (elsewhere.envelope["errorCode"], elsewhere.outcome.status) == ("VERIFY_FAILED", "failed")
    assert elsewhere.envelope["error"] == f"{SHOP} is not in front after 50 ms; com.example.spinner is"


@pytest.mark.parametrize("sdk", [28, 34])
async def test_what_the_window_manager_reports_is_that_of_the_main_display(connect: Connect, sdk: int) -> None:
    second = [{"kind": "unseen", "what": "other_display"}]
    bench = await connect(**on(SHOP, device={"sdk": sdk}, faults=second))
    assert (await bench.engine.execute(verbs.wait_app(SHOP, wait_ms=1_000), backend="stock")).succeeded
    seen = await bench.engine.snapshot(backend="stock", options=RunOptions(verify=True))
    assert seen.envelope["stepResults"][0]["data"]["verified"]["focus"] == SHOP
    info = await bench.engine.device_admin().info("width", "height", "app")
    assert (info["width"], info["height"], info["app"]) == (1_080, 2_340, SHOP)
    tap = await bench.engine.execute(shell_input.gesture("tap", (500, 2_000)), backend="stock")
    assert tap.envelope["stepResults"][0]["data"]["dispatched"] == "input tap 500 2000"
    with pytest.raises(EngineError, match="outside the screen of 1080x2340"):
        await bench.engine.execute(shell_input.gesture("tap", (1_500, 500)), backend="stock")


async def test_a_wait_outlasts_a_moving_screen(connect: Connect) -> None:
    bench = await connect(**on("com.example.spinner"))
    dumps: list[str] = []

    def leave(call: Any) -> None:
        dumps.extend(["dump"] * call.text.count("uiautomator dump"))
        if len(dumps) > 2:
            bench.world.ui.go_home()

    bench.engine.server.trace.listener = leave
    done = await bench.engine.execute(verbs.wait_gone({"textEquals": "Cancel"}, wait_ms=60_000), backend="stock")
    assert done.facts == {"gone": True}
    assert len(dumps) > 2


@pytest.mark.parametrize(("turns", "looks"), [([1], 2), ([], 3)], ids=["once", "always"])
async def test_a_gesture_at_a_node_never_uses_the_bounds_of_a_display_that_turned(
    connect: Connect, turns: list[int], looks: int
) -> None:
    turned = {"kind": "program", "program": "uiautomator", "how": "rotate", "calls": turns}
    bench = await connect(**on(SETTINGS, faults=[turned]))
    before = bench.world.ui.window().screen.activity
    done = await bench.engine.execute(
        shell_input.gesture("tap", matcher={"textEquals": "Network & internet"}), backend="stock"
    )
    assert done.outcome.steps[0].retries == looks - 1
    assert done.succeeded is (looks == 2)
    assert (bench.world.ui.window().screen.activity == before) is (looks == 3)
    if not done.succeeded:
        assert done.envelope["errorCode"] == "GESTURE_FAILED"


async def test_a_screenshot_lies_between_two_trees_that_are_compared(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(**on(SETTINGS))
    options = RunOptions(then="full")
    done = await bench.engine.screenshot(path=str(tmp_path / "screen.png"), backend="stock", options=options)
    assert done.then is not None
    assert (done.then["changed"], done.then["settled"]) == (False, True)


async def test_a_tree_of_twenty_mebibytes_is_read_and_of_a_larger_one_the_size_is_told(connect: Connect) -> None:
    bench = await connect(**on(SETTINGS, faults=[{"kind": "uiautomator_output", "padding_kib": 20_480}]))
    done = await bench.engine.execute(build.click({"textEquals": "Network & internet"}), backend="stock")
    assert done.succeeded
    bench = await connect(**on(SETTINGS, faults=[{"kind": "uiautomator_output", "padding_kib": 65_536}]))
    done = await bench.engine.snapshot(backend="stock")
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "HIERARCHY_TOO_LARGE"
    assert re.search(r"The UI tree has 67,\d{3},\d{3} bytes", done.outcome.error["message"])
