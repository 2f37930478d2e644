"""``then: diff`` as an agent keeps its picture of the screen by it: the view before and the answer are the view after."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from clawperator.engine import RunOptions
from clawperator.engine.executions import build, shell_input, verbs
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.simulator.apps.layout import Node
from tests.view_diffs import lines_after
from tests.view_lines import lines_of

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

ROTATE = {"textEquals": "Auto-rotate screen"}
FEED, SETTINGS, SHOP = "com.example.feed", "com.android.settings", "com.example.shop"


class Reader:
    """An agent that takes one view, and from then on only what the answers say of it."""

    def __init__(self, bench: Any) -> None:
        self._engine, self.lines, self.views, self.xml = bench.engine, list[str](), list[str](), ""

    async def open(self, app: str) -> None:
        opened = await self._engine.execute(build.open_app(app), options=RunOptions(then="compact"))
        self.lines = lines_of(opened.then)

    async def act(self, what: object) -> None:
        """Act, read the diff, and compare with the whole view."""
        then = (await self._engine.execute(what, options=RunOptions(then="diff"))).then
        self.views.append(then.get("view", ""))
        self.lines = lines_after(self.lines, then)
        assert self.lines == await self.seen()

    async def seen(self) -> Sequence[str]:
        looked = await self._engine.execute(build.snapshot(), options=RunOptions(then="compact"))
        self.xml = looked.envelope["stepResults"][0]["data"]["text"]
        lines: Sequence[str] = lines_of(looked.then)
        return lines


@pytest.mark.parametrize("app", [SETTINGS, FEED, SHOP])
@pytest.mark.parametrize("generation", [pytest.param("0.3", marks=pytest.mark.ci), "0.5"])
async def test_scrolls(connect: Connect, app: str, generation: str) -> None:
    reader = Reader(await connect(device={"generation": generation}))
    await reader.open(app)
    for way, ratio in (("down", 0.7), ("down", 0.2), ("up", 0.1), ("down", 0.7), ("up", 0.3), ("up", 0.7), ("up", 0.7)):
        await reader.act(build.scroll({"direction": way, "distanceRatio": ratio}))
    assert "diff" in reader.views


async def test_other_screens_and_switches(connect: Connect) -> None:
    reader = Reader(await connect(device={"generation": "0.5"}))
    await reader.open(SETTINGS)
    await reader.act(build.click({"textEquals": "Display"}))
    await reader.act(verbs.set_checked(ROTATE, checked=False))
    for key in ("back", "home"):
        await reader.act(build.press_key(key))
    await reader.act(build.open_app("com.example.thermostat"))


def posts(lines: Sequence[str]) -> Mapping[str, tuple[tuple[int, int], str]]:
    """The place and the text of the button of each post whose number is on screen."""
    found: dict[str, tuple[tuple[int, int], str]] = {}
    post = ""
    for line in lines:
        if number := re.search(r"post_number: (#\d+)$", line):
            post = number[1]
        elif button := re.search(r"like_button @(\d+),(\d+).*: (Liked?)$", line):
            if post:
                found[post] = (int(button[1]), int(button[2])), button[3]
            post = ""
    return found


async def test_a_tap_by_a_place_of_the_patched_view_likes_that_post(connect: Connect) -> None:
    reader = Reader(await connect(device={"generation": "0.5"}))
    await reader.open(FEED)
    for _ in range(4):
        await reader.act(build.scroll({"direction": "down", "distanceRatio": 0.4}))
        before = posts(reader.lines)
        wanted = next(post for post, (_, says) in before.items() if says == "Like")
        await reader.act(shell_input.gesture("tap", before[wanted][0]))
        assert posts(reader.lines) == {**before, wanted: (before[wanted][0], "Liked")}


async def test_rectangles_that_are_not_clipped(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Flutter and Compose report them: a button half below the edge of its list is tapped where it is visible."""
    clipped = Node.attributes.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Node, "attributes", property(lambda node: {**clipped(node), "bounds": tuple(node.box)}))
    bench = await connect(device={"generation": "0.5"})
    reader = Reader(bench)
    await reader.open(FEED)
    await reader.act(build.scroll({"direction": "down", "distanceRatio": 0.4}))
    for post, ((x, y), says) in posts(reader.lines).items():
        await reader.act(shell_input.gesture("tap", (x, y)))
        assert posts(reader.lines)[post] == ((x, y), "Liked" if says == "Like" else "Like")
    tree = parse(reader.xml)
    under_the_bar = next(node for node in tree.on_screen if node.text.startswith("#") and tree.point_of(node) is None)
    tap = await bench.engine.execute(shell_input.gesture("tap", matcher={"textEquals": under_the_bar.text}))
    assert tap.outcome.error["code"] == "NODE_NOT_CLICKABLE"
    assert [step.status for step in tap.outcome.steps] == ["done", "failed"]
