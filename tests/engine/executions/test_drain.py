"""What runs, and who waits for it."""

from __future__ import annotations

import asyncio

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.drain import Drain


async def test_idle_when_the_last_one_is_done() -> None:
    work = Drain()
    await work.idle()
    with work.one():
        with work.one():
            assert work.count == 2
        waiting = asyncio.create_task(work.idle())
        await asyncio.sleep(0)
        assert not waiting.done()
        work.stopping = True
        with pytest.raises(EngineError) as raised, work.one():
            pass
        assert raised.value.code is ErrorCode.SHUTTING_DOWN
    await waiting
    assert work.count == 0
