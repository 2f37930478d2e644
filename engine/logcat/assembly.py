"""Common parts of the assemblies that join several log records to one value (wire.md#log-lines)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from clawperator.engine.logcat.entry import LogEntry, utf16_units
from clawperator.engine.logcat.signals import Signal

PART_UNITS = 4_000
"""UTF-16 units of every part but the last of a line that the Operator had to cut."""

RECORD_BYTES = 4_068
"""Space for level, tag, NUL and text in one record; the log truncates the rest, the final NUL first."""

PART_TIMEOUT = 2.0
"""Seconds after which a message without its next part is given up (wire.md#reading-the-envelope)."""


class AssemblyResult(NamedTuple):
    """The end of an assembly: its signals, and the entries that do not belong to it, to be processed again."""

    signals: tuple[Signal, ...] = ()
    replay: tuple[LogEntry, ...] = ()


class Assembly(Protocol):
    """Collects records of one thread while they have its ``tag`` and ``level``: all parts of a message share them."""

    tag: str
    level: str
    idle_since: float | None
    timeout: float
    """Seconds without a part after which the assembly is given up."""

    def add(self, entry: LogEntry) -> AssemblyResult | None:
        """Takes a record of this tag and level; None while more must come."""

    def abandon(self, problem: str) -> AssemblyResult:
        """Ends it unfinished."""


def is_full_part(payload: bytes) -> bool:
    """Whether the Operator cut its line here: only then does the next record continue it."""
    return len(payload) >= PART_UNITS and utf16_units(payload) == PART_UNITS


def is_cut(tag: str, payload: bytes) -> bool:
    """Whether the log truncated this record, as it does with 4,000 units that are not ASCII."""
    return len(payload) > PART_UNITS and len(payload) + len(tag.encode()) + 2 >= RECORD_BYTES
