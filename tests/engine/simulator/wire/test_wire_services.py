"""Services and files of the device that ordinary host tools ask for."""

from __future__ import annotations

import re

import pytest

from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.profile import KEYBOARDS
from clawperator.engine.simulator.render import render_rgba

from .conftest import Ran, Runner

IME = KEYBOARDS[0]


@pytest.fixture
def sh(device: SimulatedDevice) -> Runner:
    return Runner(device)


async def test_every_listed_service_can_be_dumped(sh: Runner) -> None:
    listed = (await sh("dumpsys -l")).out.split("\n")[1:-1]
    assert (await sh("cmd -l")).out.split("\n")[1:-1] == listed
    for name in (line.strip() for line in listed):
        assert (await sh(f"dumpsys {name}")).err == "", name
    assert (await sh("dumpsys nonsense")).err == "Can't find service: nonsense\n"
    assert await sh("cmd -w nonsense") == Ran(20, "", "cmd: Can't find service: nonsense\n")


async def test_a_turned_display(sh: Runner, device: SimulatedDevice) -> None:
    assert "orientation=0, logicalFrame=Rect(0, 0 - 1080, 2340)" in (await sh("dumpsys display")).out
    await sh("settings put system user_rotation 1")
    assert "orientation=1, logicalFrame=Rect(0, 0 - 2340, 1080)" in (await sh("dumpsys display")).out
    assert "SurfaceOrientation: 1" in (await sh("dumpsys input")).out
    assert "cur=2340x1080 rotation=1" in (await sh("dumpsys window displays")).out
    assert (await sh("wm size")).out == "Physical size: 1080x2340\n"
    await sh("uiautomator dump")
    tree = parse(device.files.read("/sdcard/window_dump.xml").decode())
    assert tree.rotation == 1
    assert tree.nodes[0].bounds == (0, 0, 2340, 1080)
    assert render_rgba(device.ui)[0] == (2340, 1080)
    await sh("settings put system accelerometer_rotation 1")
    assert device.ui.rotation == 0


async def test_power_and_lock(sh: Runner) -> None:
    assert "mHoldingDisplaySuspendBlocker=true" in (await sh("dumpsys power")).out
    assert "screenState=SCREEN_STATE_ON" in (await sh("dumpsys window")).out
    await sh("input keyevent SLEEP")
    assert "mHoldingDisplaySuspendBlocker=false" in (await sh("dumpsys power")).out
    assert "mScreenOnFully=false" in (await sh("dumpsys window")).out
    assert await sh("wm dismiss-keyguard") == Ran(0, "", "")


async def test_what_runs(sh: Runner) -> None:
    assert (await sh("am start -W -n com.android.settings/.Settings")).status == 0
    pid = (await sh("pidof com.android.settings")).out.strip()
    assert f" {pid}:com.android.settings/" in (await sh("dumpsys activity processes")).out
    assert (await sh("dumpsys activity top | grep ACTIVITY")).out == (
        f"  ACTIVITY com.android.settings/.Settings a1b2c3d pid={pid}\n"
    )
    assert (await sh("dumpsys meminfo com.nope")).out == "No process found for: com.nope\n"
    assert re.search(r"TOTAL( +\d+){8}\n", (await sh("dumpsys meminfo com.android.settings")).out)
    assert "-A\tAll" in (await sh("ps --help")).out
    assert (await sh(f"cat /proc/{pid}/cmdline")).out == "com.android.settings\0"
    assert (await sh("cat /proc/1/comm; ls -d /proc/1/task/1")).out == "init\n/proc/1/task/1\n"


async def test_proc(sh: Runner, device: SimulatedDevice) -> None:
    assert len((await sh("grep ^processor /proc/cpuinfo")).out.split("\n")) == 5
    assert (await sh("ls /sys/devices/system/cpu")).out.split() == ["cpu0", "cpu1", "cpu2", "cpu3"]
    assert re.match(r"MemTotal: +\d+ kB\n", (await sh("cat /proc/meminfo")).out)
    assert re.match(r"cpu  (\d+ ){9}\d+\ncpu0 ", (await sh("cat /proc/stat")).out)
    assert (await sh("cat /proc/uptime /proc/loadavg")).status == 0
    assert (await sh("cat /proc/version")).out.startswith("Linux version 6.1.34-android ")
    assert (await sh("cat /proc/nothing")) == Ran(1, "", "cat: /proc/nothing: No such file or directory\n")
    assert (await sh("echo x > /proc/new")).err.endswith("/proc/new: Permission denied\n")
    assert "proc" in (await sh("ls /")).out.split()


async def test_keyboards(sh: Runner, device: SimulatedDevice) -> None:
    assert await sh("ime list -a -s") == Ran(0, "".join(f"{name}\n" for name in KEYBOARDS), "")
    assert (await sh("ime list")).out.startswith(f"{IME}:\n  mId={IME} ")
    assert (await sh(f"ime disable {IME}")).out == f"Input method {IME}: now disabled for user #0\n"
    assert await sh("cmd input_method ime list -s") == Ran(0, "", "")
    assert (await sh(f"ime set {IME}")).status == 255
    assert (await sh(f"ime enable {IME}; ime enable {IME}")).out.split("\n")[1].endswith("already enabled for user #0")
    assert (await sh(f"ime set {IME}")).out == f"Input method {IME} selected for user #0\n"
    assert await sh("ime enable com.x/.Y") == Ran(
        255, "", "Unknown input method com.x/.Y cannot be enabled for user #0\n"
    )
    device.ui.show("com.example.shop", "search")
    assert "mInputShown=false" in (await sh("dumpsys input_method")).out
    field = next(node for node in device.ui.window().nodes if node.editable)
    device.ui.click(field)
    assert "mInputShown=true" in (await sh("dumpsys input_method")).out
    await sh("input keyevent 111")
    assert "mIsInputViewShown=false" in (await sh("dumpsys input_method")).out
    assert device.ui.package == "com.example.shop"


async def test_the_locale(sh: Runner) -> None:
    assert (await sh("getprop persist.sys.locale; settings get system system_locales")).out == "en-US\nen-US\n"


async def test_a_link_opens_the_browser(sh: Runner, device: SimulatedDevice) -> None:
    view = "am start -W -a android.intent.action.VIEW -d"
    assert (await sh(f"{view} https://example.org/a?b=c")).status == 0
    assert device.ui.window().component == "com.android.chrome/com.google.android.apps.chrome.Main"
    texts = [node.view.text for node in device.ui.window().nodes]
    assert {"example.org", "/a?b=c", "example.org/a?b=c"} <= set(texts)
    assert (await sh(f"{view} https://shop.example/search/desk")).status == 0
    assert device.ui.package == "com.example.shop"
    assert (await sh(f"{view} nothing://there")).status == 1
    await sh("am start com.android.chrome")
    (bar,) = [node for node in device.ui.window().nodes if node.editable]
    device.ui.click(bar)
    await sh("input text http://two.example; input keyevent ENTER")
    assert "two.example" in [node.view.text for node in device.ui.window().nodes]


async def test_settings_are_searched(sh: Runner, device: SimulatedDevice) -> None:
    await sh("am start -a android.settings.SETTINGS")
    for wanted in ("search_action_bar_title", "search_src_text"):
        device.ui.click(next(node for node in device.ui.window().nodes if node.resource_id.endswith(wanted)))
    await sh("input text dark")

    def texts() -> set[str]:
        return {node.view.text for node in device.ui.window().nodes}

    assert {"dark", "Display", "Dark theme, font size, brightness"} <= texts()
    assert "Battery" not in texts()
    await sh("input text nonsense")
    assert "No results" in texts()
