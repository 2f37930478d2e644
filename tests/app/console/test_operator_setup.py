"""Operator setup: what is shown before, the three phases, failures with their code, and the checks afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.setup_controller import SetupController, found_in_downloads, read_file
from clawperator.app.console.devices.setup_screen import SetupDialog
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.app.console.screens.forms import Form
from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, OPERATOR_BRANDS, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.format.devices import VARIANTS
from clawperator.widgets.format.setup import compared, file_rows, installed_rows
from clawperator.widgets.models.setup import ApkFile, SetupState
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_emulators import PIXEL, FakeEmulators, FakeOperatorApp, operator_status
from tests.app.console.support import DEVICE, PHONE, SECOND, FakeEngine, drained, until
from tests.app.console.test_provisioning import devices_mode, shown, to_avd

FOLDER = "/home/me/.clawperator/downloads"
NEWER = ApkFile(
    path=f"{FOLDER}/operator.apk",
    package=RELEASE_PACKAGE,
    version="0.3.1",
    version_code=301_900,
    size=12_400_000,
    min_sdk=26,
)
DEBUG = replace(NEWER, path=f"{FOLDER}/operator-debug.apk", package=DEBUG_PACKAGE, version="0.3.1-d")
BROKEN = ApkFile(path=f"{FOLDER}/broken.apk", problem="it is not a ZIP archive")
FILES = [NEWER, DEBUG, BROKEN]


@asynccontextmanager
async def operator_setup(
    operator: FakeOperatorApp, *, size: tuple[int, int] = (120, 36), files: list[ApkFile] = FILES
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine]]:
    async with devices_mode(FakeEmulators(), size=size) as (app, pilot, engine):
        engine.operator = operator
        app.operator_setup.downloads = lambda: (FOLDER, files)
        engine.calls.clear()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, SetupDialog))
        await until(pilot, lambda: app.session.setup.files is not None and not app.session.setup.asking)
        await drained(pilot)
        yield app, pilot, engine


def said(app: ConsoleApp, words: str) -> bool:
    return words in chosen(app)


def chosen(app: ConsoleApp) -> str:
    """What the dialog says about the file under the cursor, in one line."""
    pane = app.screen.query_one("#chosen", WrappedText)
    return " ".join(" ".join(pane.row(index, 0).left.plain for index in range(pane.row_count())).split())


async def test_versions_stand_beside_each_other_before_anything_is_done() -> None:
    operator = FakeOperatorApp()
    async with operator_setup(operator) as (app, pilot, _):
        text = shown(app)
        assert "release 0.3.0 (300900)" in text
        assert "com.clawperator.operator 0.3.1 (301900), 12.4 MB, needs API level 26" in text
        assert "replaces the older version 0.3.0" in text
        assert operator.calls == ["status"]
        await pilot.press("j")
        await until(pilot, lambda: "installed beside release" in shown(app))
        await pilot.press("j", "enter")
        await drained(pilot)
        assert "it is not a ZIP archive" in shown(app)
        assert operator.calls == ["status"]  # a file that is none is not installed
        await pilot.press("escape")
        await drained(pilot)
        assert not isinstance(app.screen, SetupDialog)


async def test_three_phases_then_the_doctor() -> None:
    operator = FakeOperatorApp(hold="install")
    async with operator_setup(operator) as (app, pilot, engine):
        await pilot.press("enter")
        await until(pilot, lambda: "46%" in shown(app))
        text = shown(app)
        assert operator.calls[-1] == f"setup {NEWER.path}"
        for words in ("install", "permissions", "verify", "5.7 of 12.4 MB sent", "C cancel"):
            assert words in text
        # closed and left, it goes on
        await pilot.press("escape", "1")
        await until(pilot, lambda: app.current_mode == "inspect")
        assert any(chip.id == "setup" for chip in app.chips(narrow=False))
        assert f"doctor {DEVICE.serial}" not in engine.calls
        operator.go.set()
        await until(pilot, lambda: not app.operator_setup.busy)
        await until(pilot, lambda: f"doctor {DEVICE.serial}" in engine.calls)
        await until(pilot, lambda: app.session.setup.status == operator.after)
        job = app.session.setup.job
        assert job is not None
        assert [(seen.name, seen.status) for seen in job.stages] == [
            ("install", Status.OK),
            ("permissions", Status.OK),
            ("verify", Status.OK),
        ]
        assert "com.clawperator.operator 0.3.1 is installed on emulator-5554" in job.words


@pytest.mark.ci
@pytest.mark.parametrize(
    ("phase", "code"),
    [
        ("install", ErrorCode.OPERATOR_INSTALL_FAILED),
        ("permissions", ErrorCode.OPERATOR_GRANT_FAILED),
        ("verify", ErrorCode.OPERATOR_VERIFY_FAILED),
        ("check", ErrorCode.OPERATOR_APK_NOT_FOUND),
    ],
)
async def test_a_phase_that_fails_shows_code_meaning_and_hint(phase: str, code: ErrorCode) -> None:
    operator = FakeOperatorApp(fail=phase, error=EngineError(code, "it said [red]no\x1b[0m"))
    async with operator_setup(operator, size=(80, 24)) as (app, pilot, engine):
        await pilot.press("enter")
        await until(pilot, lambda: app.session.setup.job and not app.session.setup.job.running)
        await until(pilot, lambda: code.value in shown(app))
        text = " ".join(shown(app).replace("┃", " ").split())
        assert "[red]no␛[0m" in text
        assert code.meaning in text
        assert code.hint in text
        job = app.session.setup.job
        assert job is not None
        failed = "install" if phase == "check" else phase
        assert {seen.name: seen.status for seen in job.stages}[failed] is Status.FAILED
        if failed != "verify":
            assert "not reached" in text
        await until(pilot, lambda: f"doctor {DEVICE.serial}" in engine.calls)
        await pilot.press("enter")  # back to the files
        await drained(pilot)
        assert "operator-debug.apk" in shown(app)
        operator.fail = ""
        await pilot.press("enter")
        await until(pilot, lambda: app.session.setup.job and app.session.setup.job.status is Status.OK)


async def test_cancelling_says_what_was_done() -> None:
    operator = FakeOperatorApp(hold="permissions")
    async with operator_setup(operator) as (app, pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: "● permissions" in shown(app))
        await pilot.press("C")
        await until(pilot, lambda: not app.operator_setup.busy)
        await drained(pilot)
        assert app.session.setup.job is not None
        assert app.session.setup.job.status is Status.SKIPPED
        assert "The app is installed; some of its permissions may be missing" in " ".join(shown(app).split())


@pytest.mark.ci
async def test_a_file_that_someone_names(tmp_path: Path) -> None:
    other = replace(NEWER, path=str(tmp_path / "mine.apk"), version="0.2.9", version_code=209_900)

    def read(path: str) -> ApkFile:
        if path == other.path:
            return other
        raise EngineError(ErrorCode.OPERATOR_APK_NOT_FOUND, f"APK file not found: {path}")

    async with operator_setup(FakeOperatorApp(), files=[]) as (app, pilot, _):
        app.operator_setup.read = read
        assert f"no APK file in {FOLDER}" in shown(app)
        for text, expected in (
            (str(tmp_path / "none.apk"), "APK file not found"),
            (other.path, "Android refuses downgrades"),
        ):
            await pilot.press("end", "enter")
            await until(pilot, lambda: isinstance(app.screen, Form))
            app.screen.query_one(Input).value = text
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SetupDialog))
            await until(pilot, partial(said, app, expected))
        assert app.session.setup.file(other.path) == other


async def test_without_the_app_and_without_an_answer() -> None:
    operator = FakeOperatorApp(now=operator_status(version=""))
    async with operator_setup(operator) as (app, pilot, _):
        assert "installed    nothing" in shown(app)
        assert "not installed yet" in shown(app)
        operator.status_error = EngineError(ErrorCode.DEVICE_OFFLINE, "emulator-5554 is offline")
        await pilot.press("r")
        await until(pilot, lambda: "unknown: emulator-5554 is offline (DEVICE_OFFLINE)" in shown(app))


async def test_which_device_is_set_up() -> None:
    async with devices_mode(FakeEmulators()) as (app, pilot, engine):
        app.operator_setup.downloads = lambda: (FOLDER, FILES)
        engine.show_devices(DEVICE, PHONE, SECOND)
        await until(pilot, lambda: len(app.session.devices) == 3)
        await drained(pilot)
        await to_avd(pilot, PIXEL.name)
        await pilot.press("o")
        await drained(pilot)
        assert app.session.last_notice is not None
        assert "is not running. Press S to start it" in app.session.last_notice.text
        await pilot.press("home", "j", "o")
        await drained(pilot)
        assert "unauthorized" in app.session.last_notice.text
        await pilot.press("j", "o")
        await until(pilot, lambda: isinstance(app.screen, SetupDialog))
        await until(pilot, lambda: f"operator {SECOND.serial}" in engine.calls)
        assert app.session.setup.serial == SECOND.serial
        # the doctor is about the console's own device: it is not asked about another one
        engine.calls.clear()
        await until(pilot, lambda: app.session.setup.files is not None and not app.session.setup.asking)
        await drained(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.session.setup.job and app.session.setup.job.status is Status.OK)
        await drained(pilot)
        assert not any(call.startswith("doctor") for call in engine.calls)


# -- without a screen


async def test_the_order_of_what_is_reported() -> None:
    reported: list[Update] = []
    tasks: list[asyncio.Task[None]] = []
    operator = FakeOperatorApp()

    class Rooms:
        def operator_app(self, *, device_id: str | None = None) -> FakeOperatorApp:
            assert device_id == DEVICE.serial
            return operator

    def start(_: str, job: Awaitable[None]) -> bool:
        tasks.append(asyncio.ensure_future(job))
        return True

    afterwards: list[str] = []
    here = SetupController(cast("Any", Rooms()), reported.append, WallClock(lambda: 1.0), start, afterwards.append)
    here.downloads = lambda: (FOLDER, FILES)
    here.look(DEVICE.serial)
    await asyncio.gather(*tasks)
    assert here.install(NEWER.path)
    assert not here.install(NEWER.path)
    here.look("another")  # while one runs, the view stays with it
    await asyncio.gather(*tasks)
    setups = [news.value for news in reported if isinstance(news, ValueUpdate)]
    assert {setup.serial for setup in setups} == {DEVICE.serial}
    stages = [setup.job.current.name for setup in setups if setup.job and setup.job.current]
    assert list(dict.fromkeys(stages)) == ["install", "permissions", "verify"]
    assert [news.notice.status for news in reported if isinstance(news, NoticeUpdate)] == [Status.OK]
    assert afterwards == [DEVICE.serial]
    assert setups[-1].status == operator.after


def test_real_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder, files = found_in_downloads()
    assert folder == str(tmp_path / ".clawperator" / "downloads")
    assert files == []
    downloads = Path(folder)
    downloads.mkdir(parents=True)
    (downloads / "operator.apk").write_bytes(b"no archive")
    [broken] = found_in_downloads()[1]
    assert broken.problem
    with pytest.raises(EngineError):
        read_file(str(downloads / "operator.apk"))


def words(rows: object) -> str:
    return "\n".join(row.left.plain for row in rows)  # type: ignore[attr-defined]  # an iterable of rows


def test_how_a_file_stands_to_what_is_installed() -> None:
    setup = SetupState(serial=DEVICE.serial, status=operator_status(version="0.3.1", code=301_900), files=(NEWER,))
    assert compared(NEWER, setup)[0] == "same version"
    assert compared(replace(NEWER, version_code=301_901), setup)[0] == "newer"
    assert compared(replace(NEWER, version_code=1), setup)[0] == "older"
    assert compared(replace(NEWER, version_code=-1), setup)[0] == ""
    assert compared(DEBUG, setup)[0] == "new"
    assert compared(NEWER, SetupState(serial="x"))[0] == ""
    assert "enter a path" in words(file_rows(None, setup, 60))


def test_a_service_that_does_not_run_is_said() -> None:
    status = replace(operator_status(), bound=False, notifications=False, listener=False)
    said = words(installed_rows(SetupState(serial="x", status=status), 100))
    for part in ("✗ service on, not running", "! no notifications", "! no listener"):
        assert part in said


def test_the_two_apps_are_called_as_the_engine_knows_them() -> None:
    assert [*VARIANTS][:2] == [RELEASE_PACKAGE, DEBUG_PACKAGE]
    assert VARIANTS.keys() == {package for brand in OPERATOR_BRANDS for package in brand.packages}
