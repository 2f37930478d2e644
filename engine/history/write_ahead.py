"""The write-ahead log of the history: one note per execution, written before its command is sent to the device.

A note is a small file beside the history, written without waiting for the disk, another process or a thread. It is removed when the
end of the execution is recorded; a note whose process died becomes a row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clawperator.engine.files.regular import PRIVATE, private_folder, require_private
from clawperator.engine.history.process_identity import alive, token

if TYPE_CHECKING:
    from clawperator.engine.executions.attempt import Attempt

_MOST_BYTES = 4 * 1024 * 1024
"""Limit of one note: far more than a valid payload needs."""
_LONGEST_NAME = 512


def write(history: str, attempt: Attempt, face: str, *, safe: bool) -> None:
    """Note that ``attempt`` is about to be dispatched. ``history`` is the path of the database.

    It holds no typed text, which may be a password; ``safe`` omits the whole payload. Raises ``OSError``.
    """
    path = _path(history, attempt.execution_id)
    try:
        require_private(_folder(history), links=False)
    except FileNotFoundError:
        private_folder(_folder(history))
    _create(path, _note(attempt, face, safe=safe))


def _create(path: str, note: Mapping[str, Any]) -> None:
    content = json.dumps(note, separators=(",", ":")).encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def conclude(history: str, execution_id: str, ending: Mapping[str, Any]) -> None:
    """Add to this process's note how the execution ended: a later process writes the row, because the file is locked now.

    ``ending`` has fields of ``RunSummary``, and ``message``. Nothing happens without a note. Raises ``OSError``.
    """
    path = _path(history, execution_id)
    if note := _read(path):
        _create(f"{path}.new", note | {"ended": ending})
        os.replace(f"{path}.new", path)


def remove(history: str, execution_id: str) -> None:
    """Remove this process's note on ``execution_id``, if there is one."""
    with suppress(OSError):
        os.unlink(_path(history, execution_id))


def left(history: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the notes of dead processes, the oldest first: the path, and the content, empty if unreadable."""
    return sorted(_of_dead(history), key=_noted_at)


def _of_dead(history: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        names = [] if os.path.islink(_folder(history)) else os.listdir(_folder(history))
    except OSError:
        return
    for name in names:
        pid = name.rpartition("-")[2]
        if pid.isascii() and pid.isdigit() and int(pid) != os.getpid():
            path = os.path.join(_folder(history), name)
            note = _read(path)
            if not alive(int(pid), str(note.get("process", ""))):
                yield path, note


def _noted_at(left: tuple[str, Mapping[str, Any]]) -> float:
    at = left[1].get("at")
    return at if isinstance(at, int | float) else 0.0


def _note(attempt: Attempt, face: str, *, safe: bool) -> dict[str, Any]:
    """Return JSON data for ``row_builders.died``."""
    assert attempt.validated is not None
    return {
        "process": token(os.getpid()),
        "at": attempt.trace.dispatched_at,
        "caller": attempt.caller,
        "steps": attempt.validated.execution.steps,
        "payload": None if safe else attempt.shown_payload,
        "row": row_of(attempt, face),
    }


def row_of(attempt: Attempt, face: str) -> dict[str, Any]:
    """Return what is known of a run before its end, by the names of ``RunSummary``, which is not loaded here."""
    valid, given = attempt.validated, attempt.payload if isinstance(attempt.payload, Mapping) else {}
    plan = given if valid is None else valid.payload
    actions = plan.get("actions")
    return {
        "execution_id": attempt.execution_id,
        "command_id": bounded(attempt.command_id),
        "task_id": bounded(plan.get("taskId")),
        "source": bounded(plan.get("source")),
        "mode": attempt.mode,
        "device_id": attempt.device_id or "",
        "phone": attempt.phone,
        "backend": attempt.backend,
        "face": face,
        "pid": os.getpid(),
        "package": attempt.package,
        "started_at": attempt.at,
        "action_count": len(actions) if isinstance(actions, list) else 0,
        "timeout_ms": 0 if valid is None else valid.execution.timeout_ms,
    }


def bounded(value: object) -> str:
    """Return an id, cut to its maximum length; empty for what is no text."""
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _read(path: str) -> dict[str, Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as stream:
            note = json.loads(stream.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _folder(history: str) -> str:
    return f"{history}.begun"


def _path(history: str, execution_id: str) -> str:
    return os.path.join(_folder(history), f"{execution_id}-{os.getpid()}")
