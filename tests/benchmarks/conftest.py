"""Ratios against a floor measured in the same run; the table is printed at the end of the run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROWS: list[tuple[str, str, str, str, str]] = []
PERFORMANCE = Path(__file__).parents[2] / "docs" / "performance.md"
ATTEMPTS = 6
"""A machine that does something else meanwhile makes everything slower, never faster: the best of so many measurements counts."""


class Report:
    """Records one line of the table per claim, and holds the claim."""

    def ratio(self, what: str, floor: str, limit: float, measure: Callable[[], tuple[float, str]]) -> None:
        """``measure`` gives how many times the floor it took, and details in words; repeated while it is above ``limit``."""
        ratio, detail = self._best(measure, limit)
        ROWS.append((what, floor, f"{ratio:.2f}×", f"≤ {limit:g}×", detail))
        assert ratio <= limit, f"{what}: {ratio:.2f}x of {floor}, at most {limit:g}x ({detail})"

    def milliseconds(self, what: str, limit: float, measure: Callable[[], tuple[float, str]]) -> None:
        value, detail = self._best(measure, limit)
        ROWS.append((what, "–", f"{value:.2f} ms", f"≤ {limit:g} ms", detail))
        assert value <= limit, f"{what}: {value:.2f} ms, at most {limit:g} ms ({detail})"

    def megabytes(self, what: str, limit: float, measure: Callable[[], tuple[float, str]]) -> None:
        value, detail = self._best(measure, limit)
        ROWS.append((what, "–", f"{value:.0f} MB", f"≤ {limit:g} MB", detail))
        assert value <= limit, f"{what}: {value:.0f} MB, at most {limit:g} MB ({detail})"

    def kilobytes(self, what: str, limit: float, measure: Callable[[], tuple[float, str]]) -> None:
        value, detail = self._best(measure, limit)
        ROWS.append((what, "–", f"{value:.1f} KB", f"≤ {limit:g} KB", detail))
        assert value <= limit, f"{what}: {value:.1f} KB, at most {limit:g} KB ({detail})"

    def per_second(self, what: str, limit: float, measure: Callable[[], tuple[float, str]]) -> None:
        """The other way round: at least ``limit`` a second."""
        inverse, detail = self._best(lambda: _inverted(measure()), 1 / limit)
        ROWS.append((what, "–", f"{1 / inverse:,.0f}/s", f"≥ {limit:,.0f}/s", detail))
        assert 1 / inverse >= limit, f"{what}: {1 / inverse:,.0f}/s, at least {limit:,.0f}/s ({detail})"

    def _best(self, measure: Callable[[], tuple[float, str]], limit: float) -> tuple[float, str]:
        best = measure()
        for _ in range(ATTEMPTS - 1):
            if best[0] > limit:
                best = min(best, measure())
        return best


def _inverted(measured: tuple[float, str]) -> tuple[float, str]:
    return 1 / measured[0], measured[1]


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
