"""What the device's programs print, in the platform's shapes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.adb.parse import (
    parse_getprop,
    parse_package_uids,
    parse_packages,
    parse_wm_density,
    parse_wm_size,
)
from clawperator.engine.adb.quote import device_command
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.services import TOOLBOX
from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.streams import Collector, Streams, input_of
from tests.engine.operator.apks import apk
from tests.support import examples

from .conftest import Ran, Runner, make_device

Sh = Callable[..., Awaitable[Ran]]
CAPTURES = Path(__file__).parents[3] / "data" / "device"
OPERATOR = "com.clawperator.operator"


def shape(text: str) -> str:
    """A line with its names and numbers taken out."""
    return re.sub(r"\d+", "0", re.sub(r"[A-Za-z_][\w.]*(?=[ =\n]|$)", "x", text))


# -- packages


async def test_listing_packages(sh: Sh, device: SimulatedDevice) -> None:
    every = (await sh("pm list packages")).out
    assert parse_packages(every) == list(device.packages)
    third = parse_packages((await sh("pm list packages -3")).out)
    system = parse_packages((await sh("pm list packages -s")).out)
    assert OPERATOR in third
    assert sorted(third + system) == sorted(device.packages)
    assert await sh("cmd package list packages --user 0 clawperator") == Ran(0, f"package:{OPERATOR}\n", "")
    assert (await sh(f"pm list packages {OPERATOR}x")).out == ""
    uid = device.packages[OPERATOR].uid
    assert parse_package_uids((await sh("pm list packages -U")).out)[OPERATOR] == uid
    assert (await sh(f"pm list packages --uid {uid}")).out == f"package:{OPERATOR} uid:{uid}\n"
    assert (
        await sh(f"pm list packages --show-versioncode {OPERATOR}")
    ).out == f"package:{OPERATOR} versionCode:301900\n"


async def test_listed_lines_have_the_shape_of_captured_ones(sh: Sh) -> None:
    captured = (CAPTURES / "pm-list-packages-f-u.txt").read_text().splitlines()
    ours = (await sh(f"pm list packages -f -U {OPERATOR}")).out.splitlines()
    pattern = r"package:/\S+\.apk=[\w.]+ uid:\d+"
    assert all(re.fullmatch(pattern, line) for line in captured + ours)


async def test_api_25_knows_no_uids() -> None:
    assert await Runner(make_device(sdk=25))("pm list packages -U") == Ran(255, "", "Error: Unknown option: -U\n")


async def test_permissions(sh: Sh, device: SimulatedDevice) -> None:
    notifications = "android.permission.POST_NOTIFICATIONS"
    assert (await sh(f"pm revoke {OPERATOR} {notifications}")).status == 0
    assert notifications not in device.packages[OPERATOR].permissions
    assert await sh(f"pm grant {OPERATOR} {notifications}") == Ran(0, "", "")
    assert notifications in device.packages[OPERATOR].permissions
    assert "Unknown package: com.none" in (await sh(f"pm grant com.none {notifications}")).err
    assert "has not requested permission" in (await sh(f"pm grant {OPERATOR} android.permission.CAMERA")).err
    older = await Runner(make_device(sdk=30))(f"pm grant {OPERATOR} {notifications}")
    assert older.status == 255
    assert "Unknown permission" in older.err


async def test_paths_clearing_and_enabling(sh: Sh, device: SimulatedDevice) -> None:
    path = (await sh(f"pm path {OPERATOR}")).out
    assert path == f"package:{device.packages[OPERATOR].path}\n"
    assert await sh("pm path com.none") == Ran(1, "", "")
    assert await sh("pm clear com.none") == Ran(1, "Failed\n", "")
    assert (await sh("pm clear com.android.settings")).out == "Success\n"
    assert (await sh(f"pm disable-user --user 0 {OPERATOR}")).out == f"Package {OPERATOR} new state: disabled-user\n"
    assert (await sh("pm list packages -d")).out == f"package:{OPERATOR}\n"
    assert (await sh(f"cmd package resolve-activity --brief {OPERATOR}")).out.endswith(
        f"{OPERATOR}/clawperator.activity.MainActivity\n"
    )
    assert (await sh("pm nonsense")).status == 255


async def test_installing_a_file(sh: Sh, device: SimulatedDevice) -> None:
    device.files.write("/data/local/tmp/o.apk", apk())
    assert await sh(f"pm uninstall {OPERATOR}") == Ran(0, "Success\n", "")
    assert await sh("pm install -r /data/local/tmp/o.apk") == Ran(0, "Success\n", "")
    assert (await sh("pm install /data/local/tmp/none.apk")).status == 255
    assert await sh("pm install -S 10", b"PK") == Ran(1, "", "Error: failed to write; read 2 of 10 bytes\n")
    assert "ALREADY_EXISTS" in (await sh("pm install -R /data/local/tmp/o.apk")).out


# -- am


async def test_a_broadcast_no_one_receives_looks_like_any_other(sh: Sh) -> None:
    ran = await sh("am broadcast -a com.example.ACTION -n com.example/.Receiver --es k v")
    assert ran == Ran(0, (CAPTURES / "am-broadcast-result-0.txt").read_text(), "")


@pytest.mark.parametrize(
    ("arguments", "intent"),
    [
        ("-a A", "act=A flg=0x400000"),
        ("-a A -c C -d x:y -t text/plain -f 0x20", "act=A cat=[C] dat=x:y typ=text/plain flg=0x400020"),
        ("-a A --ez k true --ei n 3 --esn none -e s t", "act=A flg=0x400000 (has extras)"),
        ("-a A --user 0 --receiver-permission P --include-stopped-packages com.pkg", "act=A flg=0x400000 pkg=com.pkg"),
        ("-a A com.pkg/.R", "act=A flg=0x400000 cmp=com.pkg/.R"),
        ("x:y", "dat=x:y flg=0x400000"),
    ],
)
async def test_intents_are_printed_in_the_platforms_order(sh: Sh, arguments: str, intent: str) -> None:
    assert (await sh(f"am broadcast {arguments}")).out.splitlines()[0] == f"Broadcasting: Intent {{ {intent} }}"


async def test_a_broadcast_that_fails(sh: Sh) -> None:
    device = make_device(faults=({"kind": "broadcast_failure", "stderr": "Error: no", "exit_code": 9},))
    assert await Runner(device)("am broadcast -a A") == Ran(9, "", "Error: no\n")
    assert (await sh("am broadcast -a")).status == 255
    assert (await sh("am broadcast --nonsense")).status == 255


@pytest.mark.parametrize("payload", ["'" * 20_000 + "ä€" + "x" * 43_000, '{"t":"$(reboot) `id` \\\\ \\" %s"}'])
async def test_a_large_or_hostile_payload_arrives_unchanged(
    sh: Sh, device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, payload: str
) -> None:
    """android-facts 6d: beyond the service string's limit the command comes as a script on standard input."""
    received: list[object] = []

    async def broadcast(action: str, package: str | None, extras: dict[str, str], *_: object) -> int:
        received.append((action, package, extras))
        return 0

    monkeypatch.setattr(device, "broadcast", broadcast)
    command = device_command(["am", "broadcast", "-a", "A", "-p", OPERATOR, "--es", "payload", payload])
    assert (await sh("sh", command.encode() + b"\n")).out.endswith("Broadcast completed: result=0\n")
    assert received == [("A", OPERATOR, {"payload": payload})]


