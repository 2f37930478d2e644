"""Typed text: a canary is typed through every verb and face, and then searched in everything that others may read."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from clawperator.app.serve import event_frames
from tests.app.http.conftest import Serve, Served, plan
from tests.app.http.sse import Reader, stream
from tests.support import CLI, patience, varied

CANARY = "Canary7391xyzzy"
FIELD = {"resourceId": "com.example.shop:id/search_src_text"}
OTHER = {"textEquals": CANARY}


class Typing(NamedTuple):
    """One way to type: a route of the server with its body, or words of the command line."""

    name: str
    body: Mapping[str, Any] = {}
    words: tuple[str, ...] = ()
    finds: bool = True
    """Whether the answer to the caller holds the text, as the device reports it."""


def step(kind: str, **params: Any) -> dict[str, Any]:
    return {"id": kind, "type": kind, "params": params}


LOOK = {"id": "look", "type": "snapshot_ui", "params": {}}
JSON_LOOK = {"id": "look", "type": "snapshot_ui", "params": {"format": "ascii"}}
TYPED = step("enter_text", matcher=FIELD, text=CANARY)
WAYS = (
    Typing("/execute", {"execution": plan(TYPED)}),
    Typing("/execute", {"execution": plan(TYPED, LOOK), "then": "compact"}),
    Typing("/execute", {"execution": plan(TYPED, JSON_LOOK), "then": "diff"}),
    Typing("/execute", {"execution": plan(step("type_text", matcher=FIELD, text=CANARY, submit=True))}),
    Typing("/execute", {"execution": plan(TYPED, step("read_text", matcher=FIELD), step("wait_for_node", matcher=OTHER))}),
    Typing("/execute", {"execution": plan(step("click", matcher=FIELD, text=CANARY))}, finds=False),
    Typing("/execute", {"execution": plan(step("enter_text", matcher={"textEquals": "nowhere"}, text=CANARY), timeout_ms=9_000)}, finds=False),
    Typing("/execute", {"execution": plan(step("enter_text", text=CANARY))}, finds=False),
    Typing("/execute", {"execution": plan({"id": "x", "type": "enter_text", "text": CANARY})}, finds=False),
    Typing("/execute", {"execution": plan(step("enter_text", matcher=FIELD, value=CANARY))}, finds=False),
    Typing("/execute", {"execution": plan(step("enter_text", matcher=FIELD, text=[CANARY]))}, finds=False),
    Typing("/execute", {"execution": plan(step("enter_text", matcher=FIELD, text="ok", clear=CANARY))}, finds=False),
    Typing("/execute/many", {"execution": plan(TYPED), "devices": "all"}),
    Typing("/verbs/enter_text", {"selector": FIELD, "text": CANARY}),
    Typing("/verbs/set_text", {"selector": FIELD, "text": CANARY, "then": "compact"}),
    Typing("/verbs/input_text", {"text": CANARY, "then": "compact"}, finds=False),
    Typing("/verbs/submit", {"selector": FIELD, "text": CANARY, "then": "compact"}),
    Typing("cli", words=("type", "--id", FIELD["resourceId"], "--text", CANARY)),
    Typing("cli", words=("set", "--id", FIELD["resourceId"], "--text", f"{CANARY}2", "--then", "compact")),
    Typing("cli", words=("input", "text", CANARY), finds=False),
    Typing("cli", words=("action", "type", "--id", FIELD["resourceId"], "--text", CANARY, "--log-level", "debug")),
    Typing("cli", words=("submit", "--id", FIELD["resourceId"], "--text", CANARY, "--verbose")),
    Typing("cli", words=("exec", json.dumps(plan(TYPED, LOOK)), "--safe-logs")),
    Typing("cli", words=("execute", "--execution", json.dumps(plan(TYPED, LOOK)), "--devices", "all", "--junit", "junit.xml")),
)  # fmt: skip


class Kept:
    """What a client of the event stream gets."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._more = asyncio.Event()

    async def read(self, reader: Reader) -> None:
        async for event in reader._events:
            self.events.append(json.dumps([event.id, event.name, event.data]))
            self._more.set()

    async def holds(self, *words: str) -> None:
        """Return when an event holds all these words."""
        async with asyncio.timeout(patience(20)):
            while not any(all(word in event for word in words) for event in self.events):
                self._more.clear()
                await self._more.wait()

    def __str__(self) -> str:
        return "\n".join(self.events)


