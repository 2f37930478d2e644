"""The user's local list of private terms that must not appear in shared skills (skills.md#conventions).

The list is never shared. A finding contains the term, because the user has to find and remove it.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clawperator.engine.config.settings import home_folder
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file

FILE = "blocked-terms.txt"
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BlockedTerms:
    """Normalised terms."""

    terms: tuple[str, ...] = ()

    def found_in(self, line: str) -> Iterator[str]:
        """Yield the terms in ``line``, ignoring case."""
        if self.terms:
            text = _folded(line)
            yield from (term for term in self.terms if term in text)

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield line number, from 1, and term of every occurrence in ``text``."""
        folded = _folded(text)
        if any(term in folded for term in self.terms):  # most texts have none
            for line, content in enumerate(text.split("\n"), 1):
                for term in self.found_in(content):
                    yield line, term


def read_terms(lines: Iterable[str]) -> BlockedTerms:
    """Parse one literal term per line; blank lines and lines that begin with ``#`` are ignored."""
    terms = (_folded(line.strip()) for line in lines if not line.lstrip().startswith("#"))
    return BlockedTerms(tuple(term for term in terms if term))


def blocked_path(env: Mapping[str, str]) -> str:
    return os.path.join(home_folder(env), FILE)


def load_blocked(env: Mapping[str, str], named: str | None = None) -> BlockedTerms:
    """Return the terms in the file ``named``, else those of this user; none if the user has no file.

    Raises ``EngineError`` (FILE_NOT_READABLE): a list that cannot be read must not look like an empty one.
    """
    path = blocked_path(env) if named is None else os.path.expanduser(named)
    try:
        return read_terms(read_file(path, MAX_BYTES).decode("utf-8-sig").splitlines())
    except OSError as exc:
        if named is None and isinstance(exc, FileNotFoundError):
            return BlockedTerms()
        raise _unreadable(path, exc.strerror or str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise _unreadable(path, f"it is not UTF-8 at byte {exc.start}") from exc


def _unreadable(path: str, reason: str) -> EngineError:
    message = f"The blocked terms in {path} cannot be read: {reason}"
    return EngineError(ErrorCode.FILE_NOT_READABLE, message, details={"path": path, "reason": reason})


def _folded(text: str) -> str:
    """Normalise case and the encoding of accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
