from __future__ import annotations

import math
from typing import Any

import pytest

from clawperator.engine.contracts.limits import FOLLOW_SOURCE
from clawperator.engine.events.types import (
    EngineEvent,
    EnvelopeSeen,
    ExecutionFinished,
    ExecutionStarted,
    LogAttached,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.logcat.stages import brief
from clawperator.widgets.models.execution import ExecutionState, LineSpan, Mark, TreeMark, tree_owner
from clawperator.widgets.models.executions import LINES_KEPT, WENT_AWAY, ExecutionLog
from clawperator.widgets.models.status import Status
from tests.app.console.support import DEVICE, agent_run, finished_run, make_envelope, mixed_stream, progress

AT = 1000.0
SERIAL = DEVICE.serial


def log_of(*events: object) -> ExecutionLog:
    log = ExecutionLog()
    log.apply(events)  # type: ignore[arg-type]  # a mix of event kinds
    return log


def only(log: ExecutionLog) -> ExecutionState:
    (item,) = log.items
    assert isinstance(item, ExecutionState)
    return item


def seen(
    command: str, envelope: dict[str, object] | None, *, at: float = AT, problem: str = "", raw: str = "{}"
) -> EnvelopeSeen:
    return EnvelopeSeen(device_id=SERIAL, command_id=command, envelope=envelope, raw=raw, problem=problem, at=at)


def started(command: str, **more: Any) -> ExecutionStarted:
    return ExecutionStarted(
        device_id=SERIAL, execution_id="e", command_id=command, task_id="t", source="console", timeout_ms=1000, action_count=1,
        at=AT, **more,
    )  # fmt: skip


def finished(command: str, result: dict[str, Any], **more: Any) -> ExecutionFinished:
    return ExecutionFinished(
        device_id=SERIAL, execution_id="e", command_id=command, result=result, duration_ms=5, at=AT + 1, **more
    )


def test_a_run_of_another_process_is_followed_line_by_line() -> None:
    execution = only(log_of(*agent_run("cmd-1", AT)))
    assert execution.status is Status.RUNNING
    assert (execution.source, execution.task_id, execution.timeout_ms) == ("openclaw", "morning-check", 30_000)
    assert [step.type for step in execution.steps] == ["open_app", "wait_for_node"]
    running = execution.running_step
    assert running is not None
    assert (running.id, running.retry, running.retries) == ("wait", "2/5", 1)
    assert execution.elapsed(AT + 5) == 5.0


def test_lines_without_a_command_belong_to_what_runs_on_that_device() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    log.apply([progress("step-start", at=AT + 9, id="more")])
    assert [step.id for step in only(log).steps] == ["open", "wait", "more"]


def test_without_a_running_command_they_are_no_ones() -> None:
    assert log_of(progress("step-start", at=AT, id="lost")).items == []


def test_the_envelope_ends_it_and_brings_the_data() -> None:
    execution = only(log_of(*finished_run("cmd-1", AT)))
    assert execution.status is Status.OK
    assert execution.ended == AT + 2.1
    assert [(step.type, step.status) for step in execution.steps] == [
        ("open_app", Status.OK),
        ("wait_for_node", Status.OK),
        ("snapshot_ui", Status.OK),
    ]
    assert execution.steps[1].data["label"] == "Wi‑Fi"
    assert math.isclose(execution.steps[0].ended - execution.steps[0].started, 0.8)


def test_a_plan_that_succeeds_with_a_failed_step_is_its_own_case() -> None:
    envelope = make_envelope("c", [("n", "wait_for_navigation", False, {"error": "NAVIGATION_TIMEOUT"})])
    execution = only(log_of(seen("c", envelope)))
    assert execution.status is Status.WARN
    assert execution.code == "NAVIGATION_TIMEOUT"


def test_the_refused_close_is_no_failure() -> None:
    envelope = make_envelope("c", [("x", "close_app", False, {"error": "UNSUPPORTED_RUNTIME_CLOSE"})])
    execution = only(log_of(seen("c", envelope)))
    assert execution.status is Status.OK
    assert execution.steps[0].note == "closed by the host"


def test_a_failed_plan_fails_the_step_that_was_running() -> None:
    failed = make_envelope("cmd-1", [], status="failed", error="Task execution failed: nothing there")
    execution = only(log_of(*agent_run("cmd-1", AT), seen("cmd-1", failed, at=AT + 4)))
    assert execution.status is Status.FAILED
    assert execution.message == "Task execution failed: nothing there"
    assert execution.steps[1].status is Status.FAILED


def test_a_second_envelope_is_a_duplicate_and_changes_nothing() -> None:
    first, second = make_envelope("c", [("s", "sleep", True, {})]), make_envelope("c", [], status="failed", error="no")
    execution = only(log_of(seen("c", first), seen("c", second)))
    assert execution.status is Status.OK
    assert execution.duplicates == 1


def test_own_executions_end_with_the_engines_result_too_without_a_duplicate() -> None:
    envelope = make_envelope("c", [("s", "sleep", True, {})])
    execution = only(log_of(started("c"), seen("c", envelope), finished("c", {"ok": True, "envelope": envelope})))
    assert execution.ours
    assert execution.duplicates == 0
    assert execution.status is Status.OK


def test_an_execution_that_began_before_its_device_was_known_is_one_row() -> None:
    started = ExecutionStarted(
        device_id=None,
        execution_id="e",
        command_id="c",
        task_id="t",
        source="console",
        timeout_ms=1000,
        action_count=1,
        at=AT,
    )
    execution = only(log_of(started, progress("start", "c", at=AT + 0.1, actionCount="1")))
    assert execution.device_id == SERIAL


def test_a_result_after_giving_up_is_late() -> None:
    gave_up = ExecutionFinished(
        device_id=SERIAL,
        execution_id="e",
        command_id="c",
        duration_ms=5,
        at=AT,
        result={"ok": False, "error": {"code": "RESULT_ENVELOPE_TIMEOUT", "message": "No result within 20.0 s"}},
    )
    log = log_of(gave_up)
    assert only(log).code == "RESULT_ENVELOPE_TIMEOUT"
    log.apply([seen("c", make_envelope("c", [("s", "sleep", True, {})]), at=AT + 30)])
    assert only(log).late
    assert only(log).status is Status.OK


def test_unreadable_envelopes_are_rows() -> None:
    log = log_of(seen("", None, problem="bad JSON at byte 812", raw="{"), seen("c", None, problem="cut off"))
    mark, execution = log.items
    assert isinstance(mark, Mark)
    assert (mark.kind, mark.text, mark.raw) == ("malformed", "bad JSON at byte 812", "{")
    assert isinstance(execution, ExecutionState)
    assert execution.code == "RESULT_ENVELOPE_MALFORMED"


def test_gaps_and_losses_are_rows_and_adjacent_losses_add_up() -> None:
    batch = LogBatch(device_id=SERIAL, entries=(), dropped=300, at=AT)
    log = log_of(LogGap(device_id=SERIAL, reason="device offline", at=AT), batch, batch)
    assert [(item.kind, item.text, item.count) for item in log.items if isinstance(item, Mark)] == [
        ("gap", "device offline", 1),
        ("dropped", "this console was too slow", 600),
    ]


def test_a_link_that_stays_down_is_one_row_and_says_for_how_long() -> None:
    log = log_of(*(LogGap(device_id=SERIAL, reason=f"offline {n}", at=AT + n) for n in range(50)))
    (mark,) = log.items
    assert isinstance(mark, Mark)
    assert (mark.at, mark.text) == (AT, "offline 49")
    assert math.isnan(mark.until)
    log.apply([LogAttached(device_id="another", at=AT + 50), LogAttached(device_id=SERIAL, at=AT + 60)])
    assert mark.until == AT + 60
    log.apply([LogAttached(device_id=SERIAL, at=AT + 70), LogGap(device_id=SERIAL, reason="again", at=AT + 80)])
    assert mark.until == AT + 60
    assert len(log.items) == 2


def test_snapshots_are_reported_on_the_execution_that_took_them() -> None:
    dump = SnapshotSeen(device_id=SERIAL, command_id="cmd-1", step_id="s", xml="<hierarchy/>", complete=False, at=AT)
    execution = only(log_of(*agent_run("cmd-1", AT), dump))
    assert execution.snapshots == 1
    assert "incomplete" in execution.lines[-1].text


def test_queued_commands_wait() -> None:
    execution = only(log_of(progress("queued", "c", at=AT)))
    assert execution.status is Status.WAITING
    assert not execution.over


def test_old_executions_go() -> None:
    log = ExecutionLog(kept=10)
    for number in range(30):
        log.apply([progress("start", f"c{number}", at=AT + number)])
    assert len(log.items) <= 11
    assert log.find("c29") is log.items[-1]


def test_a_chatty_execution_keeps_its_first_and_its_newest_lines() -> None:
    log = log_of(progress("start", "c", at=AT))
    log.apply([progress("stage-retry", "c", at=AT + n, attempt=f"{n}/999") for n in range(LINES_KEPT * 2)])
    lines = only(log).lines
    assert len(lines) == LINES_KEPT
    assert lines[0].kind == "start"
    assert lines[-1].at == AT + LINES_KEPT * 2 - 1


def test_generation_changes_with_every_visible_change_only() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    before = log.generation
    assert not log.apply([LogBatch(device_id=SERIAL, entries=(), at=AT)])
    assert log.generation == before
    assert log.apply([progress("step-success", at=AT + 3, id="wait")])


def test_the_current_one_is_the_newest_that_runs() -> None:
    log = log_of(*mixed_stream(AT))
    assert log.current is not None
    assert log.current.command_id == "cmd-126"


def matcher(**fields: str) -> str:
    names = ("resourceId", "role", "textEquals", "textContains", "contentDescEquals", "contentDescContains")
    listed = ", ".join(f"{name}={fields.get(name, 'null')}" for name in names)
    return f"NodeMatcher({listed})"


def test_matchers_are_reported_without_what_is_not_set() -> None:
    assert brief(f"click({matcher(textEquals='OK, really (2)')})") == "click(textEquals=OK, really (2))"
    assert (
        brief(f"scrollUntil(target={matcher(resourceId='a:id/b', role='button')})")
        == "scrollUntil(target=resourceId=a:id/b, role=button)"
    )
    assert brief(f"none: {matcher(contentDescContains='x')}; next") == "none: contentDescContains=x; next"
    assert brief("plain (text)") == "plain (text)"
    assert brief("NodeMatcher(cut off") == "NodeMatcher(cut off"


def test_scaffolding_lines_are_left_to_the_log_view() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    before = len(only(log).lines)
    log.apply([progress("ui-start", at=AT), progress("answered", "cmd-1", at=AT)])
    assert len(only(log).lines) == before


def look(command: str, at: float) -> list[EngineEvent]:
    fields = {"taskId": command, "source": FOLLOW_SOURCE, "timeoutMs": "1500", "actionCount": "1"}
    envelope = make_envelope(command, [("snap", "snapshot_ui", True, {})])
    return [
        progress("start", command, at=at, **fields),
        progress("success", command, at=at, stepCount="1"),
        EnvelopeSeen(device_id=DEVICE.serial, command_id=command, envelope=envelope, raw="{}", at=at),
    ]


def test_looks_that_follow_each_other_are_one_row_and_what_comes_between_divides_them() -> None:
    log = ExecutionLog()
    for number in range(5):
        log.apply(look(f"follow-{number}", AT + number))
    log.apply(finished_run("agent-1", AT + 10))
    log.apply(look("follow-5", AT + 20))
    assert [(item.command_id, item.follow_snapshots) for item in log.executions] == [
        ("follow-4", 5), ("agent-1", 0), ("follow-5", 1)
    ]  # fmt: skip
    assert log.current is not None
    assert log.current.command_id == "agent-1", "the strip is about executions"


def test_a_look_that_failed_keeps_its_row() -> None:
    log = ExecutionLog()
    log.apply(look("follow-1", AT)[:1])
    failed = make_envelope("follow-1", [], status="failed", error="SNAPSHOT_HIERARCHY_UNAVAILABLE: no window")
    log.apply([EnvelopeSeen(device_id=DEVICE.serial, command_id="follow-1", envelope=failed, raw="{}", at=AT)])
    log.apply(look("follow-2", AT + 1))
    assert [(item.command_id, item.follow_snapshots) for item in log.executions] == [("follow-1", 1), ("follow-2", 1)]


# -- rows that must not run for ever


def test_what_ran_on_a_device_that_went_away_ends_as_unknown() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    log.present([SERIAL, "other"], AT + 2)
    execution = only(log)
    assert execution.status is Status.RUNNING
    log.present(["other"], AT + 3)
    assert (execution.status, execution.ended, execution.message) == (Status.UNKNOWN, AT + 3, WENT_AWAY)
    assert execution.lines[-1].kind == "gone"
    assert [step.status for step in execution.steps] == [Status.OK, Status.UNKNOWN]


def test_it_goes_on_when_the_device_comes_back_and_its_lines_go_on() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    log.present([], AT + 3)
    log.apply([progress("stage-success", "cmd-1", at=AT + 5, id="waitForNode(text=Wi‑Fi)")])
    execution = only(log)
    assert execution.status is Status.RUNNING
    assert math.isnan(execution.ended)
    log.apply([seen("cmd-1", make_envelope("cmd-1", [("wait", "wait_for_node", True, {})]), at=AT + 6)])
    assert (execution.status, execution.ended, execution.late) == (Status.OK, AT + 6, False)


def test_own_executions_are_ended_by_the_engine_alone() -> None:
    log = log_of(started("c"))
    log.present([], AT + 1)
    assert not log.expire(AT + 10_000)
    assert only(log).status is Status.RUNNING


def test_an_execution_of_others_is_given_up_after_its_own_budget_and_the_wait() -> None:
    log = log_of(*agent_run("cmd-1", AT))  # it may take 30 s
    assert not log.expire(AT + 34.9)
    assert log.expire(AT + 36)
    execution = only(log)
    assert (execution.status, execution.ended) == (Status.UNKNOWN, AT + 35)
    assert execution.message == "no result within 30.0 s plus 5 s"
    assert not log.expire(AT + 99)
    log.apply([seen("cmd-1", make_envelope("cmd-1", []), at=AT + 40)])
    assert (execution.status, execution.late, execution.ended) == (Status.OK, True, AT + 40)


def test_a_queued_one_may_wait_as_long_as_any_command_may_take() -> None:
    log = log_of(progress("queued", "c", at=AT))
    assert not log.expire(AT + 120)
    assert log.expire(AT + 126)
    assert only(log).status is Status.UNKNOWN


def test_a_gap_is_reported_on_what_runs() -> None:
    log = log_of(*agent_run("cmd-1", AT), LogGap(device_id=SERIAL, reason="device offline", at=AT + 2))
    execution = next(log.executions)
    assert execution.lines[-1].kind == "gap"
    assert "device offline" in execution.lines[-1].text


def test_a_step_whose_end_was_not_seen_is_not_running_any_more() -> None:
    log = log_of(*agent_run("cmd-1", AT), progress("step-start", at=AT + 4, id="next"))
    assert [step.status for step in only(log).steps] == [Status.OK, Status.UNKNOWN, Status.RUNNING]


# -- whose it is


def test_a_result_that_no_one_here_asked_for_is_foreign() -> None:
    assert only(log_of(seen("c", make_envelope("c", [])))).foreign
    assert not only(log_of(*agent_run("c", AT), seen("c", make_envelope("c", [])))).foreign, "its start was seen"
    assert not only(log_of(started("c"), seen("c", make_envelope("c", [])))).foreign
    log = ExecutionLog()
    log.held(["c"])
    log.apply([seen("c", make_envelope("c", []))])
    assert not only(log).foreign, "a process of this machine had the device for it"


def test_what_the_engine_says_of_an_own_execution_is_kept() -> None:
    log = ExecutionLog()
    log.reruns["c"] = "before"
    payload = {"commandId": "c", "actions": []}
    log.apply([started("c", payload=payload, mode="direct", backend="operator")])
    phases = {"validate": 0.2, "run": 5.0}
    log.apply([finished("c", {"envelope": make_envelope("c", [])}, phases=phases, warnings=({"code": "X"},))])
    execution = only(log)
    assert (execution.payload, execution.mode, execution.backend) == (payload, "direct", "operator")
    assert (execution.phases, execution.warnings) == (phases, ({"code": "X"},))
    assert execution.run_of == "before"
    assert not log.reruns


# -- what is wrong, and where


def test_the_column_of_a_parse_error_is_reported() -> None:
    problem = "Expecting value: line 1 column 813 (char 812)"
    log = log_of(seen("", None, problem=problem, raw="{"))
    (mark,) = log.items
    assert isinstance(mark, Mark)
    assert (mark.text, mark.column) == ("Expecting value", 813)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (make_envelope("c", []), "duplicate envelope, identical"),
        (make_envelope("c", [], status="failed", error="no"), "status failed"),
        (None, "unreadable: cut off"),
    ],
)
def test_duplicates_say_whether_they_agree(second: Any, words: str) -> None:
    log = log_of(seen("c", make_envelope("c", [])), seen("c", second, problem="" if second else "cut off", raw="{"))
    assert words in only(log).lines[-1].text


