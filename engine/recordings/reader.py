"""Read a recording file, which is untrusted: every line is bounded and validated."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NoReturn

from pydantic import TypeAdapter, ValidationError

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.hierarchy.tree import MAX_BYTES as MAX_DUMP_BYTES
from clawperator.engine.recordings.records import EVENT_TYPES, SCHEMA_VERSION, Event, Header, Recording

MAX_LINE_BYTES = 2 * MAX_DUMP_BYTES
"""The largest possible dump, with every other character escaped."""
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_EVENTS = 50_000

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def read_file(path: str) -> Recording:
    """Return the recording in a file.

    Raises ``EngineError``: RECORDING_PARSE_FAILED (also for a missing file), RECORDING_SCHEMA_VERSION_UNSUPPORTED.
    """
    try:
        with open_regular(path) as stream:
            return read_recording(stream, path)
    except (OSError, ValueError) as exc:  # ValueError: a path with a NUL
        reason = getattr(exc, "strerror", None) or exc
        hint = "Fetch a recording with `clawperator record pull`."
        raise EngineError(
            ErrorCode.RECORDING_PARSE_FAILED, f"{path}: {reason}", hint=hint, details={"file": path}
        ) from exc


def read_recording(stream: BinaryIO, file: str = "") -> Recording:
    """Return the recording in ``stream``, read line by line; ``file`` is its name in errors, which are those of ``read_file``."""
    lines = _lines(stream, file)
    number, first = next(lines, (1, b""))
    if not first.strip():
        refuse(file, number, "the recording is empty")
    header = _header(first, file, number)
    return Recording(
        session_id=header.sessionId,
        started_at=header.startedAt,
        operator_package=header.operatorPackage,
        events=tuple(_events(lines, file)),
    )


def _lines(stream: BinaryIO, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, from 1, without blank ones at the end."""
    number = read = 0
    blank = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        read += len(line)
        if len(line) > MAX_LINE_BYTES:
            refuse(file, number, f"more than {MAX_LINE_BYTES} bytes")
        if read > MAX_FILE_BYTES:
            refuse(file, number, f"the recording is larger than {MAX_FILE_BYTES} bytes")
        if not line.strip():
            blank = blank or number
            continue
        if blank:
            refuse(file, blank, "a blank line")
        yield number, line


def _header(line: bytes, file: str, number: int) -> Header:
    value = _object(line, file, number)
    if value.get("type") != "recording_header":
        refuse(file, number, "the first line is not a recording_header")
    version = value.get("schemaVersion")
    if isinstance(version, int) and not isinstance(version, bool) and version != SCHEMA_VERSION:
        raise unsupported(file, version)
    try:
        return Header.model_validate(value)
    except ValidationError as exc:
        refuse(file, number, problem(exc))


def _events(lines: Iterable[tuple[int, bytes]], file: str) -> Iterator[Any]:
    for count, (number, line) in enumerate(lines, 1):
        if count > MAX_EVENTS:
            refuse(file, number, f"more than {MAX_EVENTS} events")
        value = _object(line, file, number)
        kind = value.get("type")
        if isinstance(kind, str) and kind not in EVENT_TYPES:
            refuse(file, number, f"unknown event type {kind[:80]!r}")
        try:
            yield _EVENT.validate_python(value)
        except ValidationError as exc:
            refuse(file, number, problem(exc))


def _object(line: bytes, file: str, number: int) -> dict[str, Any]:
    try:
        value = parse_json(line.rstrip(b"\r\n"))
    except EngineError as exc:
        whole = line.endswith(b"\n")
        cut = "" if whole else " (the file ends here: was it pulled before `record stop`?)"
        refuse(file, number, f"malformed: {exc.details.get('reason', exc.message)}{cut}")
    if not isinstance(value, dict):
        refuse(file, number, "not a JSON object")
    return value


def problem(exc: ValidationError) -> str:
    """Return the first problem with its location, without the untrusted value."""
    error = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in error["loc"] if part not in EVENT_TYPES)
    return f"{where}: {error['msg']}" if where else error["msg"]


def unsupported(file: str, version: object) -> EngineError:
    return EngineError(
        ErrorCode.RECORDING_SCHEMA_VERSION_UNSUPPORTED,
        f"The recording has schema version {str(version)[:20]}; this version of Clawperator supports version {SCHEMA_VERSION}",
        details={"file": file, "schemaVersion": version if _is_small(version) else str(version)[:20]},
    )


def _is_small(version: object) -> bool:
    return isinstance(version, int) and abs(version) < 2**53


def refuse(file: str, line: int, reason: str) -> NoReturn:
    where = f"{os.path.basename(file)}, line {line}" if file else f"line {line}"
    raise EngineError(
        ErrorCode.RECORDING_PARSE_FAILED,
        f"The recording cannot be read: {where}: {reason}",
        details={"file": file, "line": line, "reason": reason},
    )
