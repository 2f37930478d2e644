"""What became of an execution: from the plan, the Operator's lines and the envelope, and nothing guessed."""

from __future__ import annotations

import math
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.outcome import ExecutionOutcome, LiveLine, outcome_of
from clawperator.engine.logcat.progress import read_progress

COMMAND = "[Clawperator-Command]"
IDS = "commandId=c taskId=t"
NOT_FOUND = "Task execution failed: No UI node found matching criteria: NodeMatcher(textEquals=OK)"
PLAN = [("open", "open_app"), ("tap", "click"), ("never", "sleep")]


def lines(*texts: str) -> list[LiveLine]:
    """One per second from 1.0 on."""
    answer: list[LiveLine] = []
    for at, text in enumerate(texts, 1):
        read = read_progress(text)
        assert read is not None, text
        answer.append((float(at), *read))
    return answer


OPENED = (
    f"{COMMAND} start {IDS} source=s timeoutMs=5000 actionCount=3",
    "[UiActionEngine] step_start id=open type=m$o",
    f"{COMMAND} stage-start {IDS} id=openApp:com.example label=Open",
    "[UiActionEngine] step_success id=open type=m$o data={}",
    "[UiActionEngine] step_start id=tap type=m$c",
    f"{COMMAND} stage-start {IDS} id=click(NodeMatcher(textEquals=OK)) label=Click",
    f"{COMMAND} stage-retry {IDS} id=click(NodeMatcher(textEquals=OK)) attempt=2/3 delayMs=500",
    f"{COMMAND} stage-retry {IDS} id=click(NodeMatcher(textEquals=OK)) attempt=3/3 delayMs=500",
)
FAILED = (
    *OPENED,
    f"{COMMAND} stage-failure {IDS} id=click(NodeMatcher(textEquals=OK)) reason=No UI node found",
    f"{COMMAND} failure {IDS} reason=No UI node found matching criteria",
)


def envelope(status: str, *results: tuple[str, str, bool, dict[str, str]], error: str | None = None) -> dict[str, Any]:
    steps = [{"id": i, "actionType": t, "success": ok, "data": data} for i, t, ok, data in results]
    return {"status": status, "stepResults": steps, "error": error}


def statuses(outcome: ExecutionOutcome) -> list[str]:
    return [step.status for step in outcome.steps]


def test_a_plan_that_was_cut_short_names_its_failed_step_and_what_never_ran() -> None:
    outcome = outcome_of(PLAN, lines(*FAILED), envelope("failed", error=NOT_FOUND))
    assert outcome.to_dict() == {
        "status": "failed",
        "steps": [
            {"id": "open", "type": "open_app", "status": "done", "durationMs": 2000},
            {"id": "tap", "type": "click", "status": "failed", "durationMs": 4000, "code": "NODE_NOT_FOUND"},
            {"id": "never", "type": "sleep", "status": "not_run", "durationMs": None},
        ],
        "failedStep": {"id": "tap", "index": 1, "type": "click"},
        "error": {
            "code": "NODE_NOT_FOUND",
            "message": NOT_FOUND,
            "hint": ErrorCode.NODE_NOT_FOUND.hint,
            "retryable": False,
        },
    }
    assert outcome.steps[1].retries == 2


def test_what_the_log_does_not_say_is_unknown() -> None:
    assert statuses(outcome_of(PLAN, (), envelope("failed", error=NOT_FOUND))) == ["unknown"] * 3
    assert statuses(outcome_of(PLAN, lines(*OPENED))) == ["done", "unknown", "unknown"]


def test_without_a_plan_the_lines_say_the_types() -> None:
    outcome = outcome_of((), lines(*FAILED))
    assert [(step.id, step.type) for step in outcome.steps] == [("open", "open_app"), ("tap", "click")]


def test_without_an_envelope_the_lines_say_how_steps_ended() -> None:
    read = lines(
        "[UiActionEngine] step_start id=a type=m$r",
        "[UiActionEngine] step_success id=a type=m$r data={text=an error=X, error=NODE_TEXT_EMPTY}",
    )
    (step,) = outcome_of([("a", "read_text")], read).steps
    assert (step.status, step.code) == ("failed", "NODE_TEXT_EMPTY")


def test_a_plan_that_ran_to_its_end_with_a_failed_step_is_partial() -> None:
    reported = envelope("success", ("a", "read_text", False, {"error": "NODE_TEXT_EMPTY"}), ("b", "sleep", True, {}))
    outcome = outcome_of([("a", "read_text"), ("b", "sleep")], (), reported)
    assert (outcome.status, statuses(outcome)) == ("partial", ["failed", "done"])
    assert outcome.error == {
        "code": "NODE_TEXT_EMPTY",
        "message": 'Step "a" (read_text) failed: NODE_TEXT_EMPTY',
        "hint": ErrorCode.NODE_TEXT_EMPTY.hint,
        "retryable": False,
    }


