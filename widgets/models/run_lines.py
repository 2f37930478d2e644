"""The log lines of one execution in the ring. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from clawperator.engine.logcat.assembly import is_full_part
from clawperator.engine.logcat.chunks import CHUNK
from clawperator.engine.logcat.envelopes import MAX_PARTS, begins_envelope
from clawperator.engine.logcat.progress import OPERATOR_PREFIXES
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.execution_queries import START_LINES
from clawperator.widgets.models.line_ring import LineRing

SHOWN = 1_000
"""Lines of one execution at most, the oldest ones."""

_SCANNED = 4_000
"""Operator lines that are scanned for them."""

_PART_WITHIN = 256
"""Most lines between two parts of an envelope."""


class RunLines(NamedTuple):
    """``numbers`` in the ring, ascending. ``gone``: older ones left the ring; ``more``: later ones are not listed."""

    numbers: tuple[int, ...] = ()
    gone: bool = False
    more: bool = False


NONE = RunLines()


def lines_of(execution: ExecutionState, ring: LineRing) -> RunLines:
    """Return the Operator's lines about ``execution``: those that name it, unnamed ones from its start to its envelope,
    and every part of the envelope. Lines of other commands are left out.
    """
    span = execution.log
    if not span:
        return NONE
    gone = span.first < ring.first
    name = execution.command_id.encode("utf-8", "replace")
    running, more, numbers = gone, False, set[int]()
    begin = bisect_left(ring.operator, max(span.first, ring.first))
    for count, number in enumerate(islice(ring.operator, begin, None)):
        if number > span.last:
            break
        if count >= _SCANNED or len(numbers) >= SHOWN:
            more = True
            break
        if ring.device_of(number) != execution.device_id:
            continue
        entry = ring[number]
        named = _names(entry.payload, name)
        answers = begins_envelope(entry) or entry.payload.startswith(CHUNK)
        if entry.payload.startswith(START_LINES):
            running = named
        if named or (running and not answers and b"commandId=" not in entry.payload):
            numbers.add(number)
        if named and answers:
            running = False
            numbers.update(_further_parts(ring, number))
    return RunLines(tuple(sorted(numbers)), gone, more)


def _names(payload: bytes, command_id: bytes) -> bool:
    mark = b"commandId=" + command_id
    return mark + b" " in payload or payload.endswith(mark) or b'"commandId":"' + command_id + b'"' in payload


def _further_parts(ring: LineRing, number: int) -> Iterator[int]:
    """Yield the further lines of an envelope: the next ones of its thread, for as long as each is full."""
    part = ring[number]
    thread = part.pid, part.tid, part.tag, part.level, ring.device_of(number)
    for _ in range(MAX_PARTS - 1):
        if not is_full_part(part.payload):
            return
        for number in range(number + 1, min(ring.end, number + 1 + _PART_WITHIN)):  # noqa: B020, PLR1704  # goes on from there
            part = ring[number]
            if (part.pid, part.tid, part.tag, part.level, ring.device_of(number)) == thread:
                break
        else:
            return
        if part.payload.startswith(OPERATOR_PREFIXES):
            return
        yield number
