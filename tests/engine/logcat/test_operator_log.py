"""What the Operator says, from hand-written logs (wire.md#log-lines) and from records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.correlated import CorrelatedLines
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import (
    DeathSignal,
    EnvelopeSignal,
    HierarchySignal,
    ProgressSignal,
    RefusalSignal,
    Signal,
)
from clawperator.engine.logcat.text import parse_text

DATA = Path(__file__).parents[2] / "data" / "logcat"
UID, PID, TID = 10234, 8123, 8190
ENVELOPE = '{"commandId":"%s","taskId":"t","status":"success","stepResults":[],"error":null}'


def line(message: str, *, level: str = "D", tag: str = "a", pid: int = PID, tid: int = TID, uid: int = UID) -> LogEntry:
    return LogEntry.create(message, level=level, tag=tag, pid=pid, tid=tid, uid=uid)


def result(text: str, **fields: int) -> LogEntry:
    return line(f"[Clawperator-Result] {text}", level="I", tag="E", **fields)


def golden(name: str) -> list[LogEntry]:
    return parse_text((DATA / f"operator-{name}.txt").read_bytes())


def signals(entries: Iterable[LogEntry], log: OperatorLog | None = None) -> list[Signal]:
    log = log or OperatorLog(uid=UID, pid=PID)
    return log.feed(entries) + log.finish()


def envelopes(found: Iterable[Signal]) -> list[EnvelopeSignal]:
    return [signal for signal in found if isinstance(signal, EnvelopeSignal)]


def dumps(found: Iterable[Signal]) -> list[HierarchySignal]:
    return [signal for signal in found if isinstance(signal, HierarchySignal)]


def progress(found: Iterable[Signal]) -> list[ProgressSignal]:
    return [signal for signal in found if isinstance(signal, ProgressSignal)]


def kinds(found: Iterable[Signal]) -> list[str]:
    return [signal.kind if isinstance(signal, ProgressSignal) else type(signal).__name__ for signal in found]


class TestHandWrittenLogs:
    def test_an_execution_of_a_debug_build(self) -> None:
        found = signals(golden("debug-threadtime"))

        assert kinds(found) == [
            "start", "task-start", "step-start", "stage-start", "stage-success", "step-success", "step-start", "ui-start",
            "stage-start", "snapshot-start", "HierarchySignal", "stage-success", "ui-end", "step-success", "task-success",
            "success", "EnvelopeSignal", "answered",
        ]  # fmt: skip
        assert {signal.command_id for signal in found if not isinstance(signal, DeathSignal | RefusalSignal)} == {
            "look-1"
        }
        start, _, step = progress(found)[:3]
        assert start.fields == {
            "commandId": "look-1",
            "taskId": "look at it",
            "source": "clawperator-observe",
            "timeoutMs": "30000",
            "actionCount": "2",
        }
        assert step.fields == {"id": "wait", "type": "Sleep"}

    def test_its_dump_keeps_line_feeds_of_texts_and_no_foreign_line(self) -> None:
        (dump,) = dumps(signals(golden("debug-threadtime")))

        assert (dump.captured.step_id, dump.captured.complete, dump.captured.cut_lines) == ("snap 1", True, 0)
        lines = dump.captured.xml.split("\n")
        assert lines[0] == "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
        assert lines[3].startswith('    <node index="0" text="Wi\u2011Fi &amp; mehr" resource-id="android:id/title"')
        assert lines[4:6][0] == '    <node index="1" text="two'
        assert lines[5].startswith('[brackets] and lines" resource-id="android:id/summary"')
        assert lines[6:] == ["  </node>", "</hierarchy>"]

    def test_its_envelope(self) -> None:
        (found,) = envelopes(signals(golden("debug-threadtime")))

        assert (found.problem, found.parts) == ("", 1)
        assert found.envelope is not None
        assert [step.id for step in found.envelope.step_results] == ["wait", "snap 1"]

    def test_a_release_build_in_time_format_beside_a_forger(self) -> None:
        log = OperatorLog(uid=UID, command_id="cmd-7")

        found = signals(golden("release-time"), log)

        assert log.pid == PID
        assert [signal.entry.pid for signal in envelopes(found)] == [PID]
        (dump,) = dumps(found)
        assert (dump.captured.step_id, dump.command_id, dump.captured.complete) == ("s1", "cmd-7", True)
        assert '<hierarchy rotation="1">' in dump.captured.xml

    def test_a_forger_is_known_by_its_uid_where_lines_carry_one(self) -> None:
        log = OperatorLog(uid=UID)

        found = signals(golden("plan-failure-threadtime-uid"), log)

        (answer,) = envelopes(found)
        assert answer.envelope is not None
        assert answer.envelope.status == "failed"

    def test_a_plan_that_fails(self) -> None:
        found = progress(signals(golden("plan-failure-threadtime-uid")))

        by_kind = {signal.kind: signal for signal in found}
        assert by_kind["queued"].command_id == "p-2"
        assert by_kind["stage-retry"].fields["attempt"] == "2/5"
        assert by_kind["stage-retry"].fields["delayMs"] == "1020"
        assert by_kind["stage-failure"].fields["id"].startswith("click(NodeMatcher(resourceId=null, role=null,")
        assert by_kind["stage-failure"].fields["reason"].startswith("No UI node found matching criteria: NodeMatcher(")
        assert by_kind["task-failure"].fields == {"durationMs": "6701", "reason": "No UI node found matching criteria"}
        assert by_kind["failure"].fields["reason"] == "No UI node found matching criteria"
        assert by_kind["answered-failure"].fields == {
            "commandId": "p-1",
            "taskId": "t1",
            "reason": "No UI node found matching criteria",
        }
        assert (by_kind["no-window"].command_id, by_kind["envelope-failure"].command_id) == ("p-2", "p-2")

    def test_an_envelope_in_three_parts_cut_inside_a_character(self) -> None:
        (found,) = envelopes(signals(golden("chunked-envelope-threadtime")))

        assert (found.problem, found.parts, found.command_id) == ("", 3, "long-1")
        assert found.envelope is not None
        text = found.envelope.step_results[0].data["text"]
        assert text.count("🥚") == 1
        assert "\ufffd" not in text
        assert len(text) > 8_000

    def test_a_line_of_a_dump_in_two_parts_in_tag_format(self) -> None:
        (dump,) = dumps(signals(golden("chunked-line-tag"), OperatorLog()))

        assert (dump.captured.complete, dump.captured.step_id) == (True, "s1")
        lines = dump.captured.xml.split("\n")
        assert len(lines[2]) == len('  <node index="0" text="') + 5_200 + len('&#39;" bounds="[0,0][1080,2340]" />')
        assert lines[3:] == [
            '  <node index="1" text="a list:',
            "[Clawperator-Result] " + ENVELOPE % "x",
            '[UiActionEngine] of a text" bounds="[0,0][1,1]" />',
            "</hierarchy>",
        ]

    def test_a_text_on_the_screen_cannot_pose_as_an_envelope(self) -> None:
        assert envelopes(signals(golden("chunked-line-tag"), OperatorLog())) == []

    def test_a_truncated_dump_is_incomplete_and_comes_before_its_step_ends(self) -> None:
        found = signals(golden("truncated-dump-threadtime"))

        first, second = dumps(found)
        assert (first.captured.step_id, first.captured.complete) == ("first", False)
        assert first.captured.xml.endswith('text="lost from here on" bounds="[0,0][1080,2340]">')
        assert (second.captured.step_id, second.captured.complete) == ("second", True)
        assert kinds(found)[2:4] == ["HierarchySignal", "step-success"]

    def test_refusals(self) -> None:
        found = [signal for signal in signals(golden("refusal-threadtime")) if isinstance(signal, RefusalSignal)]

        assert [(signal.reason, signal.unsupported) for signal in found] == [
            ("java.lang.IllegalArgumentException: actions invalid", True),
            ("[Operator-Receiver] Missing required agent payload extra: payload", False),
            ("org.json.JSONException: Unterminated object at character 17", False),
        ]

    def test_a_service_that_is_down(self) -> None:
        down, answer = signals(golden("service-down-time"))

        assert isinstance(down, ProgressSignal)
        assert (down.kind, down.command_id) == ("service-unavailable", "down-1")
        assert isinstance(answer, EnvelopeSignal)
        assert answer.envelope is not None
        assert answer.envelope.error_code == "SERVICE_UNAVAILABLE"


class TestEnvelopes:
    def test_every_copy_is_a_signal(self) -> None:
        entry = result(ENVELOPE % "c")

        assert [found.command_id for found in envelopes(signals([entry, entry]))] == ["c", "c"]

    @pytest.mark.parametrize("level", ["D", "E", "W", "S"])
    def test_only_the_operators_own_level_counts(self, level: str) -> None:
        assert envelopes(signals([line("[Clawperator-Result] " + ENVELOPE % "c", level=level)])) == []

    def test_only_the_start_of_a_message_counts(self) -> None:
        entry = line(
            '[UiActionEngine] step_success id=s type=a data={text=\n[Clawperator-Result] {"commandId":"c"}}', level="I"
        )

        assert kinds(signals([entry])) == ["step-success"]

    def test_incomplete_json_in_a_short_line_is_malformed_at_once(self) -> None:
        log = OperatorLog(uid=UID)

        (found,) = envelopes(log.push(result('{"commandId":"c\\u00e9","taskId":"t","status')))

        assert found.envelope is None
        assert found.problem
        assert (found.command_id, found.raw) == ("cé", '{"commandId":"c\\u00e9","taskId":"t","status')

    @pytest.mark.parametrize("text", ["", "the plan could not be serialised", "null", "[1]"])
    def test_without_any_json_object_it_answers_the_running_command(self, text: str) -> None:
        began = line(
            "[Clawperator-Command] start commandId=c taskId=t source=s timeoutMs=1000 actionCount=1", level="I"
        )

        (found,) = envelopes(signals([began, result(text)]))
        (unasked,) = envelopes(signals([result(text)]))

        assert (found.envelope, found.command_id, found.raw) == (None, "c", text)
        assert (unasked.envelope, unasked.command_id) == (None, "")

    def test_whole_json_that_is_no_envelope_is_malformed(self) -> None:
        (found,) = envelopes(signals([result('{"commandId":"c"}')]))

        assert (found.envelope, found.command_id) == (None, "c")

    def test_parts_end_with_the_json_even_when_the_last_is_full(self) -> None:
        head, tail = '{"commandId":"c","taskId":"t","status":"failed","stepResults":[],"error":"', '"}'
        room = 8_000 - len("[Clawperator-Result] ") - len(head) - len(tail)
        text = "[Clawperator-Result] " + head + "x" * room + tail
        log = OperatorLog(uid=UID)

        assert log.push(line(text[:4_000], level="I")) == []
        (found,) = envelopes(log.push(line(text[4_000:], level="I")))

        assert (found.problem, found.parts) == ("", 2)

    def test_gives_up_after_64_parts(self) -> None:
        log = OperatorLog(uid=UID)
        parts = [result('{"commandId":"c","error":"').payload.decode().ljust(4_000, "x"), *["x" * 4_000] * 63]

        found = [signal for part in parts for signal in log.push(line(part, level="I"))]

        (given_up,) = envelopes(found)
        assert (given_up.parts, given_up.problem, len(given_up.raw)) == (64, "no end after 64 parts", 64 * 4_000 - 21)

    def test_gives_up_two_seconds_after_the_last_part(self) -> None:
        log = OperatorLog(uid=UID)
        log.push(line('[Clawperator-Result] {"commandId":"c","'.ljust(4_000, "x"), level="I"))
        log.expire(100.0)
        log.push(line("x" * 4_000, level="I"))

        assert log.pending
        assert log.expire(101.9) == []
        assert log.expire(103.8) == []
        (given_up,) = envelopes(log.expire(103.9))

        assert (given_up.command_id, given_up.problem, given_up.parts) == ("c", "no further part within 2 s", 2)
        assert log.expire(200.0) == []
        assert not log.pending

    def test_another_message_of_the_thread_ends_it(self) -> None:
        begun = line('[Clawperator-Result] {"commandId":"old","'.ljust(4_000, "x"), level="I", tag="E")

        found = signals([begun, result(ENVELOPE % "new")])
        other = signals([begun, line("[TaskRunnerManager] Task execution started")])

        assert [(signal.command_id, bool(signal.problem)) for signal in envelopes(found)] == [
            ("old", True),
            ("new", False),
        ]
        assert kinds(other) == ["EnvelopeSignal", "task-start"]

    def test_the_end_of_the_log_ends_it(self) -> None:
        (found,) = envelopes(signals([line('[Clawperator-Result] {"commandId":"c","'.ljust(4_000, "x"), level="I")]))

        assert found.problem == "the log ended before its end"

    def test_says_when_the_log_cut_text_that_is_not_ascii(self) -> None:
        cut = result('{"commandId":"c","error":"' + "世" * 1_345).payload[: 4_068 - 3]

        (found,) = envelopes(signals([LogEntry("I", "E", cut, PID, TID, UID)]))

        assert found.problem.startswith("the device's log cut it")


class TestDumps:
    BEGIN = line("[TaskScope] UI Hierarchy:")

    def body(self, *lines: str) -> list[LogEntry]:
        return [line(text) for text in lines]

    def test_a_short_dump_is_one_record(self) -> None:
        xml = "<?xml version='1.0' ?>\n<hierarchy rotation=\"0\">\n</hierarchy>"

        (dump,) = dumps(signals([line(f"[TaskScope] UI Hierarchy:\n{xml}\n")]))

        assert (dump.captured.xml, dump.captured.complete) == (xml, True)

    def test_messages_of_other_threads_of_the_operator_pass_by(self) -> None:
        queued = line(
            "[Clawperator-Command] queued commandId=c2 taskId=t waiting_for_active_command=true", level="I", tid=1
        )
        entries = [self.BEGIN, *self.body("<hierarchy>"), queued, *self.body("</hierarchy>")]

        assert kinds(signals(entries)) == ["queued", "HierarchySignal"]

    def test_lines_like_messages_are_text_when_the_end_still_comes(self) -> None:
        texts = [
            '<hierarchy><node text="',
            "[UiActionEngine] step_success id=s type=a data={}",
            "[TaskScope] UI Hierarchy:",
            '[Clawperator-Command] success commandId=x taskId=t stepCount=1" />',
            "</hierarchy>",
        ]

        (dump,) = signals([self.BEGIN, *self.body(*texts)])

        assert isinstance(dump, HierarchySignal)
        assert (dump.captured.complete, dump.captured.xml) == (True, "\n".join(texts))

    def test_lines_like_messages_are_messages_when_it_does_not(self) -> None:
        entries = [
            self.BEGIN,
            *self.body("<hierarchy>", "  <node>", "[UiActionEngine] step_success id=s type=a data={}"),
            result(ENVELOPE % "c"),
        ]

        found = signals(entries)

        assert kinds(found) == ["HierarchySignal", "step-success", "EnvelopeSignal"]
        assert dumps(found)[0].captured == type(dumps(found)[0].captured)("", "<hierarchy>\n  <node>", complete=False)

    def test_a_new_dump_ends_an_unfinished_one(self) -> None:
        entries = [self.BEGIN, *self.body("<hierarchy>"), self.BEGIN, *self.body("<?xml ?>", "</hierarchy>")]

        first, second = dumps(signals(entries))

        assert (first.captured.xml, first.captured.complete) == ("<hierarchy>", False)
        assert (second.captured.xml, second.captured.complete) == ("<?xml ?>\n</hierarchy>", True)

    def test_a_message_right_after_the_marker_is_no_dump(self) -> None:
        found = signals([self.BEGIN, line("[UiActionEngine] step_success id=s type=a data={}")])

        assert kinds(found) == ["HierarchySignal", "step-success"]
        assert not dumps(found)[0].captured.complete

    def test_blank_lines_before_the_dump_do_not_matter(self) -> None:
        (dump,) = dumps(signals([self.BEGIN, *self.body("", " ", "<hierarchy>", "", "</hierarchy>")]))

        assert (dump.captured.xml, dump.captured.complete) == ("<hierarchy>\n\n</hierarchy>", True)

    def test_a_step_on_another_thread_ends_an_unfinished_dump(self) -> None:
        step = line("[UiActionEngine] step_success id=s type=a data={}", tag="w", tid=9)

        assert kinds(OperatorLog(uid=UID).feed([self.BEGIN, *self.body("<hierarchy>"), step])) == [
            "HierarchySignal",
            "step-success",
        ]

    def test_two_seconds_of_silence_end_it(self) -> None:
        log = OperatorLog(uid=UID)
        log.feed([self.BEGIN, *self.body("<hierarchy>")])

        assert log.expire(1.0) == []
        assert [dump.captured.complete for dump in dumps(log.expire(3.0))] == [False]

    def test_text_that_the_log_dropped_is_counted(self) -> None:
        part = ('<node a="" text="' + "世" * 3_983).encode()[: 4_068 - 3]
        entries = [
            self.BEGIN,
            *self.body("<hierarchy>"),
            LogEntry("D", "a", part, PID, TID, UID),
            *self.body('rest" />', "</hierarchy>"),
        ]

        (dump,) = dumps(signals(entries))

        assert (dump.captured.cut_lines, dump.captured.complete) == (1, True)
        assert dump.captured.xml.split("\n")[1].endswith('世\ufffdrest" />')

    def test_an_end_that_was_cut_in_two(self) -> None:
        text = "<hierarchy>" + "x" * (4_000 - len("<hierarchy></hier")) + "</hierarchy>"

        (dump,) = dumps(signals([self.BEGIN, *self.body(text[:4_000], text[4_000:])]))

        assert (dump.captured.xml, dump.captured.complete) == (text, True)


class TestBelief:
    def test_another_uid_says_nothing_whatever_it_says(self) -> None:
        log = OperatorLog(uid=UID)

        assert signals([result(ENVELOPE % "c", uid=10155)], log) == []

    @given(st.integers(0, 999), st.integers(0, 999))
    def test_a_uid_is_that_of_the_app_for_any_android_user(self, known: int, user: int) -> None:
        log = OperatorLog(uid=known * 100_000 + UID)
        assert len(signals([result(ENVELOPE % "c", uid=user * 100_000 + UID)], log)) == 1
        assert signals([result(ENVELOPE % "c", uid=user * 100_000 + UID + 1)], log) == []

    def test_without_uids_the_pid_decides(self) -> None:
        log = OperatorLog(uid=UID, pid=PID)

        found = signals([result(ENVELOPE % "a", uid=-1), result(ENVELOPE % "b", uid=-1, pid=1)], log)

        assert [signal.command_id for signal in envelopes(found)] == ["a"]

    def test_the_pid_is_that_of_the_first_line_with_the_command(self) -> None:
        log = OperatorLog(command_id="mine")
        start = "[Clawperator-Command] start commandId=%s taskId=t source=s timeoutMs=1000 actionCount=1"

        assert log.push(line(start % "other", pid=1, uid=-1)) == []
        assert log.pid is None
        assert kinds(log.push(line(start % "mine", uid=-1))) == ["start"]
        assert log.pid == PID
        assert log.push(result(ENVELOPE % "mine", pid=1, uid=-1)) == []

    def test_refusals_carry_no_command_and_are_heard_before_the_pid_is_known(self) -> None:
        entry = line("[Operator-Receiver] Missing required agent payload extra: payload", level="E", uid=-1)

        (found,) = OperatorLog(command_id="mine").push(entry)

        assert isinstance(found, RefusalSignal)

    def test_a_captured_file_is_believed(self) -> None:
        assert len(envelopes(signals([result(ENVELOPE % "c", uid=-1, pid=5)], OperatorLog()))) == 1

    def test_thousands_of_unfinished_messages_do_not_fill_the_memory(self) -> None:
        log = OperatorLog()
        begun = '[Clawperator-Result] {"commandId":"c","'.ljust(4_000, "x")

        found = [signal for pid in range(1_000) for signal in log.push(line(begun, level="I", pid=pid))]

        assert len(found) > 700


class TestRefusals:
    HEAD = "[Operator-Receiver] Failed to parse agent command payload"
    TRACE = "\njava.lang.IllegalArgumentException: unsupported action type at index=1: dance\n\tat a.b(SourceFile:1)"

    def test_a_stack_in_the_same_record_is_answered_at_once(self) -> None:
        (found,) = OperatorLog(uid=UID).push(line(self.HEAD + self.TRACE, level="E"))

        assert isinstance(found, RefusalSignal)
        assert (found.unsupported, found.reason) == (
            True,
            "java.lang.IllegalArgumentException: unsupported action type at index=1: dance",
        )

    def test_a_stack_in_lines_is_waited_for_shortly(self) -> None:
        log = OperatorLog(uid=UID)
        log.feed([line(self.HEAD, level="E"), line("java.lang.IllegalArgumentException: uri is blank", level="E")])

        assert log.expire(10.0) == []
        (found,) = log.expire(10.3)

        assert isinstance(found, RefusalSignal)
        assert (found.unsupported, found.reason) == (False, "java.lang.IllegalArgumentException: uri is blank")

    @pytest.mark.parametrize("level", ["D", "I"])
    def test_texts_of_the_screen_cannot_pose_as_one(self, level: str) -> None:
        assert signals([line(self.HEAD + self.TRACE, level=level)]) == []


class TestProgress:
    def test_step_data_keeps_its_line_feeds(self) -> None:
        (found,) = progress(signals([line("[UiActionEngine] step_success id=a b type=x.y data={text=one\ntwo}")]))

        assert found.fields == {"id": "a b", "type": "x.y", "data": "{text=one\ntwo}"}

    def test_a_reason_ends_before_the_stack_trace(self) -> None:
        message = "[Clawperator-Command] failure commandId=c taskId=t reason=No x=1 found\njava.lang.X: y\n\tat z"

        (found,) = progress(signals([line(message, level="E")]))

        assert found.fields["reason"] == "No x=1 found"
        assert found.text == message

    def test_events_are_read_where_they_are_objects(self) -> None:
        found = progress(
            signals([line('[Clawperator-Event] {"commandId":"c","n":1}'), line("[Clawperator-Event] words")])
        )

        assert [(signal.kind, signal.command_id, signal.fields) for signal in found] == [
            ("event", "c", {"commandId": "c", "n": "1"}),
            ("event", "", {}),
        ]

    def test_a_broadcast_with_another_action(self) -> None:
        (found,) = progress(signals([line("[Operator-Receiver] Ignoring unsupported action=com.x.Y")]))

        assert (found.kind, found.fields) == ("action-ignored", {"action": "com.x.Y"})

    def test_the_command_is_forgotten_when_it_is_answered(self) -> None:
        entries = [
            line("[Clawperator-Command] start commandId=c taskId=t source=s timeoutMs=1000 actionCount=1", level="I"),
            line("[Operator-Receiver] Agent command completed successfully commandId=c taskId=t"),
            line("[TaskRunnerManager] Task execution started"),
        ]

        assert [signal.command_id for signal in progress(signals(entries))] == ["c", "c", ""]

    def test_the_services_own_events_are_no_progress(self) -> None:
        assert signals([line("[Operator-AccessibilityService] onAccessibilityEvent(x)")]) == []


def test_the_last_lines_about_a_command() -> None:
    kept = CorrelatedLines("look-1", limit=4, width=40)
    for entry in golden("debug-threadtime"):
        kept.add(entry)
    kept.add(line("[TaskScope] UI Hierarchy:\n<hierarchy></hierarchy>"))
    kept.add(line("[Clawperator-Command] success commandId=other taskId=t stepCount=1"))

    assert kept.lines == (
        "[TaskRunnerManager] Task completed successfully in 279ms with value: UiActionResult(steps=2)"[:40],
        "[Clawperator-Command] success commandId=look-1 taskId=look at it stepCount=2"[:40],
        "[Operator-Receiver] Agent command completed successfully commandId=look-1"[:40],
        "[TaskScope] UI Hierarchy:",
    )


def test_the_same_signals_from_binary_records(record: Callable[..., bytes]) -> None:
    entries = golden("debug-threadtime")
    levels = " VDIWEFS"
    data = b"".join(
        record(
            entry.payload,
            tag=entry.tag.encode(),
            level=levels.index(entry.level) + 1,
            pid=entry.pid,
            tid=entry.tid,
            uid=UID if entry.pid == PID else 10155,
        )
        for entry in entries
        if not entry.is_note
    )

    from_binary = signals(BinaryLogParser().feed(data), OperatorLog(uid=UID))

    assert kinds(from_binary) == kinds(signals(entries))
    assert [dump.captured for dump in dumps(from_binary)] == [dump.captured for dump in dumps(signals(entries))]


class TestTheTreeOnTheScreen:
    """Known for as long as no accessibility event and no action has come by since the dump was begun."""

    EVENT = "[Operator-AccessibilityService] onAccessibilityEvent(EventType: TYPE_WINDOW_CONTENT_CHANGED)"
    BEGINNING = (
        "[Clawperator-Command] start commandId=c taskId=t source=s timeoutMs=1000 actionCount=1",
        "[UiActionEngine] step_start id=look type=m$s",
        "[Clawperator-Command] stage-start commandId=c taskId=t id=logUiTree label=Log",
        "[TaskScope] Logging UI tree",
    )
    DUMP = '[TaskScope] UI Hierarchy:\n<hierarchy rotation="0"></hierarchy>'
    DONE = "[UiActionEngine] step_success id=look type=m$s data={}"

    def known(self, *messages: str) -> bool:
        log = OperatorLog()
        signals = log.feed([line(message) for message in messages])
        (tree,) = (signal.captured for signal in signals if isinstance(signal, HierarchySignal))
        return tree.screen == log.screen

    def test_it_stays_until_something_moves(self) -> None:
        seen = (*self.BEGINNING, self.DUMP, self.DONE)
        waited = (
            "[UiActionEngine] step_start id=w type=m$w",
            "[Clawperator-Command] stage-start commandId=c taskId=t id=waitForNode(x) label=W",
        )
        assert self.known(*seen)
        assert self.known(*seen, *waited, "[UiActionEngine] step_success id=w type=m$w data={}")
        assert not self.known(*seen, self.EVENT)

    def test_an_action_ends_it_even_where_no_event_tells(self) -> None:
        seen = (*self.BEGINNING, self.DUMP, self.DONE)
        pressed = ("[UiActionEngine] step_start id=k type=m$k", "[UiActionEngine] step_success id=k type=m$k data={}")
        assert not self.known(*seen, *pressed)

    def test_an_event_while_it_is_read_makes_it_doubtful(self) -> None:
        assert not self.known(*self.BEGINNING, self.EVENT, self.DUMP, self.DONE)

    def test_a_dump_whose_beginning_was_not_seen_proves_nothing(self) -> None:
        assert not self.known(self.DUMP, self.DONE)
