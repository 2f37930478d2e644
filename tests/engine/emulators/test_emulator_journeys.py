"""The real adb server, the fake SDK's real processes and simulated devices: from nothing to a running emulator and back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.emulators.avds import DEFAULT_NAME
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.engine.emulators.stages import STAGES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import Stage
from tests.engine.emulators.conftest import LIMITS, PATIENT, eventually
from tests.sdk.tree import IMAGE

if TYPE_CHECKING:
    from tests.engine.emulators.conftest import Heard, Manage
    from tests.sdk.tree import FakeSdk

pytestmark = pytest.mark.adb

FLAGS = ["-no-snapshot-load", "-no-boot-anim"]


async def refused(work: Awaitable[Any]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await work
    return caught.value


async def nothing_lives(sdk: FakeSdk) -> None:
    """They have been killed; those that are no children of ours may take a moment to be gone."""
    await eventually(lambda: not sdk.alive())


async def global_setting(manager: EmulatorManager, serial: str, name: str) -> str:
    server: AdbServer = manager._scanner.server
    return (await AdbDevice(server, serial).shell(["settings", "get", "global", name])).text.strip()


async def test_from_nothing_to_a_running_emulator_and_back(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    manager = manage()
    plan = await manager.plan()
    assert (plan.kind, plan.name) == ("create", DEFAULT_NAME)
    assert IMAGE in plan.summary

    done = await manager.provision(on_progress=heard)

    assert done.to_dict() == {
        "type": "emulator",
        "avdName": DEFAULT_NAME,
        "serial": done.serial,
        "booted": True,
        "created": True,
        "started": True,
        "reused": False,
    }
    assert [name for name, _ in heard.ends] == list(STAGES)
    assert {state for _, state in heard.ends} == {"done"}
    assert all(stage.job == "provision" for stage in heard)
    assert 1.0 in [stage.fraction for stage in heard if stage.name == "install_image"]
    assert sdk.calls("sdkmanager") == [["--list_installed"], ["--licenses"], [IMAGE]]
    assert sdk.records("sdkmanager answers")[0]["arguments"] == ["y", "y", "y"]
    assert sdk.calls("avdmanager") == [
        ["create", "avd", "--force", "--name", DEFAULT_NAME, "--package", IMAGE, "--device", "pixel_7"]
    ]
    assert sdk.records("avdmanager answers")[0]["arguments"] == ["no\n"]
    assert ["@clawperator-pixel", *FLAGS] in sdk.calls("emulator")
    for name in ("development_settings_enabled", "adb_enabled"):
        assert await global_setting(manager, done.serial, name) == "1"

    (running,) = await manager.status()
    assert running.to_dict() == {
        "type": "emulator",
        "avdName": DEFAULT_NAME,
        "serial": done.serial,
        "booted": True,
        "supported": True,
        "unsupportedReasons": [],
    }
    assert [(avd.name, avd.running, avd.supported) for avd in await manager.avds()] == [(DEFAULT_NAME, True, True)]
    assert (await manager.inspect(DEFAULT_NAME)).running

    for work in (manager.start(DEFAULT_NAME), manager.delete(DEFAULT_NAME), manager.create(force=True)):
        error = await refused(work)
        assert error.code is ErrorCode.EMULATOR_ALREADY_RUNNING
        assert error.details == {"name": DEFAULT_NAME, "serial": done.serial}

    again = await manager.provision("another", on_progress=(second := type(heard)()))
    assert (again.serial, again.created, again.started, again.reused) == (done.serial, False, False, True)
    assert [name for name, _ in second.ends] == list(STAGES)
    assert [name for name, state in second.ends if state == "skipped"] == list(STAGES[2:8])
    assert (await manager.plan("another")).kind == "reuse"

    stopped = await manager.stop(DEFAULT_NAME, on_progress=heard)
    assert stopped.to_dict() == {"ok": True, "avdName": DEFAULT_NAME, "stopped": True}
    assert await manager.status() == ()
    assert (await refused(manager.stop(DEFAULT_NAME))).code is ErrorCode.EMULATOR_NOT_RUNNING
    assert (await manager.plan("another")).summary == f"start stopped {DEFAULT_NAME}"

    await manager.delete(DEFAULT_NAME)
    assert sdk.calls("avdmanager")[-1] == ["delete", "avd", "--name", DEFAULT_NAME]
    assert (await refused(manager.delete(DEFAULT_NAME))).code is ErrorCode.EMULATOR_NOT_FOUND
    assert await manager.avds() == ()


async def test_what_is_configured_is_started_and_outlives_who_waited(
    sdk: FakeSdk, manage: Manage, heard: Heard
) -> None:
    sdk.add_avd("zebra")
    sdk.add_avd("ape")
    sdk.add_avd("aardvark", level=34)
    sdk.fails("named_by_console")
    manager = manage()
    done = await manager.provision(on_progress=heard)
    assert (done.avd_name, done.created, done.started, done.reused) == ("ape", False, True, True)
    assert [name for name, state in heard.ends if state == "skipped"] == ["install_image", "create_avd"]
    (up,) = sdk.records("emulator up")
    assert up["arguments"] == [done.serial]
    assert up["group"] == up["pid"]  # a process group of its own: no Ctrl-C of ours reaches it
    assert os.getsid(up["pid"]) == up["pid"]
    assert sdk.calls("sdkmanager") == []


@pytest.mark.ci
async def test_an_emulator_that_is_just_booting_is_waited_for_and_not_started_twice(
    sdk: FakeSdk, manage: Manage, heard: Heard
) -> None:
    sdk.add_avd("ape")
    sdk.fails("stays_offline", "never_boots")
    first = asyncio.ensure_future(manage().start("ape"))
    serial = await listed_emulator(sdk, manage())

    def on_progress(stage: Stage) -> None:
        heard(stage)
        if (stage.name, stage.state) == ("scan_running", "running") and serial in stage.message:
            sdk.fails("never_boots")
        if (stage.name, stage.state) == ("wait_boot", "running"):
            sdk.fails()

    second = await manage().provision(on_progress=on_progress)
    assert (second.avd_name, second.started, second.reused) == ("ape", False, True)
    assert ("wait_boot", "done") in heard.ends
    assert (await first).serial == second.serial == serial
    assert len(sdk.records("emulator up")) == 1


async def test_an_emulator_that_boots_for_long_is_not_started_twice_either(
    sdk: FakeSdk, manage: Manage, heard: Heard
) -> None:
    """The wait for offline emulators is over, and the AVD that would be started turns out to be the one that boots."""
    sdk.add_avd("ape")
    sdk.fails("stays_offline")
    first = asyncio.ensure_future(manage().start("ape"))
    serial = await listed_emulator(sdk, manage())

    def on_progress(stage: Stage) -> None:
        heard(stage)
        if (stage.name, stage.state) == ("wait_adb", "running"):
            sdk.fails()

    second = await manage(replace(LIMITS, booting=0.05)).provision(on_progress=on_progress)
    assert (second.serial, second.started, second.reused) == (serial, False, True)
    assert [name for name, _ in heard.ends] == list(STAGES)
    assert (await first).serial == serial
    assert len(sdk.records("emulator up")) == 1


async def listed_emulator(sdk: FakeSdk, manager: EmulatorManager) -> str:
    """The serial of the one emulator that has been started, as soon as adb lists it in any state."""
    (up,) = await eventually(lambda: sdk.records("emulator up"))
    (serial,) = up["arguments"]
    async with aclosing(manager._scanner.server.track_devices()) as lists:
        async for entries in lists:
            if any(entry.serial == serial for entry in entries):
                break
    return str(serial)


@pytest.mark.ci
async def test_one_that_boots_is_known_by_its_console(sdk: FakeSdk, manage: Manage) -> None:
    """Offline in adb's list it can be neither started again nor deleted, but stopped."""
    sdk.add_avd("ape")
    sdk.fails("stays_offline")
    manager = manage()
    starting = asyncio.ensure_future(manager.start("ape"))
    serial = await listed_emulator(sdk, manager)
    assert await manager.status() == ()
    error = await refused(manager.start("ape"))
    assert (error.code, error.details["serial"]) == (ErrorCode.EMULATOR_ALREADY_RUNNING, serial)
    assert f"unless {serial}" in (await manager.plan()).summary
    assert (await manager.stop("ape")).serial == serial
    assert (await refused(starting)).details == {"name": "ape", "exitCode": 0}


