"""The hub by itself: written once, kept for a while, and nobody waited for."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.http.events import hub as hubs
from clawperator.app.http.events.hub import Client, Hub
from clawperator.app.serve.event_frames import StreamEvent, encoded
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import CommandProgress

NAMES = ("clawperator:result", "clawperator:event")


def news(number: int, device: str | None = "a", name: str = NAMES[0]) -> StreamEvent:
    return StreamEvent(name, device, {"number": number})


async def chunks(client: Client) -> AsyncIterator[bytes]:
    """What waits for the client, write by write."""
    client.wake()
    while True:
        reading = asyncio.create_task(client.chunk())
        await asyncio.sleep(0)  # it ends here, or waits for more
        if not reading.done():
            reading.cancel()
            return
        if not (data := reading.result()):
            return
        yield data


async def read(client: Client) -> list[dict[str, object]]:
    """What waits for the client, as events with their names."""
    events = []
    for block in b"".join([chunk async for chunk in chunks(client)]).decode("ascii").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append({"name": fields["event"], "id": fields.get("id", ""), **json.loads(fields["data"])})
    return events


@given(before=st.integers(0, 30), after=st.integers(0, 30), kept=st.integers(1, 20), seen=st.integers(0, 30))
def test_who_comes_back_gets_everything_or_is_reported(before: int, after: int, kept: int, seen: int) -> None:
    seen = min(seen, before)

    async def scenario() -> None:
        hub = Hub(EventBus(), kept=kept)
        for number in range(1, before + after + 1):
            hub.publish(news(number))
        client = hub.subscribe(last_id=hub.id_of(seen))
        assert client is not None
        hello, *events = await read(client)
        assert hello["name"] == "heartbeat"
        first_kept = max(1, before + after - kept + 1)
        if seen + 1 < first_kept:
            reset = events.pop(0)
            assert (reset["name"], reset["reason"]) == ("clawperator:reset", "expired")
        expected = range(max(seen + 1, first_kept), before + after + 1)
        assert [event["number"] for event in events] == list(expected)
        assert [event["id"] for event in events] == [hub.id_of(number) for number in expected]

    asyncio.run(scenario())


async def test_a_restart_is_noticed_and_what_happened_since_is_sent() -> None:
    old, new = Hub(EventBus()), Hub(EventBus())
    old.publish(news(1))
    new.publish(news(1))
    client = new.subscribe(last_id=old.id_of(1))
    assert client is not None
    hello, reset, *since = await read(client)
    assert [hello["name"], reset["name"], reset["reason"]] == ["heartbeat", "clawperator:reset", "unknown"]
    assert [event["number"] for event in since] == [1]


async def test_filters_take_the_device_and_what_is_about_none() -> None:
    hub = Hub(EventBus())
    client = hub.subscribe(devices=["a"], types=[NAMES[0]])
    assert client is not None
    hub.publish(news(1))
    hub.publish(news(2, device="b"))
    hub.publish(news(3, name=NAMES[1]))
    hub.publish(news(4, device=None))
    assert [event.get("number") for event in await read(client)] == [None, 1, 4]


async def test_the_one_that_does_not_read_is_reported_why_and_the_other_loses_nothing() -> None:
    hub = Hub(EventBus(), kept=100)
    slow, quick = hub.subscribe(), hub.subscribe()
    assert slow is not None
    assert quick is not None
    hub.publish(news(-1))
    assert len(await read(slow)) == 2
    heard = []
    for number in range(110):
        hub.publish(news(number))
        heard += [event["number"] for event in await read(quick) if "number" in event]
    assert heard == [-1, *range(110)]
    (last,) = await read(slow)
    assert (last["name"], last["reason"]) == ("clawperator:dropped", "too slow")
    assert last["lastEventId"] == hub.id_of(1), "what it may resume after is what it has read"
    assert (hub.dropped_clients, len(hub)) == (1, 1)


async def test_many_bytes_count_like_many_events() -> None:
    hub = Hub(EventBus())
    client = hub.subscribe()
    assert client is not None
    large = "x" * (hubs.KEPT_BYTES // 4)
    for _ in range(5):
        hub.publish(StreamEvent(NAMES[0], "a", {"text": large}))
    assert client.closed


async def test_a_client_is_not_dropped_for_what_it_did_not_ask_for() -> None:
    hub = Hub(EventBus(), kept=10)
    client = hub.subscribe(devices=["b"])
    assert client is not None
    for number in range(30):
        hub.publish(news(number))
    hub.publish(news(30, device="b"))
    assert [event.get("number") for event in await read(client)] == [None, 30]


async def test_stalled_clients_share_what_they_will_resume() -> None:
    """Forty clients that resumed 32 MB each cost 1.3 GB: a write takes one bounded piece, the rest stays in the ring."""
    hub = Hub(EventBus())
    for number in range(1_000):
        hub.publish(StreamEvent(NAMES[0], "a", {"number": number, "text": "x" * 20_000}))
    clients = [hub.subscribe(last_id=hub.id_of(0)) for _ in range(40)]
    first = clients[0]
    assert first is not None
    tracemalloc.start()
    pieces = [await anext(chunks(client)) for client in clients if client is not None]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(pieces) == 40
    assert held < 40 * 2 * hubs.CHUNK_BYTES
    assert [event.get("number") for event in await read(first)][-1] == 999


async def test_what_is_kept_is_bounded_by_bytes() -> None:
    hub = Hub(EventBus())
    for number in range(40):
        hub.publish(StreamEvent(NAMES[0], "a", {"number": number, "text": "x" * (hubs.KEPT_BYTES // 20)}))
    client = hub.subscribe(last_id=hub.id_of(0))
    assert client is not None
    _, reset, *events = await read(client)
    assert reset["reason"] == "expired"
    assert 10 < len(events) < 20
    assert events[-1]["number"] == 39


async def test_a_closed_hub_takes_no_one() -> None:
    hub = Hub(EventBus())
    client = hub.subscribe()
    assert client is not None
    hub.close("the server stops")
    assert [event["name"] for event in await read(client)] == ["clawperator:dropped"]
    assert hub.subscribe() is None


async def test_events_of_the_bus_reach_a_client() -> None:
    bus = EventBus()
    hub = Hub(bus)
    running = asyncio.create_task(hub.run())
    client = hub.subscribe()
    assert client is not None
    await client.chunk()
    while not bus.watched:  # noqa: ASYNC110 -- the task has to begin
        await asyncio.sleep(0)
    bus.publish(CommandProgress(device_id="a", kind="start", command_id="c", fields={"k": "v"}, text="t"))
    assert b'"kind":"start"' in await client.chunk()
    running.cancel()


@given(st.text(max_size=200))
def test_no_text_can_break_out_of_its_event(text: str) -> None:
    block = encoded(NAMES[0], {"text": text}, "x-1").decode("ascii")
    assert block.count("\n") == 4
    assert block.endswith("\n\n")
    assert json.loads(block.split("data: ", 1)[1]) == {"text": text}
