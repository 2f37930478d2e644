"""How fast log bytes become entries and what the Operator says, beside a calibration loop of the same run."""

from __future__ import annotations

import binascii
import hashlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import EnvelopeSignal, HierarchySignal
from clawperator.engine.logcat.text import TextLogParser
from clawperator.engine.simulator.operator_log import split_message
from clawperator.engine.simulator.results import chunk_records, json_line
from tests.benchmarks.conftest import Report

pytestmark = pytest.mark.benchmark

LINES_PER_SECOND = 400_000
TIMES_A_DUMPS_FLOOR = 4
TIMES_ONE_LINE, TIMES_WHAT_IS_INEVITABLE = 5, 2.2

DUMP_LINES, NODES = 8_000, 5_000
READ_BYTES = 64 * 1024
UID = 10_234


def capture() -> bytes:
    """At least 20 MB of a real threadtime capture: of the corpus if there is one, else of the repository repeated."""
    corpus = os.environ.get("CLAWPERATOR_CORPUS", "")
    path = Path(corpus) / "logcat" / "goldfish-api27-threadtime-5000-lines.txt"
    if not (corpus and path.exists()):
        path = Path(__file__).parents[1] / "data" / "logcat" / "goldfish-first-600-lines-threadtime.txt"
    data = path.read_bytes()
    return data * (20_000_000 // len(data) + 1)


def best_seconds(work: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def portions(data: bytes) -> list[bytes]:
    return [data[start : start + READ_BYTES] for start in range(0, len(data), READ_BYTES)]


def test_text_lines_per_second(report: Report) -> None:
    data = capture()
    lines = data.count(b"\n")
    reads = portions(data)

    def parse() -> None:
        parser, log = TextLogParser("threadtime"), OperatorLog(command_id="c-1")
        found = sum(len(entries) for entries in map(parser.feed, reads) if log.feed(entries) == [])
        assert found == lines

    def measure() -> tuple[float, str]:
        floor = best_seconds(lambda: [line.decode() for line in data.split(b"\n")], rounds=3)
        taken = best_seconds(parse)
        return lines / taken, f"{taken / floor:.1f}× of splitting and decoding each line"

    report.value("text logcat lines → entries → envelope detection, one core", LINES_PER_SECOND, "/s", measure)


def record(message: bytes, *, level: int = 3) -> bytes:
    payload = bytes([level]) + b"a\0" + message + b"\0"
    return struct.pack("<HHiIIIII", len(payload), 28, 8123, 8190, 1_700_000_000, 5, 0, UID) + payload


def dump_records() -> bytes:
    """5,000 nodes, 3,000 of them with children: 8,000 lines of the size that the Operator writes."""
    rest = (
        b'text="Network and internet" resource-id="android:id/title" class="android.widget.TextView" '
        b'package="com.android.settings" content-desc="" checkable="false" checked="false" clickable="false" enabled="true" '
        b'focusable="false" focused="false" scrollable="false" long-clickable="false" password="false" selected="false" '
        b'bounds="[216,400][400,470]"'
    )
    inner = [b'  <node index="0" ' + rest + b">"] * (DUMP_LINES - NODES)
    leaves = [b'    <node index="1" ' + rest + b" />"] * (2 * NODES - DUMP_LINES)
    ends = [b"  </node>"] * (DUMP_LINES - NODES)
    lines = [
        b"[TaskScope] UI Hierarchy:",
        b"<?xml version='1.0' ?>",
        b'<hierarchy rotation="0">',
        *inner,
        *leaves,
        *ends,
    ]
    return b"".join(map(record, [*lines, b"</hierarchy>"]))


def receive(data: bytes, take: Callable[[bytes], object]) -> float:
    """Seconds from the first byte on a socket to the end of taking the last."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            theirs.sendall(data)

    sender = threading.Thread(target=send)
    with ours:
        sender.start()
        first = ours.recv(READ_BYTES)
        start = time.perf_counter()
        take(first)
        while portion := ours.recv(READ_BYTES):
            take(portion)
        seconds = time.perf_counter() - start
    sender.join()
    return seconds


def test_a_dump_of_5000_nodes_out_of_binary_records(report: Report) -> None:
    data = dump_records()

    def parse() -> float:
        parser, log = BinaryLogParser(), OperatorLog(uid=UID)
        found: list[object] = []
        seconds = receive(data, lambda portion: found.extend(log.feed(parser.feed(portion))))
        (signal,) = found
        assert isinstance(signal, HierarchySignal)
        assert signal.captured.xml.count("<node") == NODES
        return seconds

    def read() -> float:
        return receive(data, lambda portion: [part.decode() for part in portion.split(b"\0") if part.isascii()])

    def measure() -> tuple[float, str]:
        floor = min(read() for _ in range(7))
        taken = min(parse() for _ in range(7))
        return taken / floor, f"{taken * 1e3:.1f} ms for {DUMP_LINES:,} records"

    report.ratio(
        "binary log records → hierarchy of 5,000 nodes", "split at NUL, decode each part", TIMES_A_DUMPS_FLOOR, measure
    )


COMMAND, RESULT_BYTES = "command-of-the-benchmark", 200 * 1024


def result_line() -> str:
    text = "Network and internet, [216,400][400,470] " * (RESULT_BYTES // 42)
    step = {"id": "look", "actionType": "read_text", "success": True, "data": {"text": text}}
    envelope = {"commandId": COMMAND, "taskId": "t", "status": "success", "stepResults": [step], "error": None}
    return f"[Clawperator-Result] {json_line(envelope)}"


@pytest.mark.parametrize(
    "beside", ["the same result in lines of 4,000 characters", "base64, SHA-256 and JSON of its records"]
)
def test_a_result_of_200_kb_in_chunk_records(report: Report, beside: str) -> None:
    """Half as many log bytes more, and base64: the second floor is what no reader can do without, over three times a line itself."""
    line = result_line()
    records = [f"[Clawperator-Result-Chunk] {json_line(each)}".encode() for each in chunk_records(line, COMMAND, "t")]
    chunks = b"".join(record(each, level=4) for each in records)
    lines = b"".join(record(part.encode(), level=4) for part in split_message(line))

    def parse(data: bytes) -> float:
        parser, log = BinaryLogParser(), OperatorLog(uid=UID)
        found: list[object] = []
        seconds = receive(data, lambda portion: found.extend(log.feed(parser.feed(portion))))
        (signal,) = found
        assert isinstance(signal, EnvelopeSignal)
        assert signal.envelope is not None
        return seconds

    def inevitable() -> float:
        encoded = [each.rpartition(b":")[2][1:-2] for each in records]
        began = time.perf_counter()
        raw = b"".join([binascii.a2b_base64(data) for data in encoded])
        hashlib.sha256(raw).digest()
        json.loads(raw.partition(b" ")[2])
        return time.perf_counter() - began + receive(chunks, len)

    def measure() -> tuple[float, str]:
        taken = min(parse(chunks) for _ in range(7))
        floor = min(parse(lines) if beside.startswith("the same") else inevitable() for _ in range(7))
        return taken / floor, f"{taken * 1e3:.1f} / {floor * 1e3:.1f} ms"

    limit = TIMES_ONE_LINE if beside.startswith("the same") else TIMES_WHAT_IS_INEVITABLE
    report.ratio("200 KB in chunk records → envelope", beside, limit, measure)
