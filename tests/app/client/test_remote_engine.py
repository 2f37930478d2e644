"""What a server sends becomes what an engine here would have said; what it cannot do is refused with words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clawperator.app.client import engine as engine_module
from clawperator.app.client import stream
from clawperator.app.client.engine import RemoteEngine
from clawperator.app.console.start import not_offered
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import Subscription
from clawperator.engine.events.types import (
    AdbServerLost,
    CommandProgress,
    DevicesChanged,
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogAttached,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.executions import build
from clawperator.engine.executions.shell_input import gesture
from clawperator.engine.follow.follower import FollowState
from clawperator.widgets import keys
from tests.app.client.raw_server import HELLO, RawServer, event, http, open_sse, raw_server, sse
from tests.support import patience

PHONE = "emulator-5554"
ENVELOPE = {
    "commandId": "cmd-1",
    "taskId": "t",
    "status": "success",
    "stepResults": [{"id": "a", "actionType": "press_key", "success": True, "data": {"key": "home", "count": 3}}],
    "error": None,
}
RESULT = {
    "ok": True,
    "envelope": ENVELOPE,
    "deviceId": PHONE,
    "executionId": "their-id",
    "mode": "direct",
    "backend": "operator",
    "warnings": [{"code": "W", "message": "careful"}],
}
DEVICES = {"ok": True, "devices": [{"serial": PHONE, "state": "device", "model": "Pixel 7", "transportId": 4}]}
NO_LOCKS = http('{"ok":true,"locks":[]}')


class Before:
    """An engine before a raw server, and everything that it publishes."""

    def __init__(self, raw: RawServer, engine: RemoteEngine, news: Subscription, group: asyncio.TaskGroup) -> None:
        self.raw, self.engine, self.news = raw, engine, news
        self.seen: list[EngineEvent] = []
        self._group = group
        self._tasks: list[asyncio.Task[Any]] = []

    def run(self, job: Coroutine[Any, Any, Any]) -> None:
        self._tasks.append(self._group.create_task(job))

    async def next(self, *kinds: type[EngineEvent]) -> Any:
        """The next event, or the next of these kinds."""
        async with asyncio.timeout(patience(10)):
            while True:
                while self.seen:
                    event = self.seen.pop(0)
                    if not kinds or isinstance(event, kinds):
                        return event
                self.seen += await self.news.batch()

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def before(*answers: Any, read_only: bool = False, **paths: Any) -> AsyncIterator[Before]:
    """``paths``: what is answered to paths that begin with the name."""
    async with raw_server(*(answers or (http("{}", "404 Not Found"),))) as raw:
        raw.paths = {f"/{name}": answer for name, answer in paths.items()}
        async with RemoteEngine(raw.url, read_only=read_only) as engine:
            with engine.events.subscribe() as news:
                async with asyncio.TaskGroup() as group:
                    found = Before(raw, engine, news, group)
                    try:
                        yield found
                    finally:
                        found.end()


def reported(name: str, number: str = "", /, **data: Any) -> bytes:
    return event(name, json.dumps(data), number)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAUSES", (0.01,))


# -- devices


async def test_devices_are_asked_for_once_and_pushed_from_then_on() -> None:
    gone = reported("devices", devices=[])
    adb = reported("link", deviceId=None, state="adb-lost", reason="connection refused", at=1.0)
    nonsense = reported("devices", devices=7)
    async with before(
        events=open_sse(HELLO, nonsense, gone, adb), devices=http(json.dumps(DEVICES)), locks=NO_LOCKS
    ) as b:
        b.run(b.engine.watch_devices())
        (phone,) = (await b.next()).devices
        assert (phone.serial, phone.usable, phone.model, phone.transport_id) == (PHONE, True, "Pixel 7", 4)
        assert (await b.next()).devices == ()
        assert (await b.next()).reason == "adb of the server: connection refused"
        assert len(b.raw.targets("/devices")) == 1
        assert b.raw.targets("/events") == ["/events?type=devices&type=link"]


async def test_a_lost_server_is_reported_as_a_lost_adb_server_is_and_comes_back() -> None:
    devices = http(json.dumps(DEVICES))
    async with before(sse(HELLO), open_sse(HELLO), devices=devices, locks=NO_LOCKS) as b:
        b.run(b.engine.watch_devices())
        assert isinstance(await b.next(), DevicesChanged)
        lost = await b.next()
        assert isinstance(lost, AdbServerLost)
        assert lost.reason == f"the server at {b.raw.url} does not respond"
        assert isinstance(await b.next(), DevicesChanged)


async def test_a_refusal_says_what_to_do() -> None:
    async with before(http('{"error":{"code":"UNAUTHORIZED","message":""}}', "401 Unauthorized")) as b:
        b.run(b.engine.watch_devices())
        assert "requires a token. Pass token or token_file" in (await b.next()).reason


async def test_who_has_a_device_is_known_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "LOCK_SECONDS", 0.01)
    lock = {"deviceId": PHONE, "state": "held", "commandId": "cmd-1", "since": 100.0, "timeoutMs": 30_000, "odd": 1}
    answer = http(json.dumps({"locks": [lock]}), Date="Thu, 01 Jan 1970 00:00:00 GMT")
    async with before(events=open_sse(HELLO), devices=http(json.dumps(DEVICES)), locks=answer) as b:
        b.run(b.engine.watch_devices())
        async with asyncio.timeout(patience(10)):
            while not (locks := b.engine.locks()):  # noqa: ASYNC110 -- they are looked at, not told
                await asyncio.sleep(0.01)
    assert {key: locks[0][key] for key in ("deviceId", "state", "commandId", "timeoutMs")} == {
        "deviceId": PHONE,
        "state": "held",
        "commandId": "cmd-1",
        "timeoutMs": 30_000,
    }
    assert locks[0]["since"] > 1_000_000, "by our own clock: the server's is half a century behind"


# -- one device's log

LINE = {"level": "I", "tag": "clawperator", "text": "hello", "pid": 7, "tid": 8, "uid": -1, "time": 5.5}
LOG = {"deviceId": PHONE, "lines": [LINE, {**LINE, "time": None}], "dropped": 2, "at": 50.0}
PROGRESS = {"kind": "step-start", "fields": {"id": "a"}, "text": "step", "at": 50.0}
WHOLE = {"envelope": ENVELOPE, "raw": "{…}", "problem": "", "parts": 2, "at": 50.0}


async def test_events_of_a_device_are_what_an_engine_here_would_have_published() -> None:
    ids = {"deviceId": PHONE, "commandId": "cmd-1"}
    events = open_sse(
        HELLO,
        reported("event", **ids, event=PROGRESS),
        reported("event", **ids, event={"kind": "envelope", "status": "success", "problem": "", "at": 1.0}),
        reported("envelope", **ids, **WHOLE),
        reported("envelope", **ids, **{**WHOLE, "envelope": None, "problem": "cut"}),
        reported("log", **LOG),
        reported("link", deviceId=PHONE, state="log-broken", reason="gone", at=1.0),
        reported("link", deviceId=PHONE, state="log-followed", reason="", at=1.0),
        reported("later", more=True),
        reported("event", **ids, event={**PROGRESS, "kind": "success"}),
    )
    async with before(events=events) as b:
        b.run(b.engine.watch_log(PHONE))
        assert (await b.next()).device_id == PHONE
        step = await b.next()
        assert isinstance(step, CommandProgress)
        assert (step.kind, step.command_id, step.fields, step.text, step.at) == (
            "step-start",
            "cmd-1",
            {"id": "a"},
            "step",
            50,
        )
        seen = await b.next()
        assert isinstance(seen, EnvelopeSeen)
        assert (seen.command_id, seen.raw, seen.problem, seen.parts) == ("cmd-1", "{…}", "", 2)
        assert seen.envelope is not None
        assert seen.envelope["stepResults"][0]["data"] == {"key": "home", "count": "3"}
        cut = await b.next()
        assert (cut.envelope, cut.problem) == (None, "cut")
        log = await b.next()
        assert isinstance(log, LogBatch)
        assert (log.entries[0].message, log.entries[0].tag, log.entries[0].time, log.dropped) == (
            "hello",
            "clawperator",
            5.5,
            2,
        )
        assert log.entries[1].time != log.entries[1].time  # not known
        assert [type(await b.next()) for _ in range(3)] == [LogGap, LogAttached, CommandProgress]


@pytest.mark.parametrize(
    "bad",
    [
        b"event: clawperator:event\ndata: {\n\n",
        reported("event", deviceId=PHONE, commandId=5, event=PROGRESS),
        reported("envelope", deviceId=PHONE, commandId="c", **{**WHOLE, "envelope": {**ENVELOPE, "stepResults": 5}}),
        reported("log", **{**LOG, "lines": [{**LINE, "level": "X"}]}),
        reported("snapshot", deviceId=PHONE),
    ],
)
async def test_what_cannot_be_read_is_a_gap_and_no_crash(bad: bytes) -> None:
    good = reported("event", deviceId=PHONE, commandId="cmd-1", event=PROGRESS)
    async with before(events=open_sse(HELLO, bad, good)) as b:
        b.run(b.engine.watch_log(PHONE))
        assert [type(await b.next()) for _ in range(4)] == [LogAttached, LogGap, LogAttached, CommandProgress]


async def test_a_gap_is_reported_once_with_its_end() -> None:
    reset = b'event: clawperator:reset\ndata: {"reason":"expired"}\n\n'
    async with before(sse(HELLO), sse(HELLO, reset), open_sse(HELLO)) as b:
        b.run(b.engine.watch_log(PHONE))
        assert [type(await b.next()) for _ in range(5)] == [LogAttached, LogGap, LogAttached, LogGap, LogAttached]


async def test_events_that_a_server_kept_no_longer_are_a_gap_although_the_stream_goes_on() -> None:
    dropped = b'event: clawperator:dropped\ndata: {"reason":"too slow","lastEventId":"b-1"}\n\n'
    reset = b'event: clawperator:reset\ndata: {"reason":"expired"}\n\n'
    async with before(sse(HELLO, dropped), open_sse(HELLO, reset)) as b:
        b.run(b.engine.watch_log(PHONE))
        assert [type(await b.next()) for _ in range(4)] == [LogAttached, LogAttached, LogGap, LogAttached]


async def test_without_the_right_to_the_log_there_is_everything_else() -> None:
    denied = http('{"error":{"code":"CAPABILITY_DENIED","message":"no"}}', "403 Forbidden")
    async with before(denied, open_sse(HELLO)) as b:
        b.run(b.engine.watch_log(PHONE))
        assert isinstance(await b.next(), LogAttached)
        asked = b.raw.targets("/events")
    assert ["type=log" in target for target in asked] == [True, False]


def tree(digest: str, text: str = "<hierarchy/>", *, changed: bool = True) -> bytes:
    view = {"view": {"view": "full", "text": text}} if changed else {}
    return http(json.dumps({"ok": True, "deviceId": PHONE, "digest": digest, "ageMs": 3, "changed": changed, **view}))


def snapshot(digest: str, command: str = "cmd-1", *, complete: bool = True) -> bytes:
    facts = {"deviceId": PHONE, "commandId": command, "stepId": "s", "bytes": 9, "at": 50.0}
    return reported("snapshot", digest=digest, complete=complete, **facts)


async def test_a_tree_is_fetched_once_however_often_it_goes_by() -> None:
    events = open_sse(
        HELLO, snapshot("d1"), snapshot("d1", "cmd-2"), snapshot("x", complete=False), snapshot("d2", "cmd-3")
    )
    async with before(tree("d1", "<one/>"), tree("d2", "<two/>"), events=events) as b:
        b.run(b.engine.watch_log(PHONE))
        seen = [await b.next(SnapshotSeen) for _ in range(3)]
    assert [(one.command_id, one.step_id, one.xml, one.at) for one in seen] == [
        ("cmd-1", "s", "<one/>", 50.0),
        ("cmd-2", "s", "<one/>", 50.0),
        ("cmd-3", "s", "<two/>", 50.0),
    ]
    assert b.raw.targets("/devices") == [
        f"/devices/{PHONE}/snapshot?view=full&since=&maxAgeMs=3600000",
        f"/devices/{PHONE}/snapshot?view=full&since=d1&maxAgeMs=3600000",
    ]


async def test_a_tree_that_a_newer_one_has_replaced_is_not_shown_under_its_name() -> None:
    events = open_sse(HELLO, snapshot("old"), snapshot("new", "cmd-2"))
    async with before(tree("new", "<new/>"), events=events) as b:
        b.run(b.engine.watch_log(PHONE))
        seen = await b.next(SnapshotSeen)
    assert (seen.command_id, seen.xml) == ("cmd-2", "<new/>")
    assert len(b.raw.targets("/devices")) == 1


async def test_a_tree_that_cannot_be_had_is_another_attempt_next_time() -> None:
    events = open_sse(HELLO, snapshot("d1"), snapshot("d1", "cmd-2"))
    async with before(http("{}", "500 Oops"), tree("d1"), events=events) as b:
        b.run(b.engine.watch_log(PHONE))
        assert (await b.next(SnapshotSeen)).command_id == "cmd-2"


# -- follow mode


def follow_told(phase: str, **more: Any) -> bytes:
    return reported(
        "follow", **{"deviceId": PHONE, "phase": phase, "commandId": "", "wait": 0.0, "error": None, **more}
    )


async def test_following_is_the_servers_and_its_states_are_reported_here() -> None:
    trouble = {"code": "NODE_NOT_FOUND", "message": "no window"}
    events = open_sse(
        HELLO,
        follow_told("reading"),
        follow_told("busy", commandId="cmd-1"),
        follow_told("sleeping"),
        follow_told("failing", wait=2.0, error=trouble),
    )
    states: asyncio.Queue[FollowState] = asyncio.Queue()
    async with before(sse(HELLO), events) as b:
        follow = b.engine.follow(PHONE, states.put_nowait)
        b.run(follow.run())
        async with asyncio.timeout(patience(10)):
            told_states = [await states.get() for _ in range(4)]
        assert b.raw.targets("/events")[1] == f"/events?device={PHONE}&type=follow&follow={PHONE}"
    away, reading, busy, failing = told_states
    assert [state.phase for state in told_states] == ["away", "reading", "busy", "failing"]
    assert reading == FollowState("reading")
    assert busy.command_id == "cmd-1"
    assert away.error is not None
    assert failing.error is not None
    assert failing.error.code is ErrorCode.NODE_NOT_FOUND
    assert follow.owns("follow-1-abc")
    assert not follow.owns("snapshot-1-abc")


async def test_the_next_tree_of_follow_mode_is_fetched_when_the_last_one_is_painted() -> None:
    events = open_sse(HELLO, snapshot("d1", "follow-1"), snapshot("d2", "follow-2"), snapshot("d2", "follow-3"))
    async with before(tree("d1", "<one/>"), tree("d2", "<two/>"), tree("d2", changed=False), events=events) as b:
        follow = b.engine.follow(PHONE, lambda _: None)
        b.run(b.engine.watch_log(PHONE))
        assert (await b.next(SnapshotSeen)).xml == "<one/>"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await b.next(SnapshotSeen)
        assert len(b.raw.targets("/devices")) == 1
        follow.painted()
        assert (await b.next(SnapshotSeen)).xml == "<two/>"
        follow.painted()
        assert (await b.next(SnapshotSeen)).xml == "<two/>"
        assert len(b.raw.targets("/devices")) == 3, "each look of the server is answered, or it would wait for it"


# -- executing


async def test_an_execution_is_sent_once_and_has_the_servers_result() -> None:
    async with before(http(json.dumps(RESULT))) as b:
        result = await b.engine.execute(build.press_key("home"), device_id=PHONE)
        started, sent, ended = [await b.next() for _ in range(3)]
        (asked,) = b.raw.asked
    assert (result.execution_id, result.backend, result.succeeded) == ("their-id", "operator", True)
    assert result.warnings == ({"code": "W", "message": "careful"},)
    assert [type(event) for event in (started, sent, ended)] == [
        ExecutionStarted,
        ExecutionDispatched,
        ExecutionFinished,
    ]
    assert ended.result["envelope"]["stepResults"][0]["data"]["key"] == "home"
    body = json.loads(asked.body)
    assert (asked.method, asked.target, body["deviceId"]) == ("POST", "/execute", PHONE)
    assert body["execution"]["commandId"] == started.command_id == ended.command_id


async def test_a_swipe_between_two_points_is_the_verb_of_the_server() -> None:
    async with before(http(json.dumps(RESULT))) as b:
        result = await b.engine.execute(gesture("swipe", (10, 20), to=(300, 21)), device_id=PHONE)
        (asked,) = b.raw.asked
    assert result.succeeded
    assert (asked.method, asked.target) == ("POST", "/verbs/input_swipe")
    assert json.loads(asked.body) == {"point": {"x": 10, "y": 20}, "to": {"x": 300, "y": 21}, "deviceId": PHONE}


async def test_a_read_only_console_sends_no_gesture() -> None:
    async with before(read_only=True) as b:
        with pytest.raises(EngineError) as caught:
            await b.engine.execute(gesture("swipe", (10, 20), to=(300, 21)), device_id=PHONE)
        assert not b.raw.asked
    assert caught.value.code is ErrorCode.READ_ONLY


@pytest.mark.parametrize(
    ("answer", "code", "status"),
    [
        (
            http('{"error":{"code":"DEVICE_NOT_FOUND","message":"gone"}}', "404 Not Found"),
            "DEVICE_NOT_FOUND",
            "not_sent",
        ),
        (
            http(
                '{"error":{"code":"RESULT_ENVELOPE_TIMEOUT","message":"silence","broadcastDispatchStatus":"sent"}}',
                "504 No",
            ),
            "RESULT_ENVELOPE_TIMEOUT",
            "sent",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "BACKEND_UNAVAILABLE", "unknown"),
        (http('{"ok":true}'), "BACKEND_UNAVAILABLE", "unknown"),
        (
            http(json.dumps({**RESULT, "envelope": {**ENVELOPE, "stepResults": {"0": 1}}})),
            "BACKEND_UNAVAILABLE",
            "unknown",
        ),
    ],
)
async def test_what_came_of_an_execution_is_reported_truly_and_nothing_is_sent_twice(
    answer: bytes, code: str, status: str
) -> None:
    async with before(answer) as b:
        with pytest.raises(EngineError) as caught:
            await b.engine.execute(build.press_key("home"), device_id=PHONE)
        ended = await b.next(ExecutionFinished)
        assert len(b.raw.asked) == 1
    assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == (code, status)
    assert ended.result["error"]["code"] == code
    assert ("check the device before sending it again" in caught.value.hint) == (status == "unknown")
    assert b.engine.locks() == []


async def test_who_stops_waiting_is_reported_that_it_may_still_act() -> None:
    async with before(lambda _: None) as b:
        running = asyncio.create_task(b.engine.execute(build.press_key("home"), device_id=PHONE))
        await b.raw.arrived.wait()
        (lock,) = b.engine.locks()
        assert (lock["deviceId"], lock["state"]) == (PHONE, "held")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        error = (await b.next(ExecutionFinished)).result["error"]
        assert b.engine.locks() == []
    assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "sent")


async def test_what_is_refused_here_never_leaves() -> None:
    async with before(read_only=True) as b:
        for payload, code in (
            (build.press_key("home"), ErrorCode.READ_ONLY),
            ({}, ErrorCode.EXECUTION_VALIDATION_FAILED),
        ):
            with pytest.raises(EngineError) as caught:
                await b.engine.execute(payload, device_id=PHONE)
            assert caught.value.code is code
        with pytest.raises(EngineError) as caught:
            await b.engine.snapshot()
        assert caught.value.code is ErrorCode.NO_DEVICES
        assert b.raw.asked == []


async def test_the_operator_app_that_was_chosen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        raw_server(http(json.dumps(RESULT))) as raw,
        RemoteEngine(raw.url, receiver_package="com.example.op") as engine,
    ):
        await engine.snapshot(device_id=PHONE)
    assert json.loads(raw.asked[0].body)["receiverPackage"] == "com.example.op"


async def test_the_tree_of_a_device_that_is_not_watched_comes_from_the_answer() -> None:
    step = {"id": "s", "actionType": "snapshot_ui", "success": True, "data": {"text": "<one/>"}}
    answer = http(json.dumps(RESULT | {"envelope": ENVELOPE | {"stepResults": [step]}}))
    async with before(answer) as b:
        await b.engine.snapshot(device_id=PHONE)
        seen = await b.next(SnapshotSeen)
        assert (seen.device_id, seen.step_id, seen.xml) == (PHONE, "s", "<one/>")


async def test_a_picture_is_one_or_is_refused() -> None:
    async with before(http(b"\x89PNG", kind="image/png"), http("<html>", kind="text/html")) as b:
        assert await b.engine.picture(device_id="a/b") == b"\x89PNG"
        with pytest.raises(EngineError, match="unexpected content type"):
            await b.engine.picture(device_id=PHONE)
    assert b.raw.asked[0].target == "/devices/a%2Fb/screen.png"


# -- readiness, and what a server does not offer


async def test_checks_are_those_of_the_server_in_full_or_in_part() -> None:
    checks: list[dict[str, Any]] = [{"id": "host.python.version", "status": "pass", "summary": "fine"}]
    fix = {"title": "Fix it", "platform": "any", "steps": [{"kind": "shell", "value": "adb start-server"}]}
    checks.append(
        {"id": "host.adb.server", "status": "fail", "summary": "down", "code": "ADB_SERVER_FAILED", "fix": fix}
    )
    async with before(http(json.dumps({"ok": True, "ready": False, "checks": checks}))) as b:
        doctor = b.engine.doctor(device_id=PHONE)
        assert [check async for check in doctor.checks()] == checks
        assert [check["id"] async for check in doctor.checks(only="host.adb.server")] == ["host.adb.server"]
        assert [check["id"] async for check in doctor.checks(since="host.adb.server")] == ["host.adb.server"]
        assert {"host.python.version", "readiness.handshake"} <= set(doctor.ids)
        assert b.engine.fixer().plan(checks, PHONE) == ()
    assert b.raw.asked[0].target == f"/doctor?deviceId={PHONE}"


async def test_the_chosen_backend_goes_along() -> None:
    answers = (http(json.dumps({"ok": True, "ready": True, "checks": []})), http(json.dumps(RESULT)))
    async with before(*answers) as b:
        b.engine.use_backend("stock")
        doctor = b.engine.doctor(device_id=PHONE)
        assert [check async for check in doctor.checks()] == []
        assert "readiness.handshake" not in doctor.ids
        await b.engine.execute(build.press_key("home"), device_id=PHONE)
        looked, acted = b.raw.asked
    assert looked.target == f"/doctor?deviceId={PHONE}&backend=stock"
    body = json.loads(acted.body)
    assert (body["backend"], body["allowUnbind"]) == ("stock", True)


async def test_virtual_devices_are_those_of_the_server() -> None:
    avd = {"name": "one", "exists": True, "apiLevel": 35, "supported": True, "unsupportedReasons": []}
    run = {"type": "emulator", "avdName": "one", "serial": PHONE, "booted": True}
    answers = (
        http(json.dumps({"avds": [avd]})),
        http(json.dumps({"devices": [run]})),
        http(json.dumps({"ok": True, **run})),
        http(
            json.dumps(
                {"ok": True, "avdName": "one", "stopped": True, "details": {"serial": PHONE, "stillListed": True}}
            )
        ),
        http(json.dumps({"ok": True, **avd})),
        http('{"ok":true}'),
    )
    async with before(*answers) as b:
        manager = b.engine.emulators
        assert [(one.name, one.api_level, one.supported) for one in await manager.avds()] == [("one", 35, True)]
        assert [(one.avd_name, one.serial) for one in await manager.status()] == [("one", PHONE)]
        assert (await manager.start("one")).booted
        assert not (await manager.stop("one")).gone
        assert (await manager.create("one")).name == "one"
        await manager.delete("a/b")
    assert [f"{asked.method} {asked.target}" for asked in b.raw.asked][2:] == [
        "POST /android/emulators/one/start",
        "POST /android/emulators/one/stop",
        "POST /android/emulators/create",
        "DELETE /android/emulators/a%2Fb",
    ]


async def test_what_a_server_does_not_offer_is_refused_with_what_to_do() -> None:
    async with before() as b:
        engine = b.engine

        async def setup() -> None:
            engine.operator_app(device_id=PHONE)

        async def full() -> None:
            engine.doctor(full=True)

        refusals: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            setup,
            full,
            lambda: engine.force_stop("com.example"),
            engine.emulators.plan,
            engine.emulators.provision,
            lambda: engine.fixer().run(None),  # type: ignore[arg-type]
        ]
        for refusal in refusals:
            with pytest.raises(EngineError) as caught:
                await refusal()
            assert caught.value.hint
        await engine.record_seen()
        assert b.raw.asked == []


def test_what_is_dimmed_is_what_acts() -> None:
    assert not_offered("host:1:").keys() <= keys.ACTING
    assert all("host:1" in reason for reason in not_offered("host:1:").values())
