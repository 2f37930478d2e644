from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb import parse
from clawperator.engine.adb.parse import InstallResult, Size
from clawperator.engine.adb.presence import DeviceEntry, DeviceState, parse_devices
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "device"
PARSERS: list[Callable[[str], object]] = [
    parse_devices,
    parse.parse_package_uids,
    parse.parse_packages,
    parse.parse_getprop,
    parse.parse_wm_size,
    parse.parse_wm_density,
    parse.parse_dumpsys_version,
    parse.parse_install_result,
]


def read(name: str) -> str:
    return (DATA / name).read_bytes().decode()


def states(name: str) -> list[tuple[str, str]]:
    return [(entry.serial, entry.state) for entry in parse_devices(read(name))]


def test_no_device() -> None:
    assert parse_devices(read("adb-devices-empty.txt")) == []


def test_tabs_carriage_returns_and_a_misspelt_attribute() -> None:
    usb, wifi = parse_devices(read("adb-devices-l-scrcpy-cr.txt"))
    assert usb == DeviceEntry("0123456789abcdef", "device", "MyProduct", "MyModel", "MyDevice", 1, "2-1")
    assert (wifi.serial, wifi.model, wifi.transport_id) == ("192.168.1.1:5555", "MyWifiModel", 0)
    assert parse_devices(read("adb-devices-l-scrcpy-two-devices.txt")) == [usb, wifi]
    assert parse_devices(read("adb-devices-l-scrcpy-without-eol.txt")) == [usb]


def test_daemon_lines_among_the_rows_are_no_devices() -> None:
    assert states("adb-devices-l-scrcpy-daemon-start-mixed.txt") == [
        ("0123456789abcdef", "unauthorized"),
        ("87654321", "device"),
    ]
    assert states("adb-devices-l-scrcpy-corrupted.txt") == []
    assert states("adb-devices-and-props-session.txt") == [("emulator-5554", "device")]


@table(
    "line",
    [
        "* daemon not running; starting now at tcp:5037 *",
        "adb server version (40) doesn't match this client (41); killing...",
        "error: device offline",
        "adb: device unauthorized.",
        "adb.exe: device offline",
        "- waiting for device -",
        "daemon started successfully device",
    ],
)
def test_what_adb_says_about_itself_is_no_device(line: str) -> None:
    assert parse_devices(f"{line}\nList of devices attached\nabc\tdevice\n{line}\r\n") == [DeviceEntry("abc", "device")]


def test_every_state_that_adb_can_print() -> None:
    entries = parse_devices(read("adb-devices-l-sideload-recovery-rescue-bootloader-host.txt"))
    assert [entry.state for entry in entries] == [
        "sideload",
        "recovery",
        "rescue",
        "bootloader",
        "host",
        "connecting",
        "no permissions",
        "unauthorized",
    ]
    assert [entry.transport_id for entry in entries] == [4, 5, 9, 10, 11, 12, 13, 14]
    assert [entry.serial for entry in entries][-2:] == ["??????????????", "(no serial number)"]
    denied = entries[-2]
    assert denied.usb == "1-6"
    assert denied.detail.startswith("(missing udev rules? user is in the plugdev group); see [http")
    assert not any(entry.usable for entry in entries)


def test_spaces_instead_of_tabs() -> None:
    entries = parse_devices(read("adb-devices-l-many-states-spaces.txt"))
    assert len(entries) == 13
    offline, denied, authorizing, unauthorized, host, *rest = entries
    assert (offline.state, offline.product) == ("offline", "VS Emulator Android Device - 480 x 800")
    assert (denied.state, denied.usb) == (DeviceState.NO_PERMISSIONS, "")
    assert denied.detail.startswith("(user in plugdev group;")
    assert (authorizing.state, authorizing.usb, authorizing.transport_id) == ("authorizing", "9-1.4.1", 8149)
    assert unauthorized.state == "unauthorized"
    assert (host.state, host.features) == ("host", "shell_2")
    assert rest[0].features == "shell_v2,cmd"
    assert [entry.state for entry in rest].count("device") == 6


def test_a_usb_path_without_its_prefix() -> None:
    (entry,) = parse_devices(read("adb-devices-l-scrcpy-with-devpath-without-colon.txt"))
    assert (entry.usb, entry.product, entry.transport_id, entry.detail) == ("3-1", "manet", 2, "")


def test_one_space_after_a_serial_of_full_width_or_in_a_hand_made_list() -> None:
    emulator, nexus = parse_devices(read("adb-devices-l-appium-mixed.txt"))
    assert (emulator.serial, emulator.usable, emulator.is_emulator) == ("emulator-5556", True, True)
    assert (nexus.model, nexus.is_emulator) == ("Nexus_7", False)
    mdns = "adb-13e75597-Upleco (2)._adb-tls-connect._tcp"
    assert parse_devices(f"{mdns} device product:x") == [DeviceEntry(mdns, "device", "x")]
    assert parse_devices(f"{mdns}\tdevice") == [DeviceEntry(mdns, "device")]


