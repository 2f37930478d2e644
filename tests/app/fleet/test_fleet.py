"""A fleet through a real NATS server: at most once, and truthful when something in the middle goes away."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.fleet import subjects
from clawperator.app.fleet.client import HostState, fleet
from clawperator.app.fleet.connection import connected
from clawperator.engine import Engine, Settings
from clawperator.engine.errors import EngineError
from clawperator.engine.events.types import SnapshotSeen
from clawperator.engine.executions import build, shell_input
from clawperator.engine.executions.verbs import set_text
from clawperator.engine.fan_out import Target, run_on_each
from tests.app.fleet.conftest import Host, Join, Nats, proxy
from tests.app.http.conftest import HOME, nap, plan
from tests.app.mcp.conftest import Listen, Place, calling, document, listen, talk  # noqa: F401 -- a fixture
from tests.support import CLI, patience, ran

if TYPE_CHECKING:
    from nats.aio.msg import Msg

LOOK = {"id": "look", "type": "snapshot_ui"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is noticed after half a second."""
    monkeypatch.setattr(subjects, "ALIVE_SECONDS", 0.1)
    monkeypatch.setattr(subjects, "SILENT_SECONDS", 0.5)


async def running(host: Host) -> None:
    """Return when a device of ``host`` has received a command."""
    async with asyncio.timeout(patience(20)):
        while not sum(device.commands for device in host.devices):  # noqa: ASYNC110 -- a simulated device says it
            await asyncio.sleep(0.005)


@given(st.text())
def test_any_serial_is_one_token_and_no_two_are_the_same(serial: str) -> None:
    token = subjects.token(serial)
    assert token
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=")
    assert (token == subjects.token(f"{serial}.")) is False
    assert subjects.device_subject("h", serial).count(".") == 4


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_hosts_answer_the_inboxes_of_any_user_and_no_subject_of_the_fleet(user: str, host: str, serial: str) -> None:
    begin = subjects.inbox(user)
    assert subjects.is_reply(f"{begin}.0123456789abcdefABCDEF.x")
    assert begin == subjects.INBOX or begin.partition("_INBOX_")[2] == subjects.token(user)
    for subject in (
        subjects.HOSTS,
        subjects.host_subject(host),
        subjects.device_subject(host, serial),
        subjects.event_subject(host, serial, "log"),
        subjects.tree_subject(host, serial),
        f"$SRV.PING.{subjects.token(host)}",
        begin,
        f"{begin}.*",
        f"{begin}.>",
        f"{begin}. ",
    ):
        assert not subjects.is_reply(subject)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("nats://example.com", "FLEET_NOT_SECURED"),
        ("tls://example.com", "FLEET_NOT_SECURED"),
        ("nats://user:secret@10.0.0.1:4222", "USAGE"),
        ("nats://127.0.0.1,nats://example.com", "FLEET_NOT_SECURED"),
        ("http://127.0.0.1", "USAGE"),
        ("nats://127.0.0.1:x", "USAGE"),
        ("", "USAGE"),
        ("nats://user:secret@127.0.0.1:1", "USAGE"),
        ("nats://secret@127.0.0.1:1", "USAGE"),
        ("nats://127.0.0.1:1", "FLEET_UNAVAILABLE"),
        ("tls://10.0.0.1:4222/x?y", "USAGE"),
    ],
)
async def test_addresses_that_are_refused(address: str, code: str) -> None:
    with pytest.raises(EngineError) as caught:
        async with fleet(address):
            pass
    assert caught.value.code == code
    assert "secret" not in str(caught.value.to_dict())


@pytest.mark.parametrize("name", ["", "host", "/x", "a b/x", "a*/x", "h/", f"h/{'x' * 256}"])
async def test_a_device_is_named_by_host_and_serial(nats: Nats, name: str) -> None:
    async with fleet(nats.url) as client:
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), name)
    assert caught.value.code == "INVALID_DEVICE_ID"


