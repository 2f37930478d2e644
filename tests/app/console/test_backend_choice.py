"""The console's backend: seen in the header, switched after a confirmation, offered where the Operator is missing."""

from __future__ import annotations

from dataclasses import replace

from clawperator.app.console.empty_states import start_state
from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.config.settings import Settings
from tests.app.console.support import DEVICE, FakeEngine, check, make_app, until
from tests.app.console.test_console_journeys import text_of
from tests.app.console.test_start_states import NO_OPERATOR, checked

STOCK = (check("stock.programs", "pass", "installed"), check("stock.uiautomation", "pass", "UiAutomation is free"))


async def test_the_backend_is_switched_after_a_confirmation_and_back() -> None:
    engine = FakeEngine(checks=(*STOCK, *NO_OPERATOR))
    app = make_app(engine)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.session.report.ended and not app.session.work)
        assert "stock backend" not in text_of(app).splitlines()[0]
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog) and "Accessibility services" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ConfirmDialog))
        assert engine.backend == "operator"
        await pilot.press("B")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        engine.calls.clear()
        await pilot.press("enter")
        asked = ["use stock", f"snapshot {DEVICE.serial}", f"doctor {DEVICE.serial}"]
        await until(pilot, lambda: engine.calls == asked)
        await until(pilot, lambda: app.session.verdict is not None and app.session.verdict.ready)
        await until(pilot, lambda: "stock backend" in text_of(app).splitlines()[0])
        await pilot.press("B", "enter")
        await until(pilot, lambda: engine.backend == "operator")
        await until(pilot, lambda: app.session.verdict is not None and not app.session.verdict.ready)


async def test_the_header_names_the_backend_of_the_devices_profile() -> None:
    class Profiled(FakeEngine):
        def backend_of(self, device_id: str) -> str:
            return "stock" if device_id == DEVICE.serial else "operator"

    app = make_app(Profiled(checks=STOCK))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "stock backend" in text_of(app).splitlines()[0])


def test_a_choice_counts_more_than_a_devices_profile() -> None:
    settings = replace(Settings.resolve({}, {}), devices={"pixel": DeviceProfile("R5", backend="stock")})
    assert (settings.backend_of("R5"), settings.backend_of("other")) == ("stock", "operator")
    assert settings.with_options(backend="operator").backend_of("R5") == "operator"


def test_a_device_without_the_operator_offers_the_stock_backend() -> None:
    state = start_state(checked((*STOCK, *NO_OPERATOR)))
    assert state is not None
    assert ("B", "use the stock backend, which needs no app") in state.keys
    without = start_state(checked(NO_OPERATOR))
    assert without is not None
    assert "B" not in [key for key, _ in without.keys]
