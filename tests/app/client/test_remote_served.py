"""``RemoteEngine`` as a program uses it, before a real server."""

from __future__ import annotations

import asyncio

import pytest

from clawperator import EngineError, ErrorCode, RemoteEngine
from tests.app.http.conftest import Serve, serve  # noqa: F401 -- a fixture

HOME = [{"type": "press_key", "params": {"key": "home"}}]


async def test_a_plan_of_actions_only_and_the_screen_after_it(serve: Serve) -> None:  # noqa: F811
    served = await serve()
    async with RemoteEngine(served.url) as engine:
        (device,) = await engine.devices()
        result = await engine.execute(HOME, device_id=device.serial, then="compact")
        assert (result.outcome.status, result.device_id) == ("succeeded", served.serial)
        assert result.then is not None
        assert "view" in result.to_dict()["then"]
        assert [run.command_id for run in await engine.history.runs()] == [result.envelope["commandId"]]
        with pytest.raises(EngineError) as refused:
            await engine.execute(HOME, device_id="nobody-5554")
        assert refused.value.code is ErrorCode.DEVICE_NOT_FOUND
        with pytest.raises(EngineError) as refused:
            await engine.execute([{"type": "press_key"}], device_id=device.serial)
        assert refused.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED


async def test_a_locked_device_is_waited_for(serve: Serve) -> None:  # noqa: F811
    served = await serve(speed=0.2)
    async with RemoteEngine(served.url) as engine:
        sleep = [{"type": "sleep", "params": {"durationMs": 2_000}}]
        first = asyncio.create_task(engine.execute(sleep, device_id=served.serial))
        while not (await served.client.get("/locks")).json()["locks"]:
            pass
        with pytest.raises(EngineError) as refused:
            await engine.execute(HOME, device_id=served.serial)
        assert refused.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        assert (await engine.execute(HOME, device_id=served.serial, wait_ms=30_000)).outcome.status == "succeeded"
        await first


async def test_several_matches_are_refused_as_with_the_engine_of_this_process(serve: Serve) -> None:  # noqa: F811
    served = await serve(start={"package": "com.example.feed"})
    like = [{"type": "click", "params": {"matcher": {"textEquals": "Like"}}}]
    async with RemoteEngine(served.url) as engine:
        result = await engine.execute(like, device_id=served.serial)
        assert (result.outcome.status, result.outcome.steps[0].code) == ("failed", "NODE_AMBIGUOUS")
    async with RemoteEngine(served.url, strict=False) as engine:
        assert (await engine.execute(like, device_id=served.serial)).outcome.status == "succeeded"