async def test_devices_are_found_and_act_under_the_policy_and_audit_of_their_host(nats: Nats, join: Join) -> None:
    bench = await join("bench", 2, tag="lab")
    strict = await join("strict", policy='version = 1\n[profiles.default.capabilities]\nallow = ["observe"]\n')
    serials = [device.serial for device in bench.devices]
    async with fleet(nats.url, caller="ann@laptop") as client:
        found = await client.devices()
        assert [row["device"] for row in found] == sorted([*(f"bench/{s}" for s in serials), f"strict/{serials[0]}"])
        named = [Target(f"bench/{serial}", f"bench/d{index}") for index, serial in enumerate(serials)]
        assert await client.targets("tag:lab") == named
        assert len(await client.targets(f"all,tag:lab,bench/{serials[0]}")) == 3
        assert await client.targets(f"bench/d0,bench/{serials[0]}") == named[:1]
        answer = await client.execute(plan(HOME), f"bench/{serials[0]}")
        assert (answer["ok"], answer["deviceId"]) == (True, f"bench/{serials[0]}")
        answer = await client.execute(plan(HOME), "bench/d1")
        assert (answer["ok"], answer["deviceId"]) == (True, f"bench/{serials[1]}"), "an alias of the host"
        for text, code in (
            ("tag:x", "DEVICE_TAG_UNKNOWN"),
            ("x", "INVALID_DEVICE_ID"),
            ("tag:", "USAGE"),
            ("all,", "USAGE"),
        ):
            with pytest.raises(EngineError) as caught:
                await client.targets(text)
            assert caught.value.code == code
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), f"strict/{serials[0]}")
        assert caught.value.code == "CAPABILITY_DENIED"
        assert "policy of the host strict" in caught.value.hint
        assert "policy" not in caught.value.details
        assert sum(device.commands for device in strict.devices) == 0
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), "bench/nobody")
        assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == ("DEVICE_NOT_FOUND", "not_sent")
    for host in (bench, strict):
        history = host.engine.history
        assert history is not None
        assert {row.caller for row in await history.audit(10)} == {"fleet:ann@laptop"}


async def test_the_executions_of_a_compiled_artifact_run_on_their_host(nats: Nats, join: Join) -> None:
    host = await join("bench")
    compiled = {"executions": [plan(HOME, command="one"), plan(HOME, command="two")]}
    async with fleet(nats.url) as client:
        answer = await client.execute(compiled, f"bench/{host.devices[0].serial}", wait_ms=1_000)
    assert (answer["ok"], len(answer["executions"]), host.devices[0].commands) == (True, 2, 2)


@pytest.mark.parametrize("compiled", [False, True])
async def test_a_caller_writes_no_file_outside_of_the_hosts_folder(
    nats: Nats, join: Join, tmp_path: Path, compiled: bool
) -> None:
    host, target = await join("bench"), tmp_path / "elsewhere" / "picture.png"
    payload = plan({"id": "s", "type": "take_screenshot", "params": {"path": str(target)}})
    sent = {"executions": [payload]} if compiled else payload
    async with fleet(nats.url) as client:
        with pytest.raises(EngineError) as caught:
            await client.execute(sent, f"bench/{host.devices[0].serial}", wait_ms=1_000)
    assert (caught.value.code, host.devices[0].commands, target.exists()) == ("INVALID_PATH", 0, False)


async def test_an_answer_larger_than_a_message_arrives_in_parts(nats: Nats, join: Join) -> None:
    host = await join("bench", faults=[{"kind": "huge_tree", "nodes": 2_000}])
    async with fleet(nats.url) as client:
        answer = await client.execute(plan(LOOK), f"bench/{host.devices[0].serial}")
    assert len(answer["envelope"]["stepResults"][0]["data"]["text"]) > 100_000


async def test_events_and_trees_are_published_and_what_is_lost_is_counted(nats: Nats, join: Join) -> None:
    host = await join("bench")
    serial, seen = host.devices[0].serial, asyncio.Queue[Any]()

    async def heard(message: Msg) -> None:
        seen.put_nowait(message)

    async with fleet(nats.url) as client, connected(nats.url, name="watcher", lasting=False) as watcher:
        await watcher.subscribe(f"{subjects.PREFIX}.event.>", cb=heard)
        await watcher.subscribe(f"{subjects.PREFIX}.tree.>", cb=heard)
        await watcher.flush()
        await client.execute(plan(LOOK), f"bench/{serial}")
        kinds: set[str] = set()
        async with asyncio.timeout(patience(20)):
            while not {"tree", "clawperator=3Aexecution"} <= kinds:
                message = await seen.get()
                parts = message.subject.split(".")
                assert parts[3:5] == ["bench", serial]
                assert message.headers[subjects.DROPPED] == "0"
                kinds.add("tree" if parts[2] == "tree" else parts[5])


