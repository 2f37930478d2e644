from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.console import export
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.models.execution import LineSpan
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.export_rows import item_object, line_object
from clawperator.widgets.models.line_ring import LineRing
from tests.app.console.support import DEVICE, NOON, agent_run, log_lines, mixed_stream
from tests.support import OWNER

NAMES = ["at", "device", "kind", "commandId", "raw", "parsed"]


def log() -> ExecutionLog:
    log = ExecutionLog()
    log.apply(mixed_stream(NOON))
    return log


def ring() -> LineRing:
    ring = LineRing(1_000)
    ring.extend(log_lines(100), DEVICE.serial)
    return ring


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_row_has_the_same_names() -> None:
    rows = [item_object(item) for item in log().items] + [line_object(entry, "d") for entry in log_lines(3)]
    assert all(list(row) == NAMES for row in rows)
    assert {row["kind"] for row in rows} == {"execution", "malformed", "line"}
    json.dumps(rows, allow_nan=False)


def test_a_line_is_reported_with_what_its_format_carries() -> None:
    entry = LogEntry.create(
        '[Clawperator-Result] {"commandId":"c-1"}', level="I", tag="E", pid=7, clock=int(NOON * 1e9)
    )
    row = line_object(entry, DEVICE.serial)
    assert (row["at"], row["device"], row["commandId"], row["raw"]) == (NOON, DEVICE.serial, "c-1", entry.message)
    assert row["parsed"] == {
        "level": "I", "tag": "E", "buffer": None, "stamp": None, "pid": 7, "tid": None, "uid": None
    }  # fmt: skip
    old = line_object(LogEntry.create("x", clock=b"11-20 10:00:00.000"), "")
    assert (old["at"], old["device"], old["parsed"]["stamp"]) == (None, None, "11-20 10:00:00.000")


def test_an_execution_is_reported_with_its_steps_and_its_envelope() -> None:
    failed = next(item for item in log().executions if item.command_id == "cmd-123")
    row = item_object(failed)
    assert (row["kind"], row["commandId"], row["raw"]) == ("execution", "cmd-123", failed.raw)
    parsed = row["parsed"]
    assert (parsed["status"], parsed["code"], parsed["source"]) == ("warn", "NAVIGATION_TIMEOUT", "skill-runner")
    assert [step["id"] for step in parsed["steps"]] == ["close", "temp", "nav"]
    assert parsed["envelope"] == failed.envelope


def test_one_object_per_line_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "exports" / "stream.jsonl"
    items = log().items
    assert export.write(path, export.of_items(items, ring()), OWNER) == len(items)
    assert [row["commandId"] for row in read(path)] == [getattr(item, "command_id", None) for item in items]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        export.write(path, export.of_ring(ring()), OWNER)
    assert path.read_text() == "precious"


def test_the_whole_ring_some_lines_or_one_execution(tmp_path: Path) -> None:
    lines = ring()
    assert export.write(tmp_path / "ring", export.of_ring(lines), OWNER) == 100
    assert export.write(tmp_path / "some", export.of_lines([3, 5, 8], lines), OWNER) == 3
    assert [row["raw"].split(":")[0] for row in read(tmp_path / "some")] == [f"scan result {n}" for n in (3, 5, 8)]
    execution = next(log().executions)
    execution.log = LineSpan(20, 50)
    assert export.write(tmp_path / "one", export.of_execution(execution, lines), OWNER) == 5
    assert [row["kind"] for row in read(tmp_path / "one")] == ["execution", *["line"] * 4]


def test_what_is_written_stands_still_while_the_console_goes_on(tmp_path: Path) -> None:
    live, lines = ExecutionLog(), LineRing(160)
    live.apply(agent_run("cmd-1", NOON))
    lines.extend(log_lines(100))
    both = export.of_items(live.items, lines), export.of_ring(lines)
    live.apply(agent_run("cmd-1", NOON + 9))
    lines.extend(log_lines(1_000, start=100))
    assert len(next(both[0].objects())["parsed"]["steps"]) == 2
    assert export.write(tmp_path / "ring", both[1], OWNER) == 100


def test_lines_that_have_left_the_ring_are_left_out(tmp_path: Path) -> None:
    lines = LineRing(160)
    lines.extend(log_lines(1_000))
    assert export.write(tmp_path / "some", export.of_lines([1, lines.first, 999], lines), OWNER) == 2


def test_names_of_files_are_tame_and_never_taken(tmp_path: Path) -> None:
    execution = next(log().executions)
    execution.command_id = "../../etc/pass wd\x1b[2J"
    assert export.of_execution(execution, ring()).name == ".._.._etc_pass_wd_2J"
    first = export.new_path(tmp_path, "stream", NOON)
    assert first.name.startswith("stream-2023111")
    first.touch()
    assert export.new_path(tmp_path, "stream", NOON).name == f"{first.stem}-2.jsonl"


def test_hostile_text_is_kept_as_it_is(tmp_path: Path) -> None:
    lines = LineRing(10)
    lines.extend([LogEntry("I", "t", b"\xff\xfe \x1b[31m\n\xed\xa0\xbd"), LogEntry("I", "t", "é中".encode())])
    export.write(tmp_path / "x", export.of_ring(lines), OWNER)
    rows = read(tmp_path / "x")
    assert rows[0]["raw"] == lines[0].message
    assert rows[1]["raw"] == "é中"
