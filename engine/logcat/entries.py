"""The public names for reading logs: bytes of ``logcat`` → ``LogEntry`` values."""

from __future__ import annotations

from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.entry import LEVELS, UNKNOWN, LogEntry
from clawperator.engine.logcat.text import TextLogParser, parse_text

__all__ = ["LEVELS", "UNKNOWN", "BinaryLogParser", "LogEntry", "TextLogParser", "parse_text"]
