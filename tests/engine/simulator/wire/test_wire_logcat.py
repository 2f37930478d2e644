"""``log`` and ``logcat`` against what the platform prints."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clawperator.engine.simulator.commands import logs
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.log_buffer import HEADER, LogBuffer, LogRecord
from clawperator.engine.simulator.log_print import LogPrinter, parse_time
from clawperator.engine.simulator.services import TOOLBOX
from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.streams import Null, Streams, no_input
from tests.support import patience, table

from .conftest import Ran, Runner, make_device

Sh = Callable[..., Awaitable[Ran]]
GOLDENS = Path(__file__).parents[3] / "data" / "logcat"


def record(stamp: str, pid: int, level: str, tag: str, message: str, *, uid: int = 1000, ns: int = 0) -> LogRecord:
    """An entry of 2023 in UTC; pid and tid are the same."""
    moment = datetime.strptime(f"2023-{stamp}", "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    log = LogBuffer(clock=lambda: 0)
    log.write(pid=pid, tid=pid, uid=uid, level=level, tag=tag, message=message)
    seconds = int(moment.timestamp())
    nanoseconds = moment.microsecond * 1000 + ns
    frame = log.records()[0].frame
    head = HEADER.pack(*HEADER.unpack_from(frame)[:4], seconds, nanoseconds, 0, uid)
    return LogRecord(1, seconds * 1_000_000_000 + nanoseconds, head + frame[HEADER.size :])


RECORDS = [
    record("09-11 12:52:56.962", 188, "I", "lowmemorykiller", "Using psi monitors for memory pressure detection"),
    record("09-11 12:52:56.963", 188, "I", "lowmemorykiller", "Process polling is supported"),
    record("09-11 12:52:53.169", 187, "W", "auditd", "type=2000 audit(0.0:1): state=initialized audit_enabled=0 res=1"),
]


@table("style", ["brief", "tag", "raw", "time", "threadtime", "long"])
def test_the_same_records_as_a_real_logcat_prints_them(style: str) -> None:
    printer = LogPrinter(style)
    printed = printer.divider(0) + b"".join(map(printer.entry, RECORDS))
    assert printed == (GOLDENS / f"golden-same-records-{style}.txt").read_bytes()


@table(
    ("style", "modifiers", "line"),
    [
        ("threadtime", ["uid"], "01-13 01:49:39.074 10012  2348  2348 E Lock    : msg\n"),
        ("threadtime", ["year"], "2023-01-13 01:49:39.074  2348  2348 E Lock    : msg\n"),
        ("brief", ["uid"], "E/Lock    (10012: 2348): msg\n"),
        ("threadtime", ["epoch"], "         1673574579.074  2348  2348 E Lock    : msg\n"),
    ],
)
def test_modifiers(style: str, modifiers: list[str], line: str) -> None:
    entry = record("01-13 01:49:39.074144", 2348, "E", "Lock", "msg", uid=10012, ns=211)
    assert LogPrinter(style, modifiers).entry(entry).decode() == line


def test_a_uid_with_a_short_name_is_shown_by_name() -> None:
    printer = LogPrinter("threadtime", ["uid"])
    assert b" shell  2348" in printer.entry(record("01-13 01:49:39.074", 2348, "E", "t", "m", uid=2000))
    assert b"  root  2348" in printer.entry(record("01-13 01:49:39.074", 2348, "E", "t", "m", uid=0))
    assert b"  1000  2348" in printer.entry(
        record("01-13 01:49:39.074", 2348, "E", "t", "m", uid=1000)
    )  # "system" is too long


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("a\nb", ["a", "b"]),
        ("a\n", ["a"]),
        ("a\n\nb\n", ["a", "", "b"]),
        ("", [""]),
        ("\n", [""]),
    ],
)
def test_every_line_of_a_message_gets_the_prefix_again(message: str, lines: list[str]) -> None:
    entry = record("01-13 01:49:39.074", 7, "D", "tag", message)
    assert LogPrinter("tag").entry(entry).decode() == "".join(f"D/tag     : {line}\n" for line in lines)


def test_neighbours_do_not_borrow_each_others_prefix() -> None:
    first = record("01-13 01:49:39.074", 7, "D", "one", "m")
    others = [
        record("01-13 01:49:39.075", 7, "D", "one", "m"),
        record("01-13 01:49:39.074", 8, "D", "one", "m"),
        record("01-13 01:49:39.074", 7, "E", "one", "m"),
        record("01-13 01:49:39.074", 7, "D", "two", "m"),
        record("01-13 01:49:39.074", 7, "D", "one", "m", uid=1),
    ]
    for other in others:
        shared = LogPrinter("threadtime", ["uid"])
        assert shared.entry(first) != shared.entry(other) == LogPrinter("threadtime", ["uid"]).entry(other)


@table(
    ("text", "sdk", "expected"),
    [
        ("1700000000.5", 34, 1_700_000_000_500_000_000),
        ("1700000000.123456789", 24, 1_700_000_000_123_456_789),
        ("1700000000.5", 23, None),
        ("11-14 22:13:20.000", 23, 1_700_000_000_000_000_000),
        ("2023-11-14 22:13:20.250", 34, 1_700_000_000_250_000_000),
        ("2023-11-14 22:13:20.250", 23, None),
        ("1700000000", 34, None),
        ("yesterday.5", 34, None),
    ],
)
def test_times_of_t_by_api_level(text: str, sdk: int, expected: int | None) -> None:
    """android-facts 2a."""
    assert parse_time(text, UTC, 1_700_000_100_000_000_000, sdk=sdk) == expected


# -- the command


def fill(device: SimulatedDevice) -> None:
    for level, tag, message, pid, buffer in (
        ("D", "Alpha", "first", 100, "main"),
        ("I", "Beta", "second\nline", 101, "main"),
        ("E", "Alpha", "third", 100, "system"),
        ("F", "Crash", "boom", 102, "crash"),
        ("I", "Radio", "waves", 103, "radio"),
    ):
        device.log.write(pid=pid, tid=pid, uid=10_000 + pid, level=level, tag=tag, message=message, buffer=buffer)


@pytest.fixture
def logged(device: SimulatedDevice, sh: Sh) -> Sh:
    device.log.clear()
    fill(device)
    return sh


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("-v raw", ["first", "second", "line", "third", "boom"]),
        ("-v raw -b main", ["first", "second", "line"]),
        ("-v raw -b main,radio", ["first", "second", "line", "waves"]),
        ("-v raw -b crash -b system", ["third", "boom"]),
        ("-v raw -b all", ["first", "second", "line", "third", "boom", "waves"]),
        ("-v raw -s Alpha", ["first", "third"]),
        ("-v raw Alpha:E '*:S'", ["third"]),
        ("-v raw Alpha:E *:s Beta", ["second", "line", "third"]),
        ("-v raw '*:E'", ["third", "boom"]),
        ("-v raw --pid=101", ["second", "line"]),
        ("-v raw -t 2", ["third", "boom"]),
        ("-v tag -t 1", ["F/Crash   : boom"]),
        ("-vbrief --pid 100", ["D/Alpha   (  100): first", "E/Alpha   (  100): third"]),
    ],
)
async def test_selecting_entries(logged: Sh, arguments: str, lines: list[str]) -> None:
    ran = await logged(f"logcat -d {arguments}")
    printed = [line for line in ran.out.splitlines() if not line.startswith("---------")]
    assert (ran.status, printed, ran.err) == (0, lines, "")


async def test_dividers_say_where_a_buffer_begins(logged: Sh, device: SimulatedDevice) -> None:
    printed = (await logged("logcat -d -v raw")).out
    assert printed.startswith("--------- beginning of main\nfirst\n")
    assert "--------- beginning of system\nthird\n--------- beginning of crash\nboom\n" in printed


async def test_starting_after_a_time_is_exclusive(logged: Sh, device: SimulatedDevice) -> None:
    second = device.log.records()[1].time_ns
    stamp = f"{second // 1_000_000_000}.{second % 1_000_000_000:09d}"
    assert (await logged(f"logcat -d -v raw -b main,system,crash -T {stamp}")).out.count("third") == 1
    assert "second" not in (await logged(f"logcat -d -v raw -T {stamp}")).out
    assert "second" not in (await logged(f"logcat -v raw -t {stamp}")).out  # -t implies -d


async def test_calendar_times_are_the_devices(device: SimulatedDevice, sh: Sh) -> None:
    device.props["persist.sys.timezone"] = "Asia/Kolkata"
    device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="m")
    at = datetime.fromtimestamp(device.log.records()[-1].time_ns // 1_000_000_000, UTC).strftime("%m-%d %H:%M")
    assert at not in (await sh("logcat -d -v threadtime -t 1")).out
    assert at in (await sh("TZ=UTC logcat -d -v threadtime -t 1")).out


async def test_clearing_and_sizes(logged: Sh) -> None:
    sizes = (await logged("logcat -g -b main")).out
    assert re.fullmatch(
        r"main: ring buffer is 5 MiB \(\d+ B consumed, \d+ B readable\), max entry is 5120 B, max payload is 4068 B\n",
        sizes,
    )
    await logged("logcat -b main -c; logcat -b main -G 64K")
    assert "first" not in (await logged("logcat -d")).out
    assert "third" in (await logged("logcat -d")).out
    assert "64 KiB (0 B consumed" in (await logged("logcat -g -b main")).out


@pytest.mark.parametrize(
    ("arguments", "sdk", "message"),
    [
        ("-v nonsense", 34, 'Invalid parameter "nonsense" to -v'),
        ("-b nowhere", 34, "unknown buffer nowhere"),
        ("-T yesterday", 34, '-T "yesterday" not in time format'),
        ("-T 1700000000.5", 23, '-T "1700000000.5" not in time format'),
        ("-v uid", 23, 'Invalid parameter "uid" to -v'),
        ("--pid=3", 23, "Unrecognized Option pid"),
        ("Tag:X", 34, "Invalid filter expression 'Tag:X'"),
        ("-G 3", 34, "Invalid -G 3 is not a buffer size between 64K and 256M"),
    ],
)
async def test_refused_arguments(arguments: str, sdk: int, message: str) -> None:
    ran = await Runner(make_device(sdk=sdk))(f"logcat -d {arguments}")
    assert ran == Ran(1 if sdk >= 24 else 255, "", f"logcat: {message}\n")


class Screen:
    """What a running ``logcat`` has written so far; ``changed`` is set at each write."""

    def __init__(self) -> None:
        self.data = b""
        self.changed = asyncio.Event()

    async def write(self, data: bytes) -> None:
        self.data += data
        self.changed.set()

    async def until(self, size: int) -> bytes:
        async with asyncio.timeout(patience(5)):
            while len(self.data) < size:
                self.changed.clear()
                await self.changed.wait()
        return self.data


@contextlib.asynccontextmanager
async def running(device: SimulatedDevice, script: str) -> AsyncIterator[Screen]:
    screen = Screen()
    task = asyncio.create_task(Shell(device, Streams(no_input(), screen, Null()), TOOLBOX).run(script))
    try:
        yield screen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_streaming_waits_for_what_comes(device: SimulatedDevice) -> None:
    async with running(device, "logcat -v raw -b main -T 1") as screen:
        await asyncio.sleep(0)
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="live")
        assert (await screen.until(1)).endswith(b"live\n")
        size = len(screen.data)
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="more")
        assert (await screen.until(size + 1))[size:] == b"more\n"


@pytest.mark.parametrize(("sdk", "header"), [(23, 24), (24, 28), (34, 28)])
async def test_binary_frames_by_api_level(sdk: int, header: int) -> None:
    device = make_device(sdk=sdk)
    device.log.clear()
    fill(device)
    async with running(device, "logcat -B -d -b main") as screen:
        data = await screen.until(1)
    sizes = []
    while data:
        length, size = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")
        sizes.append(size)
        assert data[size : size + length].endswith(b"\0")
        data = data[size + length :]
    assert sizes == [header, header]


async def test_api_33_holds_binary_output_back_in_blocks() -> None:
    """android-facts 1d: entries come late there, in stdio's blocks of 4,096 bytes."""
    device = make_device(sdk=33)
    async with running(device, "logcat -B -b main -T 1") as screen:
        await asyncio.sleep(0)
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="held back")
        for _ in range(5):
            await asyncio.sleep(0)
        assert screen.data == b""
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="x" * 4060)
        assert len(await screen.until(1)) == 4096


