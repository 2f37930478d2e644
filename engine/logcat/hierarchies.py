"""Hierarchy dumps in the Operator's log lines (wire.md#trees-in-the-log and wire.md#hierarchy-xml).

Screen texts in a dump have raw line feeds, so any line inside may look like one of the Operator's own.
But they escape ``<``: only the Operator can begin a line with ``<?xml`` or end a dump.
"""

from __future__ import annotations

import re
from operator import itemgetter

from clawperator.engine.contracts.limits import MAX_TREE_BYTES
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.logcat.assembly import PART_TIMEOUT, PART_UNITS, AssemblyResult, is_cut, is_full_part
from clawperator.engine.logcat.entry import LogEntry, decode
from clawperator.engine.logcat.signals import CapturedHierarchy, HierarchySignal

_TITLE = b"[TaskScope] UI Hierarchy"
MARKER = (_TITLE + b":", _TITLE + b" [commandId=")
"""Up to Operator 0.9.2, and later with the command that the tree belongs to, or ``unknown``."""
_MARKER = re.compile(re.escape(_TITLE) + rb"(?: \[commandId=([^\]]+)\])?:")
_END = b"</hierarchy>"
_TAIL = len(_END) + 4  # and some blanks
_BEGINNINGS = (b"<?xml", b"<hierarchy")
_OTHER_MESSAGES = (
    *(f"[{brand}-".encode() for brand in BRANDS), b"[TaskRunnerManager]", b"[UiActionEngine]", *MARKER,
)  # fmt: skip
_FIRST_BYTE = itemgetter(slice(1))
_MAX_RECORDS = 1_000_000
"""Of one dump, as each costs memory of its own."""
_MAX_DOUBTFUL = 20_000
"""Records kept because they may be messages: far more than follow such a text on a screen."""


def command_of_tree(marker: LogEntry) -> str | None:
    """Return the command that the marker names, ``unknown`` where none was running; ``None`` where it names none."""
    found = _MARKER.match(marker.payload)
    return decode(found[1]) if found and found[1] else None


class HierarchyAssembly:
    """One dump from its marker to ``</hierarchy>``.

    A line that looks like another message of the Operator makes the dump doubtful: if the end still comes, the line was
    screen text; otherwise the dump ended before it, and the lines since are processed as messages.
    """

    def __init__(self, marker: LogEntry, step_id: str, command_id: str) -> None:
        self.tag, self.level = marker.tag, marker.level
        self.idle_since: float | None = None
        self.timeout = PART_TIMEOUT
        self._marker = marker
        self._exact = command_of_tree(marker) is not None
        """Keep blanks at the end: only dumps without the command's id were always read without them."""
        self._step_id, self._command_id = step_id, command_id
        self._lines: list[bytes] = []  # the last always on its own: it may continue in the next record
        self._continued: set[int] = set()  # lines that continue in the following record
        self._cut_lines = 0
        self._doubtful: list[LogEntry] = []
        self._replayed = 0
        self._size = self._records = 0
        self._too_large = False

    def add(self, entry: LogEntry) -> AssemblyResult | None:
        """Takes the marker itself, then each following record."""
        payload, lines = entry.payload, self._lines
        if not lines:
            return self._begin(entry)
        if self._doubtful or payload[:1] == b"[":
            if self._doubtful and payload.startswith(_BEGINNINGS):
                return self._end(complete=False, replay=(*self._doubtful[self._replayed :], entry))
            if self._doubtful or payload.startswith(_OTHER_MESSAGES):
                self._doubtful.append(entry)
        before = lines[-1]
        lines.append(payload)
        self._size += len(payload) + 1
        if _END in payload[-_TAIL:] or (len(before) >= PART_UNITS and self._join(before, payload)):
            self._doubtful.clear()
            return self._end(complete=True)
        self._records += 1
        self._drop_too_large()
        return self._end(complete=False) if len(self._doubtful) > _MAX_DOUBTFUL else None

    def _drop_too_large(self) -> None:
        """Keep only the last line of a dump that is beyond a limit, to find its end."""
        if self._too_large or self._size > MAX_TREE_BYTES or self._records > _MAX_RECORDS:
            self._too_large = True
            del self._lines[:-1]
            self._continued.clear()

    def add_lines(self, payloads: list[bytes]) -> bool:
        """Takes following records in bulk if every one is an ordinary line inside the dump; takes none otherwise."""
        if not self._lines or self._doubtful or len(self._lines[-1]) >= PART_UNITS:
            return False
        block = b"\n".join(payloads)
        if _END in block or max(map(len, payloads)) >= PART_UNITS or b"[" in map(_FIRST_BYTE, payloads):
            return False
        before_last = len(block) - len(payloads[-1])
        if before_last:
            self._lines.append(block[: before_last - 1])
        self._lines.append(payloads[-1])
        self._size += len(block) + 1
        self._drop_too_large()
        return True

    def read_once(self) -> None:
        """Exclude the doubtful entries so far, which come from another dump that ended: they were read as messages already.

        Each record is read twice at most, whatever the log contains.
        """
        self._replayed = len(self._doubtful)

    def abandon(self, problem: str) -> AssemblyResult:  # noqa: ARG002 - ``complete`` already marks a dump without its end
        return self._end(complete=False, replay=tuple(self._doubtful[self._replayed :]))

    def _begin(self, entry: LogEntry) -> AssemblyResult | None:
        """The text behind the marker in the same record (a short dump is one record), or the first line after it."""
        is_marker = entry is self._marker
        text = (_MARKER.sub(b"", entry.payload, count=1) if is_marker else entry.payload).lstrip()
        if not text:
            return None
        if not text.startswith(b"<"):
            return self._end(complete=False, replay=() if is_marker else (entry,))
        self._lines.append(text if is_marker else entry.payload)
        self._size = len(self._lines[0])
        return self._end(complete=True) if text.rstrip().endswith(_END) else None

    def _join(self, line: bytes, following: bytes) -> bool:
        """Record whether ``line`` continues in the following record; true if the dump's end was cut between them."""
        if is_cut(self.tag, line):
            self._cut_lines += 1
            goes_on = not following.lstrip().startswith(b"<")
        else:
            goes_on = is_full_part(line) and not line.endswith(b">")
        if goes_on:
            self._continued.add(len(self._lines) - 2)
        return goes_on and _END in line[-len(_END) :] + following

    def _end(self, *, complete: bool, replay: tuple[LogEntry, ...] = ()) -> AssemblyResult:
        if self._too_large:
            large = CapturedHierarchy(self._step_id, "", complete=False, size=self._size)
            return AssemblyResult((HierarchySignal(large, self._command_id, self._marker),), replay)
        certain = self._lines[: len(self._lines) - len(self._doubtful)]
        if self._continued:
            joined = b"".join(line if i in self._continued else line + b"\n" for i, line in enumerate(certain))
        else:
            joined = b"\n".join(certain)
        xml = decode(joined).lstrip()
        captured = CapturedHierarchy(self._step_id, xml if self._exact else xml.rstrip(), complete, self._cut_lines)
        return AssemblyResult((HierarchySignal(captured, self._command_id, self._marker),), replay)