def test_an_unknown_state_keeps_its_text() -> None:
    assert parse_devices("abc\tlevitating product:x") == [DeviceEntry("abc", "levitating", "x")]
    assert parse_devices("abc            levitating  transport_id:7") == [
        DeviceEntry("abc", "levitating", transport_id=7)
    ]
    assert not parse_devices("abc\tlevitating")[0].usable


def test_a_number_that_is_none_counts_as_absent() -> None:
    for text in ("٣", "1" * 30, "-1", "x"):
        assert parse_devices(f"abc\tdevice transport_id:{text}")[0].transport_id == 0


ROWS = st.builds(
    DeviceEntry,
    serial=st.from_regex(r"[A-Z0-9][A-Za-z0-9_.:\-]{0,28}[A-Za-z0-9]", fullmatch=True),
    state=st.sampled_from(["device", "offline", "unauthorized", "recovery", "sideload", "authorizing"]),
    product=st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True),
    model=st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True),
    device=st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True),
    transport_id=st.integers(1, 10**9),
    usb=st.sampled_from(["1-1", "2-1.4", "337641472X"]),
    features=st.just(""),
    detail=st.just(""),
    shared_serial=st.just(""),
    other_transports=st.just(()),
    preferred=st.just(True),
)


@given(st.lists(ROWS, unique_by=lambda row: row.serial), st.sampled_from(["\n", "\r\n"]))
def test_what_adb_prints_is_read_back(rows: list[DeviceEntry], end: str) -> None:
    lines = ["List of devices attached"]
    for row in rows:
        what = f"usb:{row.usb} product:{row.product} model:{row.model} device:{row.device}"
        lines.append(f"{row.serial:<22} {row.state} {what} transport_id:{row.transport_id}")
    assert parse_devices(end.join(lines) + end) == rows


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for parser in PARSERS:
        parser(text)


FRAGMENTS = st.sampled_from(
    ["package:", "/a=b", " uid:", "[a]: [", "]", "device", "usb:", "transport_id:", "no permissions", "(x); see", "="]
) | st.sampled_from(
    ["versionName=", "versionCode=", "Package [", "userId=", "Failure [", "Success", "-", "9", "x", '"']
)
SEPARATORS = st.sampled_from(["\r\n", "\n", "\t", " ", "  ", "\u2028", "1" * 6000, "Broadcast completed: result="])


@given(st.lists(FRAGMENTS | SEPARATORS, max_size=30).map("".join))
def test_no_mixture_of_familiar_pieces_raises(text: str) -> None:
    for parser in PARSERS:
        parser(text)


def test_no_captured_file_raises() -> None:
    folder = os.environ.get("CLAWPERATOR_CORPUS")
    if not folder:
        pytest.skip("CLAWPERATOR_CORPUS names no folder of captured files")
    files = sorted((Path(folder) / "device").glob("*.txt"))
    assert files
    for file in files:
        text = file.read_bytes().decode(errors="replace")
        for parser in PARSERS:
            parser(text)
        entries = parse_devices(text)
        if file.name.startswith("adb-devices-") and not file.name.endswith(("-empty.txt", "-corrupted.txt")):
            assert entries, file.name
        if file.name.startswith("adb-install-"):
            assert parse.parse_install_result(text).ok == file.name.endswith("-success.txt"), file.name


def test_packages_of_several_users_and_without_uid() -> None:
    text = "package:com.a uid:10001,1010001\r\npackage:com.b\r\nError: something\r\npackage:com.c uid:\r\n"
    assert parse.parse_packages(text) == ["com.a", "com.b", "com.c"]
    assert parse.parse_package_uids(text) == {"com.a": 10001, "com.b": -1, "com.c": -1}
    assert parse.parse_packages(read("cmd-package-service-missing.txt")) == []


def test_getprop() -> None:
    assert parse.parse_getprop(read("getprop-five-lines-pixel-6.txt")) == {
        "ro.product.model": "Pixel 6",
        "ro.product.brand": "google",
        "ro.build.version.release": "14",
        "ro.build.version.sdk": "34",
        "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a,armeabi",
    }


def test_getprop_values_with_brackets_line_breaks_and_a_cut_end() -> None:
    text = "[a]: [1]\r\n[b]: [first\nsecond]\n\n[c]: [x]: [y]]\n[cut]: [no end\n[d]: []\n[last]: [cu"
    assert parse.parse_getprop(text) == {"a": "1", "b": "first\nsecond", "c": "x]: [y]", "d": ""}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_getprop_with_the_line_ends_of_every_release(end: str) -> None:
    text = end.join(("[ro.a]: [1]", "[ro.b]: [first", "second]", "[ro.c]: []", ""))
    assert parse.parse_getprop(text) == {"ro.a": "1", "ro.b": "first\nsecond", "ro.c": ""}