def test_the_flat_profile_does_not_change_the_outcome() -> None:
    reconciled = envelope("failed", ("a", "read_text", False, {"error": "X"}), error="Step a (read_text) failed: X")
    assert outcome_of([("a", "read_text")], (), reconciled, device_status="success").status == "partial"


def test_a_picture_that_could_not_be_taken_says_why() -> None:
    data = {"error": "UNSUPPORTED_RUNTIME_SCREENSHOT", "message": "The device", "capture_error": "/x: no such folder"}
    outcome = outcome_of([("p", "take_screenshot")], (), envelope("success", ("p", "take_screenshot", False, data)))
    assert outcome.error is not None
    assert outcome.error["message"] == 'Step "p" (take_screenshot) failed: /x: no such folder'


def test_an_app_that_the_host_closed_is_no_failure() -> None:
    reported = envelope("success", ("a", "close_app", False, {"error": "UNSUPPORTED_RUNTIME_CLOSE"}))
    outcome = outcome_of([("a", "close_app")], (), reported)
    assert (outcome.status, outcome.steps[0].status, outcome.steps[0].code) == ("succeeded", "done", "")


def test_what_the_host_does_is_no_failure_in_a_plan_that_was_cut_short() -> None:
    reported = lines(
        "[UiActionEngine] step_start id=close type=m$c",
        "[UiActionEngine] step_success id=close type=m$c data={application_id=a.b, error=UNSUPPORTED_RUNTIME_CLOSE, message=m}",
        "[UiActionEngine] step_start id=shot type=m$t",
        "[UiActionEngine] step_success id=shot type=m$t data={error=UNSUPPORTED_RUNTIME_SCREENSHOT, message=m}",
        "[UiActionEngine] step_start id=tap type=m$c",
        f"{COMMAND} failure {IDS} reason=No UI node found matching criteria",
    )
    plan = [("close", "close_app"), ("shot", "take_screenshot"), ("tap", "click")]
    assert statuses(outcome_of(plan, reported, envelope("failed", error=NOT_FOUND))) == ["done", "not_run", "failed"]


def test_nothing_ran_where_the_service_was_down_or_the_time_was_spent_in_the_queue() -> None:
    down = lines(f"[Operator-Receiver] Accessibility service is not available {IDS}")
    queued = lines(
        f"{COMMAND} queued {IDS} waiting_for_active_command=true",
        f"{COMMAND} failure {IDS} reason=Agent command timed out after 1000ms",
    )
    for reported in (down, queued):
        outcome = outcome_of(PLAN, reported, envelope("failed", error="Accessibility service is not available"))
        assert (statuses(outcome), outcome.failed_step) == (["not_run"] * 3, None)


def test_an_error_after_the_dispatch_is_unknown_and_carries_what_is_known() -> None:
    error = EngineError(ErrorCode.RESULT_ENVELOPE_TIMEOUT, "No envelope", details={"commandId": "c"})
    outcome = outcome_of(PLAN, lines(*OPENED), error=error)
    assert (outcome.status, statuses(outcome)) == ("unknown", ["done", "unknown", "unknown"])
    assert outcome.error is not None
    assert outcome.error["details"] == {"commandId": "c"}
    assert math.isnan(outcome.steps[1].ended_at)


def test_a_failure_without_a_known_code_has_one_all_the_same() -> None:
    outcome = outcome_of([("a", "sleep")], (), envelope("failed", error="Conversion = ')'"))
    assert outcome.error is not None
    assert set(outcome.error) == {"code", "message", "hint", "retryable"}
    assert outcome.error["code"] == "UNKNOWN"
    assert outcome.error["hint"]


def test_what_a_step_found_is_its_target() -> None:
    reported = envelope(
        "success",
        ("w", "wait_for_node", True, {"resource_id": "", "label": "OK"}),
        ("r", "read_text", True, {"text": "21", "validator": "none"}),
        ("m", "read_text", True, {"text": '["a","b"]', "all": "true", "count": "2", "validator": "none"}),
        ("c", "click", True, {"click_types": "click"}),
    )
    targets = [step.target for step in outcome_of((), (), reported).steps]
    assert targets == [{"text": "OK"}, {"text": "21"}, {"matched": 2}, None]
