"""The tables as a list of migrations. A released migration never changes; new ones are appended."""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x436C6177
"""Marks the file as ours (``PRAGMA application_id``)."""

_FIRST = """
CREATE TABLE executions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL UNIQUE,
  command_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  source TEXT NOT NULL,
  mode TEXT NOT NULL,
  device_id TEXT NOT NULL,
  backend TEXT NOT NULL,
  face TEXT NOT NULL,
  origin TEXT NOT NULL,
  pid INTEGER NOT NULL,
  package TEXT NOT NULL,
  status TEXT NOT NULL,
  code TEXT NOT NULL,
  started_at REAL,
  ended_at REAL,
  duration_ms REAL,
  action_count INTEGER NOT NULL,
  failed_steps INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  action_types TEXT NOT NULL,
  process TEXT NOT NULL,
  message TEXT NOT NULL
);
CREATE INDEX executions_of_command ON executions (command_id, device_id);
CREATE INDEX executions_by_age ON executions (started_at);
CREATE INDEX executions_running ON executions (pid) WHERE status = 'running';
CREATE TABLE details (
  number INTEGER PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
  payload BLOB,
  phases TEXT NOT NULL,
  warnings TEXT NOT NULL
);
CREATE TABLE steps (
  number INTEGER NOT NULL REFERENCES executions ON DELETE CASCADE,
  position INTEGER NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  code TEXT NOT NULL,
  started_at REAL,
  ended_at REAL,
  retries INTEGER NOT NULL,
  PRIMARY KEY (number, position)
) WITHOUT ROWID;
CREATE TABLE envelopes (
  number INTEGER PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
  content BLOB NOT NULL
);
CREATE TABLE lines (
  number INTEGER PRIMARY KEY REFERENCES executions ON DELETE CASCADE,
  content BLOB NOT NULL
);
CREATE TABLE contents (
  digest TEXT PRIMARY KEY,
  characters INTEGER NOT NULL,
  content BLOB NOT NULL
);
CREATE TABLE snapshots (
  number INTEGER NOT NULL REFERENCES executions ON DELETE CASCADE,
  position INTEGER NOT NULL,
  step_id TEXT NOT NULL,
  at REAL,
  digest TEXT NOT NULL REFERENCES contents,
  complete INTEGER NOT NULL,
  PRIMARY KEY (number, position)
) WITHOUT ROWID;
CREATE INDEX snapshots_of_content ON snapshots (digest);
CREATE TABLE audit (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at REAL NOT NULL,
  event TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  command_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  source TEXT NOT NULL,
  face TEXT NOT NULL,
  action_types TEXT NOT NULL,
  code TEXT NOT NULL,
  duration_ms REAL
);
"""

_AUDIT_OF_SKILLS = """
ALTER TABLE audit ADD COLUMN caller TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN skill_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN recipe_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN artifact TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN profile TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN denied TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_of_compiling ON audit (command_id) WHERE event = 'compile';
"""

_OUTCOMES = "ALTER TABLE executions ADD COLUMN outcome TEXT NOT NULL DEFAULT ''"

_AUDIT_OF_DECISIONS = """
ALTER TABLE audit ADD COLUMN operation TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN peer TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
"""

_ACTIONS = "ALTER TABLE executions ADD COLUMN action TEXT NOT NULL DEFAULT ''"

_PHONES = "ALTER TABLE executions ADD COLUMN phone TEXT NOT NULL DEFAULT ''"

STEPS: tuple[str, ...] = (_FIRST, _AUDIT_OF_SKILLS, _OUTCOMES, _AUDIT_OF_DECISIONS, _ACTIONS, _PHONES)
"""``PRAGMA user_version`` counts the migrations that a file has had."""


def version_of(db: sqlite3.Connection) -> int:
    """Return the number of migrations of ``db``: 0 for an empty file, -1 for a database of another program.

    Raises ``sqlite3.DatabaseError`` for a file that is not a database.
    """
    version, mark, tables = db.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_user_version, pragma_application_id"
    ).fetchone()  # one statement: another process may be creating the tables
    if mark == APPLICATION_ID:
        return int(version)
    return -1 if version or tables else 0


def migrate(db: sqlite3.Connection) -> None:
    """Migrate the file of ``db`` in one transaction, also if other processes try the same.

    A file of a newer version stays as it is.
    """
    version = version_of(db)
    if version >= len(STEPS):
        return
    if version == 0:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or never
    db.execute("PRAGMA journal_mode = WAL")
    with db:  # commits, or rolls back
        db.execute("BEGIN IMMEDIATE")
        version = version_of(db)  # another process may have migrated it
        for step in STEPS[version:]:
            for statement in filter(str.strip, step.split(";\n")):
                db.execute(statement)
        if version < len(STEPS):
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {len(STEPS)}")
