"""Long work as it is kept and drawn: stages in any order, text of any kind, every width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.emulators.avds import Avd
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.engine.emulators.stages import STAGES as PROVISIONING
from clawperator.engine.progress import Stage
from clawperator.widgets.format.emulators import avd_detail, avd_row, machines_rows
from clawperator.widgets.format.jobs import job_line, job_slots, outcome_rows
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.setup import file_row, file_rows, installed_rows
from clawperator.widgets.format.slot import Sheet
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.job import OUTPUT_KEPT, Job
from clawperator.widgets.models.setup import ApkFile, SetupState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, escape
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_emulators import PIXEL, TABLET_AVD, operator_status
from tests.support import table

NOW = 1000.0
HOSTILE = "\x1b[31m[bold red]x[/] \u202egpj\x00\n中文" + "z" * 300


def stage(name: str, state: str = "running", seconds: float = 1.0, **more: object) -> Stage:
    return Stage("provision", name, state, seconds * 1000, **more)  # type: ignore[arg-type]  # as a tool might


def begun() -> Job:
    return Job.begun("provision", "clawperator-pixel", PROVISIONING, NOW)


def states(job: Job) -> dict[str, Status]:
    return {seen.name: seen.status for seen in job.stages}


def text(rows: list[Row]) -> str:
    return "\n".join(row.left.plain + (row.right.plain if row.right else "") for row in rows)


def test_a_stage_that_was_passed_over_was_not_needed() -> None:
    job = begun().with_stage(stage("check_tools", "done"), NOW).with_stage(stage("wait_boot"), NOW)
    assert states(job)["check_tools"] is Status.OK
    assert states(job)["create_avd"] is Status.SKIPPED
    assert states(job)["done"] is Status.WAITING
    assert job.current is not None
    assert job.current.name == "wait_boot"


def test_time_goes_on_between_news_and_stops_at_the_end() -> None:
    job = begun().with_stage(stage("wait_boot", seconds=48, limit_ms=180_000), NOW)
    running = job.current
    assert running is not None
    assert running.elapsed(NOW + 12) == pytest.approx(60)
    assert running.share(NOW + 12) == pytest.approx(1 / 3)
    over = job.over(Status.FAILED, "no", NOW + 12, code="EMULATOR_BOOT_TIMEOUT")
    assert over.current is not None
    assert over.current.elapsed(NOW + 99) == pytest.approx(60)
    assert over.current.status is Status.FAILED
    assert states(over)["done"] is Status.WAITING


def test_cancelled_work_is_reported_from_failed_work() -> None:
    job = begun().with_stage(stage("start"), NOW).over(Status.SKIPPED, "Cancelled", NOW)
    assert states(job)["start"] is Status.WARN
    assert "not reached" in text([slot.draw(80) for slot in job_slots(job, Sheet(80, WallClock(lambda: NOW)))])


def test_output_is_kept_once_and_bounded() -> None:
    job = begun()
    for number in range(OUTPUT_KEPT + 50):
        for _ in range(2):
            job = job.with_stage(stage("install_image", message=f"line {number}"), NOW)
    seen = next(seen for seen in job.stages if seen.name == "install_image")
    assert len(seen.output) == OUTPUT_KEPT
    assert seen.dropped == 50
    assert seen.output[-1] == f"line {OUTPUT_KEPT + 49}"


def test_a_failure_names_code_meaning_and_next_step() -> None:
    job = begun().over(
        Status.FAILED, "the disk is full", NOW, code="ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", hint="Free space."
    )
    shown = text(list(outcome_rows(job, 70)))
    assert "the disk is full" in shown
    assert "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED" in shown
    assert "a system image could not be found or installed" in shown
    assert "Free space." in shown


_stages = st.builds(
    Stage,
    st.text(max_size=8),
    st.sampled_from(PROVISIONING) | st.text(max_size=60),
    st.sampled_from(["running", "done", "failed", "skipped"]),
    st.floats(-1e9, 1e12),
    st.floats(-1e3, 1e9),
    st.none() | st.floats(-2, 3),
    st.text(max_size=200) | st.just(HOSTILE),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_stages, max_size=20), st.text(max_size=60) | st.just(HOSTILE), st.integers(10, 200), st.booleans())
def test_any_news_can_be_drawn_at_any_width(news: list[Stage], name: str, width: int, over: bool) -> None:
    job = replace(begun(), subject=name)
    for reported in news:
        job = job.with_stage(reported, NOW)
    if over:
        job = job.over(Status.FAILED, name, NOW, code=name, hint=name)
    sheet = Sheet(width, WallClock(lambda: NOW + 5), lambda *_: True, UNICODE)
    rows = [*(slot.draw(width) for slot in job_slots(job, sheet)), job_line(job, NOW, width, ASCII)]
    for row in rows:
        assert row.left.plain == escape(row.left.plain)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80) | st.just(HOSTILE), st.integers(10, 200))
def test_hostile_virtual_devices_and_files_are_drawn_as_text(words: str, width: int) -> None:
    avd = Avd(
        words, True, False, 999_999_999, words, False, words, words, (words, "missing_play_store", "unsupported_abi")
    )
    run = RunningEmulator(words, words, False)
    job = Job.begun("start", words, ("start",), NOW)
    machines = EmulatorsState(
        avds=(avd,), running=(run,), known=True, problem=words, hint=words, abis=(words,), job=job
    )
    file = ApkFile(path=words, package=words, version=words, version_code=3, size=9, problem=words)
    setup = SetupState(
        serial=words,
        status=operator_status(words, words or "1", 5, package=words),
        files=(file,),
        folder=words,
    )
    rows = [
        avd_row(avd, machines, width),
        *avd_detail(avd, machines, width),
        *machines_rows(machines, width),
        file_row(file, setup, width),
        *file_rows(file, setup, width),
        *file_rows(replace(file, problem=""), setup, width),
        *installed_rows(setup, width),
        *installed_rows(replace(setup, status=None, problem=words, code=words), width),
    ]
    for row in rows:
        assert row.left.plain == escape(row.left.plain)


def test_every_unsupported_reason_stands_beside_what_is_required() -> None:
    machines = EmulatorsState(avds=(TABLET_AVD,), known=True, abis=("arm64-v8a", "x86_64"))
    shown = text(list(avd_detail(TABLET_AVD, machines, 80)))
    for reason, value, wanted in (
        ("missing_play_store", "no", "google_apis_playstore"),
        ("unsupported_api_level", "33", "API level 35"),
        ("unsupported_abi", "x86_64", "ABI arm64-v8a or x86_64"),
        ("unsupported_device_profile", "pixel_tablet", "device profile pixel_7"),
    ):
        assert f"({reason})" in shown
        assert value in shown
        assert f"required: {wanted}" in shown or wanted in shown
    good = text(list(avd_detail(PIXEL, machines, 80)))
    assert "required" not in good
    assert "✓ yes" in good


@table(
    ("running", "kind", "begun_stage", "state"),
    [
        ((), "", "", "stopped"),
        ((RunningEmulator(PIXEL.name, "emulator-5554", True),), "", "", "running"),
        ((RunningEmulator(PIXEL.name, "emulator-5554", False),), "", "", "booting"),
        ((RunningEmulator(PIXEL.name, "emulator-5554", True),), "stop", "stop", "stopping"),
        ((), "start", "start", "starting"),
        ((), "provision", "check_tools", "stopped"),
        ((), "provision", "wait_adb", "starting"),
    ],
)
def test_the_state_in_a_word(running: tuple[RunningEmulator, ...], kind: str, begun_stage: str, state: str) -> None:
    job = Job.begun(kind, PIXEL.name, (), NOW).with_stage(stage(begun_stage), NOW) if kind else None
    machines = EmulatorsState(avds=(PIXEL,), running=running, known=True, job=job)
    assert machines.state_of(PIXEL) == state
    assert state in avd_row(PIXEL, machines, 80).left.plain


def test_rows_fit_where_they_are_drawn() -> None:
    machines = EmulatorsState(
        avds=(TABLET_AVD,), running=(RunningEmulator("Tablet_API_33", "emulator-5554", True),), known=True
    )
    for width in (40, 60, 78, 120, 198):
        assert cells(avd_row(TABLET_AVD, machines, width).left.plain) <= width
