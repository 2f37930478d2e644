"""Ends of processes, in lines that devices wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawperator.engine.logcat.deaths import read_death
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser
from tests.support import table


def entry(tag: str, message: str, uid: int = 10_150) -> LogEntry:
    return LogEntry.create(message, level="E", tag=tag, pid=4242, tid=4250, uid=uid)


@table(
    ("tag", "message", "uid", "pid"),
    [
        ("AndroidRuntime", "FATAL EXCEPTION: main\nProcess: com.example, PID: 99", 10_150, 4242),
        ("AndroidRuntime", "FATAL EXCEPTION: main", -1, 4242),
        ("AndroidRuntime", "Shutting down VM", 10_150, 0),
        ("libc", "Fatal signal 6 (SIGABRT), code -1 (SI_QUEUE) in tid 1440 (bt), pid 1300 (droid.bt)", 1002, 4242),
        ("Zygote", "Process 1094 exited due to signal 9 (Killed)", 0, 1094),
        ("Zygote", "Process 1094 exited due to signal (11)", 0, 1094),
        ("Zygote", "Process 1094 exited cleanly (0)", 0, 1094),
        ("Zygote", "Process 1094 exited due to signal 9 (Killed)", 10_150, 0),
        ("Zygote", "Process 1094 exited due to signal 9 (Killed)", -1, 0),
        ("Zygote", "Forked child process 1947", 0, 0),
        ("ActivityManager", "Process com.example (pid 1094) has died", 1000, 0),
        ("mine", "FATAL EXCEPTION: main", 10_150, 0),
    ],
)
def test_who_says_that_a_process_ends(tag: str, message: str, uid: int, pid: int) -> None:
    death = read_death(entry(tag, message, uid))
    assert (death.pid if death else 0) == pid


@pytest.mark.parametrize(
    ("name", "pids"),
    [
        ("crash-firefoxlite-4942-threadtime.txt", {13717}),
        ("native-and-java-crash-buffer-threadtime-year.txt", {1300, 13066}),
    ],
)
def test_captures(corpus: Path, name: str, pids: set[int]) -> None:
    parser = TextLogParser("threadtime")
    entries = [*parser.feed((corpus / "logcat" / name).read_bytes()), *parser.finish()]
    assert {death.pid for each in entries if (death := read_death(each))} >= pids