async def test_starting_activities(sh: Sh, device: SimulatedDevice) -> None:
    started = (
        await sh(
            "am start -W -a android.intent.action.MAIN -c android.intent.category.LAUNCHER -n com.android.settings/.Settings"
        )
    ).out
    captured = (CAPTURES / "am-start-w.txt").read_text()
    assert [shape(line) for line in started.splitlines()] == [shape(line) for line in captured.splitlines()]
    assert device.ui.package == "com.android.settings"
    again = (await sh("am start -n com.android.settings/.Settings")).out
    assert again.splitlines()[1] == (CAPTURES / "am-start-warning-delivered-to-top.txt").read_text().splitlines()[1]
    missing = await sh("am start -n com.none/.Main")
    assert missing.out == "Starting: Intent { cmp=com.none/.Main }\n"
    assert missing.err == "Error type 3\nError: Activity class {com.none/.Main} does not exist.\n"
    assert (await sh("am start -a com.none.ACTION")).err.startswith(
        "Error: Activity not started, unable to resolve Intent"
    )


async def test_settings_screens_and_other_ways_to_start(sh: Sh, device: SimulatedDevice) -> None:
    await sh("am start -a android.settings.SETTINGS")
    assert device.ui.package == "com.android.settings"
    await sh("am force-stop com.android.settings")
    assert device.ui.package != "com.android.settings"
    assert (await sh("monkey -p com.android.settings -c android.intent.category.LAUNCHER 1")).status == 0
    assert device.ui.package == "com.android.settings"
    assert (await sh("monkey -p com.none 1")).status == 252
    assert (await sh("am get-current-user")).out == "0\n"
    assert (await sh("am nonsense")).status == 255
    assert (await sh("am force-stop")).status == 255


