"""Nodes that their app marks as sensitive: the caller reads them, what is kept, logged and streamed does not show them."""

from __future__ import annotations

import asyncio
import json

import pytest

from clawperator.app.serve import event_frames
from clawperator.engine.events.typed_text import TypedTrees
from clawperator.engine.history.store import History
from clawperator.engine.history.trees import keep_trees
from clawperator.engine.logcat.signals import CapturedHierarchy
from clawperator.engine.simulator.apps.vault import VAULT
from tests.journeys.conftest import Connect
from tests.journeys.test_history_processes import Hand

pytestmark = pytest.mark.adb
SECRET = "behind a secure window"


def plan(*params: dict[str, str]) -> str:
    actions = [{"id": f"a{index}", "type": "snapshot_ui", "params": each} for index, each in enumerate(params)]
    head = {
        "commandId": "look",
        "taskId": "t",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 9_000,
    }
    return json.dumps({**head, "actions": actions})


@pytest.mark.parametrize("generation", ["0.10", "0.12"])
async def test_the_history_of_a_command_line_keeps_no_sensitive_text(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation, "sdk": 34})
    bench.world.ui.launch(VAULT.package)
    hand = Hand(bench)
    code, answer, err = await hand.run("execute", "--execution", plan({}, {"format": "ascii"}), "--then", "compact")
    assert (code, err) == (0, "")
    xml, rendered = (step["data"]["text"] for step in answer["envelope"]["stepResults"])
    assert SECRET in xml
    assert 'accessibility-data-sensitive="true"' in xml
    assert SECRET in rendered
    assert SECRET in json.dumps(answer["then"])
    _, shown, _ = await hand.run("history", "show", "look")
    _, tree, _ = await hand.run("history", "show", "look", "--tree", "a0")
    assert "[sensitive text]" in tree["tree"]["text"]
    assert "Sign in" in tree["tree"]["text"]
    with History.open(str(hand.path), create=False) as history:
        kept = history.find("look")
    assert len(kept.raw)
    assert len(kept.trees)
    assert SECRET not in f"{shown}{tree}{kept}"


@pytest.mark.parametrize("generation", ["0.10", "0.12"])
async def test_no_stream_shows_sensitive_text(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation, "sdk": 34})
    bench.world.ui.launch(VAULT.package)
    with bench.engine.events.subscribe() as subscription:
        tail = asyncio.create_task(bench.engine.watch_log(bench.serial))
        result = await bench.engine.execute(json.loads(plan({}, {"format": "ascii"})))
        tail.cancel()
        await asyncio.gather(tail, return_exceptions=True)
        events = subscription.taken()
    assert SECRET in str(result.to_dict())
    shown = TypedTrees(bench.engine.events.typed)
    streamed = [
        each for event in events for known in shown.take(event) for each in (known, *event_frames.stream_events(known))
    ]
    assert "[sensitive text]" in str(streamed)
    for each in streamed:
        assert SECRET not in str(each)
    assert "Sign in" in str(streamed)


def test_a_tree_that_was_seen_is_kept_without_and_has_one_digest() -> None:
    xml = '<hierarchy><node text="4711" accessibility-data-sensitive="true"/><node text="b"/></hierarchy>'
    step = {"id": "a", "actionType": "snapshot_ui", "success": True, "data": {"text": xml[:80], "truncated": "true"}}
    trees, envelope = keep_trees([(1.0, CapturedHierarchy("a", xml, complete=True))], {"stepResults": [step]}, 2.0)
    assert [tree.text for tree in trees] == [xml.replace("4711", "[sensitive text]")]
    assert envelope is not None
    assert envelope["stepResults"][0]["data"]["tree"] == trees[0].digest