@asynccontextmanager
async def reading(served: Served, **params: Any) -> AsyncIterator[Kept]:
    """Keep everything that a client of the event stream gets."""
    kept = Kept()
    async with stream(served.client, **params) as reader:
        task = asyncio.create_task(kept.read(reader))
        yield kept
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


END = {"id": "end", "type": "sleep", "params": {"durationMs": 1}}


async def cli(served: Served, folder: Path, *words: str) -> str:
    child = await asyncio.create_subprocess_exec(
        *CLI, *words, env=served.env, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await asyncio.wait_for(child.communicate(), patience(60))
    assert CANARY.encode() not in errors
    return out.decode()


async def type_it(served: Served, way: Typing, folder: Path) -> str:
    screen = served.devices[0].ui
    screen.reset("com.example.shop")  # a later command sees what is on the screen, also what was typed before
    screen.show("com.example.shop", "search")
    screen.tap(
        *next(node.bounds.center for node in screen.window().tree.nodes if node.resource_id == FIELD["resourceId"])
    )
    if way.words:
        return await cli(served, folder, *way.words)
    return (await served.client.post(way.name, json=dict(way.body))).text


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``, and what is compressed in it; without the trees for references, which are the screen."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and "trees" not in path.parts:
            found[str(path)] = path.read_bytes()
    return found


def unpacked(data: bytes) -> bytes:
    """All zlib streams in a file of the history."""
    found, at = [], 0
    while (at := data.find(b"\x78", at)) >= 0:
        try:
            found.append(zlib.decompressobj().decompress(data[at:]))
        except zlib.error:
            pass
        at += 1
    return b"".join(found)


def around(text: str) -> str:
    at = text.index(CANARY)
    line = text.rfind("\n", 0, at) + 1
    return f"{text[line : line + 120]} … {text[at - 60 : at + 60]}"


def only_on_screen(line: str) -> bool:
    """Whether it is a tree of `submit`: its app shows what was searched for on the next screen, and no log says what it is."""
    event = json.loads(line)
    return event["event"] == "snapshot" and "EditText" not in event["text"]


async def test_a_typed_canary_is_in_no_event_log_history_or_export(serve: Serve, tmp_path: Path) -> None:
    served = await serve("--log-level", "debug", speed=0)
    work = tmp_path / "work"
    work.mkdir()
    watch = await asyncio.create_subprocess_exec(
        *CLI, "watch", env=served.env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert watch.stdout is not None
    assert b"attached" in await watch.stdout.readline()
    async with reading(served, type=list(event_frames.TYPES)) as live:
        for way in WAYS:
            answer = await type_it(served, way, work)
            assert (CANARY in answer) or not way.finds, (way, answer)
        await served.execute(END, command="the-end")
        await live.holds("the-end", event_frames.EXECUTION)
    watch.terminate()
    watched = (await watch.communicate())[0].decode()
    assert '"event":"envelope"' in watched
    assert '"event":"snapshot"' in watched
    assert "[typed text]" in watched
    first = json.loads(next(event for event in live.events if json.loads(event)[0]))[0]
    async with reading(served, last=first) as replayed:
        await replayed.holds("the-end", event_frames.EXECUTION)
    sinks = {
        "live": str(live),
        "replayed": str(replayed),
        "watch": "\n".join(line for line in watched.split("\n")[:-1] if not only_on_screen(line)),
        "GET /history": (await served.client.get("/history", params={"limit": 200})).text,
        "GET /audit": (await served.client.get("/audit", params={"limit": 200})).text,
        "metrics": (await served.client.get("/metrics")).text,
        "export": await cli(served, work, "history", "export"),
        "shown": await cli(served, work, "history", "show", "1", "--trees"),
        "audit": await cli(served, work, "history", "audit"),
        "log": await cli(served, work, "logs", "--no-follow"),
    }
    assert "enter_text" in sinks["export"]
    assert event_frames.LOG in sinks["live"]
    assert "UI Hierarchy" in sinks["live"]
    assert "com.example.shop:id/search_src_text" in sinks["live"]
    for run in json.loads((await served.client.get("/history", params={"limit": 200})).text)["runs"]:
        one = (await served.client.get(f"/history/{run['number']}")).text
        sinks[f"run {run['number']}"] = one
        for tree in json.loads(one)["run"]["trees"]:
            digest = tree["digest"]
            sinks[f"tree {digest}"] = (await served.client.get(f"/history/trees/{digest}")).text
    await cli(served, work, "report", "--to", "report.zip")
    await cli(served, work, "history", "export", "2", "--bundle", "run.zip")
    for name in ("report.zip", "run.zip"):
        with zipfile.ZipFile(io.BytesIO((work / name).read_bytes())) as archive:
            sinks |= {f"{name}/{each}": archive.read(each).decode(errors="replace") for each in archive.namelist()}
    found = [f"{name}: {around(text)}" for name, text in sinks.items() if CANARY in text]
    assert not found
    files = contents(tmp_path)
    assert any(path.endswith(".log") for path in files)
    assert any(path.endswith(".db") for path in files)
    packed = {path: unpacked(data) for path, data in files.items() if ".db" in path}
    assert b"search_src_text" in b"".join(packed.values()), "the trees were read"
    held = [path for path, data in (*files.items(), *packed.items()) if CANARY.encode() in data]
    assert not held


KEYS = "Zqjx"


async def test_letters_that_are_pressed_as_keys_are_typed_text_as_well(serve: Serve, tmp_path: Path) -> None:
    served = await serve("--log-level", "debug", speed=0)
    async with reading(served, type=list(event_frames.TYPES)) as live:
        for key in KEYS:
            body = {"key": key}
            answer = (await served.client.post("/verbs/input_key", json=body)).text
            assert f"KEYCODE_{key.upper()}" in answer
        await served.execute(END, command="the-end")
        await live.holds("the-end", event_frames.EXECUTION)
    texts = [*live.events, (await served.client.get("/history")).text, *map(repr, contents(tmp_path).values())]
    shown = [key for key in KEYS.upper() if any(f"KEYCODE_{key}" in text or f'"key":"{key}"' in text for text in texts)]
    assert not shown


@varied("text", ["a", "ok", 'quo"te & <tag>', "naïve ☃ 💥", "back\\slash", "line1\nline2", "success"], always=2)
async def test_odd_texts_leave_no_trace_and_break_nothing(serve: Serve, tmp_path: Path, text: str) -> None:
    served = await serve(speed=0)
    served.devices[0].ui.show("com.example.shop", "search")
    async with reading(served) as live:
        done = await served.execute(step("enter_text", matcher=FIELD, text=text), LOOK)
        assert done.json()["envelope"]["stepResults"][0]["data"]["text"] == text
        await live.holds(event_frames.EXECUTION)
    (event,) = (json.loads(event)[2] for event in live.events if json.loads(event)[1] == event_frames.EXECUTION)
    assert event["input"]["actions"][0]["params"]["text"] == ""
    assert event["result"]["envelope"]["status"] == "success"
    steps = event["result"]["envelope"]["stepResults"]
    assert (steps[0]["data"]["text"], steps[0]["actionType"]) == ("", "enter_text")
    assert "<hierarchy" in steps[1]["data"]["text"]
    (run,) = (await served.client.get("/history")).json()["runs"]
    assert run["status"] == "success"
    if len(text) > 3 and text != "success":
        assert json.dumps(text)[1:-1] not in json.dumps([json.loads(each) for each in live.events])
