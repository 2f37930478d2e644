"""A commandId that is used again is another run: in the stream, for the trees, and for what is said of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import ErrorCode
from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    SnapshotSeen,
)
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.models.execution_queries import acted_since
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.run_lines import lines_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from tests.app.console.support import DEVICE, SECOND, make_envelope

AT = 1000.0
SERIAL = DEVICE.serial
GOOD = make_envelope("again", [("s1", "click", True, {})])
BAD = make_envelope("again", [("s1", "click", False, {"error": "NODE_NOT_FOUND"})], status="failed")


def line(kind: str, at: float, device: str = SERIAL, **fields: str) -> CommandProgress:
    return CommandProgress(device_id=device, kind=kind, command_id="again", fields=fields, text=kind, at=at)


def answer(envelope: dict[str, object] | None, at: float, *, raw: str = "", device: str = SERIAL) -> EnvelopeSeen:
    return EnvelopeSeen(device_id=device, command_id="again", envelope=envelope, raw=raw or f"{{{at}}}", at=at)


def seen(at: float, envelope: dict[str, object] | None, device: str = SERIAL) -> list[EngineEvent]:
    """A run of another process, as the log shows it."""
    begun: list[EngineEvent] = [
        line("start", at, device, taskId="t", source="agent", actionCount="1", timeoutMs="5000"),
        line("step-start", at + 0.1, device, id="s1"),
        line("stage-start", at + 0.1, device, id="click(NodeMatcher(textEquals=OK))"),
    ]
    return begun if envelope is None else [*begun, answer(envelope, at + 1, device=device)]


def started(at: float, number: int = 1, *, payload: dict[str, object] | None = None) -> list[EngineEvent]:
    """A run of this console, dispatched."""
    name = f"e{number}"
    begun = ExecutionStarted(
        device_id=SERIAL, execution_id=name, command_id="again", task_id="t", source="console", timeout_ms=5000,
        action_count=1, payload=payload or {"actions": [{"id": "s1", "type": "click"}]}, at=at,
    )  # fmt: skip
    return [begun, ExecutionDispatched(device_id=SERIAL, execution_id=name, command_id="again", at=at + 0.05)]


def finished(at: float, result: dict[str, object], number: int = 1) -> ExecutionFinished:
    return ExecutionFinished(
        device_id=SERIAL, execution_id=f"e{number}", command_id="again", result=result, duration_ms=900, at=at
    )


def error(code: ErrorCode) -> dict[str, object]:
    return {"ok": False, "error": {"code": code.value, "message": code.value}}


def log_of(*events: Sequence[EngineEvent] | EngineEvent) -> ExecutionLog:
    log = ExecutionLog()
    for some in events:
        log.apply([some] if isinstance(some, EngineEvent) else some)
    return log


def statuses(log: ExecutionLog) -> list[Status]:
    return [run.status for run in log.executions]


FAILED, OK, RUNNING, UNKNOWN = Status.FAILED, Status.OK, Status.RUNNING, Status.UNKNOWN


def test_the_same_plan_three_times_is_three_rows() -> None:
    log = log_of(seen(AT, BAD), seen(AT + 10, BAD), seen(AT + 20, None))
    assert statuses(log) == [FAILED, FAILED, RUNNING]
    assert log.current is [*log.executions][-1]
    log.apply([answer(GOOD, AT + 21)])
    assert statuses(log) == [FAILED, FAILED, OK]
    assert [len(run.steps) for run in log.executions] == [1, 1, 1]
    assert [run.duplicates for run in log.executions] == [0, 0, 0]
    assert log.find("again") is [*log.executions][-1]


def test_the_same_plan_three_times_from_this_console() -> None:
    events: list[EngineEvent] = []
    for number, envelope in enumerate((BAD, BAD, GOOD), 1):
        at = AT + number * 10
        events += [*started(at, number), *seen(at + 0.1, envelope), finished(at + 2, {"envelope": envelope}, number)]
    assert statuses(log_of(events)) == [FAILED, FAILED, OK]


def test_a_run_that_is_refused_while_one_with_its_id_goes_on() -> None:
    refused = finished(AT + 2.1, error(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT), 2)
    log = log_of(started(AT), seen(AT + 0.1, None), started(AT + 2, 2)[0], refused)
    assert statuses(log) == [RUNNING, FAILED]
    log.apply([line("step-success", AT + 3, id="s1"), answer(GOOD, AT + 4), finished(AT + 4, {"envelope": GOOD})])
    assert statuses(log) == [OK, FAILED]
    assert [run.code for run in log.executions] == ["", "EXECUTION_CONFLICT_IN_FLIGHT"]


def test_the_late_result_of_a_run_that_was_given_up_is_not_the_next_one_s() -> None:
    gone = finished(AT + 8, error(ErrorCode.RESULT_ENVELOPE_TIMEOUT))
    log = log_of(started(AT), seen(AT + 0.1, None), gone, started(AT + 9, 2), answer(GOOD, AT + 9.1))
    assert statuses(log) == [OK, RUNNING]
    assert [run.late for run in log.executions] == [True, False]
    log.apply([*seen(AT + 9.2, BAD), finished(AT + 10, {"envelope": BAD}, 2)])
    assert statuses(log) == [OK, FAILED]


def test_a_duplicate_of_one_result_stays_with_its_run() -> None:
    first = answer(BAD, AT + 1, raw="{bad}")
    log = log_of(seen(AT, None), first, first, started(AT + 5), first, seen(AT + 5.2, GOOD))
    assert [(run.status, run.duplicates) for run in log.executions] == [(FAILED, 2), (OK, 0)]


def test_a_start_line_ends_a_run_of_another_process_that_died() -> None:
    log = log_of(seen(AT, None), seen(AT + 3, GOOD))
    assert statuses(log) == [UNKNOWN, OK]
    assert next(iter(log.executions)).message == "its commandId was used again; the log shows no result"


def test_two_streams_of_one_log_are_one_run() -> None:
    start = seen(AT, None)[0]
    assert statuses(log_of([start, start], seen(AT, GOOD)[1:])) == [OK]


def test_the_same_id_on_two_devices_at_once() -> None:
    log = log_of(seen(AT, None), seen(AT, None, SECOND.serial), answer(BAD, AT + 1, device=SECOND.serial))
    assert [(run.device_id, run.status) for run in log.executions] == [(SERIAL, RUNNING), (SECOND.serial, FAILED)]
    assert log.find("again", SERIAL) is next(iter(log.executions))


def lock(since: float) -> dict[str, object]:
    return {
        "deviceId": SERIAL,
        "commandId": "again",
        "taskId": "t2",
        "source": "cli",
        "since": since,
        "timeoutMs": 5000,
    }


def test_a_new_device_lock_opens_a_run_which_the_log_goes_on_with() -> None:
    log = log_of(seen(AT, BAD))
    assert log.locked([lock(AT + 5)], AT + 5.1)
    assert not log.locked([lock(AT + 5)], AT + 5.2)
    assert statuses(log) == [FAILED, RUNNING]
    assert log.current is [*log.executions][-1]
    log.apply(seen(AT + 5.3, GOOD))
    log.locked([], AT + 7)
    assert statuses(log) == [FAILED, OK]


def test_the_lock_of_a_run_that_the_log_has_shown_is_no_other_run() -> None:
    log = log_of(seen(AT + 0.1, None))
    assert not log.locked([lock(AT)], AT + 0.2)
    log.apply([answer(GOOD, AT + 1)])
    assert not log.locked([lock(AT)], AT + 1.1)
    assert statuses(log) == [OK]


def test_a_run_that_only_its_lock_shows_ends_with_the_lock() -> None:
    log = log_of(seen(AT, BAD))
    log.locked([lock(AT + 5)], AT + 5.1)
    assert log.locked([], AT + 6)
    assert statuses(log) == [FAILED, UNKNOWN]


TREE = TreeSnapshot(serial=1, device_id=SERIAL, command_id="again", step_id="s1", at=AT + 0.5)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((), ""),
        (started(AT + 5), "an execution is running"),
        (seen(AT + 5, None)[:1], "an execution is running"),
        (seen(AT + 5, None), "a click ran since"),
        (seen(AT + 5, GOOD), "a click ran since"),
        (seen(AT + 5, BAD), ""),
        (started(AT + 5, payload={"actions": [{"id": "s1", "type": "snapshot_ui"}]}), ""),
        ([*started(AT + 5), finished(AT + 9, error(ErrorCode.RESULT_ENVELOPE_TIMEOUT))], "an execution ran since, its outcome is unknown"),
        ([started(AT + 5)[0], finished(AT + 5.1, error(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT))], ""),
    ],
)  # fmt: skip
def test_the_tree_is_out_of_date_from_the_start_of_the_next_run(events: Sequence[EngineEvent], words: str) -> None:
    log = log_of(seen(AT, make_envelope("again", [("s1", "snapshot_ui", True, {})])), events)
    assert acted_since(log, TREE) == words


def test_a_lock_makes_the_tree_out_of_date_before_the_log_says_anything() -> None:
    log = log_of(seen(AT, BAD))
    log.locked([lock(AT + 5)], AT + 5.1)
    assert acted_since(log, TREE) == "an execution is running"


def test_each_run_has_its_own_trees_and_log_lines() -> None:
    log, ring = ExecutionLog(), LineRing(100)
    for number in range(3):
        at = AT + number * 10
        log.apply([*seen(at, None), SnapshotSeen(device_id=SERIAL, command_id="again", step_id="s1", xml="<a/>", at=at + 0.5), answer(GOOD, at + 1)])  # fmt: skip
    lines = (b"start commandId=again taskId=t", b"step-start commandId=again taskId=t id=s1") * 3
    entries = [LogEntry("I", "Clawperator", b"[Clawperator-Command] " + words, 1, 1, 10_100, b"") for words in lines]
    for place, entry in zip(ring.extend(entries, SERIAL), entries, strict=True):
        log.place(SERIAL, place, entry.payload)
    keys = [mark.key for run in log.executions for mark in run.trees]
    assert keys[0] == "again/s1"
    assert len(set(keys)) == 3
    assert [tuple(run.log) for run in log.executions] == [(0, 1), (2, 3), (4, 5)]
    assert [lines_of(run, ring).numbers for run in log.executions] == [(0, 1), (2, 3), (4, 5)]


def test_a_run_is_compared_with_the_one_before_it() -> None:
    first, second, third = log_of(seen(AT, BAD), seen(AT + 10, BAD), seen(AT + 20, GOOD)).executions
    log = log_of(seen(AT, BAD), seen(AT + 10, BAD), seen(AT + 20, GOOD))
    assert [log.before(run) for run in log.executions] == [None, *[*log.executions][:2]]
    assert [run.started for run in (first, second, third)] == [AT, AT + 10, AT + 20]


@given(st.lists(st.tuples(st.sampled_from(["ours", "seen", "lost", "refused"]), st.booleans()), max_size=8))
def test_there_is_a_row_for_each_run_in_order(runs: list[tuple[str, bool]]) -> None:
    log, wanted = ExecutionLog(), []
    for number, (kind, good) in enumerate(runs, 1):
        at, envelope = AT + number * 100, GOOD if good else BAD
        wanted.append({"lost": UNKNOWN, "refused": FAILED}.get(kind, OK if good else FAILED))
        if kind == "refused":
            log.apply([started(at, number)[0], finished(at, error(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT), number)])
        elif kind == "ours":
            log.apply([*started(at, number), *seen(at, envelope), finished(at + 2, {"envelope": envelope}, number)])
        else:
            log.apply(seen(at, None if kind == "lost" else envelope))
            log.expire(at + 99)
    assert statuses(log) == wanted
    assert [run.started for run in log.executions] == sorted(run.started for run in log.executions)
    assert all(a.key != b.key for a, b in pairwise(log.executions))
    assert all(len(run.steps) <= 1 for run in log.executions)
