"""Which lines of the kept log belong to one execution: its own, whole, in order, and only those that are still there."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.simulator.operator_log import split_message
from clawperator.widgets.models.execution import NO_LINES, ExecutionState, LineSpan
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.run_lines import SHOWN, lines_of

SERIAL = "phone"


def line(text: str, *, tag: str = "f", level: str = "I", pid: int = 4312) -> LogEntry:
    return LogEntry.create(text, tag=tag, level=level, pid=pid, tid=pid)


def said(kind: str, command: str) -> LogEntry:
    return line(f"[Clawperator-Command] {kind} commandId={command} taskId=t")


def answer(command: str, characters: int = 0) -> list[LogEntry]:
    envelope = json.dumps({"commandId": command, "status": "success", "x": "<" * characters}, separators=(",", ":"))
    return [line(part, tag="I") for part in split_message(f"[Clawperator-Result] {envelope}")]


def noise(count: int = 1) -> list[LogEntry]:
    return [line(f"scan {number}", tag="Wifi", pid=612) for number in range(count)]


def seen(entries: list[LogEntry], command: str = "a", *, capacity: int = 10_000) -> tuple[LineRing, ExecutionState]:
    """The ring with these lines, and the execution with the span that the stream gives it."""
    ring, execution = LineRing(capacity), ExecutionState(command, SERIAL, 1, 0.0)
    begin = 0
    for number in ring.extend(entries, SERIAL):
        if any(mark in entries[number - begin].message for mark in (f"={command} taskId=", f':"{command}"')):
            execution.log = execution.log.with_line(number)
    return ring, execution


def texts(ring: LineRing, execution: ExecutionState) -> list[str]:
    return [ring[number].message for number in lines_of(execution, ring).numbers]


def test_its_lines_and_every_part_of_its_envelope() -> None:
    parts = answer("a", 9_000)
    assert len(parts) == 3
    between = [*noise(), parts[0], *noise(3), parts[1], *noise(), parts[2]]
    nameless = line("[UiActionEngine] step_start id=x type=y")
    ring, execution = seen([*noise(2), said("start", "a"), nameless, *between, nameless, said("start", "b"), nameless])
    assert execution.log.last < ring.end - 5, "the further parts name no command"
    assert texts(ring, execution) == [said("start", "a").message, nameless.message, *(part.message for part in parts)]
    assert "".join(texts(ring, execution)[2:]).endswith("}")


def test_lines_of_the_command_before_are_not_those_of_one_that_waits() -> None:
    step = line("[UiActionEngine] step_start id=x type=y")
    ring, execution = seen(
        [said("start", "ab"), said("queued", "a"), step, *answer("ab"), said("start", "a"), step, *answer("a")]
    )
    own = [said("queued", "a"), said("start", "a"), step, *answer("a")]
    assert texts(ring, execution) == [entry.message for entry in own]


def test_a_second_envelope_does_not_join_the_first() -> None:
    first, second = answer("a", 4_500), answer("b", 10)
    ring, execution = seen([said("start", "a"), first[0], *second, first[1]])
    assert texts(ring, execution) == [said("start", "a").message, first[0].message]


def test_what_has_left_the_ring_is_said() -> None:
    ring, execution = seen([said("start", "a"), *noise(20), said("stage-start", "a"), *noise(10)], capacity=16)
    assert ring.first > 0
    found = lines_of(execution, ring)
    assert found.gone
    assert texts(ring, execution) == [said("stage-start", "a").message]
    ring.extend(noise(100), SERIAL)
    assert lines_of(execution, ring) == ((), True, False)


def test_without_lines_there_are_none_and_of_very_many_the_first() -> None:
    ring, execution = seen(noise(5))
    assert execution.log == NO_LINES
    assert lines_of(execution, ring) == ((), False, False)
    ring, execution = seen([said("stage-log", "a")] * (SHOWN + 5))
    found = lines_of(execution, ring)
    assert (len(found.numbers), found.more) == (SHOWN, True)


@given(st.lists(st.sampled_from([*answer("a", 4_500), *noise(), said("start", "a"), said("start", "b")])), st.data())
def test_whatever_the_span_says_the_numbers_rise_and_are_kept(entries: list[LogEntry], data: st.DataObject) -> None:
    ring, execution = seen(entries, capacity=16)
    edge = st.integers(0, 40)
    execution.log = LineSpan(data.draw(edge), data.draw(edge))
    numbers = lines_of(execution, ring).numbers
    assert list(numbers) == sorted(set(numbers))
    assert all(ring.first <= number < ring.end for number in numbers)
