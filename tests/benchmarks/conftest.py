"""Ratios against a floor measured in the same run; the table is printed at the end of the run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

ROWS: list[tuple[str, str, float, float, str]] = []


class Report(Protocol):
    def __call__(self, what: str, floor: str, ratio: float, limit: float, detail: str = "") -> None: ...


@pytest.fixture
def report() -> Report:
    """Record one line of the table and hold the ratio against its limit."""

    def record(what: str, floor: str, ratio: float, limit: float, detail: str = "") -> None:
        ROWS.append((what, floor, ratio, limit, detail))
        assert ratio <= limit, f"{what}: {ratio:.2f}x of {floor}, at most {limit:g}x ({detail})"

    return record


@dataclass(frozen=True)
class Phone:
    """Where a simulated device can be reached; ``env`` is all that a process needs for it."""

    port: int
    serial: str
    env: dict[str, str]


@pytest.fixture
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Phone]:
    """A simulated device in its own process; parametrise with its number of nodes (0: its ordinary screens)."""
    program = [sys.executable, str(Path(__file__).with_name("phone.py")), str(getattr(request, "param", 0))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, serial = process.stdout.readline().split()
        yield Phone(int(port), serial, {"HOME": str(tmp_path), "ANDROID_ADB_SERVER_PORT": port})
        process.communicate("")


def in_turn(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Run both alternately; medians in seconds, and the median of the ratios pair by pair (a drifting machine cancels out)."""
    first(), second()  # warm up
    pairs = [(_seconds(first), _seconds(second)) for _ in range(rounds)]
    ours, floors = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(floors), statistics.median(a / b for a, b in pairs)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.hookimpl
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not ROWS:
        return
    terminalreporter.section("benchmarks")
    for line in table():
        terminalreporter.write_line(line)


def table() -> Iterator[str]:
    """As Markdown, ready for the README."""
    yield "| what | floor | measured | at most | |"
    yield "| --- | --- | --- | --- | --- |"
    for what, floor, ratio, limit, detail in ROWS:
        yield f"| {what} | {floor} | {ratio:.2f}× | {limit:g}× | {detail} |"
