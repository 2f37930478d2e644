"""What the execution view says: every state has its sentences, and every sentence is true."""

from __future__ import annotations

from clawperator.engine.errors import ErrorCode
from clawperator.widgets.format.outcome_block import NextKey, outcome_row, outcome_slots, word_of
from clawperator.widgets.format.roles import ROLES
from clawperator.widgets.format.slot import Sheet, Slot
from clawperator.widgets.format.step_slots import phase_slots, step_slots
from clawperator.widgets.format.symbols import ASCII
from clawperator.widgets.format.tree_slots import tree_slots
from clawperator.widgets.format.verdict import code_sentences, sentences
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.execution_queries import last_sign, was_sent
from clawperator.widgets.models.run_diff import TreeCounts
from tests.app.console.support import NOON, make_envelope
from tests.support import table
from tests.widgets.invented_runs import (
    CLOCK,
    FOUR,
    STATES,
    captured,
    dispatched,
    duplicate,
    error,
    fifty,
    finished,
    gone,
    late,
    malformed,
    no_steps,
    plan_failed,
    refused,
    reported,
    running,
    seen,
    started,
    step_failed,
    success,
    timeout,
    vanished,
)


def story(execution: ExecutionState) -> list[str]:
    return [f"{sentence.text} {sentence.foreign}".strip() for sentence in sentences(execution, NOON)]


def text(slots: object, width: int = 100) -> list[str]:
    return [_drawn(slot, width) for slot in slots]  # type: ignore[attr-defined]  # any slots


def _drawn(slot: Slot, width: int) -> str:
    row = slot.draw(width)
    return row.left.plain + (f" | {row.right.plain}" if row.right else "")


def steps_of(execution: ExecutionState, width: int = 100) -> list[str]:
    return text(step_slots(execution, Sheet(width, CLOCK)), width)


def test_silence_says_what_is_known_and_what_to_do() -> None:
    assert story(timeout()) == [
        "No result within 35.2 s.",
        "Sent: yes. Last response: retry 4/5 of step 2, 6.0 s before the end. The device may still act.",
        ErrorCode.RESULT_ENVELOPE_TIMEOUT.hint,
    ]


def test_a_device_that_vanished_is_named_as_the_reason() -> None:
    told_of = story(vanished())
    assert told_of[0] == "The connection to emulator-5554 was lost before the result arrived. device offline"
    assert told_of[1].startswith("Sent: yes. Last response: retry 2/5 of step 2,")
    assert ErrorCode.LOGCAT_UNAVAILABLE.hint in told_of


def test_a_run_of_others_on_a_device_that_vanished_is_unknown_not_failed() -> None:
    told_of = story(gone())
    assert told_of[0].startswith("The outcome is unknown: device disconnected")
    assert "The log was interrupted during this run: steps and retries may be missing." in told_of
    assert word_of(gone()) == "unknown"


def test_a_refused_run_did_nothing() -> None:
    assert was_sent(refused()) is False
    assert story(refused())[:2] == [
        "Refused before anything was sent. Another execution is in flight on this device",
        "Another execution holds the device.",
    ]


def test_a_late_result_says_how_late() -> None:
    assert "The result arrived late, 12.0 s after this host stopped waiting." in story(late())
    assert word_of(late()) == "success, late"


def test_further_envelopes_are_counted() -> None:
    assert "2 more envelopes of this command arrived; the first one counts." in story(duplicate())


def test_an_unreadable_result_says_where_it_breaks() -> None:
    assert story(malformed())[0] == "The result arrived but could not be parsed: bad JSON at byte 812."
    assert ErrorCode.RESULT_ENVELOPE_MALFORMED.hint in story(malformed())


def test_a_plan_that_broke_off_says_where_and_quotes_the_reason_briefly() -> None:
    assert story(plan_failed())[0] == (
        "The plan failed at step 2 (wait_for_node). Task execution failed: No UI node found matching criteria: textEquals=Bluetooth"
    )


def test_a_plan_with_a_failed_step_is_a_state_of_its_own() -> None:
    assert word_of(step_failed()) == "plan success, 1 step failed"
    assert story(step_failed())[0] == "The plan completed; 1 step failed: 3 (wait_for_navigation)."
    assert story(fifty())[0] == "The plan completed; 2 steps failed: 18 (click), 34 (click)."


def test_a_run_that_went_well_has_one_sentence() -> None:
    assert story(success()) == ["All 3 steps succeeded."]


