"""From a step that found no node to the table that says why: the key of the detail, and why it rests."""

from __future__ import annotations

from dataclasses import replace

from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.session import Facet
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.models.snapshot import pack
from tests.app.console.support import DEVICE, NOON, agent_run, finished_run, make_envelope, until
from tests.app.console.test_stream_screen import Shown, showing
from tests.widgets.invented_runs import NOT_FOUND, PAYLOAD, dispatched, seen, started

WANTS_WIMAX = {**PAYLOAD, "actions": [dict(action) for action in PAYLOAD["actions"]]}
WANTS_WIMAX["actions"][1]["params"] = {"matcher": {"textEquals": "WiMAX"}}


async def fail_in_stream(shown: Shown, at: float) -> None:
    envelope = make_envelope("cmd-1", [], status="failed", error=NOT_FOUND) | {"errorCode": "NODE_NOT_FOUND"}
    shown.engine.publish(
        started(at, payload=WANTS_WIMAX), dispatched(at), *agent_run("cmd-1", at), seen(at + 5, envelope)
    )
    await shown.seen("NODE_NOT_FOUND")
    await shown.press("enter")
    await shown.seen("m why not")


def inspect(shown: Shown) -> InspectScreen:
    screen = shown.app.mode_screen
    assert isinstance(screen, InspectScreen)
    return screen


async def test_the_matcher_that_found_nothing_is_typed_on_the_tree_read_closest_to_the_failure() -> None:
    async with showing((160, 44)) as shown:
        (tree,) = shown.app.session.trees
        shown.app.session.trees.add(replace(tree, serial=tree.serial + 1, at=tree.at + 60))
        await fail_in_stream(shown, tree.at + 1)
        await shown.press("m")
        await until(shown.pilot, lambda: shown.app.current_mode == "inspect" and inspect(shown).area.matcher.is_open)
        assert shown.app.session.trees.back == 1
        assert inspect(shown).area.matcher.value == "text=WiMAX"
        assert inspect(shown).bench.typed.fields() == {"textEquals": "WiMAX"}
        await shown.noticed("6.0 s before the failure")
        await shown.seen("No node on screen matches")


async def test_a_tree_read_right_after_the_failure_explains_it_better_than_an_old_one() -> None:
    async with showing((160, 44)) as shown:
        (tree,) = shown.app.session.trees
        await fail_in_stream(shown, tree.at + 60)
        await shown.seen("1 min 05 s before the failure")
        shown.app.session.trees.put(replace(tree, at=tree.at + 63))
        shown.app.show(Facet.TREE)
        await shown.seen("2.0 s before the failure")
        shown.app.session.trees.add(replace(tree, serial=tree.serial + 1, at=tree.at + 66))
        shown.app.show(Facet.TREE)
        await shown.seen("1.0 s after the failure")
        await shown.press("m")
        await shown.noticed("1.0 s after the failure")
        assert shown.app.session.trees.back == 0


async def test_a_packed_tree_is_unpacked_for_it() -> None:
    async with showing() as shown:
        (tree,) = shown.app.session.trees
        shown.app.session.trees.put(pack(tree))
        await fail_in_stream(shown, tree.at - 90)
        await shown.press("m")
        await until(shown.pilot, lambda: shown.app.current_mode == "inspect" and inspect(shown).area.matcher.is_open)
        await shown.noticed("after the failure")
        assert inspect(shown).bench.tree is not None


async def test_the_key_rests_where_there_is_nothing_to_explain_and_says_why() -> None:
    async with showing() as shown:
        shown.engine.publish(*finished_run("cmd-1", NOON))
        await shown.seen("cmd-1")
        await shown.press("enter")
        assert isinstance(shown.app.focused, ExecutionDetail)
        assert "m why not" not in shown.text
        assert shown.app.screen.active_bindings["m"].enabled is False
        await shown.press("m")
        await shown.noticed("No step failed because a node was not found")
        assert shown.app.current_mode == "stream"
        execution = shown.execution("cmd-1")
        assert execution.device_id == DEVICE.serial


async def test_without_a_tree_it_says_so() -> None:
    async with showing() as shown:
        at = shown.app.session.trees.newest.at
        shown.app.session._trees.clear()
        await fail_in_stream(shown, at)
        await shown.press("m")
        await shown.noticed("There is no tree.")
        assert shown.app.current_mode == "stream"
