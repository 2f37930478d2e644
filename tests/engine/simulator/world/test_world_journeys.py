"""Each app's journey, driven by the simulated Operator as an agent would drive a phone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.uiautomator import dump_hierarchy, uiautomator_dump

Make = Callable[..., SimulatedDevice]
Operate = Callable[..., Awaitable[dict[str, Any]]]

SHOP = "com.example.shop"
THERMOSTAT = "com.example.thermostat"
SETTINGS = "com.android.settings"
FEED = "com.example.feed"


def by_id(package: str, name: str) -> dict[str, dict[str, str]]:
    return {"matcher": {"resourceId": f"{package}:id/{name}"}}


def by_text(text: str) -> dict[str, dict[str, str]]:
    return {"matcher": {"textEquals": text}}


def data_of(envelope: dict[str, Any], step: str) -> dict[str, str]:
    """A step's data in a plan that ran to its end."""
    assert envelope["status"] == "success", envelope["error"]
    return next(result["data"] for result in envelope["stepResults"] if result["id"] == step)


async def test_shop_search_behind_the_decoy(make: Make, operate: Operate) -> None:
    device = make(start=SHOP)
    envelope = await operate(
        device,
        ("click", by_id(SHOP, "search_bar")),
        ("enter_text", {**by_id(SHOP, "search_src_text"), "text": "cold brew"}),
        ("click", by_id(SHOP, "search_go_btn")),
        ("read_text", by_id(SHOP, "product_title")),
        ("read_text", by_id(SHOP, "price")),
    )
    assert data_of(envelope, "s4")["text"] == "Cold brew coffee maker"
    assert data_of(envelope, "s5")["text"] == "$24.99"


async def test_the_shop_s_decoy_takes_no_text(make: Make, operate: Operate) -> None:
    once = {"retry": {"maxAttempts": 1}}
    envelope = await operate(make(start=SHOP), ("enter_text", {**by_id(SHOP, "search_bar"), "text": "tea", **once}))
    assert envelope["error"] == "Task execution failed: Failed to set text on matching UI node"
    assert envelope["stepResults"] == []


async def test_shop_cart_adds_up(make: Make, operate: Operate) -> None:
    device = make(start=SHOP)
    envelope = await operate(
        device,
        ("click", by_text("Coffee beans 1 kg")),
        ("click", by_id(SHOP, "add_to_cart")),
        ("click", by_id(SHOP, "add_to_cart")),
        ("click", {"matcher": {"contentDescEquals": "Cart, 2 items"}}),
        ("read_key_value_pair", {"labelMatcher": {"textEquals": "Total"}}),
    )
    assert data_of(envelope, "s5")["value"] == "$35.00"


async def test_shop_search_by_uri(make: Make, operate: Operate) -> None:
    envelope = await operate(
        make(), ("open_uri", {"uri": "https://shop.example/search/desk"}), ("read_text", by_id(SHOP, "result_count"))
    )
    assert data_of(envelope, "s2")["text"] == "2 results"


async def test_thermostat_plus_twice_and_read_back(make: Make, operate: Operate) -> None:
    device = make(start=THERMOSTAT)
    envelope = await operate(
        device,
        ("click", by_text("Living room")),
        ("click", {"matcher": {"contentDescEquals": "Increase temperature"}}),
        ("click", {"matcher": {"contentDescEquals": "Increase temperature"}}),
        ("read_key_value_pair", {"labelMatcher": {"textEquals": "Target temperature"}}),
        ("read_text", {**by_id(THERMOSTAT, "target_temperature"), "validator": "temperature"}),
        ("press_key", {"key": "back"}),
        ("read_text", {"matcher": {"textContains": "target 21"}}),
    )
    assert data_of(envelope, "s4") == {"label": "Target temperature", "value": "21.0°C"}
    assert data_of(envelope, "s5") == {"text": "21.0°C", "validator": "temperature"}
    assert data_of(envelope, "s7")["text"] == "Target 21.0°C"


async def test_thermostat_ac_tile_toggles_and_opens_on_hold(make: Make, operate: Operate) -> None:
    device = make(start=THERMOSTAT, generation="0.3")
    tile = {"matcher": {"contentDescEquals": "AC tile"}}
    envelope = await operate(
        device,
        ("click", tile),
        ("wait_for_node", by_text("Cooling to 24.0°C")),
        ("click", {**tile, "clickType": "long_click"}),
        ("wait_for_node", by_text("Set point")),
    )
    assert data_of(envelope, "s4")["resource_id"] == "android:id/title"


async def test_settings_wifi_flips_and_shows(make: Make, operate: Operate) -> None:
    device = make()
    envelope = await operate(
        device,
        ("open_app", {"applicationId": SETTINGS}),
        ("click", by_text("Network & internet")),
        ("click", by_text("Internet")),
        ("click", by_text("Wi\u2011Fi")),
    )
    assert envelope["status"] == "success"
    assert device.settings["global"]["wifi_on"] == "0"
    switch = next(node for node in device.ui.window().tree.nodes if node.cls.endswith("Switch"))
    assert not switch.checked
    device.settings["global"]["wifi_on"] = "1"  # as ``settings put`` would
    assert next(node for node in device.ui.window().tree.nodes if node.cls.endswith("Switch")).checked


