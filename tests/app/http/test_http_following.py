"""What a console needs of the event stream: follow mode, whole envelopes, the state of the links, log lines; and the history's size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator

from clawperator.app.http.events.hub import LOG_FRAMES, Hub
from clawperator.app.serve import event_frames
from clawperator.app.serve.followers import Followers
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import LogBatch
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.logcat.entry import LogEntry
from tests.app.http.conftest import HOME, Serve
from tests.app.http.sse import Event, stream
from tests.support import CLI, patience, ran

FOLLOW, SNAPSHOT, ENVELOPE, LINK, LOG = (
    event_frames.FOLLOW,
    event_frames.SNAPSHOT,
    event_frames.ENVELOPE,
    event_frames.LINK,
    event_frames.LOG,
)


class FakeFollow:
    def __init__(self, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        self.device_id, self.on_state, self.state = device_id, on_state, FollowState("reading")
        self.painted_times, self.runs = 0, True

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.runs = False

    def painted(self) -> None:
        self.painted_times += 1


class FakeEngine:
    def __init__(self) -> None:
        self.follows: list[FakeFollow] = []

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> FakeFollow:
        self.follows.append(FakeFollow(device_id, on_state))
        return self.follows[-1]


# -- who is followed


async def test_a_device_is_followed_once_for_all_who_listen_and_until_the_last_one_leaves() -> None:
    engine: Any = FakeEngine()
    data: list[event_frames.StreamEvent] = []
    followers = Followers(engine, data.append)
    with followers.following("a"):
        with followers.following("a"), followers.following("b"):
            assert [follow.device_id for follow in engine.follows] == ["a", "b"]
            (task, _) = followers.tasks()
            await asyncio.sleep(0)
        followers.fetched("a")
        followers.fetched("b")
        followers.fetched("nobody")
        engine.follows[0].on_state(FollowState("busy", command_id="cmd-1"))
    await asyncio.wait({task}, timeout=patience(5))
    assert [follow.runs for follow in engine.follows] == [False, False]
    assert [follow.painted_times for follow in engine.follows] == [1, 0]
    assert followers.tasks() == []
    assert [(news.device_id, news.data["phase"], news.data["commandId"]) for news in data] == [
        ("a", "reading", ""),
        ("a", "reading", ""),
        ("b", "reading", ""),
        ("a", "busy", "cmd-1"),
    ]


# -- what comes on wish only


async def test_log_lines_are_written_for_those_who_want_them_and_kept_for_no_one() -> None:
    bus = EventBus()
    hub = Hub(bus)
    running = asyncio.create_task(hub.run())
    await asyncio.sleep(0)
    everything, log, other = (
        hub.subscribe(),
        hub.subscribe(types=[LOG], devices=["a"]),
        hub.subscribe(types=[LOG], devices=["b"]),
    )
    assert everything is not None
    assert log is not None
    assert other is not None
    for client in (everything, log, other):
        assert b"heartbeat" in await client.chunk()
    bus.publish(LogBatch(device_id="a", entries=(LogEntry.create("hello", tag="t", pid=7),), dropped=3))
    data = (await log.chunk()).decode()
    assert "event: clawperator:log\n" in data
    assert "id:" not in data
    assert '"text":"hello"' in data
    assert '"dropped":3' in data
    assert hub.sent == 1
    late = hub.subscribe(types=[LOG], last_id=hub.id_of(0))
    assert late is not None
    assert b"hello" not in await late.chunk()
    running.cancel()


async def test_a_client_that_drowns_in_log_lines_can_go_on_after_the_last_event_that_has_an_id() -> None:
    hub = Hub(EventBus())
    client = hub.subscribe(types=[LOG, event_frames.EXECUTION])
    assert client is not None
    hub.publish(event_frames.StreamEvent(event_frames.EXECUTION, None, {"deviceId": None, "input": None, "result": {}}))
    assert b"event: clawperator:execution" in await client.chunk()
    for _ in range(LOG_FRAMES + 1):
        hub.publish(event_frames.StreamEvent(LOG, "a", {"lines": []}))
    assert client.closed
    assert f'"lastEventId":"{hub.id_of(1)}"'.encode() in await client.chunk()


# -- on a real server


async def test_following_sends_trees_as_they_change_and_says_how_it_goes(serve: Serve) -> None:
    served = await serve(start={"package": "com.example.spinner"})
    schemas = (await served.client.get("/events/schema")).json()["events"]
    path = f"/devices/{served.serial}/snapshot"
    digests: list[str] = []
    async with stream(served.client, device=served.serial, type=["follow", "snapshot"], follow=served.serial) as events:
        state = await events.next(FOLLOW)
        Draft202012Validator(schemas[FOLLOW]).validate(state.data)
        assert (state.data["deviceId"], state.data["phase"], state.data["error"]) == (served.serial, "reading", None)
        while len(digests) < 4:
            data = await events.next(SNAPSHOT)
            assert data.data["commandId"].startswith("follow-")
            seen = (await served.client.get(path, params={"maxAgeMs": 60_000})).json()
            assert seen["changed"]
            digests.append(seen["digest"])
    assert len(set(digests)) > 1


async def test_what_only_a_console_wants_comes_on_wish_and_as_documented(serve: Serve) -> None:
    served = await serve()
    schemas = (await served.client.get("/events/schema")).json()["events"]
    wanted = ["envelope", "link", "log"]
    async with (
        stream(served.client, device=served.serial, type=wanted) as events,
        stream(served.client) as usual,
    ):
        pressed = await ran(*CLI, "action", "press-key", "--key", "home", "--no-history", env=served.env)
        assert pressed.exit_code == 0
        await served.execute(HOME, command="ours")
        seen: dict[str, Event] = {}
        while "ours" not in {event.data["commandId"] for event in seen.values() if "commandId" in event.data}:
            event = await events.next(ENVELOPE, LINK, LOG)
            Draft202012Validator(schemas[event.name]).validate(event.data)
            seen[event.name] = event
            if event.name == ENVELOPE:
                assert event.data["envelope"]["status"] == "success"
                assert event.data["raw"].startswith("{")
                assert event.data["problem"] == ""
        assert {ENVELOPE, LOG} <= seen.keys()
        names = set()
        while "clawperator:execution" not in names:
            names.add((await usual.next()).name)
        assert names.isdisjoint(event_frames.OPT_IN)


async def test_who_may_not_observe_gets_neither_log_lines_nor_looks(serve: Serve, tmp_path: Any) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nactiveProfile = "default"\n[profiles.default.capabilities]\ndeny = ["observe"]\n',
        encoding="utf-8",
    )
    served = await serve("--policy", str(policy), wait=False)
    for params in ({"type": "log"}, {"follow": served.serial}):
        answer = await served.client.get("/events", params=params)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "CAPABILITY_DENIED")


async def test_the_devices_come_with_all_that_is_known_of_them(serve: Serve) -> None:
    served = await serve()
    (row,) = (await served.client.get("/devices")).json()["devices"]
    assert row["model"]
    async with stream(served.client, type="devices") as events:
        await events.next("heartbeat")
        served.devices[0].disconnect()
        assert (await events.next("clawperator:devices")).data["devices"] == []
        served.devices[0].connect()
        (back,) = (await events.next("clawperator:devices")).data["devices"]
    assert back["transportId"] > row["transportId"] > 0
    assert back == {**row, "transportId": back["transportId"]}


async def test_the_history_says_how_much_there_is_and_whether_it_has_changed(serve: Serve) -> None:
    served = await serve()

    async def state(**params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = (
            await served.client.get("/history", params={"limit": 0, "total": True, **params})
        ).json()
        return answer

    before = await state()
    assert (before["runs"], before["count"], before["total"]) == ([], 0, 0)
    await served.execute(command="one")
    await served.execute(command="two", device="nobody")
    after = await state()
    assert after["total"] == 2
    assert after["version"] != before["version"]
    assert (await state(filter="cmd:one"))["total"] == 1
    assert (await state())["version"] == after["version"]
    assert "total" not in (await served.client.get("/history")).json()
