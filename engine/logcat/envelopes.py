"""Result envelopes out of the Operator's log lines, long ones in parts (wire.md#reading-the-envelope)."""

from __future__ import annotations

import json
import re

from clawperator.engine.contracts.envelope import parse_envelope
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.logcat.assembly import PART_TIMEOUT, RECORD_BYTES, AssemblyResult, is_cut, is_full_part
from clawperator.engine.logcat.entry import LogEntry, decode
from clawperator.engine.logcat.signals import EnvelopeSignal

RESULT = tuple(f"[{brand}-Result]".encode() for brand in BRANDS)
RESULT_LEVEL = "I"
"""Operator lines that quote texts of the screen have other levels: a text with a line feed cannot pose as an envelope."""

MAX_PARTS = 64
NO_JSON = "no JSON follows the prefix of a result"
_COMMAND_ID = re.compile(r'"commandId"\s*:\s*("(?:[^"\\]|\\.)*")')
_BEGINS_ENVELOPE = re.compile(rb"(?:%b)" % b"|".join(map(re.escape, RESULT)) + rb'\s*\{"')


def begins_envelope(entry: LogEntry) -> bool:
    return entry.level == RESULT_LEVEL and entry.payload.startswith(RESULT)


class EnvelopeAssembly:
    """One envelope from its first line until its JSON is whole or cannot become so."""

    def __init__(self, entry: LogEntry) -> None:
        self.tag, self.level = entry.tag, entry.level
        self.idle_since: float | None = None
        self.timeout = PART_TIMEOUT
        self._entry = entry
        self._parts: list[bytes] = []

    def add(self, entry: LogEntry) -> AssemblyResult | None:
        """Takes the first or a following part; None while more must come."""
        payload = entry.payload
        if self._parts and _BEGINS_ENVELOPE.match(payload):
            return self.abandon("another envelope began before its end", (entry,))
        self._parts.append(payload)
        if len(self._parts) == 1 and not self._raw().startswith("{"):
            return self.abandon(NO_JSON)
        may_go_on = is_full_part(payload) and len(self._parts) < MAX_PARTS
        if may_go_on and not payload.rstrip().endswith(b"}"):
            return None
        raw = self._raw()
        try:
            envelope = parse_envelope(raw)
        except ValueError as error:
            if may_go_on and not _is_json(raw):
                return None
            return self.abandon(self._cut_reason(payload) or str(error))
        return AssemblyResult((EnvelopeSignal(envelope, envelope.command_id, raw, "", len(self._parts), self._entry),))

    def abandon(self, problem: str, replay: tuple[LogEntry, ...] = ()) -> AssemblyResult:
        raw = self._raw()
        return AssemblyResult(
            (EnvelopeSignal(None, _command_id(raw), raw, problem, len(self._parts), self._entry),), replay
        )

    def _raw(self) -> str:
        return decode(b"".join(self._parts).partition(b"]")[2]).strip()

    def _cut_reason(self, payload: bytes) -> str:
        if len(self._parts) >= MAX_PARTS:
            return f"no end after {MAX_PARTS} parts"
        if is_cut(self.tag, payload):
            return f"the device's log cut it: a record holds {RECORD_BYTES} bytes, and the text is not ASCII"
        return ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _command_id(raw: str) -> str:
    found = _COMMAND_ID.search(raw)
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return ""
