"""Who is meant by a selector: by the device, by the host on a fresh tree, and by reference, on every generation and without the app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.contracts.references import tree_id
from clawperator.engine.executions import build
from clawperator.engine.hierarchy.tree import UiTree, parse
from clawperator.engine.version import OPERATOR_RELEASES
from tests.journeys.conftest import Bench

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
    sent = phone.bench.world.commands - before
    assert sent == (0 if column == "stock" else 1), "one look, or the device's own refusal"
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
