"""Long results of the Operator 0.10 and later: chunk records and publication markers (wire.md#chunk-records).

A record is whole by itself and names its command and place, so records of several commands may be mixed, repeated and in any
order. Nothing is guessed: the digest that every record carries decides whether the joined bytes are the result.
"""

from __future__ import annotations

import json
import re
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

from clawperator.engine.contracts.envelope import EnvelopeError, parse_envelope
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.logcat.entry import LogEntry, decode
from clawperator.engine.logcat.envelopes import RESULT, RESULT_LEVEL
from clawperator.engine.logcat.signals import EnvelopeSignal

CHUNK = tuple(f"[{brand}-Result-Chunk] ".encode() for brand in BRANDS)
PUBLICATION = tuple(f"[{brand}-Publication] ".encode() for brand in BRANDS)

_CHUNK_BYTES = 1_024
_MAX_BYTES = 64 * 1024 * 1024
"""Of one result, and of all unfinished ones together."""
_MAX_RECORDS = 65_536
_MAX_OPEN = 32
_GRACE_SECONDS = 0.5
"""How long a result is waited for once the app says that it has written all of it."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMAND_ID = re.compile(rb'"commandId"\s*:\s*("(?:[^"\\]|\\.){1,800}")')
_NEVER = b"\0"
"""What no record begins with."""
_WRITTEN = {
    "writes_completed": "records of it were lost in the device's log",
    "write_failed": "the Operator app could not write all of it",
}
"""Events of publication markers after which nothing more is written, and why a result is then incomplete."""

_Key = tuple[int, str]
"""Process and command: another process that uses the same id has nothing to do with it."""


_COMMON = ("taskId", "count", "byteLength", "sha256")


class _Shape(NamedTuple):
    """What all records of one result have in common: the values of ``_COMMON``."""

    task_id: str
    records: int
    byte_length: int
    digest: str


class _Result:
    """The records of one result so far. ``settled``: it was reported, or its plain line was read."""

    def __init__(self, key: _Key, entry: LogEntry) -> None:
        self.key, self.entry = key, entry
        self.form = b""
        """The text of its records up to ``data``, a format of their index; empty if they have not the documented form."""
        self.head, self.index, self.next_size = _NEVER, 0, 0
        """What the record after the latest one begins with, its index, and the bytes that it holds."""
        self.shape: _Shape | None = None
        self.parts: dict[int, bytes] = {}
        self.size = 0
        self.settled = False
        self.announced: tuple[int, int] = (0, 0)
        """Records and bytes according to a publication marker."""
        self.idle_since: float | None = None
        self.problem = ""
        """Why it is given up if nothing more arrives within the grace; empty while the app may still write."""

    def transport(self) -> dict[str, int]:
        count, byte_length = (self.shape.records, self.shape.byte_length) if self.shape else self.announced
        return {
            "receivedChunks": len(self.parts),
            "expectedChunks": count,
            "receivedBytes": self.size,
            "expectedBytes": byte_length,
        }


class ChunkedResults:
    """The unfinished chunked results of a stream. It takes the Operator's own entries only."""

    def __init__(self) -> None:
        self._results: dict[_Key, _Result] = {}
        self._size = 0
        self._waiting: set[_Key] = set()
        self._latest: _Result | None = None
        """The result of the latest record."""

    @property
    def pending(self) -> bool:
        """Whether a result that was written is not complete; otherwise ``expire`` has no effect."""
        return bool(self._waiting)

    def transport(self, command_id: str) -> Mapping[str, int] | None:
        """Return what has arrived of the result of a command; ``None`` before its first record or marker."""
        found = (result for (_, name), result in self._results.items() if name == command_id and not result.settled)
        result = next(found, None)
        return None if result is None else result.transport()

    def read(self, entry: LogEntry) -> EnvelopeSignal | None:
        """Take an entry that begins with one of ``CHUNK`` or ``PUBLICATION``; return the result that it completes or spoils."""
        if entry.level != RESULT_LEVEL:
            return None
        is_chunk = entry.payload.startswith(CHUNK)
        try:
            record = json.loads(decode(entry.payload.partition(b" ")[2]))
            key = entry.pid, _text(record, "commandId")
        except (ValueError, RecursionError):
            return self._unreadable(entry) if is_chunk else None
        if is_chunk:
            return self._chunk(key, record, entry)
        self._publication(key, record, entry)
        return None

    def follow(self, entry: LogEntry) -> EnvelopeSignal | bool:
        """Take the record after the latest one, if ``entry`` is it: nearly all are.

        Its text differs from the latest one's in index and data alone, so it has the same ids, sizes and digest: no JSON is parsed.
        Returns the result that it completes or contradicts, else whether it was taken; ``read`` takes every other entry.
        """
        if (result := self._latest) is None or not (payload := entry.payload).startswith(head := result.head):
            return False
        if (shape := result.shape) is None:
            return False
        first, index, size = result.entry, result.index, result.next_size
        if entry.pid != first.pid or entry.uid != first.uid or entry.level != RESULT_LEVEL:
            return False
        if len(payload) != len(head) + (size + 2) // 3 * 4 + 2 or not payload.endswith(b'"}'):
            return False
        try:
            data = a2b_base64(payload[len(head) : -2])
        except ValueError:
            return False
        if len(data) != size:  # the decoder leaves out characters that are not base64
            return False
        return self._take(result, shape, index, data) or True

    def begin(self, entry: LogEntry, command_id: str) -> None:
        """A command starts: what was read of an earlier one with its id does not belong to it."""
        self._drop((entry.pid, command_id))

    def settle(self, signal: EnvelopeSignal) -> None:
        """The result of a command was read from one line."""
        key = signal.entry.pid, signal.command_id
        if key in self._results:
            self._settle(key, self._results[key])

    def expire(self, now: float) -> Iterator[EnvelopeSignal]:
        """Report results whose records stayed away although the app has written them."""
        for key in list(self._waiting):
            result = self._results[key]
            if result.idle_since is None:
                result.idle_since = now
            elif now - result.idle_since >= _GRACE_SECONDS:
                yield self._fail(key, result, result.problem)

    def finish(self) -> Iterator[EnvelopeSignal]:
        """Report the incomplete results at the end of the log."""
        for key, result in list(self._results.items()):
            if not result.settled and (result.parts or result.problem):
                yield self._fail(key, result, result.problem or "the log ended before its end")

    # -- records

    def _chunk(self, key: _Key, record: Mapping[str, Any], entry: LogEntry) -> EnvelopeSignal | None:
        result = self._result(key, entry)
        if result.settled:
            return None
        try:
            shape = result.shape or _shape(record)
            if any(record.get(name) != value for name, value in zip(_COMMON, shape, strict=True)):
                raise EnvelopeError("its records contradict one another")
            index, data = _place(record, shape)
        except ValueError as error:
            return self._fail(key, result, str(error))
        if result.shape is None:
            result.shape, result.form = shape, _form(entry, shape, index)
        self._latest = result
        return self._take(result, shape, index, data)

    def _take(self, result: _Result, shape: _Shape, index: int, data: bytes) -> EnvelopeSignal | None:
        """Add a record; return the result that it completes or contradicts."""
        result.idle_since = None
        parts, following = result.parts, index + 1
        if (known := parts.get(index)) is not None:
            if known != data:
                return self._fail(result.key, result, f"its record {index} came twice, with different contents")
            return None
        parts[index] = data
        result.size += len(data)
        self._size += len(data)
        if self._size > _MAX_BYTES:
            self._make_room(result.key)
        if len(parts) == shape.records:
            return self._close(result, shape)
        left = shape.byte_length - following * _CHUNK_BYTES
        result.head = result.form % following if result.form and left > 0 else _NEVER
        result.index, result.next_size = following, min(_CHUNK_BYTES, left)
        return None

    def _close(self, result: _Result, shape: _Shape) -> EnvelopeSignal:
        try:
            signal = _whole(result, shape)
        except ValueError as error:
            return self._fail(result.key, result, str(error))
        self._settle(result.key, result)
        return signal

    def _make_room(self, key: _Key) -> None:
        while self._size > _MAX_BYTES:
            self._drop(next(other for other, each in self._results.items() if each.parts and other != key))

    def _publication(self, key: _Key, record: Mapping[str, Any], entry: LogEntry) -> None:
        event, known = record.get("event"), key in self._results
        if event == "started":
            self.begin(entry, key[1])
        result = self._result(key, entry)
        count, size = record.get("recordCount"), record.get("byteLength")
        if _is_whole(count, 0, _MAX_RECORDS) and _is_whole(size, 0, _MAX_BYTES):
            result.announced = count, size
        if (
            known and not result.settled and event in _WRITTEN
        ):  # an unknown result may have been read before this stream began
            result.problem = _WRITTEN[event]
            self._waiting.add(key)

    def _unreadable(self, entry: LogEntry) -> EnvelopeSignal | None:
        """A record that is no JSON belongs to a command only if it names it."""
        found = _COMMAND_ID.search(entry.payload)
        try:
            command_id = str(json.loads(found[1])) if found else ""
        except ValueError:
            return None
        key = entry.pid, command_id
        if not command_id or (result := self._result(key, entry)).settled:
            return None
        return self._fail(key, result, "one of its records cannot be read")

    # -- bookkeeping

    def _result(self, key: _Key, entry: LogEntry) -> _Result:
        if key not in self._results:
            if len(self._results) >= _MAX_OPEN:
                self._drop(next(iter(self._results)))
            self._results[key] = _Result(key, entry)
        return self._results[key]

    def _fail(self, key: _Key, result: _Result, problem: str) -> EnvelopeSignal:
        transport = result.transport()
        if count := transport["expectedChunks"]:
            problem = f"{problem}: {transport['receivedChunks']} of {count} arrived"
        self._settle(key, result)
        return EnvelopeSignal(None, key[1], "", problem, transport["receivedChunks"], result.entry, transport)

    def _settle(self, key: _Key, result: _Result) -> None:
        self._size -= result.size
        result.size, result.parts, result.settled, result.head = 0, {}, True, _NEVER
        self._waiting.discard(key)

    def _drop(self, key: _Key) -> None:
        if (result := self._results.pop(key, None)) is not None:
            self._settle(key, result)