async def test_a_host_whose_policy_lets_no_one_observe_publishes_nothing(
    nats: Nats, join: Join, tmp_path: Path
) -> None:
    policy = 'version = 1\n[profiles.default.capabilities]\nallow = ["navigate"]\n'
    host = await join("bench", policy=policy)
    serial, seen, ran = host.devices[0].serial, list[str](), asyncio.Event()
    unbound = Settings.resolve({}, {**host.engine.settings.environment, "HOME": str(tmp_path)})

    async def heard(message: Msg) -> None:
        seen.append(message.subject)
        if "execution" in message.subject:
            ran.set()

    async with connected(nats.url, name="watcher", lasting=False) as watcher:
        for kind in ("event", "tree"):
            await watcher.subscribe(f"{subjects.PREFIX}.{kind}.>", cb=heard)
        await watcher.flush()
        with host.engine.events.subscribe() as events:
            async with Engine(unbound) as own:  # another program of this computer
                assert (await own.execute(plan(LOOK), device_id=serial)).outcome.status == "succeeded"
            async with asyncio.timeout(patience(20)):
                while not any(isinstance(each, SnapshotSeen) for each in await events.batch()):
                    pass
        allowed = policy.replace("navigate", 'observe", "navigate", "input')
        (tmp_path / "bench" / "policy.toml").write_text(allowed)
        async with fleet(nats.url) as client:  # all that comes before its events has been handled
            assert (await client.execute(plan(HOME, command="last"), f"bench/{serial}"))["ok"]
        async with asyncio.timeout(patience(20)):
            await ran.wait()
    assert not [each for each in seen if ".tree." in each]


async def test_what_is_typed_is_in_the_answer_to_its_caller_and_in_nothing_that_is_published(
    nats: Nats, join: Join
) -> None:
    host, canary = await join("bench"), "Canary7391xyzzy"
    serial, published = host.devices[0].serial, list[str]()
    field = {"resourceId": "com.example.shop:id/search_src_text"}

    async def heard(message: Msg) -> None:
        published.append(f"{message.subject} {message.headers} {message.data!r}")

    async with fleet(nats.url) as client, connected(nats.url, name="watcher", lasting=False) as watcher:
        for kind in ("event", "tree"):
            await watcher.subscribe(f"{subjects.PREFIX}.{kind}.>", cb=heard)
        await watcher.flush()
        host.devices[0].ui.show("com.example.shop", "search")
        typing = {"id": "t", "type": "enter_text", "params": {"matcher": field, "text": canary}}
        answer = await client.execute(plan(typing, LOOK), f"bench/{serial}")
        assert canary in str(answer)
        host.devices[0].ui.reset("com.example.shop")
        host.devices[0].ui.show("com.example.shop", "search")
        await host.engine.execute(set_text(field, f"{canary}2"), device_id=serial)
        await host.engine.execute(shell_input.text(canary), device_id=serial)
        await client.execute(plan(nap(1), command="the-end"), f"bench/{serial}")
        async with asyncio.timeout(patience(20)):
            while not any("the-end" in each and "execution" in each for each in published):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    trees = [each for each in published if f".tree.bench.{serial}" in each]
    assert len(trees) > 2
    assert [each for each in published if canary in each and each not in trees] == []
    assert all(canary not in each for each in trees)


@pytest.mark.usefixtures("impatient")
async def test_a_host_that_vanishes_leaves_an_unknown_outcome_and_runs_nothing_again(nats: Nats, join: Join) -> None:
    host = await join("bench", speed=1)
    serial = host.devices[0].serial
    async with fleet(nats.url) as client:
        asked = asyncio.create_task(client.execute(plan(nap(3_000)), f"bench/{serial}"))
        await running(host)
        host.leave()
        with pytest.raises(EngineError) as caught:
            await asked
        assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == ("FLEET_NO_ANSWER", "unknown")
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), f"bench/{serial}")
        assert caught.value.code == "DEVICE_NOT_FOUND"
    assert host.devices[0].commands == 1