def test_what_goes_on_says_how_far_it_is() -> None:
    assert story(running()) == ["Running step 2 of 4: wait_for_node, retry 2/5."]
    assert story(no_steps()) == ["Being sent to the device."]
    assert list(sentences(running(), NOON + 7))[-1].text == "Last response 8.5 s ago."


def test_stopped_waiting_and_a_lost_broadcast() -> None:
    at = NOON - 5
    stopped = reported(started(at), dispatched(at), finished(at + 4, error("INTERRUPTED", "Interrupted")))
    assert story(stopped)[:2] == [
        "Waiting was stopped after 4.0 s.",
        "Sent: yes. No response from the device.",
    ]
    denied = reported(started(at), finished(at + 0.1, error("READ_ONLY", "the console is read-only")))
    assert story(denied)[0] == "Refused before anything was sent. the console is read-only"


def test_a_result_that_no_one_here_asked_for() -> None:
    answer = reported(seen(NOON, make_envelope("cmd-1", FOUR)))
    answer.foreign = True
    assert "Not sent from this machine; its start was not seen." in story(answer)


def test_warnings_are_reported() -> None:
    execution = success()
    execution.warnings = ({"code": "X", "path": "actions.0", "message": "unknown role name"},)
    assert "Warning: unknown role name" in story(execution)


@table("code", [*ErrorCode])
def test_every_code_has_a_meaning_in_a_sentence(code: ErrorCode) -> None:
    first, *more = code_sentences(code)
    assert first.text[0].upper() == first.text[0]
    assert first.text.endswith(".")
    assert [sentence.text for sentence in more] == ([code.hint] if code.hint else [])
    assert all(sentence.hint for sentence in more)


def test_a_code_of_the_devices_own_gets_a_plain_sentence() -> None:
    (sentence,) = code_sentences("SOMETHING_ELSE")
    assert sentence.text == "Unknown device error code. See the data of the step."
    assert not list(code_sentences(""))


# -- rows


def test_the_outcome_has_facts_and_next_keys() -> None:
    rows = text(outcome_slots(plan_failed(), Sheet(100, CLOCK), [NextKey("R", "run again")], with_id=False))
    assert rows[0] == " ✗ failed  NODE_NOT_FOUND | 5.0 s "
    assert "   → Take a snapshot, then correct the selector, scroll, or wait longer." in rows
    assert any("backend operator" in row and "mode direct" in row for row in rows)
    assert rows[-1] == "   R run again"
    assert not any(
        "run again" in row for row in text(outcome_slots(running(), Sheet(100, CLOCK), [NextKey("R", "run again")]))
    )


def test_failing_steps_have_their_code_its_meaning_and_the_next_step() -> None:
    rows = steps_of(step_failed())
    assert any(row.strip() == "NAVIGATION_TIMEOUT" for row in rows), "the outcome has its meaning"
    assert "No navigation was seen in time." in story(step_failed())
    execution = step_failed()
    execution.code = "NODE_NOT_FOUND"
    rows = steps_of(execution)
    place = next(index for index, row in enumerate(rows) if "NAVIGATION_TIMEOUT" in row)
    assert rows[place].strip() == "NAVIGATION_TIMEOUT  No navigation was seen in time."
    assert rows[place + 1].strip() == "→ The expected package may already be in front."
    assert not any("error  NAVIGATION" in row for row in rows), "the code is told once"


def test_the_calm_refusal_reads_calm() -> None:
    rows = steps_of(step_failed())
    assert any(row.strip() == "✓ closed by the host" for row in rows)
    assert not any("UNSUPPORTED_RUNTIME_CLOSE" in row for row in rows)


def test_a_step_that_was_under_way_is_not_blamed() -> None:
    rows = steps_of(timeout())
    assert any("It was running when the run ended without a result" in row for row in rows)
    assert not any("RESULT_ENVELOPE_TIMEOUT" in row for row in rows)


def test_no_invented_times() -> None:
    assert " no timing: only the result is known" in steps_of(step_failed())
    assert not any("no timing" in row for row in steps_of(plan_failed()))


def test_few_steps_are_open_many_only_where_they_failed() -> None:
    assert sum("label" in row for row in steps_of(late())) == 1
    opened = [slot.place for slot in step_slots(fifty(), Sheet(100, CLOCK)) if slot.opened]
    assert opened == [("step", 18), ("step", 34)]


