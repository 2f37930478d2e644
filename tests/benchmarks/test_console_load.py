"""The console while a device logs a thousand lines a second, or five: it stays responsive, loses nothing, and says so when it does."""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from clawperator.engine.filters.grammar import parse_filter
from clawperator.widgets.models.line_ring import LineRing
from tests.app.console.support import (
    CHECKS_OK,
    FakeEngine,
    drained,
    log_lines,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.benchmarks.conftest import Claim, in_turn
from tests.benchmarks.test_console_latency import ESCAPE, Console, Pace, checked, slow_twentieth

if TYPE_CHECKING:
    from tests.benchmarks.conftest import Measured, Report
    from tests.benchmarks.pty_probe import Screen

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(400)]

FLOOD: Final = 5_000
"""Lines a second that the console must take without losing one."""
FLOOD_SECONDS: Final = 5.0
LONG_FLOOD_SECONDS: Final = 60.0
LOAD_SPEED, LOAD_SECONDS, LONG_LOAD_SECONDS = 2, 15.0, 300.0
MOST_LINES: Final = 200_000

LINES_PER_SECOND = 1_000
SECONDS = 2.0
BEAT = 0.01
KEYS = ("j", "k", "t", "t", "t", "t", "G", "pageup", "f")


class LoadRun:
    """One run: what the event loop's heart did, and what the console knew at the end."""

    def __init__(self) -> None:
        self.lags: list[float] = []
        self.cpu = 0.0
        self.lines = 0
        self.dropped = 0
        self.keys = 0

    @property
    def lag_p95(self) -> float:
        """Milliseconds by which a timer came late, in the worst twentieth of the beats."""
        return statistics.quantiles(self.lags, n=20)[-1] * 1000


async def beat(run: LoadRun) -> None:
    """A timer every ten milliseconds: how late it comes is how long the loop was busy with something else."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + BEAT
        await asyncio.sleep(BEAT)
        run.lags.append(max(0.0, loop.time() - due))


async def feed(engine: FakeEngine, seconds: float) -> int:
    """Lines in the chunks in which a stream brings them, at the rate of the test, whatever the consumer does."""
    start, sent = time.monotonic(), 0
    while (elapsed := time.monotonic() - start) < seconds:
        due = int(elapsed * LINES_PER_SECOND) - sent
        if due > 0:
            engine.log(log_lines(due, start=sent))
            sent += due
        await asyncio.sleep(BEAT)
    return sent


async def under_load(*, mode: str, lines: bool) -> LoadRun:
    """A console in ``mode`` with keys pressed all the time, for some seconds."""
    run = LoadRun()
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    app.bridge.tick = 0.033
    async with app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        app.action_mode(mode)
        await drained(pilot)
        heart = asyncio.create_task(beat(run))
        cpu = time.process_time()
        feeding = asyncio.create_task(feed(engine, SECONDS) if lines else asyncio.sleep(SECONDS, 0))
        while not feeding.done():
            app.simulate_key(KEYS[run.keys % len(KEYS)])
            run.keys += 1
            await asyncio.sleep(0.05)
        sent = await feeding
        run.cpu = time.process_time() - cpu
        heart.cancel()
        await until(pilot, lambda: app.session.lines.end + app.session.dropped >= sent)
        run.lines, run.dropped = app.session.lines.end, app.session.dropped
        assert run.lines + run.dropped == sent
    return run


def late(run: LoadRun) -> Measured:
    assert run.dropped == 0
    return run.lag_p95, f"{run.lines:,} lines, 0 lost, {run.keys} keys, {run.cpu / SECONDS:.0%} of a core"


def test_a_thousand_lines_a_second_leave_the_loop_free(report: Report) -> None:
    """In mode 2 beside the same keys without lines: the difference is what the lines cost."""
    what = f"{LINES_PER_SECOND:,} lines/s: event loop late, p95"
    report.milliseconds(
        f"console, inspect, {what}", 30, lambda: late(asyncio.run(under_load(mode="inspect", lines=True)))
    )

    def measure() -> list[Measured]:
        idle = asyncio.run(under_load(mode="stream", lines=False))
        loaded = asyncio.run(under_load(mode="stream", lines=True))
        extra = max(0.0, loaded.cpu - idle.cpu)
        words = f"idle {idle.cpu:.2f} s, loaded {loaded.cpu:.2f} s of CPU in {SECONDS:g} s"
        return [late(loaded), (extra / loaded.lines * 1e6, words)]

    cost = Claim("console, stream: CPU of 1,000 log lines", 400, " ms")
    report.hold([Claim(f"console, stream, {what}", 30, " ms"), cost], measure)


async def test_a_flood_that_no_one_can_take_is_counted_to_the_last_message() -> None:
    """Twice as many events as the queue holds, in one turn of the loop: the oldest go, and every one of them is counted."""
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for number in range(20_000):
            engine.log(log_lines(1, start=number))
        await until(pilot, lambda: app.session.lines.end + app.session.dropped == 20_000)
        assert app.session.lines.end == 10_000
        assert app.session.dropped == 10_000
        assert app.session.lines[app.session.lines.end - 1].message.endswith("19999: 12 networks")


# -- the real console on its terminal, the real engine, a device that never stops talking


class Flood:
    """What a console did while a phone logged without end. Latencies and lags in milliseconds."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.lags: list[float] = []
        self.keys: list[float] = []
        self.sent = 0
        self.stream: dict[str, Any] = {}
        self.pace = Pace()

    @property
    def words(self) -> str:
        kept = f"{self.sent:,} lines, {self.stream['missing']} lost"
        keys = f"{len(self.keys)} keys p95 {slow_twentieth(self.keys):.0f} ms"
        return f"{kept}; loop late p95 {slow_twentieth(self.lags):.1f} ms; {keys}; {self.pace.words()}"