@pytest.mark.parametrize(("sdk", "delivered"), [(26, b""), (30, b""), (31, b"now\n")])
async def test_a_time_ahead_of_the_devices_clock(sdk: int, delivered: bytes) -> None:
    """android-facts 2d: API 26 to 30 deliver nothing until the clock has passed it."""
    device = make_device(sdk=sdk)
    ahead = device.log.now_ns() // 1_000_000_000 + 100
    async with running(device, f"logcat -v raw -b main -T {ahead}.000") as screen:
        for _ in range(5):
            await asyncio.sleep(0)
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="now")
        for _ in range(5):
            await asyncio.sleep(0)
        assert screen.data.removeprefix(b"--------- beginning of main\n") == delivered


async def test_a_reader_that_stalls_is_given_up(device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """android-facts 2e."""
    monkeypatch.setattr(logs, "STALL_SECONDS", 0.0)

    class Slow(Screen):
        async def write(self, data: bytes) -> None:
            await asyncio.sleep(0.001)
            await super().write(data)

    device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="m")
    slow, reported = Slow(), Screen()
    async with asyncio.timeout(patience(5)):
        assert await Shell(device, Streams(no_input(), slow, reported), TOOLBOX).run("logcat -v raw") == 1
    assert slow.data.endswith(b"m\n")
    assert reported.data == b"logcat: Unexpected EOF!\n"


async def test_log_writes_what_it_is_given(sh: Sh, device: SimulatedDevice) -> None:
    assert (await sh("log -p w -t Tag two words; log plain")).status == 0
    warned, plain = device.log.records(["main"])[-2:]
    assert (warned.level, *warned.text()) == ("W", b"Tag", b"two words")
    assert (plain.level, *plain.text()) == ("I", b"log", b"plain")
    assert warned.header()[3] == 2000
    await sh(f"log {'x' * 2000}")
    assert len(device.log.records(["main"])[-1].text()[1]) == 1024
    assert (await sh("log")).status == 1
    older = make_device(sdk=25)
    await Runner(older)("log old")
    assert older.log.records(["main"])[-1].text()[1] == b"old "
