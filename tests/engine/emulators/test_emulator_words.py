"""Everything that is decided without a process: AVD files, names, choices, command lines, what tools say."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.adb.binary import usual_sdks
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.emulators import avds, console, lifecycle, provision, tool_errors
from clawperator.engine.emulators.avds import Avd, avd_home, describe, is_name, parse_ini, read_avd, read_ini, recipe
from clawperator.engine.emulators.image import is_listed
from clawperator.engine.emulators.limits import Limits
from clawperator.engine.emulators.manager import listed_names
from clawperator.engine.emulators.running import RunningEmulator, Scanner
from clawperator.engine.emulators.sdk import Sdk, ToolResult
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import JobProgress
from tests.engine.emulators.conftest import Heard
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "avd"
FIELD = DATA.parent / "field"
ARM = ("arm64-v8a",)
ALL_REASONS = ("missing_play_store", "unsupported_api_level", "unsupported_abi", "unsupported_device_profile")
SUPPORTED = {
    "PlayStore.enabled": "true",
    "abi.type": "arm64-v8a",
    "hw.device.name": "pixel_7",
    "image.sysdir.1": "system-images/android-35/google_apis_playstore/arm64-v8a/",
    "tag.id": "google_apis_playstore",
}


def captured(name: str) -> dict[str, str]:
    return read_ini(str(DATA / name))


# -- INI


@pytest.mark.parametrize(
    ("machine", "abi"),
    [("x86_64", "x86_64"), ("AMD64", "x86_64"), ("aarch64", "arm64-v8a"), ("arm64", "arm64-v8a")],
)
def test_the_default_abi_is_one_that_runs_here(machine: str, abi: str) -> None:
    assert avds.machine_abi(machine) == abi


def test_ini_lines() -> None:
    text = "\ufeff# a comment\n\n a = b = c \r\nempty=\n=no key\nno equals\n  #x=1\na=last\rold.mac=1\nu=a\u2028b"
    assert parse_ini(text) == {"a": "last", "empty": "", "old.mac": "1", "u": "a\u2028b"}


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")))
@example(b"\xff\xfe\x00")
def test_no_bytes_are_too_odd_for_an_ini_file(data: bytes) -> None:
    values = parse_ini(data.decode(errors="replace"))
    assert all(key and key == key.strip() and value == value.strip() for key, value in values.items())
    made = describe("x", values, values, ARM)
    assert made.supported == (made.unsupported_reasons == ())
    assert made.exists == bool(values)
    assert list(made.to_dict()) == list(Avd("x").to_dict())


keys = st.text(st.characters(exclude_characters="=\r\n#", codec="utf-8"), min_size=1).map(str.strip)


@given(st.lists(st.tuples(keys.filter(bool), st.text(st.characters(exclude_characters="\r\n", codec="utf-8")))))
def test_what_is_written_is_read_and_the_last_one_wins(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in pairs)
    expected = {key.removeprefix("\ufeff").strip(): value.strip() for key, value in pairs}
    assert {key.removeprefix("\ufeff").strip(): value for key, value in parse_ini(text).items()} == expected


@given(st.dictionaries(st.sampled_from([*SUPPORTED, "target"]), st.text(max_size=40)), st.text(max_size=40))
@example({"target": "android-" + "9" * 5000}, "")
@example({"image.sysdir.1": "////"}, "android-٣٥")
def test_no_value_is_too_odd_for_an_avd(config: dict[str, str], target: str) -> None:
    made = describe("x", config, {"target": target}, ARM)
    assert [reason for reason in ALL_REASONS if reason in made.unsupported_reasons] == list(made.unsupported_reasons)


def test_files_that_cannot_be_read_are_empty(tmp_path: Path) -> None:
    (tmp_path / "folder.avd" / "config.ini").mkdir(parents=True)
    (tmp_path / "huge.avd").mkdir()
    (tmp_path / "huge.avd" / "config.ini").write_bytes(b"a=b\n" * (avds.MAX_INI_BYTES // 4 + 1))
    (tmp_path / "pipe.avd").mkdir()
    os.mkfifo(tmp_path / "pipe.avd" / "config.ini")
    for name in ("folder", "huge", "pipe", "nothing", "../nothing", "x\0y", ""):
        assert read_avd(str(tmp_path), name, ARM) == Avd(name)
    assert Avd("x").unsupported_reasons == ALL_REASONS


def test_an_avd_of_which_only_the_pointer_is_there(tmp_path: Path) -> None:
    (tmp_path / "half.ini").write_text("target=android-35\n")
    half = read_avd(str(tmp_path), "half", ARM)
    assert (half.exists, half.api_level, half.abi) == (True, 35, None)
    assert half.unsupported_reasons == ("missing_play_store", "unsupported_abi", "unsupported_device_profile")


# -- AVDs


@pytest.mark.parametrize(
    ("name", "api_level", "abi", "play_store", "profile", "image"),
    [
        ("avdmanager-1", 28, "x86", False, None, "system-images;android-28;google_apis;x86"),
        ("nexus-5x-api-24", 24, "x86", True, "Nexus 5X", "system-images;android-24;google_apis;x86"),
        ("pixel-2-api-28", 28, "x86", False, "pixel_2", "system-images;android-28;google_apis;x86"),
    ],
)
def test_captured_avds(name: str, api_level: int, abi: str, play_store: bool, profile: str | None, image: str) -> None:
    made = describe(name, captured(f"avd-{name}-config.ini"), captured(f"avd-{name}-pointer.ini"), ARM)
    assert made.exists
    assert (made.api_level, made.abi, made.play_store) == (api_level, abi, play_store)
    assert (made.device_profile, made.system_image) == (profile, image)
    assert made.unsupported_reasons == ALL_REASONS


def test_an_avd_of_newer_tools() -> None:
    made = describe("Medium_Phone_API_35", captured("avd-config-spaces-around-equals.ini"), {}, ARM)
    assert made.to_dict() == {
        "name": "Medium_Phone_API_35",
        "exists": True,
        "running": False,
        "apiLevel": 35,
        "abi": "arm64-v8a",
        "playStore": True,
        "deviceProfile": None,
        "systemImage": "system-images;android-35;google_apis_playstore;arm64-v8a",
        "supported": False,
        "unsupportedReasons": ["unsupported_device_profile"],
    }


@table(
    ("change", "reasons"),
    [
        ({}, ()),
        ({"PlayStore.enabled": "no", "tag.id": ""}, ()),  # the image says it
        ({"image.sysdir.1": ""}, ("missing_play_store", "unsupported_api_level")),
        ({"image.sysdir.1": "system-images/android-35/google_apis/arm64-v8a"}, ("missing_play_store",)),
        ({"image.sysdir.1": "system-images\\android-35\\google_apis_playstore\\arm64-v8a\\"}, ()),
        ({"target": "android-34"}, ("unsupported_api_level",)),
        ({"target": "Google Inc.:Google APIs:24"}, ()),
        ({"target": "android-35-ext15"}, ()),
        ({"abi.type": "x86_64"}, ("unsupported_abi",)),
        ({"abi.type": ""}, ("unsupported_abi",)),
        ({"hw.device.name": "pixel_8"}, ("unsupported_device_profile",)),
    ],
)
def test_compatibility(change: dict[str, str], reasons: tuple[str, ...]) -> None:
    assert describe("x", {**SUPPORTED, **change}, {}, ARM).unsupported_reasons == reasons


def test_the_settings_may_allow_more_abis() -> None:
    made = describe("x", {**SUPPORTED, "abi.type": "x86_64"}, {}, ("arm64-v8a", "x86_64"))
    assert made.supported


def test_every_reason_has_words() -> None:
    assert [avds.required(reason, ("arm64-v8a", "x86_64")) for reason in ALL_REASONS] == [
        "a system image with google_apis_playstore",
        "API level 35",
        "ABI arm64-v8a or x86_64",
        "device profile pixel_7",
    ]
    assert avds.required("news", ()) == ""


@table(
    ("env", "home"),
    [
        ({"HOME": "/h"}, "/h/.android/avd"),
        ({"HOME": "/h", "ANDROID_USER_HOME": "/u"}, "/u/avd"),
        ({"HOME": "/h", "ANDROID_USER_HOME": "/u", "ANDROID_AVD_HOME": "/a"}, "/a"),
        ({"HOME": "/h", "ANDROID_USER_HOME": "", "ANDROID_AVD_HOME": ""}, "/h/.android/avd"),
        ({"HOME": "/h", "ANDROID_EMULATOR_HOME": "/e", "ANDROID_SDK_HOME": "/s"}, "/e/avd"),
        ({"HOME": "/h", "ANDROID_PREFS_ROOT": "/p", "ANDROID_SDK_HOME": "/s"}, "/p/.android/avd"),
        ({"HOME": "/h", "ANDROID_SDK_HOME": "/s"}, "/s/.android/avd"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/nowhere"}, "/h/.android/avd"),
    ],
)
def test_where_the_avds_are(env: dict[str, str], home: str) -> None:
    assert avd_home(env) == home


def test_only_avdmanager_was_used_and_it_follows_xdg(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "config" / ".android" / "avd").mkdir(parents=True)
    assert avd_home(env) == str(tmp_path / "config" / ".android" / "avd")
    (tmp_path / "home" / ".android" / "avd").mkdir(parents=True)
    assert avd_home(env) == str(tmp_path / "home" / ".android" / "avd")


def test_the_tools_are_told_where_the_avds_are(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": "/x"}
    assert Sdk(env, avd_home=str(tmp_path)).env == {**env, "ANDROID_AVD_HOME": str(tmp_path)}
    assert Sdk(env, avd_home=str(tmp_path / "absent")).env == env, "the tools complain about a folder that is not there"


@pytest.mark.parametrize(
    "pointer",
    [
        "path={home}/Pixel_7_API_35.avd\npath.rel=avd/other.avd\n",
        "path.rel=avd/Pixel_7_API_35.avd\n",
        "path=/home/somebody/.android/avd/Pixel_7_API_35.avd\npath.rel=avd/Pixel_7_API_35.avd\n",
        "path=/home/somebody/.android/avd/Pixel_7_API_35.avd\n",
        "path=C:\\Users\\somebody\\.android\\avd\\Pixel_7_API_35.avd\n",
    ],
    ids=["absolute", "relative", "of another home", "of another home alone", "of Windows"],
)
def test_a_renamed_avd_keeps_its_folder(tmp_path: Path, pointer: str) -> None:
    home = tmp_path / "avd"
    shutil.copytree(FIELD / "28-renamed-avd" / "avd", home)
    (home / "work_phone.ini").write_text(f"target=android-35\n{pointer.format(home=home)}")
    avd = avds.read_avd(str(home), "work_phone", ("x86_64",))
    assert (avd.exists, avd.supported, avd.abi, avd.device_profile) == (True, True, "x86_64", "pixel_7")
    assert avds.avd_folder(str(home), "work_phone", {}) == str(home / "work_phone.avd")


@pytest.mark.parametrize(
    ("name", "level", "image"),
    [
        ("nix", 35, "system-images;android-35;google_apis_playstore;x86_64"),
        ("qpr1", 36, "system-images;android-36.1;google_apis_playstore_ps16k;x86_64"),
        ("ext14", 35, "system-images;android-35-ext14;google_apis_playstore;x86_64"),
    ],
)
def test_minor_levels_and_absolute_images(name: str, level: int, image: str) -> None:
    avd = avds.read_avd(str(FIELD / "32-minor-api-level-and-absolute-image" / "avd"), name, ("x86_64",))
    assert (avd.api_level, avd.system_image) == (level, image)


@table(
    ("folder", "image"),
    [
        (
            r"C:\\Android\\Sdk\\system-images\\android-35\\google_apis\\x86_64\\",
            "system-images;android-35;google_apis;x86_64",
        ),
        (
            "/opt/android-13/sdk/system-images/android-35/google_apis/x86_64",
            "system-images;android-35;google_apis;x86_64",
        ),
        ("./system-images//android-35/default/arm64-v8a/", "system-images;android-35;default;arm64-v8a"),
        ("/opt/images/android-35/", None),
        ("/x/my-system-images/a/b/c", None),
        ("", None),
    ],
)
def test_paths_of_system_images(folder: str, image: str | None) -> None:
    avd = avds.describe("x", {"image.sysdir.1": folder}, {}, ())
    assert avd.system_image == image
    assert avd.api_level == (35 if "android-35" in folder else None)


@given(st.text(max_size=20))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    if is_name(name):
        assert os.path.dirname(os.path.normpath(f"/avds/{name}.avd")) == "/avds"
        assert os.path.dirname(os.path.normpath(f"/avds/{name}.ini")) == "/avds"
        assert not name.startswith("-")


def test_names_among_log_lines() -> None:
    text = (DATA / "emulator-list-avds-with-log-lines.txt").read_text()
    assert listed_names(text) == ["Medium_Phone_API_35", "Pixel_2_API_28"]
    more = "\n a \r\nWARNING\nHAXM is working\nINFO\nx/y\nb\na\n-c\n"
    assert listed_names(more) == ["a", "b"]


# -- command lines


def test_command_lines() -> None:
    made = recipe("mine", ARM)
    image = "system-images;android-35;google_apis_playstore;arm64-v8a"
    assert lifecycle.create_arguments(made) == [
        *("create", "avd", "--force", "--name", "mine"),
        *("--package", image, "--device", "pixel_7"),
    ]
    assert lifecycle.start_arguments("mine") == ["@mine", "-no-snapshot-load", "-no-boot-anim"]
    assert lifecycle.delete_arguments("mine") == ["delete", "avd", "--name", "mine"]
    assert recipe("mine", ("x86_64", "arm64-v8a")).image.endswith(";x86_64")
    assert recipe("mine", ARM, abi="x86").image.endswith(";x86")
    other = recipe("mine", ARM, api_level=34, play_store=False, device_profile='7.4" Rollable (x)')
    assert (other.image, other.profile) == ("system-images;android-34;google_apis;arm64-v8a", '7.4" Rollable (x)')


@table(
    ("chosen", "path"),
    [
        ({"api_level": 0}, "apiLevel"),
        ({"abi": "x86;rm"}, "abi"),
        ({"abi": "-x"}, "abi"),
        ({"abi": ""}, "abi"),
        ({"device_profile": "--force"}, "deviceProfile"),
        ({"device_profile": ""}, "deviceProfile"),
    ],
)
def test_values_that_no_avd_has(chosen: dict[str, object], path: str) -> None:
    with pytest.raises(EngineError) as caught:
        recipe("mine", ARM, **chosen)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.details["path"]) == (ErrorCode.EXECUTION_VALIDATION_FAILED, path)


def test_the_limits_of_the_contract() -> None:
    limits = Limits()
    assert (limits.register, limits.boot, limits.poll) == (60, 180, 2)
    assert (limits.list_names, limits.list_images, limits.licences, limits.create, limits.delete) == (
        10,
        30,
        120,
        120,
        60,
    )
    assert (limits.install_image, limits.booting, limits.vanish, limits.tool_help) == (1800, 10, 20, 5)


def test_where_the_tools_are(tmp_path: Path) -> None:
    sdk = tmp_path / "sdk"
    (sdk / "emulator").mkdir(parents=True)
    (sdk / "emulator" / "emulator").touch()
    found = Sdk({"ANDROID_SDK_ROOT": str(sdk), "ANDROID_HOME": "", "AVDMANAGER_PATH": "/x/avdmanager"})
    assert found.path("emulator") == str(sdk / "emulator" / "emulator")
    assert found.path("avdmanager") == "/x/avdmanager"
    assert found.path("sdkmanager") == "sdkmanager"
    assert Sdk({"ANDROID_HOME": "/nowhere", "ANDROID_SDK_ROOT": str(sdk)}).path("emulator") == found.path("emulator")
    assert Sdk({"ANDROID_HOME": "/nowhere", "HOME": str(tmp_path)}).path("emulator") == "emulator"
    for place in (
        "tools/bin",
        "cmdline-tools/bin",
        "cmdline-tools/9.0/bin",
        "cmdline-tools/19.0/bin",
    ):  # the later ones are preferred
        (sdk / place).mkdir(parents=True)
        (sdk / place / "sdkmanager").touch()
        assert Sdk({"ANDROID_HOME": str(sdk)}).path("sdkmanager") == str(sdk / place / "sdkmanager")
    home = tmp_path / "home"
    usual = usual_sdks({"HOME": str(home), "PATH": ""})[0]
    usual.parent.mkdir(parents=True)
    usual.symlink_to(sdk)
    (elsewhere := tmp_path / "bin").mkdir()
    (sdk / "platform-tools").mkdir()
    (sdk / "platform-tools" / "adb").touch(0o755)
    (linked := tmp_path / "linked").mkdir()
    (linked / "adb").symlink_to(sdk / "platform-tools" / "adb")
    by_adb = Sdk({"HOME": str(tmp_path), "PATH": str(linked)})
    assert by_adb.path("emulator") == found.path("emulator"), "adb leads to its SDK"
    at_home = Sdk({"HOME": str(home), "PATH": str(elsewhere)})
    assert at_home.path("emulator") == str(usual / "emulator" / "emulator")
    (elsewhere / "emulator").touch(0o755)
    assert at_home.path("emulator") == "emulator", "the PATH is preferred"
    latest = sdk / "cmdline-tools" / "latest" / "bin"
    latest.mkdir(parents=True)
    (latest / "sdkmanager").touch()
    assert Sdk({"ANDROID_HOME": str(sdk)}).path("sdkmanager") == str(latest / "sdkmanager")


# -- choices


def an_avd(name: str, *, supported: bool = True) -> Avd:
    return Avd(name, exists=True, unsupported_reasons=() if supported else ALL_REASONS)


def an_emulator(name: str, *, supported: bool = True, booted: bool = True) -> RunningEmulator:
    return RunningEmulator(name, f"emulator-{name}", booted, () if supported else ALL_REASONS)


@table(
    ("running", "chosen"),
    [
        ([], None),
        ([an_emulator("a", supported=False)], None),
        ([an_emulator("b"), an_emulator("a")], "b"),
        ([an_emulator("b"), an_emulator("wanted")], "wanted"),
        ([an_emulator("b"), an_emulator("wanted", booted=False)], "wanted"),
        ([an_emulator("wanted", supported=False), an_emulator("b")], "b"),
    ],
)
def test_which_running_one_is_reused(running: list[RunningEmulator], chosen: str | None) -> None:
    found = provision.choose_running(running, "wanted")
    assert (found.avd_name if found else None) == chosen


@pytest.mark.parametrize(
    ("configured", "chosen"),
    [
        ([], None),
        ([an_avd("a", supported=False)], None),
        ([an_avd("c"), an_avd("b")], "b"),
        ([an_avd("c"), an_avd("wanted"), an_avd("a")], "wanted"),
        ([an_avd("wanted", supported=False), an_avd("c")], "c"),
    ],
)
def test_which_configured_one_is_started(configured: list[Avd], chosen: str | None) -> None:
    found = provision.choose_configured(configured, "wanted")
    assert (found.name if found else None) == chosen


def test_what_stands_in_the_way_is_not_overwritten() -> None:
    provision.refuse_unsupported(Avd("x"))
    provision.refuse_unsupported(an_avd("x"))
    with pytest.raises(EngineError) as caught:
        provision.refuse_unsupported(an_avd("x", supported=False))
    assert caught.value.details == {"name": "x", "unsupportedReasons": list(ALL_REASONS)}


# -- what tools say


@table(
    ("text", "sentence"),
    [
        ("Warning: An error occurred while preparing SDK package X: No space left on device.", "the disk is full"),
        ("Warning: License for package X not accepted.", "the licenses were not accepted"),
        ("Skipping following packages as the license is not accepted:", "the licenses were not accepted"),
        ("Warning: Failed to find package 'system-images;x'", "the system image does not exist"),
        ("Error: Package path is not valid. Valid system image paths are:null", "the system image does not exist"),
        ("Error: Android Virtual Device 'x' already exists.", "the name is already in use"),
        ("Warning: Failed to download any source lists!", "the download failed"),
        (
            "ERROR: JAVA_HOME is not set and no 'java' command could be found in your PATH.",
            "a suitable Java runtime is missing",
        ),
        ("ERROR   | x86_64 emulation currently requires hardware acceleration!", "hardware acceleration is missing"),
        (
            "This user doesn't have permissions to use KVM (/dev/kvm).",
            "hardware acceleration is missing",
        ),
        ("qt.qpa.xcb: could not connect to display", "its window has no display"),
        ("PANIC: Broken AVD system path. Check your ANDROID_SDK_ROOT value [/x]!", "its files are incomplete"),
        ("Warning: Failed to read or create install properties file.", "a folder cannot be written"),
        ("/usr/lib/android-sdk/licenses (Permission denied)", "a folder cannot be written"),
        ("javax.net.ssl.SSLHandshakeException: PKIX path building failed", "the download failed"),
        ("All SDK package licenses accepted", None),
        ("Warning: This version only understands SDK XML versions up to 3 but an SDK XML file of version 4", None),
        ("", None),
    ],
)
def test_known_misfortunes(text: str, sentence: str | None) -> None:
    found = tool_errors.known_error(text)
    assert (found.summary if found else None) == sentence


@pytest.mark.parametrize(
    ("ran", "message"),
    [
        (ToolResult(1, "out", "\nerr\n"), "err"),
        (ToolResult(1, "a\nthe last line\n", " \n"), "tool failed: the last line"),
        (ToolResult(3, "", ""), "tool failed: exit code 3"),
        (ToolResult(0, "No space left on device\nend", ""), "tool: the disk is full: No space left on device"),
        (
            ToolResult(0, "License for package X not accepted\nend", "Warning: SDK XML"),
            "tool: the licenses were not accepted: License for package X not accepted",
        ),
    ],
)
def test_complaints(ran: ToolResult, message: str) -> None:
    assert tool_errors.failure_message("tool", ran) == message


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("requires-jdk-17.txt", "This tool requires JDK 17 or later. Your version was detected as 11.0.26."),
        (
            "jaxb-missing.txt",
            'Exception in thread "main" java.lang.NoClassDefFoundError: javax/xml/bind/annotation/XmlSchema',
        ),
        (
            "unsupported-class-version.txt",
            "java.lang.UnsupportedClassVersionError: com/android/sdklib/tool/sdkmanager/SdkManagerCli",
        ),
    ],
)
def test_java_of_the_wrong_age(file: str, line: str) -> None:
    text = (FIELD / "30-java-of-the-wrong-age" / file).read_text()
    for ran in (ToolResult(1, text, ""), ToolResult(1, "", text), ToolResult(0, text, "")):
        message = tool_errors.failure_message("sdkmanager", ran)
        assert message.startswith(f"sdkmanager: a suitable Java runtime is missing: {line}")
        assert "\n" not in message
        assert (tool_errors.failure_hint(ran) or "").startswith("Install Java 17 or newer, or set JAVA_HOME.")


@table(
    "text",
    [
        'Exception in thread "main" java.lang.UnsupportedClassVersionError: x (class file version 55.0), up to 52.0',
        "The operation couldn’t be completed. Unable to locate a Java Runtime.",
        "No Java runtime present, requesting install.",
        "'java' is not recognized as an internal or external command,",
        "Error: could not find libjava.so",
        'Exception in thread "main" java.lang.UnsupportedClassVersionError: x : Unsupported major.minor version 52.0',
        "Error: Could not create the Java Virtual Machine.",
        "/opt/sdk/cmdline-tools/latest/bin/sdkmanager: line 174: java: command not found",
    ],
)
def test_other_words_of_java(text: str) -> None:
    assert tool_errors.failure_hint(ToolResult(1, text, "")) == "Install Java 17 or newer, or set JAVA_HOME."


def test_a_trace_is_no_message() -> None:
    trace = 'Exception in thread "main" java.io.IOException: oops\n\tat com.a.B.<init>(B.java:1)\n\t... 5 more\n'
    assert (
        tool_errors.failure_message("t", ToolResult(1, "", trace))
        == 'Exception in thread "main" java.io.IOException: oops'
    )
    assert tool_errors.failure_message("t", ToolResult(1, "", "\tat com.a.B.c(B.java:1)\n")) == "t failed: exit code 1"


@given(st.text(), st.text(), st.integers(-64, 255))
def test_every_tool_that_fails_has_a_message(stdout: str, stderr: str, exit_code: int) -> None:
    assert tool_errors.failure_message("tool", ToolResult(exit_code, stdout, stderr)).strip()


def test_an_image_is_listed_only_under_its_whole_name() -> None:
    listing = (
        "  system-images;android-34;google_apis;x86_64 | 8 | Intel | place\r\n  system-images;android-34;default;x86\n"
    )
    assert is_listed("system-images;android-34;google_apis;x86_64", listing)
    assert is_listed("system-images;android-34;default;x86", listing)
    assert not is_listed("system-images;android-34;google_apis;x86", listing)


# -- stages


def test_a_stage_ends_once_whatever_happens(heard: Heard) -> None:
    reported = JobProgress("start", heard)
    with reported.stage("a", 2.0) as stage:
        stage.line("[===   ] 150% of it")
        stage.result = "x" * 10_000
    with pytest.raises(ZeroDivisionError), reported.stage("b", left=lambda _: "its process is stopped"):
        raise ZeroDivisionError
    with pytest.raises(asyncio.CancelledError), reported.stage("c"):
        raise asyncio.CancelledError
    reported.skipped("d", "e")
    assert heard.ends == [("a", "done"), ("b", "failed"), ("c", "failed"), ("d", "skipped"), ("e", "skipped")]
    assert heard.messages("b") == ["ZeroDivisionError; its process is stopped"]
    assert heard.messages("c") == ["cancelled"]
    assert [(stage.fraction, stage.limit_ms) for stage in heard if stage.name == "a"][1] == (1.0, 2000)
    assert heard.messages("a")[0] == "of it"
    assert len(heard.messages("a")[-1]) == 500


# -- the console


async def scripted(answers: list[bytes], serial_of: list[str], env: dict[str, str], command: str) -> list[str]:
    """Ask a console that sends ``answers``, one at once and one after each line, and then hangs up."""
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answers[0])
        for answer in answers[1:]:
            received.append(await reader.readline())
            writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        serial = f"emulator-{server.sockets[0].getsockname()[1]}"
        serial_of.append(serial)
        try:
            return await console.ask(serial, command, env, timeout=20)
        finally:
            serial_of += [line.decode().strip() for line in received]


AUTH = (DATA / "emulator-console-auth-required.txt").read_bytes()


async def test_the_console_wants_its_token(tmp_path: Path) -> None:
    (tmp_path / ".emulator_console_auth_token").write_text("s3cret\n")
    asked: list[str] = []
    env = {"HOME": str(tmp_path)}
    assert await scripted([AUTH, b"Android Console: help\r\nOK\r\n", b"OK: bye\r\n"], asked, env, "kill") == []
    assert asked[1:] == ["auth s3cret", "kill"]
    assert await scripted([AUTH, b"Medium_Phone_API_35\r\nOK\r\n"], asked, env, "avd name") == ["Medium_Phone_API_35"]
    assert asked[-1] == "avd name"


async def test_the_console_may_hang_up_when_it_is_killed() -> None:
    assert await scripted([b"OK\r\n", b""], [], {"HOME": "/nowhere"}, "kill") == []


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([b"OK\r\n", b"KO: unknown command\r\n"], "KO: unknown command"),
        ([b"OK\r\n", b"half an ans"], "expected"),
        ([b""], "expected"),
        ([b"x" * 10_000], "limit"),
        ([b"x\n" * 1000], "more than 200 lines"),
        ([b"\0\xff\xfe\n" * 2], "expected"),
    ],
)
async def test_a_console_that_does_not_answer(answers: list[bytes], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        await scripted(answers, [], {"HOME": "/nowhere"}, "avd name")
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE
    assert words in caught.value.message


async def test_a_console_that_is_silent_or_absent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        serial = f"emulator-{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=r"no answer within 0\.05 s"):
            await console.ask(serial, "avd name", {}, timeout=0.05)
    for other in (serial, "emulator-", "emulator-99999", "emulator-٣", "emulator-123456", "192.0.2.1:5555"):
        with pytest.raises(EngineError):
            await console.ask(other, "avd name", {}, timeout=5)


async def test_nothing_is_known_before_adb_has_sent_a_list() -> None:
    """An emulator that was stopped is not gone because adb is slow to answer."""
    entry = DeviceEntry("emulator-5554", "device")

    class Slow(AdbServer):
        async def track_devices(self, **_: Any) -> AsyncGenerator[tuple[DeviceEntry, ...]]:
            await asyncio.sleep(0.1)  # five times the time after which a list is given again
            yield (entry,)
            await asyncio.Event().wait()

    scanner = Scanner(Slow("localhost", 1), {}, "", (), Limits(poll=0.02))
    async with aclosing(scanner.lists()) as lists:
        assert [await anext(lists) for _ in range(2)] == [(entry,), (entry,)]
