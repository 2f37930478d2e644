"""``logs``: what is there, what comes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.app.cli import log_tail
from clawperator.app.cli.log_tail import Tail
from clawperator.app.cli.pretty import draw
from clawperator.engine.diagnostics.log_file import LogFile, today_path
from tests.support import patience, running, table

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli


@pytest.fixture
def folder(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    return tmp_path / "logs"


@pytest.fixture
def log(folder: Path) -> LogFile:
    return LogFile(str(folder))


def events(text: str) -> list[str]:
    return [json.loads(line)["event"] for line in text.splitlines()]


def test_a_missing_file_is_a_remark(cli: Cli, folder: Path) -> None:
    run = cli("logs")
    assert (run.exit_code, run.out) == (0, "")
    assert today_path(str(folder)) in run.err


def test_where_logs_are_by_default(cli: Cli, lonely: dict[str, str], tmp_path: Path) -> None:
    LogFile(str(tmp_path / ".clawperator" / "logs")).write("info", "x", "m")
    assert events(cli("logs", "--no-follow").out) == ["x"]


def test_what_is_there(cli: Cli, log: LogFile, folder: Path) -> None:
    log.write("info", "one", "first", commandId="c")
    log.write("error", "two", "second\x1b[31m")
    run = cli("logs", "--no-follow")
    assert (run.exit_code, run.err) == (0, "")
    assert run.out == Path(today_path(str(folder))).read_text()
    pretty = cli("logs", "--no-follow", "--output", "pretty").out.splitlines()
    assert pretty[0].endswith("one  first  commandId=c")
    assert pretty[1].endswith("two  second\\x1b[31m")


def test_lines_of_someone_else(cli: Cli, log: LogFile, folder: Path) -> None:
    log.write("info", "one", "first")
    with Path(today_path(str(folder))).open("ab") as file:
        file.write(b"no json \x1b[2J \xff\xe2\x80\xae\n[1]\n" + b"x" * 100)
    for words in ([], ["--output", "pretty"]):
        out = cli("logs", "--no-follow", *words).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "no json \\x1b[2J" in out
        assert "xxx" not in out  # not a whole line yet


COMMAND = {"deviceId": "emulator-5554", "at": 0.0, "commandId": "agent-2"}
ROWS = [
    ({"event": "attached", "commandId": ""}, "watching  emulator-5554"),
    ({"event": "gap", "reason": "the device restarted", "commandId": ""}, "gap       the device restarted"),
    (
        {"event": "progress", "kind": "start", "fields": {"source": "clawperator-cli", "actionCount": "3"}},
        "running   cli 3 steps  agent-2",
    ),
    (
        {"event": "progress", "kind": "stage-retry", "fields": {"id": "click(NodeMatcher())", "attempt": "2/5"}},
        "retry     click 2/5  agent-2",
    ),
    ({"event": "progress", "kind": "no-window", "fields": {}}, "event     no window  agent-2"),
    (
        {
            "event": "envelope",
            "envelope": {"status": "failed"},
            "outcome": {
                "status": "failed",
                "error": {"code": "NODE_NOT_FOUND"},
                "failedStep": {"id": "a", "index": 1, "type": "click"},
            },
        },
        "failed    not found at step 2, click  agent-2",
    ),
    ({"event": "envelope", "envelope": {}, "outcome": {"status": "succeeded"}}, "done      succeeded  agent-2"),
    ({"event": "unreadable", "problem": "bad JSON at byte 12", "raw": "{"}, "failed    unreadable result: bad JSON at byte 12"),
    ({"event": "snapshot", "bytes": 12_345, "complete": False}, "tree      12,345 bytes, incomplete  agent-2"),
]  # fmt: skip


@table(("event", "row"), ROWS, ids=[row for _, row in ROWS])
def test_a_row_of_watch_says_what_happened(event: dict[str, Any], row: str) -> None:
    assert row in draw("logs.event", COMMAND | event).decode()


# -- following


@contextmanager
def following(*words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-u", "-m", "clawperator.app.cli", "logs", *words]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as child:
        yield child


def next_event(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    event: str = json.loads(child.stdout.readline())["event"]
    return event


def test_what_comes_until_someone_presses_ctrl_c(log: LogFile, folder: Path) -> None:
    log.write("info", "before", "m")
    with following() as child:
        assert next_event(child) == "before"
        for event in ("one", "two"):
            log.write("info", event, "m")
            assert next_event(child) == event
        Path(today_path(str(folder))).unlink()
        log.write("info", "anew", "m")
        assert next_event(child) == "anew"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=patience(20))
        assert (child.returncode, out, err) == (0, "", "")


def test_a_reader_that_leaves(log: LogFile) -> None:
    log.write("info", "before", "m")
    with following() as child:
        assert next_event(child) == "before"
        assert child.stdout is not None
        child.stdout.close()
        log.write("info", "unheard", "m")
        assert child.wait(timeout=patience(20)) == 141


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr("clawperator.app.cli.output.print_text", said.append)
    return said


def test_a_new_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, heard: list[str]) -> None:
    days = [str(tmp_path / "clawperator-2026-03-01.log"), str(tmp_path / "clawperator-2026-03-02.log")]
    today = days[0]
    monkeypatch.setattr(log_tail, "today_path", lambda _: today)
    Path(days[0]).write_text("a\n")
    with Tail(str(tmp_path), "json") as tail:
        assert tail.print_news()
        today = days[1]
        Path(days[0]).write_text("a\nlast of the day\n")
        assert tail.print_news()  # the new file is not there yet
        Path(days[1]).write_text("first of the day\n")
        assert tail.print_news()
    assert "".join(heard) == "a\nlast of the day\nfirst of the day\n"


def test_a_file_that_became_shorter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, heard: list[str]) -> None:
    path = tmp_path / "log"
    monkeypatch.setattr(log_tail, "today_path", lambda _: str(path))
    path.write_text("a\nb\nhalf")
    with Tail(str(tmp_path), "json") as tail:
        tail.print_news()
        path.write_text("c\n")
        tail.print_news()
        with path.open("a") as file:
            file.write("d")
            file.flush()
            tail.print_news()
            file.write("e\n")
        tail.print_news()
        tail.print_news()
    assert "".join(heard) == "a\nb\nc\nde\n"


def test_without_watches_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, heard: list[str]) -> None:
    """A system that has no watches left, and the poll that stands in for them."""
    path = tmp_path / "log"
    path.write_text("")
    monkeypatch.setattr(log_tail, "today_path", lambda _: str(path))

    def none_left(*_: object, **__: object) -> Iterator[object]:
        raise OSError(28, "OS file watch limit reached")

    def look(seconds: float) -> None:
        assert seconds == 0.5
        if path.read_text():
            raise KeyboardInterrupt
        path.write_text("one\n")

    monkeypatch.setattr("watchfiles.watch", none_left)
    monkeypatch.setattr("time.sleep", look)
    with Tail(str(tmp_path), "json") as tail, pytest.raises(KeyboardInterrupt):
        tail.follow()
    assert heard == ["one\n"]
