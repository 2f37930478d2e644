"""The local list of terms that must not get into a shared skill: names, streets, whatever its owner put there (skills.md#conventions).

The list itself is never shared. A finding names the term: without it, nothing tells what to remove.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clawperator.engine.config.settings import home_folder
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.writing import open_regular

FILE = "blocked-terms.txt"
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BlockedTerms:
    """Terms as they are compared."""

    terms: tuple[str, ...] = ()

    def found_in(self, line: str) -> Iterator[str]:
        """The terms that ``line`` holds, in any case."""
        if self.terms:
            text = _folded(line)
            yield from (term for term in self.terms if term in text)

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Line, from 1, and term of every occurrence in ``text``."""
        folded = _folded(text)
        if any(term in folded for term in self.terms):  # mostly none: one look at everything
            for line, content in enumerate(text.split("\n"), 1):
                for term in self.found_in(content):
                    yield line, term


def read_terms(lines: Iterable[str]) -> BlockedTerms:
    """One literal term per line; blank lines and lines that begin with ``#`` are none."""
    terms = (_folded(line.strip()) for line in lines if not line.lstrip().startswith("#"))
    return BlockedTerms(tuple(term for term in terms if term))


def blocked_path(env: Mapping[str, str]) -> str:
    return os.path.join(home_folder(env), FILE)


def load_blocked(env: Mapping[str, str], named: str | None = None) -> BlockedTerms:
    """The terms in the file ``named``, else those of this user; none where this user has no file.

    Raises ``EngineError`` (FILE_NOT_READABLE) for a file that cannot be read: a guard that is blind must not look like one that
    found nothing.
    """
    path = blocked_path(env) if named is None else os.path.expanduser(named)
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as exc:
        if named is None and isinstance(exc, FileNotFoundError):
            return BlockedTerms()
        raise _unreadable(path, exc.strerror or str(exc)) from exc
    except ValueError as exc:  # NUL names no file
        raise _unreadable(path, str(exc)) from exc
    if len(content) > MAX_BYTES:
        raise _unreadable(path, f"it is larger than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _unreadable(path, f"it is not UTF-8 at byte {exc.start}") from exc
    return read_terms(text.splitlines())


def _folded(text: str) -> str:
    """Equal for texts that differ in case, or in how an accent is written, only."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _unreadable(path: str, reason: str) -> EngineError:
    return EngineError(
        ErrorCode.FILE_NOT_READABLE,
        f"The blocked terms in {path} cannot be read: {reason}",
        details={"path": path, "reason": reason},
    )
