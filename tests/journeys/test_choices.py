"""Who is meant by a selector: by the device, by the host on a fresh tree, and by reference, on every generation and without the app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.contracts.references import tree_id
from clawperator.engine.events.types import CommandProgress
from clawperator.engine.executions import build
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.hierarchy.tree import UiTree, parse
from clawperator.engine.version import OPERATOR_RELEASES
from tests.app.mcp.conftest import document, talk
from tests.journeys.conftest import Bench
from tests.support import CLI, Ran, patience, ran, varied
from tests.view_lines import nodes_of

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Bench]]
GENERATIONS = list(OPERATOR_RELEASES)
OLDER = GENERATIONS[: GENERATIONS.index("0.10")]
COLUMNS = [*GENERATIONS, "stock"]
FEED = "com.example.feed"
LIKE = {"textEquals": "Like"}


async def feed(connect: Connect, column: str, package: str = FEED) -> Phone:
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    return Phone(await connect(start={"package": package}, **scenario), "stock" if stock else None)


class Phone:
    def __init__(self, bench: Bench, backend: str | None) -> None:
        self.bench, self.backend = bench, backend

    async def run(self, kind: str, **params: Any) -> dict[str, Any]:
        action = {"id": "a", "type": kind, "params": params}
        return await self.plan(action)

    async def plan(self, *actions: dict[str, Any]) -> dict[str, Any]:
        payload = build.single("choice", "sleep", {"durationMs": 0})
        result = await self.bench.engine.execute({**payload, "actions": list(actions)}, backend=self.backend)
        return result.to_dict()

    async def look(self) -> tuple[str, UiTree]:
        shown = await self.bench.engine.snapshot(backend=self.backend)
        xml = shown.envelope["stepResults"][0]["data"]["text"]
        self.bench.engine.trees.keep(self.bench.serial, xml)
        return xml, parse(xml)

    async def liked(self) -> list[str]:
        """Return the numbers of the posts that are liked."""
        _, tree = await self.look()
        cards = [node for node in tree.nodes if node.resource_id.endswith("/post_card")]
        texts = [[node.text for node in card.descendants] for card in cards]
        return [next(text for text in card if text.startswith("#")) for card in texts if "Liked" in card]


def code(answer: dict[str, Any]) -> str:
    assert "outcome" in answer, answer
    return str((answer["outcome"].get("error") or {}).get("code", ""))


@pytest.mark.parametrize("column", COLUMNS)
async def test_one_of_equal_buttons(connect: Connect, column: str) -> None:
    phone = await feed(connect, column)
    before = phone.bench.world.commands
    several = await phone.run("click", matcher=LIKE, strict=True)
    assert code(several) == "NODE_AMBIGUOUS"
    details = several["outcome"]["error"]["details"]
    count = details["matches"]
    assert count > 2
    assert len(details["candidates"]) == count
    assert all(each["selector"] and each["unique"] for each in details["candidates"]), "in every way"
    sent = phone.bench.world.commands - before
    assert sent == {"stock": 0}.get(column, 1 if column in OLDER else 2), (
        "one look: before, or after the device's own refusal"
    )
    assert await phone.liked() == []

    row = {"resourceId": f"{FEED}:id/post_card", "descendant": {"textEquals": "#2"}}
    done = await phone.run("click", matcher=LIKE, container=row, strict=True)
    assert done["outcome"]["status"] == "succeeded", done
    assert await phone.liked() == ["#2"]
    done = await phone.run(
        "click", matcher={"textEquals": "Liked", "ancestor": {"resourceId": row["resourceId"]}}, strict=True
    )
    assert done["outcome"]["status"] == "succeeded", done
    assert await phone.liked() == []

    done = await phone.run("click", matcher=LIKE, nth=2)
    assert done["outcome"]["status"] == "succeeded", done
    assert await phone.liked() == ["#3"]
    done = await phone.run("click", matcher={"role": "button"}, within={"textEquals": "#3"})
    assert done["outcome"]["status"] == "succeeded", done
    assert await phone.liked() == []

    xml, tree = await phone.look()
    second = [node for node in tree.on_screen if node.text == "Like"][1]
    done = await phone.run("click", matcher={"ref": f"e{second.index}@{tree_id(xml)}"})
    assert done["outcome"]["status"] == "succeeded", done
    assert await phone.liked() == ["#2"]
    card = next(node for node in tree.on_screen if node.resource_id.endswith("/post_card"))
    with pytest.raises(EngineError) as caught:
        await phone.run("click", matcher=LIKE, within={"ref": f"e{card.index}@{tree_id(xml)}"})
    assert caught.value.code in ("REF_AMBIGUOUS", "REF_STALE", "REF_UNKNOWN"), "an older tree"


@pytest.mark.parametrize("column", [GENERATIONS[0], GENERATIONS[-1], "stock"])
async def test_a_strict_caller_with_the_default_time_limit(connect: Connect, column: str) -> None:
    """Programs and agents are strict without a word in the plan, also where the default limit is extended for a slow backend."""
    phone = await feed(connect, column)
    plan = [{"type": "click", "params": {"matcher": LIKE}}]
    answer = await phone.bench.engine.execute(plan, backend=phone.backend, options=RunOptions(strict=True))
    assert code(answer.to_dict()) == "NODE_AMBIGUOUS"
    assert await phone.liked() == []


@pytest.mark.parametrize("column", ["0.5", "1.0", "stock"])
async def test_on_the_command_line(connect: Connect, column: str) -> None:
    phone = await feed(connect, column)
    stock = ("--backend", "stock") if column == "stock" else ()

    async def run(words: str) -> dict[str, Any]:
        ended = Ran(*await ran(*CLI, *words.split(" "), "--json", *stock, env=phone.bench.env))
        return ended.document | {"exit": ended.exit_code}

    done = await run("click --text Like --in #2")
    assert done["exit"] == 0, done
    assert done["selection"]["steps"][0]["within"] == {"textEquals": "#2"}
    assert await phone.liked() == ["#2"]
    done = await run("click --text Like --nth 1")  # the second one that is left
    assert done["exit"] == 0, done
    assert await phone.liked() == ["#2", "#3"]
    done = await run("input tap --text Liked --nth 1")
    assert done["exit"] == 0, done
    assert await phone.liked() == ["#2"]
    done = await run("click --text Like --strict")
    assert (done["exit"], code(done)) == (1, "NODE_AMBIGUOUS")
    done = await run("click --text Like")
    assert done["exit"] == 0
    warned = [warning["code"] for warning in done.get("warnings", ())]
    assert warned == ([] if column == "0.5" else ["MATCHER_AMBIGUOUS"]), "an older app says nothing"
    assert await phone.liked() == ["#1", "#2"]
    for verb in ("click", "input tap"):
        done = await run(f"{verb} --text Like --nth 90")
        assert code(done) == "NODE_NOT_FOUND"
        assert done["outcome"]["error"]["message"] == 'fewer than 91 nodes with text "Like"'
        done = await run(f"{verb} --text Like --in Nobody")
        assert code(done) == "CONTAINER_NOT_FOUND"
        assert done["outcome"]["error"]["message"] == 'no container with text "Nobody"'
    done = await run("read --id com.example.feed:id/author --in #2")
    assert done["exit"] == 0, done
    assert done["envelope"]["stepResults"][0]["data"]["text"] == "Chiara"
    done = await run('click --text Like --in {"resourceId":"com.example.feed:id/post_card"}')
    assert code(done) == "CONTAINER_AMBIGUOUS"
    xml, tree = await phone.look()
    third = next(node for node in tree.on_screen if node.text == "Like")
    reference = f"e{third.index}@{tree_id(xml)}"
    twin = [node for node in tree.on_screen if node.text == "Like"][1]
    done = await run(f"suggest --ref e{twin.index}@{tree_id(xml)}")
    assert (done["exit"], done["node"]["bounds"]) == (0, list(twin.bounds)), done
    done = await run(f"input tap --ref {reference}")
    assert done["exit"] == 0, done
    assert await phone.liked() == ["#1", "#2", "#3"]


@varied("generation", ["0.5", "1.0"])
async def test_by_an_agent(connect: Connect, tmp_path: Path, generation: str) -> None:
    phone = await feed(connect, generation)
    async with talk(phone.bench.env, tmp_path / "stderr") as agent:
        several = await agent.call("act", type="click", selector=LIKE)
        assert document(several)["failure"]["code"] == "NODE_AMBIGUOUS"
        assert await phone.liked() == []
        await agent.ok("act", type="click", selector=LIKE, strict=False)
        assert await phone.liked() == ["#1"]
        done = await agent.ok("act", type="click", selector=LIKE, within={"textEquals": "#3"})
        assert done["selection"]["by"] == "host"
        assert await phone.liked() == ["#1", "#3"]
        seen = await agent.ok("snapshot", view="interactive")
        buttons = [node for node in nodes_of(seen["view"]) if node.get("text") == "Like"]
        await agent.ok("act", type="click", selector={"ref": f"{buttons[0]['ref']}@{seen['view']['tree']}"})
        assert await phone.liked() == ["#1", "#2", "#3"]


async def test_what_was_not_sent_has_not_run(connect: Connect) -> None:
    """A plan that the host splits, interrupted in a part: the parts before are known, the one on its way is not, the rest has not run."""
    phone = await feed(connect, "0.5")
    actions = [
        {"id": "read", "type": "read_text", "params": {"matcher": {"textEquals": "Like"}, "nth": 0}},
        {"id": "pause", "type": "sleep", "params": {"durationMs": 9_000}},
        {"id": "like", "type": "click", "params": {"matcher": LIKE, "nth": 1}},
    ]
    with phone.bench.engine.events.subscribe() as events:
        running = asyncio.create_task(phone.plan(*actions))
        async with asyncio.timeout(patience(20)):
            while not any(
                isinstance(event, CommandProgress) and event.fields.get("id") == "pause"
                for event in await events.batch()
            ):
                pass
        running.cancel()
        with pytest.raises(asyncio.CancelledError) as interrupted:
            await running
    cause = interrupted.value.__cause__
    assert isinstance(cause, EngineError)
    read, pause, like = (step["status"] for step in cause.extra["outcome"]["steps"])
    assert (read, like) == ("done", "not_run")
    assert pause in ("unknown", "done"), "its line may have come"
