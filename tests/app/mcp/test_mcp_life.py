"""A server over stdio from its start to its end, seen without a client library: the lines themselves."""

from __future__ import annotations

import array
import asyncio
import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from clawperator.app.installation import install_command
from clawperator.engine.history.store import History
from tests.app.cli.conftest import Cli, cli, lonely, warm_runtime
from tests.app.mcp.conftest import COMMAND, Place, Visit, nap, plan
from tests.app.mcp.test_mcp_http import BEGIN
from tests.support import running

__all__ = ["cli", "lonely", "warm_runtime"]


@dataclass
class Wire:
    process: asyncio.subprocess.Process
    seen: list[dict[str, Any]]

    def send(self, *lines: str | bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for line in lines:
            data = json.dumps(line) if isinstance(line, dict) else line
            self.process.stdin.write((data.encode() if isinstance(data, str) else data) + b"\n")

    def call(self, number: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": number}}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    async def hears(self, **wanted: Any) -> dict[str, Any]:
        """The next message with these members; every line of stdout has to be a message."""
        assert self.process.stdout is not None
        while True:
            line = await self.process.stdout.readline()
            assert line, await self.words()
            message: dict[str, Any] = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            self.seen.append(message)
            if all(message.get(name) == value for name, value in wanted.items()):
                return message

    async def words(self) -> str:
        """What was said on stderr, when it has ended."""
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    async def ended(self) -> int:
        return await self.process.wait()


@asynccontextmanager
async def wired(place: Place, *flags: str, begin: bool = True) -> AsyncIterator[Wire]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *COMMAND, *flags), env=place.env, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**24
    )
    wire = Wire(process, [])
    try:
        if begin:
            wire.send(BEGIN)
            await wire.hears(id=1)
            wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield wire
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_the_end_of_stdin_ends_it(visit: Visit) -> None:
    async with wired(await visit()) as wire:
        wire.send(b"\xef\xbb\xbf" + json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode())
        assert (await wire.hears(id=2))["result"]["tools"]
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert await wire.ended() == 0
        assert await wire.words() == ""


async def test_a_call_in_flight_at_the_end_of_stdin_writes_nothing_more(visit: Visit) -> None:
    place = await visit()
    async with wired(place) as wire:
        wire.call(2, "execute", execution=plan(nap(5_000), commandId="cut"))
        wire.call(3, "devices")
        await wire.hears(id=3)
        while not any("(nap)" in message.get("params", {}).get("message", "") for message in wire.seen):
            await wire.hears()  # the last notification before the step is done
        assert wire.process.stdin is not None
        assert wire.process.stdout is not None
        wire.process.stdin.close()
        rest = await wire.process.stdout.read()
        assert await wire.ended() == 0
        assert not rest
        assert "it may still act on the device" in await wire.words()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(other, marks=pytest.mark.ci) for other in (signal.SIGINT, signal.SIGHUP))]
)
async def test_a_signal_ends_it_though_the_client_stays(visit: Visit, number: signal.Signals) -> None:
    place = await visit()
    async with wired(place) as wire:
        wire.call(2, "execute", execution=plan(nap(5_000), commandId="cut"))
        await wire.hears(method="notifications/progress")
        wire.process.send_signal(number)
        assert await wire.ended() == 0
        assert "it may still act on the device" in await wire.words()
    with History.open(str(place.folder / "state" / "clawperator" / "history.db")) as history:
        (entry,) = history.audit(events=("result",))
        assert (entry.command_id, entry.code, entry.face, entry.caller) == ("cut", "INTERRUPTED", "mcp", "t")


async def test_what_is_no_message_ends_nothing(visit: Visit) -> None:
    async with wired(await visit()) as wire:
        wire.send("", "{", "[]", "null", "7", b"\xff\xfe\x00", '{"jsonrpc":"2.0"}', "[" * 10_000, b" " * (5 * 2**20))
        wire.send('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}')
        wire.send({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "devices", "arguments": 7}})
        assert (await wire.hears(id=3))["error"]["code"] == -32700
        assert [message["id"] for message in wire.seen[1:-1]] == [None] * 7
        assert (await wire.hears(id=4))["error"]["code"] == -32602
        wire.send({"jsonrpc": "2.0", "id": 5, "method": "no/such"})
        assert (await wire.hears(id=5))["error"]["code"] == -32601
        wire.call(6, "act", type="press_key", key="home")
        assert (await wire.hears(id=6))["result"]["isError"] is False


async def test_many_calls_at_once_are_each_answered(visit: Visit) -> None:
    async with wired(await visit()) as wire:
        for number in range(2, 42):
            wire.call(number, "act", type="press_key", key="home")
        answers: dict[int, Any] = {}
        while len(answers) < 40:
            message = await wire.hears()
            if "id" in message:
                answers[message["id"]] = message["result"]["structuredContent"]
        done = [answer for answer in answers.values() if answer["ok"]]
        refused = {answer["error"]["code"] for answer in answers.values() if not answer["ok"]}
        assert done
        assert refused <= {"EXECUTION_CONFLICT_IN_FLIGHT"}  # one device has one execution at a time


@pytest.mark.ci
async def test_a_client_that_reads_nothing_cannot_hold_it(visit: Visit) -> None:
    """The answers do not fit into the pipe; the first signal waits for somebody to read them, the next one does not."""
    place = await visit()
    await asyncio.to_thread(unread, place)


def unread(place: Place) -> None:
    pipe = subprocess.PIPE
    with running([sys.executable, *COMMAND], env=place.env, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "resources/read",
            "params": {"uri": "clawperator://schema/execution"},
        }
        for message in (BEGIN, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *([asked] * 20)):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        waiting = array.array("i", [0])
        while waiting[0] < 40_000:  # half of what fits, as pages are not filled: soon the server waits for its reader
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        while process.poll() is None:
            process.terminate()
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--port", "1"], "--port requires --http"),
        (["--no-auth"], "--no-auth requires --http"),
        (["--http", "--port", "99999"], "Invalid port number"),
    ],
)
def test_wrong_flags(cli: Cli, flags: list[str], words: str) -> None:
    done = cli("mcp", *flags)
    error = done.document
    assert (done.exit_code, error["code"], words in error["message"]) == (1, "USAGE", True)


async def test_a_policy_that_cannot_be_read_allows_nothing(visit: Visit) -> None:
    async with wired(await visit(), "--policy", "/nowhere/policy.toml") as wire:
        wire.call(2, "snapshot")
        answer = (await wire.hears(id=2))["result"]["structuredContent"]
        assert (answer["error"]["code"], "policy.toml" in answer["error"]["message"]) == ("FILE_NOT_READABLE", True)


MISSING = """
import sys
sys.modules["mcp"] = None
from clawperator.app.cli.main import main
sys.exit(main(["mcp"]))
"""
LIGHT = """
import sys, json
import clawperator.app.cli.main, clawperator.app.cli.commands.servers
from clawperator.app.cli.main import main
main(["help", "mcp"])
print(json.dumps([name for name in sys.modules if name.split(".")[0] in ("mcp", "mcp_types", "starlette", "asyncio")]))
"""


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=False)
    error = json.loads(done.stdout)
    assert (done.returncode, error["code"]) == (1, "HOST_DEPENDENCY_MISSING")
    assert error["hint"] == f"Install it: {install_command('mcp')}"


def test_nothing_of_it_is_loaded_before_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
