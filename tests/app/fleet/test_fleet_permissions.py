"""The documented configuration of the NATS server, with a host and callers that attack; 127.0.0.1 counts as another computer here.

``bench-4`` is the host that attacks, ``bob`` the caller: each knows its own credentials and everything that is public.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.fleet import client as fleet_client
from clawperator.app.fleet import connection, subjects
from clawperator.app.fleet.client import fleet
from clawperator.engine.errors import EngineError
from tests.app.fleet.conftest import PROGRAM, Host, Join, Nats, join  # noqa: F401 -- a fixture
from tests.app.fleet.test_fleet_security import OPENSSL, certificate, remote  # noqa: F401 -- fixtures
from tests.app.http.conftest import HOME, plan
from tests.support import CLI, patience, ran

pytestmark = [
    pytest.mark.skipif(PROGRAM is None or OPENSSL is None, reason="nats-server or openssl is not installed"),
    pytest.mark.usefixtures("remote"),
]
CONF = Path(__file__).parents[3] / "examples" / "nats-fleet.conf"
USERS = ("bench-3", "bench-4", "ann", "bob", "ci")
SECRET = "s3cret-of-{}"
PHONE = "emulator-5554"
_P = subjects.PREFIX
OWN_SUBSCRIPTIONS = {
    "bench-4": ("_INBOX_bench-4.x", f"{_P}.hosts", f"{_P}.device.bench-4.=", f"{_P}.device.bench-4.x", "$SRV.PING", "$SRV.INFO.x.y"),
    "ann": ("_INBOX_ann.x", f"{_P}.event.bench-3.x.y", f"{_P}.tree.bench-3.x"),
    "bob": ("_INBOX_bob.x", f"{_P}.event.bench-4.x.y", f"{_P}.tree.bench-4.x"),
}  # fmt: skip


class Fleets:
    """The server of the documented configuration, and ways into it."""

    def __init__(self, server: Nats, folder: Path, ca: Path, patch: pytest.MonkeyPatch) -> None:
        self.url = server.url.replace("nats:", "tls:")
        self._folder, self._ca, self._patch = folder, ca, patch

    def be(self, user: str) -> dict[str, str]:
        """Use the credentials of ``user`` from now on; return the variables that say so."""
        path = self._folder / f"{user}.creds"
        path.write_text(f"{user}:{SECRET.format(user)}")
        path.chmod(0o600)
        variables = {connection.CREDENTIALS_VARIABLE: str(path), connection.CA_VARIABLE: str(self._ca)}
        for name, value in variables.items():
            self._patch.setenv(name, value)
        return variables

    @asynccontextmanager
    async def raw(self, user: str) -> AsyncIterator[tuple[Any, list[str]]]:
        """A plain client of NATS, and what the server refused."""
        refused: list[str] = []

        async def note(error: Exception) -> None:
            if "permissions violation" in str(error).lower():  # not what TLS says about a closed connection
                refused.append(str(error))

        client = connection.Connection()  # nats-py's own ``flush`` returns before the server has read what is pending
        await client.connect(
            self.url,
            user=user,
            password=SECRET.format(user),
            tls=ssl.create_default_context(cafile=str(self._ca)),
            error_cb=note,
            inbox_prefix=f"_INBOX_{user}",
        )
        try:
            yield client, refused
        finally:
            await client.close()


@pytest.fixture
async def server(
    tmp_path: Path,
    certificate: tuple[Path, Path],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Fleets]:
    (folder := tmp_path / "server").mkdir()
    passwords = {f"{user.upper().replace('-', '_')}_PASSWORD": SECRET.format(user) for user in USERS}
    cert, key = map(str, certificate)
    running = Nats(folder, file=CONF, FLEET_CERT=cert, FLEET_KEY=key, **passwords)
    await running.start()
    yield Fleets(running, folder, certificate[0], monkeypatch)
    await running.stop()


@pytest.fixture
async def bench(server: Fleets, join: Join) -> Host:  # noqa: F811
    """An honest host."""
    server.be("bench-3")
    return await join("bench-3", 2, tag="lab", url=server.url)


Take = Callable[[Any], Awaitable[None]]


async def test_hosts_and_callers_can_do_what_they_should(server: Fleets, bench: Host, join: Join) -> None:  # noqa: F811
    server.be("bench-4")
    other = await join("bench-4", tag="lab", url=server.url)
    first, second = (device.serial for device in bench.devices)
    server.be("ann")
    async with fleet(server.url) as ann:
        assert [row["device"] for row in await ann.devices()] == [
            f"bench-3/{first}",
            f"bench-3/{second}",
            f"bench-4/{PHONE}",
        ]
        assert [target.serial for target in await ann.targets("tag:lab")] == [
            f"bench-3/{first}",
            f"bench-3/{second}",
            f"bench-4/{PHONE}",
        ]
        assert (await ann.execute(plan(HOME), f"bench-3/{second}"))["ok"]
        assert (await ann.picture(f"bench-3/{first}"))[:4] == b"\x89PNG"
        assert (await ann.history("bench-3", limit=5))["runs"]
    for user in ("bob", "ci"):
        server.be(user)
        async with fleet(server.url) as caller:
            assert [row["device"] for row in await caller.devices()] == [f"bench-4/{PHONE}"]
            assert (await caller.execute(plan(HOME), f"bench-4/{PHONE}"))["ok"]
            with pytest.raises(EngineError) as refused:
                await caller.execute(plan(HOME), f"bench-3/{first}")
            assert (refused.value.code, refused.value.extra["broadcastDispatchStatus"]) == (
                "FLEET_UNAVAILABLE",
                "not_sent",
            )
    assert [device.commands for device in (*bench.devices, *other.devices)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("bench-4", ">"),
        ("bench-4", "*.>"),
        ("bench-4", "_INBOX.>"),
        ("bench-4", "_INBOX_ann.>"),
        ("bench-4", f"{_P}.device.>"),
        ("bench-4", f"{_P}.device.*.*"),
        ("bench-4", f"{_P}.device.bench-3.{PHONE}"),
        ("bench-4", f"{_P}.device.bench-3.="),
        ("bench-4", f"{_P}.event.>"),
        ("bench-4", f"{_P}.event.bench-4.>"),
        ("bob", ">"),
        ("bob", "_INBOX.>"),
        ("bob", "_INBOX_ann.>"),
        ("bob", "*.*.*"),
        ("bob", "$SRV.>"),
        ("bob", f"{_P}.hosts"),
        ("bob", f"{_P}.device.bench-4.>"),
        ("bob", f"{_P}.event.>"),
        ("bob", f"{_P}.event.*.{PHONE}.>"),
        ("bob", f"{_P}.event.bench-3.>"),
        ("bob", f"{_P}.tree.>"),
        ("ci", f"{_P}.event.bench-4.>"),
        ("ci", f"{_P}.tree.bench-4.{PHONE}"),
        ("ci", "_INBOX_bob.>"),
        ("ann", "_INBOX_bob.>"),
        ("ann", f"{_P}.device.>"),
        ("ann", f"{_P}.hosts"),
    ],
)
async def test_no_one_hears_what_is_for_others(server: Fleets, user: str, subject: str) -> None:
    async with server.raw(user) as (client, refused):
        for queue in ("", "bench-3"):
            await client.subscribe(subject, queue=queue)
        await client.flush()
    assert len(refused) == 2, refused
    assert all("permissions violation for subscription" in words.lower() for words in refused)


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("bench-4", f"{_P}.event.bench-3.{PHONE}.clawperator=3Aexecution"),
        ("bench-4", f"{_P}.tree.bench-3.{PHONE}"),
        ("bench-4", f"{_P}.device.bench-3.{PHONE}"),
        ("bench-4", "_INBOX_ann.0123456789012345678901.x"),
        ("bench-4", "$SRV.PING"),
        ("bob", f"{_P}.device.bench-3.{PHONE}"),
        ("bob", f"{_P}.device.bench-3.="),
        ("bob", f"{_P}.event.bench-4.{PHONE}.x"),
        ("bob", "_INBOX_ann.x"),
        ("bob", "$SRV.PING"),
        ("ci", f"{_P}.device.bench-4.emulator-5556"),
        ("ann", f"{_P}.event.bench-3.{PHONE}.x"),
        # what a user hears it does not send: the right to answer would lead anywhere
        *((user, subject) for user, heard in OWN_SUBSCRIPTIONS.items() for subject in heard),
    ],
)
async def test_no_one_speaks_for_others(server: Fleets, user: str, subject: str) -> None:
    async with server.raw(user) as (client, refused):
        await client.publish(subject, b"{}", reply=f"{_P}.device.bench-3.{PHONE}")
        await client.flush()
        assert len(refused) == 1, refused
        assert "permissions violation for publish" in refused[0].lower()
        await client.publish(f"{_P}.device.bench-3.{PHONE}", b"{}")
        await client.flush()
    assert len(refused) == 2 or user == "ann", "a right to answer came of it"


@asynccontextmanager
async def evil(server: Fleets, take: Take, *, speaks: bytes = b"") -> AsyncIterator[Any]:
    """The host ``bench-4``: calls ``take`` with the requests for its device, and answers ``speaks`` when all hosts are asked."""

    async def name(message: Any) -> None:
        for line in speaks.splitlines():
            await message._client.publish(message.reply, line)

    async def request(message: Any) -> None:
        if json.loads(message.data).get("ask") == "time":
            await message._client.publish(message.reply, b'{"ok":true,"time":1}')
        else:
            await take(message)

    async with server.raw("bench-4") as (client, _):
        await client.subscribe(f"{_P}.hosts", cb=name)
        await client.subscribe(f"{_P}.device.bench-4.>", cb=request)
        await client.flush()
        yield client


async def silent(_: Any) -> None:
    """Answer nothing."""


async def test_a_host_that_says_it_is_another_lists_nothing(server: Fleets, bench: Host) -> None:
    names = b"\n".join(
        json.dumps({"host": name, "devices": [{"serial": "evil", "state": "device"}], "serials": ["evil"]}).encode()
        for name in ("bench-3", "bench-9", "a b", "=", "bench-3", "*", ">", "bench-4.x")
    )

    async def describe(message: Any) -> None:
        devices = [{"serial": f"bench-3/{PHONE}", "state": "device"}, {"serial": "own", "state": "device"}]
        found = {"ok": True, "host": "bench-3", "at": 1.0, "devices": devices, "tagged": {"lab": ["own"]}}
        await message._client.publish(message.reply, json.dumps(found).encode())

    async with evil(server, describe, speaks=names + b'\n{"host":"bench-4"}'):
        server.be("ann")
        async with fleet(server.url) as ann:
            assert {row["device"] for row in await ann.devices()} == {
                f"bench-3/{each.serial}" for each in bench.devices
            }
            assert {each.serial.partition("/")[0] for each in await ann.targets("tag:lab")} == {"bench-3"}


FORGED = {"commandId": "FORGED", "taskId": "t", "status": "success", "stepResults": []}
GOOD = {**FORGED, "commandId": "c-1"}
DONE: dict[str, Any] = {"status": "succeeded", "steps": [{"id": "home", "status": "done"}]}


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": True, "envelope": GOOD},
        {"ok": True, "envelope": GOOD, "outcome": 7},
        {"ok": True, "envelope": GOOD, "outcome": {"status": "fine", "steps": []}},
        {"ok": True, "envelope": GOOD, "outcome": {"status": "succeeded"}},
        {"ok": True, "executions": [{"envelope": GOOD, "outcome": []}]},
        {"ok": 1, "envelope": GOOD, "outcome": DONE},
        {"envelope": GOOD, "outcome": DONE},
    ],
)
async def test_an_answer_without_an_outcome_is_none(server: Fleets, answer: dict[str, Any]) -> None:
    async def forge(message: Any) -> None:
        await message._client.publish(message.reply, json.dumps(answer).encode())

    async with evil(server, forge):
        server.be("ann")
        async with fleet(server.url) as ann:
            with pytest.raises(EngineError) as refused:
                await ann.execute({**plan(HOME), "commandId": "c-1", "taskId": "t"}, f"bench-4/{PHONE}")
    assert (refused.value.code, refused.value.extra["broadcastDispatchStatus"]) == ("FLEET_NO_ANSWER", "unknown")


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"ok": True, "envelope": FORGED}, "commandId"),
        ({"ok": True, "envelope": {**GOOD, "commandId": None}}, "commandId"),
        ({"ok": True, "envelope": {**GOOD, "taskId": "another"}}, "taskId"),
        ({"ok": True, "executions": [{"envelope": FORGED}]}, "commandId"),
        ({"ok": True, "executions": [{"envelope": GOOD}, {"envelope": GOOD}]}, "executions"),
        ({"ok": True, "executions": [7]}, "commandId"),
        ({"ok": True, "envelope": GOOD, "deviceId": "emulator-5556"}, "deviceId"),
        ({"ok": True, "envelope": GOOD, "deviceId": f"bench-3/{PHONE}"}, "deviceId"),
        ({"ok": True, "envelope": GOOD, "deviceId": 7}, "deviceId"),
        ({"ok": True, "envelope": GOOD, "outcome": {"status": "succeeded", "steps": []}}, "steps"),
        ({"ok": True, "envelope": GOOD, "outcome": {**DONE, "steps": [{"id": "home", "status": "failed"}]}}, "steps"),
    ],
)
async def test_an_answer_that_is_not_for_what_was_sent_is_refused(
    server: Fleets, answer: dict[str, Any], field: str, tmp_path: Path
) -> None:
    async def forge(message: Any) -> None:
        await message._client.publish(message.reply, json.dumps(answer).encode())

    payload = {**plan(HOME), "commandId": "c-1", "taskId": "t"}
    async with evil(server, forge):
        variables = server.be("ann")
        async with fleet(server.url) as ann:
            with pytest.raises(EngineError) as refused:
                await ann.execute(payload, f"bench-4/{PHONE}")
        assert (refused.value.code, refused.value.details["field"]) == ("FLEET_ANSWER_MISMATCH", field)
        assert refused.value.extra["broadcastDispatchStatus"] == "unknown"
        if answer["ok"] and field == "commandId" and "envelope" in answer:
            words = ("execute", json.dumps(payload), "--fleet", server.url, "--device", f"bench-4/{PHONE}", "--json")
            done = await ran(*CLI, *words, env={"HOME": str(tmp_path), "PATH": "", **variables})
            assert (done.exit_code, done.document["code"]) == (1, "FLEET_ANSWER_MISMATCH")


@pytest.mark.parametrize("answer", [{"ok": True}, {"ok": True, "skillId": "another"}, {"ok": False}])
async def test_an_answer_about_another_skill_is_refused(server: Fleets, answer: dict[str, Any]) -> None:
    async def forge(message: Any) -> None:
        await message._client.publish(message.reply, json.dumps(answer).encode())

    async with evil(server, forge):
        server.be("ann")
        async with fleet(server.url) as ann:
            with pytest.raises(EngineError) as refused:
                await ann.run_skill("wanted", f"bench-4/{PHONE}")
    assert (refused.value.code, refused.value.details["field"]) == ("FLEET_ANSWER_MISMATCH", "skillId")


async def test_only_the_first_answer_counts_and_no_other_subject_can_be_answered(server: Fleets, bench: Host) -> None:
    """Twice, before the answer of another host, after the answer, and to another request of the same caller."""
    replies: list[str] = []

    async def twice(message: Any) -> None:
        replies.append(message.reply)
        for envelope in (GOOD, FORGED, GOOD):
            found = {"ok": True, "envelope": envelope, "outcome": DONE}
            await message._client.publish(message.reply, json.dumps(found).encode())
        inbox = message.reply.rpartition(".")[0]
        for guess in (inbox, f"{inbox}.1", f"{inbox}.2", "_INBOX_ann.x"):
            await message._client.publish(guess, json.dumps({"ok": True, "envelope": FORGED}).encode())

    payload = {**plan(HOME), "commandId": "c-1", "taskId": "t"}
    async with evil(server, twice) as host:
        server.be("ann")
        async with fleet(server.url) as ann:
            for _ in range(3):
                assert (await ann.execute(payload, f"bench-4/{PHONE}"))["envelope"]["commandId"] == "c-1"
                done = await ann.execute(plan(HOME, command="own"), f"bench-3/{bench.devices[0].serial}")
                assert done["envelope"]["commandId"] == "own"
            await host.publish(replies[0], b'{"ok":true,"envelope":{"commandId":"FORGED"}}')
            await host.flush()
            done = await ann.execute(plan(HOME, command="last"), f"bench-3/{bench.devices[0].serial}")
            assert done["envelope"]["commandId"] == "last"
    assert len(set(replies)) == 3
    assert bench.devices[0].commands == 4


@pytest.mark.parametrize("kind", ["alive", "parts", "parts of nothing", "too many parts", "part numbers"])
async def test_a_host_that_never_ends_its_answer_ends_at_the_deadline(
    server: Fleets, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_client, "_SPARE_SECONDS", 0.5)
    going: set[asyncio.Task[None]] = set()

    async def endless(message: Any) -> None:
        async def go() -> None:
            number = 0
            while True:
                number += 1
                headers = {
                    "alive": {subjects.ALIVE: "1"},
                    "parts": {subjects.PART: f"{number}/60000"},
                    "parts of nothing": {subjects.PART: "1/2"},
                    "too many parts": {subjects.PART: f"{number}/{10**9}"},
                    "part numbers": {subjects.PART: f"{number}/{number + 1}"},
                }[kind]
                await message._client.publish(message.reply, b"", headers=headers)
                await asyncio.sleep(0.02)

        going.add(asyncio.create_task(go()))

    async with evil(server, endless):
        server.be("ann")
        async with fleet(server.url) as ann, asyncio.timeout(patience(10)):
            with pytest.raises(EngineError) as ended:
                await ann.execute({**plan(HOME), "timeoutMs": 1_000}, f"bench-4/{PHONE}")
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
    assert (ended.value.code, ended.value.extra["broadcastDispatchStatus"]) == ("FLEET_NO_ANSWER", "unknown")
    assert ("time limit" in ended.value.message) is (kind in ("alive", "parts", "parts of nothing"))


@pytest.mark.parametrize(
    "reply",
    [
        f"{_P}.event.bench-4.{PHONE}.clawperator=3Aexecution",
        f"{_P}.tree.bench-4.{PHONE}",
        f"{_P}.device.bench-3.{PHONE}",
        f"{_P}.device.bench-4.{PHONE}",
        "$SRV.PING",
        "_INBOX",
        "_INBOX_ann",
        "_INBOXES.x",
    ],
)
async def test_a_host_answers_inboxes_only(server: Fleets, join: Join, reply: str) -> None:  # noqa: F811
    """A caller can name any subject as that of the answer, and the server then lets the host send there."""
    server.be("bench-4")
    host = await join("bench-4", url=server.url)
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with server.raw("bob") as (bob, refused), server.raw("ann") as (ann, _):
        await ann.subscribe(f"{_P}.event.bench-4.>", cb=hear)
        await ann.subscribe(f"{_P}.tree.>", cb=hear)
        await ann.flush()
        for subject in (f"{_P}.hosts", f"{_P}.device.bench-4.=", f"{_P}.device.bench-4.{PHONE}"):
            await bob.publish(subject, b'{"ask":"time","caller":"bob"}', reply=reply)
        answer = await bob.subscribe(own := bob.new_inbox())
        await bob.publish(f"{_P}.device.bench-4.{PHONE}", b'{"ask":"time","caller":"bob"}', reply=own)
        assert json.loads((await answer.next_msg(patience(10))).data)["ok"]
        await ann.flush()
        assert not refused
    assert not [message for message in heard if b"time" in message.data or b"host" in message.data]
    assert host.devices[0].commands == 0
    assert not host.fleet._client.refusal


async def test_a_caller_without_an_inbox_of_its_own_is_told_so(server: Fleets, monkeypatch: pytest.MonkeyPatch) -> None:
    server.be("ann")
    monkeypatch.setattr(subjects, "inbox", lambda _: "_INBOX")
    async with fleet(server.url) as ann:
        for ask in (ann.devices(), ann.execute(plan(HOME), f"bench-3/{PHONE}")):
            with pytest.raises(EngineError) as refused:
                await ask
            assert refused.value.code == "FLEET_UNAVAILABLE"
            assert "receive answers" in refused.value.message
            assert "_INBOX_<user>" in (refused.value.hint or "")


def test_the_page_about_fleets_shows_this_file() -> None:
    assert "examples/nats-fleet.conf" in (CONF.parents[1] / "docs" / "how-to" / "fleet.md").read_text()