def test_what_the_operator_says_of_no_command_is_a_row_and_counted() -> None:
    news = [progress("no-window", at=AT + n) for n in range(3)]
    (mark,) = log_of(*news).items
    assert isinstance(mark, Mark)
    assert (mark.kind, mark.count, mark.at) == ("event", 3, AT + 2)


# -- trees and lines


def test_trees_are_kept_with_the_step_that_took_them() -> None:
    dump = SnapshotSeen(device_id=SERIAL, command_id="cmd-1", step_id="snap", xml="<hierarchy/>", at=AT + 2)
    execution = only(log_of(*agent_run("cmd-1", AT), dump))
    assert execution.trees == [TreeMark("snap", AT + 2, "cmd-1/snap", 12, complete=True)]
    assert execution.lines[-1].tree == "cmd-1/snap"
    assert tree_owner("cmd/1/snap") == "cmd/1"


def test_log_lines_are_placed_with_the_command_that_they_name() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    execution = only(log)
    assert not execution.log
    for number, line in (
        (100, b"[Clawperator-Command] start commandId=cmd-1 taskId=t source=s"),
        (101, b"[UiActionEngine] step_start id=a type=b"),
        (102, b"[Clawperator-Command] start commandId=cmd-2 taskId=t"),
        (130, b'[Clawperator-Result] {"commandId":"cmd-1","taskId":"t"}'),
    ):
        log.place(SERIAL, number, line)
    log.place("another", 140, b"[Clawperator-Command] success commandId=cmd-1 taskId=t")
    assert execution.log == LineSpan(100, 130)
    assert execution.log


def test_versions_change_with_the_item_only() -> None:
    log = log_of(*agent_run("cmd-1", AT), *agent_run("cmd-2", AT + 5))
    first, second = log.executions
    before = first.version, second.version
    log.apply([progress("stage-success", "cmd-2", at=AT + 9, id="x")])
    assert first.version == before[0]
    assert second.version > before[1]


def test_a_still_execution_does_not_change_with_the_live_one() -> None:
    log = log_of(*agent_run("cmd-1", AT))
    still = only(log).frozen_copy()
    log.apply([progress("step-success", at=AT + 3, id="wait"), progress("step-start", at=AT + 3, id="more")])
    assert [step.status for step in still.steps] == [Status.OK, Status.RUNNING]
    assert len(still.lines) == len(agent_run("cmd-1", AT))
