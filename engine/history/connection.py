"""Connections to the history: a private file and folder; damaged files are renamed, never deleted."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from contextlib import closing, suppress

from clawperator.engine.errors import EngineError, ErrorCode, NotPrivateError
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import private_folder
from clawperator.engine.history import schema

BUSY_SECONDS = 5.0
"""How long a write waits for another process."""
IN_PASSING_SECONDS = 0.4
"""How long one waits that comes beside something else: behind an answer, or in a thread that repeats it."""
_SIDE_FILES = ("", "-wal", "-shm")
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def unavailable(path: str, reason: str, hint: str | None = None) -> EngineError:
    return EngineError(
        ErrorCode.HISTORY_UNAVAILABLE,
        f"The history {path} cannot be used: {reason}",
        hint=hint,
        details={"path": path, "reason": reason},
    )


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether ``error`` means a damaged database, not one that is temporarily unusable."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


def is_locked(error: EngineError) -> bool:
    """Return whether ``error`` comes from another process's lock on the file."""
    return (getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF) in _LOCKED


def connect(path: str, *, busy: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Connect to the history at ``path``, which is created or migrated if necessary. A write waits ``busy`` seconds for others.

    Raises ``EngineError`` (HISTORY_UNAVAILABLE, FOLDER_NOT_PRIVATE); ``sqlite3.Error`` for which ``is_damage`` holds.
    """
    try:
        _make_private(path)
        db = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=False)
    except NotPrivateError as exc:
        raise exc.to_engine_error() from exc
    except (OSError, sqlite3.Error) as exc:
        raise unavailable(path, getattr(exc, "strerror", None) or str(exc)) from exc
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def in_memory() -> sqlite3.Connection:
    """Return an empty history without a file."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    schema.migrate(db)
    return db


def _prepare(db: sqlite3.Connection, path: str) -> None:
    try:
        if schema.version_of(db) < 0:
            raise unavailable(path, "it is a database of another program")
        schema.migrate(db)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error as exc:
        if is_damage(exc):
            raise
        raise unavailable(path, str(exc)) from exc


def _make_private(path: str) -> None:
    """Create the database with mode 0600, which SQLite copies to the files beside it.

    An existing file is not opened: closing it would release SQLite's locks in this process.
    """
    private_folder(os.path.dirname(path) or ".")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    for name in _SIDE_FILES:
        if os.path.lexists(path + name) and not stat.S_ISREG(os.lstat(path + name).st_mode):
            raise OSError(errno.EINVAL, f"{path + name} is not a regular file")
    if os.stat(path).st_mode & 0o077:
        for name in _SIDE_FILES:
            with suppress(FileNotFoundError):
                os.chmod(path + name, 0o600)


def set_aside(path: str) -> str:
    """Rename the damaged history; return its new path, or ``""`` if another process has just renamed it.

    Raises ``EngineError`` (HISTORY_UNAVAILABLE) if it cannot be renamed.
    """
    try:
        with closing(FileLock(f"{path}.repair")) as lock:
            patience = time.monotonic() + BUSY_SECONDS
            while not lock.try_acquire():
                if time.monotonic() > patience:
                    raise unavailable(path, "another process is renaming it")
                time.sleep(0.01)  # in a thread; another process's lock can only be polled
            return _move_away(path) if _damaged(path) else ""
    except OSError as exc:
        raise unavailable(path, f"it is damaged and cannot be moved: {exc.strerror or exc}") from exc


def _damaged(path: str) -> bool:
    """Return whether the whole file at ``path`` is damaged."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
            schema.version_of(db)
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            return bool(verdict != "ok")
    except sqlite3.Error as exc:
        return is_damage(exc)


def _move_away(path: str) -> str:
    target = f"{path}.damaged-{time.strftime('%Y%m%dT%H%M%S')}"
    count = 1
    while os.path.exists(target):
        count += 1
        target = f"{path}.damaged-{time.strftime('%Y%m%dT%H%M%S')}-{count}"
    for name in reversed(_SIDE_FILES):
        with suppress(FileNotFoundError):
            os.rename(path + name, target + name)
    return target
