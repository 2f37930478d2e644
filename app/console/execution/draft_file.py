"""The file that keeps the draft through a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple, Protocol

from clawperator.app.console.text_files import read_text
from clawperator.engine.files.regular import new_file, private_folder

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

    ``save`` returns the text that another console has written since ``load`` or ``save``. ``recent`` lists what
    ``keep`` got, newest first.
    """

    def recent(self) -> list[RecentDraft]: ...
    def keep(self, draft: RecentDraft) -> None: ...

    def load(self) -> str: ...
    def save(self, text: str) -> str: ...


class DraftFile:
    """One file, readable by its owner only, replaced as a whole: a crash leaves the old one or the new one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = ""
        """The text that was read or written last."""

    def load(self) -> str:
        """Return the text; empty without a file.

        Raises ``OSError``, and ``ValueError`` where it is not text: then it is kept under another name.
        """
        try:
            self._text = read_text(self.path)
        except FileNotFoundError:
            return ""
        except ValueError as exc:
            aside = f"{self.path}.unreadable"
            os.replace(self.path, aside)
            raise ValueError(f"{exc}. It is kept as {aside}") from exc
        return self._text

    def save(self, text: str) -> str:
        """Replace the text; return the one that another console has written meanwhile, empty without one."""
        private_folder(str(self.path.parent))
        try:
            found = read_text(self.path)
        except (OSError, ValueError):
            found = ""
        with new_file(str(self.path), replace=True) as stream:
            stream.write(text.encode())
        theirs, self._text = "" if found == self._text else found, text
        return theirs

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


def draft_path() -> Path:
    """Return the path of the draft, in the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "draft.json"
