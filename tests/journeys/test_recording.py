"""A person uses the shop while the Operator records: pull, parse, draft, replay on another phone, diverge, go on. Real adb, real CLI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.simulator.apps.layout import Node
from tests.support import CLI, Ran, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

NEWER = {"generation": "0.5"}


async def command(bench: Any, folder: Path, *arguments: str) -> Ran:
    return await ran(*CLI, *arguments, env=bench.env, folder=folder)


def record(bench: Any, folder: Path, *arguments: str) -> Awaitable[Ran]:
    return command(bench, folder, "record", *arguments, "--device", bench.serial)


class Finger:
    """Somebody at the screen, through the real adb's shell."""

    def __init__(self, bench: Any) -> None:
        self._bench = bench

    async def _input(self, *words: str) -> None:
        done = await ran("adb", "-s", self._bench.serial, "shell", "input", *words, env=self._bench.env)
        assert done.exit_code == 0

    def _find(self, name: str) -> Node:
        for node in self._bench.world.ui.window().nodes:
            if name in (node.resource_id.rpartition("/")[2], node.view.text, node.view.desc) and not node.seen.empty:
                found: Node = node
                return found
        raise LookupError(name)

    async def tap(self, *names: str) -> None:
        for name in names:
            await self._input("tap", *map(str, self._find(name).seen.center))

    async def type(self, text: str) -> None:
        await self._input("text", text)


async def shopping(bench: Any, folder: Path) -> Path:
    """A recording of somebody who searches coffee and puts the beans into the cart; where it was saved."""
    finger = Finger(bench)
    started = await record(bench, folder, "start", "--session-id", "beans")
    assert (started.exit_code, started.err) == (0, "")
    assert started.document["envelope"]["stepResults"][0]["data"]["sessionId"] == "beans"
    await finger.tap("Shop", "search_bar", "search_src_text")
    await finger.type("coffee")
    await finger.tap("search_go_btn", "Coffee beans 1 kg", "add_to_cart", "menu_cart")
    stopped = await record(bench, folder, "stop")
    assert stopped.exit_code == 0
    assert stopped.document["envelope"]["stepResults"][0]["data"]["eventCount"] == "13"
    pulled = await record(bench, folder, "pull")
    assert pulled.exit_code == 0
    assert pulled.document["localPath"] == "recordings/beans.ndjson"
    return folder / "recordings" / "beans.ndjson"


def _text(path: str) -> str:
    return Path(path).read_text()


def _files(folder: Path) -> list[Path]:
    return list(folder.glob("*"))


async def test_a_session_becomes_steps_a_recipe_and_a_replay(connect: Connect, tmp_path: Path) -> None:
    phone = await connect(device=NEWER)
    file = await shopping(phone, tmp_path)
    assert file.stat().st_mode & 0o077 == 0

    parsed = await record(phone, tmp_path, "parse", "--input", str(file))
    steps = str(file.with_suffix(".steps.json"))
    dropped = "seq 6: a typed text was dropped: step logs do not support typing"
    assert parsed.document == {"ok": True, "outputFile": steps, "stepCount": 8, "warnings": [dropped]}
    lossy = await record(phone, tmp_path, "replay", "--input", steps)
    assert (lossy.exit_code, lossy.document["code"]) == (1, "RECORDING_PARSE_FAILED")
    assert lossy.document["details"]["omitted"][0]["seq"] == 6
    assert len(parsed.err.splitlines()) == 8

    drafted = await record(phone, tmp_path, "draft", "--input", str(file), "--android-api", "34")
    assert drafted.exit_code == 0
    assert [(each["name"], each["recorded"]) for each in drafted.document["inputs"]] == [("search_src_text", "coffee")]
    recipe = drafted.document["outputFile"]
    assert "coffee" not in _text(recipe).replace("Coffee beans", "")

    other = await connect(device=NEWER)
    replayed = await record(other, tmp_path, "replay", "--input", str(file))
    assert replayed.exit_code == 0, replayed.out
    assert {step["status"] for step in replayed.document["steps"]} == {"done"}
    assert other.world.ui.state["cart"] == ["Coffee beans 1 kg"]

    bare = await connect(operator={"installed": False})
    without_app = await record(bare, tmp_path, "replay", "--input", str(file), "--backend", "stock")
    assert without_app.exit_code == 0, without_app.out
    assert bare.world.ui.state["cart"] == ["Coffee beans 1 kg"]

    third = await connect(device=NEWER)
    played = await record(third, tmp_path, "replay", "--input", recipe, "--vars", '{"search_src_text":"coffee"}')
    assert played.exit_code == 0, played.out
    assert played.document["kind"] == "recipe"
    assert third.world.ui.state["cart"] == ["Coffee beans 1 kg"]


