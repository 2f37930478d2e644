"""Pictures of mode 1 without a tree: every state in which a person may start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import AdbServerLost
from tests.app.console.support import CHECKS_OFF, CHECKS_OK, DEVICE, PHONE, SECOND, TABLET, FakeEngine, make_app, until
from tests.app.console.test_backend_choice import STOCK
from tests.app.console.test_console_journeys import text_of
from tests.app.console.test_start_states import CRASHED, NO_OPERATOR
from tests.looks.poses import PINNED, TWO_SIZES, Compare, press

pytestmark = [*PINNED, pytest.mark.ci]

SILENT = EngineError(
    ErrorCode.SERVICE_UNAVAILABLE, "The Operator's accessibility service does not run on emulator-5554"
)

MISSING = EngineError(
    ErrorCode.RECEIVER_NOT_INSTALLED, "The Operator app com.clawperator.operator is not installed on emulator-5554"
)


@pytest.mark.parametrize(
    ("devices", "checks"),
    [
        pytest.param((), (), id="none"),
        pytest.param((PHONE,), (), id="unauthorized"),
        pytest.param((TABLET,), (), id="offline"),
        pytest.param((DEVICE, SECOND, PHONE), (), id="several"),
        pytest.param((DEVICE,), (*STOCK, *NO_OPERATOR), id="no_operator"),
        pytest.param((DEVICE,), (*STOCK, *CHECKS_OFF), id="service_off"),
        pytest.param((DEVICE,), (*STOCK, *CRASHED), id="service_crashed"),
    ],
)
@TWO_SIZES
def test_start(
    snap_compare: Compare,
    size: tuple[int, int],
    devices: tuple[DeviceEntry, ...],
    checks: Sequence[Mapping[str, Any]],
) -> None:
    refusal = MISSING if NO_OPERATOR[-1] in checks else SILENT
    app = make_app(FakeEngine(present=devices, checks=checks, snapshot_error=refusal))

    async def run(pilot: Any) -> None:
        await until(pilot, lambda: app.session.devices_known and (not checks or app.session.report.ended))
        await press(pilot, *(["escape"] if len(devices) > 1 else []))

    assert snap_compare(app, terminal_size=size, run_before=run)


@TWO_SIZES
def test_adb_gone(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(present=())
    app = make_app(engine)

    async def run(pilot: Any) -> None:
        await until(pilot, lambda: app.session.devices_known)
        engine.publish(AdbServerLost(reason="no adb server listens at 127.0.0.1:5037: Connection refused"))
        await until(pilot, lambda: text_of(app).count("refused") == 1)  # the tree's pane says it, the rail is hidden
        await press(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)


@TWO_SIZES
def test_empty_dump(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = make_app(FakeEngine(screen="<hierarchy/>", checks=CHECKS_OK))

    async def run(pilot: Any) -> None:
        await until(pilot, lambda: app.session.trees.shown and app.session.report.ended)
        await press(pilot)

    assert snap_compare(app, terminal_size=size, run_before=run)
