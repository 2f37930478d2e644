"""The card of a run whose step found no node."""

from __future__ import annotations

from datetime import UTC

from clawperator.engine.hierarchy.tree import build
from clawperator.widgets.format.outcome_block import outcome_slots
from clawperator.widgets.format.slot import Sheet
from clawperator.widgets.format.step_slots import step_slots
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.failed_matcher import failure_card
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock
from tests.app.console.support import NOON, view

MEANING = "No node on screen satisfies all fields of the matcher."


def failed(**more: object) -> ExecutionState:
    given = {
        "status": Status.FAILED, "ended": NOON + 2, "code": "NODE_NOT_FOUND", "action_count": 1,
        "steps": [StepState("a", "click", Status.FAILED, NOON, NOON + 2, code="NODE_NOT_FOUND")],
        "envelope": {"status": "failed"},
        "payload": {"actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "Wi-Fi"}}}]},
    }  # fmt: skip
    return ExecutionState("cmd-1", "emulator-5554", 1, NOON, **(given | more))  # type: ignore[arg-type]  # fields by name


def screen(*texts: str) -> TreeSnapshot:
    tree = build([view("TextView", f"[0,{n}][99,{n + 9}]", text=text) for n, text in enumerate(texts)])
    return TreeSnapshot(serial=1, tree=tree, at=NOON + 1.6)


def words(execution: ExecutionState, snapshot: TreeSnapshot) -> str:
    sheet = Sheet(110, WallClock(lambda: NOON + 9, UTC))
    slots = [*outcome_slots(execution, sheet, (), snapshot), *step_slots(execution, sheet)]
    return "\n".join(slot.draw(110).left.plain for slot in slots)


def test_the_card_has_selector_nearest_node_and_the_age_of_the_screen() -> None:
    drawn = words(failed(), screen("Wi-Fi preferences", "Wi\u2011Fi"))
    assert "selector  text=Wi-Fi" in drawn
    assert drawn.index('nearest   "Wi\u2011Fi"') < drawn.index("Wi-Fi preferences"), "what only looks equal is first"
    assert "U+2011 NON-BREAKING HYPHEN" in drawn
    assert "tree read at 22:29:01, 400 ms before the failure" in drawn
    assert drawn.count(MEANING) == 1, "the meaning of the code is written once"


def test_the_answer_of_the_engine_needs_no_tree() -> None:
    near = {
        "node": {"text": "Wi\u2011Fi", "bounds": [0, 0, 9, 9]},
        "fields": [{"field": "textEquals", "ok": False, "reason": "looks alike: U+2011"}],
    }
    details = {"nearest": [near], "tree": {"ageMs": 1_200}}
    outcome = {"failedStep": {"id": "a"}, "error": {"details": details}}
    drawn = words(failed(outcome=outcome), TreeSnapshot.EMPTY)
    assert "looks alike: U+2011" in drawn
    assert "tree read, 1.2 s before the failure" in drawn


def test_a_tree_that_has_nothing_similar_says_so() -> None:
    assert "nothing similar" in words(failed(), screen("About phone"))


def test_a_selector_that_matches_on_the_tree_is_not_called_missing() -> None:
    drawn = words(failed(), screen("Wi-Fi", "About phone"))
    assert "the selector matches 1 node there" in drawn
    assert "nothing similar" not in drawn


def test_the_card_replaces_the_message_of_the_operator_that_it_repeats() -> None:
    message = "Task execution failed: No UI node found matching criteria: textEquals=Wi-Fi"
    assert message not in words(failed(message=message), screen("About phone"))
    assert message in words(failed(message=message, code="X", steps=[]), screen("About phone"))


def test_a_step_without_a_code_of_its_own_has_that_of_the_plan() -> None:
    step = StepState("a", "click", Status.FAILED, NOON, NOON + 2)
    assert words(failed(steps=[step]), screen()).count("NODE_NOT_FOUND") == 2, "in the first row, and at the step"


def test_other_failures_have_no_card() -> None:
    assert failure_card(failed(code="RESULT_ENVELOPE_TIMEOUT", steps=[]), screen("Wi\u2011Fi")) is None


def test_a_longer_text_with_a_look_alike_character_is_spelled_out() -> None:
    drawn = words(failed(), screen("Mobile, Wi\u2011Fi, hotspot"))
    assert "the value contains more, and U+2011" in drawn
    assert drawn.index("nearest") < drawn.index(MEANING), "what is special about this run comes first"