@pytest.mark.usefixtures("impatient")
async def test_a_partition_is_noticed_and_what_was_sent_into_it_is_unknown(nats: Nats, join: Join) -> None:
    async with proxy(nats.port) as (url, way):
        host = await join("bench", url=url)
        async with fleet(nats.url) as client:
            device = f"bench/{host.devices[0].serial}"
            assert (await client.execute(plan(HOME), device))["ok"]
            way.clear()
            with pytest.raises(EngineError) as caught:
                await client.execute(plan(HOME), device)
            assert caught.value.code == "FLEET_NO_ANSWER"
            with pytest.raises(EngineError) as caught:
                await client.targets("all")
            assert (caught.value.code, caught.value.message[:15]) == ("FLEET_UNAVAILABLE", "No host of the ")
        assert host.devices[0].commands == 1


@pytest.mark.usefixtures("impatient")
async def test_what_a_partition_held_back_is_not_run_late(nats: Nats, join: Join) -> None:
    async with proxy(nats.port) as (url, way):
        host = await join("bench", url=url)
        device = f"bench/{host.devices[0].serial}"
        async with fleet(nats.url) as client:
            assert (await client.execute(plan(HOME), device))["ok"]
            way.clear()
            with pytest.raises(EngineError) as caught:
                await client.execute(plan(HOME), device)
            assert caught.value.extra["broadcastDispatchStatus"] == "unknown"
            async with fleet(nats.url) as other:
                with pytest.raises(EngineError) as caught:
                    await other.execute(plan(HOME), device)
            assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == (
                "FLEET_UNAVAILABLE",
                "not_sent",
            )
            way.set()
            assert (await client.execute(plan(HOME), device))["ok"]
    assert host.devices[0].commands == 2


async def test_after_a_restart_of_the_server_hosts_are_back_and_nothing_is_sent_late(nats: Nats, join: Join) -> None:
    host = await join("bench", speed=1)
    device = f"bench/{host.devices[0].serial}"
    async with fleet(nats.url, lasting=True) as client:
        asked = asyncio.create_task(client.execute(plan(nap(1_500)), device))
        await running(host)
        await nats.stop()
        with pytest.raises(EngineError) as caught:
            await asked
        assert caught.value.code == "FLEET_NO_ANSWER"
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), device)
        assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == ("FLEET_UNAVAILABLE", "not_sent")
        await nats.start()
        async with asyncio.timeout(patience(30)):
            while True:
                with suppress(EngineError):  # nothing was sent: the command count below says so
                    done = await client.execute(plan(HOME), device, wait_ms=20_000)
                    break
                await asyncio.sleep(0.05)
    assert done["ok"]
    assert host.devices[0].commands == 2


async def test_a_name_belongs_to_one_host_and_a_request_to_one_of_two(nats: Nats, join: Join) -> None:
    first = await join("bench")
    with pytest.raises(EngineError) as caught:
        await join("other", as_name="bench")
    assert caught.value.code == "FLEET_HOST_TAKEN"
    async with fleet(nats.url) as client:
        assert (await client.execute(plan(HOME), f"bench/{first.devices[0].serial}"))["ok"]
    assert first.devices[0].commands == 1


async def test_a_reader_that_does_not_read_is_dropped_and_delays_no_one(nats: Nats, join: Join) -> None:
    host = await join("bench", faults=[{"kind": "huge_tree", "nodes": 300}])
    device = f"bench/{host.devices[0].serial}"
    reader, writer = await asyncio.open_connection("127.0.0.1", nats.port, limit=1)
    writer.write(b'CONNECT {"verbose":false}\r\nSUB clawperator.> 1\r\nPING\r\n')
    await reader.readexactly(1)
    async with fleet(nats.url) as client:
        for _ in range(10):
            assert (await client.execute(plan(LOOK), device))["ok"]
    assert host.devices[0].commands == 10
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


