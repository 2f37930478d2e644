"""Issues, which refuse a payload, and warnings, which accompany its result."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_DIGITS = re.compile(r"\d+")
_LONGEST_SLIP = 64
"""Longer words are no typing mistakes, and comparing them is slow."""


class Issue(NamedTuple):
    """One reason to refuse a payload. ``path`` is dotted, with array indexes; empty for the root."""

    path: str
    message: str
    invalid_keys: tuple[str, ...] = ()
    hint: str = ""


class Warning_(NamedTuple):  # noqa: N801 - the plain name is Python's own
    """A part of a payload that probably has another effect than intended. ``code`` is stable."""

    code: str
    path: str
    message: str

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "path": self.path, "message": self.message}


def shown(text: str, limit: int = 64) -> str:
    """The beginning of a caller's ``text`` for use in a message, encodable in UTF-8."""
    return text[:limit].encode("utf-8", "replace").decode()


def joined(*parts: str | int) -> str:
    """The dotted path of ``parts``; empty parts vanish."""
    return ".".join(str(part) for part in parts if part != "")


def device_suggestion(name: str, known: Iterable[str]) -> str:
    """Return the suggestion of a device's name; names that differ in digits only are those of other devices."""
    return suggestion(name, [other for other in known if _DIGITS.sub("", other) != _DIGITS.sub("", name)])


def suggestion(word: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for a word that is nearly a known one, else nothing."""
    from difflib import get_close_matches

    if len(word) > _LONGEST_SLIP:
        return ""
    by_folded = {name.lower(): name for name in known}
    near = get_close_matches(word.strip().lower(), by_folded, n=1, cutoff=0.7)
    return f"Did you mean '{by_folded[near[0]]}'?" if near else ""
