"""Work on virtual devices: what is told in which order, what is asked before, what cancelling leaves, what the folder tells."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from clawperator.app.console import file_watch
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices import emulator_controller
from clawperator.app.console.devices.emulator_controller import EmulatorController
from clawperator.app.console.devices.provisioning_dialogs import CreateForm, DeleteForm, PlanDialog
from clawperator.app.console.devices.screen import JobLine
from clawperator.app.console.file_watch import MAX_FILES, avd_signs
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.app.console.screens.forms import QuestionDialog
from clawperator.engine.emulators.avds import Avd, read_avd
from clawperator.engine.emulators.manager import EmulatorManager
from clawperator.engine.emulators.stages import STAGES as PROVISIONING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.app import OperatorApp
from clawperator.widgets.emulator_list import AvdKey
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_emulators import (
    NO_SDK,
    PIXEL,
    RUNS,
    SECOND_AVD,
    TABLET_AVD,
    FakeEmulators,
    FakeOperatorApp,
)
from tests.app.console.support import CHECKS_OK, FakeEngine, drained, make_app, settings_screen, settled, until
from tests.support import patience


@pytest.mark.parametrize(("fake", "real"), [(FakeEmulators, EmulatorManager), (FakeOperatorApp, OperatorApp)])
def test_the_fakes_have_the_shape_of_the_real_ones(fake: type, real: type) -> None:
    for name, method in inspect.getmembers(fake, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(method) == inspect.signature(getattr(real, name)), name
            assert inspect.iscoroutinefunction(getattr(real, name)), name


# -- without a screen


class Room:
    """As much of a console as ``EmulatorController`` needs; ``news`` is what it told, in order."""

    def __init__(self, emulators: FakeEmulators) -> None:
        self.emulators = emulators
        self.news: list[Update] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.at = 1000.0
        self.controller = EmulatorController(
            cast("Any", self), self.news.append, WallClock(lambda: self.at), self.start
        )

    def start(self, name: str, job: Awaitable[None]) -> bool:
        running = self.tasks.get(name)
        if running is not None and not running.done():
            job.close()  # type: ignore[attr-defined]  # a coroutine
            return False
        self.tasks[name] = asyncio.ensure_future(job)
        return True

    @property
    def machines(self) -> EmulatorsState:
        return next((news.value for news in reversed(self.news) if isinstance(news, ValueUpdate)), EmulatorsState.EMPTY)

    @property
    def notices(self) -> list[tuple[Status, str, str]]:
        return [
            (reported.notice.status, reported.notice.text, reported.notice.code)
            for reported in self.news
            if isinstance(reported, NoticeUpdate)
        ]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(patience(15)):
            while not holds():
                await asyncio.sleep(0)
                await asyncio.sleep(0.005)  # threads and the file system get their turn

    async def over(self) -> None:
        await self.until(lambda: not self.controller.busy and self.tasks["virtual device"].done())


@asynccontextmanager
async def room(emulators: FakeEmulators, tmp_path: Path) -> AsyncIterator[Room]:
    emulators.home = str(tmp_path / "user" / "avd") if emulators.home.startswith("/nowhere") else emulators.home
    made = Room(emulators)
    try:
        yield made
    finally:
        for task in made.tasks.values():
            task.cancel()
        await asyncio.wait(made.tasks.values()) if made.tasks else None


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "LOOK_MS", 100)
    monkeypatch.setattr(file_watch, "STEP_MS", 20)


async def test_what_provisioning_tells_in_which_order(tmp_path: Path) -> None:
    async with room(FakeEmulators(present=(TABLET_AVD,)), tmp_path) as here:
        assert here.controller.provision(subject="clawperator-pixel")
        assert here.machines.job is not None
        assert [seen.status for seen in here.machines.job.stages] == [Status.WAITING] * 10
        await here.over()
        reported: list[str] = []
        for news in here.news:
            job = news.value.job if isinstance(news, ValueUpdate) else None
            stage = job.current if job is not None and job.running else None
            if stage is not None and (not reported or reported[-1] != stage.name):
                reported.append(stage.name)
        assert reported == list(PROVISIONING)
        await here.until(lambda: here.machines.known and here.machines.run_of("clawperator-pixel"))
        job = here.machines.job
        assert job is not None
        assert job.status is Status.OK
        words = "emulator-5554 is ready: clawperator-pixel was created and started"
        assert job.words == words
        assert here.notices == [(Status.OK, words, "")]
        last_running = max(
            i for i, n in enumerate(here.news) if isinstance(n, ValueUpdate) and n.value.job and n.value.job.running
        )
        assert last_running < next(i for i, n in enumerate(here.news) if isinstance(n, NoticeUpdate))


async def test_a_failure_keeps_its_code_and_its_stage(tmp_path: Path) -> None:
    async with room(FakeEmulators(present=(), fail="install_image"), tmp_path) as here:
        here.controller.provision(subject="clawperator-pixel")
        await here.over()
        job = here.machines.job
        assert job is not None
        assert (job.status, job.code) == (Status.FAILED, "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED")
        assert "Free several gigabytes" in job.hint
        assert {seen.name: seen.status for seen in job.stages}["install_image"] is Status.FAILED
        assert here.notices[-1][2] == "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED"


@pytest.mark.parametrize(
    ("hold", "left", "not_left"),
    [
        ("scan_running", "Nothing was left behind", "system image"),
        ("install_image", "a partial download of the system image", "virtual device clawperator-pixel"),
        ("wait_boot", "the system image, installed; the virtual device clawperator-pixel", "still runs"),
    ],
)
async def test_cancelling_says_what_is_left(hold: str, left: str, not_left: str, tmp_path: Path) -> None:
    emulators = FakeEmulators(present=(), hold=hold)
    async with room(emulators, tmp_path) as here:
        here.controller.provision(subject="clawperator-pixel")
        await here.until(emulators.holding.is_set)
        here.at += 48
        assert here.controller.cancel()
        assert here.machines.job is not None
        assert here.machines.job.stopping
        assert here.controller.cancel()  # twice does no harm
        await here.over()
        job = here.machines.job
        assert job.status is Status.SKIPPED
        assert left in job.words
        assert not_left not in job.words
        assert job.words.startswith("Cancelled in ")
        assert "after 48.0 s" in job.words
        assert here.notices == [(Status.WARN, job.words, "")]
        assert not here.controller.cancel()


async def test_an_emulator_that_survives_the_cancelling_is_named(tmp_path: Path) -> None:
    emulators = FakeEmulators(hold="wait_boot")
    async with room(emulators, tmp_path) as here:
        here.controller.begin_job("start", PIXEL.name)
        await here.until(emulators.holding.is_set)
        emulators.up = (replace(RUNS, avd_name=PIXEL.name),)
        here.controller.cancel()
        await here.over()
        assert here.machines.job is not None
        assert "clawperator-pixel still runs as emulator-5554; S stops it" in here.machines.job.words


async def test_what_is_left_cannot_be_asked(tmp_path: Path) -> None:
    emulators = FakeEmulators(hold="wait_boot")
    async with room(emulators, tmp_path) as here:
        here.controller.begin_job("start", PIXEL.name)
        await here.until(emulators.holding.is_set)
        emulators.status_error = EngineError(ErrorCode.ADB_SERVER_FAILED, "gone")
        here.controller.cancel()
        await here.over()
        assert here.machines.job is not None
        assert "the running emulators are unknown (ADB_SERVER_FAILED)" in here.machines.job.words


async def test_ending_the_console_ends_the_job_without_news(tmp_path: Path) -> None:
    emulators = FakeEmulators(hold="wait_boot")
    async with room(emulators, tmp_path) as here:
        here.controller.begin_job("start", PIXEL.name)
        await here.until(emulators.holding.is_set)
        here.tasks["virtual device"].cancel()
        await asyncio.wait([here.tasks["virtual device"]])
        assert here.tasks["virtual device"].cancelled()
        assert here.notices == []


async def test_one_job_at_a_time(tmp_path: Path) -> None:
    emulators = FakeEmulators(hold="wait_boot")
    async with room(emulators, tmp_path) as here:
        assert here.controller.begin_job("start", PIXEL.name)
        await here.until(emulators.holding.is_set)
        assert not here.controller.begin_job("delete", TABLET_AVD.name)
        assert not here.controller.provision()
        assert not any(call.startswith(("delete", "provision")) for call in emulators.calls)
        emulators.go.set()
        await here.over()
        assert here.controller.begin_job("delete", TABLET_AVD.name)
        await here.over()
        assert [seen.status for seen in here.machines.job.stages] == [Status.OK]  # type: ignore[union-attr]  # it ended
        await here.until(lambda: here.machines.avd(TABLET_AVD.name) is None)


async def test_a_missing_sdk_is_one_sentence_and_not_the_end(tmp_path: Path) -> None:
    emulators = FakeEmulators(list_error=NO_SDK)
    async with room(emulators, tmp_path) as here:
        here.controller.begin()
        await here.until(lambda: here.machines.known)
        assert here.machines.problem == (
            "No virtual devices: the Android SDK's emulator was not found (ANDROID_SDK_TOOL_MISSING)."
        )
        assert here.machines.hint
        assert here.notices == []
        emulators.list_error = None
        here.controller.devices_changed()
        await here.until(lambda: here.machines.avds)
        assert here.machines.problem == ""


async def test_adb_that_does_not_answer_leaves_the_list(tmp_path: Path) -> None:
    emulators = FakeEmulators(status_error=EngineError(ErrorCode.ADB_NOT_FOUND, "adb was not found"))
    async with room(emulators, tmp_path) as here:
        here.controller.begin()
        await here.until(lambda: here.machines.known)
        assert here.machines.avds == emulators.present
        assert here.machines.problem == "adb was not found (ADB_NOT_FOUND)."


async def test_what_boots_is_asked_until_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator_controller, "BOOT_LOOK_SECONDS", 0.01)
    emulators = FakeEmulators(present=(SECOND_AVD,), up=(replace(RUNS, booted=False),))
    async with room(emulators, tmp_path) as here:
        here.controller.begin()
        await here.until(lambda: emulators.calls.count("status") > 3)
        assert here.machines.state_of(SECOND_AVD) == "booting"
        assert emulators.calls.count("avds") == 1  # files are not read again for that
        emulators.up = (RUNS,)
        await here.until(lambda: here.machines.state_of(SECOND_AVD) == "running")
        asked = emulators.calls.count("status")
        await asyncio.sleep(0.05)
        assert emulators.calls.count("status") == asked


# -- the folder


class OnDisk(FakeEmulators):
    """Its virtual devices are the files of its home."""

    async def avds(self) -> tuple[Avd, ...]:
        self.calls.append("avds")
        names = sorted(name[:-4] for name in avd_signs(Path(self.home)) if name.endswith(".ini"))
        return tuple(read_avd(self.home, name, self.supported_abis) for name in names)


def write_avd(home: Path, name: str, api: int = 35) -> None:
    (home / f"{name}.avd").mkdir(parents=True, exist_ok=True)
    image = f"system-images/android-{api}/google_apis_playstore/arm64-v8a/"
    config = f"abi.type=arm64-v8a\nhw.device.name=pixel_7\nimage.sysdir.1={image}\nPlayStore.enabled=yes\n"
    (home / f"{name}.avd" / "config.ini").write_text(config)
    (home / f"{name}.ini").write_text(f"target=android-{api}\npath={home}/{name}.avd\n")


async def test_the_folder_is_watched_even_before_it_exists(tmp_path: Path) -> None:
    home = tmp_path / "not" / "yet" / "avd"
    async with room(OnDisk(home=str(home)), tmp_path) as here:
        here.controller.begin()
        await here.until(lambda: here.machines.known)
        assert here.machines.avds == ()
        write_avd(home, "first")
        await here.until(lambda: here.machines.avd("first"))
        write_avd(home, "second", api=33)
        await here.until(lambda: here.machines.avd("second"))
        assert here.machines.avd("second").unsupported_reasons == ("unsupported_api_level",)  # type: ignore[union-attr]  # waited for
        write_avd(home, "second", api=35)
        await here.until(lambda: here.machines.avd("second") and here.machines.avd("second").supported)  # type: ignore[union-attr]
        (home / "first.ini").unlink()
        await here.until(lambda: here.machines.avd("first") is None)


def test_only_what_describes_a_virtual_device_counts_as_a_change(tmp_path: Path) -> None:
    write_avd(tmp_path, "first")
    before = avd_signs(tmp_path)
    (tmp_path / "first.avd" / "userdata.img").write_bytes(b"x" * 100)
    (tmp_path / "notes.txt").write_text("no")
    assert avd_signs(tmp_path) == before
    (tmp_path / "first.avd" / "config.ini").write_text("abi.type=x86_64\n")
    assert avd_signs(tmp_path) != before


def test_the_folder_s_signs_are_bounded(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 30):
        (tmp_path / f"a{number}.ini").touch()
    assert len(avd_signs(tmp_path)) == MAX_FILES
    assert avd_signs(tmp_path / "nothing") == {}


# -- with the screen


@asynccontextmanager
async def devices_mode(
    emulators: FakeEmulators, *, size: tuple[int, int] = (120, 36), **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine]]:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, emulators=emulators)
    app = make_app(engine, **more)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("7")
        await until(pilot, lambda: app.session.machines.known and app.screen.query("#list"))
        await drained(pilot)
        yield app, pilot, engine


async def to_avd(pilot: Pilot[int], name: str) -> None:
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    pane = app.screen.query_one("#list")
    await until(pilot, lambda: any(row.place == AvdKey(name) for row in pane.rows))  # type: ignore[attr-defined]
    pane.to_value(AvdKey(name))  # type: ignore[attr-defined]
    await drained(pilot)


def shown(app: ConsoleApp) -> str:
    return "\n".join("".join(part.text for part in line) for line in app.screen._compositor.render_strips())


async def test_the_plan_is_stated_before_anything_is_done() -> None:
    emulators = FakeEmulators(present=(TABLET_AVD,), hold="wait_boot")
    emulators.hold_plan = asyncio.Event()
    async with devices_mode(emulators) as (app, pilot, _):
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlanDialog))
        await drained(pilot)
        assert "Checking virtual devices" in shown(app)
        await pilot.press("enter")
        assert isinstance(app.screen, PlanDialog)  # there is nothing to agree to yet
        emulators.hold_plan.set()
        await until(pilot, lambda: isinstance(app.screen, PlanDialog) and app.screen.plan)
        await drained(pilot)
        assert "Create clawperator-pixel: download the system image" in shown(app)
        assert "accept its licences" in " ".join(shown(app).split())
        assert "provision" not in emulators.calls
        await pilot.press("escape")
        await drained(pilot)
        assert app.session.machines.job is None
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlanDialog) and app.screen.plan)
        await pilot.press("enter")
        await until(pilot, emulators.holding.is_set)
        await until(pilot, lambda: "boot" in shown(app) and "48.0 s of 180 s" in shown(app))
        # another mode: the job goes on, and its chip leads back
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "inspect")
        await until(pilot, lambda: any(chip.id == "provision" for chip in app.chips(narrow=False)))
        assert app.emulators.busy
        await pilot.press("7", "P")  # while it runs, P shows it
        await until(pilot, lambda: app.screen.focused is not None and app.screen.focused.id == "job")
        emulators.go.set()
        await until(pilot, lambda: not app.emulators.busy)
        await until(pilot, lambda: app.session.machines.run_of("clawperator-pixel"))
        assert not any(chip.id == "provision" for chip in app.chips(narrow=False))
        assert emulators.calls.count("provision") == 1


async def test_the_line_of_a_job_fits_another_size_at_once() -> None:
    """It was composed once a second, for the width that the line had before."""
    emulators = FakeEmulators(hold="wait_boot")
    async with devices_mode(emulators) as (app, pilot, _):
        await pilot.resize_terminal(80, 24)
        line = app.screen.query_one("#job-line", JobLine)
        line.styles.width = 34
        app.emulators.provision(subject="clawperator-pixel")
        await until(pilot, emulators.holding.is_set)
        await until(pilot, lambda: line.content_size.width == 34 and "boot" in line.render_line(0).text)
        assert "▇" not in line.render_line(0).text
        line.styles.width = 80
        await until(pilot, lambda: line.content_size.width == 80)
        assert "▇" in line.render_line(0).text


@pytest.mark.ci
async def test_a_plan_that_cannot_be_made_offers_nothing_to_agree_to() -> None:
    refused = EngineError(ErrorCode.EMULATOR_UNSUPPORTED, "AVD clawperator-pixel exists but is not supported")
    async with devices_mode(FakeEmulators(plan_error=refused)) as (app, pilot, _):
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, PlanDialog) and app.screen.problem)
        await drained(pilot)
        assert "EMULATOR_UNSUPPORTED" in shown(app)
        assert "Choose another name" in shown(app)
        await pilot.press("enter")
        assert isinstance(app.screen, PlanDialog)
        await pilot.press("escape")
        assert app.session.machines.job is None


async def test_cancelling_from_the_keyboard() -> None:
    emulators = FakeEmulators(present=(PIXEL,), hold="wait_boot")
    async with devices_mode(emulators, size=(80, 24)) as (app, pilot, _):
        await pilot.press("C")
        assert app.session.last_notice is not None
        assert "No virtual device job is running" in app.session.last_notice.text
        await to_avd(pilot, PIXEL.name)
        await pilot.press("S")
        await until(pilot, emulators.holding.is_set)
        await until(pilot, lambda: "C cancel" in shown(app))
        await pilot.press("C")
        await until(pilot, lambda: not app.emulators.busy)
        await drained(pilot)
        assert "Cancelled in boot" in shown(app)
        await pilot.press("g", "p")
        await drained(pilot)
        assert "Left behind" in shown(app) or "Nothing was left behind" in shown(app)
        await pilot.press("escape")
        await drained(pilot)
        assert app.screen.focused is app.screen.query_one("#list")


async def test_the_tool_s_words_are_folded_below_their_stage() -> None:
    emulators = FakeEmulators(present=(), hold="wait_boot")
    async with devices_mode(emulators, size=(200, 60)) as (app, pilot, _):
        app.emulators.provision(subject="clawperator-pixel")
        await until(pilot, emulators.holding.is_set)
        await until(pilot, lambda: "▸ ✓ system image" in shown(app))
        assert "12% Downloading" not in shown(app)
        pane = app.screen.query_one("#job")
        pane.focus()
        await drained(pilot)
        await pilot.press("home", "j", "j", "j", "j", "space")
        await drained(pilot)
        assert "12% Downloading" in shown(app)
        await pilot.press("space")
        await drained(pilot)
        assert "12% Downloading" not in shown(app)


async def test_stopping_is_asked_and_starting_is_not() -> None:
    emulators = FakeEmulators(present=(PIXEL, SECOND_AVD), up=(RUNS,))
    async with devices_mode(emulators) as (app, pilot, _):
        await to_avd(pilot, "second")
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await drained(pilot)
        assert "second runs as emulator-5554" in shown(app)
        await pilot.press("escape")
        await drained(pilot)
        assert "stop second" not in emulators.calls
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "stop second" in emulators.calls and not app.emulators.busy)
        await until(pilot, lambda: app.session.machines.run_of("second") is None)
        await to_avd(pilot, PIXEL.name)
        await pilot.press("S")
        await until(pilot, lambda: f"start {PIXEL.name}" in emulators.calls)
        assert not isinstance(app.screen, QuestionDialog)


async def test_deleting_wants_the_name_typed() -> None:
    emulators = FakeEmulators(present=(PIXEL, TABLET_AVD), up=())
    async with devices_mode(emulators) as (app, pilot, _):
        await to_avd(pilot, TABLET_AVD.name)
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, DeleteForm))
        await pilot.press("y", "enter")
        await drained(pilot)
        assert "The name does not match" in shown(app)
        assert isinstance(app.screen, DeleteForm)
        app.screen.query_one(Input).value = TABLET_AVD.name
        await pilot.press("enter")
        await until(pilot, lambda: f"delete {TABLET_AVD.name}" in emulators.calls)
        await until(pilot, lambda: app.session.machines.avd(TABLET_AVD.name) is None)
        assert app.session.last_notice is not None
        assert app.session.last_notice.text == f"{TABLET_AVD.name} was deleted"


async def test_what_runs_is_not_deleted() -> None:
    emulators = FakeEmulators(present=(SECOND_AVD,), up=(RUNS,))
    async with devices_mode(emulators) as (app, pilot, _):
        await to_avd(pilot, "second")
        await pilot.press("delete")
        await drained(pilot)
        assert not isinstance(app.screen, DeleteForm)
        assert app.session.last_notice is not None
        assert "S stops it first" in app.session.last_notice.text


async def test_creating_refuses_what_cannot_be_a_name() -> None:
    emulators = FakeEmulators(present=(PIXEL,))
    async with devices_mode(emulators) as (app, pilot, _):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, CreateForm))
        await drained(pilot)
        field = app.screen.query_one(Input)
        assert field.value == "clawperator-pixel-2"
        for text in ("system-images;android-35;google_apis_playstore;arm64-v8a", "pixel_7", "35"):
            assert text in shown(app)
        for wrong, words in (
            ("-rf", "Use letters"),
            ("../up", "Use letters"),
            (PIXEL.name, "already"),
            ("", "Use letters"),
        ):
            field.value = wrong
            await pilot.press("enter")
            await drained(pilot)
            assert words in shown(app)
        field.value = " mine "
        await pilot.press("enter")
        await until(pilot, lambda: "create mine" in emulators.calls)
        await until(pilot, lambda: app.session.machines.avd("mine"))


async def test_reading_only_dims_the_keys_and_says_why() -> None:
    emulators = FakeEmulators()
    async with devices_mode(emulators, read_only=True) as (app, pilot, _):
        await to_avd(pilot, PIXEL.name)
        for key in ("P", "S", "n", "delete", "o"):
            assert app.screen.active_bindings[key].enabled is False
            await pilot.press(key)
            await drained(pilot)
            assert app.session.last_notice is not None
            assert "--read-only" in app.session.last_notice.text
        assert app.screen is app.mode_screen
        assert set(emulators.calls) <= {"avds", "status"}


async def test_leaving_while_something_is_at_work_is_asked() -> None:
    emulators = FakeEmulators(hold="wait_boot")
    async with devices_mode(emulators) as (app, pilot, _):
        app.emulators.begin_job("start", PIXEL.name)
        await until(pilot, emulators.holding.is_set)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await drained(pilot)
        assert "This cancels starting clawperator-pixel" in shown(app)
        await pilot.press("n")
        await drained(pilot)
        assert app.emulators.busy
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
    assert app.return_code == 0


async def test_the_palette_offers_the_jobs() -> None:
    from clawperator.app.console.devices.provisioning_dialogs import palette_entries

    emulators = FakeEmulators(present=(PIXEL, SECOND_AVD), up=(RUNS,))
    async with devices_mode(emulators) as (app, _, __):
        names = [entry.name for entry in palette_entries(app)]
        assert "Emulator: provision…" in names
        assert f"Emulator: start {PIXEL.name}" in names
        assert "Emulator: stop second…" in names
        assert "Operator: set up…" in names
        app.session.read_only = True
        allowed = [entry.name for entry in palette_entries(app) if not entry.reason]
        assert allowed == []