async def test_fifty_devices_of_two_hosts_have_one_row_each(nats: Nats, join: Join) -> None:
    hosts = [await join(name, 25, tag="lab") for name in ("east", "west")]
    async with fleet(nats.url) as client:
        targets = await client.targets("tag:lab")
        assert len(targets) == 50
        rows = [row async for row in run_on_each(targets, lambda name: client.execute(plan(HOME), name), jobs=16)]
    assert Counter(row.target.serial for row in rows) == Counter(target.serial for target in targets)
    assert {row.status for row in rows} == {"succeeded"}
    assert [device.commands for host in hosts for device in host.devices] == [1] * 50


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 60_000,
        b'{"payload":{}}',
        b'{"payload":{},"options":{"x":1},"caller":1}',
        b'{"payload":{},"options":{"display":"0"},"caller":"x"}',
        b'{"payload":{},"how":{"then":"text"},"how":[],"caller":"x"}',
        b'{"ask":"anything","caller":"x"}',
        b'{"ask":"skill","payload":{"id":1},"caller":"x"}',
    ],
)
async def test_messages_of_strangers_are_answered_with_an_error(nats: Nats, join: Join, data: bytes) -> None:
    host = await join("bench")
    subject = subjects.device_subject("bench", host.devices[0].serial)
    async with connected(nats.url, name="stranger", lasting=False) as client:
        inbox = client.new_inbox()
        answers = await client.subscribe(inbox)
        await client.publish(subject, data, reply=inbox)
        await client.publish(subject, data)
        while subjects.PART not in ((message := await answers.next_msg(timeout=patience(10))).headers or {}):
            pass
    assert json.loads(message.data)["error"]["code"] == "INVALID_BODY"
    assert host.devices[0].commands == 0


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("data", "headers", "status"),
    [
        (b"", {}, "unknown"),
        (b"[" * 60_000, {}, "unknown"),
        (b"[1]", {}, "unknown"),
        (b"{}", {}, "unknown"),
        (b'{"ok":true,"envelope":1}', {}, "unknown"),
        (b'{"ok":false,"error":"no"}', {}, "unknown"),
        (b"{}", {subjects.PART: "x/y"}, "unknown"),
        (b"{}", {subjects.PART: "1/2"}, "unknown"),
        (b'{"ok":false,"error":{"code":7,"message":[],"hint":{},"details":1}}', {}, None),
    ],
)
async def test_forged_answers_are_errors_about_an_unknown_outcome(
    nats: Nats, data: bytes, headers: dict[str, str], status: str | None
) -> None:
    async with connected(nats.url, name="stranger", lasting=False) as stranger, fleet(nats.url) as client:

        async def forge(message: Msg) -> None:
            if json.loads(message.data).get("ask") == "time":
                await stranger.publish(message.reply, b'{"ok":true,"time":1}')
            else:
                await stranger.publish(message.reply, data, headers=headers)

        await stranger.subscribe(subjects.device_subject("evil", "x"), cb=forge)
        await stranger.flush()
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), "evil/x")
    assert caught.value.extra.get("broadcastDispatchStatus") == status, caught.value
    assert caught.value.extra["deviceId"] == "evil/x"


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"ok":true,"time":"now"}'])
async def test_without_the_time_of_the_host_nothing_is_sent(nats: Nats, data: bytes) -> None:
    asked = []
    async with connected(nats.url, name="stranger", lasting=False) as stranger, fleet(nats.url) as client:

        async def forge(message: Msg) -> None:
            asked.append(json.loads(message.data)["ask"])
            await stranger.publish(message.reply, data)

        await stranger.subscribe(subjects.device_subject("evil", "x"), cb=forge)
        await stranger.flush()
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), "evil/x")
    assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == ("FLEET_UNAVAILABLE", "not_sent")
    assert asked == ["time"]


async def test_forged_hosts_are_left_out_and_the_others_found(nats: Nats, join: Join) -> None:
    host = await join("bench", tag="lab")
    forged = [
        b"",
        b"[" * 60_000,
        b"[]",
        b"{}",
        b'{"host":"a b","devices":[],"serials":["x"]}',
        b'{"host":"evil","devices":[{"serial":7}],"serials":[7]}',
        b'{"host":"evil","devices":{},"serials":{"x":1}}',
    ]
    async with connected(nats.url, name="stranger", lasting=False) as stranger, fleet(nats.url) as client:

        async def forge(message: Msg) -> None:
            for data in forged:
                await stranger.publish(message.reply, data)

        for subject in (subjects.HOSTS, subjects.host_subject("evil"), f"$SRV.PING.{subjects.SERVICE}"):
            await stranger.subscribe(subject, cb=forge)
        await stranger.flush()
        device = f"bench/{host.devices[0].serial}"
        assert [row["device"] for row in await client.devices()] == [device]
        assert await client.targets("tag:lab") == [Target(device, "bench/d0")]
        await join("other")


