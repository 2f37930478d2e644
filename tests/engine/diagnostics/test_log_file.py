"""The log file: what stands in it, who may read it, and that it never gets into anybody's way."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.adb.trace import AdbCommand, AdbTrace
from clawperator.engine.config.settings import Settings
from clawperator.engine.diagnostics.log_file import (
    LARGEST_FILE,
    LONGEST_TEXT,
    OUTPUT,
    EventLines,
    Line,
    LogFile,
    follow_bus,
    open_log,
    today_path,
)
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import (
    AdbCalled,
    CheckFinished,
    EngineEvent,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogGap,
)

TOKYO = "JST-9"


def lines(folder: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(today_path(str(folder))).read_text("ascii").splitlines()]


def test_one_object_per_line(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path))
    log.write("info", "broadcast.dispatched", "it left", commandId="c", taskId=None, durationMs=12, ok=True)
    log.write("warn", "x", "a\nb\x1b[31m\u202e\ud800")
    first, second = lines(tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("ts"))
    assert list(first.items()) == [
        ("level", "info"),
        ("event", "broadcast.dispatched"),
        ("message", "it left"),
        ("commandId", "c"),
        ("durationMs", 12),
        ("ok", True),
    ]
    assert second["message"] == "a\nb\x1b[31m\u202e\ud800"
    assert not re.search(rb"[^ -~\n]", Path(today_path(str(tmp_path))).read_bytes())


def test_the_local_day_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", TOKYO)
    time.tzset()
    try:
        moment = 1_772_323_200.0  # 2026-03-01T00:00:00Z, nine in the morning in Tokyo
        assert today_path("/l", moment + 15 * 3600 - 1) == "/l/clawperator-2026-03-01.log"
        assert today_path("/l", moment + 15 * 3600) == "/l/clawperator-2026-03-02.log"
        LogFile(str(tmp_path)).put(Line(moment + hour * 3600, "info", "e", "m") for hour in (0, 14, 15, 16))
        counts = {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
        assert counts == {"clawperator-2026-03-01.log": 2, "clawperator-2026-03-02.log": 2}
        written = (tmp_path / "clawperator-2026-03-02.log").read_text()
        assert json.loads(written.splitlines()[0])["ts"] == "2026-03-01T15:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_levels(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path), "warn")
    for level in ("debug", "info", "warn", "error"):
        log.write(level, level, "m")
    log.write("debug", OUTPUT, "said")
    assert [line["event"] for line in lines(tmp_path)] == ["warn", "error", OUTPUT]
    assert (log.wants("info"), log.wants("error"), log.wants("debug", OUTPUT)) == (False, True, True)


def test_an_unknown_level_is_info(tmp_path: Path) -> None:
    log = open_log(Settings(log_dir=str(tmp_path), log_level="loud"))
    assert (log.level, log.wants("debug"), log.wants("info")) == ("info", False, True)


def test_no_one_else_may_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        LogFile(str(tmp_path / "new" / "logs")).write("info", "e", "m")
    finally:
        os.umask(old)
    path = Path(today_path(str(tmp_path / "new" / "logs")))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_texts_are_bounded(tmp_path: Path) -> None:
    LogFile(str(tmp_path)).write("info", "e", "x" * 100_000, stream="y" * 100_000)
    (line,) = lines(tmp_path)
    assert (len(line["message"]), len(line["stream"])) == (LONGEST_TEXT, LONGEST_TEXT)


def test_safe_masks_what_scripts_say(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path), safe=True)
    log.write("info", OUTPUT, "Balance: 1,234 \u20ac J\u00e4n_e", skillId="s")
    log.write("info", "skills.run.start", "begins", skillId="s")
    assert [line["message"] for line in lines(tmp_path)] == ["*******: *,*** \u20ac ***_*", "begins"]


def test_a_folder_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    reported: list[str] = []
    log = LogFile(str(blocker / "logs"), warn=reported.append)
    for _ in range(3):
        log.write("error", "e", "m")
    assert len(reported) == 1
    assert str(blocker) in reported[0]
    assert not log.wants("error")


@pytest.mark.parametrize("folder", ["a\0b", "/proc/nothing/here"])
def test_hopeless_folders(folder: str) -> None:
    reported: list[str] = []
    LogFile(folder, warn=reported.append).write("info", "e", "m")
    assert len(reported) == 1


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(today_path(str(tmp_path)))
    reported: list[str] = []
    LogFile(str(tmp_path), warn=reported.append).write("info", "e", "m")
    assert len(reported) == 1


def test_a_full_file_stays_as_it_is(tmp_path: Path) -> None:
    path = Path(today_path(str(tmp_path)))
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    reported: list[str] = []
    log = LogFile(str(tmp_path), warn=reported.append)
    log.write("info", "e", "m")
    log.write("info", "e", "m")
    assert path.stat().st_size == LARGEST_FILE + 1
    assert len(reported) == 1


def test_a_file_that_was_taken_away_is_begun_again(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path))
    log.write("info", "one", "m")
    Path(today_path(str(tmp_path))).unlink()
    log.write("info", "two", "m")
    assert [line["event"] for line in lines(tmp_path)] == ["two"]


def test_processes_share_a_file_line_by_line(tmp_path: Path) -> None:
    code = (
        "import sys; from clawperator.engine.diagnostics.log_file import LogFile; log = LogFile(sys.argv[1])\n"
        "for n in range(200): log.write('info', sys.argv[2], 'x' * 4000, durationMs=n)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [process.wait() for process in running] == [0, 0, 0]
    written = lines(tmp_path)
    for name in ("a", "b", "c"):
        assert [line["durationMs"] for line in written if line["event"] == name] == list(range(200))


# -- what the engine tells

STARTED = ExecutionStarted(
    device_id="emulator-5554",
    execution_id="x",
    command_id="c",
    task_id="t",
    source="s",
    timeout_ms=1000,
    action_count=1,
)
DISPATCHED = ExecutionDispatched(device_id="emulator-5554", execution_id="x", command_id="c")


def finished(result: dict[str, Any]) -> ExecutionFinished:
    return ExecutionFinished(
        device_id="emulator-5554", execution_id="x", command_id="c", result=result, duration_ms=12.4
    )


def reported(*events: EngineEvent, safe: bool = False) -> list[Line]:
    story = EventLines(safe=safe)
    return [line for event in events for line in story.lines(event)]


def test_an_execution_that_succeeds() -> None:
    written = reported(
        STARTED, DISPATCHED, finished({"ok": True, "envelope": {"status": "success", "stepResults": []}})
    )
    assert [(line.level, line.event) for line in written] == [
        ("info", "preflight.apk.pass"),
        ("info", "broadcast.dispatched"),
        ("info", "envelope.received"),
    ]
    names = {"commandId": "c", "taskId": "t", "deviceId": "emulator-5554", "executionId": "x"}
    assert all(names.items() <= line.fields.items() for line in written)
    assert (written[-1].fields["status"], written[-1].fields["durationMs"]) == ("success", 12)


@pytest.mark.parametrize(
    ("result", "level", "event"),
    [
        ({"envelope": {"status": "failed", "errorCode": "NODE_NOT_FOUND"}}, "warn", "envelope.received"),
        ({"error": {"code": "RESULT_ENVELOPE_TIMEOUT", "message": "late"}}, "error", "timeout.fired"),
        ({"error": {"code": "RECEIVER_NOT_INSTALLED", "message": "no app"}}, "error", "preflight.apk.missing"),
        ({"error": {"code": "BROADCAST_FAILED", "message": "no"}}, "error", "execution.failed"),
    ],
)
def test_an_execution_that_fails(result: dict[str, Any], level: str, event: str) -> None:
    (line,) = reported(STARTED, finished(result))
    assert (line.level, line.event, line.fields["status"]) == (level, event, "failed")
    assert line.fields["code"] == (result.get("envelope", {}).get("errorCode") or result["error"]["code"])


def test_safe_lines_hold_codes_and_no_words() -> None:
    check = CheckFinished(
        check={"id": "host.adb.presence", "status": "fail", "summary": "secret", "code": "ADB_NOT_FOUND"}
    )
    error = {"error": {"code": "EXECUTION_VALIDATION_FAILED", "message": "secret"}}
    for line in reported(finished(error), check, safe=True):
        assert "secret" not in repr(line)
    assert any("secret" in repr(line) for line in reported(finished(error), check))


def test_a_check_of_the_doctor() -> None:
    check = CheckFinished(device_id="d", check={"id": "readiness.handshake", "status": "warn", "summary": "slow"})
    (line,) = reported(check)
    assert (line.level, line.event, line.message) == ("warn", "doctor.check", "readiness.handshake: slow")


def test_commands_to_adb_are_for_level_debug() -> None:
    begun = AdbCommand("d", "getprop ro.product.model", at=1.0)
    ended = replace(begun, at=2.0, duration_ms=12.4, exit_code=1)
    made = reported(AdbCalled(command=begun), AdbCalled(command=ended))
    assert [(line.level, line.event, line.message) for line in made] == [
        ("debug", "adb.command", "getprop ro.product.model"),
        ("debug", "adb.complete", "getprop ro.product.model"),
    ]
    assert made[1].fields == {"deviceId": "d", "durationMs": 12, "exitCode": 1, "code": None}


@pytest.mark.parametrize(("level", "written"), [("debug", ["adb.command"]), ("info", [])])
async def test_no_one_listens_to_adb_unless_the_log_wants_it(tmp_path: Path, level: str, written: list[str]) -> None:
    bus, log, adb = EventBus(), LogFile(str(tmp_path), level), AdbTrace()
    async with follow_bus(bus, log, adb):
        assert (adb.listener is not None) == bool(written)
        if adb.listener is not None:
            adb.listener(AdbCommand("d", "id"))
    assert adb.listener is None
    assert ([line["event"] for line in lines(tmp_path)] if written else os.listdir(tmp_path)) == written


def test_unfinished_executions_do_not_pile_up() -> None:
    story = EventLines()
    for number in range(5_000):
        story.lines(
            ExecutionStarted(
                execution_id=str(number), command_id="c", task_id="t", source="s", timeout_ms=1, action_count=1
            )
        )
    assert len(story._tasks) <= 1_000


async def test_everything_is_written_when_the_block_ends(tmp_path: Path) -> None:
    bus, log = EventBus(), LogFile(str(tmp_path))
    async with follow_bus(bus, log):
        bus.publish(LogGap(reason="not for the log"))
        bus.publish(STARTED)
        bus.publish(DISPATCHED)
        bus.publish(finished({"envelope": {"status": "success"}}))
    assert [line["event"] for line in lines(tmp_path)] == [
        "preflight.apk.pass",
        "broadcast.dispatched",
        "envelope.received",
    ]
    assert not bus.watched
