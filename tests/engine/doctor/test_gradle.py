"""The part of a full run that builds, installs and starts the app, with a Gradle of our own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.doctor import gradle
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.gradle import run_gradle
from clawperator.engine.doctor.probes import project_folder
from clawperator.engine.errors import ErrorCode
from tests.engine.doctor.conftest import Admit, write_tool
from tests.support import patience

ASSEMBLE, INSTALL = "build.android.assemble", "build.android.install"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An Android project whose Gradle writes down how it was called."""
    folder = tmp_path / "android project"
    folder.mkdir()
    write_tool(folder, "gradlew", 'echo "$*" for "$ANDROID_SERIAL" in "$PWD" >> calls.txt; echo BUILD SUCCESSFUL')
    return folder


async def build(check_id: str, project: Path | str, device_id: str = "", seconds: float = 20.0) -> Check:
    return await run_gradle(check_id, str(project), dict(os.environ), device_id=device_id, seconds=seconds)


async def test_gradle_runs_in_the_project(project: Path) -> None:
    assert (await build(ASSEMBLE, project)).status == "pass"
    assert (await build(INSTALL, project, "emulator-5554")).status == "pass"
    assert (project / "calls.txt").read_text().splitlines() == [
        f":app:assembleDebug for  in {project}",
        f":app:installDebug for emulator-5554 in {project}",
    ]


@pytest.mark.parametrize(
    ("check_id", "code"), [(ASSEMBLE, ErrorCode.ANDROID_BUILD_FAILED), (INSTALL, ErrorCode.ANDROID_INSTALL_FAILED)]
)
async def test_what_fails_has_its_code_and_a_next_step(project: Path, check_id: str, code: ErrorCode) -> None:
    nowhere, unknown = await build(check_id, project / "none"), await build(check_id, "")
    assert nowhere.detail.endswith("contains no gradlew")
    assert unknown.detail.startswith("The Android project's folder is unknown")
    write_tool(project, "gradlew", "seq 1 5000; echo 'e: Broken.kt' >&2; exit 3")
    failed = await build(check_id, project)
    assert failed.detail.splitlines()[-1] == "e: Broken.kt"
    assert len(failed.detail.splitlines()) == 20
    (project / "gradlew").chmod(0o644)
    unrunnable = await build(check_id, project)
    assert unrunnable.fix[0].value.startswith("chmod +x ")
    for check in (nowhere, unknown, failed, unrunnable):
        assert (check.status, check.code) == ("fail", code)
        assert check.stops
        assert check.fix


async def test_gradle_that_hangs_is_ended_with_everything_it_started(project: Path) -> None:
    write_tool(project, "gradlew", "sleep 300 & echo $! > child; mv child child.pid; wait")
    check = await build(ASSEMBLE, project, seconds=0.3)
    assert check.code is ErrorCode.ANDROID_BUILD_FAILED
    if (project / "child.pid").exists():  # a machine may be too slow to have got so far
        await gone(int((project / "child.pid").read_text()))


async def test_an_interrupt_ends_it_too(tmp_path: Path) -> None:
    write_tool(tmp_path, "gradlew", "sleep 300 & echo $! > child; mv child child.pid; wait")
    running = asyncio.create_task(build(ASSEMBLE, tmp_path, seconds=60))
    while not (tmp_path / "child.pid").exists():  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(int((tmp_path / "child.pid").read_text()))


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def gone(pid: int) -> None:
    """A child of a child is reaped by whoever inherits it, so a dead one may be listed for a moment."""
    async with asyncio.timeout(patience(10)):
        while True:
            try:
                state = state_of(pid)
            except (FileNotFoundError, ProcessLookupError):
                return
            if state == "Z":
                return
            await asyncio.sleep(0.005)


def test_where_the_project_is(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_folder({}) == ""
    assert project_folder({"CLAWPERATOR_ANDROID_PROJECT": str(project)}) == str(project)
    assert project_folder({"CLAWPERATOR_ANDROID_PROJECT": "/elsewhere"}, "here") == str(tmp_path / "here")
    monkeypatch.chdir(project)
    assert project_folder({}) == str(project)


async def test_launching(admit: Admit) -> None:
    patient = await admit()
    device = AdbDevice(patient.engine.server, "emulator-5554")
    check = await gradle.launch(device, "com.clawperator.operator")
    assert (check.status, patient.world.ui.package) == ("pass", "com.clawperator.operator")
    absent = await gradle.launch(device, "com.clawperator.operator.dev")
    assert (absent.status, absent.code) == ("fail", ErrorCode.ANDROID_APP_LAUNCH_FAILED)
    assert "does not exist" in absent.detail


async def test_a_full_run_from_java_to_smoke(admit: Admit, project: Path) -> None:
    patient = await admit(env={"CLAWPERATOR_ANDROID_PROJECT": str(project)})
    doctor = patient.engine.doctor(full=True)
    checks = [check async for check in doctor.checks()]
    assert [(check.id, check.status) for check in checks] == [(check_id, "pass") for check_id in doctor.ids]
    assert patient.world.ui.package == "com.android.settings"
    assert (project / "calls.txt").read_text().count("installDebug for emulator-5554") == 1


async def test_a_full_run_without_a_project_ends_at_the_build(admit: Admit, tmp_path: Path) -> None:
    patient = await admit()
    doctor = patient.engine.doctor(full=True)
    doctor.project = str(tmp_path / "none")
    checks = [check async for check in doctor.checks()]
    assert checks[-1].code is ErrorCode.ANDROID_BUILD_FAILED
    assert "--project" in checks[-1].fix[0].value
    assert patient.world.commands == 0


async def test_without_java_nothing_is_built(admit: Admit, project: Path) -> None:
    patient = await admit(env={"CLAWPERATOR_ANDROID_PROJECT": str(project)})
    (patient.tools / "java").unlink()
    checks = await patient.checks(full=True)
    assert (checks[-1].id, checks[-1].code) == ("host.java.version", ErrorCode.HOST_DEPENDENCY_MISSING)
    assert not (project / "calls.txt").exists()