@pytest.mark.parametrize("serial", ["", "x" * 256])
def test_a_host_whose_devices_cannot_be_addressed_is_none(serial: str) -> None:
    with pytest.raises(EngineError, match="named by host and serial"):
        HostState.model_validate({"host": "evil", "devices": [{"serial": serial, "state": "device"}]})


async def test_hosts_and_callers_need_the_extra_of_the_fleet_only() -> None:
    """What other extras install is not there."""
    absent = ("fastapi", "starlette", "uvicorn", "httpx", "httpx_sse", "mcp")
    code = f"import sys; sys.modules |= dict.fromkeys({absent}); import clawperator.app.fleet.client, clawperator.app.fleet.host"
    done = await ran(sys.executable, "-c", code, env=dict(os.environ))
    assert (done.exit_code, done.err) == (0, "")


async def test_an_option_that_the_host_does_not_have_is_refused(nats: Nats, join: Join) -> None:
    host = await join("bench")
    how: Any = {"turbo": True}
    async with fleet(nats.url) as client:
        with pytest.raises(EngineError) as caught:
            await client.execute(plan(HOME), f"bench/{host.devices[0].serial}", **how)
    assert caught.value.code == "INVALID_BODY"
    assert "no option turbo" in caught.value.message
    assert host.devices[0].commands == 0


async def test_a_device_that_is_listed_but_not_ready_is_refused_with_its_state(nats: Nats, join: Join) -> None:
    host = await join("bench", tag="lab", faults=[{"kind": "unauthorized"}])
    device = f"bench/{host.devices[0].serial}"
    async with fleet(nats.url) as client:
        for name in (device, "bench/d0"):
            with pytest.raises(EngineError) as caught:
                await client.execute(plan(HOME), name)
            assert (caught.value.code, caught.value.extra["deviceId"]) == ("DEVICE_UNAUTHORIZED", name)
        with pytest.raises(EngineError) as caught:
            await client.targets("all")
        assert caught.value.code == "NO_DEVICES"


async def test_a_phone_that_two_hosts_see_is_shown_so_and_used_once(nats: Nats, join: Join) -> None:
    hosts = [await join(name, tag="lab", devices_of=["R58M12ABCDE", None]) for name in ("east", "west")]
    async with fleet(nats.url) as client:
        rows = {row["device"]: row for row in await client.devices()}
        emulator = hosts[0].devices[1].serial
        assert {name: row.get("alsoOn") for name, row in rows.items()} == {
            "east/R58M12ABCDE": ["west"],
            f"east/{emulator}": None,
            "west/R58M12ABCDE": ["east"],
            f"west/{emulator}": None,
        }
        once = ["east/R58M12ABCDE", f"east/{emulator}", f"west/{emulator}"]
        for words in ("all", "tag:lab", "all,tag:lab"):
            assert [target.serial for target in await client.targets(words)] == once
        named = [target.serial for target in await client.targets("west/R58M12ABCDE,all")]
        assert (named[0], len(named)) == ("west/R58M12ABCDE", 3)


async def test_a_phone_that_a_host_lists_twice_is_used_once(nats: Nats, join: Join) -> None:
    wireless = {"guid": "adb-R5CT30ABCDE-Fj4kLm", "paired": True}
    await join("bench", tag="lab", device={"serial": "R5CT30ABCDE", "usb": "1-4"}, wireless=wireless)
    usb, other = "R5CT30ABCDE", "adb-R5CT30ABCDE-Fj4kLm._adb-tls-connect._tcp"
    async with fleet(nats.url) as client:
        rows = {row["serial"]: row for row in await client.devices()}
        assert rows[usb]["otherTransports"] == [other]
        assert (rows[other]["otherTransports"], rows[other]["preferred"]) == ([usb], False)
        for words in ("all", f"bench/{other},all", f"bench/{other},bench/{usb}", "tag:lab,all"):
            (target,) = await client.targets(words)
            assert (target.serial, target.other_transports) == (f"bench/{usb}", (f"bench/{other}",))
        answer = await client.execute(build.press_key("home"), f"bench/{other}")
        assert answer["deviceId"] == f"bench/{other}", "a choice is a choice"


