"""What others do, from the events that a device's log makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from clawperator.engine.contracts.limits import FOLLOW_SOURCE
from clawperator.engine.events.typed_text import TypedTexts
from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionFinished,
    ExecutionStarted,
    SnapshotSeen,
)
from clawperator.engine.history import connection
from clawperator.engine.history.records import RunRecord, StepRecord
from clawperator.engine.history.seen_runs import SeenRuns
from clawperator.engine.history.store import History
from clawperator.engine.logcat.progress import read_progress
from tests.engine.history.support import a_run

DEVICE = "emulator-5554"
NOW = 1_795_186_211.0


class Shelf:
    """A history that is written at once."""

    def __init__(self) -> None:
        self.history = History("", connection.in_memory(), [])
        self.typed = TypedTexts()
        self.sightings = SeenRuns(self, "console", self.typed)  # type: ignore[arg-type]
        self.at = NOW

    def write(self, job: Callable[[History], object], *, late: bool = False) -> None:
        assert not late
        job(self.history)

    def see(self, *events: EngineEvent) -> None:
        """Take what a bus publishes."""
        self.sightings.take(map(self.typed.without, events))

    def line(self, text: str, command_id: str = "c") -> CommandProgress:
        reported = read_progress(text)
        assert reported is not None
        self.at += 1.0
        kind, fields = reported
        return CommandProgress(device_id=DEVICE, at=self.at, kind=kind, command_id=command_id, fields=fields, text=text)

    def start(self, command_id: str = "c", source: str = "openclaw", timeout_ms: int = 5_000) -> CommandProgress:
        reported = f"commandId={command_id} taskId=t source={source} timeoutMs={timeout_ms} actionCount=1"
        return self.line(f"[Clawperator-Command] start {reported}", command_id)

    def envelope(self, command_id: str = "c", status: str = "success", **more: Any) -> EnvelopeSeen:
        self.at += 1.0
        steps = [{"id": "a", "actionType": "click", "success": status == "success", "data": {}}]
        envelope = {
            "commandId": command_id,
            "taskId": "t",
            "status": status,
            "stepResults": steps,
            "error": None,
            **more,
        }
        return EnvelopeSeen(device_id=DEVICE, at=self.at, command_id=command_id, envelope=envelope, raw="{…}")

    @property
    def runs(self) -> list[RunRecord]:
        return [self.history.find(run.number) for run in reversed(self.history.runs())]


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    with closing(shelf.history):
        yield shelf


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("click(NodeMatcher(resourceId=null, textEquals=OK, contentDescContains=null))", 'click "OK"'),
        ("openApp:com.example", "open_app com.example"),
    ],
)
def test_the_log_has_what_a_step_of_someone_else_acted_on(shelf: Shelf, stage: str, words: str) -> None:
    shelf.see(
        shelf.start(),
        shelf.line("[UiActionEngine] step_start id=a type=m$c"),
        shelf.line(f"[Clawperator-Command] stage-start commandId=c taskId=t id={stage}"),
        shelf.envelope(),
    )
    (run,) = shelf.runs
    assert run.summary.action == words


def test_a_run_of_someone_else_is_kept_with_its_lines_and_trees(shelf: Shelf) -> None:
    shelf.see(
        shelf.start(),
        shelf.line("[UiActionEngine] step_start id=a type=m$c"),
        SnapshotSeen(device_id=DEVICE, at=shelf.at, command_id="c", step_id="a", xml="<hierarchy/>"),
        shelf.line("[UiActionEngine] step_success id=a type=m$c data={}"),
        shelf.envelope(),
        shelf.line("[Operator-Receiver] Agent command completed successfully commandId=c taskId=t"),
    )
    (run,) = shelf.runs
    summary = run.summary
    assert (summary.origin, summary.face, summary.pid, summary.status, summary.source) == (
        "seen",
        "console",
        0,
        "success",
        "openclaw",
    )
    assert (summary.task_id, summary.timeout_ms, summary.action_count) == ("t", 5_000, 1)
    assert (summary.started_at, summary.ended_at, summary.duration_ms) == (NOW + 1, NOW + 4, 3_000.0)
    assert [line.kind for line in run.lines] == ["start", "step-start", "step-success"]
    assert [(step.id, step.type, step.status, step.started_at) for step in run.steps] == [
        ("a", "click", "success", NOW + 2)
    ]
    assert shelf.history.tree(run.trees[0].digest) == "<hierarchy/>"
    assert (run.payload, run.raw) == (None, ("{…}",))
    assert not shelf.sightings.waiting


def test_failures_get_the_code_that_the_host_would_give(shelf: Shelf) -> None:
    shelf.see(shelf.start(), shelf.envelope(status="failed", error="No UI node found matching criteria: x"))
    shelf.see(shelf.start("d"), shelf.envelope("d", status="failed", error="odd", errorCode="ITS_OWN"))
    unreadable = EnvelopeSeen(device_id=DEVICE, at=shelf.at, command_id="e", envelope=None, raw="{", problem="cut off")
    shelf.see(shelf.start("e"), unreadable)
    assert [(run.summary.status, run.summary.code, run.message) for run in shelf.runs] == [
        ("failed", "NODE_NOT_FOUND", "No UI node found matching criteria: x"),
        ("failed", "ITS_OWN", "odd"),
        ("failed", "RESULT_ENVELOPE_MALFORMED", "The result envelope cannot be read: cut off"),
    ]


def test_our_own_run_is_not_seen_as_well(shelf: Shelf) -> None:
    began = ExecutionStarted(
        device_id=DEVICE, execution_id="e", command_id="c", task_id="t", source="s", timeout_ms=5_000, action_count=1
    )
    over = ExecutionFinished(device_id=DEVICE, execution_id="e", command_id="c", result={}, duration_ms=1.0)
    shelf.see(
        began, shelf.start(), shelf.envelope(), over, shelf.envelope(), shelf.line("ClawperatorResult commandId=c")
    )
    assert shelf.runs == []
    shelf.see(shelf.start(), shelf.envelope())
    assert len(shelf.runs) == 1, "that one began after ours was over"


def gave_up(at: float, code: str = "RESULT_ENVELOPE_TIMEOUT") -> RunRecord:
    """Our own run as its maker writes it."""
    return a_run(
        "c",
        device_id=DEVICE,
        started_at=NOW,
        ended_at=at,
        status="failed",
        code=code,
        envelope=None,
        raw=(),
        steps=(StepRecord(0, "a", "click"),),
        message="no result",
    )


@pytest.mark.parametrize("code", ["RESULT_ENVELOPE_TIMEOUT", "INTERRUPTED"])
def test_a_result_of_our_own_that_comes_late_is_kept_beside_what_was_reported(shelf: Shelf, code: str) -> None:
    began = ExecutionStarted(
        device_id=DEVICE, execution_id="e", command_id="c", task_id="t", source="s", timeout_ms=5_000, action_count=1
    )
    reported = {"ok": False, "error": {"code": code, "message": "no result"}}
    over = ExecutionFinished(device_id=DEVICE, execution_id="e", command_id="c", result=reported, duration_ms=1.0)
    shelf.see(began, shelf.start())
    shelf.history.put(gave_up(shelf.at, code))
    shelf.see(over)
    ended = shelf.at
    shelf.at += 2.2
    late = shelf.envelope()
    shelf.see(late, shelf.envelope(status="failed", error="another"))
    (run,) = shelf.runs
    assert (run.summary.status, run.summary.code, run.message) == ("failed", code, "no result")
    assert (run.envelope, run.raw) == (None, ())
    assert [step.status for step in run.steps] == ["unknown"]
    assert run.late is not None
    assert (run.late.envelope, run.late.raw) == (late.envelope, ("{…}",))
    assert run.late.at == late.at
    assert run.late.after_ms == pytest.approx((late.at - ended) * 1000, abs=0.01)
    assert [(step.id, step.type, step.status) for step in run.late.steps] == [("a", "click", "success")]
    assert run.to_dict()["lateResult"]["afterMs"] == run.late.after_ms


@pytest.mark.parametrize("made_first", [False, True])
def test_a_result_that_was_late_for_another_process_is_kept_who_writes_first(shelf: Shelf, made_first: bool) -> None:
    """It comes before we would have stopped waiting ourselves, but the maker had less patience."""
    shelf.see(shelf.start())
    made = gave_up(shelf.at + 0.5)
    if made_first:
        shelf.history.put(made)
    shelf.see(shelf.envelope())
    if not made_first:
        shelf.history.put(made)
    (run,) = shelf.runs
    assert (run.summary.origin, run.summary.code, run.envelope) == ("made", "RESULT_ENVELOPE_TIMEOUT", None)
    assert run.late is not None
    assert run.late.after_ms == pytest.approx(500, abs=0.01)


def test_a_result_that_no_one_expected_any_more_belongs_to_the_run_that_was_written_without_one(shelf: Shelf) -> None:
    shelf.see(shelf.start())
    shelf.sightings.expire(shelf.at + 100)
    shelf.at += 120
    shelf.see(shelf.envelope())
    (run,) = shelf.runs
    assert (run.summary.status, run.envelope) == ("interrupted", None)
    assert run.late is not None
    assert run.late.envelope["status"] == "success"


def test_a_late_result_without_a_run_is_nothing(shelf: Shelf) -> None:
    """Looks of the follow mode give up as well, and are not kept."""
    shelf.see(shelf.start("follow-1", FOLLOW_SOURCE))
    shelf.sightings.expire(shelf.at + 100)
    shelf.see(shelf.envelope("follow-1"))
    over = ExecutionFinished(
        device_id=DEVICE, execution_id="e", command_id="c", result={"error": {"code": "X"}}, duration_ms=1.0
    )
    shelf.see(over, shelf.envelope())
    assert shelf.runs == []


@pytest.mark.parametrize("ours", [True, False])
def test_an_attempt_that_is_refused_for_its_id_does_not_end_the_run_that_has_it(shelf: Shelf, ours: bool) -> None:
    began, refused = (
        ExecutionStarted(
            device_id=DEVICE,
            execution_id=name,
            command_id="c",
            task_id="t",
            source="s",
            timeout_ms=5_000,
            action_count=1,
        )
        for name in ("e", "refused")
    )
    result = {"ok": False, "error": {"code": "EXECUTION_CONFLICT_IN_FLIGHT", "message": "busy"}}
    over = ExecutionFinished(device_id=DEVICE, execution_id="refused", command_id="c", result=result, duration_ms=1.0)
    shelf.see(*([began] if ours else []), shelf.start(), refused, over, shelf.envelope())
    assert [run.summary.status for run in shelf.runs] == ([] if ours else ["success"])


@pytest.mark.parametrize("source", [FOLLOW_SOURCE, "clawperator-doctor"])
def test_looks_and_handshakes_are_no_runs(shelf: Shelf, source: str) -> None:
    shelf.see(shelf.start("x", source), shelf.envelope("x"))
    shelf.see(shelf.envelope("follow-1795186211000-abcdefg"), shelf.envelope("handshake-1795186211000-abcdefg"))
    assert shelf.runs == []
    assert not shelf.sightings.waiting


def test_a_run_that_was_under_way_before_is_kept_as_far_as_it_was_seen(shelf: Shelf) -> None:
    shelf.see(shelf.line("[Clawperator-Command] stage-start commandId=c taskId=t id=pause label=p"), shelf.envelope())
    (run,) = shelf.runs
    assert (run.summary.status, run.summary.source, run.summary.task_id, run.summary.action_count) == (
        "success",
        "",
        "t",
        1,
    )


def test_a_second_envelope_makes_no_second_run(shelf: Shelf) -> None:
    shelf.see(shelf.start(), shelf.envelope(), shelf.envelope())
    assert len(shelf.runs) == 1


def test_what_waits_in_the_queue_begins_there(shelf: Shelf) -> None:
    queued = shelf.line("[Clawperator-Command] queued commandId=c taskId=t waiting_for_active_command=true")
    shelf.see(queued, shelf.start(), shelf.envelope())
    (run,) = shelf.runs
    assert run.summary.started_at == queued.at
    assert run.summary.source == "openclaw"


def test_a_run_without_an_end_is_written_when_no_one_waits_for_it_any_more(shelf: Shelf) -> None:
    start = shelf.start(timeout_ms=5_000)
    shelf.see(start, shelf.line("[UiActionEngine] step_start id=a type=m$c"))
    shelf.sightings.expire(start.at + 9.9)
    assert shelf.runs == []
    shelf.sightings.expire(start.at + 10.1)
    (run,) = shelf.runs
    assert (run.summary.status, run.summary.ended_at, run.envelope) == ("interrupted", shelf.at, None)
    assert run.message


def test_the_same_name_once_more_is_another_run(shelf: Shelf) -> None:
    shelf.see(shelf.start())
    shelf.at += 60
    shelf.see(shelf.start(), shelf.envelope())
    assert [run.summary.status for run in shelf.runs] == ["interrupted", "success"]


def test_nothing_is_kept_without_bounds(shelf: Shelf) -> None:
    shelf.see(*(shelf.start(f"c{index}") for index in range(200)))
    assert len(shelf.runs) == 200 - 64
    huge = "x" * 40_000_000
    for step in ("a", "b"):
        shelf.see(SnapshotSeen(device_id=DEVICE, at=shelf.at, command_id="c199", step_id=step, xml=huge))
    shelf.see(shelf.envelope("c199"))
    assert [tree.step_id for tree in shelf.history.find("c199").trees] == ["a"]


def test_what_another_program_typed_is_not_kept(shelf: Shelf) -> None:
    steps = [{"id": "a", "actionType": "enter_text", "success": True, "data": {"text": "hunter2", "submit": "false"}}]
    shelf.see(shelf.start())
    shelf.see(shelf.line("[UiActionEngine] step_success id=a type=t2$b data={text=hunter2, submit=false}"))
    shelf.see(shelf.envelope(stepResults=steps))
    (run,) = shelf.runs
    assert "hunter2" not in json.dumps(run.to_dict())
    assert "step_success id=a" in run.lines[1].text
