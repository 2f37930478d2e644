"""Ratios against a floor measured in the same run; the table is printed at the end of the run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROWS: list[tuple[str, str, str, str, str]] = []
PERFORMANCE = Path(__file__).parents[2] / "docs" / "performance.md"
ATTEMPTS = 10
"""A machine that does something else meanwhile makes everything slower, never faster: the best of so many measurements counts."""


CALIBRATION_ROWS = 12_000
REFERENCE_MS = 5.0
"""What ``bare_python`` takes, a moment after an idle one, on the machine that the budgets were made on (two shared cores)."""

Measured = tuple[float, str]
"""A value, and details in words."""


@dataclass(frozen=True)
class Claim:
    """What one value of a measurement is held to: an upper limit, or a lower one of a rate (``/s``)."""

    what: str
    limit: float
    unit: str
    floor: str = "–"

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.unit == "/s" else value <= self.limit

    def better(self, one: Measured, other: Measured) -> Measured:
        return max(one, other) if self.unit == "/s" else min(one, other)

    def row(self, value: float, detail: str) -> tuple[str, str, str, str, str]:
        if self.unit == "/s":
            return self.what, self.floor, f"{value:,.0f}/s", f"≥ {self.limit:,.0f}/s", detail
        return self.what, self.floor, f"{value:.2f}{self.unit}", f"≤ {self.limit:g}{self.unit}", detail


class Report:
    """Records one line of the table per claim, and holds the claim."""

    def ratio(self, what: str, floor: str, limit: float, measure: Callable[[], Measured]) -> None:
        """``measure`` gives how many times the floor it took, and details in words; repeated while it is above ``limit``."""
        self.hold([Claim(what, limit, "×", floor)], lambda: [measure()])

    def milliseconds(self, what: str, limit: float, measure: Callable[[], Measured]) -> None:
        """Less where this machine is slower, beside the measurement, than the one that the budgets were made on."""

        def scaled() -> list[Measured]:
            value, details = measure()
            slow = slowness()
            return [
                (value / slow, f"{details}; {value:.1f} ms measured, machine × {slow:.2f}" if slow > 1 else details)
            ]

        self.hold([Claim(what, limit, " ms")], scaled)

    def value(self, what: str, limit: float, unit: str, measure: Callable[[], Measured]) -> None:
        self.hold([Claim(what, limit, unit)], lambda: [measure()])

    def hold(self, claims: Sequence[Claim], measure: Callable[[], Sequence[Measured]]) -> None:
        """``measure`` gives a value for each of ``claims``; repeated while one of them has held in no run."""
        best = measure()
        for _ in range(ATTEMPTS - 1):
            if all(claim.holds(value) for claim, (value, _) in zip(claims, best, strict=True)):
                break
            best = [claim.better(*pair) for claim, *pair in zip(claims, best, measure(), strict=True)]
        self.record(claims, best)

    def record(self, claims: Sequence[Claim], best: Sequence[Measured]) -> None:
        """Hold ``claims`` against values that have been measured."""
        rows = [claim.row(*found) for claim, found in zip(claims, best, strict=True)]
        ROWS.extend(rows)
        for claim, (value, _), row in zip(claims, best, rows, strict=True):
            assert claim.holds(value), " | ".join(row)


@pytest.fixture
def report() -> Report:
    return Report()


@dataclass(frozen=True)
class Phone:
    """Where a simulated device can be reached; ``env`` is all that a process needs for it."""

    port: int
    serial: str
    env: dict[str, str]


@pytest.fixture
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Phone]:
    """A simulated device in its own process; parametrise with its number of nodes (0: its ordinary screens) or a scenario."""
    program = [sys.executable, str(Path(__file__).with_name("phone.py")), json.dumps(getattr(request, "param", 0))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, serial = process.stdout.readline().split()
        yield Phone(int(port), serial, {"HOME": str(tmp_path), "ANDROID_ADB_SERVER_PORT": port})
        process.communicate("")


def bare_python() -> int:
    """What a console does all day: calls, strings, tuples, a dictionary."""
    rows = {number: (number, f"row {number}".upper()) for number in range(CALIBRATION_ROWS)}
    return sum(len(text) for _, text in rows.values())


def bare_ms() -> float:
    """The median milliseconds that ``bare_python`` takes now."""
    return statistics.median(milliseconds(bare_python) for _ in range(15))


def slowness() -> float:
    """How many times slower this machine is now than the one that the budgets were made on; 1 where it is not."""
    return max(1.0, bare_ms() / REFERENCE_MS)


def milliseconds(work: Callable[[], object]) -> float:
    return _seconds(work) * 1_000


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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", action="store_true", help=f"write the measured table into {PERFORMANCE.name}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not ROWS:
        return
    terminalreporter.section("benchmarks")
    for line in table():
        terminalreporter.write_line(line)
    if config.getoption("--write"):
        before, start, rest = PERFORMANCE.read_text(encoding="utf-8").partition("<!-- measured -->\n")
        measured = "\n".join(table())
        PERFORMANCE.write_text(
            f"{before}{start}\n{measured}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}", encoding="utf-8"
        )


def table() -> Iterator[str]:
    """As Markdown."""
    yield "| what | floor | measured | claim | |"
    yield "| --- | --- | --- | --- | --- |"
    for row in ROWS:
        yield f"| {' | '.join(row)} |"