async def test_a_picture_the_checks_and_a_skill_are_those_of_the_host(nats: Nats, join: Join) -> None:
    host = await join("bench")
    device = f"bench/{host.devices[0].serial}"
    async with fleet(nats.url, caller="ann") as client:
        assert (await client.picture(device)).startswith(b"\x89PNG")
        assert {"ok", "checks"} <= (await client.doctor(device, "operator")).keys()
        with pytest.raises(EngineError) as caught:
            await client.run_skill("com.example.nothing", device)
        assert caught.value.code == "REGISTRY_READ_FAILED"
        assert "On the host bench" in caught.value.hint


@pytest.mark.ci
async def test_the_command_line_addresses_a_fleet(nats: Nats, join: Join) -> None:
    host = await join("bench", 2, tag="lab")
    serial = host.devices[0].serial
    env = {**os.environ, "HOME": str(nats.folder), "XDG_CONFIG_HOME": str(nats.folder), "CLAWPERATOR_WARM": "0"}

    async def command(*words: str) -> tuple[int, list[dict[str, Any]]]:
        done = await ran(*CLI, *words, env=env)
        return done.exit_code, [json.loads(line) for line in done.out.splitlines()]

    there, text = ("--fleet", nats.url), json.dumps(plan(HOME))
    exit_code, [listed] = await command("fleet", "devices", nats.url)
    assert (exit_code, [row["serial"] for row in listed["devices"]]) == (0, [device.serial for device in host.devices])
    exit_code, [answer] = await command("execute", text, *there, "--device", f"bench/{serial}")
    assert (exit_code, answer["deviceId"]) == (0, f"bench/{serial}")
    exit_code, [seen] = await command("observe", "snapshot", *there, "--device", f"bench/{serial}")
    assert (exit_code, seen["envelope"]["status"]) == (0, "success")
    exit_code, [missed] = await command(
        "action", "click", "--text", "x", *there, "--device", f"bench/{serial}", "--brief"
    )
    assert (exit_code, missed["outcome"]["status"]) == (1, "failed")
    exit_code, lines = await command("execute", text, *there, "--devices", "tag:lab,bench/away", "--brief")
    assert exit_code == 1
    assert {line["deviceId"]: line["status"] for line in lines[:-1]} == {
        "bench/away": "failed",
        **{f"bench/{device.serial}": "succeeded" for device in host.devices},
    }
    for words, code in (
        (("execute", text, *there), "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"),
        (("execute", text, *there, "--device", serial), "INVALID_DEVICE_ID"),
        (("fleet", "join", nats.url, "--name", "a/b"), "USAGE"),
        (("fleet", "devices"), "USAGE"),
    ):
        exit_code, [refused] = await command(*words)
        assert (exit_code, refused["code"]) == (1, code)
    assert [device.commands for device in host.devices] == [4, 1]


@pytest.mark.ci
async def test_the_policy_of_the_caller_holds_on_a_fleet_as_well(nats: Nats, join: Join) -> None:
    host = await join("bench")
    policy = nats.folder / "nothing.toml"
    policy.write_text("version = 1\n[profiles.default.capabilities]\nallow = []\n")
    env = {**os.environ, "HOME": str(nats.folder), "CLAWPERATOR_POLICY": str(policy), "CLAWPERATOR_WARM": "0"}
    there = ("--fleet", nats.url, "--device", f"bench/{host.devices[0].serial}")
    for words in (
        ("execute", json.dumps(plan(HOME)), *there),
        ("execute", json.dumps({"executions": [plan(HOME)]}), *there),
        ("execute", json.dumps(plan(nap(1))), *there, "--then", "compact"),
        ("execute", json.dumps(plan(HOME)), "--fleet", nats.url, "--devices", "all"),
        ("observe", "snapshot", *there),
        ("skills", "run", "com.android.settings.overview", *there),
        ("fleet", "devices", nats.url),
    ):
        done = await ran(*CLI, *words, env=env)
        assert "CAPABILITY_DENIED" in done.out, (words, done.out)
        assert done.exit_code == 1
    assert host.devices[0].commands == 0


