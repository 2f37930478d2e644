"""What a device's own commands see: input, activities, packages, services, dumps and pictures."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from clawperator.engine.contracts.operator_identity import AGENT_ACTION
from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.packages import install
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.dumpsys import dumpsys
from clawperator.engine.simulator.render import render_png
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.uiautomator import dump_hierarchy, uiautomator_dump
from tests.engine.operator.apks import apk

Make = Callable[..., SimulatedDevice]
Operate = Callable[..., Awaitable[dict[str, Any]]]
Send = Callable[..., Awaitable[list[dict[str, Any]]]]

PACKAGE = "com.clawperator.operator"
SHOP = "com.example.shop"
PING: tuple[str, dict[str, Any]] = ("doctor_ping", {})


def centre_of(device: SimulatedDevice, text: str) -> tuple[int, int]:
    nodes = device.ui.window().nodes
    return next(node.seen.center for node in nodes if text in (node.view.text, node.view.desc))


# --- identity


def test_devices_of_one_simulation_differ() -> None:
    devices = [create_device(index=index) for index in range(3)]
    assert [device.serial for device in devices] == ["emulator-5554", "emulator-5556", "emulator-5558"]
    assert devices[0].props["ro.build.version.sdk"] == "34"
    assert devices[0].props["ro.boot.qemu.avd_name"] == devices[0].avd_name == "Pixel_7_API_34"


@pytest.mark.parametrize(
    ("generation", "scenario", "version"),
    [("0.3", {}, "0.3.1"), ("0.5", {}, "0.5.0"), ("0.3", {"device": {"generation": "0.5"}}, "0.5.0")],
)
def test_generations_have_their_versions(make: Make, generation: str, scenario: dict[str, Any], version: str) -> None:
    text = dumpsys(make(generation=generation, **scenario), "package", [PACKAGE])
    assert f"    versionName={version}\n" in text


# --- fingers and keys


async def test_the_stock_way_through_the_shop(make: Make) -> None:
    device = make(start=SHOP)
    device.input.tap(*centre_of(device, "Search products"))
    device.input.type_text("lost")  # no field has the focus yet
    device.input.tap(*centre_of(device, "What are you looking for?"))
    device.input.type_text("desk%sx")
    device.input.key("KEYCODE_DEL")
    device.input.key(67)
    device.input.key("ENTER")
    assert "2 results" in dump_hierarchy(device)
    device.input.key(4)
    assert device.ui.window().component == f"{SHOP}/.MainActivity"
    device.input.key("HOME")
    device.input.key("NO_SUCH_KEY")
    device.input.key("9" * 30)
    assert device.ui.package == "com.android.launcher3"


async def test_a_swipe_drags_and_one_in_place_taps_or_holds(make: Make) -> None:
    device = make(start="com.example.feed")
    before = dump_hierarchy(device)
    await device.input.swipe(500, 1500, 500, 700, 100)
    assert dump_hierarchy(device) != before
    device = make(start="com.example.thermostat")
    x, y = centre_of(device, "AC tile")
    await device.input.swipe(x, y, x, y, 100)
    assert device.ui.state["ac_on"]
    await device.input.swipe(x, y, x, y, 650)
    assert device.ui.window().component.endswith("/.AcActivity")


@pytest.mark.parametrize("text", ["Café", "a\tb", "😀"])
async def test_input_text_types_nothing_when_one_character_has_no_key(make: Make, text: str) -> None:
    device = make(start=SHOP)
    device.ui.show(SHOP, "search")
    device.input.tap(*centre_of(device, "What are you looking for?"))
    with pytest.raises(CommandError, match="NullPointerException"):
        device.input.type_text(text)
    assert device.ui.state["query"] == ""


async def test_holding_what_has_no_long_press_taps_it(make: Make) -> None:
    device = make(start="com.android.settings")
    x, y = centre_of(device, "Battery")
    await device.input.swipe(x, y, x, y, 700)
    assert "Battery level" in dump_hierarchy(device)
    device.input.tap(1, 1)  # nothing there
    await device.input.swipe(500, 800, 500, 200)  # nothing to scroll
    device.input.key("APP_SWITCH")
    assert "task_title" in dump_hierarchy(device)


async def test_a_screen_that_is_off_takes_no_touch_and_has_no_root(make: Make) -> None:
    device = make()
    device.input.key("SLEEP")
    device.input.tap(*centre_of(device, "Shop"))
    with pytest.raises(CommandError, match="null root"):
        dump_hierarchy(device)
    assert "mCurrentFocus=null" in dumpsys(device, "window")
    device.input.key("WAKEUP")
    assert device.ui.package == "com.android.launcher3"
    assert parse(dump_hierarchy(device)).nodes


# --- activities


def test_starting_activities(make: Make) -> None:
    device = make()
    assert device.activities.start(component=f"{SHOP}/.MainActivity").startswith("Starting: Intent { cmp=")
    assert "delivered to currently running" in device.activities.start(package=SHOP)
    assert device.activities.start(uri="https://shop.example/search/desk").startswith("Starting: Intent { act=android.")
    assert device.ui.window().component == f"{SHOP}/.ResultsActivity"
    for wrong in ({"component": "no.app/.Main"}, {"package": "no.app"}, {"uri": "foo:bar"}):
        with pytest.raises(CommandError, match="Error"):
            device.activities.start(**wrong)
    device.packages[SHOP].enabled = False
    with pytest.raises(CommandError, match="does not exist"):
        device.activities.start(component=f"{SHOP}/.MainActivity")


def test_force_stop_closes_windows_and_keeps_what_was_saved(make: Make) -> None:
    device = make(start=SHOP)
    device.ui.state["cart"] = ["Desk lamp"]
    device.force_stop(SHOP)
    assert (device.ui.package, device.packages[SHOP].stopped) == ("com.android.launcher3", True)
    device.activities.launch(SHOP)
    assert (device.ui.state["cart"], device.packages[SHOP].stopped) == (["Desk lamp"], False)


def test_clearing_an_app_forgets_what_was_saved(make: Make) -> None:
    device = make(start=SHOP)
    device.ui.state["cart"] = ["Desk lamp"]
    device.clear(SHOP)
    device.activities.launch(SHOP)
    assert device.ui.state["cart"] == []


@pytest.mark.parametrize("start", [{"package": "no.app"}, {"package": SHOP, "screen": "basement"}])
def test_a_start_that_does_not_exist_is_refused(start: dict[str, str]) -> None:
    with pytest.raises(EngineError, match="the scenario starts in"):
        create_device(Scenario.model_validate({"start": start}))


# --- the Operator's rights


async def test_settings_put_repairs_the_accessibility_service(make: Make, send: Send) -> None:
    device = make(operator={"enabled": False})
    assert await send(device, PING) == []  # a fresh install is stopped
    device.activities.launch(PACKAGE)
    [refused] = await send(device, PING)
    assert refused["errorCode"] == "SERVICE_UNAVAILABLE"
    assert "Accessibility service is off" in dump_hierarchy(device)
    device.settings["secure"]["accessibility_enabled"] = "1"
    device.settings["secure"]["enabled_accessibility_services"] = (
        f"com.other/.Service:{PACKAGE}/clawperator.operator.accessibilityservice.OperatorAccessibilityService"
    )
    assert "Accessibility service is running" in dump_hierarchy(device)
    assert "Bound services:{Service[label=" in dumpsys(device, "accessibility")
    [envelope] = await send(device, PING)
    assert envelope["stepResults"][0]["data"] == {"developer_options_enabled": "true", "usb_debugging_enabled": "true"}


async def test_a_longer_name_is_not_the_service(make: Make) -> None:
    device = make()
    secure = device.settings["secure"]
    secure["enabled_accessibility_services"] += "Two"
    assert device.operator is not None
    assert not device.operator.connected


async def test_installing_and_removing(make: Make, send: Send) -> None:
    device = make(operator={"installed": False})
    assert await send(device, PING) == []
    assert install(device, b"not an apk", reinstall=True).startswith("Failure [INSTALL_PARSE_FAILED_NOT_APK")
    assert install(device, apk(), reinstall=False) == "Success"
    assert device.packages[PACKAGE].stopped
    assert install(device, apk(), reinstall=False).startswith("Failure [INSTALL_FAILED_ALREADY_EXISTS")
    assert install(device, apk(), reinstall=True) == "Success"
    assert device.uninstall(PACKAGE) == "Success"
    assert device.uninstall(PACKAGE) == device.uninstall("android") == "Failure [DELETE_FAILED_INTERNAL_ERROR]"
    assert PACKAGE not in device.packages
    assert PACKAGE not in device.ui.apps


# --- dumps


def test_dumpsys_package(make: Make) -> None:
    device = make(device={"sdk": 30})
    uid = device.packages[PACKAGE].uid
    text = dumpsys(device, "package", [PACKAGE])
    assert f"    userId={uid}\n" in text
    assert "    versionCode=500900 minSdk=21 targetSdk=35\n" in text
    assert "android.permission.POST_NOTIFICATIONS: granted=true" in text
    assert dumpsys(device, "package", ["no.app"]) == "Unable to find package: no.app\n"
    assert f"    appId={uid}\n" in dumpsys(make(), "package", [PACKAGE])


def test_other_services(make: Make) -> None:
    device = make(start=SHOP)
    assert f"mCurrentFocus=Window{{6d2f1a4 u0 {SHOP}/{SHOP}.MainActivity}}" in dumpsys(device, "window", ["displays"])
    assert f"u0 {SHOP}/.MainActivity t12" in dumpsys(device, "activity", ["activities"])
    assert "  level: 87\n" in dumpsys(device, "battery")
    assert "mWakefulness=Awake" in dumpsys(device, "power")
    with pytest.raises(CommandError, match="Can't find service: nope"):
        dumpsys(device, "nope")
    assert device.ui.metrics == (1080, 2340, 440)


def test_the_uiautomator_dump_is_one_line_of_what_is_visible(make: Make) -> None:
    device = make(start="com.example.feed")
    text = dump_hierarchy(device)
    assert "\n" not in text.replace("Two lines:\n", "")
    dumped, whole = parse(text), device.ui.window().tree
    assert len(dumped.nodes) == len(whole.on_screen) < len(whole.nodes)


async def test_accessibility_services_are_gone_during_a_uiautomator_dump(make: Make) -> None:
    device = make(speed=0.01)
    assert device.operator is not None
    dump = asyncio.ensure_future(uiautomator_dump(device))
    await asyncio.sleep(0)
    assert not device.operator.connected
    assert (await dump).endswith("</hierarchy>")
    await device.clock.sleep(device.scenario.latency_ms.rebind / 1000 + 0.1)
    assert device.operator.connected


def test_a_transition_has_no_root_for_its_time(make: Make) -> None:
    device = make(latency_ms={"transition": 100})
    device.activities.launch(SHOP)
    assert device.accessibility.readable_window() is None
    asyncio.run(device.clock.sleep(0.1))
    assert device.accessibility.readable_window() is not None


# --- pictures


def picture(device: SimulatedDevice) -> Image.Image:
    return Image.open(io.BytesIO(render_png(device.ui)))


def test_a_screenshot_shows_the_screen(make: Make) -> None:
    device = make(start="com.example.thermostat")
    before = picture(device)
    assert (before.size, before.format) == ((1080, 2340), "PNG")
    assert len(before.getcolors(1 << 16) or []) > 20
    device.ui.tap(*centre_of(device, "AC tile"))
    after = picture(device)
    left, top, right, bottom = next(n.seen for n in device.ui.window().nodes if n.view.desc == "AC tile")
    point = (left + right) // 2, top + 8
    assert before.getpixel(point) != after.getpixel(point)
    assert before.getpixel((540, 100)) == after.getpixel((540, 100))
    assert bottom < 2340


SCREENS = [
    (app.package, screen)
    for app in create_device().ui.apps.values()
    for screen in app.screens
    if app.package != "com.example.vault"
]


@pytest.mark.parametrize(("package", "screen"), SCREENS)
@pytest.mark.parametrize("dark", ["0", "1"])
@pytest.mark.ci
def test_every_screen_can_be_drawn_light_and_dark(make: Make, package: str, screen: str, dark: str) -> None:
    device = make()
    device.settings["system"]["dark_theme"] = dark
    device.ui.show(package, screen)
    brightness = picture(device).convert("L").resize((1, 1)).getpixel((0, 0))
    assert isinstance(brightness, int)
    assert (brightness < 110) is (dark == "1")


def test_a_secure_window_and_a_dark_display_are_black(make: Make) -> None:
    secure, off = make(start="com.example.vault"), make()
    secure.ui.show("com.example.vault", "login")
    off.ui.awake = False
    for device in (secure, off):
        assert picture(device).getextrema() == ((0, 0), (0, 0), (0, 0))


# --- recordings


async def test_a_recording_notes_what_happens(make: Make, operate: Operate) -> None:
    device = make(start=SHOP)
    started = await operate(device, ("start_recording", {"sessionId": "demo-1"}), ("start_recording", {}))
    path = f"/sdcard/Android/data/{PACKAGE}/files/recordings"
    assert started["stepResults"][0]["data"] == {"sessionId": "demo-1", "filePath": f"{path}/demo-1.ndjson"}
    assert started["stepResults"][1]["data"]["error"] == "RECORDING_ALREADY_IN_PROGRESS"
    device.input.tap(*centre_of(device, "Search products"))
    device.input.tap(*centre_of(device, "What are you looking for?"))
    device.input.type_text("tea")
    device.input.key("BACK")  # closes the keyboard
    device.input.key("BACK")
    await device.input.swipe(500, 1800, 500, 1700)
    stopped = await operate(device, ("stop_recording", {}), ("stop_recording", {}))
    data = stopped["stepResults"][0]["data"]
    assert stopped["stepResults"][1]["data"]["error"] == "RECORDING_NOT_IN_PROGRESS"
    assert device.files.read(f"{path}/latest") == b"demo-1"
    header, *events = [json.loads(line) for line in device.files.read(data["filePath"]).splitlines()]
    assert (header["type"], header["schemaVersion"], header["operatorPackage"]) == ("recording_header", 1, PACKAGE)
    kinds = [event["type"] for event in events]
    before, after = ["click", "window_change", "click", "text_change"], ["window_change", "scroll"]
    assert kinds == [*before, "press_key", "press_key", *after]
    assert [event["seq"] for event in events] == list(range(1, 9))
    assert data["eventCount"] == "8"
    assert events[0]["resourceId"] == f"{SHOP}:id/search_bar"
    assert parse(events[0]["snapshot"]).nodes
    assert (events[3]["text"], events[3]["snapshot"]) == ("tea", None)
    assert events[7]["scrollY"] == 100


# --- whatever comes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)
steps = st.fixed_dictionaries(
    {
        "id": st.text(min_size=1, max_size=4),
        "type": st.sampled_from(
            ["click", "read_text", "scroll", "press_key", "snapshot_ui", "enter_text", "sleep", "open_uri"]
        ),
        "params": st.dictionaries(
            st.sampled_from(["matcher", "text", "key", "direction", "uri", "container", "durationMs", "retry"]),
            json_values
            | st.just({"maxAttempts": 1})
            | st.fixed_dictionaries({"textContains": st.sampled_from(["e", "Shop", "%", "%%", "\x1b[31m", ""])}),
            max_size=4,
        ),
    }
)
payloads = json_values.map(json.dumps) | st.text() | st.lists(steps, min_size=1, max_size=3).map(
    lambda actions: json.dumps({"commandId": "c", "taskId": "t", "source": "s", "timeoutMs": 1000, "actions": actions})
)  # fmt: skip


@given(payloads)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_no_payload_breaks_the_operator(payload: str) -> None:
    problems: list[dict[str, Any]] = []

    async def go() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))
        device = create_device(Scenario(speed=0))
        await device.broadcast(AGENT_ACTION, PACKAGE, {"payload": payload})
        await device.idle()
        await device.close()
        assert device.log.records() or not payload

    asyncio.run(go())
    assert problems == []
