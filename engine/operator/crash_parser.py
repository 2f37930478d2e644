"""Parse crashes from logcat's crash buffer, the drop box and tombstones. Pure; never raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser
from clawperator.engine.operator.reports import CrashReport

MAX_BLOCKS = 500
MAX_BLOCK_LINES = 2_000
_LONGEST_LINE = 2_000
_LONGEST_SUMMARY = 300
_SAME_CRASH_SECONDS = 5.0
"""The drop box records a crash shortly after the log."""

_PROCESS = re.compile(r"Process: ([\w.:/-]{1,300})(?:, PID: (\d{1,9}))?", re.ASCII)
_PID = re.compile(r"PID: (\d{1,9})", re.ASCII)
_NATIVE = re.compile(r"pid: (\d{1,9}), tid: \d{1,9}, name: .{0,200}?>>> (.{1,300}?) <<<", re.ASCII)
_SIGNAL = re.compile(r"signal \d{1,4} \(\w+\).*")
_ABORT = re.compile(r"Abort message: .*")
_STACK = re.compile(r"\s*(?:at |Caused by:|\.\.\. \d+ more)")
_STAMP = re.compile(r"(?:(\d{4})-)?(\d\d-\d\d \d\d:\d\d:\d\d)", re.ASCII)
_DROP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) (\w{1,60}) \(", re.ASCII)
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
_RULER = re.compile(r"^={20,}[ \t]*\r?$", re.MULTILINE)


@dataclass(slots=True)
class _Block:
    """One crash while its lines are collected."""

    at: str
    kind: str
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        if len(self.lines) < MAX_BLOCK_LINES:
            self.lines.append(text[:_LONGEST_LINE])


def from_log(data: bytes) -> list[CrashReport]:
    """Return the crashes in ``logcat -b crash -v threadtime`` (with or without year), oldest first.

    Lines of several processes may be interleaved: those of one thread belong together.
    """
    parser = TextLogParser("threadtime")
    entries = [*parser.feed(data), *parser.finish()]
    return [report for block in _blocks(entries) if (report := _report(block, "crash-buffer"))]


def _blocks(entries: Iterable[LogEntry]) -> list[_Block]:
    blocks: list[_Block] = []
    open_blocks: dict[tuple[str, int, int], _Block] = {}
    for entry in entries:
        if entry.tag not in ("AndroidRuntime", "DEBUG") or entry.is_note:
            continue
        key, text = (entry.tag, entry.pid, entry.tid), entry.message
        if _begins(entry.tag, text):
            if len(blocks) == MAX_BLOCKS:
                del blocks[0]
            open_blocks[key] = _Block(entry.stamp, "java" if entry.tag == "AndroidRuntime" else "native")
            blocks.append(open_blocks[key])
        if (block := open_blocks.get(key)) is not None:
            block.add(text)
    return blocks


def _begins(tag: str, text: str) -> bool:
    return text.startswith("*** *** ***") if tag == "DEBUG" else "FATAL EXCEPTION" in text[:60]


def from_dropbox(text: str) -> list[CrashReport]:
    """Return the crashes in ``dumpsys dropbox --print TAG``, oldest first."""
    found: list[CrashReport] = []
    for piece in _RULER.split(text)[1:][-MAX_BLOCKS:]:
        head, _, body = piece.strip().partition("\n")
        header = _DROP.match(head)
        if header is None:
            continue
        block = _Block(header[1], "native" if "native" in header[2] or "TOMBSTONE" in header[2] else "java")
        for line in body.split("\n"):
            block.add(line.rstrip("\r"))
        if report := _report(block, "dropbox"):
            found.append(report)
    return found


def _report(block: _Block, source: str) -> CrashReport | None:
    """Return the report of a block; ``None`` if it names no process."""
    process, pid = _process(block)
    if not process:
        return None
    lines = block.lines
    while lines and not lines[-1].strip():
        lines.pop()
    return CrashReport(block.at, block.kind, source, process, pid, _summary(block), tuple(lines))


def _process(block: _Block) -> tuple[str, int]:
    process, pid = "", 0
    for line in block.lines[:60]:
        if (native := _NATIVE.search(line)) is not None:
            return native[2].strip(), int(native[1])
        if not process and (java := _PROCESS.match(line)) is not None:
            process, pid = java[1], int(java[2] or 0)
        elif process and not pid and (number := _PID.match(line)) is not None:
            pid = int(number[1])
    return process, pid


def _summary(block: _Block) -> str:
    """Return the exception with its message, or the signal with the abort message."""
    if block.kind == "native":
        found = [
            match[0] for pattern in (_SIGNAL, _ABORT) for line in block.lines if (match := pattern.match(line.strip()))
        ]
        return "; ".join(found[:2])[:_LONGEST_SUMMARY]
    stack = next((number for number, line in enumerate(block.lines) if _STACK.match(line)), len(block.lines))
    before = [line.strip() for line in block.lines[:stack] if line.strip()]
    named = next((line for line in before if re.match(r"[\w.$]+(?:Exception|Error|Throwable)\b", line)), "")
    return (named or (before[-1] if before else ""))[:_LONGEST_SUMMARY]


# -- putting both together


def of_packages(reports: Iterable[CrashReport], packages: Sequence[str]) -> Iterator[CrashReport]:
    """Yield the reports of these packages and of their processes (``package:name``)."""
    for report in reports:
        if report.process.partition(":")[0] in packages:
            yield report


def merged(logged: Iterable[CrashReport], dropped: Iterable[CrashReport], year: int) -> list[CrashReport]:
    """Return all reports, newest first, without duplicates of the drop box; ``year`` is the default of log lines."""
    kept = list(logged)
    kept += [report for report in dropped if not any(_same(report, known, year) for known in kept)]
    return sorted(kept, key=lambda report: moment(report.at, year), reverse=True)


def _same(one: CrashReport, other: CrashReport, year: int) -> bool:
    if one.source == other.source or (one.process, one.kind) != (other.process, other.kind):
        return False
    if one.pid and other.pid and one.pid != other.pid:
        return False
    apart = abs((moment(one.at, year) - moment(other.at, year)).total_seconds())
    return apart <= _SAME_CRASH_SECONDS


def moment(stamp: str, year: int) -> datetime:
    """Parse a timestamp of the device, in its own time zone; year 1 if it is invalid."""
    found = _STAMP.match(stamp)
    try:
        return datetime.fromisoformat(f"{found[1] or f'{year:04d}'}-{found[2]}+00:00") if found else _NEVER
    except ValueError:
        return _NEVER