def _form(entry: LogEntry, shape: _Shape, index: int) -> bytes:
    """Return the text of all records of a result up to ``data``, with ``%d`` as the index.

    Empty if this record has not the documented form, exactly these keys in this order: then JSON is parsed each time.
    """
    head, mark, rest = entry.payload.partition(b'"index":')
    middle = f',"count":{shape.records},"byteLength":{shape.byte_length},"sha256":"{shape.digest}","data":"'.encode()
    documented = head.partition(b" ")[2].startswith(b'{"commandId":"') and b'","taskId":"' in head
    if not (documented and rest.startswith(str(index).encode() + middle)):
        return b""
    return (head + mark).replace(b"%", b"%%") + b"%d" + middle


def _whole(result: _Result, shape: _Shape) -> EnvelopeSignal:
    """Return the envelope of a complete result. Raises ``ValueError`` with the reason."""
    from hashlib import sha256

    command_id = result.key[1]
    parts = [result.parts[index] for index in range(shape.records)]
    digest = sha256()
    for part in parts:
        digest.update(part)
    if digest.hexdigest() != shape.digest:
        raise EnvelopeError("its records do not have the checksum that they state")
    prefix = next((prefix for prefix in RESULT if parts[0].startswith(prefix)), None)
    if prefix is None:
        raise EnvelopeError("its records do not begin with the prefix of a result")
    parts[0] = parts[0][len(prefix) :]  # not of the joined bytes: a result may have megabytes
    text = decode(b"".join(parts)).strip()
    envelope = parse_envelope(text)
    if (envelope.command_id, envelope.task_id) != (command_id, shape.task_id):
        raise EnvelopeError("its records name another command than the result in them")
    return EnvelopeSignal(envelope, command_id, text, "", shape.records, result.entry)


