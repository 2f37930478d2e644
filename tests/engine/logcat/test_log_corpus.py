"""Every log of the corpus, of many devices and tools, reads as it did when a person looked at it."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser
from tests.support import table

CORPUS = os.environ.get("CLAWPERATOR_CORPUS", "")
pytestmark = pytest.mark.skipif(not CORPUS, reason="CLAWPERATOR_CORPUS names no folder of captured logs")

# file: format, records, lines that are no record (without separators)
EXPECTED = {
    "adobe-reader-session-time.txt": ("time", 454, 0),
    "am-start-session-threadtime.txt": ("threadtime", 41, 0),
    "app-start-utf8-bom-threadtime.txt": ("threadtime", 32, 0),
    "bugreport-api34-minimized.txt": ("threadtime", 26, 6_172),
    "bugreport-nougat-events-section.txt": ("threadtime", 51, 0),
    "console-wrapped-utf16-messages-split-over-lines.txt": ("threadtime", 408, 2_091),
    "crash-amazefilemanager-1796-brief.txt": ("bare", 33, 1),
    "crash-ankidroid-10840-threadtime.txt": ("threadtime", 21, 2),
    "crash-ankidroid-4451-brief.txt": ("bare", 50, 1),
    "crash-ankidroid-4977-brief.txt": ("bare", 34, 1),
    "crash-ankidroid-6145-brief.txt": ("bare", 45, 1),
    "crash-firefoxlite-4881-threadtime-eafb.txt": ("threadtime", 23, 0),
    "crash-firefoxlite-4942-threadtime.txt": ("threadtime", 30, 0),
    "crash-markor-1329-threadtime.txt": ("threadtime", 40, 0),
    "crash-nextcloud-1918-threadtime.txt": ("threadtime", 26, 0),
    "crash-nextcloud-4792-threadtime-time.txt": ("threadtime", 24, 1),
    "crash-nextcloud-5173-threadtime.txt": ("threadtime", 20, 0),
    "dalvik-monitored-app-time.txt": ("time", 1_752, 0),
    "derived-buffer-switches-divider.txt": ("threadtime", 398, 0),
    "derived-chatty-identical-lines.txt": ("threadtime", 60, 0),
    "derived-concatenated-21mb-threadtime.txt": ("threadtime", 145_549, 1),
    "derived-crlf-threadtime.txt": ("threadtime", 300, 0),
    "derived-empty.txt": ("raw", 0, 0),
    "derived-goldfish-brief-color.txt": ("brief", 1_200, 0),
    "derived-goldfish-brief-uid.txt": ("brief", 1_200, 0),
    "derived-goldfish-brief.txt": ("brief", 1_200, 0),
    "derived-goldfish-long-epoch.txt": ("long", 1_200, 0),
    "derived-goldfish-long-year-usec-zone.txt": ("long", 1_200, 0),
    "derived-goldfish-long.txt": ("long", 1_200, 0),
    "derived-goldfish-process.txt": ("process", 1_200, 0),
    "derived-goldfish-raw.txt": ("raw", 0, 1_200),
    "derived-goldfish-tag.txt": ("tag", 1_200, 0),
    "derived-goldfish-thread-uid.txt": ("thread", 1_200, 0),
    "derived-goldfish-thread.txt": ("thread", 1_200, 0),
    "derived-goldfish-threadtime-color.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-epoch-usec.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-epoch.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-monotonic.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-nsec.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-uid.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-usec.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-year-utc-usec.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-year.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-threadtime-zone.txt": ("threadtime", 1_200, 0),
    "derived-goldfish-time-epoch.txt": ("time", 1_200, 0),
    "derived-goldfish-time-year-zone.txt": ("time", 1_200, 0),
    "derived-goldfish-time.txt": ("time", 1_200, 0),
    "derived-invalid-utf8-bytes.txt": ("threadtime", 2, 0),
    "derived-one-line-200-kib.txt": ("threadtime", 2, 0),
    "derived-read-failure-mid-stream.txt": ("threadtime", 80, 1),
    "derived-separators-only.txt": ("raw", 0, 0),
    "derived-truncated-mid-line-first-and-last.txt": ("threadtime", 365, 2),
    "derived-unicode-and-control-characters.txt": ("threadtime", 13, 0),
    "derived-waiting-for-device.txt": ("threadtime", 59, 1),
    "emulator-api31-long.txt": ("long", 46, 0),
    "emulator-gphone64-session-3mb-threadtime.txt": ("threadtime", 21_499, 0),
    "emulator-utf16le-bom-crlf-app-only.txt": ("threadtime", 108, 0),
    "emulator-utf16le-bom-crlf-full.txt": ("threadtime", 799, 0),
    "es-task-manager-session-time.txt": ("time", 457, 0),
    "expense-manager-session-time.txt": ("time", 459, 0),
    "flutter-app-crash-threadtime.txt": ("threadtime", 13, 0),
    "flutter-emulator-15-lines-time.txt": ("time", 15, 0),
    "flutter-emulator-tail-time.txt": ("time", 137, 0),
    "golden-same-records-brief.txt": ("brief", 3, 0),
    "golden-same-records-long.txt": ("long", 3, 0),
    "golden-same-records-process.txt": ("process", 3, 0),
    "golden-same-records-raw.txt": ("raw", 0, 3),
    "golden-same-records-tag.txt": ("tag", 3, 0),
    "golden-same-records-thread.txt": ("thread", 3, 0),
    "golden-same-records-threadtime.txt": ("threadtime", 3, 0),
    "golden-same-records-time.txt": ("time", 3, 0),
    "goldfish-api27-threadtime-5000-lines.txt": ("threadtime", 5_000, 0),
    "huawei-p10-log-switch-preamble.txt": ("threadtime", 4, 2),
    "indeed-jobs-session-time.txt": ("time", 467, 0),
    "loghub-android-2k-threadtime.txt": ("threadtime", 2_000, 0),
    "native-and-java-crash-buffer-threadtime-year.txt": ("threadtime", 25, 0),
    "pixel-thermal-time.txt": ("time", 100, 0),
    "samsung-nougat-session-excerpt-4000-lines-threadtime.txt": ("threadtime", 4_000, 0),
    "tf201-ics-boot-brief-first-300-lines.txt": ("brief", 298, 0),
    "tricky-tags-and-messages-threadtime.txt": ("threadtime", 8, 0),
}
RENDERED_FROM_GOLDFISH = {
    "raw": ("payload",),
    "tag": ("level", "tag", "payload"),
    "thread": ("level", "payload", "pid", "tid"),
    "brief": ("level", "tag", "payload", "pid"),
    "process": ("level", "tag", "payload", "pid"),
    "time": ("level", "tag", "payload", "pid"),
    "long": ("level", "tag", "payload", "pid", "tid"),
    "threadtime": ("level", "tag", "payload", "pid", "tid"),
}


def read(name: str) -> tuple[list[LogEntry], TextLogParser]:
    parser = TextLogParser()
    return parser.feed((Path(CORPUS) / "logcat" / name).read_bytes()) + parser.finish(), parser


def test_the_table_names_every_file() -> None:
    assert {path.name for path in (Path(CORPUS) / "logcat").iterdir()} == set(EXPECTED)


@table("name", EXPECTED)
def test_corpus_file(name: str) -> None:
    entries, parser = read(name)

    records = [entry for entry in entries if not entry.is_note]
    assert (parser.format, len(records), parser.unparsed) == EXPECTED[name]
    assert len(entries) == len(records) + parser.unparsed + parser.dividers
    assert all(entry.level in "VDIWEF" for entry in records)
    for entry in entries[:500]:
        entry.message.encode()
        assert entry.time > 0 or math.isnan(entry.time)


@table("name", [name for name in EXPECTED if name.startswith("derived-goldfish-")])
def test_one_capture_in_every_format_and_modifier(name: str) -> None:
    entries, parser = read(name)
    source, _ = read("goldfish-api27-threadtime-5000-lines.txt")
    names = RENDERED_FROM_GOLDFISH[parser.format]

    rendered = [tuple(getattr(entry, field) for field in names) for entry in entries]
    original = [tuple(getattr(entry, field) for field in names) for entry in source]

    assert rendered in (original[:1200], original[1800:3000])
