"""What a log, another app or the Operator may do to chunk records: each through the real adb, on each generation that writes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from clawperator.engine import EngineError
from clawperator.engine.simulator.scenario import RECORD_FAULTS
from tests.journeys.conftest import Bench
from tests.journeys.test_operator_generations import LOOK, NEWER, OPEN, TAP, plan

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Bench]]
STEPS = 40
HARMLESS = ("doubled", "exchanged", "mixed", "forged", "both_brands")
REASONS = {
    "corrupt": "its records do not have the checksum that they state",
    "contradicting": "came twice, with different contents",
    "too_many": "byteLength of a record is not from 1 to 67108864",
    "wrong_size": "bytes, not ",
    "other_digest": "its records do not have the checksum that they state",
}


def test_every_fault_is_tried() -> None:
    assert {*HARMLESS, *REASONS, "stalled"} == set(RECORD_FAULTS)


@pytest.mark.parametrize("generation", NEWER)
async def test_the_result_is_the_one_that_was_sent_or_none(connect: Connect, generation: str) -> None:
    """On one device, a command per fault; every one is sent once, and the next is not disturbed."""
    ways = [*HARMLESS, *REASONS]
    faults = [{"kind": "changed_records", "how": how, "records": [1, 3], "command_id": how} for how in ways]
    bench = await connect(speed=0, device={"generation": generation}, faults=faults)
    bench.world.add_operator("com.androperator.operator" if generation != "1.0" else "com.clawperator.operator")
    reads = [{**TAP, "id": f"s{n}", "type": "read_text"} for n in range(STEPS)]
    for number, how in enumerate(ways, 1):
        payload = plan(OPEN, *reads, command_id=how)
        if how in HARMLESS:
            result = await bench.engine.execute(payload)
            assert [step["success"] for step in result.envelope["stepResults"]] == [True] * (STEPS + 1), how
            assert result.outcome.status == "succeeded"
        else:
            with pytest.raises(EngineError) as caught:
                await bench.engine.execute(payload)
            error = caught.value.to_dict()
            assert (error["code"], error["outcome"]["status"]) == ("RESULT_ENVELOPE_MALFORMED", "unknown"), how
            assert REASONS[how] in error["message"]
            assert error["message"].startswith("The Operator app has run the plan")
            transport = error["details"]["transport"]
            assert 0 <= transport["receivedChunks"] <= max(transport["expectedChunks"], 0)
        assert bench.world.commands == number
    assert (await bench.engine.execute(plan(LOOK, command_id="after"))).outcome.status == "succeeded"


@pytest.mark.parametrize("generation", NEWER)
async def test_a_result_that_stalls_is_waited_for_and_then_counted(connect: Connect, generation: str) -> None:
    fault = {"kind": "changed_records", "how": "stalled", "records": [2], "commands": [1]}
    bench = await connect(speed=0, device={"generation": generation}, faults=[fault])
    reads = [{**TAP, "id": f"s{n}", "type": "read_text"} for n in range(STEPS)]
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute({**plan(OPEN, *reads, command_id="stalled"), "timeoutMs": 1_000})
    error = caught.value.to_dict()
    assert error["code"] == "RESULT_ENVELOPE_TIMEOUT"
    transport = error["details"]["transport"]
    assert (transport["receivedChunks"], transport["receivedBytes"]) == (2, 2_048)
    assert transport["expectedChunks"] > 2
    assert bench.world.commands == 1