def _shape(record: Mapping[str, Any]) -> _Shape:
    count, byte_length, digest = (record.get(name) for name in ("count", "byteLength", "sha256"))
    if not _is_whole(byte_length, 1, _MAX_BYTES):
        raise EnvelopeError(f"byteLength of a record is not from 1 to {_MAX_BYTES}")
    if not _is_whole(count, 1, _MAX_RECORDS) or count != -(-byte_length // _CHUNK_BYTES):
        raise EnvelopeError("count of a record does not fit its byteLength")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise EnvelopeError("sha256 of a record is no digest")
    return _Shape(_text(record, "taskId"), count, byte_length, digest)


def _place(record: Mapping[str, Any], shape: _Shape) -> tuple[int, bytes]:
    index = record.get("index")
    if not _is_whole(index, 0, shape.records - 1):
        raise EnvelopeError("index of a record is not below its count")
    try:
        data = a2b_base64(_text(record, "data"), strict_mode=True)
    except ValueError:
        raise EnvelopeError(f"data of its record {index} is not base64") from None
    expected = min(_CHUNK_BYTES, shape.byte_length - index * _CHUNK_BYTES)
    if len(data) != expected:
        raise EnvelopeError(f"its record {index} holds {len(data)} bytes, not {expected}")
    return index, data


def _text(record: object, name: str) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, str):
        raise EnvelopeError(f"{name} of a record is not a string")
    return value


def _is_whole(value: object, least: int, most: int) -> TypeGuard[int]:
    return type(value) is int and least <= value <= most