def test_a_long_value_is_cut_and_opens() -> None:
    execution = reported(seen(NOON, make_envelope("cmd-1", [("r", "read_text", True, {"text": "long " * 40_000})])))
    cut = steps_of(execution)
    assert any("more" in row and row.startswith("      ▸ text") for row in cut)
    opened = text(step_slots(execution, Sheet(100, CLOCK, lambda place, by_itself: by_itself or place[0] == "datum")))  # type: ignore[index]  # tuples
    assert "      ▾ text  200,000 characters" in opened
    assert len(opened) > 2_000


def test_runs_without_steps_say_so() -> None:
    assert any("without a report" in row for row in steps_of(running()))
    down = captured("service-down-time")[0]
    assert " No step was reported." in steps_of(down)
    empty = reported(seen(NOON, make_envelope("cmd-1", [])))
    assert " The plan had no steps to report." in steps_of(empty)


def test_phases_or_why_there_are_none() -> None:
    sheet = Sheet(100, CLOCK)
    assert [row.split()[0] for row in text(phase_slots(success(), sheet))] == [
        "validate", "device", "attach", "dispatch", "run", "finish",
    ]  # fmt: skip
    assert text(phase_slots(running(), sheet)) == [" Phases are available when the run has ended."]
    assert text(phase_slots(plan_failed(), sheet)) == [" No phase was measured: the run ended before the first one."]
    assert text(phase_slots(step_failed(), sheet))[0].startswith(" Another process ran it")


def test_trees_stand_between_the_steps_with_what_changed() -> None:
    execution = plan_failed()
    first, second = (mark.key for mark in execution.trees)
    rows = text(tree_slots(execution, Sheet(100, CLOCK), {(first, second): TreeCounts(3, 1, 4, 0)}))
    assert [row.split("  |")[0].split(" | ")[0].rstrip() for row in rows] == [
        " ◆ 22:28:50.0  before step 1                         400 characters",
        " │ 1 open_app",
        " ◆ 22:28:54.0  step 2  wait                          120 characters  incomplete",
    ]
    assert rows[1].endswith("| +3 −1 ~4 ")
    assert "9 s ago" in rows[0]
    assert text(tree_slots(running(), Sheet(100, CLOCK), {})) == [
        " No snapshots in this run. A snapshot_ui step takes one."
    ]


def test_captured_trees_have_their_steps() -> None:
    rows = text(tree_slots(captured("truncated-dump-threadtime")[0], Sheet(100, CLOCK), {}))
    assert "step 1  first" in rows[0]
    assert "incomplete" in rows[0]
    assert "step 2  second" in rows[-1]


@table("state", STATES)
@table("width", [24, 40, 78, 120, 200])
def test_whole_words_at_every_width_and_in_ascii(state: str, width: int) -> None:
    execution = STATES[state]()
    sheet = Sheet(width, CLOCK, lambda _place, _by_itself: True, ASCII)
    slots = [*outcome_slots(execution, sheet), *step_slots(execution, sheet), *tree_slots(execution, sheet, {})]
    for slot in slots:
        row = slot.draw(width)
        spans = row.left.spans + (row.right.spans if row.right else [])
        assert {role for _, role in spans} <= set(ROLES)
    assert outcome_row(execution, width, CLOCK).left.plain.strip()


def test_signs_of_life_are_the_devices_own() -> None:
    assert last_sign(reported(started(NOON), dispatched(NOON))) is None
    sign = last_sign(vanished())
    assert sign is not None
    assert sign.kind == "stage-retry"


def test_the_failed_step_shows_what_came_near_and_a_done_one_its_node() -> None:
    execution = plan_failed()
    fields = [
        {"field": "textEquals", "ok": False, "wanted": "Wifi", "got": "Wi-Fi", "reason": "differs at 3"},
        {"field": "role", "ok": True, "wanted": "text", "got": "text", "reason": "the role is text"},
    ]
    near = {"node": {"path": "0/1", "text": "Wi-Fi\x1b[31m", "bounds": [0, 10, 100, 20]}, "fields": fields}
    target = {"resourceId": "app:id/open", "bounds": [0, 0, 10, 10], "matched": 3}
    first, failed = execution.steps[0].id, execution.steps[-1].id
    execution.outcome = {
        "status": "failed",
        "steps": [{"id": first, "target": target}],
        "failedStep": {"id": failed},
        "error": {"details": {"nearest": [near]}},
    }
    rows = "\n".join([*text(outcome_slots(execution, Sheet(140, CLOCK)), 140), *steps_of(execution, 140)])
    assert "node: app:id/open [0, 0, 10, 10], the first of 3 that matched" in rows
    assert "[0, 10, 100, 20] — textEquals: differs at 3" in rows
    assert "\x1b" not in rows
