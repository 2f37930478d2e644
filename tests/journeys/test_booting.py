"""A phone on which Android is still starting is called that, by executions of both backends and by the doctor."""

from __future__ import annotations

import pytest

from clawperator.engine import EngineError
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.executions import build, shell_input
from tests.journeys.conftest import Connect

pytestmark = pytest.mark.adb


async def test_a_booting_phone_is_called_that_until_it_has_booted(connect: Connect) -> None:
    bench = await connect(device={"booted": False})
    plans = [build.snapshot(), build.press_key("home"), build.open_app("com.android.settings"), shell_input.key("BACK")]
    for backend in ("operator", "stock"):
        for plan in plans:
            with pytest.raises(EngineError, match="is still starting") as refused:
                await bench.engine.execute(plan, backend=backend)
            assert refused.value.code == "DEVICE_BOOTING"
            assert refused.value.extra["broadcastDispatchStatus"] == "not_sent"
            assert refused.value.to_dict()["retryable"] is True
        checks = {check.id: check async for check in bench.engine.doctor(backend=backend).checks()}
        assert (checks["device.capability"].status, checks["device.capability"].code) == ("fail", "DEVICE_BOOTING")
        found = verdict_of([check.to_dict() for check in checks.values()], backend)
        assert found.summary == "Not ready: Android is still starting"
    bench.world.props["sys.boot_completed"] = "1"
    for backend in ("operator", "stock"):
        assert (await bench.engine.execute(build.press_key("home"), backend=backend)).succeeded