def test_screen_size_and_density() -> None:
    assert parse.parse_wm_size(read("wm-size-physical.txt")) == Size(1080, 2400)
    assert parse.parse_wm_size(read("wm-size-override.txt")) == Size(1080, 2340)
    assert parse.parse_wm_size(read("wm-size-error.txt")) == Size(0, 0)
    assert parse.parse_wm_density(read("wm-density-physical.txt")) == 420
    assert parse.parse_wm_density("Physical density: 420\r\nOverride density: 320\r\n") == 320
    assert parse.parse_wm_density(read("wm-density-unknown.txt")) == 0


@pytest.mark.parametrize(
    ("file", "name", "code"),
    [
        ("dumpsys-package-com-paypal-android-p2pmobile.txt", "5.14", 115005890),
        ("dumpsys-package-com-yanzhenjie-album-sample.txt", "1.1", 11),
        ("dumpsys-package-lufthansa-utf8-bom.txt", "4.7.1", 10210),
    ],
)
def test_package_dumps(file: str, name: str, code: int) -> None:
    assert parse.parse_dumpsys_version(read(file)) == (name, code)


def test_a_package_dump_of_several_packages_is_read_in_the_right_section() -> None:
    text = (
        "Packages:\n  Package [com.a] (1):\n    userId=1\n    versionName=1.0\n"
        "  Package [com.a.b] (2):\n    appId=10002\n    versionCode=301900 minSdk=21\n    versionName=0.3.1-d\r\n"
    )
    assert parse.parse_dumpsys_version(text, "com.a.b") == ("0.3.1-d", 301900)
    assert parse.parse_dumpsys_version(text, "com.a") == ("1.0", -1)
    assert parse.parse_dumpsys_version("Unable to find package: x") == ("", -1)


def test_installations() -> None:
    assert parse.parse_install_result(read("adb-install-success.txt")) == InstallResult(ok=True, code="", message="")
    failed = parse.parse_install_result(read("adb-install-parse-failed.txt"))
    assert (failed.ok, failed.code) == (False, "INSTALL_PARSE_FAILED_NO_CERTIFICATES")
    assert failed.message.startswith("Failed collecting certificates")
    for code in json.loads(read("install-response-codes.json")):
        assert parse.parse_install_result(f"\tpkg: x\r\nFailure [{code}]\r\n") == InstallResult(False, code, code)
    assert parse.parse_install_result("Error: no space\n") == InstallResult(False, "", "Error: no space")
    assert not parse.parse_install_result("").ok


def test_a_failure_that_mentions_success_is_a_failure() -> None:
    text = "Success\nFailure [INSTALL_FAILED_USER_RESTRICTED: Install canceled by user]"
    assert not parse.parse_install_result(text).ok


# -- what a phone says of a refusal


LIMITED = parse.INPUT_BLOCKED_HINT
FIELD = Path(__file__).parents[2] / "data" / "field"


@table(
    ("text", "words"),
    [
        ((FIELD / "16-xiaomi-grants" / "pm-grant-stderr.txt").read_text(), LIMITED),
        ((FIELD / "16-xiaomi-grants" / "settings-put-stderr.txt").read_text(), LIMITED),
        ("Security exception: adb clearing user data is forbidden.", LIMITED),
        ("java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission", LIMITED),
        ("java.lang.SecurityException: uid 2000 does not have android.permission.MANAGE_APP_OPS_MODES.", LIMITED),
        ("java.lang.SecurityException: Shell does not have permission to access user 150", "main user"),
        ("java.lang.SecurityException: Package a.b has not requested permission android.permission.CAMERA", "manifest"),
        ("Permission android.permission.INTERNET requested by a.b is not a changeable permission type", "installed"),
        ("Permission android.permission.CALL_PHONE is managed by role", "role"),
        ("java.lang.IllegalArgumentException: Unknown permission: android.permission.WRITE_SECURE_SETTING", "no such"),
        ("Failure [DELETE_FAILED_DEVICE_POLICY_MANAGER]", "administrator"),
        ("java.lang.SecurityException: Admin ComponentInfo{x} is not a device owner", "administrator"),
        ("Error: something else about com.samsung.android.knoxapp", None),
        ("", None),
    ],
)
def test_what_a_refusal_means(text: str, words: str | None) -> None:
    hint = parse.refusal_hint(text)
    assert hint is None if words is None else words in (hint or "")


def test_a_trace_becomes_one_sentence() -> None:
    for name, said in (
        ("pm-grant-stderr.txt", "java.lang.SecurityException: grantRuntimePermission: Neither user 2000"),
        ("settings-put-stderr.txt", "java.lang.SecurityException: Permission denial: writing to settings requires"),
    ):
        reason = parse.parse_failure((FIELD / "16-xiaomi-grants" / name).read_text(), 255)
        assert reason.startswith(said)
        assert "\n" not in reason