# -- what goes wrong


@pytest.mark.parametrize(
    ("fault", "code", "message", "hint"),
    [
        ("images_unreadable", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", "NullPointerException", "Check network"),
        ("licence_refused", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", "licenses not accepted", "sdkmanager --licenses"),
        (
            "licence_forgotten",
            "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED",
            "licenses were not accepted",
            "sdkmanager --licenses",
        ),
        ("disk_full", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", "No space left on device", "Free several gigabytes"),
        ("image_missing", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", "Failed to find package", "sdkmanager --list"),
        ("no_network", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", "Failed to download", "Check the network"),
        ("create_fails", "ANDROID_AVD_CREATE_FAILED", "not writable", "Let this user write"),
        ("writes_nothing", "ANDROID_AVD_CREATE_FAILED", "is not in", "ANDROID_AVD_HOME"),
    ],
)
@pytest.mark.ci
async def test_creating_fails(
    sdk: FakeSdk, manage: Manage, heard: Heard, fault: str, code: str, message: str, hint: str
) -> None:
    sdk.fails(fault)
    error = await refused(manage().create("mine", on_progress=heard))
    assert error.code == code
    assert message in error.message
    assert hint in error.hint
    expected = {"systemImage": IMAGE}
    if code == "ANDROID_AVD_CREATE_FAILED":
        expected |= {"name": "mine", "deviceProfile": "pixel_7"}
    assert error.details == expected
    assert heard[-1].state == "failed"
    assert heard[-1].message == error.message[:500]
    assert not (sdk.avds / "mine.ini").exists()


async def test_an_avd_is_overwritten_only_when_that_is_asked_for(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine", level=30)
    manager = manage()
    error = await refused(manager.create("mine"))
    assert error.code is ErrorCode.ANDROID_AVD_CREATE_FAILED
    assert "already exists" in error.message
    assert "--force" in error.hint
    assert error.details == {"name": "mine", "systemImage": IMAGE, "deviceProfile": "pixel_7"}
    assert sdk.records() == []
    assert (await manager.create("mine", force=True)).supported

    sdk.fails("name_exists")  # the tool itself may still refuse
    error = await refused(manager.create("mine", force=True))
    assert error.code is ErrorCode.ANDROID_AVD_CREATE_FAILED
    assert "already exists" in error.message


async def test_avdmanager_and_emulator_agree_where_xdg_is_set(sdk: FakeSdk, manage: Manage, tmp_path: Path) -> None:
    """By itself, avdmanager writes below ``XDG_CONFIG_HOME``, and the emulator looks into ``~/.android``."""
    for folder in (sdk.avds, sdk.avds.parent):
        folder.rmdir()
    manager = manage(env={"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert (await manager.create("ci_phone")).exists
    assert (sdk.avds / "ci_phone.ini").exists()
    assert [avd.name for avd in await manager.avds()] == ["ci_phone"]
    await manager.delete("ci_phone")
    assert not (await manager.inspect("ci_phone")).exists


async def test_own_parameters(sdk: FakeSdk, manage: Manage) -> None:
    avd = await manage().create("plain", api_level=34, abi="x86", device_profile="pixel_6", play_store=False)
    image = "system-images;android-34;google_apis;x86"
    assert sdk.calls("avdmanager")[0][5:] == ["--package", image, "--device", "pixel_6"]
    assert avd.to_dict() == {
        "name": "plain",
        "exists": True,
        "running": False,
        "apiLevel": 34,
        "abi": "x86",
        "playStore": False,
        "deviceProfile": "pixel_6",
        "systemImage": image,
        "supported": False,
        "unsupportedReasons": [
            "missing_play_store",
            "unsupported_api_level",
            "unsupported_abi",
            "unsupported_device_profile",
        ],
    }


async def test_an_image_that_is_there_is_not_downloaded_again(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    sdk.install()
    await manage().create("mine", on_progress=heard)
    assert sdk.calls("sdkmanager") == [["--list_installed"]]
    assert heard.messages("install_image")[-1] == "already installed"


async def test_deleting_fails(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    sdk.fails("delete_fails")
    error = await refused(manage().delete("mine"))
    assert error.code is ErrorCode.EMULATOR_DELETE_FAILED
    assert "Failed to delete" in error.message
    assert error.details == {"name": "mine"}


async def test_listing_fails(sdk: FakeSdk, manage: Manage) -> None:
    sdk.fails("list_fails")
    error = await refused(manage().avds())
    assert (error.code, "cannot read" in error.message) == (ErrorCode.UNKNOWN, True)


async def test_missing_tools(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    for tool in ("emulator", "avdmanager"):
        sdk.tool(tool).unlink()
    no_adb = {"EMULATOR_PATH": "/nowhere/emulator", "AVDMANAGER_PATH": str(sdk.home), "ADB_PATH": "/nowhere/adb"}
    error = await refused(manage(env=no_adb).provision(on_progress=heard))
    assert error.code is ErrorCode.ANDROID_SDK_TOOL_MISSING
    assert error.details == {"missingTools": ["adb", "emulator", "avdmanager"]}
    assert "adb, emulator, avdmanager" in error.message
    assert heard.ends == [("check_tools", "failed")]
    assert (await refused(manage(env=no_adb).avds())).details == {"missingTools": ["emulator"]}
    sdk.add_avd("mine")
    assert (await refused(manage(env=no_adb).start("mine"))).details == {"missingTools": ["emulator"]}
    assert (await refused(manage(env=no_adb).delete("mine"))).details == {"missingTools": ["avdmanager"]}
    no_manager = {"SDKMANAGER_PATH": "/nowhere/sdkmanager"}
    assert (await refused(manage(env=no_manager).create("new"))).details == {
        "missingTools": ["sdkmanager", "avdmanager"]
    }
    assert (await refused(manage(env=no_adb).create("new"))).details == {"missingTools": ["avdmanager"]}
    assert sdk.calls("sdkmanager") == []  # nothing was downloaded before


@pytest.mark.parametrize(
    ("hanging", "limit", "work", "code"),
    [
        ("emulator", "list_names", "avds", "UNKNOWN"),
        ("sdkmanager", "list_images", "create", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED"),
        ("installing", "install_image", "create", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED"),
        ("avdmanager", "create", "create", "ANDROID_AVD_CREATE_FAILED"),
    ],
)
async def test_a_tool_that_does_not_end_is_ended(
    sdk: FakeSdk, manage: Manage, hanging: str, limit: str, work: str, code: str
) -> None:
    sdk.fails(f"{hanging}_hangs")
    limits: dict[str, Any] = {limit: 0.3}
    error = await refused(getattr(manage(replace(LIMITS, **limits)), work)())
    assert error.code == code
    assert "did not end within 0.3 s" in error.message
    await nothing_lives(sdk)  # the child neither


async def test_an_emulator_that_dies_at_once(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    sdk.add_avd("mine")
    sdk.fails("dies")
    error = await refused(manage().start("mine", on_progress=heard))
    assert error.code is ErrorCode.EMULATOR_START_FAILED
    assert error.details == {"name": "mine", "exitCode": 1}
    assert "PANIC: Broken AVD system path" in error.message
    assert "ANDROID_HOME" in error.hint
    assert (sdk.home / ".clawperator/logs/emulator-mine.log").read_text().count("PANIC") == 1
    assert heard.ends == [("start", "done"), ("wait_adb", "failed")]
    unwritable = manage(log_dir=str(sdk.tool("emulator")))
    assert "--log" in (await refused(unwritable.start("mine"))).hint
    log = sdk.home / "emulator.log"
    error = await refused(manage().start("mine", log=str(log)))
    assert "PANIC: Broken AVD system path" in error.message
    assert "PANIC" in log.read_text()
    assert (await refused(manage().start("mine", log=str(sdk.home)))).code is ErrorCode.FILE_NOT_WRITABLE


async def test_an_emulator_that_dies_while_it_boots(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    sdk.add_avd("mine")
    sdk.fails("never_boots")

    def on_progress(stage: Stage) -> None:
        heard(stage)
        if (stage.name, stage.state) == ("wait_boot", "running"):
            sdk.fails("dies_booting")

    error = await refused(manage().start("mine", on_progress=on_progress))
    assert (error.code, error.details) == (ErrorCode.EMULATOR_START_FAILED, {"name": "mine", "exitCode": 1})
    assert heard.ends[-1] == ("wait_boot", "failed")


@pytest.mark.parametrize("fault", ["never_registers", "stays_offline"])
async def test_an_emulator_that_adb_does_not_reach_is_stopped_again(
    sdk: FakeSdk, manage: Manage, heard: Heard, fault: str
) -> None:
    sdk.add_avd("mine")
    sdk.fails(fault)
    error = await refused(manage(replace(LIMITS, register=0.3)).start("mine", on_progress=heard))
    assert error.code is ErrorCode.EMULATOR_START_FAILED
    assert error.details == {"name": "mine", "timeoutMs": 300}
    assert "the emulator was stopped" in error.message
    assert "its process is stopped" in heard[-1].message
    await nothing_lives(sdk)


async def test_an_emulator_that_never_boots_is_stopped_again(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    sdk.add_avd("mine")
    sdk.fails("never_boots ignores_sigterm")
    error = await refused(manage(replace(LIMITS, boot=0.3, end=0.1)).start("mine", on_progress=heard))
    assert error.code is ErrorCode.EMULATOR_BOOT_TIMEOUT
    assert error.details == {"serial": sdk.records("emulator up")[0]["arguments"][0], "timeoutMs": 300}
    assert (heard[-1].name, heard[-1].state, heard[-1].limit_ms) == ("wait_boot", "failed", 300)
    await nothing_lives(sdk)


async def test_an_emulator_that_takes_no_settings_is_left_running(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    """It has booted: what is missing can be done later, and provisioning reuses it."""
    sdk.add_avd("mine")
    sdk.fails("settings_refused")
    error = await refused(manage().start("mine", on_progress=heard))
    assert error.code is ErrorCode.EMULATOR_START_FAILED
    (running,) = await manage().status()
    assert error.details == {"serial": running.serial, "stderr": "Error while accessing settings provider"}
    assert "development_settings_enabled" in error.message
    assert heard.ends[-1] == ("enable_settings", "failed")
    assert running.booted
    assert sdk.alive()


async def test_one_that_was_running_before_is_left_running(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    sdk.fails("never_boots")
    starting = asyncio.ensure_future(manage().start("mine"))
    running: tuple[RunningEmulator, ...] = await eventually(manage().status)
    assert not running[0].booted
    error = await refused(manage(replace(LIMITS, boot=0.1)).provision())
    assert error.code is ErrorCode.EMULATOR_BOOT_TIMEOUT
    assert "stopped" not in error.message
    assert not starting.done()
    device = AdbDevice(manage()._scanner.server, running[0].serial)
    for name in ("sys.boot_completed", "dev.bootcomplete"):
        await device.shell(["setprop", name, "1"])
    assert (await starting).serial == running[0].serial


@pytest.mark.ci
async def test_an_emulator_without_a_name_does_not_break_the_listing(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    sdk.fails("nameless")
    starting = asyncio.ensure_future(manage(replace(LIMITS, register=PATIENT)).start("mine"))
    running: tuple[RunningEmulator, ...] = await eventually(manage().status)
    assert (running[0].avd_name, running[0].supported, len(running[0].unsupported_reasons)) == ("unknown", False, 4)
    starting.cancel()
    await asyncio.wait([starting])
    assert starting.cancelled()


async def test_stopping_fails(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    serial = (await manage().start("mine")).serial
    sdk.fails("kill_refused")
    error = await refused(manage().stop("mine"))
    assert error.code is ErrorCode.EMULATOR_STOP_FAILED
    assert error.details == {"name": "mine", "serial": serial}
    assert "this emulator stays" in error.message
    sdk.fails("stays")
    stopped = await manage(replace(LIMITS, vanish=0.1)).stop("mine")
    assert stopped.to_dict()["details"] == {"serial": serial, "stillListed": True}


async def test_what_is_not_supported_is_not_overwritten(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine", level=34)
    error = await refused(manage().provision("mine"))
    assert error.code is ErrorCode.EMULATOR_UNSUPPORTED
    assert error.details == {"name": "mine", "unsupportedReasons": ["unsupported_api_level"]}
    assert (await refused(manage().plan("mine"))).code is ErrorCode.EMULATOR_UNSUPPORTED
    assert sdk.calls("avdmanager") == []


@pytest.mark.parametrize("stage", ["wait_adb", "wait_boot", "enable_settings"])
@pytest.mark.ci
async def test_a_cancelled_start_leaves_nothing(sdk: FakeSdk, manage: Manage, stage: str) -> None:
    sdk.add_avd("mine")
    reported: list[Stage] = []

    def on_progress(news: Stage) -> None:
        reported.append(news)
        if (news.name, news.state) == (stage, "running"):
            asyncio.get_running_loop().call_soon(starting.cancel)

    starting = asyncio.ensure_future(manage().start("mine", on_progress=on_progress))
    await asyncio.wait([starting])
    assert starting.cancelled()
    assert (reported[-1].name, reported[-1].state) == (stage, "failed")
    assert reported[-1].message == "cancelled; its process is stopped"
    await nothing_lives(sdk)


@pytest.mark.parametrize("fault", ["installing_hangs", "avdmanager_hangs"])
async def test_a_cancelled_creation_leaves_nothing(sdk: FakeSdk, manage: Manage, fault: str) -> None:
    sdk.fails(fault)
    creating = asyncio.ensure_future(manage().create("mine"))
    await eventually(lambda: sdk.records(fault.replace("_", " ")))
    creating.cancel()
    await asyncio.wait([creating])
    assert creating.cancelled()
    await nothing_lives(sdk)


async def test_of_two_preferences_at_once_the_second_takes_what_the_first_gets(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    manager = manage()
    first, second = await asyncio.gather(manager.provision(), manager.provision())
    assert first.serial == second.serial
    assert [first.started, second.started] == [True, False]
    assert len(sdk.records("emulator up")) == 1


async def test_a_download_that_warns_and_works(sdk: FakeSdk, manage: Manage, heard: Heard) -> None:
    """Words of misfortune in the output of a tool that ended well are checked against what is installed."""
    sdk.fails("warns")
    assert (await manage().create("mine", on_progress=heard)).exists
    assert sdk.calls("sdkmanager") == [["--list_installed"], ["--licenses"], [IMAGE], ["--list_installed"]]
    assert any("Failed to download" in message for message in heard.messages("install_image"))


async def test_nothing_is_changed_where_only_looking_is_allowed(sdk: FakeSdk, manage: Manage) -> None:
    sdk.add_avd("mine")
    manager = manage(read_only=True)
    works = (
        manager.create("new"),
        manager.start("mine"),
        manager.stop("mine"),
        manager.delete("mine"),
        manager.provision(),
    )
    for work in works:
        assert (await refused(work)).code is ErrorCode.READ_ONLY
    assert [avd.name for avd in await manager.avds()] == ["mine"]
    assert (await manager.plan()).kind == "start"


@pytest.mark.parametrize("name", ["../../etc", "a/b", "", "a b", "-x", "..", "a\n", "x" * 200, "ä"])
async def test_names_that_are_paths_or_flags(sdk: FakeSdk, manage: Manage, name: str) -> None:
    manager = manage()
    works = [manager.inspect(name), manager.start(name), manager.stop(name), manager.delete(name)]
    if name:
        works += [manager.create(name), manager.provision(name)]
    for work in works:
        assert (await refused(work)).code is ErrorCode.INVALID_NAME
    assert sdk.records() == []


async def test_an_emulator_that_ends_later_is_taken_leave_of(sdk: FakeSdk, manage: Manage) -> None:
    """A long-lived process of ours keeps no zombies."""
    sdk.add_avd("mine")
    await manage().start("mine")
    (up,) = sdk.records("emulator up")
    os.kill(up["pid"], signal.SIGKILL)
    await eventually(lambda: not Path(f"/proc/{up['pid']}").exists())
