"""A server is an outside party: whatever it answers is an answer, or an error with words, and never more than fits."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import aclosing
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import pytest

from clawperator.app.client import http_client as client_module
from clawperator.app.client import stream, wire
from clawperator.app.client.http_client import Client, read_token, read_url
from clawperator.app.client.stream import Down, Missed, Up, listen
from clawperator.engine.errors import EngineError, ErrorCode
from tests.app.client.raw_server import HELLO, RawServer, event, http, open_sse, raw_server, sse
from tests.support import table

DEVICES = '{"ok":true,"devices":[{"serial":"emulator-5554","state":"device","later":[1]}]}'


def before(raw: RawServer, token: str = "") -> Client:
    return Client(read_url(raw.url), token)


async def refused(*answers: Any, token: str = "") -> EngineError:
    """What a request for the devices comes to."""
    async with raw_server(*answers) as raw:
        client = before(raw, token)
        try:
            with pytest.raises(EngineError) as caught:
                await client.get(wire.Devices, "devices")
        finally:
            await client.close()
    caught.value.message = caught.value.message.replace(raw.url, "URL")
    return caught.value


# -- where to


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://127.0.0.1:3000", "127.0.0.1:3000"),
        ("localhost:3000/", "localhost:3000"),
        (" https://phones.example.com/lab ", "phones.example.com"),
        ("http://[::1]:3000", "[::1]:3000"),
    ],
)
async def test_an_address_may_be_short(text: str, host: str) -> None:
    client = Client(read_url(text))
    assert client.host == host
    await client.close()


@table(
    "text",
    [
        "",
        "ftp://host",
        "http://",
        "http://host?x=1",
        "http://host:port",
        "http://a b",
        "::",
        "http://a..b",
        "http://" + "a" * 64,
    ],
)
def test_what_is_no_address_is_said(text: str) -> None:
    with pytest.raises(EngineError) as caught:
        read_url(text)
    assert caught.value.code is ErrorCode.USAGE
    assert caught.value.message.startswith("url: invalid server address")


def test_a_password_does_not_belong_into_an_address() -> None:
    with pytest.raises(EngineError, match="password") as caught:
        read_url("http://me:secret@host:3000")
    assert "secret" not in caught.value.message
    assert "--" not in f"{caught.value.message} {caught.value.hint}", "a program has no flags"


@pytest.mark.parametrize(
    ("content", "token"),
    [
        ("tok-1 owner\n", "tok-1"),
        ("# mine\n\n  tok-2\nother\n", "tok-2"),
        ("", None),
        ("# none\n", None),
        ("tök x\n", None),
    ],
)
def test_the_first_token_of_the_servers_own_file_is_taken(tmp_path: Path, content: str, token: str | None) -> None:
    path = tmp_path / "token"
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    if token is not None:
        assert read_token(str(path)) == token
        return
    with pytest.raises(EngineError, match=r"token_file .* contains no token"):
        read_token(str(path))


def test_a_token_file_that_others_may_read_or_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(EngineError, match="cannot be read"):
        read_token(str(path))
    path.write_text("tok\n", encoding="ascii")
    path.chmod(0o644)
    with pytest.raises(EngineError, match="read by others"):
        read_token(str(path))
    with pytest.raises(EngineError, match="cannot be read: Is a directory"):
        read_token(str(tmp_path))
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(EngineError, match="not a regular file"):
        read_token(str(tmp_path / "pipe"))


# -- answers


async def test_a_newer_server_may_say_more() -> None:
    async with raw_server(http(DEVICES)) as raw:
        client = before(raw, "tok")
        (device,) = (await client.get(wire.Devices, "devices")).devices
        await client.close()
    assert (device.serial, device.state, device.model) == ("emulator-5554", "device", "")
    assert raw.asked[0].headers["authorization"] == "Bearer tok"
    assert raw.asked[0].headers["accept-encoding"] == "identity"


async def test_no_one_at_the_address_is_reported_and_nothing_was_sent() -> None:
    async with raw_server(b"") as raw:
        pass
    client = before(raw)
    with pytest.raises(EngineError) as caught:
        await client.get(wire.Devices, "devices")
    await client.close()
    assert caught.value.message == f"The server at {raw.url} does not respond"
    assert caught.value.extra["broadcastDispatchStatus"] == "not_sent"


async def test_a_connection_that_breaks_off_leaves_the_outcome_open() -> None:
    error = await refused(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    assert (error.message, error.code) == ("The server at URL does not respond", ErrorCode.BACKEND_UNAVAILABLE)
    assert error.extra["broadcastDispatchStatus"] == "unknown"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http("<html>", "404 Not Found", "text/html"), "not a Clawperator server (HTTP 404)"),
        (http("", "302 Found", Location="http://127.0.0.1:1/"), "not a Clawperator server (HTTP 302)"),
        (http("[1]"), "invalid response"),
        (http('{"devices": [{"serial": 5, "state": "device"}]}'), "invalid at devices.0.serial"),
        (http("[" * 100_000), "invalid response"),
        (http(b"\xff\xfe"), "invalid response"),
        (http('{"ok":false,"error":"no"}', "500 Oops"), "not a Clawperator server (HTTP 500)"),
    ],
)
async def test_what_is_no_answer_is_said(answer: bytes, words: str) -> None:
    assert words in (await refused(answer)).message


async def test_no_answer_is_longer_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module._Body, "LIMIT", 1_000)
    error = await refused(http(b" " * 2_000))
    assert error.details["reason"] == "More than 1,000 bytes"


async def test_what_is_compressed_is_not_unpacked() -> None:
    error = await refused(http(b"\x1f\x8b", Content_Encoding="gzip"))
    assert "compressed" in error.details["reason"]


async def test_a_missing_and_a_wrong_token_are_distinguished() -> None:
    answer = http('{"ok":false,"error":{"code":"UNAUTHORIZED","message":"no"}}', "401 Unauthorized")
    without, wrong = await refused(answer), await refused(answer, token="tok")
    assert (without.code, without.message) == (ErrorCode.UNAUTHORIZED, "The server at URL requires a token")
    assert (without.hint, wrong.hint) == (
        "Pass token or token_file; the server names its file when it starts.",
        "The server names the file of its tokens when it starts: pass token or token_file.",
    )
    assert wrong.message == "The server at URL does not accept the token"


async def test_a_name_that_the_server_does_not_know_and_a_policy_are_reported_with_what_to_do() -> None:
    host = await refused(http('{"error":{"code":"ORIGIN_NOT_ALLOWED","message":"no"}}', "403 Forbidden"))
    assert "--allow-host" in host.hint
    policy = await refused(http('{"error":{"code":"READ_ONLY","message":"Only looking"}}', "403 Forbidden"))
    assert (policy.code, policy.message) == (ErrorCode.READ_ONLY, "Only looking")
    assert "server's policy" in policy.hint


async def test_an_error_is_the_same_error_here_and_what_is_counted_with_is_a_number() -> None:
    reported = {
        "code": "EXECUTION_CONFLICT_IN_FLIGHT",
        "message": "Busy",
        "hint": "Wait",
        "details": {"inFlightCommandId": "cmd-1", "since": "yesterday", "timeoutMs": 1e300, "pid": 7},
        "broadcastDispatchStatus": "not_sent",
        "executionId": 5,
    }
    error = await refused(http(json.dumps({"ok": False, "error": reported}), "423 Locked"))
    assert (error.code, error.message, error.hint) == (ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Busy", "Wait")
    assert error.details == {"inFlightCommandId": "cmd-1", "pid": 7}
    assert error.extra == {"broadcastDispatchStatus": "not_sent"}


async def test_a_code_that_no_one_knows_here_is_kept_in_the_message() -> None:
    error = await refused(http('{"error":{"code":"NEW_\\u001b[31m","message":"Hm"}}', "500 Oops"))
    assert error.code is ErrorCode.UNKNOWN
    assert error.message == "Hm (NEW_\x1b[31m)"  # a notice escapes it


@pytest.mark.parametrize(("ahead", "skewed"), [(-3_600.0, True), (1.0, False)])
async def test_the_servers_clock_is_compared_with_ours(ahead: float, skewed: bool) -> None:
    async with raw_server(http(DEVICES, Date=formatdate(time.time() + ahead, usegmt=True))) as raw:
        client = before(raw)
        await client.get(wire.Devices, "devices")
        await client.close()
    assert client.skew == (pytest.approx(-ahead, abs=3) if skewed else 0.0)


async def test_half_a_character_does_not_cost_the_rest() -> None:
    async with raw_server(http('{"devices":[{"serial":"a\\ud800b","state":"device"}]}')) as raw:
        client = before(raw)
        (device,) = (await client.get(wire.Devices, "devices")).devices
        await client.close()
    assert device.serial == "a?b"


# -- events


async def heard(raw: RawServer, count: int) -> list[str]:
    client, names = before(raw), []
    async with aclosing(listen(client, {"type": "devices"})) as news:
        async for one in news:
            names.append(getattr(one, "event", type(one).__name__))
            if len(names) == count:
                break
    await client.close()
    return names


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAUSES", (0.0,))


@pytest.mark.usefixtures("no_pauses")
async def test_a_stream_that_ends_is_taken_up_again_where_it_was() -> None:
    first = sse(HELLO, event("devices", "{}", "boot-7"))
    again = sse(HELLO, event("link", "{}", "boot-8"), event("log", "{}"))
    async with raw_server(first, again, open_sse(HELLO)) as raw:
        names = await heard(raw, 8)
    link, log = "clawperator:link", "clawperator:log"
    assert names == ["Up", "clawperator:devices", "Down", "Up", link, log, "Down", "Up"]
    assert [asked.headers.get("last-event-id") for asked in raw.asked[:3]] == [None, "boot-7", "boot-8"]


@pytest.mark.usefixtures("no_pauses")
async def test_an_id_that_no_header_can_carry_is_not_sent_back() -> None:
    odd = [event("devices", "{}", number) for number in ("ok-1", "bäd", "x" * 65, "\x1b[31m")]
    async with raw_server(sse(HELLO, *odd), open_sse(HELLO)) as raw:
        await heard(raw, 7)
    assert raw.asked[1].headers["last-event-id"] == "ok-1"


@pytest.mark.usefixtures("no_pauses")
async def test_events_that_are_lost_for_good_are_reported_and_those_that_wait_are_not() -> None:
    dropped = b'event: clawperator:dropped\ndata: {"reason":"too slow","lastEventId":"boot-7"}\n\n'
    reset = b'event: clawperator:reset\ndata: {"reason":"unknown"}\n\n'
    async with raw_server(sse(HELLO, event("devices", "{}", "boot-7"), dropped), open_sse(HELLO, reset)) as raw:
        names = await heard(raw, 4)
    assert names == ["Up", "clawperator:devices", "Up", "Missed"]


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize(
    "answer",
    [
        http(DEVICES),
        http('{"error":{"code":"SHUTTING_DOWN","message":"The server stops"}}', "503 Gone"),
        sse(b"data: " + b"x" * 2_000 + b"\n\n"),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
        b"nonsense\r\n\r\n",
    ],
)
async def test_whatever_is_no_event_stream_is_a_failure_with_words(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module._Events, "LIMIT", 1_000)
    async with raw_server(answer, open_sse(HELLO)) as raw:
        names = await heard(raw, 2)
    assert names == ["Down", "Up"]


async def test_many_events_are_not_one_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module._Events, "LIMIT", 1_000)
    async with raw_server(open_sse(HELLO, *(event("devices", "{}") for _ in range(200)))) as raw:
        assert len(await heard(raw, 201)) == 201


async def test_pauses_grow_while_no_one_answers_and_restart_with_the_first_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("clawperator.app.client.stream.asyncio.sleep", sleep)
    bad = http("{}", "500 Oops")
    async with raw_server(*[bad] * 6, sse(HELLO), open_sse(HELLO)) as raw:
        await heard(raw, 9)
    assert slept == [0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 0.2]


def test_news_are_values() -> None:
    assert (Up(), Missed()) == (Up(), Missed())
    error = EngineError(ErrorCode.BACKEND_UNAVAILABLE, "The server at URL does not respond", hint="Wait.")
    assert stream.words_of(Down(error).error) == "the server at URL does not respond"
    refusal = EngineError(ErrorCode.UNAUTHORIZED, "The server at URL requires a token", hint="Give it.")
    assert stream.words_of(refusal) == "the server at URL requires a token. Give it"


def test_the_library_does_what_the_bounds_rest_on() -> None:
    """A transport of our own keeps httpx from taking a proxy, or a password of ~/.netrc, from the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        client = Client(read_url("http://127.0.0.1:3000"))
        assert client._http._mounts == {}
        assert isinstance(client._http._transport, client_module._Bounded)
    asyncio.run(client.close())
    assert issubclass(httpx.ReadTimeout, httpx.RequestError)