# -- properties, settings, services


async def test_properties(sh: Sh, device: SimulatedDevice) -> None:
    assert parse_getprop((await sh("getprop")).out) == device.props
    assert (await sh("getprop ro.build.version.sdk")).out == "34\n"
    assert (await sh("getprop no.such; getprop no.such fallback")).out == "\nfallback\n"
    assert (await sh("setprop debug.x 1; getprop debug.x")).out == "1\n"
    assert (await sh("setprop ro.serialno x")).status == 1


async def test_settings(sh: Sh) -> None:
    assert (await sh("settings get global adb_enabled; settings get global nope")).out == "1\nnull\n"
    assert (
        await sh("settings put secure k 'a b'; settings get secure k; settings --user 0 get secure k")
    ).out == "a b\na b\n"
    assert (
        await sh("cmd settings delete secure k; settings delete secure k")
    ).out == "Deleted 1 rows\nDeleted 0 rows\n"
    listed = (await sh("settings list global")).out.splitlines()
    captured = (CAPTURES / "settings-list-global.txt").read_text().splitlines()
    assert all("=" in line for line in listed)
    assert any("=" in line for line in captured)
    assert await sh("settings get nowhere x") == Ran(255, "", "Invalid namespace 'nowhere'\n")
    assert (await sh("settings put global x")).status == 255
    assert (await sh("settings")).status == 255


async def test_window_manager_and_services(sh: Sh) -> None:
    assert parse_wm_size((await sh("wm size")).out) == parse_wm_size("Physical size: 1080x2340\n")
    assert parse_wm_density((await sh("cmd window density")).out) == parse_wm_density("Physical density: 440\n")
    assert (await sh("wm size 100x100")).status == 255
    assert "versionName=0.3.1" in (await sh(f"dumpsys package {OPERATOR}")).out
    assert (await sh("dumpsys nothing")).err == "Can't find service: nothing\n"
    assert "  package\n" in (await sh("dumpsys -l")).out
    assert await sh("cmd clipboard get-text") == Ran(0, "", "No shell command implementation.\n")  # android-facts 8b
    assert await sh("cmd nothing") == Ran(20, "", "cmd: Can't find service: nothing\n")
    assert (await Runner(make_device(sdk=23))("cmd package list")).status == 127


async def test_processes(sh: Sh, device: SimulatedDevice) -> None:
    pid = (await sh(f"pidof {OPERATOR}")).out.strip()
    assert device.operator is not None
    assert pid == str(device.operator.pid)
    table = (await sh("ps -A")).out.splitlines()
    assert table[0].split() == ["USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME"]
    assert any(line.split()[-1] == OPERATOR and line.split()[1] == pid for line in table)
    assert (await sh(f"ps -p {pid} -o PID,NAME")).out == f"PID NAME\n{pid} {OPERATOR}\n"
    assert await sh("pidof nothing") == Ran(1, "", "")
    assert len((await sh("ps")).out.splitlines()) == 2
    await sh(f"am force-stop {OPERATOR}")
    assert (await sh(f"pidof {OPERATOR}")).status == 1
    assert (await sh("kill 601")).err == "/system/bin/sh: kill: 601: Operation not permitted\n"


# -- the screen


async def test_input(sh: Sh, device: SimulatedDevice) -> None:
    await sh("am start -n com.android.settings/.Settings; input keyevent KEYCODE_HOME")
    assert device.ui.package != "com.android.settings"
    assert (await sh("input tap 1")).status == 255
    assert "NumberFormatException" in (await sh("input tap a b")).err
    assert (
        await sh("input touchscreen swipe 500 1500 500 500 50; input keyevent --longpress 4; input -d 0 tap 3.5 4")
    ).status == 0
    assert "NullPointerException" in (await sh("input text é")).err  # android-facts 8a
    assert (await sh("input nonsense")).err.startswith("Error: Unknown command: nonsense\nUsage: input")
    assert (await sh("input")).status == 255


