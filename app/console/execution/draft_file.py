"""The file that keeps the draft through a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple, Protocol

from clawperator.app.console.text_files import read_text
from clawperator.engine.files.regular import new_file, private_folder


class ChangedElsewhereError(Exception):
    """Another process has written the file since it was last read or written here."""


RECENT_KEPT = 20


class RecentDraft(NamedTuple):
    """A draft that was replaced, or a payload file that was saved or opened: then ``path`` names it, without a text.

    ``at`` is host time in seconds since the epoch.
    """

    at: float
    name: str
    path: str = ""
    text: str = ""

    @property
    def actions(self) -> list[str]:
        """Return the types of its steps; empty for a file and for text that is not a payload."""
        try:
            found = json.loads(self.text)["actions"] if self.text else []
            return [str(action["type"]) for action in found]
        except (ValueError, TypeError, KeyError):
            return []


class Store(Protocol):
    """Where the draft survives the console. The methods may block: they are called in a thread.

    ``save`` raises ``ChangedElsewhereError`` after another console wrote, until ``load`` has read that. ``recent`` lists
    what ``keep`` got, newest first.
    """

    def recent(self) -> list[RecentDraft]: ...
    def keep(self, draft: RecentDraft) -> None: ...

    def load(self) -> str | None: ...
    def save(self, text: str) -> None: ...
    def set_aside(self) -> str: ...


_Stamp = tuple[int, int, int] | None
"""Distinguishes one state of a file from another; ``None``: there is no file."""


class DraftFile:
    """One file, readable by its owner only, replaced as a whole: a crash leaves the old one or the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: list[_Stamp] = []
        """The state of the file that was read or written last; empty before that."""

    def load(self) -> str | None:
        """Return the text; ``None`` without a file. Raises ``OSError``, and ``ValueError`` where it is not text."""
        self._seen = [self._stamp()]
        try:
            return read_text(self.path)
        except FileNotFoundError:
            return None

    def save(self, text: str) -> None:
        private_folder(str(self.path.parent))
        if self._seen and self._seen != [self._stamp()]:
            raise ChangedElsewhereError(str(self.path))
        with new_file(str(self.path), replace=True) as stream:
            stream.write(text.encode())
            stream.flush()
            # The stamp is taken before others can replace the file: a later one would be another console's.
            stamp = _stamp_of(os.fstat(stream.fileno()))
        self._seen = [stamp]

    @property
    def _recent(self) -> Path:
        return self.path.with_name("recent-drafts.json")

    def recent(self) -> list[RecentDraft]:
        """Return the recent drafts; none where their file is missing or damaged."""
        try:
            found = json.loads(read_text(self._recent))
            return [RecentDraft(float(at), str(name), str(path), str(text)) for at, name, path, text in found]
        except (OSError, ValueError, TypeError):
            return []

    def keep(self, draft: RecentDraft) -> None:
        """Add a recent draft, instead of the same one. Raises ``OSError``."""
        others = [each for each in self.recent() if each[2:] != draft[2:]]
        private_folder(str(self.path.parent))
        with new_file(str(self._recent), replace=True) as stream:
            stream.write(json.dumps([draft, *others][:RECENT_KEPT]).encode())

    def _stamp(self) -> _Stamp:
        try:
            return _stamp_of(self.path.stat())
        except OSError:
            return None

    def set_aside(self) -> str:
        """Rename an unreadable file and return its new name."""
        aside = next(
            name
            for number in range(1, 10_000)
            if not (name := self.path.with_name(f"{self.path.name}.unreadable-{number}")).exists()
        )
        os.replace(self.path, aside)
        self._seen = [None]
        return str(aside)


def _stamp_of(found: os.stat_result) -> _Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def draft_path() -> Path:
    """Return the path of the draft, in the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "draft.json"
