"""The stock backend through the real adb: the same executions without the Operator app."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.executions import build
from tests.journeys.conftest import Connect

pytestmark = pytest.mark.adb

SETTINGS = "com.android.settings"
WITHOUT_OPERATOR = {"operator": {"installed": False}}


def plan(*actions: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    steps = [{"id": f"s{at}", "type": kind, "params": params} for at, (kind, params) in enumerate(actions)]
    return build.single("stock", "snapshot_ui") | {"actions": steps}


async def test_a_plan_runs_without_the_operator_app_and_says_what_it_sent(connect: Connect) -> None:
    bench = await connect(**WITHOUT_OPERATOR)
    with pytest.raises(EngineError) as absent:
        await bench.engine.snapshot()
    assert absent.value.code == "RECEIVER_NOT_INSTALLED"
    assert "--backend stock" in absent.value.hint
    done = await bench.engine.execute(
        plan(("open_app", {"applicationId": SETTINGS}), ("snapshot_ui", {}), ("press_key", {"key": "home"})),
        backend="stock",
    )
    assert done.succeeded
    assert done.backend == "stock"
    opened, seen, pressed = (step["data"] for step in done.envelope["stepResults"])
    assert "am start" in opened["dispatched"]
    assert seen["foreground_package"] == SETTINGS
    assert seen["text"].endswith("</hierarchy>")
    assert pressed["dispatched"] == "input keyevent KEYCODE_HOME"
    assert [step["status"] for step in done.to_dict()["outcome"]["steps"]] == ["done"] * 3


async def test_a_bound_operator_is_unbound_only_with_permission_and_is_awaited(connect: Connect) -> None:
    bench = await connect()
    with pytest.raises(EngineError) as refused:
        await bench.engine.snapshot(backend="stock")
    assert refused.value.code == "UNBIND_REQUIRED"
    assert refused.value.extra["broadcastDispatchStatus"] == "not_sent"
    pressed = await bench.engine.execute(build.press_key("home"), backend="stock")
    assert pressed.succeeded, "input leaves services bound"
    done = await bench.engine.snapshot(backend="stock", allow_unbind=True)
    assert [warning["code"] for warning in done.warnings] == ["SERVICE_REBOUND"]
    assert (await bench.engine.snapshot()).backend == "operator"