def dumped(path: str) -> str:
    return f"UI hierchary dumped to: {path}\n"


async def test_uiautomator(sh: Sh, device: SimulatedDevice) -> None:
    """android-facts 7a, 7b."""
    assert await sh("uiautomator dump") == Ran(0, "UI hierchary dumped to: /sdcard/window_dump.xml\n", "")
    assert (await sh("cat /sdcard/window_dump.xml")).out.endswith("</hierarchy>")
    assert (await sh("uiautomator dump --compressed /data/local/tmp/w.xml; cat /data/local/tmp/w.xml")).out.count(
        "<?xml"
    ) == 1
    assert await sh("uiautomator dump /system/x.xml") == Ran(0, "UI hierchary dumped to: /system/x.xml\n", "")
    device.ui.awake = False
    assert await sh("uiautomator dump") == Ran(0, "", "ERROR: null root node returned by UiTestAutomationBridge.\n")
    assert (await sh("uiautomator nonsense")).status == 1


async def test_only_one_uiautomator_at_a_time(sh: Sh) -> None:
    """android-facts 7f."""
    both = await sh("uiautomator dump /sdcard/1 | uiautomator dump /sdcard/2; echo $?")
    assert both == Ran(0, "137\n", "Killed\n")


async def test_faults_of_programs() -> None:
    """Warnings before the XML, a large dump, a killed ``input``, a display that turns, a reboot."""
    padded = {"kind": "uiautomator_output", "padding_kib": 2_000}
    killed = {"kind": "program", "program": "input", "how": "killed", "calls": [2]}
    turned = {"kind": "program", "program": "uiautomator", "how": "rotate", "calls": [1]}
    reboot = {"kind": "program", "program": "screencap", "how": "reboot"}
    device = make_device(faults=(padded, killed, turned, reboot))
    sh = Runner(device)
    dump = await sh("uiautomator dump /sdcard/w.xml")
    assert dump.out == "WARNING: linker: /system/lib64/libvendor.so has text relocations\n" + dumped("/sdcard/w.xml")
    assert len((await sh("cat /sdcard/w.xml")).out) > 2_000_000
    assert device.ui.rotation == 1
    assert (await sh("input tap 1 1")).status == 0
    assert await sh("input tap 1 1") == Ran(137, "", "Killed\n")
    await sh("am start -n com.android.settings/.Settings")
    dropped: list[bool] = []
    device.on_disconnect(lambda: dropped.append(True))
    await sh("screencap")
    assert dropped
    assert device.ui.package == "com.android.launcher3"
    await device.close()


async def test_a_selected_text_is_replaced(sh: Sh, device: SimulatedDevice) -> None:
    device.ui.show("com.android.settings", "search")
    field = next(node for node in device.ui.window().nodes if node.editable)
    device.ui.focus(field)
    select = "input keycombination CTRL_LEFT A"
    await sh(f"input text one; {select}; input text two")
    assert device.ui.state[field.view.edits] == "two"
    await sh(f"{select}; input keyevent DEL")
    assert device.ui.state[field.view.edits] == ""
    assert (await Runner(make_device(sdk=30))(select)).status == 255


async def test_the_start_of_input_takes_its_time_by_version() -> None:
    """android-facts 10d."""
    for sdk, seconds in ((30, 0.7), (31, 0.04)):
        device = make_device(sdk=sdk)
        before = device.clock.now()
        await Runner(device)("input tap 1 1")
        assert device.clock.now() - before == pytest.approx(seconds)


async def test_resolving_an_activity(sh: Sh) -> None:
    resolve = "cmd package resolve-activity --brief"
    entry = "com.example.shop/.MainActivity\n"
    assert (await sh(f"{resolve} -c android.intent.category.LAUNCHER com.example.shop")).out.endswith(entry)
    assert await sh(f"{resolve} -d nothing:views-this") == Ran(0, "No activity found\n", "")


async def test_screencap(sh: Sh, device: SimulatedDevice) -> None:
    await sh("screencap -p /sdcard/a; screencap /sdcard/b.png; screencap /sdcard/c.raw")
    assert device.files.read("/sdcard/a") == device.files.read("/sdcard/b.png")
    raw = device.files.read("/sdcard/c.raw")
    assert struct.unpack("<4I", raw[:16]) == (1080, 2340, 1, 1)
    assert len(raw) == 16 + 1080 * 2340 * 4