@pytest.mark.ci
async def test_another_screen_ends_the_replay_which_then_goes_on_from_there(connect: Connect, tmp_path: Path) -> None:
    phone = await connect(device=NEWER)
    file = await shopping(phone, tmp_path)

    other = await connect(device=NEWER)
    words = ("replay", "--input", str(file), "--vars", '{"search_src_text":"mug"}')
    diverged = await record(other, tmp_path, *words)
    error = diverged.document
    assert (diverged.exit_code, error["code"]) == (1, "REPLAY_DIVERGED")
    details = error["details"]
    assert (details["step"], details["phase"], details["reason"]) == ("click_product_card", "before", "NODE_NOT_FOUND")
    assert details["expected"]["selector"] == {"textContains": "Coffee beans"}
    assert 'Coffee mug "Monday"' in details["seen"]["labels"]
    assert len(details["nearest"]) == 3
    assert details["done"][-1] == "click_search_go_btn"
    assert other.world.ui.state["cart"] == []
    assert details["resume"]["step"] == "click_product_card"
    assert details["resume"]["command"] in error["hint"]
    assert f"--device-id {other.serial}" in details["resume"]["command"]

    await Finger(other).tap('Coffee mug "Monday"')
    going_on = await record(other, tmp_path, "replay", "--input", str(file), "--from", "click_add_to_cart")
    assert going_on.exit_code == 0, going_on.out
    assert [step["id"] for step in going_on.document["steps"]] == ["click_add_to_cart", "click_menu_cart"]
    assert other.world.ui.state["cart"] == ['Coffee mug "Monday"']


async def test_what_cannot_be_fetched_is_distinguished(connect: Connect, tmp_path: Path) -> None:
    phone = await connect(device=NEWER)
    none_yet = await record(phone, tmp_path, "pull")
    assert none_yet.document["code"] == "RECORDING_SESSION_NOT_FOUND"
    assert (await record(phone, tmp_path, "pull", "--session-id", "../x")).document[
        "code"
    ] == "RECORDING_SESSION_NOT_FOUND"
    absent = await record(phone, tmp_path, "pull", "--session-id", "absent")
    assert (absent.exit_code, absent.document["code"]) == (1, "RECORDING_PULL_FAILED")
    assert "absent.ndjson" in absent.document["message"]
    phone.world.files.write(
        "/sdcard/Android/data/com.clawperator.operator/files/recordings/latest", b"../../../x", parents=True
    )
    assert (await record(phone, tmp_path, "pull")).document["code"] == "RECORDING_SESSION_NOT_FOUND"
    assert _files(tmp_path / "recordings") == []


async def test_one_recording_at_a_time(connect: Connect, tmp_path: Path) -> None:
    phone = await connect(device=NEWER)
    nothing = await record(phone, tmp_path, "stop")
    assert nothing.exit_code == 1
    assert nothing.document["envelope"]["stepResults"][0]["data"]["error"] == "RECORDING_NOT_IN_PROGRESS"
    assert (await record(phone, tmp_path, "start")).exit_code == 0
    second = await record(phone, tmp_path, "start")
    assert second.exit_code == 1
    assert second.document["envelope"]["stepResults"][0]["data"]["error"] == "RECORDING_ALREADY_IN_PROGRESS"
