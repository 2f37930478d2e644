"""Pictures of mode 7: devices and virtual devices, what is asked before work on them, the work, and the Operator's setup."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.provisioning_dialogs import PlanDialog
from clawperator.app.console.devices.setup_screen import SetupDialog
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.widgets.emulator_list import AvdKey, EmulatorList
from tests.app.console.fake_emulators import NO_SDK, PIXEL, RUNS, SECOND_AVD, TABLET_AVD, FakeEmulators, FakeOperatorApp
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    LOCKED_OUT,
    PHONE,
    TABLET,
    FakeEngine,
    MovableClock,
    drained,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.app.console.test_known_devices import fill, lab
from tests.app.console.test_operator_setup import FILES, FOLDER
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Before, Compare, at_rest, press

pytestmark = PINNED


def console(
    emulators: FakeEmulators | None = None, operator: FakeOperatorApp | None = None, **more: Any
) -> tuple[ConsoleApp, FakeEngine]:
    """Four devices, three virtual ones of which one runs; time passes only as the work takes it."""
    clock = MovableClock()
    engine = FakeEngine(
        screen=settings_screen(),
        checks=CHECKS_OK,
        present=(DEVICE, PHONE, TABLET, LOCKED_OUT),
        emulators=emulators or FakeEmulators(present=(PIXEL, SECOND_AVD, TABLET_AVD), up=(RUNS,)),
        operator=operator or FakeOperatorApp(),
    )
    engine.emulators.clock = clock
    app = make_app(engine, clock=clock, **more)
    app.operator_setup.downloads = lambda: (FOLDER, FILES)
    return app, engine


def mode_7(*keys: str, on: str = "", work: str = "", until_held: bool = False, over: bool = False) -> Before:
    """Mode 7 with the cursor ``on`` a virtual device, after ``keys``; held at its stage, or ``over``, when there is work."""

    async def run(pilot: Any) -> None:
        app = pilot.app
        await settled(pilot)
        await press(pilot, "7")
        await until(pilot, lambda: app.session.machines.known)
        await drained(pilot)
        if on:
            app.screen.query_one("#list", EmulatorList).to_value(AvdKey(on))
        if work:
            app.emulators.provision(subject=work)
        await press(pilot, *keys)
        if until_held:
            await until(pilot, app.engine.emulators.holding.is_set)
        if over:
            await until(pilot, lambda: not app.emulators.busy and not app.operator_setup.busy)
        await rest(pilot)

    return run


async def rest(pilot: Any) -> None:
    """What the dialogs ask for has been answered, and everything is drawn."""
    app = pilot.app
    if isinstance(app.screen, PlanDialog):
        await until(pilot, lambda: app.screen.plan or app.screen.problem)
    if isinstance(app.screen, SetupDialog):
        await until(pilot, lambda: app.session.setup.files is not None and not app.session.setup.asking)
    for _ in range(2):
        await at_rest(pilot)
        await until(pilot, lambda: not any(widget._layout_required for widget in app.screen.walk_children()))


@AT_SIZES
def test_list(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=size, run_before=mode_7("j"))


@TWO_SIZES
def test_what_is_known(snap_compare: Compare, size: tuple[int, int]) -> None:
    clock = MovableClock()
    app, _ = lab(clock)

    async def run(pilot: Any) -> None:
        await fill(pilot, clock)
        await press(pilot, "7")
        await until(pilot, lambda: app.session.machines.known)
        await press(pilot, "j", "j")
        await rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)


@TWO_SIZES
def test_unsupported(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console()
    keys = ("enter",) if size[0] < 100 else ()
    assert snap_compare(app, terminal_size=size, run_before=mode_7(*keys, on=TABLET_AVD.name))


@TWO_SIZES
def test_plan(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,)))
    assert snap_compare(app, terminal_size=size, run_before=mode_7("P"))


def test_plan_refused(snap_compare: Compare) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), plan_error=NO_SDK))
    assert snap_compare(app, terminal_size=(80, 24), run_before=mode_7("P"))


@AT_SIZES
def test_provisioning(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), hold="wait_boot"))
    run = mode_7(on=TABLET_AVD.name, work="clawperator-pixel", until_held=True)
    assert snap_compare(app, terminal_size=size, run_before=run)


@pytest.mark.ci
@TWO_SIZES
def test_download_unfolded(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), hold="install_image"))

    async def run(pilot: Any) -> None:
        await mode_7(work="clawperator-pixel", until_held=True)(pilot)
        await press(pilot, "g", "p", "j", "j", "j", "j", "space")
        await rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)


@TWO_SIZES
def test_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), fail="install_image"))
    keys = ("g", "p") if size[0] < 100 else ()

    async def run(pilot: Any) -> None:
        await mode_7(work="clawperator-pixel", over=True)(pilot)
        await press(pilot, *keys)
        await rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)


@pytest.mark.ci
@TWO_SIZES
def test_cancelled(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), hold="wait_boot"))

    async def run(pilot: Any) -> None:
        await mode_7(work="clawperator-pixel", until_held=True)(pilot)
        await press(pilot, "g", "p", "C")
        await until(pilot, lambda: not pilot.app.emulators.busy)
        await rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)


@pytest.mark.ci
def test_in_another_mode(snap_compare: Compare) -> None:
    app, _ = console(FakeEmulators(present=(TABLET_AVD,), hold="wait_boot"))

    async def run(pilot: Any) -> None:
        await mode_7(work="clawperator-pixel", until_held=True)(pilot)
        await press(pilot, "6")

    assert snap_compare(app, terminal_size=(120, 36), run_before=run)


@TWO_SIZES
def test_delete(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=size, run_before=mode_7("delete", on=TABLET_AVD.name))


@pytest.mark.ci
def test_stop(snap_compare: Compare) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=(80, 24), run_before=mode_7("S", on=SECOND_AVD.name))


@pytest.mark.ci
def test_create(snap_compare: Compare) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=(80, 24), run_before=mode_7("n"))


def test_without_sdk_and_devices(snap_compare: Compare) -> None:
    app, engine = console(FakeEmulators(list_error=NO_SDK))
    engine.present = ()

    async def run(pilot: Any) -> None:
        await until(pilot, lambda: app.session.devices_known)
        await press(pilot, "7")
        await until(pilot, lambda: app.session.machines.known)
        await rest(pilot)

    assert snap_compare(app, terminal_size=(80, 24), run_before=run)


@pytest.mark.ci
def test_booting_in_ascii(snap_compare: Compare) -> None:
    up = (RunningEmulator(PIXEL.name, "emulator-5556", False), RUNS)
    app, _ = console(FakeEmulators(present=(PIXEL, SECOND_AVD, TABLET_AVD), up=up), ascii_only=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=mode_7(on=PIXEL.name))


@pytest.mark.ci
@TWO_SIZES
def test_setup_before(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=size, run_before=mode_7("o"))


@pytest.mark.ci
@TWO_SIZES
def test_setup_at_work(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(operator=FakeOperatorApp(hold="install"))
    assert snap_compare(app, terminal_size=size, run_before=setup())


@pytest.mark.ci
@TWO_SIZES
def test_setup_after(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console()
    assert snap_compare(app, terminal_size=size, run_before=setup(over=True))


@pytest.mark.ci
@TWO_SIZES
def test_setup_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    app, _ = console(operator=FakeOperatorApp(fail="install"))
    assert snap_compare(app, terminal_size=size, run_before=setup(over=True))


def setup(*, over: bool = False) -> Before:
    """The newest file is being installed, or was."""

    async def run(pilot: Any) -> None:
        app = pilot.app
        await mode_7("o")(pilot)
        await press(pilot, "enter")
        if over:
            await until(pilot, lambda: app.session.setup.job is not None and not app.session.setup.job.running)
            await until(pilot, lambda: app.engine.calls.count(f"doctor {DEVICE.serial}") == 2)
            await until(pilot, lambda: not app.session.report.running)
        else:
            await until(pilot, lambda: app.session.setup.job is not None and app.session.setup.job.current is not None)
            await until(pilot, lambda: app.session.setup.job.current.fraction)
        await rest(pilot)

    return run