@pytest.mark.ci
async def test_skills_and_their_artifacts_run_on_a_fleet(nats: Nats, join: Join) -> None:
    host = await join("bench", 2, tag="lab")
    serial = host.devices[0].serial
    env = {**os.environ, "HOME": str(nats.folder), "XDG_CONFIG_HOME": str(nats.folder), "CLAWPERATOR_WARM": "0"}

    async def command(*words: str) -> tuple[int, list[dict[str, Any]]]:
        done = await ran(*CLI, *words, env=env)
        return done.exit_code, [json.loads(line) for line in done.out.splitlines()]

    skill = ("skills", "run", "com.android.settings.overview", "--fleet", nats.url)
    exit_code, [answer] = await command(*skill, "--device", f"bench/{serial}")
    assert (exit_code, answer["code"]) == (1, "REGISTRY_READ_FAILED"), answer
    own = {**host.engine.settings.environment, "TMPDIR": str(nats.folder)}  # the script keeps its picture there
    host.engine.settings = replace(host.engine.settings, skills_registry="builtin", environment=own)
    exit_code, [answer] = await command(*skill, "--device", f"bench/{serial}")
    assert (exit_code, answer["skillId"], answer["deviceId"]) == (0, skill[2], f"bench/{serial}"), answer
    artifact = ("--registry", "builtin", "--artifact", "overview")
    exit_code, lines = await command(*skill, *artifact, "--devices", "tag:lab")
    assert (exit_code, [line.get("status") for line in lines]) == (0, ["succeeded", "succeeded", None])
    bare = await join("bare", operator={"installed": False})
    own = {**bare.engine.settings.environment, "TMPDIR": str(nats.folder)}
    bare.engine.settings = replace(bare.engine.settings, skills_registry="builtin", environment=own)
    async with fleet(nats.url) as client:
        done = await client.run_skill(skill[2], f"bare/{serial}", then="none", backend="stock")
    assert done["then"]["settled"], "the snapshots around the script are of the same backend"


@pytest.mark.ci
async def test_an_agent_reaches_the_fleet_through_a_server_that_listens(
    nats: Nats,
    join: Join,
    listen: Listen,  # noqa: F811 -- a fixture
) -> None:
    host = await join("bench")
    env = {**os.environ, "HOME": str(nats.folder), "XDG_CONFIG_HOME": str(nats.folder), "ADB_PATH": "/nowhere"}
    listening = await listen(Place(host.devices, env, nats.folder), "--fleet", nats.url)
    device = f"bench/{host.devices[0].serial}"
    async with calling(listening.url) as agent:
        assert (await agent.ok("execute", execution=plan(HOME), deviceId=device))["deviceId"] == device
    assert host.devices[0].commands == 1


@pytest.mark.ci
async def test_an_agent_reaches_the_fleet(nats: Nats, join: Join) -> None:
    host = await join("bench", 2, tag="lab", speed=1)
    env = {**os.environ, "HOME": str(nats.folder), "XDG_CONFIG_HOME": str(nats.folder), "ADB_PATH": "/nowhere"}
    device = f"bench/{host.devices[0].serial}"
    for flags, works in (((), True), (("--read-only",), False)):
        async with talk(env, nats.folder / "stderr", "--fleet", nats.url, *flags) as agent:
            result = await agent.call("execute", execution=plan(HOME), deviceId=device)
            answer = document(result)
            if not works:
                assert answer["error"]["code"] == "READ_ONLY"
                continue
            assert answer["deviceId"] == device
            many = await agent.ok("execute", execution=plan(HOME), devices="tag:lab", brief=True)
            assert [row["status"] for row in many["rows"]] == ["succeeded"] * 2
            call = asyncio.create_task(agent.call("execute", execution=plan(nap(1_000)), deviceId=device))
            async with asyncio.timeout(20):
                while host.devices[0].commands < 3:  # noqa: ASYNC110 -- the device announces nothing
                    await asyncio.sleep(0.01)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                answer = {}
                while "interrupted" not in answer:
                    answer = document(await agent.call("execute", execution=plan(HOME), deviceId=device))
            assert answer["interrupted"]["broadcastDispatchStatus"] == "sent"
    assert host.devices[1].commands == 1


async def test_a_swallowed_cancellation_ends_a_request(nats: Nats, monkeypatch: pytest.MonkeyPatch) -> None:
    """nats-py and ``wait_for`` of Python 3.11 can lose one; a console on a fleet then waited for its own end."""
    asked = asyncio.Event()

    async def publish(*_: object) -> None:
        asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async with fleet(nats.url) as client:
        monkeypatch.setattr("nats.aio.client.Client.publish", publish)
        asking = asyncio.create_task(client.hosts())
        await asked.wait()
        asking.cancel()
        await asyncio.wait([asking], timeout=patience(10))
        assert asking.cancelled()