# -- small tools


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("id -u; id -un", "2000\nshell\n"),
        ("printf 'a\\nb\\n' | grep -v a; printf 'x1\\n' | grep -oE '[0-9]+'", "b\n1\n"),
        ("printf 'A.b\\naxb\\n' | grep -iF a.B; echo 'a+' | grep 'a+$'", "A.b\na+\n"),
        ("printf '1\\n2\\n3\\n' | grep -m 2 .; printf '123' | tail -c 2", "1\n2\n23"),
        ("printf 'one two\\nthree\\n' | wc -l; echo -n abc | wc -c", "2\n3\n"),
        (
            "test -d /sdcard && [ -f /nope ] || echo no; [ 2 -lt 10 ] && [ a != b ] && [ -z '' ] && echo yes",
            "no\nyes\n",
        ),
        ("[ -e /nope ] || echo not", "not\n"),
        (
            "d=/data/local/tmp; mkdir -p $d/a/b; echo x > $d/a/b/c; cat $d/a/b/c; ls $d/a; rm -r $d/a; ls $d",
            "x\nb\n",
        ),
        (
            "f=/data/local/tmp/f; echo > $f; stat -c '%a %U %F %s' $f; ls -d /sdcard/",
            "644 shell regular file 1\n/sdcard/\n",
        ),
        ("date +%Y | wc -c; [ $(date +%s) -gt 0 ] && echo ok", "5\nok\n"),
    ],
)
async def test_tools(sh: Sh, script: str, out: str) -> None:
    ran = await sh(script)
    assert (ran.out, ran.err) == (out, "")


async def test_listing_files(sh: Sh, device: SimulatedDevice) -> None:
    device.files.write("/sdcard/Download/f.txt", b"x" * 5000, mtime=1_700_000_000)
    assert (
        await sh("ls -l /sdcard/Download")
    ).out == "total 8\n-rw-rw-r-- 1 root sdcard_rw     5000 2023-11-14 22:13 f.txt\n"
    assert (await sh("ls -a /sdcard/Download")).out == ".\n..\nf.txt\n"
    assert await sh("ls /nope /sdcard/Download/f.txt") == Ran(
        1, "/sdcard/Download/f.txt\n", "ls: /nope: No such file or directory\n"
    )
    assert (await sh("ls -l /sdcard")).out.endswith("/sdcard -> /storage/self/primary\n")


@pytest.mark.parametrize(("sdk", "fraction"), [(25, "N"), (26, None), (34, None)])
async def test_nanoseconds_of_date_by_api_level(sdk: int, fraction: str | None) -> None:
    """android-facts 2f."""
    text = (await Runner(make_device(sdk=sdk))("date +%N")).out.strip()
    assert text == fraction or (fraction is None and len(text) == 9 and text.isdigit())


LETTERS = "-abcdefghilmnopqrstuvwxABCDGHLRSTUW0123456789@!*?[{"
TELLING = f"""
    -- -1 --user 0 -S -t -T -v -c -a -n -e %s %d %5 /sdcard /data/local/tmp /nope . .. com.android.settings {OPERATOR} list packages
    install dump broadcast start get put global size tap swipe text keyevent package activity shell a/b --es k ( ) ] +%s 1e9 nan
    999999999999 main,crash *:S x:y -u -G 1M 99999K -maxdepth -type +%Y%Q -m --pid=x --uid=1,y \udcff é
"""
WORDS = st.one_of(
    st.sampled_from([*LETTERS, *(f"-{letter}" for letter in LETTERS), *TELLING.split()]), st.text(max_size=8)
)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(sorted(TOOLBOX)), st.lists(WORDS, max_size=5), st.binary(max_size=20))
async def test_no_arguments_break_a_command(name: str, words: list[str], stdin: bytes) -> None:
    device = make_device()
    shell = Shell(device, Streams(input_of(stdin), Collector(), Collector()), TOOLBOX)
    with contextlib.suppress(TimeoutError):  # some are meant to run for ever
        async with asyncio.timeout(0.2):
            assert 0 <= await shell.execute([name, *words], shell.streams) <= 255
    await device.close()