@contextmanager
def talking_phone(home: Path, per_second: int) -> Iterator[tuple[dict[str, str], subprocess.Popen[str]]]:
    """A phone that logs from the first line on its stdin to the second, and what a console needs to find it."""
    program = [sys.executable, str(Path(__file__).with_name("phone.py")), "0", str(per_second)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as phone:
        assert phone.stdout is not None
        port, _ = phone.stdout.readline().split()
        yield {"HOME": str(home), "ANDROID_ADB_SERVER_PORT": port}, phone
        phone.communicate("")


def on_state(phone: subprocess.Popen[str], word: str) -> None:
    assert phone.stdin is not None
    phone.stdin.write(f"{word}\n")
    phone.stdin.flush()


def flooded(home: Path, view: str, seconds: float) -> Flood:
    """A console in mode 2 with its stream in ``view``, keys that move the cursor, and a line every fifth of a millisecond."""
    run = Flood()
    with talking_phone(home, FLOOD) as (env, phone), Console(0, env) as console:
        console.wait_for(checked)
        console.write("2")
        console.wait_for("▌stream")  # mode 1 shows executions as well, and its log may not be followed yet
        for name in ("envelopes", "Operator log", "device log"):
            if view != "executions":
                console.write("t")
                console.wait_for(name)
            if name == view:
                break
        on_state(phone, "begin")
        console.pause(1.0)
        console.ask("heart")
        began, cpu = time.monotonic(), console.cpu_seconds
        while time.monotonic() - began < seconds:
            run.keys.append(pressed(console, run) * 1_000)
            console.pause(0.25)
            run.pace.mark()
        run.cpu = (console.cpu_seconds - cpu) / (time.monotonic() - began)
        run.lags = [lag * 1_000 for lag in console.ask("heart")["lags"]]
        on_state(phone, "stop")
        assert phone.stdout is not None
        run.sent = int(phone.stdout.readline())
        run.stream = caught_up(console, run.sent)
    return run


def pressed(console: Console, run: Flood) -> float:
    """Pause and go on in turn: a key whose effect is seen whatever scrolls by."""

    def state(screen: Screen) -> str:
        return "PAUSED" if "PAUSED" in screen else "going"

    return console.key("p" if len(run.keys) % 2 == 0 else "f", state)


def caught_up(console: Console, sent: int) -> dict[str, Any]:
    """What the stream holds once the last line has come by."""
    deadline = time.monotonic() + 10
    while (stream := console.ask("stream"))["last"] < sent - 1 and time.monotonic() < deadline:
        console.pause(0.1)
    return stream


@pytest.mark.soak
@pytest.mark.parametrize("view", ["executions", "device log"])
def test_five_thousand_lines_a_second(
    report: Report, request: pytest.FixtureRequest, tmp_path: Path, view: str
) -> None:
    """Share of a core, how late the loop was, keys, lines lost: of one and the same run."""
    seconds = LONG_FLOOD_SECONDS if request.config.getoption("--soak") else FLOOD_SECONDS

    def measure() -> list[Measured]:
        run = flooded(tmp_path, view, seconds)
        assert run.stream["last"] == run.sent - 1
        assert (run.stream["missing"], run.stream["dropped"]) == (0, 0)
        taken = (
            (run.cpu * 1_000, f"{run.cpu:.0%} of a core; "),
            (slow_twentieth(run.keys), ""),
            (slow_twentieth(run.lags), ""),
        )
        return [(value / run.pace.factor(), f"{more}{run.words}") for value, more in taken]

    limits = {"CPU of a second": 400, "key to painted, p95": 50, "event loop late, p95": 20}
    what = f"console, {view}, {FLOOD:,} lines/s for {seconds:g} s"
    report.hold([Claim(f"{what}: {name}", limit, " ms") for name, limit in limits.items()], measure)


def test_a_full_ring_in_memory(report: Report, tmp_path: Path) -> None:
    """The whole process: console, tree, and a ring as large as it may be set."""

    def measure() -> Measured:
        with Console(500, {"HOME": str(tmp_path)}) as console:
            console.wait_for(checked)
            empty = console.ask("memory")["peak"]
            assert console.ask(f"fill {MOST_LINES}")["end"] == MOST_LINES
            peak = console.ask("memory")["peak"]
            return peak, f"{empty:.0f} MB without them, {(peak - empty) * 1024 * 1024 / MOST_LINES:.0f} bytes a line"

    report.value("console with 200,000 log lines: resident", 200, " MB", measure)


@pytest.mark.soak
def test_memory_under_load(report: Report, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Two trees per thousand lines: the ring is full after a hundred thousand, the trees after thirty thousand."""
    seconds, speed = (LONG_LOAD_SECONDS, 1) if request.config.getoption("--soak") else (LOAD_SECONDS, LOAD_SPEED)

    def measure() -> Measured:
        with Console(500, {"HOME": str(tmp_path)}) as console:
            console.wait_for(checked)
            empty = console.ask("memory")["peak"]
            console.ask(f"load {speed}")
            console.pause(seconds)
            peak = console.ask("memory")["peak"]
            return peak, f"{empty:.0f} MB before, {console.ask('stream')['end']:,} lines"

    what = f"console, {speed},000 lines/s and {2 * speed} trees/s for {seconds:g} s: resident"
    report.value(what, 150, " MB", measure)


# -- filters over what is kept


FILTERS = {
    "words": ("networks 77", 2.0),
    "fields": ("level:e tag:wifi", 1.0),
    "a pattern": (r"re:/result \d*77: 1/", 15.0),
}
"""A filter, and how many times as long as the floor it may take; the cost of a pattern is bounded, that of ``re`` is not."""


@pytest.mark.parametrize("what", FILTERS)
def test_a_filter_over_a_hundred_thousand_lines(report: Report, what: str) -> None:
    lines = log_lines(100_000)
    ring = LineRing(100_000)
    ring.extend(lines)
    words, limit = FILTERS[what]
    where, bare = parse_filter(words), re.compile(r"result \d*77: 1", re.IGNORECASE)

    def search() -> int:
        return len(ring.search(where, ring.first, ring.end, now=0.0))

    def measure() -> Measured:
        ours, floor, ratio = in_turn(search, lambda: [line for line in lines if bare.search(line.message)], 9)
        return ratio, f"{search():,} found; {ours * 1_000:.1f} / {floor * 1_000:.1f} ms"

    report.ratio(
        f"filter, {what}, over 100,000 lines: search alone", "`re.search` in each of their messages", limit, measure
    )


def test_a_line_into_the_ring(report: Report) -> None:
    lines = [log_lines(500, start=start) for start in range(0, 50_000, 500)]

    def measure() -> Measured:
        pace = Pace()
        ring = LineRing(100_000)
        pace.mark()
        began = time.perf_counter()
        for batch in lines:
            ring.extend(batch, "emulator-5554")
        taken = time.perf_counter() - began
        pace.mark()
        return taken / 50_000 * 1e6 / pace.factor(), f"{taken * 1_000:.0f} ms for 50,000; {pace.words()}"

    report.value("ring, 1,000 lines in", 2.5, " ms", measure)


def settled_on(words: str, screen: Screen) -> bool:
    """Whether the stream shows what these words leave of all its lines."""
    return f"/ {words} " in screen and "searching" not in screen


def test_the_filter_line_over_a_hundred_thousand_lines_on_screen(report: Report, tmp_path: Path) -> None:
    """From the last letter of a filter to its first rows, with the newest lines first; and until all lines were looked at."""

    def measure() -> Measured:
        pace = Pace()
        first, whole = [], []
        with Console(500, {"HOME": str(tmp_path)}) as console:
            console.wait_for(checked)
            console.write("2ttt")
            console.wait_for("device log")
            console.ask("fill 100000")
            console.write("12")
            console.wait_for("100,000 shown")
            for word in ("777", "888", "999") * 4:
                console.write(f"/{word[:2]}")
                console.wait_for(partial(settled_on, word[:2]))
                console.pause(0.2)
                sent = console.write(word[2])
                first.append(console.wait_for(f"/ {word}") - sent)
                whole.append(console.wait_for(partial(settled_on, word)) - sent)
                console.write(ESCAPE)
                console.wait_for("100,000 shown")
                pace.mark()
        words = f"everything after {statistics.median(whole) * 1_000:.0f} ms; {pace.words()}"
        return slow_twentieth(first) * 1_000 / pace.factor(), words

    report.value("filter line over 100,000 lines: key to its first rows, p95", 60, " ms", measure)
