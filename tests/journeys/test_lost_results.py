"""A result in chunk records that the log loses: every face says that the actions ran, and how much arrived."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from httpx_sse import ServerSentEvent

from clawperator.app.cli.pretty import draw
from clawperator.app.cli.watch_tail import line_of
from clawperator.app.client.stream import read_event
from clawperator.app.serve import event_frames
from clawperator.engine.events.typed_text import TypedTexts
from clawperator.engine.events.types import EnvelopeSeen
from clawperator.engine.history import connection
from clawperator.engine.history.seen_runs import SeenRuns
from clawperator.engine.history.store import History
from clawperator.widgets.format.verdict import sentences
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.run_replay import execution_of
from tests.journeys.conftest import Connect
from tests.journeys.test_history_processes import Hand

pytestmark = pytest.mark.adb
FAULT = {"kind": "lost_records", "records": [2], "commands": [1]}
ARRIVED = re.compile(r"records of it were lost in the device's log: (\d+) of (\d+) arrived")
RAN = "The Operator app has run the plan, but its result cannot be read: "
ADVICE = "Its actions have run: take a snapshot before you decide what to do next."
PLAN = {
    "commandId": "look", "taskId": "t", "source": "tests", "expectedFormat": "android-ui-automator", "timeoutMs": 9_000,
    "actions": [{"id": "a", "type": "snapshot_ui"}],
}  # fmt: skip


def story(execution: ExecutionState) -> list[str]:
    return [f"{each.text} {each.foreign}".strip() for each in sentences(execution, execution.ended)]


async def test_the_command_line_and_its_history_tell_it_alike(connect: Connect) -> None:
    hand = Hand(await connect(speed=1, device={"generation": "0.12"}, faults=[FAULT]))
    code, answer, _ = await hand.run("execute", "--execution", json.dumps(PLAN))
    assert (code, answer["code"], answer["hint"], answer["retryable"]) == (
        1,
        "RESULT_ENVELOPE_MALFORMED",
        ADVICE,
        False,
    )
    found = ARRIVED.search(answer["message"])
    assert found is not None
    assert answer["message"].startswith(RAN)
    transport = answer["details"]["transport"]
    assert found.groups() == (str(transport["receivedChunks"]), str(transport["expectedChunks"]))
    assert transport["receivedChunks"] == transport["expectedChunks"] - 1
    (row,) = await hand.listed()
    _, document, _ = await hand.run("history", "show", "look")
    shown = document["execution"]
    for each in (row, shown):
        assert (each["code"], each["hint"], each["retryable"]) == (answer["code"], ADVICE, False)
        assert each["outcome"]["status"] == "unknown"
        assert each["outcome"]["error"]["message"] == answer["message"]
        assert each["outcome"]["error"]["details"]["transport"] == transport
    assert "ran, result lost" in draw("history.runs", {"executions": [row], "total": 1, "hasMore": False}).decode()
    drawn = draw("history.run", document).decode()
    assert answer["message"] in drawn
    assert ADVICE in drawn
    with History.open(str(hand.path), create=False) as history:
        told = story(execution_of(history.find("look")))
    assert told == [f"The plan has run, but its result is lost: {found[0]}.", ADVICE]


async def test_whoever_watches_sees_it(connect: Connect) -> None:
    bench = await connect(speed=1, device={"generation": "0.12"}, faults=[FAULT])
    hand = Hand(bench)
    events, log, run = [], ExecutionLog(), None
    with bench.engine.events.subscribe() as subscription:
        tail = asyncio.create_task(bench.engine.watch_log(bench.serial))
        async for event in subscription:
            events.append(event)
            if type(event).__name__ == "LogAttached":
                run = asyncio.create_task(hand.run("execute", "--execution", json.dumps(PLAN)))
            if isinstance(event, EnvelopeSeen):
                break
        tail.cancel()
        await asyncio.gather(tail, return_exceptions=True)
    assert run is not None
    _, answer, _ = await run
    transport = answer["details"]["transport"]
    seen = events[-1]
    assert isinstance(seen, EnvelopeSeen)
    assert seen.transport == transport
    line = line_of(seen)
    assert line is not None
    assert line["transport"] == transport
    assert f"the plan has run, its result is lost: {seen.problem}" in draw("logs.event", line).decode()
    log.apply(events)
    (execution,) = log.executions
    assert story(execution)[0] == f"The plan has run, but its result is lost: {seen.problem}."
    assert ADVICE in story(execution)
    frame = next(each for each in event_frames.stream_events(seen) if each.name == event_frames.ENVELOPE)
    again = read_event(ServerSentEvent(event=frame.name, data=json.dumps(frame.data)), bench.serial, 0.0)
    assert isinstance(again, EnvelopeSeen)
    assert (again.problem, again.transport) == (seen.problem, transport)

    history = History("", connection.in_memory(), [])

    class Worker:
        def write(self, job, *, late: bool = False) -> None:  # type: ignore[no-untyped-def]
            job(history)

    SeenRuns(Worker(), "console", TypedTexts()).take(events)  # type: ignore[arg-type]
    (kept,) = history.runs()
    assert (kept.code, kept.to_dict()["hint"]) == ("RESULT_ENVELOPE_MALFORMED", ADVICE)
    assert history.find(kept.number).message == answer["message"]
    assert kept.outcome is not None
    assert kept.outcome["error"]["details"]["transport"] == transport