async def test_settings_scrolls_to_what_is_below(make: Make, operate: Operate) -> None:
    device = make(start=SETTINGS)
    envelope = await operate(
        device,
        (
            "scroll_and_click",
            {"target": {"textEquals": "About emulated device"}, "matcher": {"textEquals": "About emulated device"}},
        ),
        ("read_key_value_pair", {"labelMatcher": {"textEquals": "Android version"}}),
    )
    assert data_of(envelope, "s2")["value"] == "14"


async def test_seven_taps_make_a_developer(make: Make, operate: Operate) -> None:
    device = make(start=SETTINGS)
    device.settings["global"]["development_settings_enabled"] = "0"
    device.ui.show(SETTINGS, "about")
    taps = [("click", by_text("Build number"))] * 7
    await operate(device, *taps[:6])
    assert device.settings["global"]["development_settings_enabled"] == "0"
    await operate(device, taps[6])
    assert device.settings["global"]["development_settings_enabled"] == "1"


async def test_the_feed_goes_on_as_long_as_one_scrolls(make: Make, operate: Operate) -> None:
    device = make(start=FEED)
    envelope = await operate(
        device,
        ("scroll_until", {"matcher": {"textEquals": "#40"}, "maxScrolls": 200, "maxDurationMs": 120_000}),
        timeoutMs=120_000,
    )
    data = data_of(envelope, "s1")
    assert data["termination_reason"] == "TARGET_FOUND"
    assert int(data["scrolls_executed"]) > 10
    assert device.ui.state["loaded"] > 40


async def test_the_feed_has_an_upper_edge(make: Make, operate: Operate) -> None:
    steps = [("scroll", {"direction": "down"}), ("scroll", {"direction": "up"}), ("scroll", {"direction": "up"})]
    envelope = await operate(make(start=FEED, generation="0.3"), *steps)
    outcomes = [step["data"]["scroll_outcome"] for step in envelope["stepResults"]]
    assert outcomes == ["moved", "moved", "edge_reached"]


async def test_posts_below_the_screen_are_in_the_dump_but_cannot_be_matched(make: Make, operate: Operate) -> None:
    device = make(start=FEED)
    assert any(node.text == "#15" for node in device.ui.window().tree.nodes)
    envelope = await operate(device, ("wait_for_node", {**by_text("#15"), "retry": {"maxAttempts": 1}}))
    assert envelope["error"].startswith("Task execution failed: No UI node found matching criteria: NodeMatcher(")


async def test_a_secure_screen_has_no_root_and_no_picture(make: Make, operate: Operate) -> None:
    device = make(start="com.example.vault")
    envelope = await operate(
        device,
        ("click", by_text("Sign in")),
        ("snapshot_ui", {"retry": {"maxAttempts": 1}}),
    )
    assert envelope["error"].startswith("Task execution failed: SNAPSHOT_HIERARCHY_UNAVAILABLE: ")
    with pytest.raises(CommandError, match="null root node") as caught:
        dump_hierarchy(device)
    assert caught.value.status == 0
    messages = [record.text()[1].decode() for record in device.log.records()]
    assert "[Operator-UxInspector] Root node is null" in messages


async def test_a_screen_that_never_rests_can_be_read_but_not_dumped_by_uiautomator(
    make: Make, operate: Operate
) -> None:
    device = make(start="com.example.spinner")
    read = ("read_text", by_id("com.example.spinner", "status"))
    envelope = await operate(device, read, read)
    first, second = (data_of(envelope, step)["text"] for step in ("s1", "s2"))
    assert first != second
    started = device.clock.now()
    with pytest.raises(CommandError, match="could not get idle state"):
        await uiautomator_dump(device)
    assert device.clock.now() - started == pytest.approx(10)


async def test_recents_and_home(make: Make, operate: Operate) -> None:
    device = make(start=SHOP)
    await operate(device, ("open_app", {"applicationId": FEED}), ("press_key", {"key": "recents"}))
    envelope = await operate(
        device, ("click", {"matcher": {"contentDescEquals": "Shop"}}), ("wait_for_node", by_text("Example Shop"))
    )
    assert envelope["status"] == "success"
    await operate(device, ("press_key", {"key": "home"}))
    assert device.ui.package == "com.android.launcher3"


async def test_a_window_comes_after_its_launch_latency(make: Make) -> None:
    device = make(latency_ms={"launch": 5}, speed=1.0)
    assert device.activities.launch(SHOP)
    assert device.ui.package == "com.android.launcher3"
    await device.idle()
    assert device.ui.package == SHOP
